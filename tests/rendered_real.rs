//! Linkerd's real charts, committed and made again: what an upgrade changes, and nothing else.
//!
//! Reads a folder of packages as `helm pull` leaves them, named by `UPLINKER_REAL_CHARTS`; without one there is nothing to
//! test. The charts are not ours to keep here. With `--nocapture` it prints what changes between releases.
#![allow(clippy::print_stdout)]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
};

use crate::support::{
    charts::{ChartRepository, Package},
    helm::Bench,
    repo::BareRepo,
    tree::MemoryTree,
};
use jiff::Timestamp;
use serde_json::json;
use uplinker::{
    helm::{Layer, Template},
    linkerd::{CHARTS, built_in},
    pins::{ScanOptions, scan},
    pipeline::{self, Operator},
    plan::Served,
    policy::HoldReason,
    release::NoMirrors,
    render::{
        ChartId, DriftMode, Job, Manifest, Object, Renderer as _, Take,
        committed::{Regenerate, Regenerated, committed, regenerate},
    },
    repo::git::open_path,
    report::StageDecision,
    verify::{CheckId, Finding, Severity},
};

/// The releases in which nothing may change when nothing is to.
const STEADY: [&str; 3] = ["2025.8.3", "2026.6.3", "2026.8.3"];
/// The upgrades of the table.
const UPGRADES: [(&str, &str); 2] = [("2026.6.3", "2026.8.3"), ("2025.8.3", "2025.10.7")];

fn folder() -> Option<PathBuf> {
    env::var_os("UPLINKER_REAL_CHARTS").map(PathBuf::from)
}

/// Makes an index of the packages of a folder.
fn repository(folder: &Path) -> ChartRepository {
    let files = fs::read_dir(folder).expect("a folder of packages").map(|e| e.expect("an entry").path());
    let package = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".tgz")?.to_owned();
        let (name, version) = name.rsplit_once('-')?;
        let bytes = fs::read(&path).expect("a package");
        Some(Package { name: name.into(), version: version.into(), bytes, kube_version: ">=1.23.0-0".into() })
    };
    let mut packages: Vec<Package> = files.filter_map(package).collect();
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    assert!(!packages.is_empty(), "{} has no package", folder.display());
    ChartRepository::of(packages)
}

/// A self-signed certificate and its key.
fn issuer() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["identity.linkerd.cluster.local".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// The values of one chart in each way of rendering.
fn values(chart: &str, way: &str, (certificate, key): &(String, String)) -> String {
    let outside = json!({"externalSecret": true, "caBundle": "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----"});
    let tls = json!({"crtPEM": certificate, "keyPEM": key});
    let mut values = match chart {
        "linkerd-control-plane" => {
            json!({"identityTrustAnchorsPEM": certificate, "identity": {"issuer": {"tls": tls}}})
        }
        _ => json!({}),
    };
    let more = match (way, chart) {
        ("externalSecret", "linkerd-control-plane") => {
            json!({"proxyInjector": outside, "profileValidator": outside, "policyValidator": outside})
        }
        ("externalSecret", "linkerd-viz") => json!({"tap": outside, "tapInjector": outside}),
        ("ha", "linkerd-control-plane") => json!({"controllerReplicas": 3, "enablePodAntiAffinity": true,
            "enablePodDisruptionBudget": true, "webhookFailurePolicy": "Fail", "highAvailability": true,
            "proxy": {"resources": {"cpu": {"request": "100m"}, "memory": {"limit": "250Mi", "request": "20Mi"}}},
            "deploymentStrategy": {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": "25%"}}}),
        _ => json!({}),
    };
    values.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    values.to_string()
}

fn namespace(chart: &str) -> &str {
    match chart {
        "linkerd-crds" | "linkerd-control-plane" => "linkerd",
        "linkerd2-cni" => "linkerd-cni",
        extension => extension,
    }
}

/// Commits what Helm gives, the schedule hours away.
fn repository_at(bench: &Bench, version: &str, way: &str, identity: &(String, String)) -> MemoryTree {
    let job = |chart: &&str| Job {
        chart: ChartId { name: (*chart).into(), version: version.into() },
        template: Template {
            values: vec![Layer(values(chart, way, identity).into())],
            kube_version: Some("1.33".into()),
            ..Template::of(chart, namespace(chart))
        },
        take: Take::First,
    };
    let helm = bench.helm();
    let jobs: Vec<Job> = CHARTS.iter().map(job).collect();
    let texts = helm.render(&jobs);
    let file = |(chart, text): (&&str, Result<std::sync::Arc<str>, _>)| {
        let text = text.unwrap_or_else(|e: uplinker::render::RenderError| panic!("{e}")).to_string();
        let schedule = text.lines().find(|l| l.trim().starts_with("schedule:")).map(str::to_owned);
        let text = schedule.map_or(text.clone(), |l| text.replace(&l, "  schedule: \"07 12 * * *\""));
        // Values of this chart are nowhere but beside its output.
        let values = values(chart, way, identity);
        let other = **chart != *"linkerd-control-plane" && values != "{}";
        let values = other.then(|| (format!("{chart}/values.yaml"), values));
        [Some((format!("{chart}/out.yaml"), text)), values].into_iter().flatten().collect::<Vec<_>>()
    };
    MemoryTree::new(CHARTS.iter().zip(texts).flat_map(file))
}

fn made(bench: &Bench, tree: &MemoryTree, version: &str) -> Regenerated {
    let inventory = scan(tree, &ScanOptions::default()).unwrap();
    let found = committed(tree, &inventory.facts.rendered);
    assert!(found.missing.is_empty() && found.sets.len() == CHARTS.len(), "{:?}", found.missing);
    let to: BTreeMap<String, String> = CHARTS.iter().map(|c| ((*c).to_owned(), version.to_owned())).collect();
    regenerate(
        &Regenerate {
            tree,
            near: tree,
            committed: &found.sets,
            beside: &[],
            uses: &[],
            entries: &[],
            to: &to,
            drift: DriftMode::Refuse,
            kube_version: Some("1.33"),
            knowledge: built_in(),
        },
        &bench.helm(),
    )
}

/// Lists what is secret or certified in a tree.
fn certificates(tree: &MemoryTree) -> BTreeSet<String> {
    let keys = ["tls.crt:", "tls.key:", "crt.pem:", "key.pem:", "caBundle:", "schedule:"];
    let files = tree.files();
    let lines = files.values().flat_map(|text| text.lines());
    lines.filter(|l| keys.iter().any(|k| l.trim().starts_with(k))).map(|l| l.trim().to_owned()).collect()
}

#[test]
fn real_charts_show_the_upgrade_and_nothing_else() {
    let Some(folder) = folder() else { return };
    let repository = repository(&folder);
    let bench = Bench::new(&repository.url());
    let identity = issuer();
    for version in STEADY {
        for way in ["default", "externalSecret", "ha"] {
            let tree = repository_at(&bench, version, way, &identity);
            let same = made(&bench, &tree, version);
            assert!(same.missing.is_empty(), "{version} {way}: {:?}", same.missing);
            assert!(same.changes.is_empty(), "{version} {way}: {:?}", same.changes[0].path);
        }
    }
    println!(
        "| from | to | values | objects added | removed | changed | lines changed | removed CRDs |\n|---|---|---|---|---|---|---|---|"
    );
    for (from, to) in UPGRADES {
        for way in ["default", "externalSecret", "ha"] {
            let tree = repository_at(&bench, from, way, &identity);
            let upgrade = made(&bench, &tree, to);
            assert!(upgrade.missing.is_empty(), "{from} {way}: {:?}", upgrade.missing);
            let after = tree.changed(&upgrade.changes);
            assert!(certificates(&after).is_subset(&certificates(&tree)), "{from} {to} {way}");
            assert_eq!(made(&bench, &tree, to).changes, upgrade.changes);
            assert!(made(&bench, &after, to).changes.is_empty());
            let crds = row((from, to), way, &upgrade);
            let gateway = crds.iter().filter(|crd| crd.ends_with(".gateway.networking.k8s.io")).count();
            match from {
                "2025.8.3" => assert_eq!((gateway, crds.len()), (4, 4), "{crds:?}"),
                _ => {
                    assert!(crds.is_empty(), "{crds:?}");
                    assert_eq!(certificates(&after), certificates(&tree), "{from} {to} {way}");
                }
            }
        }
    }
}

/// Prints a row of the table, and returns the CRDs that go.
fn row((from, to): (&str, &str), way: &str, upgrade: &Regenerated) -> Vec<String> {
    let (mut added, mut removed, mut changed, mut crds) = (0, 0, 0, Vec::new());
    for rendering in &upgrade.renderings {
        let of = |objects: &[Object]| -> BTreeMap<_, _> {
            objects.iter().map(|o| (o.key.clone(), o.value.clone())).collect()
        };
        let (before, after) = (of(&rendering.before.objects), of(&rendering.after.objects));
        added += after.keys().filter(|k| !before.contains_key(k)).count();
        changed += after.iter().filter(|(k, v)| before.get(k).is_some_and(|old| old != *v)).count();
        let gone: Vec<_> = before.keys().filter(|k| !after.contains_key(k)).collect();
        removed += gone.len();
        crds.extend(gone.iter().filter(|k| k.kind == "CustomResourceDefinition").map(|k| k.name.clone()));
    }
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let lines = upgrade.changes.iter().map(|c| {
        let (before, after) = (text(&c.before), text(c.after.as_deref().unwrap_or_default()));
        let diff = similar::TextDiff::from_lines(before.as_str(), after.as_str());
        diff.iter_all_changes().filter(|c| c.tag() != similar::ChangeTag::Equal).count()
    });
    println!(
        "| {from} | {to} | {way} | {added} | {removed} | {changed} | {} | {} |",
        lines.sum::<usize>(),
        crds.join(", ")
    );
    crds
}

/// Reads a folder of text files.
fn read_all(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let path = format!("{prefix}{}", entry.file_name().to_str().expect("a plain name"));
        match entry.path().is_dir() {
            true => read_all(&entry.path(), &format!("{path}/"), files),
            false => files.push((path, fs::read_to_string(entry.path()).expect("text"))),
        }
    }
}

/// The config repositories of `UPLINKER_RENDERED_REPOS`, each a folder: what follows from its charts moves whole, follows
/// from them again, and moves no more; what no chart gives keeps its bytes.
#[test]
fn named_repositories_move_whole_and_keep_what_is_their_owners() {
    let (Some(charts), Some(repositories)) = (folder(), env::var_os("UPLINKER_RENDERED_REPOS")) else {
        return;
    };
    let repository = repository(&charts);
    let bench = Bench::new(&repository.url());
    let helm = bench.helm();
    let plan = |files: &BTreeMap<String, String>| {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("mesh.git");
        let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
        drop(BareRepo::with_files(path.clone(), "main", &files));
        let operator = Operator {
            catalog: &bench.catalog,
            served: &Served::default(),
            mirrors: &NoMirrors,
            renderer: &helm,
            cache: None,
            to: Some("edge-26.8.3".parse().unwrap()),
            now: Timestamp::now(),
            progress: &|_| {},
        };
        pipeline::plan_head(open_path(&path).unwrap(), "mesh", &operator).unwrap()
    };
    for case in fs::read_dir(repositories).unwrap().map(|entry| entry.unwrap().path()) {
        let mut files = Vec::new();
        read_all(&case, "", &mut files);
        let tree = MemoryTree::new(files);
        let verified =
            |tree: &MemoryTree| pipeline::verify(tree, &bench.catalog, &helm, Timestamp::now()).unwrap();
        let before = verified(&tree);
        let report = plan(&tree.files());
        let stage = &report.stages[0];
        println!("{}: proven {}, {:?}", case.display(), before.is_proven(), before.own);
        if !before.is_proven() {
            println!("  {:?} {:?}", before.drifts, before.unproven);
            continue;
        }
        let to = match &stage.decision {
            StageDecision::Propose(plan) => plan.to,
            StageDecision::Hold { hold, .. } if hold.reason == HoldReason::UpToDate => {
                assert!(before.manifests.iter().all(|row| row.version.as_deref() == Some("2026.8.3")));
                continue;
            }
            other => panic!("{}: {other:?}", case.display()),
        };
        // That CRDs go is true, and a release between the two may be required.
        let wrong = |f: &&Finding| f.severity == Severity::Block && f.check != CheckId::CrdRemoval;
        let blocks: Vec<_> = stage.findings.iter().filter(wrong).collect();
        assert!(blocks.is_empty(), "{}: {blocks:?}", case.display());
        let after = tree.changed(&stage.changes.files);
        let again = verified(&after);
        assert!(again.is_proven(), "{}: {:?} {:?}", case.display(), again.drifts, again.unproven);
        let moving = again.manifests.iter().filter(|row| CHARTS.contains(&&*row.chart));
        let versions: BTreeSet<_> = moving.map(|row| row.version.clone()).collect();
        assert_eq!(versions, [Some(to.chart().to_string())].into(), "{}", case.display());
        assert_eq!(again.own.len(), before.own.len(), "{}", case.display());
        if to.to_string() == "edge-26.8.3" {
            let again = plan(&after.files());
            assert!(again.stages[0].changes.files.is_empty(), "{}: a second pass", case.display());
        }
        for own in &before.own {
            let object = |tree: &MemoryTree| {
                let text = tree.text(own.path.as_str());
                let manifest = Manifest::parse(text).unwrap();
                let object = manifest.objects.iter().find(|o| o.key.to_string() == own.object);
                object.map(|object| manifest.document(object).trim().to_owned())
            };
            assert_eq!(object(&after), object(&tree), "{}: {}", case.display(), own.object);
        }
    }
}
