//! How the charts of uses are brought to the cluster.

use super::*;
use crate::pins::Installed::{self, *};

const PRUNED: Installed = Argo { prunes: true };
const KEPT: Installed = Argo { prunes: false };
const NEVER: &str = "  syncPolicy: {syncOptions: [CreateNamespace=true, Prune=false]}\n";
const INFLATED: &str = "helmCharts:\n- {name: linkerd-crds, repo: https://helm.linkerd.io/edge, version: 2026.8.2, releaseName: crds}\n";

/// Returns how the one chart of a repository is brought.
fn installed(files: &[(&str, &str)]) -> Vec<Installed> {
    let found = uses(files);
    let [only] = &found[..] else { panic!("{found:?}") };
    only.installed.iter().copied().collect()
}

fn application(path: &str, more: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: linkerd-crds}}\nspec:\n  source: {{repoURL: 'https://git.example/x', path: {path}}}\n  destination: {{namespace: linkerd}}\n{more}"
    )
}

/// An app of apps whose template has a `range` around an Application.
fn app_of_apps(application: &str) -> [(&'static str, String); 4] {
    let template = format!("{{{{- range .Values.clusters }}}}\n---\n{application}{{{{- end }}}}\n");
    [
        ("root.yaml", self::application("apps", "").replace("linkerd-crds", "root")),
        ("apps/Chart.yaml", "apiVersion: v2\nname: apps\nversion: 1.0.0\n".to_owned()),
        ("apps/values.yaml", "clusters: [east]\n".to_owned()),
        ("apps/templates/app.yaml", template),
    ]
}

#[test]
fn what_runs_helm_is_helm() {
    let flux = format!("{REPOSITORY}---\n{}", release("crds", "linkerd-crds", "2026.8.2", ""));
    assert_eq!(installed(&[("release.yaml", &flux)]), [Helm]);
    let set = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: mesh, namespace: flux-system}\nspec:\n  inputs: [{release: '2026.8.2'}]\n  resources:\n  - apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {name: crds, namespace: linkerd}\n    spec:\n      chart:\n        spec:\n          chart: linkerd-crds\n          version: << inputs.release >>\n          sourceRef: {kind: HelmRepository, name: edge, namespace: flux-system}\n";
    assert_eq!(installed(&[("source.yaml", REPOSITORY), ("set.yaml", set)]), [Helm]);
    let k3s = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: linkerd-crds, namespace: kube-system}\nspec: {chart: linkerd-crds, repo: 'https://helm.linkerd.io/edge', version: 2026.8.2}\n";
    assert_eq!(installed(&[("chart.yaml", k3s)]), [K3s]);
    let retried = k3s.replace("{chart:", "{failurePolicy: retry, chart:");
    assert_eq!(installed(&[("chart.yaml", &retried)]), [Helm]);
    let config = "apiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\nmetadata: {name: linkerd-crds, namespace: kube-system}\nspec: {failurePolicy: reinstall}\n";
    assert_eq!(installed(&[("chart.yaml", &retried), ("config.yaml", config)]), [K3s]);
    let fleet = "defaultNamespace: linkerd\nhelm: {chart: linkerd-crds, repo: 'https://helm.linkerd.io/edge', version: 2026.8.2, releaseName: crds}\n";
    assert_eq!(installed(&[("mesh/fleet.yaml", fleet)]), [Fleet]);
    let deletes = format!("deleteCRDResources: true\n{fleet}");
    assert_eq!(installed(&[("mesh/fleet.yaml", &deletes)]), [Helm]);
    let helmfile = "repositories: [{name: edge, url: 'https://helm.linkerd.io/edge'}]\nreleases: [{name: crds, namespace: linkerd, chart: edge/linkerd-crds, version: 2026.8.2}]\n";
    assert_eq!(installed(&[("helmfile.yaml", helmfile)]), [Helm]);
    let terraform = "resource \"helm_release\" \"crds\" {\n  name       = \"crds\"\n  repository = \"https://helm.linkerd.io/edge\"\n  chart      = \"linkerd-crds\"\n  version    = \"2026.8.2\"\n}\n";
    assert_eq!(installed(&[("main.tf", terraform)]), [Helm]);
    let printed = terraform.replace("resource \"helm_release\"", "data \"helm_template\"");
    assert_eq!(installed(&[("main.tf", &printed)]), [Applied]);
}

#[test]
fn argo_says_whether_it_prunes() {
    let never = format!("{APPLICATION}{NEVER}");
    for (application, expected) in [(APPLICATION, PRUNED), (&*never, KEPT)] {
        assert_eq!(installed(&[("app.yaml", application)]), [expected]);
        let named = application.replace("name: viz,", "name: 'viz-{{ . }}',");
        let files = app_of_apps(&named);
        assert_eq!(
            installed(&files.each_ref().map(|(path, text)| (*path, &**text))),
            [expected],
            "in a range"
        );
    }
}

#[test]
fn what_kustomize_inflates_is_applied_by_who_applies_it() {
    let inflated = ("mesh/kustomization.yaml", INFLATED);
    assert_eq!(installed(&[inflated]), [Applied]);
    for (more, expected) in [("", PRUNED), (NEVER, KEPT)] {
        let application = application("mesh", more);
        assert_eq!(installed(&[inflated, ("app.yaml", &application)]), [expected]);
        let named = application.replace("{name: linkerd-crds}", "{name: 'linkerd-crds-{{ . }}'}");
        let files = app_of_apps(&named);
        let files = files.each_ref().map(|(path, text)| (*path, &**text));
        assert_eq!(installed(&[&[inflated][..], &files].concat()), [expected], "in a range");
    }
}

#[test]
fn a_dependency_is_brought_as_its_umbrella_is() {
    let chart = (
        "mesh/Chart.yaml",
        "apiVersion: v2\nname: mesh\nversion: 1.0.0\ndependencies:\n- {name: linkerd-crds, version: 2026.8.2, repository: https://helm.linkerd.io/edge}\n",
    );
    assert_eq!(installed(&[chart]), [Helm, PRUNED], "nothing says by whom");
    assert_eq!(installed(&[chart, ("app.yaml", &application("mesh", NEVER))]), [KEPT]);
    let flux = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: linkerd}\nspec:\n  chart: {spec: {chart: ./mesh, sourceRef: {kind: GitRepository, name: self}}}\n";
    assert_eq!(installed(&[chart, ("release.yaml", flux)]), [Helm]);
}
