//! Small repositories of every shape, and the uses that a scan finds there.

use std::collections::HashMap;

use crate::pins::{ChartUse, ScanOptions, ValuesPart, scan};
use crate::repo::{BlobId, Entry, Mode, RepoPath, Tree, TreeError};
use crate::{
    deploy::{Scalar, Value, read},
    yaml::Ceilings,
};

struct Files {
    entries: Vec<Entry>,
    blobs: HashMap<BlobId, Vec<u8>>,
}

impl Tree for Files {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.blobs.get(&id).cloned().ok_or(TreeError::new(id, "no such object"))
    }
}

fn uses(files: &[(&str, &str)]) -> Vec<ChartUse> {
    let (mut entries, mut blobs) = (Vec::new(), HashMap::new());
    for (path, text) in files {
        let mut id = BlobId([0; 20]);
        id.0[..8].copy_from_slice(&(entries.len() as u64).to_be_bytes());
        entries.push(Entry { path: RepoPath::new(*path).unwrap(), id, mode: Mode::File });
        blobs.insert(id, text.as_bytes().to_vec());
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    scan(&Files { entries, blobs }, &ScanOptions::default()).unwrap().facts.uses
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

#[test]
fn flux_takes_values_from_maps_in_order_and_never_from_secrets() {
    let rest = "  targetNamespace: mesh\n  valuesFrom:\n  - {kind: ConfigMap, name: shared}\n  - {kind: Secret, name: trust, valuesKey: ca.crt, targetPath: identityTrustAnchorsPEM}\n  - {kind: ConfigMap, name: single, valuesKey: n, targetPath: 'proxy.cores'}\n  - {kind: ConfigMap, name: gone, optional: true}\n  - {kind: ConfigMap, name: made, valuesKey: v.yaml}\n  values:\n    a: ENC[AES256_GCM,data:x]\n    b: {c: 1}\n  install: {crds: Create}\n  upgrade: {crds: CreateReplace}\n  postRenderers: [{kustomize: {}}]\n";
    let maps = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: linkerd}\ndata:\n  values.yaml: |\n    x: yes\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: single, namespace: linkerd}\ndata: {n: '3'}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: trust, namespace: linkerd}\nstringData: {ca.crt: PEM}\n";
    let found = uses(&[
        ("a/source.yaml", REPOSITORY),
        ("a/release.yaml", &release("cp", "linkerd-control-plane", "2026.8.2", rest)),
        ("a/maps.yaml", maps),
        (
            "a/kustomization.yaml",
            "resources: [source.yaml, release.yaml, maps.yaml]\nconfigMapGenerator:\n- name: made\n  files: [v.yaml=made.yaml]\n",
        ),
        ("a/made.yaml", "m: 1\n"),
    ]);
    let all: Vec<String> = found.iter().map(named).collect();
    assert_eq!(
        all,
        ["a/release.yaml:1 by a/kustomization.yaml: linkerd-control-plane 2026.8.2 as mesh-cp in mesh"]
    );
    assert_eq!(
        layers(&found[0]),
        [
            "a/maps.yaml: {x: true}",
            "outside: Secret linkerd/trust, key ca.crt -> identityTrustAnchorsPEM",
            "a/maps.yaml: {proxy: {cores: 3}}",
            "outside?: ConfigMap linkerd/gone, key values.yaml, which is not in this repository -> any",
            "a/made.yaml: {m: 1}",
            "a/release.yaml: {b: {c: 1}}",
            "outside: a value that SOPS encrypts -> a",
        ]
    );
    assert!(found[0].include_crds && found[0].hooks);
    assert_eq!(found[0].notes.len(), 1, "{:?}", found[0].notes);
}

#[test]
fn overlays_and_flux_variables_give_a_use_each() {
    let rest = "  values: {a: '${x:=1}', l: [1, 2]}\n";
    let cluster = |name: &str, more: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\nspec: {{path: ./overlays/{name}, {more}}}\n"
        )
    };
    let found = uses(&[
        ("base/source.yaml", REPOSITORY),
        ("base/release.yaml", &release("crds", "linkerd-crds", "\"${v}\"", rest)),
        ("base/kustomization.yaml", "resources: [source.yaml, release.yaml]\n"),
        (
            "overlays/a/kustomization.yaml",
            "resources: [../../base]\npatches:\n- patch: |\n    apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {name: crds, namespace: linkerd}\n    spec: {values: {l: [3], b: 2}}\n- target: {kind: HelmRelease, name: other}\n  patch: '[{op: remove, path: /spec}]'\n",
        ),
        (
            "overlays/b/kustomization.yaml",
            "resources: [../../base]\npatches:\n- path: version.yaml\n  target: {kind: HelmRelease, name: 'cr.*'}\n",
        ),
        ("overlays/b/version.yaml", "- {op: replace, path: /spec/chart/spec/version, value: 2026.6.3}\n"),
        ("clusters/a.yaml", &cluster("a", "postBuild: {substitute: {v: 2026.8.2, x: '7'}}")),
        ("clusters/b.yaml", &cluster("b", "targetNamespace: tb, postBuild: {substitute: {v: 2026.8.1}}")),
    ]);
    let all: Vec<String> = found.iter().map(named).collect();
    assert_eq!(
        all,
        [
            "base/release.yaml:1 by clusters/a.yaml: linkerd-crds 2026.8.2 as crds in linkerd",
            "base/release.yaml:1 by clusters/b.yaml: linkerd-crds 2026.6.3 as crds in tb",
        ]
    );
    assert_eq!(layers(&found[0]), ["overlays/a/kustomization.yaml: {a: 7, b: 2, l: [3]}"]);
    assert_eq!(layers(&found[1]), ["base/release.yaml: {a: 1, l: [1, 2]}"]);
}

#[test]
fn a_chart_reference_is_followed_and_files_inside_the_chart_are_named() {
    let oci = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: viz, namespace: linkerd}\nspec: {url: 'oci://mirror.example/charts/linkerd-viz', ref: {tag: 2026.8.2}}\n---\napiVersion: helm.toolkit.fluxcd.io/v2beta2\nkind: HelmRelease\nmetadata: {name: viz, namespace: linkerd}\nspec: {chartRef: {kind: OCIRepository, name: viz}}\n";
    let ha = release("cp", "linkerd-control-plane", "2026.8.2", "")
        .replace("version: 2026.8.2", "version: 2026.8.2, valuesFiles: [values.yaml, values-ha.yaml]");
    let found = uses(&[("oci.yaml", oci), ("ha.yaml", &format!("{REPOSITORY}---\n{ha}"))]);
    let all: Vec<String> = found.iter().map(named).collect();
    assert_eq!(
        all,
        [
            "ha.yaml:6: linkerd-control-plane 2026.8.2 as cp in linkerd",
            "oci.yaml:6: linkerd-viz 2026.8.2 as viz in linkerd",
        ]
    );
    assert_eq!(layers(&found[0]), ["in chart: values-ha.yaml"]);
    assert!(found[0].notes.is_empty());
}

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

#[test]
fn what_clusters_have_alike_is_one_use_and_what_they_build_of_is_none() {
    let cluster = |name: &str, to: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\nspec: {{path: ./base, postBuild: {{substitute: {{v: '{to}'}}}}}}\n"
        )
    };
    let (a, b, c) = (cluster("a", "2026.8.2"), cluster("b", "2026.8.2"), cluster("c", "2026.8.1"));
    let base = format!("{REPOSITORY}---\n{}", release("crds", "linkerd-crds", "\"${v:=2026.6.3}\"", ""));
    let kustomization = ("base/kustomization.yaml", "resources: [release.yaml]\n");
    let files = [("base/release.yaml", &*base), kustomization];
    let clusters = [("c/a.yaml", &*a), ("c/b.yaml", &*b), ("c/c.yaml", &*c)];
    let shown = |files: &[(&str, &str)]| uses(files).iter().map(named).collect::<Vec<_>>();
    assert_eq!(
        shown(&[&files[..], &clusters].concat()),
        [
            "base/release.yaml:6 by c/a.yaml and c/b.yaml: linkerd-crds 2026.8.2 as crds in linkerd",
            "base/release.yaml:6 by c/c.yaml: linkerd-crds 2026.8.1 as crds in linkerd",
        ]
    );
    // Whoever applies it may set the variable, or leave it.
    let alone = shown(&files);
    assert_eq!(
        alone,
        ["base/release.yaml:6 by base/kustomization.yaml: linkerd-crds 2026.6.3 as crds in linkerd"]
    );
    let bare = base.replace(":=2026.6.3", "");
    assert!(uses(&[("base/release.yaml", &bare), kustomization]).is_empty());
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
