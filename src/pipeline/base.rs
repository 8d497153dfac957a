//! The base branch as a pass reads it: one list of branches, one shallow fetch, one configuration.

use crate::{
    config::{self, Config},
    pipeline::{Error, Operator},
    propose,
    repo::{
        CommitInfo, Refs, Tree, Upstream,
        git::{LocalClone, LocalHead},
    },
};

/// The commit that proposals are made against.
pub struct Base {
    /// The repository's address, without credentials.
    pub repository: String,
    /// The branch's name.
    pub branch: String,
    /// Its tip.
    pub tip: CommitInfo,
    /// What the remote advertised; empty for a clone.
    pub refs: Refs,
    tree: Box<dyn Tree>,
}

// === impl Base ===

impl Base {
    /// Reads the base branch of a remote and its configuration.
    ///
    /// The configuration of the default branch says which branch is the base; where that is another one, the base
    /// branch's own configuration counts for everything else.
    pub fn read(remote: &dyn Upstream, operator: &Operator<'_>) -> Result<(Self, Config), Error> {
        (operator.progress)("listing branches");
        let refs = remote.refs()?;
        let default = refs.default_branch.clone().ok_or_else(|| Error::Empty { url: remote.url() })?;
        let (tip, tree) = fetch(remote, &refs, &default)?;
        let config = config::read(tree.as_ref())?;
        let branch = config.base_branch(&default)?;
        let repository = remote.url();
        if branch == default {
            return Ok((Self { repository, branch, tip, refs, tree }, config));
        }
        let (tip, tree) = fetch(remote, &refs, &branch)?;
        let config = config::read(tree.as_ref())?;
        if config.base.as_ref().is_some_and(|base| *base != branch) {
            return Err(Error::BaseDisagrees { default, branch });
        }
        config.base_branch(&default)?;
        Ok((Self { repository, branch, tip, refs, tree }, config))
    }

    /// Takes the HEAD commit of a clone as the base, and gives back what can be asked of its history.
    pub fn of_head(head: LocalHead, repository: &str) -> (Self, LocalClone) {
        let LocalHead { commit, branch, tree, clone, .. } = head;
        let base = Self {
            repository: repository.to_owned(),
            branch: branch.unwrap_or_else(|| "HEAD".to_owned()),
            tip: commit,
            refs: Refs::default(),
            tree: Box::new(tree),
        };
        (base, clone)
    }

    /// Returns the branches that may be of a target's stage, under whatever prefix.
    pub fn branches_like_ours(&self) -> impl Iterator<Item = &str> {
        let all = self.refs.branches.keys().map(String::as_str);
        all.filter(|branch| *branch != self.branch && propose::is_like_a_branch(branch))
    }

    /// Returns the content of the tip.
    pub fn tree(&self) -> &dyn Tree {
        self.tree.as_ref()
    }
}

fn fetch(remote: &dyn Upstream, refs: &Refs, branch: &str) -> Result<(CommitInfo, Box<dyn Tree>), Error> {
    let Some(tip) = refs.branches.get(branch).copied() else {
        return Err(Error::NoBranch { url: remote.url(), branch: branch.to_owned() });
    };
    remote.fetch(&[(branch, tip)])?;
    Ok((remote.commit(tip)?, remote.tree(tip)?))
}
