//! What was listed of pull requests in one pass, so that nobody asks for it twice, and for many branches at once.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::{
    explain::marker,
    linkerd::EdgeVersion,
    pipeline::Error,
    propose::forge::{Forge, OpenPulls, PullRequest, PullState},
};

/// The pull requests of the branches that were asked about.
#[derive(Default)]
pub(super) struct Lists {
    all: BTreeMap<String, Vec<PullRequest>>,
    /// Of branches for which all is listed that was touched since the release was published that is due for them.
    recent: BTreeMap<String, Vec<PullRequest>>,
    open: OpenPulls,
    /// Whether more is open than one request lists.
    too_many: bool,
}

// === impl Lists ===

impl Lists {
    /// Tells whether anything was listed of a branch.
    pub fn has(&self, branch: &str) -> bool {
        self.all.contains_key(branch) || self.open.contains_key(branch)
    }

    /// Tells whether more is open than one request lists, so that each branch is asked about alone.
    pub fn too_many(&self) -> bool {
        self.too_many
    }

    /// Returns all pull requests of a branch.
    pub fn all(&mut self, forge: &dyn Forge, branch: &str) -> Result<&[PullRequest], Error> {
        if !self.all.contains_key(branch) {
            self.all.insert(branch.to_owned(), forge.pulls(branch)?);
        }
        Ok(self.all.get(branch).map_or(&[], Vec::as_slice))
    }

    /// Returns what may be for the release that is due for a branch, or for a newer one: all of its pull requests, where they
    /// were not listed for that.
    pub fn for_what_is_due(&mut self, forge: &dyn Forge, branch: &str) -> Result<&[PullRequest], Error> {
        if self.recent.contains_key(branch) {
            return Ok(self.recent.get(branch).map_or(&[], Vec::as_slice));
        }
        self.all(forge, branch)
    }

    /// Lists what was touched last of branches for which a release is due, in one request, where the forge has such a request.
    /// What is for a release was touched since that was published; so a list that goes back to before it has all of it.
    pub fn list_for_what_is_due(
        &mut self,
        forge: &dyn Forge,
        due: Vec<(String, Option<Timestamp>)>,
    ) -> Result<(), Error> {
        let due: Vec<_> = due.into_iter().filter(|(branch, _)| !self.all.contains_key(branch)).collect();
        if due.len() < 2 {
            return Ok(());
        }
        let branches: Vec<String> = due.iter().map(|(branch, _)| branch.clone()).collect();
        let Some(mut listed) = forge.recent_pulls(&branches)? else { return Ok(()) };
        for (branch, published) in due {
            let pulls = listed.pulls.remove(&branch).unwrap_or_default();
            match listed.since {
                None => drop(self.all.insert(branch, pulls)),
                Some(since) if published.is_some_and(|published| since < published) => {
                    self.recent.insert(branch, pulls);
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the open pull requests of a branch; `beside` are others that will be asked about as well.
    pub fn open(
        &mut self,
        forge: &dyn Forge,
        branch: &str,
        beside: &[String],
    ) -> Result<Vec<&PullRequest>, Error> {
        if !self.has(branch) && !beside.is_empty() {
            self.list_open(forge, [beside, &[branch.to_owned()]].concat())?;
        }
        if self.open.contains_key(branch) {
            return Ok(self.open.get(branch).into_iter().flatten().collect());
        }
        let all = self.all(forge, branch)?;
        Ok(all.iter().filter(|p| p.state == PullState::Open).collect())
    }

    /// Lists what is open of branches in one request, where the forge has such a request.
    pub fn list_open(&mut self, forge: &dyn Forge, branches: Vec<String>) -> Result<(), Error> {
        if self.too_many {
            return Ok(());
        }
        let Some(mut open) = forge.open_pulls(&branches)? else {
            self.too_many = true;
            return Ok(());
        };
        let listed = |branch: String| (branch.clone(), open.remove(&branch).unwrap_or_default());
        self.open.extend(branches.into_iter().map(listed));
        Ok(())
    }

    /// Takes what is known of a branch, if it is enough. What is open is all that matters where nothing is wanted, and
    /// where one that leads to the base branch is open and goes no further than what is wanted; otherwise the closed ones
    /// matter too.
    pub fn take(
        &mut self,
        branch: &str,
        base: &str,
        wanted: Option<EdgeVersion>,
    ) -> Option<Vec<PullRequest>> {
        let enough = |pulls: &Vec<PullRequest>| {
            let counts = |wanted| pulls.iter().any(|pull| pull.base == base && goes_no_further(pull, wanted));
            wanted.is_none_or(counts)
        };
        self.all.remove(branch).or_else(|| self.open.remove(branch).filter(enough))
    }
}

/// Tells whether a pull request is for a release or an older one, as far as its marker tells.
pub(super) fn goes_no_further(pull: &PullRequest, release: EdgeVersion) -> bool {
    marker::read(&pull.body).is_none_or(|marker| marker.release <= release)
}
