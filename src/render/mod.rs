//! Step 7, render: what Helm makes of charts, before and after a change, and committed manifests made again.
//!
//! In: charts, values, committed manifests. Out: [`Rendering`]s (objects before and after), and new text for
//! committed manifests in which nothing differs but what the release changed. `helm` and `charts` are the adapters:
//! they run Helm and bring chart packages. Everything else is pure: it is given text and gives text.

mod cause;
mod charts;
pub mod committed;
pub mod diff;
mod entry;
pub mod field_path;
mod helm;
mod inputs;
pub mod job;
mod kubernetes;
mod list_match;
mod mask;
mod merge_keys;
pub mod normalize;
pub mod object;
pub mod topic;
pub mod uses;
pub mod value;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, OnceLock},
};

use crate::{pins::Installed, repo::RepoPath};

pub use cause::Cause;
pub use diff::{FieldChange, ObjectChange, ObjectDiff, diff};
pub use entry::{DriftMode, RenderEntry};
pub use field_path::{FieldPath, Segment};
pub use helm::ByHelm;
pub use job::{Chart, ChartId, Job, Off, RenderError, Renderer, Take};
pub use object::{Manifest, ManifestError, Object, ObjectKey};
pub use topic::{Topic, is_version_only, names_release_only, topic};
pub use uses::render_uses;

/// A chart that the repository deploys or commits, as Helm makes it before and after the change.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// The object that has it deployed, or the first file of the committed manifest.
    pub path: RepoPath,
    /// From 1.
    pub line: usize,
    /// Whether its output is committed, rather than rendered in the cluster.
    pub committed: bool,
    /// How those who have it so bring it to the cluster.
    pub installed: BTreeSet<Installed>,
    /// The chart as it is.
    pub from: ChartId,
    /// The chart as it will be.
    pub to: ChartId,
    /// The namespace that it is rendered for.
    pub namespace: String,
    /// The objects as they are: committed, else rendered, invented fields made equal.
    pub before: Arc<Manifest>,
    /// The objects as they will be.
    pub after: Arc<Manifest>,
    /// The user's values before the change, merged; the charts' defaults are not in them.
    pub values_before: serde_json::Value,
    /// The same after the change.
    pub values_after: serde_json::Value,
    /// The old chart's defaults.
    pub defaults_before: serde_json::Value,
    /// The new chart's defaults.
    pub defaults_after: serde_json::Value,
    /// Values from outside the tree.
    pub stand_ins: Vec<StandIn>,
    /// What a reader must know of this rendering beside that, one sentence each.
    pub notes: Vec<String>,
    /// Where each object of a committed manifest is: its file, and its line from 1; of one that comes only its file.
    pub places: BTreeMap<ObjectKey, (RepoPath, Option<usize>)>,
    /// What differs, once it was asked for.
    pub difference: OnceLock<ObjectDiff>,
}

/// A chart that could not be rendered, or a committed manifest that could not be made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRendered {
    /// Where it is in the repository.
    pub path: RepoPath,
    /// From 1, where known.
    pub line: Option<usize>,
    /// The files of a committed manifest; none for a chart that is deployed without committing its output.
    pub files: Vec<RepoPath>,
    /// The chart.
    pub chart: String,
    /// Whether Helm makes the old version with these values and refuses the new one: so it will where it is deployed.
    pub refused: bool,
    /// Why, and what to do.
    pub cause: Cause,
}

/// A value from outside the tree that was rendered with a stand-in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StandIn {
    /// Where the chart takes it, as Helm's `--set` names it; `None` where it may be any value.
    pub target: Option<String>,
    /// What has it, such as `Secret linkerd-identity`.
    pub source: String,
}

/// All that was rendered for one plan.
#[derive(Clone, Debug, Default)]
pub struct Renderings {
    /// What could be rendered, ordered by path.
    pub done: Vec<Rendering>,
    /// What could not.
    pub missing: Vec<NotRendered>,
    /// Helm's own version, such as `v4.2.3`; `None` where it was not needed or is not there.
    pub helm: Option<String>,
}

// === impl Renderings ===

impl Renderings {
    /// Puts two together, ordered by path.
    pub fn and(mut self, more: Self) -> Self {
        self.done.extend(more.done);
        self.missing.extend(more.missing);
        self.done.sort_by(|a, b| (&a.path, a.line, &a.to).cmp(&(&b.path, b.line, &b.to)));
        self.missing.sort_by(|a, b| (&a.path, a.line, &a.chart).cmp(&(&b.path, b.line, &b.chart)));
        Self { helm: self.helm.or(more.helm), ..self }
    }
}

// === impl StandIn ===

impl fmt::Display for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.target.as_deref().unwrap_or("any value"), self.source)
    }
}

// === impl Rendering ===

impl Rendering {
    /// Returns where an object is in the repository: its own place, or that of the object that has the chart deployed.
    pub fn place(&self, key: &ObjectKey) -> (&RepoPath, Option<usize>) {
        self.places.get(key).map_or((&self.path, Some(self.line)), |(path, line)| (path, *line))
    }

    /// Compares the objects before and after, the first time that it is asked for.
    pub fn diff(&self) -> &ObjectDiff {
        self.difference.get_or_init(|| {
            let before: Vec<&Object> = self.before.objects.iter().collect();
            let after: Vec<&Object> = self.after.objects.iter().collect();
            diff(&before, &after)
        })
    }
}
