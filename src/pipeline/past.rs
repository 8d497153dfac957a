//! What targets were at commits of the base branch, so that none is scanned twice.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use crate::{
    linkerd::EdgeVersion,
    pipeline::Error,
    repo::{CommitId, RepoPath},
};

/// What was found of commits: of each what its targets were, in their order.
#[derive(Default)]
pub(super) struct Past(RefCell<HashMap<CommitId, Rc<Vec<Was>>>>);

/// What a target was at one commit.
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
        commit: CommitId,
        look: impl FnOnce() -> Result<Vec<Was>, Error>,
    ) -> Result<Rc<Vec<Was>>, Error> {
        if let Some(known) = self.0.borrow().get(&commit) {
            return Ok(Rc::clone(known));
        }
        let was = Rc::new(look()?);
        self.0.borrow_mut().insert(commit, Rc::clone(&was));
        Ok(was)
    }
}
