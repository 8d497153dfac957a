//! Step 5, pins: how the repository has a chart of Linkerd rendered.
//!
//! In: charts as the model has them deployed. Out: [`ChartUse`]s: what Helm would be given by the one who deploys it, as
//! far as the tree says it. Nothing is rendered here.

use std::{collections::BTreeSet, sync::Arc};

use crate::repo::RepoPath;

pub use crate::deploy::chart::{Installed, ParameterKind};

/// A chart of Linkerd as one object has it rendered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChartUse {
    /// The file of the HelmRelease, Application, kustomization or `Chart.yaml`.
    pub path: RepoPath,
    /// The line of that object, from 1.
    pub line: usize,
    /// Which of several in one object: `sources[1]`, `helmCharts[0]`, `dependencies[2]`; empty where there is one.
    pub part: String,
    /// Those who have it so, where others may have something else of the same object: the files of Flux Kustomizations
    /// and overlays, of the elements of a generator, of whoever deploys the umbrella chart.
    pub by: BTreeSet<RepoPath>,
    /// The other files in which anything of it was written.
    pub sources: BTreeSet<RepoPath>,
    /// The chart's name.
    pub chart: String,
    /// The chart's version as written.
    pub version: String,
    /// The name of the Helm release.
    pub release: String,
    /// The namespace that it is rendered for, where the tree says it.
    pub namespace: Option<String>,
    /// The values, later ones win.
    pub values: Vec<ValuesPart>,
    /// Single values (`--set`), after all values.
    pub parameters: Vec<Parameter>,
    /// What is said of the cluster's version (Argo CD `helm.kubeVersion`, kustomize `kubeVersion`).
    pub kube_version: Option<String>,
    /// The same of its APIs (`helm.apiVersions`, `apiVersions`).
    pub api_versions: Vec<String>,
    /// Whether the `crds/` folder is rendered too.
    pub include_crds: bool,
    /// Whether hooks are rendered.
    pub hooks: bool,
    /// What the shape does beyond what is read here, one sentence each: post-renderers, plugins.
    pub notes: Vec<String>,
    /// How those who have it so bring it to the cluster.
    pub installed: BTreeSet<Installed>,
}

/// One layer of values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValuesPart {
    /// YAML text of a mapping as the deployer gives it to Helm, with the file that it is from.
    Text {
        /// The text.
        text: Arc<str>,
        /// The file that it stands in: of the object, or a values file.
        path: RepoPath,
    },
    /// A values file inside the chart's package, such as `values-ha.yaml`.
    InChart {
        /// Its path below the chart's folder.
        file: String,
        /// Whether the deployer goes on without it.
        optional: bool,
    },
    /// Values that are not in the tree, or cannot be read.
    Outside {
        /// Where they are, for people: `Secret linkerd/certs, key ca.crt`.
        what: String,
        /// The one value that they set, as a path (`identityTrustAnchorsPEM`); `None` for any.
        target: Option<String>,
        /// Whether the deployer goes on without them.
        optional: bool,
    },
}

/// A single value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameter {
    /// Its path in Helm's syntax.
    pub name: String,
    /// Its text in Helm's syntax; of a literal one as it is.
    pub value: String,
    /// How it is typed.
    pub kind: ParameterKind,
}

// === impl ChartUse ===

impl ChartUse {
    /// Lists the files that make it what it is.
    pub fn files(&self) -> impl Iterator<Item = &RepoPath> {
        std::iter::once(&self.path).chain(&self.by).chain(&self.sources)
    }
}
