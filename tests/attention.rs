//! How much a reviewer is asked for: over neighbouring releases and every way to deploy, how many pull requests are routine,
//! want attention or are blocked, and by which check.
//!
//! `cargo test` looks at the charts of `tests/charts`. With `UPLINKER_REAL_CHARTS`, a folder of Linkerd's own packages as
//! `helm pull` leaves them, it looks at all of theirs and prints the table (`--nocapture`); `UPLINKER_ATTENTION_EVERY=10`
//! takes every tenth pair.
#![allow(clippy::print_stdout)]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    env,
    path::Path,
    sync::{Arc, Mutex},
    time::Instant,
};

use crate::support::{
    charts::{ChartRepository, PUBLISHED, Package, files, pack},
    helm::Bench,
    manifests::hours_ago,
    repo::BareRepo,
};
use serde_json::{Value, json};
use uplinker::{
    explain::content::{Content, Weight},
    helm::{Layer, Template},
    linkerd::EdgeVersion,
    pins::Stage,
    pipeline::{Operator, plan_head},
    plan::Served,
    release::NoMirrors,
    render::{Chart, ChartId, Job, RenderError, Renderer, Take},
    repo::git::open_path,
    report::StageDecision,
    verify::Severity,
};

/// Charts and their namespaces, in the order in which they are applied.
const CHARTS: [(&str, &str); 6] = [
    ("linkerd-crds", "linkerd"),
    ("linkerd2-cni", "linkerd-cni"),
    ("linkerd-control-plane", "linkerd"),
    ("linkerd-viz", "linkerd-viz"),
    ("linkerd-multicluster", "linkerd-multicluster"),
    ("linkerd-jaeger", "linkerd-jaeger"),
];

/// A way to bring charts to a cluster, as a well-kept repository has it.
struct Deployer {
    name: &'static str,
    files: fn(&[Release]) -> Vec<(String, String)>,
}

const DEPLOYERS: [Deployer; 6] = [
    Deployer { name: "Flux HelmRelease", files: flux_helm },
    Deployer { name: STOPPING, files: flux_rendered },
    Deployer { name: "Flux Kustomization, rendered, hooks replaced", files: flux_replacing },
    Deployer { name: "Argo CD, Helm", files: argo_helm },
    Deployer { name: "Argo CD, rendered", files: argo_rendered },
    Deployer { name: "kustomize and kubectl, rendered", files: kustomize },
];

/// Where the finished hook of each extension stops everything, at each release, until Flux is told to replace it.
const STOPPING: &str = "Flux Kustomization, rendered";

/// A chart in a release.
struct Release {
    chart: &'static str,
    namespace: &'static str,
    version: String,
    values: Value,
    /// What Helm made of it some hours ago.
    text: String,
}

/// What became of one step of one repository.
struct Row {
    from: String,
    to: String,
    deployer: &'static str,
    weight: Weight,
    /// What is to be read or settled first: check, weight, words.
    statements: Vec<(String, Severity, String)>,
    /// Whether nothing but version strings changes, and nothing was published about the release.
    is_plain: bool,
}

/// Renders each job once, whatever asks for it, as long as its release is looked at.
struct Remembering<'a> {
    inner: &'a dyn Renderer,
    known: Mutex<HashMap<Job, Result<Arc<str>, RenderError>>>,
}

// === impl Remembering ===

impl Remembering<'_> {
    /// Forgets all that is of no use for these versions.
    fn keep(&self, versions: [&str; 2]) {
        self.known.lock().unwrap().retain(|job, _| versions.contains(&&*job.chart.version));
    }
}

impl Renderer for Remembering<'_> {
    fn helm(&self) -> Result<String, RenderError> {
        self.inner.helm()
    }

    fn identity(&self) -> Option<String> {
        self.inner.identity()
    }

    fn chart(&self, id: &ChartId) -> Result<Arc<Chart>, RenderError> {
        self.inner.chart(id)
    }

    fn render(&self, jobs: &[Job]) -> Vec<Result<Arc<str>, RenderError>> {
        let mut known = self.known.lock().unwrap();
        let new: Vec<Job> = jobs.iter().filter(|job| !known.contains_key(job)).cloned().collect();
        let texts = self.inner.render(&new);
        known.extend(new.into_iter().zip(texts));
        jobs.iter().map(|job| known[job].clone()).collect()
    }
}

fn flux_helm(releases: &[Release]) -> Vec<(String, String)> {
    let source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository",
        "metadata": {"name": "linkerd", "namespace": "flux-system"}, "spec": {"url": "https://helm.linkerd.io/edge"}});
    let release = |release: &Release| {
        let source = json!({"kind": "HelmRepository", "name": "linkerd", "namespace": "flux-system"});
        let spec = json!({"chart": release.chart, "version": release.version, "sourceRef": source});
        let object = json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": release.chart, "namespace": release.namespace},
            "spec": {"chart": {"spec": spec}, "dependsOn": before(release), "values": release.values}});
        (format!("mesh/{}.yaml", release.chart), yaml(&object))
    };
    let all = releases.iter().map(release).chain([("mesh/source.yaml".to_owned(), yaml(&source))]);
    all.chain([flux_kustomization(&json!([]))]).collect()
}

/// What a release waits for.
fn before(release: &Release) -> Value {
    match release.chart {
        "linkerd-crds" | "linkerd2-cni" => json!([]),
        "linkerd-control-plane" => json!([{"name": "linkerd-crds", "namespace": "linkerd"}]),
        _ => json!([{"name": "linkerd-control-plane", "namespace": "linkerd"}]),
    }
}

fn flux_kustomization(patches: &Value) -> (String, String) {
    let object = json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "mesh", "namespace": "flux-system"},
        "spec": {"path": "./mesh", "prune": true, "interval": "10m", "sourceRef": {"kind": "GitRepository", "name": "fleet"}, "patches": patches}});
    ("clusters/prod/mesh.yaml".to_owned(), yaml(&object))
}

fn flux_rendered(releases: &[Release]) -> Vec<(String, String)> {
    manifests(releases).chain([flux_kustomization(&json!([]))]).collect()
}

fn flux_replacing(releases: &[Release]) -> Vec<(String, String)> {
    let annotation = json!({"kustomize.toolkit.fluxcd.io/force": "enabled"});
    let patch = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "any", "annotations": annotation}});
    let patches = json!([{"target": {"kind": "Job"}, "patch": patch.to_string()}]);
    manifests(releases).chain([flux_kustomization(&patches)]).collect()
}

fn manifests(releases: &[Release]) -> impl Iterator<Item = (String, String)> {
    releases.iter().map(|release| (format!("mesh/{}.yaml", release.chart), release.text.clone()))
}

fn application(name: &str, wave: usize, source: &Value) -> String {
    yaml(&json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd", "annotations": {"argocd.argoproj.io/sync-wave": wave.to_string()}},
        "spec": {"project": "default", "source": source, "destination": {"server": "https://kubernetes.default.svc", "namespace": "linkerd"},
            "syncPolicy": {"automated": {"prune": true}}}}))
}

fn argo_helm(releases: &[Release]) -> Vec<(String, String)> {
    let one = |(wave, release): (usize, &Release)| {
        let helm = json!({"valuesObject": release.values});
        let source = json!({"repoURL": "https://helm.linkerd.io/edge", "chart": release.chart,
            "targetRevision": release.version, "helm": helm});
        let text = application(release.chart, wave, &source);
        (
            format!("apps/{}.yaml", release.chart),
            text.replace("namespace: linkerd", &format!("namespace: {}", release.namespace)),
        )
    };
    releases.iter().enumerate().map(one).collect()
}

fn argo_rendered(releases: &[Release]) -> Vec<(String, String)> {
    let source =
        json!({"repoURL": "https://git.example.com/fleet.git", "path": "mesh", "targetRevision": "HEAD"});
    manifests(releases).chain([("apps/mesh.yaml".to_owned(), application("mesh", 0, &source))]).collect()
}

fn kustomize(releases: &[Release]) -> Vec<(String, String)> {
    let resources: Vec<String> = releases.iter().map(|release| format!("{}.yaml", release.chart)).collect();
    let file = yaml(
        &json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources}),
    );
    manifests(releases).chain([("mesh/kustomization.yaml".to_owned(), file)]).collect()
}

fn yaml(value: &Value) -> String {
    serde_yaml::to_string(value).unwrap()
}

/// A world of charts with the values of one cluster.
struct World<'a> {
    repository: &'a ChartRepository,
    bench: &'a Bench,
    renderer: &'a Remembering<'a>,
    /// Of the control plane: a throw-away issuer.
    identity: Value,
}

// === impl World ===

impl World<'_> {
    /// Renders the charts that a release has.
    fn releases(&self, version: &str) -> Vec<Release> {
        let has =
            |chart: &str| self.repository.packages().iter().any(|p| p.name == chart && p.version == version);
        let there: Vec<(&'static str, &'static str)> =
            CHARTS.into_iter().filter(|(chart, _)| has(chart)).collect();
        let values =
            |chart: &str| if chart == "linkerd-control-plane" { self.identity.clone() } else { json!({}) };
        let job = |(chart, namespace): &(&str, &str)| Job {
            chart: ChartId { name: (*chart).into(), version: version.into() },
            template: Template {
                values: vec![Layer(values(chart).to_string().into())],
                kube_version: Some("1.33.0".into()),
                ..Template::of(chart, namespace)
            },
            take: Take::First,
        };
        let texts = self.renderer.render(&there.iter().map(job).collect::<Vec<_>>());
        let release =
            |((chart, namespace), text): ((&'static str, &'static str), Result<Arc<str>, RenderError>)| {
                let text = hours_ago(&text.unwrap_or_else(|e| panic!("{chart} {version}: {e}")));
                Release { chart, namespace, version: version.to_owned(), values: values(chart), text }
            };
        there.into_iter().zip(texts).map(release).collect()
    }

    /// Takes every repository one step further.
    fn step(&self, from: &str, to: &str) -> Vec<Row> {
        self.renderer.keep([from, to]);
        let releases = self.releases(from);
        DEPLOYERS.iter().map(|deployer| self.plan(deployer, &releases, (from, to))).collect()
    }

    fn plan(&self, deployer: &Deployer, releases: &[Release], (from, to): (&str, &str)) -> Row {
        let folder = tempfile::tempdir().unwrap();
        let files = (deployer.files)(releases);
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let repository = BareRepo::with_files(folder.path().join("fleet"), "main", &files);
        let operator = Operator {
            catalog: &self.bench.catalog,
            served: &Served::default(),
            mirrors: &NoMirrors,
            renderer: self.renderer,
            cache: None,
            to: EdgeVersion::from_chart(to),
            now: jiff::Timestamp::now(),
            progress: &|_| {},
        };
        let report = plan_head(open_path(repository.path()).unwrap(), "fleet", &operator).unwrap();
        let stage = report.stages.iter().find(|stage| stage.stage == Stage::Platform).unwrap();
        let place = format!("{} from {from} to {to}", deployer.name);
        assert!(matches!(stage.decision, StageDecision::Propose(_)), "{place}: {:?}", stage.decision);
        let content = &stage.proposal.as_ref().unwrap_or_else(|| panic!("{place}: no proposal")).content;
        let heavy = stage.findings.iter().filter(|f| f.severity > Severity::Info);
        let statements = heavy.map(|f| (f.check.to_string(), f.severity, f.reason.clone()));
        Row {
            from: from.to_owned(),
            to: to.to_owned(),
            deployer: deployer.name,
            weight: content.verdict.weight,
            statements: statements.collect(),
            is_plain: is_plain(content),
        }
    }
}

/// Tells whether nothing but version strings changes, of charts that were all rendered.
fn is_plain(content: &Content) -> bool {
    let cluster = &content.cluster;
    cluster.missing.is_empty()
        && cluster.fields == cluster.version_fields
        && cluster.charts.iter().all(|chart| chart.added.is_empty() && chart.removed.is_empty())
}

/// Takes repositories over all neighbouring releases.
fn rows(repository: &ChartRepository, versions: &[String], identity: Value, every: usize) -> Vec<Row> {
    let bench = Bench::new(&repository.url());
    let helm = bench.helm();
    let renderer = Remembering { inner: &helm, known: Mutex::default() };
    let world = World { repository, bench: &bench, renderer: &renderer, identity };
    let pairs = versions.windows(2).step_by(every);
    let step = |pair: &[String]| {
        let start = Instant::now();
        let rows = world.step(&pair[0], &pair[1]);
        println!("from {} to {}: {:.1} s", pair[0], pair[1], start.elapsed().as_secs_f32());
        for row in &rows {
            let said: Vec<&str> = row.statements.iter().map(|(check, ..)| check.as_str()).collect();
            println!("  {}: {} {}", row.deployer, weight_of(row), said.join(", "));
        }
        rows
    };
    pairs.flat_map(step).collect()
}

fn weight_of(row: &Row) -> &'static str {
    match row.weight {
        Weight::Routine | Weight::Unrendered => "routine",
        Weight::Attention => "attention",
        Weight::Blocked => "blocked",
    }
}

/// Prints how many there are of each weight, by which check, and what was said.
fn print(rows: &[Row]) {
    println!("| deployer | pull requests | routine | attention | blocked |\n|---|---|---|---|---|");
    for Deployer { name, .. } in DEPLOYERS {
        let mine: Vec<&Row> = rows.iter().filter(|row| row.deployer == name).collect();
        let of = |weight: &str| mine.iter().filter(|row| weight_of(row) == weight).count();
        println!("| {name} | {} | {} | {} | {} |", mine.len(), of("routine"), of("attention"), of("blocked"));
    }
    let mut by_check: BTreeMap<(&str, Severity), BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    let mut said: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        for (check, severity, reason) in &row.statements {
            by_check.entry((check, *severity)).or_default().entry(row.deployer).or_default().insert(&row.to);
            said.entry((&row.to, check, reason)).or_default().insert(row.deployer);
        }
    }
    let names = DEPLOYERS.map(|deployer| deployer.name);
    println!("\n| check | weight | {} |\n|---|---|{}", names.join(" | "), "---|".repeat(names.len()));
    for ((check, severity), deployers) in &by_check {
        let counts = names.map(|name| deployers.get(name).map_or(0, BTreeSet::len).to_string());
        let weight = if *severity == Severity::Block { "blocked" } else { "attention" };
        println!("| {check} | {weight} | {} |", counts.join(" | "));
    }
    println!();
    for ((to, check, reason), deployers) in said {
        let of = if deployers.len() == names.len() {
            "all".to_owned()
        } else {
            deployers.into_iter().collect::<Vec<_>>().join(", ")
        };
        println!("- {to}: {check} ({of}): {reason}");
    }
}

/// What is published of a release, and what it demands of a cluster, is told whatever changes in the manifests.
const BEYOND_MANIFESTS: [&str; 4] = ["guidance", "kube-version", "gateway-api", "defaults-changed"];

fn assert_plain_ones_are_routine(rows: &[Row]) {
    for row in rows.iter().filter(|row| row.is_plain) {
        let needless = row.statements.iter().find(|(check, ..)| {
            let hook = check == "immutable-fields" && row.deployer == STOPPING;
            !hook && !BEYOND_MANIFESTS.contains(&check.as_str())
        });
        assert!(needless.is_none(), "{} to {}, {}: {needless:?}", row.from, row.to, row.deployer);
    }
}

/// The charts of one release, and the same charts under the name of the one before. As in Linkerd's own, the pods of a hook
/// are marked with the release that made them.
fn only_another_version() -> Vec<Package> {
    let (old, new) = ("2026.8.2", "2026.8.3");
    let there = PUBLISHED.iter().filter(|(_, versions)| versions.contains(&new));
    let packages = there.flat_map(|(chart, _)| {
        let mut files = files(chart, new);
        for text in files.values_mut() {
            let read = String::from_utf8(std::mem::take(text)).unwrap();
            let marked = "  template:\n    metadata: {annotations: {linkerd.io/created-by: linkerd/helm {{ .Values.linkerdVersion }}}}\n    spec:";
            let job = read.contains("kind: Job\n");
            *text = if job { read.replacen("  template:\n    spec:", marked, 1) } else { read }.into_bytes();
        }
        let mut before = files.clone();
        for text in before.values_mut() {
            let read = String::from_utf8(std::mem::take(text)).unwrap();
            *text = read.replace(&new[2..], &old[2..]).into_bytes();
        }
        [pack(chart, old, &before), pack(chart, new, &files)]
    });
    packages.collect()
}

#[test]
fn where_only_the_version_changes_nobody_is_asked_for() {
    let repository = ChartRepository::of(only_another_version());
    let versions = ["2026.8.2", "2026.8.3"].map(str::to_owned);
    let identity = serde_json::from_str(&crate::support::manifests::identity()).unwrap();
    let rows = rows(&repository, &versions, identity, 1);
    assert_eq!(rows.len(), DEPLOYERS.len());
    for row in &rows {
        assert!(row.is_plain, "{}", row.deployer);
        let said: Vec<&str> = row.statements.iter().map(|(check, ..)| check.as_str()).collect();
        let hooks = row.deployer == STOPPING;
        assert_eq!(
            said,
            if hooks { vec!["immutable-fields"] } else { Vec::new() },
            "{}: {:?}",
            row.deployer,
            row.statements
        );
        assert_eq!(row.weight, if hooks { Weight::Attention } else { Weight::Routine }, "{}", row.deployer);
    }
}

#[test]
fn the_table_of_all_releases() {
    let Some(folder) = env::var_os("UPLINKER_REAL_CHARTS") else { return };
    let every = env::var("UPLINKER_ATTENTION_EVERY").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let repository = ChartRepository::pulled(Path::new(&folder));
    let planes = repository.packages().iter().filter(|package| package.name == "linkerd-control-plane");
    let mut versions: Vec<String> = planes.map(|package| package.version.clone()).collect();
    versions.sort_by_key(|version| EdgeVersion::from_chart(version));
    let made = rcgen::generate_simple_self_signed(["identity.linkerd.cluster.local".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let tls = json!({"crtPEM": certificate, "keyPEM": key});
    let identity = json!({"identityTrustAnchorsPEM": certificate, "identity": {"issuer": {"tls": tls}}});
    let rows = rows(&repository, &versions, identity, every);
    print(&rows);
    assert_plain_ones_are_routine(&rows);
}
