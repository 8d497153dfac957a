//! Step 7, render: what Helm is asked for, and the trait behind which it works.
//!
//! In: a chart and values. Out: manifest text. The jobs of one change are few and distinct; equal ones are rendered
//! once.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::helm::{Evaluate, Template};

/// What to do where nothing of the operator's is wrong.
pub(super) const SYSTEM: &str = "look at the system that uplinker runs on";

/// A chart in a version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChartId {
    /// Its name, such as `linkerd-viz`.
    pub name: String,
    /// Its version, such as `2026.8.3`.
    pub version: String,
}

/// A packaged chart whose digest was that of the index.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Which one.
    pub id: ChartId,
    /// The SHA-256 of its package in hexadecimal.
    pub digest: String,
    /// Its text files by path below the chart's folder: `values.yaml`, `templates/destination.yaml`.
    pub files: BTreeMap<String, Arc<str>>,
}

/// One run of `helm template`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Job {
    /// The chart.
    pub chart: ChartId,
    /// What `helm template` is asked for.
    pub template: Template,
    /// Which of several runs of the same: what differs between two is invented by the chart.
    pub take: Take,
}

/// Which run of the same job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Take {
    /// The first.
    #[default]
    First,
    /// The second.
    Second,
}

/// Something that brings charts and renders them.
pub trait Renderer: Sync {
    /// Returns Helm's version, such as `v3.18.2`, or why there is no Helm and how to get one.
    fn helm(&self) -> Result<String, RenderError>;
    /// Returns why the program that the operator named is no Helm to work with, where it was asked for and is none.
    /// Starts nothing.
    fn misnamed(&self) -> Option<RenderError> {
        None
    }
    /// Returns what tells it from another that may render otherwise, `None` where there is nothing to render with. Nothing
    /// is started for that.
    fn identity(&self) -> Option<String>;
    /// Returns what evaluates charts of the repository itself, where there is such a thing.
    fn evaluator(&self) -> Option<Arc<dyn Evaluate>> {
        None
    }
    /// Brings a chart of the index, checked against its digest.
    fn chart(&self, id: &ChartId) -> Result<Arc<Chart>, RenderError>;
    /// Renders jobs over the cores, equal ones once, and returns their texts in the same order.
    fn render(&self, jobs: &[Job]) -> Vec<Result<Arc<str>, RenderError>>;
}

/// Renders nothing, since the operator wants it so.
#[derive(Clone, Copy, Debug)]
pub struct Off;

/// A chart that could not be brought or rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// No Helm, or one that is too old: the operator's to fix.
    #[error("{reason}; {hint}")]
    NoHelm {
        /// What is wrong with it.
        reason: String,
        /// What to do, in a clause.
        hint: &'static str,
    },
    /// The chart is not in the index, or has no digest there: the mirror's fault, or a wrong pin.
    #[error("{chart}: {reason}")]
    NoChart {
        /// The chart.
        chart: ChartId,
        /// Why.
        reason: String,
    },
    /// The package is not the one that the index names: a damaged mirror, or an attack.
    #[error("{chart}: its package has the digest {found}, the index says {expected}")]
    Digest {
        /// The chart.
        chart: ChartId,
        /// What the index says.
        expected: String,
        /// What was fetched.
        found: String,
    },
    /// The package is over a ceiling or has names that lead outside: an attack, or no chart.
    #[error("{chart}: its package is refused: {reason}")]
    Package {
        /// The chart.
        chart: ChartId,
        /// What is wrong with it.
        reason: String,
    },
    /// Helm refused: wrong values, or a chart that asks for more.
    #[error("{chart}: helm: {reason}")]
    Helm {
        /// The chart.
        chart: ChartId,
        /// Helm's words, shortened.
        reason: String,
    },
    /// Helm took too long or printed too much.
    #[error("{chart}: helm {reason}")]
    Ceiling {
        /// The chart.
        chart: ChartId,
        /// Which ceiling.
        reason: String,
    },
    /// The network, the disk, or the system failed.
    #[error("{chart}: {reason}")]
    Outside {
        /// The chart.
        chart: ChartId,
        /// What failed.
        reason: String,
        /// Whether it may work next time.
        temporary: bool,
    },
}

// === impl RenderError ===

impl RenderError {
    /// Tells whether the same inputs end in the same error: then there is nothing to be tried again.
    pub fn lasts(&self) -> bool {
        match self {
            Self::NoChart { .. } | Self::Helm { .. } => true,
            // A Helm that is there and fails may not fail next time, and a mirror may be mended.
            Self::NoHelm { .. }
            | Self::Digest { .. }
            | Self::Package { .. }
            | Self::Ceiling { .. }
            | Self::Outside { .. } => false,
        }
    }

    /// Says what to do about it, in a clause.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoHelm { hint, .. } => hint,
            Self::NoChart { .. } => "check the version, and the chart index that uplinker is given",
            Self::Digest { .. } | Self::Package { .. } => {
                "find out where this package comes from before anything of it is deployed"
            }
            Self::Helm { .. } => "correct the values in the repository, or name them in `render:`",
            Self::Ceiling { .. } => "look at the chart and its values: Linkerd's stay far below this",
            Self::Outside { temporary: true, .. } => "the next run tries again",
            Self::Outside { temporary: false, .. } => SYSTEM,
        }
    }
}

// === impl Off ===

fn off() -> RenderError {
    let reason = "rendering is off (`--helm off`)".to_owned();
    RenderError::NoHelm { reason, hint: "give uplinker a `helm` of 3.14 or newer" }
}

impl Renderer for Off {
    fn helm(&self) -> Result<String, RenderError> {
        Err(off())
    }

    fn identity(&self) -> Option<String> {
        None
    }

    fn chart(&self, _: &ChartId) -> Result<Arc<Chart>, RenderError> {
        Err(off())
    }

    fn render(&self, jobs: &[Job]) -> Vec<Result<Arc<str>, RenderError>> {
        jobs.iter().map(|_| Err(off())).collect()
    }
}

// === impl ChartId ===

impl fmt::Display for ChartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

// === impl Chart ===

impl Chart {
    /// Returns the chart's own values, empty where it has none.
    pub fn defaults(&self) -> &str {
        self.files.get("values.yaml").map_or("", |text| text)
    }
}
