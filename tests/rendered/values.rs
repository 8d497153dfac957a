//! With which values a manifest was made, and what becomes of one that was not.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    sync::Arc,
};

use uplinker::{
    render::{
        Chart, ChartId, DriftMode, Job, RenderEntry, RenderError, Renderer,
        committed::{prove_all, regenerate},
    },
    repo::RepoPath,
};

use super::{
    Ask, NEW, OLD, WORLD, assert_trees, committed_text, expected, made, moved, name, request, sets, template,
    unsummed, unsummed_files,
};
use crate::support::{
    charts::{ChartRepository, files},
    helm::{Bench, helm},
    manifests::{documents, joined, pem},
    tree::MemoryTree,
};

#[test]
fn a_change_by_hand_is_named_and_refused_or_overwritten() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let by_hand = text.replace("-log-level=info", "-log-level=trace");
    let tree = MemoryTree::new([("a/plane.yaml", &by_hand)]);
    let drifts = request(&tree, NEW, &Ask::default(), |r| prove_all(r, &WORLD.bench.helm()));
    assert!(drifts.missing.is_empty() && !drifts.drifts.is_empty());
    for drift in &drifts.drifts {
        assert_eq!(drift.object.kind, "Deployment");
        assert!(drift.field.as_ref().unwrap().contains("args"), "{drift}");
        assert!(by_hand.lines().nth(drift.line - 1).unwrap().contains("trace"), "{drift:?}");
    }
    let refused = made(&tree, NEW, &Ask::default());
    assert!(refused.changes.is_empty());
    let reason = refused.missing[0].cause.to_string();
    assert!(
        reason.contains("-log-level=trace") && reason.contains("Deployment linkerd/linkerd-"),
        "{reason}"
    );
    assert_eq!(refused.missing[0].files.len(), 1);
    let over = made(&tree, NEW, &Ask { drift: DriftMode::Overwrite, ..Ask::default() });
    assert!(over.missing.is_empty(), "{:?}", over.missing);
    let wanted = expected(&template("linkerd-control-plane", NEW, "{}"), &text);
    let wanted = [("a/plane.yaml".to_owned(), unsummed(&wanted))].into();
    assert_trees(&unsummed_files(&tree.changed(&over.changes)), &wanted);
    assert!(over.renderings[0].notes.iter().any(|note| note.starts_with("Overwritten: Deployment")));
}

#[test]
fn a_change_by_hand_is_kept_where_the_release_does_not_change_the_same() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let wanted = expected(&template("linkerd-control-plane", NEW, "{}"), &text);
    let keep = Ask { drift: DriftMode::Keep, ..Ask::default() };
    let by_hand = |text: &str| {
        let text = text.replace("-log-level=info", "-log-level=trace # ours").replacen(
            "replicas: 1",
            "replicas: 7",
            1,
        );
        text.replacen("      labels:\n", "      labels:\n        team: mesh\n", 1)
    };
    let tree = MemoryTree::new([("a/plane.yaml", &by_hand(&text))]);
    let kept = made(&tree, NEW, &keep);
    assert!(kept.missing.is_empty(), "{:?}", kept.missing);
    let whole = [("a/plane.yaml".to_owned(), unsummed(&by_hand(&wanted)))].into();
    assert_trees(&unsummed_files(&tree.changed(&kept.changes)), &whole);
    let notes = &kept.renderings[0].notes;
    assert!(
        notes.iter().any(|note| note.starts_with("Kept: Deployment") && note.contains("replicas is 7")),
        "{notes:?}"
    );

    // What somebody took away stays away.
    let without = |text: &str| {
        let all = documents(text).into_iter().filter(|one| !one.contains("kind: CronJob"));
        joined(&all.collect::<Vec<_>>())
    };
    let gone = without(&text);
    assert_ne!(gone, text);
    let tree = MemoryTree::new([("a/plane.yaml", &gone)]);
    let kept = made(&tree, NEW, &keep);
    assert!(kept.missing.is_empty(), "{:?}", kept.missing);
    let whole = [("a/plane.yaml".to_owned(), unsummed(&without(&wanted)))].into();
    assert_trees(&unsummed_files(&tree.changed(&kept.changes)), &whole);
}

#[test]
fn what_the_release_changes_too_is_not_kept_but_named() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let keep = Ask { drift: DriftMode::Keep, ..Ask::default() };
    let pinned = text.replacen(
        "image: cr.l5d.io/linkerd/controller:edge-26.8.2",
        "image: example.org/controller:mine",
        1,
    );
    assert_ne!(pinned, text);
    let tree = MemoryTree::new([("a/plane.yaml", &pinned)]);
    let refused = made(&tree, NEW, &keep);
    assert!(refused.changes.is_empty());
    let not = &refused.missing[0];
    assert!(
        not.cause.to_string().contains("image is \"example.org/controller:mine\"")
            && not.cause.to_string().contains("the release changes"),
        "{}",
        not.cause
    );
    assert_eq!(not.line, pinned.lines().position(|line| line.contains("controller:mine")).map(|n| n + 1));

    let away = |document: &String| name(document) == "deployment-linkerd-destination";
    let all = documents(&text);
    let left: Vec<_> = all.iter().filter(|one| !away(one)).cloned().collect();
    assert_eq!(left.len() + 1, all.len());
    let refused = made(&MemoryTree::new([("a/plane.yaml", joined(&left))]), NEW, &keep);
    assert!(refused.changes.is_empty());
    let cause = refused.missing[0].cause.to_string();
    let wanted = "the release changes Deployment linkerd/linkerd-destination too";
    assert!(cause.contains(wanted), "{cause}");
}

#[test]
fn a_kept_change_whose_form_cannot_be_kept_is_refused() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let at = text.find("kind: Deployment").unwrap();
    let (before, behind) = text.split_at(at);
    let anchored = behind
        .replacen("linkerd.io/created-by: linkerd", "linkerd.io/created-by: &by linkerd", 1)
        .replacen("replicas: 1", "replicas: 7", 1);
    let tree = MemoryTree::new([("a/plane.yaml", &format!("{before}{anchored}"))]);
    let refused = made(&tree, NEW, &Ask { drift: DriftMode::Keep, ..Ask::default() });
    assert!(refused.changes.is_empty());
    assert!(
        refused.missing[0].cause.to_string().contains("cannot be written in the form of the files"),
        "{refused:?}"
    );
}

#[test]
fn secrets_are_not_shown_and_a_half_upgrade_is_named() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let mut half = documents(&text);
    let old = documents(&committed_text("linkerd-control-plane", OLD, "{}"));
    let injector = |documents: &[String]| {
        documents.iter().position(|d| name(d) == "deployment-linkerd-proxy-injector").unwrap()
    };
    let at = injector(&half);
    half[at] = old[injector(&old)].clone();
    let tree = MemoryTree::new([("plane.yaml", joined(&half))]);
    let refused = made(&tree, NEW, &Ask::default()).missing.remove(0);
    assert!(
        refused.cause.to_string().contains(
            "by half (Deployment linkerd/linkerd-proxy-injector is of 2026.6.3, the rest of 2026.8.2)"
        ),
        "{}",
        refused.cause
    );
    let secret = text.replace("type: kubernetes.io/tls\n", "type: Opaque\n");
    let tree = MemoryTree::new([("plane.yaml", &secret)]);
    let refused = made(&tree, NEW, &Ask::default()).missing.remove(0);
    assert!(
        refused.cause.to_string().contains("(hidden)") && !refused.cause.to_string().contains("Opaque"),
        "{}",
        refused.cause
    );
}

#[test]
fn what_linkerd_install_printed_is_made_again_through_the_charts() {
    let cli =
        |version: &str| format!("{{cliVersion: linkerd/cli edge-{}, controllerReplicas: 2}}", &version[2..]);
    // The program prints no `# Source:`, and two objects that no chart has.
    let printed = |text: &str| {
        let lines = text.lines().filter(|l| !l.starts_with("# Source"));
        let own = "---\nkind: Namespace\napiVersion: v1\nmetadata:\n  name: linkerd\n  labels:\n    linkerd.io/is-control-plane: \"true\"\n    linkerd.io/control-plane-ns: linkerd\n";
        let overrides = "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: linkerd-config-overrides\n  namespace: linkerd\n  labels:\n    linkerd.io/control-plane-ns: linkerd\n";
        format!("{own}{}{overrides}", lines.map(|l| format!("{l}\n")).collect::<String>())
    };
    let old = committed_text("linkerd-control-plane", "2026.8.2", &cli("2026.8.2"));
    let new = expected(&template("linkerd-control-plane", NEW, &cli(NEW)), &old);
    let tree = MemoryTree::new([("linkerd.yaml", printed(&old))]);
    assert!(sets(&tree)[0].cli);
    let wanted = [("linkerd.yaml".to_owned(), unsummed(&printed(&new)))].into();
    assert_trees(&unsummed_files(&moved(&tree, NEW)), &wanted);
}

#[test]
fn values_that_an_entry_names_are_used() {
    let values = "{tap: {replicas: 7}}";
    let files = [
        ("viz/out.yaml", committed_text("linkerd-viz", OLD, values)),
        ("config/of/all/viz.yaml", values.to_owned()),
    ];
    let tree = MemoryTree::new(files);
    assert_eq!(made(&tree, NEW, &Ask::default()).missing.len(), 1);
    let path = |text: &str| RepoPath::new(text).unwrap();
    let entry = RenderEntry {
        chart: "linkerd-viz".into(),
        namespace: None,
        values: vec![path("config/of/all/viz.yaml")],
        output: Some(path("viz")),
    };
    let made = made(&tree, NEW, &Ask { entries: &[entry], ..Ask::default() });
    assert!(made.missing.is_empty(), "{:?}", made.missing);
    assert!(tree.changed(&made.changes).text("viz/out.yaml").contains("replicas: 7"));
}

#[test]
fn trust_anchors_never_change_and_an_entry_must_lead_to_values() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let tls = serde_json::json!({"crtPEM": pem("CERTIFICATE", "x"), "keyPEM": "y"});
    let other = serde_json::json!({"identityTrustAnchorsPEM": pem("CERTIFICATE", "x"), "identity": {"issuer": {"tls": tls}}});
    // The committed ConfigMap says nothing, so that the entry is all there is to go by.
    let odd = text.replace("name: linkerd-config\n", "name: linkerd-config-old\n");
    let tree = MemoryTree::new([("plane.yaml", odd), ("v.yaml", other.to_string())]);
    let values = |path: &str| {
        let values = vec![RepoPath::new(path).unwrap()];
        [RenderEntry { chart: "linkerd-control-plane".into(), namespace: None, values, output: None }]
    };
    let entries = values("v.yaml");
    let refused = made(&tree, NEW, &Ask { entries: &entries, drift: DriftMode::Overwrite });
    assert!(
        refused.changes.is_empty() && refused.missing[0].cause.to_string().contains("the `render:` entry")
    );
    let entries = values("none.yaml");
    let wrong = made(&tree, NEW, &Ask { entries: &entries, drift: DriftMode::Overwrite });
    assert_eq!(wrong.missing[0].cause.to_string(), "none.yaml, which `render:` names, holds no values");
}

#[test]
fn values_that_instructions_name_are_tried() {
    let ha = String::from_utf8(files("linkerd-viz", OLD).remove("values-ha.yaml").unwrap()).unwrap();
    for (chart, values, note) in [
        ("linkerd-viz", ha.as_str(), "the chart's values-ha.yaml"),
        ("linkerd-crds", "{policy: false}", "`policy: false`"),
    ] {
        let old = committed_text(chart, OLD, values);
        let tree = MemoryTree::new([("a.yaml", &old)]);
        let wanted = expected(&template(chart, NEW, values), &old);
        assert_trees(&unsummed_files(&moved(&tree, NEW)), &[("a.yaml".to_owned(), unsummed(&wanted))].into());
        let made = made(&tree, NEW, &Ask::default());
        assert_eq!(made.renderings[0].notes[0], format!("Rendered with the values of {note}."));
    }
}

#[test]
fn an_old_helm_is_told_a_kubernetes_that_the_charts_accept() {
    // Helm 3.14 takes 1.29 where nobody names a version, and refuses charts that need a newer one.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("helm");
    let refusal =
        "Error: chart requires kubeVersion: >=1.31.0-0 which is incompatible with Kubernetes v1.29.0";
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in version*|*--kube-version=*) exec {} \"$@\";; esac\necho '{refusal}' >&2\nexit 1\n",
        helm().display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let charts = ChartRepository::new();
    let bench = Bench::with_program(&charts.url(), &program);
    let tree = MemoryTree::new([("viz.yaml", committed_text("linkerd-viz", OLD, "{}"))]);
    for (to, kubernetes) in [(NEW, "1.31.0"), ("2026.9.1", "1.33.0")] {
        let made = request(&tree, to, &Ask::default(), |r| regenerate(r, &bench.helm()));
        assert!(made.missing.is_empty(), "{:?}", made.missing);
        let note = format!("For Kubernetes {kubernetes}, the oldest that the charts accept");
        assert!(
            made.renderings[0].notes.iter().any(|n| n.starts_with(&note)),
            "{:?}",
            made.renderings[0].notes
        );
    }
    let proofs = request(&tree, NEW, &Ask::default(), |r| prove_all(r, &bench.helm()));
    assert!(proofs.missing.is_empty() && proofs.drifts.is_empty(), "{proofs:?}");
}

/// A renderer with faults.
pub struct Faulty<'a> {
    pub inner: &'a dyn Renderer,
    pub fault: &'a (dyn Fn(&Job) -> Option<RenderError> + Sync),
}

impl Renderer for Faulty<'_> {
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
        let one = |job: &Job| {
            (self.fault)(job).map_or_else(|| self.inner.render(std::slice::from_ref(job)).remove(0), Err)
        };
        jobs.iter().map(one).collect()
    }
}

#[test]
fn a_fault_of_the_machine_is_no_drift_and_a_refusal_is_told_in_helms_words() {
    let tree = MemoryTree::new([("viz.yaml", committed_text("linkerd-viz", OLD, "{}"))]);
    let helm = WORLD.bench.helm();
    let reason = |fault: &(dyn Fn(&Job) -> Option<RenderError> + Sync)| {
        let ask = Ask { drift: DriftMode::Overwrite, ..Ask::default() };
        let made = request(&tree, NEW, &ask, |r| regenerate(r, &Faulty { inner: &helm, fault }));
        assert!(made.changes.is_empty(), "nothing is overwritten with values that are only near");
        made.missing[0].cause.to_string()
    };
    let slow = reason(&|job| {
        let fault = RenderError::Ceiling { chart: job.chart.clone(), reason: "took too long".into() };
        (job.template.values.is_empty() && job.chart.version == OLD).then_some(fault)
    });
    assert_eq!(slow, "linkerd-viz 2026.6.3: helm took too long");
    let refused = reason(&|job| {
        let fault = RenderError::Helm { chart: job.chart.clone(), reason: "a value is missing".into() };
        (job.chart.version == NEW).then_some(fault)
    });
    assert_eq!(refused, "linkerd-viz 2026.8.3: helm: a value is missing");
}

#[test]
fn what_is_older_than_the_numbers_of_charts_is_rendered_by_hand() {
    let text = committed_text("linkerd-viz", OLD, "{}").replace("edge-26.6.3", "edge-21.9.2");
    let made = made(&MemoryTree::new([("viz.yaml", &text)]), NEW, &Ask::default());
    let cause = &made.missing[0].cause;
    let (reason, hint) = (cause.to_string(), cause.hint());
    assert!(made.changes.is_empty());
    assert!(reason.starts_with("its objects name edge-21.9.2, and no chart has that number"), "{reason}");
    assert_eq!(hint, "render the new release by hand once");
}
