//! Step 3, scan: what every shape may ask of the repository while it reads one file.
//!
//! In: the corpus, the index, the layout. Out: answers by name. No shape asks another shape.

use std::collections::BTreeSet;

use super::{
    RepoPath, ScanOptions,
    corpus::Corpus,
    index::{Index, LocalChart, Release, Source, SourceRef, nearest},
    layout::Layout,
    object::Object,
    origin::Origin,
};

/// The repository as a shape sees it.
#[derive(Clone, Copy)]
pub(super) struct Context<'c> {
    /// Files on demand.
    pub corpus: &'c Corpus<'c>,
    /// Facts of all files.
    pub index: &'c Index,
    /// How folders are put together.
    pub layout: &'c Layout<'c>,
    /// What the operator said.
    pub options: &'c ScanOptions,
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

    /// Finds where a chart comes from that is tied by kind, name and namespace to a source; without a namespace
    /// the source is in the release's own.
    pub fn origin(
        &self,
        path: &RepoPath,
        kind: &str,
        name: &str,
        namespace: Option<&str>,
        own: &BTreeSet<String>,
    ) -> Origin {
        if matches!(kind, "GitRepository" | "Bucket") {
            return Origin::Local;
        }
        match self.source(path, kind, name, namespace, own).and_then(|s| s.url.clone()) {
            Some(url) if !url.contains("${") => Origin::Address(url),
            _ => Origin::Unknown,
        }
    }

    /// Finds a source object.
    pub fn source(
        &self,
        path: &RepoPath,
        kind: &str,
        name: &str,
        namespace: Option<&str>,
        own: &BTreeSet<String>,
    ) -> Option<&'c Source> {
        let wanted: BTreeSet<String> =
            namespace.map_or_else(|| own.clone(), |n| BTreeSet::from([n.to_owned()]));
        let tied = |source: &&Source| {
            let there = self.layout.namespaces(&source.path, source.namespace.as_deref());
            wanted.is_empty() || there.is_empty() || !wanted.is_disjoint(&there)
        };
        let named = self.index.sources.iter().filter(|s| s.kind == kind && s.name == name);
        nearest(named.filter(tied), path, |s| &s.path)
    }

    /// Follows a `chartRef` to the chart: a HelmChart's, or the last part of an OCIRepository's address.
    pub fn referenced_chart(
        &self,
        path: &RepoPath,
        kind: &str,
        name: &str,
        namespace: Option<&str>,
        own: &BTreeSet<String>,
    ) -> Option<NamedChart> {
        let source = self.source(path, kind, name, namespace, own)?;
        if let Some(url) = &source.url {
            return oci_chart(url);
        }
        let (of_kind, of_name) = source.of.as_ref()?;
        let there = self.layout.namespaces(&source.path, source.namespace.as_deref());
        let origin = self.origin(&source.path, of_kind, of_name, None, &there);
        Some(NamedChart { chart: source.chart.clone()?, origin })
    }

    /// Finds the chart of the release that a patch is for, by kind and name, and by namespace where both say one.
    pub fn patched_chart(
        &self,
        path: &RepoPath,
        kind: &str,
        name: &str,
        namespaces: &BTreeSet<String>,
    ) -> Option<NamedChart> {
        let there = |r: &Release| self.layout.namespaces(&r.path, r.namespace.as_deref());
        let named = self.index.releases.iter().filter(|r| r.kind == kind && r.name == name);
        let tied = named.filter(|r| {
            let there = there(r);
            kind != "HelmRelease"
                || namespaces.is_empty()
                || there.is_empty()
                || !there.is_disjoint(namespaces)
        });
        let Some(release) = nearest(tied, path, |r| &r.path) else {
            // A patch for a release that is made elsewhere is known by its name alone.
            return crate::linkerd::is_chart(name)
                .then(|| NamedChart { chart: name.to_owned(), origin: Origin::Unknown });
        };
        match &release.source {
            SourceRef::Url(url) => {
                Some(NamedChart { chart: release.chart.clone(), origin: Origin::Address(url.clone()) })
            }
            SourceRef::Object(kind, source, namespace) if release.chart.is_empty() => {
                self.referenced_chart(&release.path, kind, source, namespace.as_deref(), &there(release))
            }
            SourceRef::Object(kind, source, namespace) => {
                let own = there(release);
                let origin = self.origin(&release.path, kind, source, namespace.as_deref(), &own);
                Some(NamedChart { chart: release.chart.clone(), origin })
            }
        }
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
