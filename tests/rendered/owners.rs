//! What belongs to a chart, and what to somebody else, object by object.

use std::collections::BTreeMap;

use uplinker::{
    pins::{Reason, ScanOptions, scan},
    render::{
        DriftMode, Manifest,
        committed::{Left, Regenerate, Regenerated, named, prove_all, regenerate},
    },
};

use super::{
    Ask, NEW, OLD, WORLD, assert_trees, committed_text, expected, made, moved, request, sets, template,
    unsummed, unsummed_files,
};
use crate::support::{
    charts::VERSIONS,
    manifests::{documents, joined},
    tree::MemoryTree,
};

const PLANE: &str = "linkerd-control-plane";
const ACROSS: &str = "linkerd-multicluster";
const CNI: &str = "linkerd2-cni";

/// What `linkerd multicluster link-gen` writes.
const LINK: &str = "apiVersion: multicluster.linkerd.io/v1alpha3\nkind: Link\nmetadata:\n  annotations:\n    \
    linkerd.io/created-by: linkerd/cli edge-26.1.1\n  name: east\n  namespace: linkerd-multicluster\nspec: {}\n";

/// What `linkerd multicluster allow` writes.
const ACCESS: &str = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: access-prod\n  \
    namespace: linkerd-multicluster\n  labels:\n    linkerd.io/extension: multicluster\n  annotations:\n    \
    linkerd.io/created-by: linkerd/cli edge-26.1.1\n";

fn over(tree: &MemoryTree) -> Regenerated {
    made(tree, NEW, &Ask { drift: DriftMode::Overwrite, ..Ask::default() })
}

/// Asserts that a chart's file becomes what Helm gives, and every other file stays.
#[track_caller]
fn assert_upgraded(tree: &MemoryTree, found: &Regenerated, path: &str, wanted: &str) {
    assert!(found.missing.is_empty(), "{:?}", found.missing);
    let mut files = unsummed_files(tree);
    files.insert(path.to_owned(), unsummed(wanted));
    assert_trees(&unsummed_files(&tree.changed(&found.changes)), &files);
}

#[test]
fn what_a_command_of_the_cli_wrote_takes_no_set_over() {
    for (chart, more) in [(PLANE, LINK), (ACROSS, LINK), (ACROSS, ACCESS)] {
        let old = committed_text(chart, OLD, "{}");
        let new = expected(&template(chart, NEW, "{}"), &old);
        for path in ["mesh/more.yaml", "a/more.yaml"] {
            let tree = MemoryTree::new([("mesh/chart.yaml", old.as_str()), (path, more)]);
            assert_eq!(sets(&tree).len(), 1);
            for found in [made(&tree, NEW, &Ask::default()), over(&tree)] {
                assert_upgraded(&tree, &found, "mesh/chart.yaml", &new);
            }
            let pins = scan(&tree, &ScanOptions::default()).unwrap().pins;
            let pin = pins.iter().find(|pin| pin.path.as_str() == path).unwrap();
            assert_eq!(pin.stays, Some(Reason::MadeByCli));
        }
        // In one file with the chart's objects, before and behind them.
        for text in [format!("{more}{old}"), format!("{old}---\n{more}")] {
            let new = text.replace(&old, &new);
            let tree = MemoryTree::new([("chart.yaml", &text)]);
            let found = over(&tree);
            assert_upgraded(&tree, &found, "chart.yaml", &new);
            let note = found.renderings[0].notes.last().unwrap();
            let command = if more == LINK { "link-gen" } else { "allow" };
            assert!(note.starts_with("No chart gives these") && note.contains(command), "{note}");
        }
    }
    let tree = MemoryTree::new([("a.yaml", LINK), ("b.yaml", ACCESS)]);
    assert!(sets(&tree).is_empty(), "and by themselves they are no chart's");
}

#[test]
fn objects_of_an_owner_stay_and_are_named_whatever_labels_they_have() {
    let monitor = "apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nmetadata:\n  name: viz\n  labels:\n    linkerd.io/extension: viz\nspec: {}\n";
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: linkerd-viz\n  labels:\n    linkerd.io/extension: viz\n";
    let plain = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\ndata: {}\n";
    let text = committed_text("linkerd-viz", OLD, "{}");
    let own = [namespace, monitor, plain].map(|own| format!("---\n{own}")).concat();
    let new = expected(&template("linkerd-viz", NEW, "{}"), &text);
    let tree = MemoryTree::new([("viz.yaml", format!("{text}{own}"))]);
    for found in [made(&tree, NEW, &Ask::default()), over(&tree)] {
        assert_upgraded(&tree, &found, "viz.yaml", &format!("{new}{own}"));
        let rendering = &found.renderings[0];
        let has = |manifest: &Manifest, kind: &str| manifest.objects.iter().any(|o| o.key.kind == kind);
        assert!(!has(&rendering.before, "PodMonitor"), "what stays is not said to go");
        let note = rendering.notes.last().unwrap();
        for name in
            ["Namespace linkerd-viz (`linkerd viz install` writes it)", "PodMonitor viz", "ConfigMap mine"]
        {
            assert!(note.contains(name), "{note}");
        }
    }
    let proofs = request(&tree, NEW, &Ask::default(), |r| prove_all(r, &WORLD.bench.helm()));
    assert!(proofs.drifts.is_empty() && proofs.own.len() == 3, "{proofs:?}");
    assert!(sets(&MemoryTree::new([("own.yaml", &own)])).is_empty(), "labels alone are no rendering");
}

#[test]
fn what_has_copied_the_marks_of_a_chart_is_no_rendering_of_it() {
    let object = |kind: &str, name: &str| {
        format!(
            "apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n  namespace: linkerd-viz\n  labels:\n    linkerd.io/extension: viz\n  \
             annotations:\n    linkerd.io/created-by: linkerd/helm edge-26.6.3\nspec:\n  template: {{}}\n"
        )
    };
    let pods = "template: {spec: {containers: [{name: web, image: 'cr.l5d.io/linkerd/web:edge-26.6.3'}]}}";
    let running = object("Deployment", "ours").replace("template: {}", pods);
    for (text, runs) in [
        (object("Rollout", "allow-prometheus"), false),
        (object("Deployment", "ours"), false),
        (running, true),
    ] {
        let tree = MemoryTree::new([("own.yaml", &text)]);
        for found in [made(&tree, NEW, &Ask::default()), over(&tree)] {
            assert!(found.missing.is_empty() && found.changes.is_empty(), "{:?}", found.missing);
            let said = |left: &Left| (left.path.to_string(), left.by_cli, left.runs);
            let left: Vec<_> = found.left.iter().map(said).collect();
            assert_eq!(left, [("own.yaml".to_owned(), false, runs)]);
        }
        let proofs = request(&tree, NEW, &Ask::default(), |r| prove_all(r, &WORLD.bench.helm()));
        assert!(proofs.drifts.is_empty() && proofs.missing.is_empty(), "{proofs:?}");
    }
    // What a template printed is the chart's, and so is what has a name of its own with something before it.
    let printed =
        format!("---\n# Source: linkerd-viz/templates/metrics-api.yaml\n{}", object("NetworkPolicy", "own"));
    for text in [printed, object("Deployment", "prod-metrics-api")] {
        let found = made(&MemoryTree::new([("own.yaml", &text)]), NEW, &Ask::default());
        assert_eq!(found.missing.len(), 1, "{text}");
    }
    // Where nothing of the chart runs, that is seen without the chart.
    for text in [object("Service", "prod-metrics-api"), object("NetworkPolicy", "allow-prometheus")] {
        let text = text.replace("spec:\n  template: {}\n", "");
        assert!(sets(&MemoryTree::new([("own.yaml", &text)])).is_empty(), "{text}");
    }
}

#[test]
fn a_copy_of_a_kind_that_no_template_has_holds_no_rendering() {
    let old = committed_text("linkerd-viz", OLD, "{}");
    let new = expected(&template("linkerd-viz", NEW, "{}"), &old);
    let object = |kind: &str| {
        format!(
            "apiVersion: v1\nkind: {kind}\nmetadata:\n  name: ours\n  namespace: linkerd-viz\n  labels:\n    linkerd.io/extension: viz\n  \
             annotations:\n    linkerd.io/created-by: linkerd/helm edge-26.6.3\n"
        )
    };
    for path in ["viz/ours.yaml", "web/ours.yaml"] {
        let tree = MemoryTree::new([("viz/viz.yaml", old.clone()), (path, object("Ingress"))]);
        for found in [made(&tree, NEW, &Ask::default()), over(&tree)] {
            assert_upgraded(&tree, &found, "viz/viz.yaml", &new);
            let left: Vec<_> = found.left.iter().map(|left| left.path.as_str()).collect();
            assert_eq!(left, [path]);
        }
        let proofs = request(&tree, NEW, &Ask::default(), |r| prove_all(r, &WORLD.bench.helm()));
        assert!(proofs.drifts.is_empty() && proofs.missing.is_empty(), "{proofs:?}");
        // Of a kind that the chart has, other values may give it.
        let tree = MemoryTree::new([("viz/viz.yaml", old.clone()), (path, object("Service"))]);
        assert_eq!(made(&tree, NEW, &Ask::default()).missing.len(), 1);
    }
}

#[test]
fn an_object_that_says_it_was_printed_and_is_not_given_lacks_its_values() {
    let values = "{controllers: [{link: {ref: {name: east}}}, {link: {ref: {name: west}}}]}";
    let old = committed_text(ACROSS, OLD, values);
    let tree = MemoryTree::new([("out.yaml", old.as_str())]);
    for found in [made(&tree, NEW, &Ask::default()), over(&tree)] {
        assert!(found.changes.is_empty(), "half of it would stay behind");
        let not = &found.missing[0];
        assert!(not.cause.to_string().contains("though the chart does not give it"), "{}", not.cause);
        assert!(
            not.cause.hint().starts_with("name the values that give it in `render:`"),
            "{}",
            not.cause.hint()
        );
    }
    // Its values may have any name, near it.
    for path in ["across.yaml", "values/two-links.json", "ops/v.yml"] {
        let new = expected(&template(ACROSS, NEW, values), &old);
        let others = ("values/other.yaml", "gateway: {replicas: 9}\n");
        let file = [("mesh/out.yaml", old.as_str()), (path, values), others];
        let found = made(&MemoryTree::new(file), NEW, &Ask::default());
        assert_upgraded(&MemoryTree::new(file), &found, "mesh/out.yaml", &new);
        assert_eq!(found.renderings[0].notes[0], format!("Rendered with the values of {path}."));
    }
}

#[test]
fn a_release_that_no_object_names_is_the_one_that_gives_it() {
    let versions: BTreeMap<String, Vec<String>> =
        [(CNI.to_owned(), VERSIONS.iter().rev().map(|v| (*v).to_owned()).collect())].into();
    let name = |tree: &MemoryTree, to: &str| {
        let found = request(tree, to, &Ask::default(), |r| named(r, &WORLD.bench.helm(), &versions));
        found.into_iter().filter(|set| set.chart == CNI).map(|set| set.version.unwrap()).collect::<Vec<_>>()
    };
    let cni = |version: &str| committed_text(CNI, version, "{logLevel: debug}");
    let text = |version: &str| [("cni.yaml", cni(version)), ("values.yaml", "logLevel: debug\n".to_owned())];
    // 2026.8.2 gives what 2026.6.3 gave.
    assert_eq!(name(&MemoryTree::new(text("2026.6.3")), "2026.8.2"), ["2026.8.2"]);
    assert_eq!(name(&MemoryTree::new(text("2026.6.3")), NEW), ["2026.8.2"]);
    assert_eq!(name(&MemoryTree::new(text("2026.8.3")), NEW), [NEW]);
    assert_eq!(name(&MemoryTree::new(text("2026.9.1")), "2026.9.1"), ["2026.9.1"]);
    let tree = MemoryTree::new(text("2026.6.3"));
    let moved = |to: &str| {
        request(&tree, to, &Ask::default(), |r| {
            let helm = WORLD.bench.helm();
            let sets = named(r, &helm, &versions);
            regenerate(&Regenerate { committed: &sets, ..*r }, &helm)
        })
    };
    assert!(moved("2026.8.2").changes.is_empty());
    assert_upgraded(&tree, &moved("2026.9.1"), "cni.yaml", &cni("2026.9.1"));
    // Each cluster by itself.
    let tree = MemoryTree::new([
        ("a/cni.yaml", committed_text(CNI, "2026.6.3", "{}")),
        ("a/plane.yaml", committed_text(PLANE, "2026.6.3", "{}")),
        ("b/cni.yaml", committed_text(CNI, "2026.9.1", "{}")),
        ("b/plane.yaml", committed_text(PLANE, "2026.9.1", "{}")),
    ]);
    assert_eq!(name(&tree, "2026.9.1"), ["2026.6.3", "2026.9.1"]);
    let proofs = request(&tree, "none", &Ask::default(), |r| prove_all(r, &WORLD.bench.helm()));
    assert!(proofs.drifts.is_empty() && proofs.missing.is_empty(), "{proofs:?}");
}

#[test]
fn what_helm_printed_below_an_umbrella_chart_is_proven() {
    // Helm keeps nulls there that it drops otherwise, and adds the values that all charts share.
    let below = |text: &str| {
        let text = text.replace("# Source: ", "# Source: mesh/charts/");
        text.replace("    heartbeatSchedule:", "    global: {}\n    heartbeatSchedule:").replace(
            "      logLevel: warn,linkerd=info",
            "      cores: null\n      logLevel: warn,linkerd=info",
        )
    };
    let old = committed_text(PLANE, OLD, "{}");
    let new = expected(&template(PLANE, NEW, "{}"), &old);
    assert_ne!(below(&old), old.replace("# Source: ", "# Source: mesh/charts/"));
    let tree = MemoryTree::new([("mesh.yaml", below(&old))]);
    assert_trees(
        &unsummed_files(&moved(&tree, NEW)),
        &[("mesh.yaml".to_owned(), unsummed(&below(&new)))].into(),
    );
    assert!(moved(&tree, OLD).text("mesh.yaml") == below(&old), "nothing to do changes nothing");
}

#[test]
fn what_the_cli_writes_of_its_own_moves_with_it_and_is_not_the_users() {
    let values = |version: &str| {
        let edge = format!("edge-{}", &version[2..]);
        format!(
            "{{cliVersion: linkerd/cli {edge}, debugContainer: {{image: {{version: {edge}}}}}, highAvailability: false, \
             proxyContainerName: linkerd-proxy, proxy: {{isGateway: false}}, controllerReplicas: 2}}"
        )
    };
    let printed = |text: &str| {
        text.lines().filter(|l| !l.starts_with("# Source")).map(|l| format!("{l}\n")).collect::<String>()
    };
    let old = committed_text(PLANE, OLD, &values(OLD));
    let new = expected(&template(PLANE, NEW, &values(NEW)), &old);
    let tree = MemoryTree::new([("linkerd.yaml", printed(&old))]);
    let found = made(&tree, NEW, &Ask::default());
    assert_upgraded(&tree, &found, "linkerd.yaml", &printed(&new));
    let user = &found.renderings[0].values_after;
    let keys: Vec<&String> = user.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["controllerReplicas", "identity", "identityTrustAnchorsPEM"], "{user}");
}

#[test]
fn an_edit_of_the_values_that_a_manifest_carries_is_not_spread() {
    let text = committed_text(PLANE, OLD, "{controllerReplicas: 3}");
    let new = expected(&template(PLANE, NEW, "{controllerReplicas: 3}"), &text);
    for (from, to) in [
        ("controllerReplicas: 3", "controllerReplicas: 5"),
        ("controllerLogLevel: info", "controllerLogLevel: trace"),
    ] {
        let edited = text.replacen(&format!("    {from}"), &format!("    {to}"), 1);
        assert_ne!(edited, text);
        let tree = MemoryTree::new([("plane.yaml", &edited)]);
        let refused = made(&tree, NEW, &Ask::default()).missing.remove(0);
        let name = from.split(':').next().unwrap();
        assert!(
            refused.cause.to_string().contains(&format!("linkerd-config data.values: {name} is ")),
            "{}",
            refused.cause
        );
        assert_upgraded(&tree, &over(&tree), "plane.yaml", &new);
    }
}

#[test]
fn an_object_that_is_set_by_hand_to_the_default_is_not_guessed() {
    let text = committed_text(PLANE, OLD, "{controllerLogLevel: debug}");
    let one = documents(&text);
    let once = |d: &String| {
        if d.contains("name: linkerd-identity\n") {
            d.replace("-log-level=debug", "-log-level=info")
        } else {
            d.clone()
        }
    };
    let by_hand = joined(&one.iter().map(once).collect::<Vec<_>>());
    assert_ne!(by_hand, joined(&one));
    let tree = MemoryTree::new([("plane.yaml", &by_hand)]);
    // The other objects say which of the two was changed.
    let new = joined(&documents(&expected(&template(PLANE, NEW, "{controllerLogLevel: debug}"), &text)));
    assert_upgraded(&tree, &over(&tree), "plane.yaml", &new);
}

#[test]
fn names_with_something_before_them_are_told_as_such() {
    let text = committed_text(PLANE, OLD, "{}").replace("\n  name: ", "\n  name: prod-");
    let tree = MemoryTree::new([("plane.yaml", &text)]);
    let refused = made(&tree, NEW, &Ask::default()).missing.remove(0);
    assert!(
        refused.cause.to_string().contains("`prod-linkerd-config` for `linkerd-config`"),
        "{}",
        refused.cause
    );
    assert!(refused.cause.hint().contains("`namePrefix`"));
}
