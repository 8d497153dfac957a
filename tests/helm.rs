//! Helm renders the test charts: each job once, in parallel, in Helm's own order and form.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Instant};

use crate::support::{
    charts::{ChartRepository, PUBLISHED},
    feed::{Feed, release},
    helm::Bench,
};
use serde_json::Value;
use tempfile::TempDir;
use uplinker::{
    helm::{Layer, Setting, SettingKind, Template},
    render::{ChartId, Job, Manifest, RenderError, Renderer as _, Take},
};

fn id(name: &str, version: &str) -> ChartId {
    ChartId { name: name.into(), version: version.into() }
}

fn job(name: &str, version: &str) -> Job {
    Job {
        chart: id(name, version),
        template: Template {
            values: vec![Layer(
                "identityTrustAnchorsPEM: anchors\nidentity: {issuer: {tls: {crtPEM: crt, keyPEM: key}}}\n"
                    .into(),
            )],
            kube_version: Some("1.33".into()),
            include_crds: true,
            ..Template::of(name, if name == "linkerd-viz" { "linkerd-viz" } else { "linkerd" })
        },
        take: Take::First,
    }
}

fn kinds(text: &Arc<str>) -> Vec<String> {
    let manifest = Manifest::parse(Arc::clone(text)).unwrap();
    manifest.objects.iter().map(|o| format!("{} {}", o.key.kind, o.key.name)).collect()
}

#[test]
fn the_test_charts_render_in_every_version() {
    let repository = ChartRepository::new();
    let bench = Bench::new(&repository.url());
    let helm = bench.helm();
    assert!(helm.helm().unwrap().starts_with('v'));
    let jobs: Vec<Job> = PUBLISHED.iter().flat_map(|(c, all)| all.iter().map(|v| job(c, v))).collect();
    for (job, text) in jobs.iter().zip(helm.render(&jobs)) {
        let text = text.unwrap_or_else(|e| panic!("{e}"));
        let manifest =
            Manifest::parse(Arc::clone(&text)).unwrap_or_else(|e| panic!("{}: {e}\n{text}", job.chart));
        let sources = manifest.objects.iter().filter(|o| o.source.is_some()).count();
        assert_eq!(sources, manifest.objects.len(), "{}", job.chart);
        // The CNI plugin counts for itself, and names no release.
        let named = text.contains(&job.chart.version) || text.contains(&job.chart.version[2..]);
        assert_ne!(named, job.chart.name == "linkerd2-cni", "{}", job.chart);
    }
}

/// `UPLINKER_TEST_CHARTS` names a folder of Linkerd's packages, as `helm pull` leaves them.
#[test]
fn real_charts_render_where_they_are_given() {
    let Some(folder) = std::env::var_os("UPLINKER_TEST_CHARTS") else { return };
    let repository = ChartRepository::pulled(Path::new(&folder));
    let bench = Bench::new(&repository.url());
    let jobs: Vec<Job> =
        repository.packages().iter().map(|package| job(&package.name, &package.version)).collect();
    assert!(!jobs.is_empty(), "no package in {}", folder.display());
    for (job, text) in jobs.iter().zip(bench.helm().render(&jobs)) {
        let text = text.unwrap_or_else(|e| panic!("{e}"));
        let manifest = Manifest::parse(text).unwrap_or_else(|e| panic!("{}: {e}", job.chart));
        assert!(manifest.objects.len() > 2, "{}", job.chart);
    }
}

#[test]
fn objects_come_in_install_order_and_hooks_last() {
    let repository = ChartRepository::new();
    let bench = Bench::new(&repository.url());
    let viz = job("linkerd-viz", "2026.8.3");
    let mut bare = viz.clone();
    bare.template.hooks = false;
    let mut all = bench.helm().render(&[viz, bare]);
    let (bare, with) = (all.pop().unwrap().unwrap(), all.pop().unwrap().unwrap());
    let (bare, with) = (kinds(&bare), kinds(&with));
    assert_eq!(bare.first().unwrap(), "ServiceAccount metrics-api");
    assert_eq!(bare.last().unwrap(), "Server admin");
    assert_eq!(with[..bare.len()], bare[..]);
    assert_eq!(with[bare.len()..], ["ServiceAccount namespace-metadata", "Job namespace-metadata"]);
}

#[test]
fn equal_jobs_run_once_and_what_a_chart_invents_differs_between_takes() {
    let repository = ChartRepository::new();
    let bench = Bench::new(&repository.url());
    let helm = bench.helm();
    let first = job("linkerd-control-plane", "2026.8.3");
    let second = Job { take: Take::Second, ..first.clone() };
    let texts: Vec<_> =
        helm.render(&[first.clone(), second, first.clone()]).into_iter().map(Result::unwrap).collect();
    assert_eq!(texts[0], texts[2]);
    assert_ne!(texts[0], texts[1]);
    // The certificates would differ if it had run again.
    assert_eq!(helm.render(&[first])[0].as_ref().unwrap(), &texts[0]);
}

#[test]
fn values_and_settings_reach_helm_in_its_own_order() {
    let repository = ChartRepository::new();
    let bench = Bench::new(&repository.url());
    let setting = |name: &str, value: &str, kind| Setting { name: name.into(), value: value.into(), kind };
    let mut with = job("linkerd-control-plane", "2026.8.3");
    with.template
        .values
        .push(Layer("controllerLogLevel: debug\nproxy: {resources: {memory: null}}\n".into()));
    with.template.settings = vec![
        setting("controllerImageVersion", "123", SettingKind::Text),
        setting("controllerReplicas", "3", SettingKind::Typed),
        setting("identityTrustAnchorsPEM", "from\na file\n", SettingKind::File),
        setting("heartbeatSchedule", "1 2 * * *", SettingKind::Text),
    ];
    let text = bench.helm().render(&[with])[0].clone().unwrap();
    let manifest = Manifest::parse(text).unwrap();
    let config = manifest.objects.iter().find(|o| o.key.name == "linkerd-config").unwrap();
    let values = uplinker::render::value::read(config.text(&["data", "values"]).unwrap()).unwrap();
    let at = |path: &str| values.pointer(path).cloned().unwrap_or(Value::Null);
    assert_eq!(at("/controllerLogLevel"), "debug");
    assert_eq!(at("/controllerImageVersion"), "123");
    assert_eq!(at("/controllerReplicas"), 3);
    assert_eq!(at("/identityTrustAnchorsPEM"), "from\na file\n");
    assert_eq!(at("/proxy/resources"), serde_json::json!({"cpu": {"request": ""}}));
    assert!(!at("/identity/issuer/tls").to_string().contains("key"), "{values}");
}

#[test]
fn helms_refusal_is_told_in_its_words() {
    let repository = ChartRepository::new();
    let bench = Bench::new(&repository.url());
    let mut without = job("linkerd-control-plane", "2026.8.3");
    without.template.values.clear();
    let mut old = job("linkerd-control-plane", "2026.8.3");
    old.template.kube_version = Some("1.30".into());
    let unknown = job("linkerd-viz", "2031.1.1");
    let mut told =
        bench.helm().render(&[without, old, unknown]).into_iter().map(|r| r.unwrap_err().to_string());
    let (without, old) = (told.next().unwrap(), told.next().unwrap());
    assert!(without.starts_with("linkerd-control-plane 2026.8.3: helm: "), "{without}");
    assert!(without.contains("Please provide the identity"), "{without}");
    assert!(old.contains("1.31.0-0") && !old.contains("uplinker-helm-"), "{old}");
    assert_eq!(told.next().unwrap(), "linkerd-viz 2031.1.1: the chart index does not have it");
}

#[test]
fn packages_are_kept_by_digest_and_damaged_ones_fetched_again() {
    let feed = Feed::start(&[release("edge-26.8.3", "2026-08-20T10:00:00Z")]);
    let repository = ChartRepository::new();
    feed.serve_packages(repository.packages());
    let bench = Bench::new(&feed.charts());
    let cache = TempDir::new().unwrap();
    let fetched = || {
        let entries = feed.controls().log.take();
        entries.iter().filter(|entry| entry.line().contains(".tgz")).count()
    };
    let bring = || {
        let helm = bench.cached(Some(cache.path()));
        let chart = helm.chart(&id("linkerd-crds", "2026.8.3")).unwrap();
        assert!(
            chart.files.contains_key("templates/policy/server.yaml") && chart.defaults().contains("policy")
        );
        helm.chart(&id("linkerd-crds", "2026.8.3")).unwrap();
    };
    bring();
    assert_eq!(fetched(), 1);
    bring();
    assert_eq!(fetched(), 0);
    for entry in std::fs::read_dir(cache.path().join("charts")).unwrap() {
        std::fs::write(entry.unwrap().path(), "damaged").unwrap();
    }
    bring();
    assert_eq!(fetched(), 1);
    std::fs::remove_dir_all(cache.path().join("charts")).unwrap();
    bring();
    assert_eq!(fetched(), 1);
}

#[test]
fn packing_is_reproducible() {
    let digests = || -> BTreeMap<String, String> {
        ChartRepository::new().packages().iter().map(|p| (p.file(), p.digest())).collect()
    };
    assert_eq!(digests(), digests());
}

#[test]
fn a_renderer_asks_for_nothing_before_it_is_needed() {
    let mut bench = Bench::new(&ChartRepository::new().url());
    bench.program = "/nowhere/helm".into();
    let start = Instant::now();
    let helm = bench.helm();
    assert!(start.elapsed().as_millis() < 100);
    assert!(matches!(helm.helm(), Err(RenderError::NoHelm { .. })));
}
