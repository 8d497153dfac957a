//! Step 5, pins: what every shape may ask of the repository while it reads one file.
//!
//! In: the corpus, the index, the layout. Out: answers by name. No shape asks another shape.

use std::collections::BTreeSet;

use super::{
    ScanOptions,
    corpus::Corpus,
    index::{Index, LocalChart, Map, Release, Source, SourceRef},
    layout::Layout,
    named::Named,
    object::Object,
    origin::Origin,
    other,
};
use crate::{deploy::TreeFiles, repo::RepoPath};

/// The repository as a shape sees it.
#[derive(Clone, Copy)]
pub(super) struct Context<'c> {
    /// Files on demand.
    pub corpus: &'c Corpus<'c>,
    /// The same files as the deployers read them.
    pub files: &'c TreeFiles<'c>,
    /// Facts of all files.
    pub index: &'c Index,
    /// How folders are put together.
    pub layout: &'c Layout<'c>,
    /// The index's sources, by name.
    pub sources: &'c Named<'c, Source>,
    /// The index's releases, by name.
    pub releases: &'c Named<'c, Release>,
    /// The index's ConfigMaps and Secrets, by name alone.
    pub maps: &'c Named<'c, Map>,
    /// What the operator said.
    pub options: &'c ScanOptions,
}

/// How one object refers to another.
#[derive(Clone, Copy)]
pub(super) struct Reference<'a> {
    /// The file that it stands in.
    pub from: &'a RepoPath,
    /// The other's kind.
    pub kind: &'a str,
    /// The other's name.
    pub name: &'a str,
    /// The other's namespace; without one it is in the object's own.
    pub namespace: Option<&'a str>,
    /// The namespaces that the object itself may be in.
    pub own: &'a BTreeSet<String>,
}

/// A chart as an object names it.
#[derive(Clone, Debug)]
pub(super) struct NamedChart {
    /// Its name, or its folder where it lies in the tree.
    pub chart: String,
    /// Where it comes from.
    pub origin: Origin,
}

// === impl Context ===

impl<'c> Context<'c> {
    /// Returns the namespaces that an object may end in.
    pub fn namespaces(&self, path: &RepoPath, object: &Object<'_>) -> BTreeSet<String> {
        self.layout.namespaces(path, object.namespace)
    }

    /// Finds where the chart of a source object comes from.
    pub fn origin(&self, to: &Reference<'_>) -> Origin {
        if matches!(to.kind, "GitRepository" | "Bucket") {
            return Origin::Local;
        }
        match self.source(to).and_then(|s| s.url.clone()) {
            Some(url) if !url.contains("${") => Origin::Address(url),
            _ => Origin::Unknown,
        }
    }

    /// Finds a source object.
    pub fn source(&self, to: &Reference<'_>) -> Option<&'c Source> {
        let named = to.namespace.map(|namespace| BTreeSet::from([namespace.to_owned()]));
        self.sources.nearest(to.kind, to.name, named.as_ref().unwrap_or(to.own), to.from)
    }

    /// Follows a `chartRef` to the chart: a HelmChart's, or the last part of an OCIRepository's address.
    pub fn referenced_chart(&self, to: &Reference<'_>) -> Option<NamedChart> {
        let source = self.source(to)?;
        if let Some(url) = &source.url {
            return oci_chart(url);
        }
        let (kind, name) = source.of.as_ref()?;
        let there = self.layout.namespaces(&source.path, source.namespace.as_deref());
        let origin = self.origin(&Reference { from: &source.path, kind, name, namespace: None, own: &there });
        Some(NamedChart { chart: source.chart.clone()?, origin })
    }

    /// Finds the chart of the release that a patch is for, by kind and name, and by namespace where both say one; Argo
    /// CD's applications are all in one namespace.
    pub fn patched_chart(
        &self,
        path: &RepoPath,
        kind: &str,
        name: &str,
        namespaces: &BTreeSet<String>,
    ) -> Option<NamedChart> {
        let anywhere = BTreeSet::new();
        let wanted = if kind == "HelmRelease" { namespaces } else { &anywhere };
        let Some(release) = self.releases.nearest(kind, name, wanted, path) else {
            // A patch for a release that is made elsewhere is known by its name alone.
            return crate::linkerd::is_chart(name)
                .then(|| NamedChart { chart: name.to_owned(), origin: Origin::Unknown });
        };
        let chart = release.chart.clone();
        match &release.source {
            SourceRef::Url(url) => Some(NamedChart { chart, origin: Origin::Address(url.clone()) }),
            SourceRef::Object(kind, name, namespace) => {
                let own = self.layout.namespaces(&release.path, release.namespace.as_deref());
                let namespace = namespace.as_deref();
                let to = Reference { from: &release.path, kind, name, namespace, own: &own };
                match chart.is_empty() {
                    true => self.referenced_chart(&to),
                    false => Some(NamedChart { chart, origin: self.origin(&to) }),
                }
            }
        }
    }

    /// Tells whether a file lies among the templates of a chart of the tree.
    pub fn is_template(&self, path: &RepoPath) -> bool {
        other::is_chart_template(path, |folder| {
            let chart =
                if folder.is_empty() { "Chart.yaml".to_owned() } else { format!("{folder}/Chart.yaml") };
            self.corpus.entry(&chart).is_some()
        })
    }

    /// Returns the chart in a folder of the tree.
    pub fn local_chart(&self, folder: &str) -> Option<&'c LocalChart> {
        self.index.charts.get(folder)
    }
}

/// Reads the address of a chart in an OCI registry: its last part is the chart.
pub(super) fn oci_chart(url: &str) -> Option<NamedChart> {
    let (registry, chart) = url.trim_end_matches('/').rsplit_once('/')?;
    Some(NamedChart { chart: chart.to_owned(), origin: Origin::Address(registry.to_owned()) })
}
