//! What targets were at commits of the base branch, so that none is scanned twice.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use crate::{
    linkerd::EdgeVersion,
    pipeline::Error,
    repo::{CommitId, RepoPath},
};

/// What was found of commits: of each what its targets were, in their order.
#[derive(Default)]
pub(super) struct Past(RefCell<HashMap<(CommitId, Of), Targets>>);

/// What each target was, in their order.
type Targets = Rc<Vec<Was>>;

/// What is looked at of each target.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Of {
    /// The stage by which it is told where it is.
    Leading,
    /// Its proxies, whether or not they follow.
    Proxies,
}

/// What that of a target was at one commit.
#[derive(Clone, Default)]
pub(super) struct Was {
    /// The release that all of it was at.
    pub release: Option<EdgeVersion>,
    /// The files that said so.
    pub files: Vec<RepoPath>,
}

// === impl Past ===

impl Past {
    /// Returns what targets were at a commit; `look` is asked where that is not known.
    pub fn at(
        &self,
        key: (CommitId, Of),
        look: impl FnOnce() -> Result<Vec<Was>, Error>,
    ) -> Result<Targets, Error> {
        if let Some(known) = self.0.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let was = Rc::new(look()?);
        self.0.borrow_mut().insert(key, Rc::clone(&was));
        Ok(was)
    }
}
