//! Step 10, propose: when nothing needs to be made again.
//!
//! In: the pull requests of a branch, and who knows what a text would be made from now. Out: the one that is up to date,
//! if one is. Pure.

use jiff::Timestamp;

use super::{
    Held,
    context::Options,
    forge::PullRequest,
    observe::{self, Observed, Seen},
    reconcile::{is_behind, newer, open_pulls},
    wanted::note_hash,
};
use crate::{explain::Basis, linkerd::EdgeVersion, pins::Stage, repo::Refs};

/// What is wanted of a branch, as far as it is known before anything is made.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a> {
    /// The target.
    pub target: &'a str,
    /// The stage.
    pub stage: Stage,
    /// The release.
    pub release: EdgeVersion,
    /// Our branch.
    pub branch: &'a str,
    /// The branch to be merged into.
    pub base: &'a str,
    /// What the configuration says of branches.
    pub options: Options,
    /// The time.
    pub now: Timestamp,
}

/// An open pull request for which there is nothing to do.
#[derive(Clone, Debug)]
pub struct UpToDate {
    /// The pull request.
    pub pull: PullRequest,
    /// Its branch.
    pub branch: String,
    /// What it was made from.
    pub basis: Basis,
    /// Why it is not ours to change, where it is not.
    pub held: Option<Held>,
}

/// Finds the open pull request for which there would be nothing to do if all were made again; `same` tells whether a basis
/// is that of now.
pub fn up_to_date(
    sought: &Sought<'_>,
    pulls: Vec<PullRequest>,
    refs: &Refs,
    same: impl FnOnce(&Basis) -> bool,
) -> Option<UpToDate> {
    let seen = Observed {
        base: sought.base.to_owned(),
        base_tip: refs.branches.get(sought.base).copied()?,
        tip: refs.branches.get(sought.branch).copied(),
        head: None,
        is_elsewhere: false,
        pulls: observe::seen(pulls, sought.target, sought.stage),
    };
    let (open, held) = standing(sought.release, &seen, sought.options)?;
    let basis = open.marker.as_ref().and_then(|marker| marker.basis.clone());
    let basis = basis.filter(|basis| basis.stretch.holds(sought.now) && same(basis))?;
    Some(UpToDate { pull: open.pull.clone(), branch: sought.branch.to_owned(), basis, held })
}

/// Finds the open pull request that a marker says to be all that it should be for a release, whatever it was made from,
/// and why it is not ours to change where it is not.
fn standing(release: EdgeVersion, seen: &Observed, options: Options) -> Option<(&Seen, Option<Held>)> {
    let (open, strays) = open_pulls(seen);
    let open = open.filter(|_| strays.is_empty())?;
    let marker = open.standing(seen.tip)?;
    if marker.person {
        let told = marker.text == Some(note_hash(newer(release, marker)));
        return told.then_some((open, Some(Held::PersonsBranch { pull: open.pull.number })));
    }
    let written = marker.text.is_some() && marker.status.is_some() && marker.extras.is_some();
    (written && marker.release == release && !is_behind(marker, seen, options)).then_some((open, None))
}
