//! What Git promises of a remote.

use std::sync::Arc;

use uplinker::repo::{
    ChangeSet, CommitId, CommitInfo, GitError, NewCommit, RefUpdate, Refs, Remote, RepoPath, Stretch, Tree,
    Upstream, blob_id,
};

use super::{
    super::place::Place,
    BASE, Memory,
    tree::{Snapshot, TreeOf},
};

impl Remote for Memory {
    fn refs(&self) -> Result<Refs, GitError> {
        Ok(Refs { default_branch: Some(BASE.to_owned()), branches: self.branches.borrow().clone() })
    }

    fn fetch(&self, branches: &[(&str, CommitId)]) -> Result<(), GitError> {
        match branches.iter().find(|(branch, id)| self.branches.borrow().get(*branch) != Some(id)) {
            Some((branch, _)) => Err(GitError::Moved { branch: (*branch).to_owned() }),
            None => Ok(()),
        }
    }

    fn commit(&self, id: CommitId) -> Result<CommitInfo, GitError> {
        Ok(self.info(id))
    }

    fn tree(&self, id: CommitId) -> Result<Box<dyn Tree>, GitError> {
        Ok(Box::new(TreeOf(self.snapshot(id))))
    }

    fn is_ancestor(&self, ancestor: CommitId, _: &str, descendant: CommitId) -> Result<bool, GitError> {
        Ok(self.ancestors(descendant).contains(&ancestor))
    }

    fn write(&self, commit: &NewCommit<'_>) -> Result<CommitId, GitError> {
        let mut files = self.snapshot(commit.onto).files.clone();
        for change in &commit.changes.files {
            let path = change.path.to_string();
            assert_eq!(files.get(&path).map(|text| blob_id(text)), change.before_id, "{path} is another one");
            match &change.after {
                Some(text) => files.insert(path, Arc::new(text.clone())),
                None => files.remove(&path),
            };
        }
        let (tree, snapshot) = Snapshot::of(files);
        self.trees.borrow_mut().entry(tree).or_insert_with(|| Arc::new(snapshot));
        let message = format!("{}\nUplinker-Tree: {tree}\n", commit.message.trim_end());
        Ok(self.of_tree(tree, &commit.parents, &message, commit.date.as_second()))
    }

    fn push(&self, update: &RefUpdate) -> Result<(), GitError> {
        assert!(update.branch.starts_with("uplinker/"), "{update:?}");
        if self.tip(&update.branch) != update.old {
            return Err(GitError::Moved { branch: update.branch.clone() });
        }
        self.write(format!("push {}", update.branch), || self.set(&update.branch, update.new));
        Ok(())
    }
}

impl Upstream for Memory {
    fn url(&self) -> String {
        "https://forge.example/acme/config.git".to_owned()
    }

    fn write_under(&self, _: &str) -> Result<(), GitError> {
        Ok(())
    }

    fn patch(&self, _: CommitId, _: &ChangeSet) -> Result<String, GitError> {
        Err(GitError::Other("this forge asks for no patch".to_owned()))
    }

    fn landed(
        &self,
        _: &str,
        tip: CommitId,
        file: &RepoPath,
        text: &str,
    ) -> Result<Option<Stretch>, GitError> {
        let holds = |commit: &CommitInfo| {
            let snapshot = &self.trees.borrow()[&commit.tree];
            let found = snapshot.files.get(file.as_str());
            found.is_some_and(|found| String::from_utf8_lossy(found).contains(text))
        };
        Ok(self.stretch_of(tip, &holds))
    }

    fn stretch(&self, _: &str, last: CommitId, files: &[RepoPath]) -> Result<Option<Stretch>, GitError> {
        let trees = self.trees.borrow();
        let wanted = &trees[&self.info(last).tree].files;
        let same = |commit: &CommitInfo| {
            let there = &trees[&commit.tree].files;
            files.iter().all(|file| there.get(file.as_str()) == wanted.get(file.as_str()))
        };
        Ok(self.stretch_of(last, &same))
    }
}

impl Memory {
    /// The commits by first parents for which something holds.
    fn stretch_of(&self, last: CommitId, holds: &dyn Fn(&CommitInfo) -> bool) -> Option<Stretch> {
        let (mut commits, mut oldest, mut next) = (Vec::new(), None, Some(last));
        while let Some(id) = next {
            let commit = self.info(id);
            if !holds(&commit) {
                break;
            }
            commits.push(id);
            next = commit.parents.first().copied();
            oldest = Some(commit);
        }
        let CommitInfo { time: since, parents, .. } = oldest?;
        let made_on = parents.into_iter().map(|id| self.info(id).time).max();
        Some(Stretch { commits, since, older: next.map(|id| self.info(id).time), made_on, before: next })
    }
}
