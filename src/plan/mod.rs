//! Step 4, plan: which pins of which target and stage become what.
//!
//! In: a policy decision and the inventory. Out: a [`Plan`] of moves with its fingerprint. Pure.

use serde::Serialize;

use crate::{
    policy::Needs,
    release::{Catalog, EdgeVersion},
    scan::{Inventory, Reason, RepoPath, Stage},
};

/// A named set of paths that move together.
#[derive(Clone, Debug)]
pub struct Target {
    /// `default`, or as configured.
    pub name: String,
    /// Globs of its files; all when empty.
    pub paths: globset::GlobSet,
    /// Globs of files that are not its.
    pub exclude: globset::GlobSet,
    /// Whether `paths` was configured: an empty set means all files.
    pub all: bool,
}

/// What would become of one pin if its target went to a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The pin's position in [`Inventory::pins`].
    pub pin: usize,
    /// The text that it gets; `None` where it stays. A lock digest is computed when the lock is edited.
    pub new: Option<NewText>,
    /// Why it stays.
    pub reason: Option<Reason>,
}

/// The text that a pin gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewText {
    /// This text.
    Fixed(String),
    /// The digest recomputed over the edited `Chart.yaml` and `Chart.lock`.
    LockDigest,
}

/// All moves of one target's stage: made and proposed together or not at all.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The target's name.
    pub target: String,
    /// The stage.
    pub stage: Stage,
    /// The releases that the moving pins name now, oldest first.
    pub from: Vec<EdgeVersion>,
    /// The release to go to.
    pub to: EdgeVersion,
    /// The release wanted in the end, and why `to` comes first, where `to` is a required hop.
    pub hop_towards: Option<(EdgeVersion, &'static str)>,
    /// When the release was published, where known.
    pub published: Option<jiff::Timestamp>,
    /// The moving pins (every [`Move::new`] is set), ordered as in the inventory.
    pub moves: Vec<Move>,
    /// The pins of the same stage that stay, with their reasons.
    pub stays: Vec<Move>,
    /// SHA-256 in hexadecimal over the inputs: blobs of the change set, release, chart digests, rules version.
    pub fingerprint: String,
    /// SHA-256 in hexadecimal over (path, base blob) of the change set.
    pub inputs: String,
}

/// The files of a change set in short, for texts.
#[derive(Clone, Debug, Serialize)]
pub struct Touched {
    /// The file.
    pub path: RepoPath,
    /// How many pins move in it.
    pub pins: usize,
}

/// Says of each pin of a target whether it would move to `to` and to which text.
pub fn judge(_inventory: &Inventory, _target: &Target, _to: EdgeVersion) -> Vec<Move> {
    Vec::new()
}

/// Fills the policy's needs from the pins of one target.
pub fn needs(_inventory: &Inventory, _target: &Target, _stage: Stage, _catalog: &Catalog) -> Needs {
    Needs::default()
}
