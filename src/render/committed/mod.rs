//! Step 7, render: committed manifests made again.
//!
//! In: the files in which scan found what Helm or `linkerd install` made. Out: their new text, in which nothing differs
//! but what the release changed; or why there is none. The way of each set of files: `recognise` what it is, find the
//! `candidate` values, `prove` that the old version with them gives what is committed, `retain` what the charts would
//! invent, `write` in the form that is there. Pure over a [`Renderer`](super::Renderer).

mod beside;
mod candidate;
mod checksum;
mod claimed;
mod compared;
mod edited;
mod embedded;
mod emit;
mod field;
mod finish;
mod folds;
mod graft;
mod items;
mod keep;
mod kustomization;
mod linkerd_config;
mod make;
mod named;
mod names;
mod nondeterministic;
mod order;
mod own;
mod placed;
mod prove;
mod recognise;
mod restore;
mod retain;
mod run;
mod shown;
mod wording;
mod work;
mod write;

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{Cause, DriftMode, Manifest, NotRendered, ObjectKey, RenderEntry, Rendering};
use crate::{
    linkerd::{EdgeVersion, Knowledge},
    pins::{ChartUse, Reason},
    repo::{BlobId, FileChange, Mode, RepoPath, Tree},
};

pub use beside::{opened_near, values_near};
pub use compared::compared;
pub use named::named;
pub use own::Own;
pub use recognise::{Recognised, committed};
pub use run::{Proofs, prove_all, regenerate};

/// What one `helm template` or `linkerd install` made, as it is committed.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The chart.
    pub chart: String,
    /// The chart's version, such as `2026.8.2`; `None` where no object names it.
    pub version: Option<String>,
    /// What its objects name in place of an edge release, such as `stable-2.14.10`; `None` where they name nothing.
    pub other: Option<String>,
    /// Objects that name another version: an upgrade that was done by half.
    pub mixed: Vec<(ObjectKey, String)>,
    /// The namespace that it was rendered for.
    pub namespace: String,
    /// Whether an `install` of the Linkerd CLI made most of it, rather than Helm.
    pub cli: bool,
    /// The files with an object of it, ordered by path.
    pub files: Vec<CommittedFile>,
}

/// One file of a committed manifest; other charts' objects may be in it too.
#[derive(Clone, Debug)]
pub struct CommittedFile {
    /// The file.
    pub path: RepoPath,
    /// Its mode.
    pub mode: Mode,
    /// Its content.
    pub blob: BlobId,
    /// Its objects.
    pub manifest: Arc<Manifest>,
    /// Which of them bear the chart's marks, by their place in the manifest.
    pub own: Vec<usize>,
}

/// What is to be made again, and from what.
#[derive(Clone, Copy)]
pub struct Regenerate<'a> {
    /// The tree before the change.
    pub tree: &'a dyn Tree,
    /// The same, in which values files are looked for whatever their names are: what is opened there and no values file
    /// has no part in what is made ([`opened_near`]).
    pub near: &'a dyn Tree,
    /// What is to be made again.
    pub committed: &'a [Committed],
    /// What stays: rendered in its own version where its chart may give an object of what is made again, and only then.
    pub beside: &'a [Committed],
    /// Charts as the repository has them rendered elsewhere: their values may be those of the manifest.
    pub uses: &'a [ChartUse],
    /// What the configuration says.
    pub entries: &'a [RenderEntry],
    /// The version that each chart is to have.
    pub to: &'a BTreeMap<String, String>,
    /// What becomes of manual changes.
    pub drift: DriftMode,
    /// The Kubernetes version that is rendered for, where it is known.
    pub kube_version: Option<&'a str>,
    /// Facts about Linkerd.
    pub knowledge: &'a Knowledge,
}

/// Committed manifests made again.
#[derive(Clone, Debug, Default)]
pub struct Regenerated {
    /// The changed files, ordered by path; none where nothing changes.
    pub changes: Vec<FileChange>,
    /// What changes in them, by object.
    pub renderings: Vec<Rendering>,
    /// What could not be made again.
    pub missing: Vec<NotRendered>,
    /// What has marks of a chart that gives nothing of it.
    pub left: Vec<Left>,
}

/// A file that has marks of a chart, which gives nothing in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The file.
    pub path: RepoPath,
    /// The chart.
    pub chart: String,
    /// The chart that gives what is marked; without one it is its owner's.
    pub given_by: Option<String>,
    /// Whether a command of the Linkerd CLI says that it made something of it.
    pub by_cli: bool,
    /// Whether pods of it run an image of Linkerd, which then is of the release that it names.
    pub runs: bool,
}

/// A place where a committed manifest is not what its chart and values give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The file; of a missing object the set's first.
    pub path: RepoPath,
    /// From 1.
    pub line: usize,
    /// The chart and version.
    pub chart: String,
    /// The object.
    pub object: ObjectKey,
    /// The field; `None` for an object that only one side has.
    pub field: Option<String>,
    /// What is committed, shortened, secrets hidden; `None` where it is not there.
    pub committed: Option<String>,
    /// What the chart gives.
    pub rendered: Option<String>,
}

/// Why a set is not made again.
struct Refusal<'w> {
    cause: Cause,
    /// The difference that is why, where one is.
    at: Option<&'w Drift>,
}

// === impl Committed ===

impl Committed {
    /// Returns the first of its files.
    pub fn path(&self) -> Option<&RepoPath> {
        self.files.first().map(|file| &file.path)
    }

    /// Returns the line of its first object in the first file, from 1.
    pub fn line(&self) -> usize {
        let first = self.files.first();
        let object = first.and_then(|file| file.manifest.objects.get(*file.own.first()?));
        first.zip(object).map_or(1, |(file, object)| file.manifest.line(object))
    }

    /// Returns the release that it names.
    fn edge(&self) -> Option<EdgeVersion> {
        EdgeVersion::from_chart(self.version.as_deref()?)
    }

    /// Returns a text that tells it from other sets, whatever version it is of.
    fn seed(&self) -> String {
        format!("{}\n{}", self.path().map_or("", RepoPath::as_str), self.namespace)
    }

    /// Says that it is not made again, at the place that is why, else at its first object.
    fn not_rendered(&self, refusal: Refusal<'_>) -> Option<NotRendered> {
        let Refusal { cause, at } = refusal;
        let first = || Some((self.path()?.clone(), self.line()));
        let (path, line) = at.map(|drift| (drift.path.clone(), drift.line)).or_else(first)?;
        Some(NotRendered {
            path,
            line: Some(line),
            files: self.files.iter().map(|file| file.path.clone()).collect(),
            chart: self.chart.clone(),
            refused: false,
            cause,
        })
    }
}

// === impl Refusal ===

impl From<Cause> for Refusal<'_> {
    fn from(cause: Cause) -> Self {
        Self { cause, at: None }
    }
}

// === impl Left ===

impl Left {
    /// Says why its pins stay.
    pub fn reason(&self) -> Reason {
        match (&self.given_by, self.by_cli, self.runs) {
            (Some(_), ..) => Reason::GivenByAnother,
            (None, true, _) => Reason::MadeByCli,
            (None, false, true) => Reason::NotFollowed,
            (None, false, false) => Reason::NoEffect,
        }
    }
}

// === impl Drift ===

impl Drift {
    /// Tells whether an object is committed that the chart does not give.
    fn is_own(&self) -> bool {
        self.field.is_none() && self.rendered.is_none()
    }

    /// Says what to do about it: an object that is left over is no change of values.
    pub fn hint(&self) -> &'static str {
        match self.is_own() {
            true => {
                "name the values that give it in `render:`; if it is your own, take the chart's marks off it (`# Source:`, `linkerd.io/created-by`)"
            }
            false => {
                "put the change into the values and name them in `render:`, or undo it, or let `drift: keep` keep it or `drift: overwrite` replace it"
            }
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.object)?;
        match (&self.field, &self.committed, &self.rendered) {
            (None, None, _) => f.write_str(" is not committed, though the chart gives it"),
            (None, _, _) => f.write_str(" is committed, though the chart does not give it"),
            (Some(field), Some(committed), Some(rendered)) => {
                write!(f, " {field} is {committed}, the chart gives {rendered}")
            }
            (Some(field), Some(committed), None) => {
                write!(f, " {field} is {committed}, the chart does not give it")
            }
            (Some(field), None, rendered) => {
                write!(f, " {field} is not there, the chart gives {}", rendered.as_deref().unwrap_or("null"))
            }
        }
    }
}
