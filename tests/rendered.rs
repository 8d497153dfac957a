//! Committed manifests are made again: the diff shows the upgrade and nothing else, in the form that is there.

mod claimed;
mod forms;
mod keys;
mod owners;
mod values;

use std::{collections::BTreeMap, sync::LazyLock};

use crate::support::{
    charts::{CHARTS, ChartRepository, PUBLISHED},
    helm::Bench,
    manifests::{assert_trees, expected, hours_ago, job, name, unsummed},
    tree::MemoryTree,
};
use uplinker::{
    linkerd::built_in,
    pins::{ScanOptions, scan},
    render::{
        DriftMode, RenderEntry, Renderer as _,
        committed::{Committed, Regenerate, Regenerated, committed, regenerate},
    },
};

const OLD: &str = "2026.6.3";
const NEW: &str = "2026.8.3";

/// The charts and Helm, for all tests of this file.
struct World {
    _charts: ChartRepository,
    bench: Bench,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let charts = ChartRepository::new();
    let bench = Bench::new(&charts.url());
    World { _charts: charts, bench }
});

/// Runs `helm template` as a person would.
fn template(chart: &str, version: &str, values: &str) -> String {
    WORLD.bench.helm().render(&[job(chart, version, values)]).remove(0).unwrap().to_string()
}

/// What is committed, some hours ago.
fn committed_text(chart: &str, version: &str, values: &str) -> String {
    hours_ago(&template(chart, version, values))
}

fn sets(tree: &MemoryTree) -> Vec<Committed> {
    let inventory = scan(tree, &ScanOptions::default()).unwrap();
    let found = committed(tree, &inventory.facts.rendered);
    assert!(found.missing.is_empty(), "{:?}", found.missing);
    found.sets
}

/// What a test asks for beside the version.
#[derive(Default)]
struct Ask<'a> {
    entries: &'a [RenderEntry],
    drift: DriftMode,
}

fn request<R>(tree: &MemoryTree, version: &str, ask: &Ask<'_>, run: impl FnOnce(&Regenerate<'_>) -> R) -> R {
    let to: BTreeMap<String, String> =
        PUBLISHED.iter().map(|(c, _)| ((*c).to_owned(), version.to_owned())).collect();
    let sets = sets(tree);
    run(&Regenerate {
        tree,
        near: tree,
        committed: &sets,
        beside: &[],
        uses: &[],
        entries: ask.entries,
        to: &to,
        drift: ask.drift,
        kube_version: None,
        knowledge: built_in(),
    })
}

fn made(tree: &MemoryTree, version: &str, ask: &Ask<'_>) -> Regenerated {
    request(tree, version, ask, |request| regenerate(request, &WORLD.bench.helm()))
}

/// Makes everything again, and the same once more, which must give the same bytes.
fn moved(tree: &MemoryTree, version: &str) -> MemoryTree {
    let first = made(tree, version, &Ask::default());
    assert!(first.missing.is_empty(), "{:?}", first.missing);
    let after = tree.changed(&first.changes);
    assert_trees(&tree.changed(&made(tree, version, &Ask::default()).changes).files(), &after.files());
    // What was made is what a further pass would make.
    assert!(made(&after, version, &Ask::default()).changes.is_empty());
    after
}

fn unsummed_files(tree: &MemoryTree) -> BTreeMap<String, String> {
    tree.files().into_iter().map(|(path, text)| (path, unsummed(&text))).collect()
}

const REDUCED: &str =
    "{controllerLogLevel: debug, controllerReplicas: 3, proxy: {resources: {memory: {request: 32Mi}}}}";

/// The texts of a repository: charts, their old version, their values.
fn texts() -> Vec<(&'static str, String, String)> {
    let charts = [
        ("linkerd-crds", "2026.8.2", "{}"),
        ("linkerd-control-plane", "2026.8.2", REDUCED),
        ("linkerd-viz", OLD, "{}"),
    ];
    let text = |(chart, version, values): (&'static str, &str, &str)| {
        let old = committed_text(chart, version, values);
        let new = expected(&template(chart, NEW, values), &old);
        (chart, old, new)
    };
    charts.into_iter().map(text).collect()
}

fn texts_from(version: &str) -> Vec<(&'static str, String, String)> {
    let text = |chart: &'static str| {
        let old = committed_text(chart, version, "{}");
        let new = expected(&template(chart, NEW, "{}"), &old);
        (chart, old, new)
    };
    CHARTS.into_iter().map(text).collect()
}
