//! The repositories that the bodies are about, each in a shape that people have.

pub type Files = Vec<(String, String)>;

/// A certificate without its key: nothing to keep secret.
pub const ANCHOR: &str = include_str!("anchor.pem");

const SOURCES: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata:
  name: linkerd-edge
  namespace: flux-system
spec:
  interval: 6h
  url: https://helm.linkerd.io/edge
";

fn indented(text: &str, by: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(by))).collect()
}

fn flux(chart: &str, namespace: &str, version: &str, more: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: {chart}
  namespace: {namespace}
spec:
  interval: 30m
  chart:
    spec:
      chart: {chart}
      version: {version}
      sourceRef:
        kind: HelmRepository
        name: linkerd-edge
        namespace: flux-system
{more}"
    )
}

/// The values of a control plane: its trust anchor is here, its issuer is cert-manager's.
pub fn identity() -> String {
    format!(
        "identityTrustAnchorsPEM: |\n{}identity:\n  issuer:\n    scheme: kubernetes.io/tls\n",
        indented(ANCHOR, 2)
    )
}

/// A cluster that Flux keeps: CRDs, control plane in three replicas, viz.
pub fn flux_cluster(version: &str) -> Files {
    let values = format!("controllerReplicas: 3\nenablePodDisruptionBudget: true\n{}", identity());
    let control_plane =
        format!("  dependsOn:\n    - name: linkerd-crds\n  values:\n{}", indented(&values, 4));
    let viz = "  dependsOn:\n    - name: linkerd-control-plane\n      namespace: linkerd\n";
    [
        ("infrastructure/linkerd/sources.yaml", SOURCES.to_owned()),
        ("infrastructure/linkerd/crds.yaml", flux("linkerd-crds", "linkerd", version, "")),
        (
            "infrastructure/linkerd/control-plane.yaml",
            flux("linkerd-control-plane", "linkerd", version, &control_plane),
        ),
        ("infrastructure/linkerd/viz.yaml", flux("linkerd-viz", "linkerd-viz", version, viz)),
    ]
    .map(|(path, text)| (path.to_owned(), text))
    .to_vec()
}

/// Adds files to others.
pub fn and(mut files: Files, more: &[(&str, &str)]) -> Files {
    files.extend(more.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
    files
}

/// Leaves out a file.
pub fn without(mut files: Files, path: &str) -> Files {
    files.retain(|(known, _)| known != path);
    files
}

/// A workload whose proxy is pinned on its pods.
pub fn workload(
    kind: &str,
    name: &str,
    release: &str,
    replicas: Option<u32>,
    strategy: Option<&str>,
) -> String {
    let replicas = replicas.map(|n| format!("  replicas: {n}\n")).unwrap_or_default();
    let field = if kind == "Deployment" { "strategy" } else { "updateStrategy" };
    let strategy = strategy.map(|s| format!("  {field}:\n    type: {s}\n")).unwrap_or_default();
    format!(
        "apiVersion: apps/v1
kind: {kind}
metadata:
  name: {name}
  namespace: shop
spec:
{replicas}{strategy}  selector:
    matchLabels:
      app: {name}
  template:
    metadata:
      labels:
        app: {name}
      annotations:
        linkerd.io/inject: enabled
        config.linkerd.io/proxy-version: {release}
    spec:
      containers:
        - name: app
          image: registry.example.com/shop/{name}:1.4.2
"
    )
}

/// A namespace whose pods get a pinned proxy.
pub fn namespace(name: &str, release: &str) -> String {
    format!(
        "apiVersion: v1
kind: Namespace
metadata:
  name: {name}
  annotations:
    linkerd.io/inject: enabled
    config.linkerd.io/proxy-version: {release}
"
    )
}

/// A ServiceProfile.
pub const PROFILE: &str = "apiVersion: linkerd.io/v1alpha2
kind: ServiceProfile
metadata:
  name: cart.shop.svc.cluster.local
  namespace: shop
spec:
  routes:
    - name: GET /
      condition:
        method: GET
        pathRegex: /
";

/// An HTTPRoute of Linkerd's own group.
pub const ROUTE: &str = "apiVersion: policy.linkerd.io/v1beta3
kind: HTTPRoute
metadata:
  name: cart
  namespace: shop
spec:
  parentRefs:
    - name: cart
      kind: Service
      group: core
      port: 80
";

/// What Argo CD, kustomize, a pipeline and a person's notes keep at releases of their own.
pub fn many_origins() -> Files {
    let application = |name: &str, wave: &str, chart: &str, version: &str, more: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {name}
  namespace: argocd
  annotations:
    argocd.argoproj.io/sync-wave: \"{wave}\"
spec:
  project: platform
  destination:
    server: https://kubernetes.default.svc
    namespace: linkerd
  source:
    repoURL: https://helm.linkerd.io/edge
    chart: {chart}
    targetRevision: {version}
{more}"
        )
    };
    let values = format!("    helm:\n      values: |\n{}", indented(&identity(), 8));
    let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
helmCharts:
  - name: linkerd-viz
    repo: https://helm.linkerd.io/edge
    version: 2026.8.3
    releaseName: linkerd-viz
    namespace: linkerd-viz
    valuesInline:
      metricsAPI:
        image:
          tag: edge-26.8.3
images:
  - name: registry.example.com/mirror/linkerd/proxy
    newTag: edge-26.8.3
";
    let workflow = "jobs:
  check:
    runs-on: ubuntu-latest
    env:
      LINKERD_VERSION: edge-26.8.3 # uplinker: edge
    steps:
      - run: curl --proto '=https' -sSfL https://run.linkerd.io/install-edge | sh
";
    let held = application("linkerd-crds-lab", "0", "linkerd-crds", "2026.6.3 # uplinker: hold", "");
    and(
        vec![
            ("argocd/crds.yaml".into(), application("linkerd-crds", "-2", "linkerd-crds", "2026.8.3", "")),
            (
                "platform/argocd/applications/production_eu_central_1/linkerd_control_plane_of_the_whole_region.yaml".into(),
                application("linkerd-control-plane", "-1", "linkerd-control-plane", "2026.8.2", &values),
            ),
            ("argocd/lab/crds.yaml".into(), held),
        ],
        &[
            ("kustomize/viz/kustomization.yaml", kustomization),
            (".github/workflows/check.yaml", workflow),
            ("apps/legacy.yaml", &namespace("legacy", "stable-2.14.10")),
            ("docs/upgrade.md", "We run edge-26.8.3 since Tuesday.\n"),
        ],
    )
}

/// A chart of ours that has Linkerd's as its parts, and the release that deploys it.
pub fn umbrella(version: &str) -> Files {
    let chart = format!(
        "apiVersion: v2
name: mesh
version: 1.8.0
appVersion: edge-{}
dependencies:
  - name: linkerd-crds
    version: {version}
    repository: https://helm.linkerd.io/edge
  - name: linkerd-control-plane
    version: {version}
    repository: https://helm.linkerd.io/edge
",
        version.trim_start_matches("20")
    );
    let lock = format!(
        "dependencies:
- name: linkerd-crds
  repository: https://helm.linkerd.io/edge
  version: {version}
- name: linkerd-control-plane
  repository: https://helm.linkerd.io/edge
  version: {version}
digest: sha256:b5b009e9c6563d992d3f177aaa99ee69aca7314248266e7aa3eb075422d59339
generated: \"2026-08-13T09:14:31.52148Z\"
"
    );
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: mesh
  namespace: linkerd
spec:
  interval: 30m
  chart:
    spec:
      chart: ./charts/mesh
      sourceRef:
        kind: GitRepository
        name: flux-system
        namespace: flux-system
";
    let values = format!("linkerd-control-plane:\n  controllerReplicas: 3\n{}", indented(&identity(), 2));
    [
        ("charts/mesh/Chart.yaml", chart.as_str()),
        ("charts/mesh/Chart.lock", &lock),
        ("charts/mesh/values.yaml", &values),
        ("clusters/production/mesh.yaml", release),
    ]
    .map(|(path, text)| (path.to_owned(), text.to_owned()))
    .to_vec()
}
