//! Workloads that ask for restarts by a label: the annotation comes where it is missing, beside the label, in every kind and
//! on every way that a label reaches a pod template. `tests/restarts/before` becomes `tests/restarts/after`, byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use uplinker::{
    edit::apply,
    pins::{Form, Inventory, Reason, ScanOptions, Stage, scan},
    plan::{Options, Plan, Proxies, Request, Target, plan},
    release::Catalog,
    repo::Tree,
};

#[path = "support/tree.rs"]
#[allow(dead_code)]
mod tree;

use tree::MemoryTree;

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
    let after = before.changed(&apply(&plan, &inventory, &before).unwrap().files);
    assert_eq!(after.files(), folder("after").files());
    let then = found(&after, true);
    assert!(planned(&then, Proxies::Follow).is_none(), "a second run moves something");
    let left: Vec<&str> =
        then.pins.iter().filter(|pin| pin.form == Form::Absent).map(|pin| pin.path.as_str()).collect();
    assert_eq!(
        left,
        ["apps/alike.yaml", "apps/overlay/kustomization.yaml", "apps/quiet.yaml", "apps/quiet.yaml"]
    );
}

#[test]
fn what_stays_says_why() {
    let inventory = found(&folder("before"), true);
    let stays = |path: &str, line: usize| {
        let pin = inventory.pins.iter().find(|pin| pin.path.as_str() == path && pin.site.line == line);
        pin.unwrap_or_else(|| panic!("{path}:{line}")).stays
    };
    assert_eq!(stays("apps/alike.yaml", 30), Some(Reason::OptedOut), "not injected by its own word");
    assert_eq!(stays("apps/quiet.yaml", 8), Some(Reason::OptedOut), "the webhooks are not asked");
    assert_eq!(stays("apps/quiet.yaml", 17), Some(Reason::Held));
    assert_eq!(stays("apps/overlay/kustomization.yaml", 19), Some(Reason::Uneditable), "an operation");
    let asking = inventory.pins.iter().filter(|pin| pin.path.as_str().starts_with("apps/done/"));
    assert!(asking.clone().all(|pin| pin.form != Form::Absent), "the overlay completes the base");
}

#[test]
fn only_those_that_ask_move_where_proxies_are_left_alone() {
    let inventory = found(&folder("before"), true);
    let plan = planned(&inventory, Proxies::Ignore).unwrap();
    assert!(plan.moves.iter().all(|entry| inventory.pins[entry.pin].restarts));
    let agent = |entry: &&uplinker::plan::Move| {
        let pin = &inventory.pins[entry.pin];
        pin.value == "edge-26.8.2" && pin.path.as_str() == "apps/base/web.yaml"
    };
    assert_eq!(plan.moves.iter().filter(agent).count(), 1, "an annotation that is there moves too");
}

#[test]
fn nothing_comes_where_it_is_not_asked_for() {
    let inventory = found(&folder("before"), false);
    assert!(inventory.pins.iter().all(|pin| pin.form != Form::Absent && !pin.restarts));
}
