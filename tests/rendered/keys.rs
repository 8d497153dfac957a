//! No key gets into Git, and no name of an object leads out of its folder.

use std::collections::BTreeSet;

use uplinker::{
    linkerd::built_in,
    render::{
        DriftMode, Renderer as _,
        committed::{Regenerate, regenerate},
    },
    repo::Tree as _,
};

use super::{
    Ask, NEW, OLD, World, committed_text, expected, made, moved, name, request, sets, template, texts,
    unsummed,
};
use crate::support::{
    charts::{ChartRepository, files, pack},
    helm::Bench,
    manifests::{documents, job, joined, keys, pem},
    tree::MemoryTree,
};

/// Charts with a template of our own.
fn world(templates: &[(&str, &str, &str)]) -> World {
    let package = |version: &str| {
        let mut files = files("linkerd-viz", version);
        let own = templates.iter().filter(|(of, ..)| *of == version);
        files.extend(own.map(|(_, path, text)| (format!("templates/{path}"), text.as_bytes().to_vec())));
        pack("linkerd-viz", version, &files)
    };
    let charts = ChartRepository::of(vec![package(OLD), package(NEW)]);
    let bench = Bench::new(&charts.url());
    World { _charts: charts, bench }
}

const UNMARKED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unmarked, namespace: linkerd-viz}\ndata: {v: '{{ .Chart.Version }}'}\n";
const HOSTILE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a:b/../../../c', namespace: linkerd-viz}\n";

#[test]
fn unmarked_objects_belong_by_name_and_hostile_names_stay_in_the_tree() {
    let world = world(&[(OLD, "u.yaml", UNMARKED), (NEW, "u.yaml", UNMARKED), (NEW, "v.yaml", HOSTILE)]);
    let mut job = job("linkerd-viz", OLD, "{}");
    job.template.hooks = false;
    let text = world.bench.helm().render(&[job]).remove(0).unwrap().to_string();
    // Without Helm's comments nothing says whose the object is.
    let bare = |d: &String| {
        let lines = d.lines().filter(|l| !l.starts_with("# Source"));
        lines.map(|l| format!("{l}\n")).collect::<String>()
    };
    let files =
        documents(&text).iter().map(|d| (format!("viz/{}.yaml", name(d)), bare(d))).collect::<Vec<_>>();
    let tree = MemoryTree::new(files);
    let sets = sets(&tree);
    assert!(sets[0].files.iter().all(|f| f.path.as_str() != "viz/configmap-unmarked.yaml"));
    let to = [("linkerd-viz".to_owned(), NEW.to_owned())].into();
    let made = regenerate(
        &Regenerate {
            tree: &tree,
            near: &tree,
            committed: &sets,
            beside: &[],
            uses: &[],
            entries: &[],
            to: &to,
            drift: DriftMode::Refuse,
            kube_version: None,
            knowledge: built_in(),
        },
        &world.bench.helm(),
    );
    assert!(made.missing.is_empty(), "{:?}", made.missing);
    let after = tree.changed(&made.changes);
    assert!(after.text("viz/configmap-unmarked.yaml").contains(NEW));
    let new: Vec<&str> =
        made.changes.iter().filter(|c| c.before_id.is_none()).map(|c| c.path.as_str()).collect();
    assert!(new.contains(&"viz/configmap-a-b-..-..-..-c.yaml"), "{new:?}");
    assert!(new.iter().all(|path| path.starts_with("viz/")));
}

fn all_keys(tree: &MemoryTree) -> BTreeSet<String> {
    let texts = tree.entries().iter().map(|e| String::from_utf8(tree.read(e.id).unwrap()).unwrap());
    texts.flat_map(|text| keys(&text)).collect()
}

#[test]
fn a_key_that_was_not_in_git_never_gets_there() {
    let text = committed_text("linkerd-control-plane", "2026.8.3", "{}");
    let tree = MemoryTree::new([("plane.yaml", &text)]);
    assert_eq!(all_keys(&tree).len(), 4);
    for drift in [DriftMode::Refuse, DriftMode::Overwrite] {
        let made = made(&tree, "2026.8.4", &Ask { drift, ..Ask::default() });
        assert!(made.changes.is_empty());
        let missing = &made.missing[0];
        assert!(
            missing.cause.to_string().contains("anew at each rendering")
                && missing.cause.to_string().contains("not in Git"),
            "{}",
            missing.cause
        );
        assert!(
            missing.cause.hint().contains("externalSecret") && missing.cause.hint().contains("cert-manager")
        );
    }
    // A Secret that its owner keeps elsewhere is not brought back.
    let without: Vec<String> = documents(&text).into_iter().filter(|d| !d.contains("kind: Secret")).collect();
    let tree = MemoryTree::new([("plane.yaml", joined(&without))]);
    assert!(made(&tree, "2026.9.1", &Ask::default()).changes.is_empty(), "a new one has no home");
    for version in ["2026.8.3", "2026.8.4", "2026.9.1"] {
        let made = made(&tree, version, &Ask { drift: DriftMode::Overwrite, ..Ask::default() });
        assert!(all_keys(&tree.changed(&made.changes)).is_empty(), "{version}");
    }
    let texts = texts();
    let files: Vec<_> = texts.iter().map(|(chart, old, _)| (format!("{chart}.yaml"), old)).collect();
    let tree = MemoryTree::new(files);
    assert_eq!(all_keys(&tree), all_keys(&moved(&tree, NEW)));
}

#[test]
fn what_was_removed_by_hand_comes_back_where_it_needs_no_new_key() {
    let removed = [
        ("linkerd-control-plane", "mutatingwebhookconfiguration-linkerd-proxy-injector-webhook-config"),
        ("linkerd-control-plane", "validatingwebhookconfiguration-linkerd-sp-validator-webhook-config"),
        ("linkerd-control-plane", "cronjob-linkerd-heartbeat"),
        ("linkerd-viz", "apiservice-v1alpha1.tap.linkerd.io"),
        ("linkerd-viz", "mutatingwebhookconfiguration-linkerd-tap-injector-webhook-config"),
    ];
    let schedule = |text: &str| {
        let line = |line: &str| match line.trim().starts_with("schedule:") {
            true => "  schedule: TIME\n".to_owned(),
            false => format!("{line}\n"),
        };
        text.lines().map(line).collect::<String>()
    };
    let ask = Ask { drift: DriftMode::Overwrite, ..Ask::default() };
    for chart in ["linkerd-control-plane", "linkerd-viz"] {
        let text = committed_text(chart, "2026.8.2", "{}");
        let wanted = documents(&schedule(&unsummed(&expected(&template(chart, "2026.8.3", "{}"), &text))));
        for (_, object) in removed.iter().filter(|(of, _)| *of == chart) {
            let left: Vec<String> = documents(&text).into_iter().filter(|d| name(d) != *object).collect();
            assert_eq!(left.len() + 1, documents(&text).len(), "{object}");
            let tree = MemoryTree::new([("mesh.yaml", joined(&left))]);
            assert!(made(&tree, "2026.8.3", &Ask::default()).changes.is_empty(), "{object}: it is drift");
            let over = made(&tree, "2026.8.3", &ask);
            assert!(over.missing.is_empty(), "{:?}", over.missing);
            let after = tree.changed(&over.changes);
            let found = documents(&schedule(&unsummed(&after.text("mesh.yaml"))));
            assert_eq!(found, wanted, "{object}");
            let notes = &over.renderings[0].notes;
            let told = notes.iter().filter(|n| n.starts_with("Overwritten: ")).count();
            assert_eq!(
                (told, notes.iter().any(|n| n.contains("left to its owner"))),
                (1, false),
                "{notes:?}"
            );
            assert_eq!(over.changes, made(&tree, "2026.8.3", &ask).changes, "the same at each run");
            assert!(made(&after, "2026.8.3", &Ask::default()).changes.is_empty());
        }
    }
}

#[test]
fn what_would_need_a_new_key_is_refused_with_the_way_out() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let gone = [
        "secret-linkerd-sp-validator-k8s-tls",
        "validatingwebhookconfiguration-linkerd-sp-validator-webhook-config",
    ];
    let left: Vec<String> =
        documents(&text).into_iter().filter(|d| !gone.contains(&name(d).as_str())).collect();
    let tree = MemoryTree::new([("mesh.yaml", joined(&left))]);
    let over = made(&tree, "2026.8.3", &Ask { drift: DriftMode::Overwrite, ..Ask::default() });
    assert!(over.changes.is_empty());
    let missing = &over.missing[0];
    assert!(
        missing.cause.to_string().contains("caBundle of ValidatingWebhookConfiguration"),
        "{}",
        missing.cause
    );
    assert!(missing.cause.hint().contains("externalSecret") && missing.cause.hint().contains("cert-manager"));
}

#[test]
fn a_key_that_a_chart_carries_in_its_templates_stays_there() {
    let key = pem("PRIVATE KEY", "the same for everybody who installs this chart");
    let own = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: constant, namespace: linkerd-viz}}\nstringData: {{more: {key:?}}}\n"
    );
    let config = own.replace("kind: Secret", "kind: ConfigMap").replace("stringData", "data");
    for template in [own, config] {
        let world = world(&[(NEW, "k.yaml", &template)]);
        let job = job("linkerd-viz", OLD, "{}");
        let text = world.bench.helm().render(&[job]).remove(0).unwrap().to_string();
        let tree = MemoryTree::new([("viz.yaml", &text)]);
        for drift in [DriftMode::Refuse, DriftMode::Overwrite] {
            let ask = Ask { drift, ..Ask::default() };
            let made = request(&tree, NEW, &ask, |r| regenerate(r, &world.bench.helm()));
            assert!(made.changes.is_empty());
            assert!(
                made.missing[0].cause.to_string().contains("a private key that is not in Git"),
                "{:?}",
                made.missing
            );
        }
    }
}

#[test]
fn secrets_that_are_kept_elsewhere_or_encrypted_are_left_to_their_owner() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let secret = |d: &String| d.contains("kind: Secret");
    let bare: Vec<String> = documents(&text).into_iter().filter(|d| !secret(d)).collect();
    let encrypted = |d: &String| {
        let lines = d.lines().map(|l| match l.split_once(": ") {
            Some((key @ ("  tls.crt" | "  tls.key" | "  crt.pem" | "  key.pem"), _)) => {
                format!("{key}: ENC[AES256_GCM,data:QQ==,iv:QQ==,tag:QQ==,type:str]\n")
            }
            _ => format!("{l}\n"),
        });
        lines.collect::<String>()
            + "sops:\n  mac: ENC[AES256_GCM,data:QQ==,iv:QQ==,tag:QQ==,type:str]\n  version: 3.9.0\n"
    };
    let sops: Vec<(String, String)> = documents(&text)
        .iter()
        .filter(|d| secret(d))
        .map(|d| (format!("mesh/{}.yaml", name(d)), encrypted(d)))
        .collect();
    assert_eq!(sops.len(), 4);
    for sops in [Vec::new(), sops] {
        let mut files = vec![("mesh/plane.yaml".to_owned(), joined(&bare))];
        files.extend(sops.clone());
        let tree = MemoryTree::new(files);
        let after = moved(&tree, NEW);
        assert!(after.text("mesh/plane.yaml").contains("edge-26.8.3") && all_keys(&after).is_empty());
        assert!(!after.text("mesh/plane.yaml").contains("kind: Secret"));
        assert!(
            sops.iter().all(|(path, text)| after.text(path) == *text),
            "an encrypted file is never touched"
        );
        let notes = &made(&tree, NEW, &Ask::default()).renderings[0].notes;
        assert_eq!(notes.iter().filter(|n| n.ends_with("is left to its owner.")).count(), 4, "{notes:?}");
    }
}
