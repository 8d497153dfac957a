//! Step 6, plan: which pins of which target and stage become what.
//!
//! In: a policy decision and the inventory. Out: a [`Plan`] of moves with its fingerprint. Pure: it reads no file
//! and no clock, and it makes no text; `edit` does.
//!
//! What "blocks" means here: a pin that cannot be edited, or a file that cannot be read, does not stop the other
//! pins of its stage from being planned. The proposal is made with what can be moved, a `block` finding of
//! `verify` says in its first line what is missing, and `onBlock: hold` makes that no proposal at all. Only a
//! stage in which nothing at all can be moved has no plan, and is [`PlanBlocked`].

mod back;
mod constraint;
mod control_plane;
mod fingerprint;
mod judge;
mod make;
mod needs;
mod split;
mod standing;
mod stops;
mod target;
mod title;
mod together;
mod wave;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde::Serialize;

use crate::{
    linkerd::EdgeVersion,
    pins::{Deployment, Inventory, Pin, PinKind, Reason, Stage},
    policy::StatusCheck,
    release::Catalog,
    repo::{BlobId, CommitId, RepoPath},
};

pub use back::{NoWayBack, Undoing, back};
pub use constraint::{BadConstraint, Constraint};
pub use control_plane::{
    ControlPlane, ControlPlanes, control_plane, own_control_plane, untold_control_plane,
};
pub use fingerprint::RULES_VERSION;
pub use judge::{Ranges, forecast, judge, resolve, set_aside, set_aside_own};
pub use make::{PlanBlocked, Stuck, plan, resting_at};
pub use needs::{Source, needs, needs_towards, resting, source};
pub use split::{Parts, Split, Wanted, narrowed, newest, split};
pub use standing::{cannot_be_edited, deployed_at, edge_of, old_chart, steps_from};
pub use target::{Assignment, Overlap, assign};
pub use title::title;
pub use wave::{Wave, WaveShare};

/// A named set of paths that move together.
#[derive(Clone, Debug)]
pub struct Target {
    /// `default`, or as configured.
    pub name: String,
    /// Globs of its files; all when empty.
    pub paths: globset::GlobSet,
    /// Globs of files that are not its.
    pub exclude: globset::GlobSet,
    /// Whether it has every file that is not excluded, since `paths` was not configured.
    pub all: bool,
    /// Which of the pins in its files are its.
    pub share: Share,
    /// Which part of the proxies it has, where they move in waves.
    pub wave: Option<WaveShare>,
    /// The target that goes before it, since it has files that this one's installations read too.
    pub after: Option<String>,
}

/// Which of the pins in its files a target has.
#[derive(Clone, Debug, Default)]
pub enum Share {
    /// All of them.
    #[default]
    All,
    /// Those that serve an installation.
    Serving(Arc<str>),
    /// Those of one part of an inventory.
    Part {
        /// The parts.
        parts: Arc<Parts>,
        /// Which one.
        mine: usize,
    },
}

/// What the operator and the repository's configuration say of moves, beside the policy.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What becomes of proxy pins.
    pub proxies: Proxies,
    /// The release of a control plane that is not in the repository: `dataPlane.controlPlane`.
    pub control_plane: Option<EdgeVersion>,
    /// Where the operator has charts from.
    pub served: Served,
}

/// The places of charts that the operator has named.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// The repository of the chart index, whose charts are in the catalog.
    pub index: Option<String>,
    /// Mirrors, which are asked for each chart that a pin takes from one of them, or from below it.
    pub mirrors: Vec<String>,
}

/// What becomes of the pins of the data-plane stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proxies {
    /// They go to the release that is asked for.
    #[default]
    Follow,
    /// `dataPlane.pins: ignore`.
    Ignore,
}

/// What would become of one pin if its target went to a release.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The pin.
    pub pin: Arc<Pin>,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of a pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It gets a text.
    Becomes(NewText),
    /// It stays as it is.
    Stays(Reason),
}

/// A pin that moves.
#[derive(Clone, Debug)]
pub struct Move {
    /// The pin.
    pub pin: Arc<Pin>,
    /// The text that it gets. A lock digest is computed when the lock is edited.
    pub new: NewText,
}

/// A pin that stays.
#[derive(Clone, Debug)]
pub struct Stay {
    /// The pin.
    pub pin: Arc<Pin>,
    /// Why.
    pub reason: Reason,
}

/// The text that a pin gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewText {
    /// This text.
    Fixed(String),
    /// The digest recomputed over the edited `Chart.yaml` and `Chart.lock`.
    LockDigest,
    /// This text, in a manifest that is rendered again as a whole.
    Rendered(String),
    /// None: what came with a change goes with it.
    Gone,
}

/// What a plan is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What the scan found, [resolved](resolve).
    pub inventory: &'a Inventory,
    /// Whose pins move.
    pub target: &'a Target,
    /// Which of its pins.
    pub stage: Stage,
    /// The release to go to.
    pub to: EdgeVersion,
    /// The release wanted in the end, and why `to` comes first, where `to` is a required hop.
    pub hop_towards: Option<(EdgeVersion, &'static str)>,
    /// What is known of releases.
    pub catalog: &'a Catalog,
    /// What the configuration says of moves.
    pub options: &'a Options,
    /// Files beside those with pins that rendered manifests are made from: their other files, and values.
    pub sources: &'a [(RepoPath, BlobId)],
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
    /// Whether the oldest of these stands for charts of versions of their own that no index explains: that or older.
    pub older: bool,
    /// The release to go to.
    pub to: EdgeVersion,
    /// The release wanted in the end, and why `to` comes first, where `to` is a required hop.
    pub hop_towards: Option<(EdgeVersion, &'static str)>,
    /// When the release was published, where known.
    pub published: Option<jiff::Timestamp>,
    /// The change that it takes back, where it goes to an older release.
    pub undoes: Option<Undone>,
    /// The moving pins, ordered as in the inventory.
    pub moves: Vec<Move>,
    /// The pins of the same stage that stay.
    pub stays: Vec<Stay>,
    /// SHA-256 in hexadecimal over the inputs: blobs of the change set, release, chart digests, rules version.
    pub fingerprint: String,
    /// SHA-256 in hexadecimal over (path, base blob) of the change set.
    pub inputs: String,
}

/// A change of the base branch that is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The release that it brought.
    pub release: EdgeVersion,
    /// The commit with which that was complete.
    pub commit: CommitId,
    /// When.
    pub since: jiff::Timestamp,
    /// What says that it does not work, where that is why.
    pub failure: Option<StatusCheck>,
}

/// The files of a change set in short, for texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Touched {
    /// The file.
    pub path: RepoPath,
    /// How many pins move in it.
    pub pins: usize,
}

// === impl Options ===

impl Options {
    /// Tells whether a pin is left alone whatever its target does.
    fn ignores(&self, pin: &Pin) -> bool {
        pin.stage == Stage::DataPlane && self.proxies == Proxies::Ignore && !pin.restarts
    }
}

// === impl Judged ===

impl Judged {
    /// Returns the text that the pin gets.
    pub fn becomes(&self) -> Option<&NewText> {
        match &self.fate {
            Fate::Becomes(new) => Some(new),
            Fate::Stays(_) => None,
        }
    }

    /// Returns why it stays.
    pub fn reason(&self) -> Option<Reason> {
        match self.fate {
            Fate::Becomes(_) => None,
            Fate::Stays(reason) => Some(reason),
        }
    }

    /// Returns the pin where it is of a kind.
    fn of_kind(&self, kind: PinKind) -> Option<&Pin> {
        Some(&*self.pin).filter(|pin| pin.kind == kind)
    }

    /// Lets the pin stay where it would move.
    fn keep(&mut self, reason: Reason) {
        if self.becomes().is_some() {
            self.fate = Fate::Stays(reason);
        }
    }

    /// Parts what moves from what stays.
    fn part(all: impl IntoIterator<Item = Self>) -> (Vec<Move>, Vec<Stay>) {
        let (mut moves, mut stays) = (Vec::new(), Vec::new());
        for Self { pin, fate } in all {
            match fate {
                Fate::Becomes(new) => moves.push(Move { pin, new }),
                Fate::Stays(reason) => stays.push(Stay { pin, reason }),
            }
        }
        (moves, stays)
    }
}

// === impl Plan ===

impl Plan {
    /// Says from which releases it goes, oldest first.
    pub fn origins(&self) -> Vec<String> {
        self.from.iter().map(|from| self.origin(*from)).collect()
    }

    /// Names a release that it goes from.
    pub fn origin(&self, from: EdgeVersion) -> String {
        match self.older && self.from.first() == Some(&from) {
            true => format!("{from} or older"),
            false => from.to_string(),
        }
    }

    /// Returns the pins that move, with the text that each gets.
    pub fn moving(&self) -> impl Iterator<Item = (&Pin, &NewText)> {
        self.moves.iter().map(|moved| (&*moved.pin, &moved.new))
    }

    /// Returns the text that each moving pin gets, by the pin itself: several may have one [key](Pin::key).
    pub fn texts(&self) -> HashMap<*const Pin, &NewText> {
        self.moves.iter().map(|moved| (Arc::as_ptr(&moved.pin), &moved.new)).collect()
    }

    /// Returns the pins of its stage that stay, each with the reason.
    pub fn staying(&self) -> impl Iterator<Item = (&Pin, Reason)> {
        self.stays.iter().map(|stay| (&*stay.pin, stay.reason))
    }

    /// Returns what becomes of each pin of its stage.
    pub fn judged(&self) -> impl Iterator<Item = Judged> {
        let moves = self.moves.iter().map(|Move { pin, new }| (pin, Fate::Becomes(new.clone())));
        let stays = self.stays.iter().map(|Stay { pin, reason }| (pin, Fate::Stays(*reason)));
        moves.chain(stays).map(|(pin, fate)| Judged { pin: pin.clone(), fate })
    }

    /// Returns the files that the plan changes, ordered by path, with the number of pins that move in each.
    pub fn touched(&self) -> Vec<Touched> {
        let mut counts: BTreeMap<&RepoPath, usize> = BTreeMap::new();
        for (pin, _) in self.moving() {
            *counts.entry(&pin.path).or_default() += 1;
        }
        counts.into_iter().map(|(path, pins)| Touched { path: path.clone(), pins }).collect()
    }

    /// Tells whether a pin fixes the version of a deployment's chart and the plan does not change that.
    pub fn leaves(&self, deployment: &Deployment) -> bool {
        let own = |pin: &Pin| pin.is_of(&deployment.chart) && deployment.has_version_of(pin);
        self.staying().any(|(pin, _)| own(pin)) && !self.moving().any(|(pin, _)| own(pin))
    }
}

#[cfg(test)]
pub(crate) mod testing;
