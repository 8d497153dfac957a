//! Every figure and every claim of a pull request, proven from the trees before and after by another route.
//!
//! `claims/main.py` reads the remote with git, renders with `helm template`, compares structurally, asks `openssl`, and
//! goes through a text line by line; it uses nothing of the program. A line that it does not know is a failure. With
//! `--mutate` it changes every figure of a text by one, and each change must be noticed.
//!
//! `UPLINKER_CLAIM_REPOS` names a folder of config repositories, as plain folders, and `UPLINKER_REAL_CHARTS` one of
//! Linkerd's packages: the texts that they make are then proven too.
#![allow(clippy::print_stdout)]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use crate::support::{
    charts::ChartRepository,
    helm::{Bench, helm},
    process::Home,
    repo::BareRepo,
};
use serde_json::json;
use uplinker::{
    helm::{Layer, Template},
    render::{ChartId, Job, Renderer as _, Take},
};

static CHARTS: LazyLock<ChartRepository> = LazyLock::new(ChartRepository::new);

/// What Helm printed in this run of the tests.
static PRINTED: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());

/// A self-signed certificate and its key, the same in all repositories.
static IDENTITY: LazyLock<(String, String)> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed(["identity.linkerd.cluster.local".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
});

type Files = Vec<(&'static str, String)>;

const APPLICATION: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Application\n\
    metadata: {name: NAME, namespace: argocd, annotations: {argocd.argoproj.io/sync-wave: 'WAVE'}}\nspec:\n  project: default\n  \
    destination: {server: https://kubernetes.default.svc, namespace: NS}\n  source:\n    \
    repoURL: https://helm.linkerd.io/edge\n    chart: NAME\n    targetRevision: VERSION\n";

const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: NAME, namespace: NS}\n\
    spec:\n  interval: 1h\n  chart:\n    spec:\n      chart: NAME\n      version: VERSION\n      \
    sourceRef: {kind: HelmRepository, name: linkerd-edge}\n";

/// The values of a control plane, indented.
fn values(indent: usize) -> String {
    let margin = " ".repeat(indent);
    let block = |text: &str, more: &str| {
        text.lines().map(|line| format!("{margin}{more}{line}\n")).collect::<String>()
    };
    let (certificate, key) = &*IDENTITY;
    format!(
        "{margin}identityTrustAnchorsPEM: |\n{}{margin}identity:\n{margin}  issuer:\n{margin}    tls:\n{margin}      crtPEM: |\n{}\
         {margin}      keyPEM: |\n{}",
        block(certificate, "  "),
        block(certificate, "        "),
        block(key, "        ")
    )
}

fn fill(template: &str, name: &str, namespace: &str, version: &str, wave: &str) -> String {
    template.replace("NAME", name).replace("NS", namespace).replace("VERSION", version).replace("WAVE", wave)
}

fn flux(version: &str) -> Files {
    let release = |name, namespace| fill(RELEASE, name, namespace, version, "");
    let waits = |text: String, on: &str| {
        text.replacen("spec:\n", &format!("spec:\n  dependsOn: [{{name: {on}}}]\n"), 1)
    };
    let plane =
        waits(release("linkerd-control-plane", "linkerd"), "linkerd-crds") + "  values:\n" + &values(4);
    let plane = plane + "    controllerReplicas: 3\n    proxyInit: {image: {version: v2}}\n";
    vec![
        ("mesh/crds.yaml", release("linkerd-crds", "linkerd")),
        ("mesh/control-plane.yaml", plane),
        ("mesh/viz.yaml", waits(release("linkerd-viz", "linkerd-viz"), "linkerd-control-plane")),
        ("apps/shop.yaml", shop(version)),
    ]
}

/// Flux again, with viz in a folder that another Kustomization applies, which waits.
fn apart(version: &str) -> Files {
    let mut files = flux(version);
    let kustomization = |name: &str, after: &str| {
        format!(
            "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
             spec: {{interval: 10m, path: ./{name}, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}{after}}}\n"
        )
    };
    files.retain(|(path, _)| *path != "mesh/viz.yaml");
    files.push(("viz/viz.yaml", fill(RELEASE, "linkerd-viz", "linkerd-viz", version, "")));
    let both = kustomization("mesh", "") + &kustomization("viz", ", dependsOn: [{name: mesh}]");
    files.push(("clusters/hub/mesh.yaml", both));
    files
}

fn shop(version: &str) -> String {
    let edge = format!("edge-{}", version.trim_start_matches("20"));
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: cart, namespace: shop}}\nspec:\n  replicas: 3\n  \
         template:\n    metadata:\n      annotations:\n        config.linkerd.io/proxy-version: {edge}\n---\n\
         apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: mail, namespace: shop}}\nspec:\n  replicas: 1\n  \
         strategy: {{type: Recreate}}\n  template:\n    metadata:\n      annotations:\n        \
         config.linkerd.io/proxy-version: {edge}\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  \
         annotations:\n    linkerd.io/inject: enabled\n    config.linkerd.io/proxy-version: {edge}\n"
    )
}

fn argo(version: &str) -> Files {
    let application = |name, namespace, wave| fill(APPLICATION, name, namespace, version, wave);
    let plane =
        application("linkerd-control-plane", "linkerd", "-1") + "    helm:\n      values: |\n" + &values(8);
    // A second cluster has no values of its own.
    let other = fill(APPLICATION, "linkerd-control-plane", "linkerd", version, "-1").replacen(
        "{name: linkerd-control-plane",
        "{name: west",
        1,
    );
    vec![
        ("apps/crds.yaml", application("linkerd-crds", "linkerd", "-2")),
        ("apps/plane.yaml", plane),
        ("apps/west.yaml", other),
        ("apps/viz.yaml", application("linkerd-viz", "linkerd-viz", "0")),
    ]
}

fn kustomize(version: &str) -> Files {
    let chart = |name: &str, namespace: &str| {
        format!(
            "- name: {name}\n  repo: https://helm.linkerd.io/edge\n  version: {version}\n  releaseName: {name}\n  namespace: {namespace}\n"
        )
    };
    let text = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nhelmCharts:\n{}{}  valuesFile: values.yaml\n{}",
        chart("linkerd-crds", "linkerd"),
        chart("linkerd-control-plane", "linkerd"),
        chart("linkerd-viz", "linkerd-viz")
    );
    vec![("mesh/kustomization.yaml", text), ("mesh/values.yaml", values(0))]
}

fn umbrella(version: &str) -> Files {
    let of = |name: &str| {
        format!("- name: {name}\n  version: {version}\n  repository: https://helm.linkerd.io/edge\n")
    };
    let chart = format!(
        "apiVersion: v2\nname: mesh\nversion: 1.0.0\ndependencies:\n{}{}",
        of("linkerd-crds"),
        of("linkerd-control-plane")
    );
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: mesh, namespace: argocd}\nspec:\n  \
        project: default\n  destination: {server: https://kubernetes.default.svc, namespace: linkerd}\n  source:\n    \
        repoURL: https://git.example.com/mesh.git\n    path: charts/mesh\n";
    vec![
        ("charts/mesh/Chart.yaml", chart),
        ("charts/mesh/values.yaml", "linkerd-control-plane:\n".to_owned() + &values(2)),
        ("apps/mesh.yaml", application.to_owned()),
    ]
}

/// Commits what Helm gives.
fn rendered(version: &str) -> Files {
    let bench = Bench::new(&CHARTS.url());
    let (certificate, key) = &*IDENTITY;
    let tls = json!({"crtPEM": certificate, "keyPEM": key});
    let values =
        json!({"identityTrustAnchorsPEM": certificate, "identity": {"issuer": {"tls": tls}}}).to_string();
    let charts = [
        ("mesh/crds.yaml", "linkerd-crds", "linkerd"),
        ("mesh/plane.yaml", "linkerd-control-plane", "linkerd"),
        ("mesh/viz.yaml", "linkerd-viz", "linkerd-viz"),
    ];
    let jobs = charts.map(|(_, chart, namespace)| Job {
        chart: ChartId { name: chart.into(), version: version.into() },
        template: Template {
            values: if chart == "linkerd-control-plane" {
                vec![Layer(values.clone().into())]
            } else {
                Vec::new()
            },
            ..Template::of(chart, namespace)
        },
        take: Take::First,
    });
    let texts = bench.helm().render(&jobs).into_iter().map(|text| text.unwrap().to_string());
    charts.iter().map(|(path, ..)| *path).zip(texts).collect()
}

/// What GitHub answers for releases, and the path of it.
fn releases(folder: &Path) -> PathBuf {
    let notes = |tag: &str, n: u32| {
        format!(
            "## What's Changed\n* fix(policy): Answer {tag} by @ada in https://github.com/linkerd/linkerd2/pull/{n}1\n\
             * feat(viz)!: Rename a metric by @ben in https://github.com/linkerd/linkerd2/pull/{n}2\n\
             * build(deps): bump a from 1 to 2 by @dependabot[bot] in https://github.com/linkerd/linkerd2/pull/{n}3\n\
             * chore(ci): Run less by @ada in https://github.com/linkerd/linkerd2/pull/{n}4\n"
        )
    };
    let tags = ["edge-26.6.3", "edge-26.7.1", "edge-26.8.2", "edge-26.8.3", "edge-26.8.4", "edge-26.9.1"];
    let one = |(n, tag): (u32, &&str)| {
        json!({"tag_name": tag, "name": tag, "draft": false, "prerelease": true, "body": notes(tag, 170 + n),
            "published_at": format!("2026-0{}-1{n}T09:00:00Z", 6 + n / 2),
            "created_at": format!("2026-0{}-1{n}T09:00:00Z", 6 + n / 2)})
    };
    let all: Vec<_> = (0..).zip(&tags).map(one).collect();
    let path = folder.join("releases.json");
    fs::write(&path, serde_json::to_string(&all).unwrap()).unwrap();
    path
}

/// Returns a Python that reads YAML.
fn python() -> &'static str {
    let reads = |python: &&&str| {
        let done = Command::new(python).args(["-c", "import yaml"]).output();
        done.is_ok_and(|done| done.status.success())
    };
    let found = ["/usr/bin/python3", "python3"].iter().find(reads);
    found.expect("these tests need Python 3 with PyYAML (Debian: python3-yaml)")
}

/// Runs the program over a repository, and the proofs over what it proposes; returns what the proofs say.
fn prove(remote: &BareRepo, packages: &Path, to: &str, texts: Option<usize>, mutate: bool) -> String {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let (proposals, releases) = (folder.path().join("proposals"), releases(folder.path()));
    let run = home.run(["run", "--to", to, "--no-cache", "--versioncheck-url", "off"]);
    let run = run.arg("--repo").arg(remote.path()).arg(format!("--forge=directory:{}", proposals.display()));
    let run = run.arg(format!("--charts-url=file://{}/index.yaml", packages.display()));
    let run = run.arg(format!("--releases-url=file://{}", releases.display()));
    let _ = run.env("UPLINKER_HELM", helm()).done().exits(0);
    fs::create_dir_all(&proposals).unwrap();
    let mut proofs = Command::new(python());
    proofs.arg("-B").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/claims/main.py"));
    proofs.arg("--remote").arg(remote.path()).arg("--proposals").arg(&proposals).arg("--helm").arg(helm());
    proofs.arg("--charts").arg(packages).arg("--releases").arg(&releases);
    proofs
        .arg("--cache")
        .arg(PRINTED.path())
        .args(texts.map(|n| format!("--expect={n}")))
        .args(mutate.then_some("--mutate"));
    let done = proofs.output().expect("Python starts");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success(),
        "{}\n{said}{}",
        remote.path().display(),
        String::from_utf8_lossy(&done.stderr)
    );
    said
}

fn remote(folder: &Path, files: &Files) -> BareRepo {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    BareRepo::with_files(folder.join("mesh.git"), "main", &files)
}

fn on_test_charts(files: impl Fn(&str) -> Files, jumps: &[(&str, &str)]) {
    for (n, (from, to)) in jumps.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let said = prove(&remote(folder.path(), &files(from)), CHARTS.path(), to, Some(1), n == 0);
        println!("{from} to {to}: {said}");
    }
}

#[test]
fn texts_about_flux_are_proven() {
    on_test_charts(
        flux,
        &[("2026.8.2", "edge-26.8.3"), ("2026.6.3", "edge-26.8.3"), ("2026.8.3", "edge-26.9.1")],
    );
    on_test_charts(apart, &[("2026.8.2", "edge-26.8.3")]);
}

#[test]
fn texts_about_argo_are_proven() {
    on_test_charts(argo, &[("2026.8.2", "edge-26.8.4"), ("2026.8.3", "edge-26.9.1")]);
}

#[test]
fn texts_about_kustomize_and_an_umbrella_chart_are_proven() {
    on_test_charts(kustomize, &[("2026.8.3", "edge-26.8.4")]);
    on_test_charts(umbrella, &[("2026.6.3", "edge-26.8.3")]);
}

#[test]
fn texts_about_committed_manifests_are_proven() {
    on_test_charts(rendered, &[("2026.8.2", "edge-26.8.3"), ("2026.6.3", "edge-26.8.2")]);
}

#[test]
fn texts_about_proxies_are_proven() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = "version: 1\ndataPlane: {after: 0h, controlPlane: edge-26.8.3}\n".to_owned();
    let files = vec![("apps/shop.yaml", shop("2026.8.2")), ("uplinker.yaml", configuration)];
    let said = prove(&remote(folder.path(), &files), CHARTS.path(), "edge-26.8.3", Some(1), true);
    println!("{said}");
}

#[test]
fn texts_about_a_fixture_are_proven() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scan/argo-inline/before");
    let remote = BareRepo::from_folder(folder.path().join("mesh.git"), "main", &source);
    println!("{}", prove(&remote, CHARTS.path(), "edge-26.8.3", None, false));
}

#[test]
fn texts_about_named_repositories_and_real_charts_are_proven() {
    let named = |name| env::var_os(name).map(PathBuf::from);
    let (Some(repositories), Some(packages)) = (named("UPLINKER_CLAIM_REPOS"), named("UPLINKER_REAL_CHARTS"))
    else {
        return;
    };
    let charts = ChartRepository::pulled(&packages);
    let mut folders: Vec<PathBuf> =
        fs::read_dir(repositories).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    for source in folders {
        let folder = tempfile::tempdir().unwrap();
        let remote = BareRepo::from_folder(folder.path().join("mesh.git"), "main", &source);
        println!("{}: {}", source.display(), prove(&remote, charts.path(), "edge-26.8.3", None, true));
    }
}
