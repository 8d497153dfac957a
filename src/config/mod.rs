//! Configuration of a repository: `uplinker.yaml`, read from the base branch.
//!
//! In: the text of the file, with positions. Out: a ready [`Config`], or every mistake at once as [`ConfigErrors`].
//! The text becomes raw sections (`raw`), then ready values (`ready`), in one conversion. One table (`keys`) names
//! every key; the checks, the JSON Schema and the reference page all come from it. Nothing here knows hosts,
//! tokens or programs: those belong to the operator and are flags.

mod error;
pub mod keys;
mod locate;
mod misfit;
mod nearest;
mod raw;
mod ready;
pub mod reference;
mod refname;
pub mod schema;
mod section;
mod values;
mod wording;

use std::ops::Range;

use globset::GlobSet;
use jiff::SignedDuration;

use crate::{
    linkerd::EdgeVersion,
    plan::{Split, Target, Wave},
    policy::{Gates, Merge, Policy},
    propose::{Options, forge::Extras},
    render::{DriftMode, RenderEntry},
    repo::Signature,
};

pub use error::{ConfigError, ConfigErrors};
pub use locate::{PATHS, ReadError, read};
pub use misfit::Misfit;
pub use nearest::nearest;
pub(crate) use values::duration;
pub use wording::{Fields, Wording};

/// What a repository asks for, ready to use.
#[derive(Clone, Debug)]
pub struct Config {
    /// The branch to propose against; the remote's default branch when `None`. See [`Config::base_branch`].
    pub base: Option<String>,
    /// The targets and groups of targets, at least one.
    pub targets: Vec<TargetConfig>,
    /// What becomes of proxy pins.
    pub data_plane: DataPlane,
    /// How committed manifests were rendered, where it cannot be found.
    pub render: Vec<RenderEntry>,
    /// What becomes of manual changes in rendered manifests.
    pub drift: DriftMode,
    /// Whether one issue shows where every target stands.
    pub overview: bool,
    /// What becomes of a change that must not be merged as it is.
    pub on_block: OnBlock,
    /// How pull requests look.
    pub pull_request: PullRequestConfig,
    /// How commits look.
    pub commit: CommitConfig,
    /// How branches are named and moved.
    pub branch: BranchConfig,
    /// Files that are not looked at.
    pub ignore: GlobSet,
    /// Where this was written; `None` without a configuration file.
    origin: Option<Origin>,
}

/// One target with what holds for it.
#[derive(Clone, Debug)]
pub struct TargetConfig {
    /// Its name and its paths.
    pub target: Target,
    /// The name that the configuration has for it, or for the group that it was made of.
    pub group: String,
    /// The labels of the installations that it has; of any where there are none.
    pub labels: Vec<(String, String)>,
    /// Whether it is one, or a group of them.
    pub split: Split,
    /// The repository's policy with the target's own keys over it.
    pub policy: Policy,
    /// The Kubernetes version that it runs, where configured.
    pub kubernetes: Option<semver::Version>,
    /// The targets, or groups of them, that go before it.
    pub after: Vec<After>,
    /// What is asked of the commits that it runs.
    pub gates: Gates,
    /// What is merged by itself, where anything is.
    pub merge: Option<Merge>,
    /// Where it stands in the file, for messages.
    span: Range<usize>,
    /// Where its labels stand.
    labels_at: Range<usize>,
}

/// A target that goes before another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    /// Its name.
    pub target: String,
    /// How long it must have run a release.
    pub soak: SignedDuration,
}

/// What becomes of proxy pins.
#[derive(Clone, Debug)]
pub struct DataPlane {
    /// Whether they move at all.
    pub pins: ProxyPins,
    /// How long the platform change must have been on the base branch.
    pub after: SignedDuration,
    /// Whether pod templates that ask for restarts by a label get the annotation that makes them roll.
    pub restarts: bool,
    /// The parts that move one after the other, before the rest.
    pub waves: Vec<Wave>,
    /// The release of a control plane that is not in this repository.
    pub control_plane: Option<EdgeVersion>,
}

/// Whether proxy pins move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyPins {
    /// In a pull request of their own.
    Follow,
    /// Never.
    Ignore,
}

/// What becomes of a change that a check blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBlock {
    /// A pull request that says so in its first line.
    Propose,
    /// No pull request.
    Hold,
}

/// How pull requests look.
#[derive(Clone, Debug, Default)]
pub struct PullRequestConfig {
    /// Labels and people.
    pub extras: Extras,
    /// Whether they open as drafts.
    pub draft: bool,
    /// The title; the built-in one when `None`.
    pub title: Option<Wording>,
}

/// How commits look.
#[derive(Clone, Debug, Default)]
pub struct CommitConfig {
    /// Author and committer; the token's user when `None`.
    pub author: Option<Signature>,
    /// Subject and body before the trailers; the built-in one when `None`.
    pub message: Option<Wording>,
    /// Whether a `Signed-off-by` trailer is added.
    pub sign_off: bool,
}

/// How branches are named and moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchConfig {
    /// What every branch of ours begins with.
    pub prefix: String,
    /// How they move to a newer release, and when they follow the base branch.
    pub options: Options,
}

/// The file that a configuration was read from.
#[derive(Clone, Debug)]
struct Origin {
    path: String,
    text: String,
}

/// Reads the text of a configuration file; `path` is for messages alone.
///
/// ```
/// let config = uplinker::config::parse("uplinker.yaml", "policy: {soak: 3d}\n").unwrap();
/// assert_eq!(config.targets[0].policy.soak.as_hours(), 72);
/// let errors = uplinker::config::parse("uplinker.yaml", "polcy: {}\n").unwrap_err();
/// assert!(errors.to_string().contains("uplinker.yaml:1:1"));
/// ```
pub fn parse(path: &str, text: &str) -> Result<Config, ConfigErrors> {
    let mut mistakes = error::Mistakes::default();
    let stream = raw::document(text, &mut mistakes);
    let raw = stream.as_ref().map(|stream| raw::Raw::read(text, stream, &mut mistakes)).unwrap_or_default();
    let mut config = ready::convert(&raw, &mut mistakes);
    let errors = mistakes.into_errors(path, text);
    match errors.errors.is_empty() {
        true => {
            config.origin = Some(Origin { path: path.to_owned(), text: text.to_owned() });
            Ok(config)
        }
        false => Err(errors),
    }
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            base: None,
            targets: vec![TargetConfig::default()],
            data_plane: DataPlane::default(),
            render: Vec::new(),
            drift: DriftMode::Refuse,
            overview: false,
            on_block: OnBlock::Propose,
            pull_request: PullRequestConfig::default(),
            commit: CommitConfig::default(),
            branch: BranchConfig::default(),
            ignore: GlobSet::empty(),
            origin: None,
        }
    }
}

impl Config {
    /// Returns the file that this was read from; `None` without one.
    pub fn path(&self) -> Option<&str> {
        self.origin.as_ref().map(|o| o.path.as_str())
    }

    /// Returns the branch to propose against, given the remote's default branch.
    ///
    /// An error where a branch of ours could be that branch, or could not stand beside it.
    pub fn base_branch(&self, default_branch: &str) -> Result<String, ConfigErrors> {
        let base = self.base.as_deref().unwrap_or(default_branch);
        let clash = [base, default_branch].into_iter().find_map(|b| refname::clash(&self.branch.prefix, b));
        match clash {
            None => Ok(base.to_owned()),
            Some(reason) => Err(self.late_error("branch.prefix", &reason, "choose another prefix")),
        }
    }

    fn error_at(
        &self,
        target: &str,
        key: &str,
        at: impl Fn(&TargetConfig) -> &Range<usize>,
        reason: &str,
        hint: &str,
    ) -> ConfigErrors {
        let span = self.targets.iter().find(|t| t.target.name == target).map_or(0..0, |t| at(t).clone());
        let mut mistakes = error::Mistakes::default();
        mistakes.add(span, key, reason, hint);
        mistakes.into_errors(self.path().unwrap_or(PATHS[0]), self.text())
    }

    fn text(&self) -> &str {
        self.origin.as_ref().map_or("", |o| o.text.as_str())
    }

    /// An error that shows only when the repository is known.
    fn late_error(&self, key: &str, reason: &str, hint: &str) -> ConfigErrors {
        let mut mistakes = error::Mistakes::default();
        mistakes.add(raw::place_of(self.text(), key), key, reason.to_owned(), hint);
        mistakes.into_errors(self.path().unwrap_or(PATHS[0]), self.text())
    }
}

// === impl TargetConfig ===

impl TargetConfig {
    /// Returns what holds for a target that was made of this one.
    pub fn like(&self, target: Target) -> Self {
        Self { target, ..self.clone() }
    }
}

impl Default for TargetConfig {
    fn default() -> Self {
        let (target, policy) = (Target::default_all(), Policy::default());
        Self {
            group: target.name.clone(),
            target,
            labels: Vec::new(),
            split: Split::default(),
            policy,
            kubernetes: None,
            after: Vec::new(),
            gates: Gates::default(),
            merge: None,
            span: 0..0,
            labels_at: 0..0,
        }
    }
}

// === impl DataPlane, BranchConfig ===

impl Default for DataPlane {
    fn default() -> Self {
        let after = SignedDuration::from_hours(24);
        Self { pins: ProxyPins::Follow, after, restarts: false, waves: Vec::new(), control_plane: None }
    }
}

impl Default for BranchConfig {
    fn default() -> Self {
        Self { prefix: "uplinker/".to_owned(), options: Options::default() }
    }
}
