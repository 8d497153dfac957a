//! Uses of Applications and ApplicationSets.

use super::*;

#[test]
fn argo_has_its_own_precedence_and_environment() {
    let found = uses(&[("app.yaml", APPLICATION), ("values/viz.yaml", "f: 1\n"), ("e.txt", "text\n")]);
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(named(found), "app.yaml:1 sources[0]: linkerd-viz 2026.8.2 as viz-release in linkerd-viz");
    assert_eq!(
        layers(found),
        [
            "in chart: values-ha.yaml",
            "values/viz.yaml: {f: 1}",
            "app.yaml: {a: 2}",
            "outside: `$ARGOCD_APP_REVISION`, which only Argo CD knows -> d",
        ]
    );
    let parameters: Vec<String> =
        found.parameters.iter().map(|p| format!("{}={:?} {:?}", p.name, p.value, p.kind)).collect();
    assert_eq!(parameters, ["b=\"x\\\\,linkerd-viz\" Looks", "c=\"1\" Text", "e=\"text\\n\" Literal",]);
    assert!(!found.include_crds);
    assert_eq!((found.kube_version.as_deref(), found.api_versions.len()), (Some("1.31"), 1));
    let plain = APPLICATION.replace("      valuesObject: {a: 2}\n", "");
    let found = uses(&[("app.yaml", &plain.replace("ignoreMissingValueFiles: true", ""))]);
    assert_eq!(
        layers(&found[0])[1..4],
        [
            "outside: values/viz.yaml of https://git.example/x -> any",
            "outside: values/none.yaml of https://git.example/x -> any",
            "app.yaml: {a: 1}",
        ]
    );
}

#[test]
fn each_element_of_a_generator_is_a_use() {
    let list = "matrix: {generators: [{list: {elements: [{cluster: eu, version: 2026.8.2}, {cluster: us, version: 2026.6.3}]}}, {clusters: {}}]}";
    let found = uses(&[("set.yaml", &SET.replace("GENERATOR", list))]);
    let all: Vec<String> = found.iter().map(named).collect();
    assert_eq!(
        all,
        [
            "set.yaml:1: linkerd-control-plane 2026.8.2 as cp-eu in linkerd",
            "set.yaml:1: linkerd-control-plane 2026.6.3 as cp-us in linkerd",
        ]
    );
    assert_eq!(
        layers(&found[0]),
        ["set.yaml: {a: eu}", "outside: the Secret of a cluster that Argo CD knows -> b"]
    );
    let git = "matrix: {generators: [{git: {repoURL: u, files: [{path: 'sites/*/c.json'}]}}, {list: {elements: [{version: 2026.8.2}]}}]}";
    let found = uses(&[
        ("set.yaml", &SET.replace("GENERATOR", git).replace(".cluster", ".path.basename")),
        ("sites/lyon/c.json", "{\"linkerd\": 1}"),
        ("sites/graz/c.json", "{\"linkerd\": 2}"),
    ]);
    let all: Vec<String> = found.iter().map(named).collect();
    assert_eq!(
        all,
        [
            "set.yaml:1 by sites/graz/c.json: linkerd-control-plane 2026.8.2 as cp-graz in linkerd",
            "set.yaml:1 by sites/lyon/c.json: linkerd-control-plane 2026.8.2 as cp-lyon in linkerd",
        ]
    );
}

#[test]
fn a_chart_of_the_tree_renders_applications() {
    let template = APPLICATION.replace("targetRevision: 2026.8.2", "targetRevision: {{ .Values.version }}");
    let root = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root}\nspec:\n  source: {repoURL: 'https://git.example/x', path: apps, helm: {valuesObject: {version: 2026.8.1}}}\n";
    let chart = [
        ("apps/Chart.yaml", "apiVersion: v2\nname: apps\nversion: 1.0.0\n"),
        ("apps/values.yaml", "version: 2026.8.2\n"),
        ("apps/templates/viz.yaml", &*template),
    ];
    let shown = |files: &[(&str, &str)]| uses(files).iter().map(named).collect::<Vec<_>>();
    let with = shown(&[&chart[..], &[("root.yaml", root)]].concat());
    assert_eq!(
        with,
        [
            "apps/templates/viz.yaml:1 sources[0] by root.yaml: linkerd-viz 2026.8.1 as viz-release in linkerd-viz"
        ],
        "as its own values have it nobody deploys it"
    );
    let alone = shown(&chart);
    assert_eq!(alone.len(), 1);
    assert!(alone[0].contains("by apps/Chart.yaml: linkerd-viz 2026.8.2"), "{alone:?}");
}
