//! Small repositories of every shape, and the uses that a scan finds there, by who brings the chart; here is what they share.

mod argo;
mod flux;
mod installed;
mod umbrella;

use crate::{
    deploy::{Scalar, Value, read, testing::MemoryTree},
    pins::{ChartUse, ScanOptions, ValuesPart, scan},
    repo::RepoPath,
    yaml::Ceilings,
};

fn uses(files: &[(&str, &str)]) -> Vec<ChartUse> {
    scan(&MemoryTree::of(files), &ScanOptions::default()).unwrap().facts.uses
}

fn flow(value: &Value) -> String {
    match value {
        Value::Map(_) => {
            let entries: Vec<String> =
                value.entries().map(|(key, value)| format!("{key}: {}", flow(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Scalar(scalar) => scalar.text().into_owned(),
    }
}

/// Shows the layers of values, one a line.
fn layers(found: &ChartUse) -> Vec<String> {
    let show = |part: &ValuesPart| match part {
        ValuesPart::Text { text, path } => {
            let value = read::mapping(&Scalar::made(text), &Ceilings::default()).unwrap();
            format!("{path}: {}", flow(&value))
        }
        ValuesPart::InChart { file, .. } => format!("in chart: {file}"),
        ValuesPart::Outside { what, target, optional } => {
            let optional = if *optional { "?" } else { "" };
            format!("outside{optional}: {what} -> {}", target.as_deref().unwrap_or("any"))
        }
    };
    found.values.iter().map(show).collect()
}

fn named(found: &ChartUse) -> String {
    let by: Vec<&str> = found.by.iter().map(RepoPath::as_str).collect();
    let by = if by.is_empty() { String::new() } else { format!(" by {}", by.join(" and ")) };
    let namespace = found.namespace.as_deref().unwrap_or("?");
    let part = if found.part.is_empty() { String::new() } else { format!(" {}", found.part) };
    let chart = format!("{} {}", found.chart, found.version);
    format!("{}:{}{part}{by}: {chart} as {} in {namespace}", found.path, found.line, found.release)
}

const REPOSITORY: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: edge, namespace: flux-system}\nspec: {url: https://helm.linkerd.io/edge}\n";

fn release(name: &str, chart: &str, version: &str, rest: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: linkerd}}\nspec:\n  chart:\n    spec: {{chart: {chart}, version: {version}, sourceRef: {{kind: HelmRepository, name: edge, namespace: flux-system}}}}\n{rest}"
    )
}

const APPLICATION: &str = "apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: viz, namespace: argocd}
spec:
  project: mesh
  sources:
  - repoURL: https://helm.linkerd.io/edge
    chart: linkerd-viz
    targetRevision: 2026.8.2
    helm:
      releaseName: viz-release
      valueFiles: [values-ha.yaml, $v/values/$ARGOCD_APP_NAME.yaml, $v/values/none.yaml]
      ignoreMissingValueFiles: true
      values: 'a: 1'
      valuesObject: {a: 2}
      parameters:
      - {name: b, value: 'x,$ARGOCD_APP_NAMESPACE'}
      - {name: c, value: '1', forceString: true}
      - {name: d, value: $ARGOCD_APP_REVISION}
      fileParameters: [{name: e, path: $v/e.txt}]
      skipCrds: true
      kubeVersion: '1.31'
      apiVersions: [a/v1]
  - {repoURL: 'https://git.example/x', ref: v}
  destination: {namespace: linkerd-viz}
";

const SET: &str = "apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: fleet, namespace: argocd}
spec:
  goTemplate: true
  generators:
  - GENERATOR
  template:
    metadata: {name: 'cp-{{.cluster}}'}
    spec:
      source:
        repoURL: https://helm.linkerd.io/edge
        chart: linkerd-control-plane
        targetRevision: '{{.version}}'
        helm:
          values: |
            a: {{.cluster}}
            b: {{.name}}
      destination: {namespace: linkerd}
";

#[test]
fn charts_of_others_and_of_other_channels_are_no_uses() {
    let other = release("billing", "billing-calendar", "2026.8.2", "");
    let stable = release("cp", "linkerd-control-plane", "1.16.11", "").replace("name: edge", "name: stable");
    let source = REPOSITORY.replace("name: edge", "name: stable").replace("/edge", "/stable");
    let found = uses(&[
        ("a.yaml", &format!("{REPOSITORY}---\n{other}")),
        ("b.yaml", &format!("{source}---\n{stable}")),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn kustomize_merges_its_values_as_it_is_told() {
    let item = |merge: &str| {
        format!(
            "helmCharts:\n- name: linkerd-viz\n  repo: https://helm.linkerd.io/edge\n  version: 2026.8.2\n  releaseName: v\n  namespace: mesh\n  includeCRDs: true\n  skipHooks: true\n  valuesFile: v.yaml\n  additionalValuesFiles: [more.yaml]\n  valuesInline: {{a: 1}}\n  valuesMerge: {merge}\nimages: []\n"
        )
    };
    let found = |merge: &str| {
        let files = [
            ("k/kustomization.yaml", item(merge)),
            ("k/v.yaml", "f: 1\n".into()),
            ("k/more.yaml", "m: 1\n".into()),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, t.as_str())).collect();
        uses(&files)
    };
    let (file, inline, more) = ("k/v.yaml: {f: 1}", "k/kustomization.yaml: {a: 1}", "k/more.yaml: {m: 1}");
    let first = found("override");
    assert_eq!(
        named(&first[0]),
        "k/kustomization.yaml:2 helmCharts[0] by k/kustomization.yaml: linkerd-viz 2026.8.2 as v in mesh"
    );
    assert!(first[0].include_crds && !first[0].hooks && first[0].notes[0].contains("`images`"));
    assert_eq!(layers(&first[0]), [file, inline, more]);
    assert_eq!(layers(&found("merge")[0]), [inline, file, more]);
    assert_eq!(layers(&found("replace")[0]), [inline, more]);
    let old = "helmChartInflationGenerator:\n- {chartName: linkerd-crds, chartRepoUrl: 'https://helm.linkerd.io/edge', chartVersion: 2026.8.2, releaseName: c, releaseNamespace: linkerd, values: v.yaml, valuesLocal: {a: 1}}\n";
    let found = uses(&[("kustomization.yaml", old), ("v.yaml", "f: 1\n")]);
    assert_eq!(
        named(&found[0]),
        "kustomization.yaml:2 helmChartInflationGenerator[0] by kustomization.yaml: linkerd-crds 2026.8.2 as c in linkerd"
    );
    assert_eq!(layers(&found[0]), ["v.yaml: {f: 1}", "kustomization.yaml: {a: 1}"]);
}

#[test]
fn whoever_brings_a_chart_gives_a_use() {
    let found = uses(&[
        (
            "helmfile.yaml",
            "repositories: [{name: l5d, url: 'https://helm.linkerd.io/edge'}]\nreleases:\n- {name: crds, chart: l5d/linkerd-crds, version: 2026.8.2, namespace: mesh, values: [{a: 1}], set: [{name: 'l[0].b', value: x}]}\n",
        ),
        (
            "main.tf",
            "resource \"helm_release\" \"viz\" {\n  name       = \"viz\"\n  repository = \"https://helm.linkerd.io/edge\"\n  chart      = \"linkerd-viz\"\n  version    = \"2026.8.2\"\n}\n",
        ),
        (
            "a/fleet.yaml",
            "namespace: cni\nhelm: {releaseName: cni, repo: https://helm.linkerd.io/edge, chart: linkerd2-cni, version: 2026.8.2, values: {b: 1}}\n",
        ),
        (
            "k3s.yaml",
            "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: mc, namespace: kube-system}\nspec: {chart: linkerd-multicluster, repo: 'https://helm.linkerd.io/edge', version: 2026.8.2, targetNamespace: mc}\n",
        ),
    ]);
    let all: Vec<String> = found.iter().map(named).collect();
    assert_eq!(
        all,
        [
            "a/fleet.yaml:2: linkerd2-cni 2026.8.2 as cni in cni",
            "helmfile.yaml:3 crds: linkerd-crds 2026.8.2 as crds in mesh",
            "k3s.yaml:1: linkerd-multicluster 2026.8.2 as mc in mc",
            "main.tf:2 viz: linkerd-viz 2026.8.2 as viz in ?",
        ]
    );
    assert_eq!(layers(&found[1]), ["helmfile.yaml: {a: 1}"]);
    assert_eq!(found[1].parameters[0].name, "l[0].b");
}

#[test]
fn hostile_repositories_end() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    (1..9).for_each(|n| {
        bomb.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", ")))
    });
    let found = uses(&[
        ("values.yaml", &bomb),
        (
            "kustomization.yaml",
            "resources: [., kustomization.yaml]\ncomponents: [.]\nhelmCharts:\n- {name: linkerd-viz, repo: 'https://helm.linkerd.io/edge', version: 2026.8.2, valuesFile: values.yaml, additionalValuesFiles: [../../etc/passwd, /etc/passwd, 'https://evil.example/v.yaml']}\n",
        ),
        (
            "charts/x/Chart.yaml",
            "name: x\ndependencies: [{name: linkerd-crds, alias: '', version: 2026.8.2, repository: https://helm.linkerd.io/edge, condition: '...,'}]\n",
        ),
        ("charts/x/values.yaml", "[]\n"),
        (
            "set.yaml",
            &SET.replace(
                "GENERATOR",
                "matrix: {generators: [{matrix: {generators: [{matrix: {}}]}}, {list: {elements: 3}}]}",
            ),
        ),
    ]);
    let viz = found.iter().find(|u| u.chart == "linkerd-viz").unwrap();
    assert!(layers(viz).iter().all(|l| l.starts_with("outside: ")), "{:?}", layers(viz));
    let list = |from: usize| {
        let elements: Vec<String> =
            (from..from + 300).map(|n| format!("{{cluster: c{n}, version: 2026.8.2}}")).collect();
        format!("list: {{elements: [{}]}}", elements.join(", "))
    };
    let many = SET.replace("GENERATOR", &format!("{}\n  - {}", list(0), list(300)));
    assert_eq!(uses(&[("set.yaml", &many)]).len(), 600);
    assert!(found.iter().any(|u| u.chart == "linkerd-crds"));
}
