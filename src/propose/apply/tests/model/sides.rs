//! The two sides that the program under test talks to: the world as a remote and as a forge.

use std::collections::BTreeMap;

use super::{BRANCH, World, hash};
use crate::{
    propose::forge::{Closer, Extras, Forge, ForgeError, NewPull, PullPatch, PullRequest, PullState, Status},
    repo::{
        BlobId, CommitId, CommitInfo, Entry, GitError, Mode, NewCommit, RefUpdate, Refs, Remote, RepoPath,
        Signature, Tree, TreeError, TreeId,
    },
};

// === impl Remote for World ===

struct ModelTree {
    entries: Vec<Entry>,
    blobs: BTreeMap<BlobId, String>,
}

impl Tree for ModelTree {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        let missing = || TreeError::new(id, "missing");
        self.blobs.get(&id).map(|text| text.clone().into_bytes()).ok_or_else(missing)
    }
}

impl Remote for World {
    fn refs(&self) -> Result<Refs, GitError> {
        self.reads.set(self.reads.get() + 1);
        Ok(Refs { default_branch: Some("main".into()), branches: self.branches.borrow().clone() })
    }

    fn fetch(&self, _: &[(&str, CommitId)]) -> Result<(), GitError> {
        self.log.borrow_mut().push("fetch".into());
        Ok(())
    }

    fn commit(&self, id: CommitId) -> Result<CommitInfo, GitError> {
        Ok(self.info(id))
    }

    fn tree(&self, id: CommitId) -> Result<Box<dyn Tree>, GitError> {
        let (mut entries, mut blobs) = (Vec::new(), BTreeMap::new());
        for (path, text) in self.files(id) {
            let blob = hash(std::slice::from_ref(&text));
            entries.push(Entry { path: RepoPath::new(path).expect("a path"), id: blob, mode: Mode::File });
            blobs.insert(blob, text);
        }
        Ok(Box::new(ModelTree { entries, blobs }))
    }

    fn is_ancestor(&self, ancestor: CommitId, _: &str, descendant: CommitId) -> Result<bool, GitError> {
        Ok(self.reaches(descendant, ancestor))
    }

    fn write(&self, commit: &NewCommit<'_>) -> Result<CommitId, GitError> {
        let mut files = self.files(commit.onto);
        for change in &commit.changes.files {
            let text = String::from_utf8(change.after.clone().expect("a text")).expect("UTF-8");
            files.insert(change.path.to_string(), text);
        }
        let tree: TreeId = hash(&files.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>());
        self.trees.borrow_mut().insert(tree, files);
        self.written.borrow_mut().insert(tree);
        let message = format!("{}Uplinker-Tree: {tree}\n", commit.message);
        Ok(self.add_commit(tree, &commit.parents, &message, commit.date))
    }

    fn push(&self, update: &RefUpdate) -> Result<(), GitError> {
        if self.tip(&update.branch) != update.old {
            return Err(GitError::Moved { branch: update.branch.clone() });
        }
        self.check_push(update);
        let error = |killed| match killed {
            true => GitError::Other("killed".into()),
            false => GitError::Temporary { url: "remote".into(), reason: "cut".into() },
        };
        let what = if update.new.is_some() { "push" } else { "delete" };
        World::write(self, what.into(), error, || self.set(&update.branch, update.new))
    }
}

// === impl Forge for World ===

impl Forge for World {
    fn pulls(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        assert_eq!(branch, BRANCH);
        self.reads.set(self.reads.get() + 1);
        Ok(self.pulls.borrow().iter().rev().map(|(p, _)| p.clone()).collect())
    }

    fn pull(&self, number: u64) -> Result<PullRequest, ForgeError> {
        if let Some(meanwhile) = self.meanwhile.take() {
            meanwhile(self);
        }
        self.reads.set(self.reads.get() + 1);
        let pulls = self.pulls.borrow();
        let found = pulls.iter().find(|(p, _)| p.number == number).map(|(p, _)| p.clone());
        found.ok_or_else(|| ForgeError::NotFound("pull".into()))
    }

    fn closer(&self, number: u64) -> Result<Closer, ForgeError> {
        self.reads.set(self.reads.get() + 1);
        let pulls = self.pulls.borrow();
        Ok(pulls.iter().find(|(p, _)| p.number == number).map_or(Closer::Unknown, |(_, c)| c.clone()))
    }

    fn open(&self, new: &NewPull) -> Result<PullRequest, ForgeError> {
        if self.forbid_pulls.get() {
            return Err(ForgeError::PullsForbidden { compare: self.compare_url(&new.base, &new.head) });
        }
        assert!(self.open_pull().is_none(), "a second pull request");
        let tip = self.tip(&new.head).expect("a head");
        assert!(!self.reaches(self.tip(&new.base).expect("a base"), tip), "no commits between");
        let pull = PullRequest {
            number: self.pulls.borrow().len() as u64 + 1,
            url: String::new(),
            state: PullState::Open,
            title: new.title.clone(),
            body: new.body.clone(),
            head: tip.to_string(),
            base: new.base.clone(),
            closed_at: None,
            labels: Vec::new(),
            draft: false,
        };
        let opened = pull.clone();
        self.forge_write("open".into(), || self.pulls.borrow_mut().push((opened, Closer::Unknown)))?;
        Ok(pull)
    }

    fn update(&self, number: u64, patch: &PullPatch) -> Result<(), ForgeError> {
        let what = if patch.state.is_some() { "close" } else { "update" };
        self.forge_write(what.into(), || {
            for (pull, closer) in self.pulls.borrow_mut().iter_mut().filter(|(p, _)| p.number == number) {
                pull.title = patch.title.clone().unwrap_or(pull.title.clone());
                pull.body = patch.body.clone().unwrap_or(pull.body.clone());
                if let Some(state) = patch.state {
                    (pull.state, *closer) = (state, Closer::Person("our token's user".into()));
                }
            }
        })
    }

    fn add_labels_and_reviewers(
        &self,
        pull: &PullRequest,
        extras: &Extras,
    ) -> Result<Vec<String>, ForgeError> {
        self.forge_write("add_labels_and_reviewers".into(), || {
            for (seen, _) in self.pulls.borrow_mut().iter_mut().filter(|(p, _)| p.number == pull.number) {
                seen.labels.extend(extras.labels.iter().cloned());
            }
        })?;
        Ok(vec!["nobody was asked".into()])
    }

    fn unlabel(&self, number: u64, label: &str) -> Result<(), ForgeError> {
        self.forge_write("unlabel".into(), || {
            for (seen, _) in self.pulls.borrow_mut().iter_mut().filter(|(p, _)| p.number == number) {
                seen.labels.retain(|l| l != label);
            }
        })
    }

    fn status(&self, commit: CommitId, _: &Status, _: Option<&str>) -> Result<(), ForgeError> {
        assert!(!self.persons.borrow().contains(&commit), "a person's commit is not judged");
        self.forge_write("status".into(), || {})
    }

    fn identity(&self) -> Result<Option<Signature>, ForgeError> {
        Ok(None)
    }

    fn compare_url(&self, base: &str, branch: &str) -> Option<String> {
        Some(format!("{base}...{branch}"))
    }
}
