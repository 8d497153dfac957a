//! Workloads that ask for restarts by a label: the annotation comes where it is missing, beside the label, in every kind and
//! on every way that a label reaches a pod template. `tests/restarts/before` becomes `tests/restarts/after`, byte for byte.

use std::path::Path;

use uplinker::{
    edit::{Refusal, Restoring, apply, restore},
    pins::{Form, Inventory, Reason, ScanOptions, Stage, scan},
    plan::{Options, Plan, Proxies, Request, Target, Undoing, Undone, back, plan},
    release::Catalog,
    repo::{CommitId, FileChange, Tree},
};

use crate::support::tree::MemoryTree;

fn folder(name: &str) -> MemoryTree {
    MemoryTree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/restarts").join(name))
}

fn found(tree: &dyn Tree, restarts: bool) -> Inventory {
    scan(tree, &ScanOptions { restarts, ..ScanOptions::default() }).unwrap()
}

fn planned(inventory: &Inventory, proxies: Proxies) -> Option<Plan> {
    let (catalog, options) = (Catalog::default(), Options { proxies, ..Options::default() });
    let request = Request {
        inventory,
        target: &Target::default_all(),
        stage: Stage::DataPlane,
        to: "edge-26.8.3".parse().unwrap(),
        hop_towards: None,
        sources: &[],
        catalog: &catalog,
        options: &options,
    };
    plan(&request).unwrap()
}

#[test]
fn the_annotation_comes_beside_the_label_and_a_second_run_does_nothing() {
    let before = folder("before");
    let inventory = found(&before, true);
    let plan = planned(&inventory, Proxies::Follow).unwrap();
    let after = before.changed(&apply(&plan, &before).unwrap().files);
    assert_eq!(after.files(), folder("after").files());
    let then = found(&after, true);
    assert!(planned(&then, Proxies::Follow).is_none(), "a second run moves something");
    let left: Vec<&str> =
        then.pins().filter(|pin| pin.form == Form::Absent).map(|pin| pin.path.as_str()).collect();
    assert_eq!(
        left,
        ["apps/alike.yaml", "apps/overlay/kustomization.yaml", "apps/quiet.yaml", "apps/quiet.yaml"]
    );
}

#[test]
fn the_tag_of_a_debug_container_is_no_annotation_to_restart_by() {
    let workload = "kind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    metadata:\n      labels: \
                    {config.linkerd.io/reconcile: auto}\n      annotations: {config.linkerd.io/debug-image-version: edge-26.8.2}\n";
    let inventory = found(&MemoryTree::new([("a.yaml", workload)]), true);
    let told: Vec<_> = inventory.pins().map(|pin| (pin.form, pin.restarts)).collect();
    assert_eq!(told, [(Form::Absent, true), (Form::Edge, false)]);
    let moves = planned(&inventory, Proxies::Ignore).unwrap().moves;
    assert_eq!(moves.iter().map(|m| m.pin.form).collect::<Vec<_>>(), [Form::Absent]);
}

#[test]
fn what_stays_says_why() {
    let inventory = found(&folder("before"), true);
    let stays = |path: &str, line: usize| {
        let pin = inventory.pins().find(|pin| pin.path.as_str() == path && pin.site.line == line);
        pin.unwrap_or_else(|| panic!("{path}:{line}")).stays
    };
    assert_eq!(stays("apps/alike.yaml", 30), Some(Reason::OptedOut), "not injected by its own word");
    assert_eq!(stays("apps/quiet.yaml", 8), Some(Reason::OptedOut), "the webhooks are not asked");
    assert_eq!(stays("apps/quiet.yaml", 17), Some(Reason::Held));
    assert_eq!(stays("apps/overlay/kustomization.yaml", 19), Some(Reason::Uneditable), "an operation");
    let asking = inventory.pins().filter(|pin| pin.path.as_str().starts_with("apps/done/"));
    assert!(asking.clone().all(|pin| pin.form != Form::Absent), "the overlay completes the base");
}

#[test]
fn only_those_that_ask_move_where_proxies_are_left_alone() {
    let inventory = found(&folder("before"), true);
    let plan = planned(&inventory, Proxies::Ignore).unwrap();
    assert!(plan.moves.iter().all(|entry| entry.pin.restarts));
    let agent = |entry: &&uplinker::plan::Move| {
        let pin = &entry.pin;
        pin.value == "edge-26.8.2" && pin.path.as_str() == "apps/base/web.yaml"
    };
    assert_eq!(plan.moves.iter().filter(agent).count(), 1, "an annotation that is there moves too");
}

#[test]
fn nothing_comes_where_it_is_not_asked_for() {
    let inventory = found(&folder("before"), false);
    assert!(inventory.pins().all(|pin| pin.form != Form::Absent && !pin.restarts));
}

/// Takes back what made `after` of `before`, in a tree as it is now.
fn taken_back(
    stage: Stage,
    before: &MemoryTree,
    after: &MemoryTree,
    now: &MemoryTree,
) -> Result<Vec<FileChange>, Refusal> {
    let (earlier, then, inventory) = (found(before, true), found(after, true), found(now, true));
    let release = |text: &str| text.parse().unwrap();
    let plan = back(Undoing {
        inventory: &inventory,
        earlier: &earlier,
        then: &then,
        target: &Target::default_all(),
        stage,
        to: release("edge-26.8.2"),
        undone: Undone {
            release: release("edge-26.8.3"),
            commit: CommitId([1; 20]),
            since: jiff::Timestamp::UNIX_EPOCH,
            failure: None,
        },
        catalog: &Catalog::default(),
        options: &Options::default(),
    });
    let restoring = Restoring {
        before,
        after,
        then: &then,
        now,
        inventory: &inventory,
        plan: &plan.unwrap(),
        is_part: &|_| true,
        is_rendered: &|_| false,
    };
    restore(&restoring).map(|changes| changes.files).map_err(|error| error.refusal)
}

/// Every file with a line more before all others.
fn with_a_first_line(tree: &MemoryTree) -> MemoryTree {
    let longer = |(path, text): (String, String)| (path, format!("# Ours.\n\n{text}"));
    MemoryTree::new(tree.files().into_iter().map(longer))
}

#[test]
fn what_came_goes_again_byte_for_byte_and_what_came_since_stays() {
    let (before, after) = (folder("before"), folder("after"));
    let restored = after.changed(&taken_back(Stage::DataPlane, &before, &after, &after).unwrap());
    assert_eq!(restored.files(), before.files());
    let now = with_a_first_line(&after);
    let restored = now.changed(&taken_back(Stage::DataPlane, &before, &after, &now).unwrap());
    assert_eq!(restored.files(), with_a_first_line(&before).files());
}

#[test]
fn what_cannot_be_told_from_what_came_since_is_refused() {
    let workload = |release: &str, more: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a, namespace: b}}\nspec:\n  template:\n    metadata:\n      \
             annotations: {{config.linkerd.io/proxy-version: {release}}}{more}\n    spec: {{}}\n"
        )
    };
    let tree = |text: &str| MemoryTree::new([("a.yaml", text)]);
    let (old, new) = (workload("edge-26.8.2", ""), workload("edge-26.8.3", ""));
    let back = |now: &MemoryTree| taken_back(Stage::DataPlane, &tree(&old), &tree(&new), now);
    // On the very line: the pin alone goes back.
    let beside = tree(&workload("edge-26.8.3", " # ours"));
    let restored = beside.changed(&back(&beside).unwrap());
    assert_eq!(restored.files(), tree(&workload("edge-26.8.2", " # ours")).files());
    // What a checksum covers is left to the tool that makes it.
    let release = |version: &str, more: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: a, namespace: b}}\nspec:\n  chart:\n    \
             spec:\n      chart: linkerd-crds\n      version: {version}\n{more}"
        )
    };
    let (old, new) = (tree(&release("2026.8.2", "")), tree(&release("2026.8.3", "")));
    let sealed = tree(&release("2026.8.3", "sops:\n  mac: ENC[AES256_GCM,data:x]\n  version: 3.9.0\n"));
    let refused = taken_back(Stage::Platform, &old, &new, &sealed).unwrap_err();
    assert!(refused.to_string().contains("encrypted"), "{refused}");
}
