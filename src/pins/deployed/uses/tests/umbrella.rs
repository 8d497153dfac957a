//! Uses of charts that an umbrella chart brings.

use super::*;

const CHART: &str = "apiVersion: v2
name: mesh
version: 1.0.0
dependencies:
- {name: linkerd-crds, version: 2026.8.2, repository: https://helm.linkerd.io/edge}
- {name: linkerd-viz, alias: viz, version: ~2026.8.0, repository: https://helm.linkerd.io/edge, condition: 'viz.enabled,x'}
- {name: linkerd2-cni, version: 2026.8.2, repository: https://helm.linkerd.io/edge, tags: [cni]}
- {name: redis, version: 19.6.0, repository: https://charts.example.com}
";

fn umbrella_app(name: &str, helm: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}}}\nspec:\n  source: {{repoURL: 'https://git.example/x', path: charts/mesh, helm: {helm}}}\n  destination: {{namespace: linkerd}}\n"
    )
}

#[test]
fn dependencies_of_an_umbrella_have_their_part_of_the_values() {
    let values = "global: {g: 1}\nlinkerd-crds: {c: &v edge-26.8.2}\nviz: {enabled: true, v: *v, global: {g: 0, h: 1}}\ntags: {cni: false}\nredis: {}\n";
    let lock = "dependencies:\n- {name: linkerd-crds, version: 2026.8.2}\n- {name: linkerd-viz, version: 2026.8.3}\n";
    let found = uses(&[
        ("charts/mesh/Chart.yaml", CHART),
        ("charts/mesh/Chart.lock", lock),
        ("charts/mesh/values.yaml", values),
        (
            "env/prod.yaml",
            &umbrella_app(
                "prod",
                "{valueFiles: [../../env/values-prod.yaml], parameters: [{name: viz.p, value: '1'}, {name: redis.p, value: '1'}]}",
            ),
        ),
        ("env/test.yaml", &umbrella_app("test", "{valuesObject: {viz: {enabled: false}}}")),
        ("env/values-prod.yaml", "viz: {dashboard: {replicas: 2}}\n"),
    ]);
    let all: Vec<String> = found.iter().map(named).collect();
    assert_eq!(
        all,
        [
            "charts/mesh/Chart.yaml:5 dependencies[0] by env/prod.yaml: linkerd-crds 2026.8.2 as prod in linkerd",
            "charts/mesh/Chart.yaml:5 dependencies[0] by env/test.yaml: linkerd-crds 2026.8.2 as test in linkerd",
            "charts/mesh/Chart.yaml:6 dependencies[1] by env/prod.yaml: linkerd-viz 2026.8.3 as prod in linkerd",
        ]
    );
    assert_eq!(layers(&found[0]), ["charts/mesh/values.yaml: {c: edge-26.8.2, global: {g: 1}}"]);
    assert_eq!(
        layers(&found[2]),
        [
            "charts/mesh/values.yaml: {global: {g: 1, h: 1}, v: edge-26.8.2}",
            "env/values-prod.yaml: {dashboard: {replicas: 2}}",
        ]
    );
    let names: Vec<&str> = found[2].parameters.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["p"]);
}

#[test]
fn an_umbrella_that_nothing_deploys_goes_with_the_values_files_that_name_its_parts() {
    let alone = uses(&[("mesh/Chart.yaml", CHART), ("mesh/values.yaml", "viz: {enabled: false}\n")]);
    let all: Vec<String> = alone.iter().map(named).collect();
    assert_eq!(
        all,
        [
            "mesh/Chart.yaml:5 dependencies[0]: linkerd-crds 2026.8.2 as mesh in ?",
            "mesh/Chart.yaml:7 dependencies[2]: linkerd2-cni 2026.8.2 as mesh in ?",
        ]
    );
    let with = uses(&[
        ("mesh/Chart.yaml", CHART),
        ("mesh/values.yaml", "viz: {enabled: false}\n"),
        ("env/a/values.yaml", "linkerd-crds: {a: 1}\n"),
        ("env/b/values.yaml", "other: {a: 1} # linkerd\n"),
    ]);
    assert_eq!(with.len(), 2);
    assert!(with.iter().all(|u| u.by.iter().map(RepoPath::as_str).eq(["env/a/values.yaml"])));
    assert_eq!(layers(&with[0]), ["env/a/values.yaml: {a: 1}"]);
}

#[test]
fn a_release_of_an_umbrella_in_git_takes_its_values_files() {
    let hr = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: linkerd}\nspec:\n  chart: {spec: {chart: ./charts/mesh, sourceRef: {kind: GitRepository, name: self}, valuesFiles: [charts/mesh/values.yaml, charts/mesh/values-a.yaml]}}\n  valuesFrom: [{kind: Secret, name: s, valuesKey: k, targetPath: linkerd-crds.x.y}]\n";
    let found = uses(&[
        ("charts/mesh/Chart.yaml", CHART),
        ("charts/mesh/values.yaml", "linkerd-crds: {a: 1}\nviz: {enabled: false}\ntags: {cni: false}\n"),
        ("charts/mesh/values-a.yaml", "linkerd-crds: {a: 2}\n"),
        ("hr.yaml", hr),
    ]);
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        layers(found),
        [
            "charts/mesh/values.yaml: {a: 1}",
            "charts/mesh/values-a.yaml: {a: 2}",
            "outside: Secret linkerd/s, key k -> x.y",
        ]
    );
}

#[test]
fn kustomize_replaces_values_of_files_and_never_those_of_the_chart() {
    let item = "helmGlobals: {chartHome: charts}\nhelmCharts:\n- {name: mesh, releaseName: m, namespace: mesh, valuesFile: v.yaml, valuesInline: {linkerd-crds: {i: 1}}, valuesMerge: replace}\n";
    let found = uses(&[
        ("charts/mesh/Chart.yaml", CHART),
        ("charts/mesh/values.yaml", "linkerd-crds: {c: 1}\nviz: {enabled: false}\n"),
        ("kustomization.yaml", item),
        ("v.yaml", "linkerd-crds: {f: 1}\n"),
    ]);
    let crds = found.iter().find(|found| found.chart == "linkerd-crds").unwrap();
    assert_eq!(layers(crds), ["charts/mesh/values.yaml: {c: 1}", "kustomization.yaml: {i: 1}"]);
    assert!(found.iter().all(|found| found.chart != "linkerd-viz"));
}
