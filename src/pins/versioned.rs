//! Step 5, pins: charts of the tree that their deployers take anew by version alone.
//!
//! In: a chart as a deployer has it rendered. Out: what is packaged with its version, for whoever sees that change.

use std::collections::BTreeSet;

use crate::{
    deploy::{
        ChartRelease, Files, Layer, Scalar,
        chart::Renewal,
        umbrella::{self, Inner},
    },
    repo::RepoPath,
};

/// A chart of the tree that a deployer takes anew once its version is another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Versioned {
    /// Its folder.
    pub folder: String,
    /// Who takes it so.
    pub renewal: Renewal,
    /// The file that asks for it.
    pub path: RepoPath,
    /// The folders of the charts that it takes in.
    pub inner: BTreeSet<RepoPath>,
    /// Files of values that are packaged with it.
    pub values: BTreeSet<RepoPath>,
}

// === impl Versioned ===

impl Versioned {
    /// Reads a release; `None` where its chart is none of the tree's, or is taken anew with each change.
    pub(super) fn of(release: &ChartRelease, files: &dyn Files) -> Option<Self> {
        let renewal = Some(release.renewal).filter(|renewal| *renewal != Renewal::Change)?;
        let folder = release.folder_in(files)?;
        let inner = umbrella::inner(files, &folder).into_iter().filter_map(|Inner { folder, .. }| folder);
        // These alone stand in the place of the chart's own.
        let layers = release.layers.iter().take(release.replacing);
        let texts = layers.filter_map(|layer| match layer {
            Layer::Values(values) => Some(values.scalars()),
            _ => None,
        });
        let places = texts.flatten().flat_map(Scalar::origins);
        let values = places.map(|at| at.source.path.clone()).collect();
        Some(Self { inner: inner.collect(), values, renewal, path: release.file.clone(), folder })
    }

    /// Returns the file that has its version.
    pub fn named_in(&self) -> Option<RepoPath> {
        RepoPath::resolve(&self.folder, "Chart.yaml")
    }

    /// Tells whether a file is packaged with it.
    pub fn has(&self, path: &RepoPath) -> bool {
        let inner = self.inner.iter().map(RepoPath::as_str);
        let mut folders = inner.chain([&*self.folder]);
        self.values.contains(path) || folders.any(|folder| is_below(path.as_str(), folder))
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deploy::testing::MemoryTree,
        pins::{ScanOptions, scan},
    };

    const FLUX: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: flux-system}\nspec:\n  targetNamespace: linkerd\n  chart:\n    spec:\n      chart: ./charts/mesh\n      sourceRef: {kind: GitRepository, name: flux-system}\n";
    const TERRAFORM: &str = "resource \"helm_release\" \"mesh\" {\n  name  = \"mesh\"\n  namespace = \"linkerd\"\n  chart = \"${path.module}/charts/mesh\"\n}\n";
    const CHART: &str = "apiVersion: v2\nname: mesh\nversion: 0.1.0\ndependencies:\n- {name: linkerd-control-plane, version: 2026.8.2, repository: https://helm.linkerd.io/edge}\n- {name: own, version: 0.1.0, repository: file://../own}\n";

    fn found(file: &str, text: &str) -> Vec<Versioned> {
        let files = [
            (file, text),
            ("charts/mesh/Chart.yaml", CHART),
            ("charts/own/Chart.yaml", "apiVersion: v2\nname: own\nversion: 0.1.0\n"),
            ("values/live.yaml", "linkerd-control-plane: {controllerImageVersion: edge-26.8.2}\n"),
        ];
        let found = scan(&MemoryTree::of(&files), &ScanOptions::default()).unwrap();
        found.facts.versioned.into_iter().collect()
    }

    fn who(file: &str, text: &str) -> Vec<Renewal> {
        found(file, text).iter().map(|chart| chart.renewal).collect()
    }

    #[test]
    fn flux_takes_a_chart_of_a_repository_by_its_version() {
        assert_eq!(who("a.yaml", FLUX), [Renewal::FluxVersion]);
        let told = |strategy: &str| who("a.yaml", &format!("{FLUX}      reconcileStrategy: {strategy}\n"));
        assert_eq!(told("ChartVersion"), [Renewal::FluxVersion]);
        assert_eq!(told("Revision"), []);
        assert_eq!(told("${strategy}"), []);
        let argo = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: mesh, namespace: argocd}\nspec:\n  source: {repoURL: https://git.example.com/a.git, path: charts/mesh}\n  destination: {name: a, namespace: linkerd}\n";
        assert_eq!(who("a.yaml", argo), []);
    }

    #[test]
    fn what_a_build_makes_of_a_release_counts() {
        let kustomization = "resources: [a.yaml]\npatches:\n- patch: |-\n    apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {name: mesh, namespace: flux-system}\n    spec: {chart: {spec: {reconcileStrategy: Revision}}}\n";
        let with = |patch: &str| {
            let files = [("a.yaml", FLUX), ("kustomization.yaml", patch), ("charts/mesh/Chart.yaml", CHART)];
            scan(&MemoryTree::of(&files), &ScanOptions::default()).unwrap().facts.versioned.len()
        };
        assert_eq!((with("resources: [a.yaml]\n"), with(kustomization)), (1, 0));
    }

    #[test]
    fn terraform_takes_one_by_its_version_unless_it_compares_manifests() {
        assert_eq!(who("main.tf", TERRAFORM), [Renewal::TerraformVersion]);
        for compares in ["experiments {\n    manifest = true\n  }", "experiments = { manifest = true }"] {
            let text = format!("provider \"helm\" {{\n  {compares}\n}}\n{TERRAFORM}");
            assert_eq!(who("main.tf", &text), [], "{compares}");
        }
        let other = "provider \"helm\" {\n  experiments = { manifest = false }\n}\n";
        assert_eq!(who("main.tf", &format!("{other}{TERRAFORM}")), [Renewal::TerraformVersion]);
        let apart = "provider \"helm\" {\n  alias = \"eu\"\n  experiments = { manifest = true }\n}\nprovider \"helm\" {}\n";
        assert_eq!(who("main.tf", &format!("{apart}{TERRAFORM}")), [Renewal::TerraformVersion]);
        let of_eu = TERRAFORM.replace("  name  =", "  provider = helm.eu\n  name  =");
        assert_eq!(who("main.tf", &format!("{apart}{of_eu}")), []);
    }

    #[test]
    fn what_a_chart_takes_in_is_packaged_with_it() {
        let text = format!("{FLUX}      valuesFiles: [values/live.yaml]\n");
        let all = found("a.yaml", &text);
        let [chart] = &*all else { panic!("{all:?}") };
        for path in ["charts/mesh/Chart.yaml", "charts/own/values.yaml", "values/live.yaml"] {
            assert!(chart.has(&RepoPath::new(path).unwrap()), "{path}");
        }
        for path in ["a.yaml", "charts/mesh-2/Chart.yaml", "values/test.yaml"] {
            assert!(!chart.has(&RepoPath::new(path).unwrap()), "{path}");
        }
    }
}
