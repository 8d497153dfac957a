//! The text of a pull request: content, templates and fitting for a full upgrade of three charts.
//!
//! The charts are the test charts, filled up to the size of Linkerd's own: 10 definitions of 2,000 lines and some 110
//! objects in all, of which most change. With `UPLINKER_REAL_CHARTS`, a folder of packages, it is also measured on those.

use std::{env, path::PathBuf};

use uplinker::{
    edit::{self},
    explain::{Content, body, content::Material},
    pins::{ScanOptions, Stage, scan},
    plan::{self, Options, Request, Target},
    render::render_uses,
    repo::Overlay,
    verify::{Clock, Verification, verify},
};

use crate::{
    Scale, measure,
    support::{
        charts::{CHARTS, ChartRepository, Files, files, pack},
        helm::Bench,
        mesh::SOURCES,
        tree::MemoryTree,
    },
    table::{Amount, Row},
};

const ROUNDS: usize = 15;
const OLD: &str = "2026.6.3";
const NEW: &str = "2026.8.3";

/// How many definitions are added, and how many properties each has, of three lines.
const DEFINITIONS: usize = 10;
const PROPERTIES: usize = 670;
/// How many other objects are added to each chart.
const OBJECTS: usize = 20;

/// Measures.
pub fn rows(scale: &Scale) -> Vec<Row> {
    let packages = CHARTS.iter().flat_map(|chart| [OLD, NEW].map(|version| (*chart, version)));
    let packages =
        packages.map(|(chart, version)| pack(chart, version, &realistic(chart, version))).collect();
    let mut rows = vec![row("body of an upgrade of three charts", &ChartRepository::of(packages), scale)];
    if let Some(folder) = env::var_os("UPLINKER_REAL_CHARTS").map(PathBuf::from) {
        rows.push(row(
            "body of the same upgrade of the real charts",
            &ChartRepository::pulled(&folder),
            scale,
        ));
    }
    rows
}

/// A test chart with as much in it as the real one has.
fn realistic(chart: &str, version: &str) -> Files {
    let mut files = files(chart, version);
    let definitions = if chart == "linkerd-crds" { DEFINITIONS } else { 0 };
    for n in 0..definitions {
        let mut text = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: \
             things{n}.example.com\n  annotations: {{linkerd.io/created-by: linkerd/helm {version}}}\nspec:\n  \
             group: example.com\n  scope: Namespaced\n  names: {{kind: Thing{n}, plural: things{n}}}\n  versions:\n  \
             - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        \
             type: object\n        properties:\n"
        );
        for property in 0..PROPERTIES {
            // One in a hundred says something else in the new release.
            let side = if version == NEW && property % 100 == 0 { "another" } else { "a" };
            text.push_str(&format!(
                "          property{property}:\n            type: string\n            description: what {side} \
                 property of a thing is for, number {property} of {n}\n"
            ));
        }
        files.insert(format!("templates/things{n}.yaml"), text.into_bytes());
    }
    for n in (0..OBJECTS).filter(|_| definitions == 0) {
        let text = format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {chart}-{n}\n  labels: \
             {{app.kubernetes.io/version: {version}}}\nrules:\n- apiGroups: [\"\"]\n  resources: [pods, services]\n  \
             verbs: [get, list]\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {chart}-{n}\n  labels: \
             {{app.kubernetes.io/version: {version}}}\n"
        );
        files.insert(format!("templates/more{n}.yaml"), text.into_bytes());
    }
    files
}

fn row(work: &str, charts: &ChartRepository, scale: &Scale) -> Row {
    let bench = Bench::new(&charts.url());
    let tree = MemoryTree::new(repository());
    let options = Options::default();
    let target = Target::default_all();
    let read = |tree: &dyn uplinker::repo::Tree| {
        let mut inventory = scan(tree, &ScanOptions::default()).expect("a scan");
        plan::resolve(&mut inventory, &bench.catalog);
        inventory
    };
    let inventory = read(&tree);
    let request = Request {
        inventory: &inventory,
        target: &target,
        stage: Stage::Platform,
        to: "edge-26.8.3".parse().expect("a release"),
        hop_towards: None,
        catalog: &bench.catalog,
        options: &options,
        sources: &[],
    };
    let plan = plan::plan(&request).expect("a plan").expect("something to do");
    let changes = edit::apply(&plan, &tree).expect("edits");
    let after = read(&Overlay::new(&tree, &changes));
    let uses = (&inventory.facts.uses, &after.facts.uses);
    let cluster = semver::Version::new(1, 33, 0);
    let mut rendered = render_uses(uses.0, uses.1, &|_| true, &bench.catalog, Some(&cluster), &bench.helm());
    assert_eq!((rendered.done.len(), rendered.missing.len()), (CHARTS.len(), 0), "{:?}", rendered.missing);
    let findings = verify(&Verification {
        base: "main",
        before: &tree,
        inventory: &inventory,
        plan: &plan,
        changes: &changes,
        after: Some(&after),
        target: &target,
        kubernetes: Some(&cluster),
        control_plane: None,
        catalog: &bench.catalog,
        options: &options,
        rendered: &rendered,
        clock: &Clock::new("2026-09-01T00:00:00Z".parse().expect("a time")),
    });
    let mut costs = Vec::new();
    let mut told = None;
    for _ in 0..scale.of(ROUNDS * 10) / 10 + 3 {
        // The checks have compared the objects already; here that is counted too.
        rendered.done.iter_mut().for_each(|one| one.difference = Default::default());
        let start = measure::processor_time();
        let content = Content::of(&Material {
            plan: &plan,
            inventory: &inventory,
            target: &target,
            findings: &findings,
            promoted: &[],
            catalog: &bench.catalog,
            rendered: &rendered,
            tree: &tree,
            configuration: None,
        });
        let text = body::text(&content, &uplinker::explain::Dialect::COMMON).expect("a text");
        costs.push((measure::processor_time() - start) * 1000.0);
        told = Some((content, text));
    }
    let (content, text) = told.expect("a round");
    let objects: usize = content.cluster.charts.iter().map(|c| c.objects).sum();
    let fields = content.cluster.fields;
    eprintln!("{work}: {objects} objects, {fields} fields differ, {} bytes of text", text.len());
    Row::at_most(work, Amount::Milliseconds(measure::median(costs)), Amount::Milliseconds(50.0))
}

/// A repository that has Flux deploy the three charts.
fn repository() -> Vec<(String, String)> {
    let release = |chart: &str| {
        let values = match chart {
            "linkerd-control-plane" => {
                "  values:\n    identityTrustAnchorsPEM: anchors\n    identity: {issuer: {tls: {crtPEM: crt, keyPEM: key}}}\n"
            }
            _ => "",
        };
        let text = format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: {chart}\n  namespace: \
             linkerd\nspec:\n  interval: 30m\n  chart:\n    spec:\n      chart: {chart}\n      version: {OLD}\n      \
             sourceRef: {{kind: HelmRepository, name: linkerd-edge, namespace: flux-system}}\n{values}"
        );
        (format!("mesh/{chart}.yaml"), text)
    };
    let sources = ("mesh/sources.yaml".to_owned(), SOURCES.to_owned());
    CHARTS.iter().map(|chart| release(chart)).chain([sources]).collect()
}
