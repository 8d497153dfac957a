//! Large changes through the whole program.

use std::sync::LazyLock;

use super::shape;
use crate::support::{
    charts::{Files, Package, files, pack},
    feed::release,
    helm::helm,
    mesh::{CONTROL_PLANE, CRDS, SOURCES},
    scene::{DATA_PLANE, PLATFORM, REPO, Scene},
};

const CRD_COUNT: usize = 30;
const PROPERTIES: usize = 1_200;

/// A chart of the CRDs in both releases, with many large definitions of which each line differs.
static PACKAGES: LazyLock<Vec<Package>> = LazyLock::new(|| {
    let versions = ["2026.8.2", "2026.8.3"];
    versions.iter().map(|version| pack("linkerd-crds", version, &large(version))).collect()
});

fn large(version: &str) -> Files {
    let mut files = files("linkerd-crds", version);
    // Words that are no version: a field that only says the new release is not listed.
    let side = if version == "2026.8.2" { "old" } else { "new" };
    for n in 0..CRD_COUNT {
        let mut text = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  \
             name: things{n}.example.com\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {{kind: Thing{n}, \
             plural: things{n}}}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      \
             openAPIV3Schema:\n        type: object\n        properties:\n"
        );
        for property in 0..PROPERTIES {
            let words = (n * PROPERTIES + property).wrapping_mul(2_654_435_761);
            text.push_str(&format!(
                "          property{property}:\n            type: string\n            description: \"{words:x} as {side}, \
                 {:x} {:x} {:x} {:x}\"\n",
                words.wrapping_mul(31),
                words.wrapping_mul(37),
                words.wrapping_mul(41),
                words.wrapping_mul(43),
            ));
        }
        files.insert(format!("templates/things{n}.yaml"), text.into_bytes());
    }
    // One value that is larger than any body.
    let lines: String = (0..20_000).map(|n| format!("  line {n} as {side}\n")).collect();
    let map =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\ndata:\n  text: |\n  {lines}");
    files.insert("templates/large.yaml".into(), map.replace("\n  line", "\n    line").into_bytes());
    files
}

fn summary(scene: &Scene) -> String {
    std::fs::read_to_string(scene.home.path().join("summary.md")).expect("a summary")
}

#[test]
fn a_body_of_a_diff_of_five_megabytes_fits_and_points_to_all_of_it() {
    let scene = Scene::new(&[("linkerd/sources.yaml", SOURCES), ("linkerd/crds.yaml", CRDS)]);
    scene.feed.serve_packages(&PACKAGES);
    let in_actions = |name: &str| {
        let run = scene.command(name).env("UPLINKER_HELM", helm()).env("GITHUB_ACTIONS", "true");
        run.env("GITHUB_STEP_SUMMARY", scene.home.path().join("summary.md"))
    };
    let _ = in_actions("run").done().exits(0);
    let body = scene.only_pull().body.expect("a body");
    shape::assert_body(&body);
    assert!(body.len() > 30_000, "room is used: {body}");
    assert!(body.contains("| `linkerd-crds` |"), "{body}");
    assert!(
        shape::left_out(&body) > 0 && body.contains("`uplinker plan --to edge-26.8.3 --format markdown`"),
        "{body}"
    );

    // The summary of the step holds more, and no more than GitHub takes.
    let told = summary(&scene);
    assert!(told.len() <= 1 << 20, "{}", told.len());
    shape::assert_whole(&told);
    assert!(
        told.contains("Left out to fit here:") && told.contains("plan --format markdown"),
        "{told:.3000}"
    );

    // Where both point, all of it is.
    let plan = scene.command("plan").env("UPLINKER_HELM", helm()).args(["--to", "edge-26.8.3", "--format"]);
    let whole = plan.arg("markdown").done().exits(0).stdout;
    shape::assert_whole(&whole);
    assert!(!whole.contains("left out here") && !whole.contains("Left out to fit"));
    let lines = |text: &str| text.lines().filter(|l| l.contains("description`: `")).count();
    assert_eq!(lines(&whole), CRD_COUNT * PROPERTIES);
    assert!(whole.len() > 5 << 20, "{}", whole.len());
    assert!(whole.contains("line 19999 as new"));

    let plan = scene.command("plan").env("UPLINKER_HELM", helm()).args(["--to", "edge-26.8.3", "--format"]);
    let json = plan.arg("json").done().exits(0).json();
    let chart = &json["pull_requests"][0]["content"]["cluster"]["charts"][0];
    let objects = chart["objects_changed"].as_array().expect("objects");
    let fields = |of: &serde_json::Value| of["fields"].as_array().map_or(0, Vec::len);
    let all: usize = objects.iter().map(fields).sum();
    assert!(all > CRD_COUNT * PROPERTIES, "{all}");
    assert_eq!(chart["fields"], all + usize::try_from(chart["version_fields"].as_u64().unwrap()).unwrap());
    // What is shown and what is counted as left out is all there is.
    let fold =
        body.split("<details><summary>Field by field").nth(1).and_then(|f| f.split("</details>").next());
    let fold = fold.expect("the fold of fields");
    let named: Vec<_> =
        objects.iter().filter(|o| fold.contains(&format!("- `{}`", o["object"].as_str().unwrap()))).collect();
    let more = |what: &str| -> usize {
        let number = |l: &str| l.trim_start_matches([' ', '-']).split(' ').next()?.parse::<usize>().ok();
        fold.lines().filter(|l| l.contains(what)).filter_map(number).sum()
    };
    let listed = fold.lines().filter(|l| l.starts_with("  - `")).count();
    assert!(listed > 0 && !named.is_empty());
    assert_eq!(named.len() + more(" more objects, left out here"), objects.len());
    let of_them: usize = named.iter().map(|o| fields(o)).sum();
    assert_eq!(listed + more(" more fields, left out here"), of_them);
}

#[test]
fn a_body_over_hundreds_of_releases_and_findings_fits() {
    let makefile = "render:\n\thelm template linkerd-crds edge/linkerd-crds --version 2026.8.2 > out.yaml\n";
    let paths: Vec<String> = (0..400).map(|n| format!("clusters/c{n:03}/Makefile")).collect();
    let mut files = vec![
        ("linkerd/sources.yaml", SOURCES),
        ("linkerd/crds.yaml", CRDS),
        ("linkerd/control-plane.yaml", CONTROL_PLANE),
    ];
    files.extend(paths.iter().map(|path| (path.as_str(), makefile)));
    let scene = Scene::new(&files);
    for n in 4..304 {
        let notes: String = (0..12)
            .map(|k| {
                format!(
                    "* {}: change {k} of {n}, in words that say what it is by @someone in #{n}{k:02}\n",
                    ["feat", "fix!", "fix"][k % 3]
                )
            })
            .collect();
        let day = format!("2026-08-{:02}T09:{:02}:00Z", 16 + n / 60, n % 60);
        scene.feed.publish(release(&format!("edge-26.8.{n}"), &day).notes(&notes));
    }
    let run = scene.run().env("GITHUB_ACTIONS", "true");
    let _ = run.env("GITHUB_STEP_SUMMARY", scene.home.path().join("summary.md")).done().exits(0);
    let body = scene.only_pull().body.expect("a body");
    shape::assert_body(&body);
    assert!(body.starts_with("**Attention: "), "{body:.300}");
    assert!(body.contains("301 releases later"), "{body:.800}");
    assert!(shape::left_out(&body) > 0);
    let told = summary(&scene);
    assert!(told.len() <= 1 << 20);
    shape::assert_whole(&told);
    // All of it is there: each Makefile and each release.
    assert!(paths.iter().all(|path| told.contains(path.as_str())));
    assert!((4..304).all(|n| told.contains(&format!("edge-26.8.{n}]"))));
    let tip = scene.repo.tip(PLATFORM).expect("the branch");
    let status = scene.github.statuses(REPO, tip);
    let described = status.first().and_then(|s| s.description.as_ref()).expect("a description");
    assert!(described.starts_with("1 to check") && described.encode_utf16().count() <= 140, "{status:?}");
}

#[test]
fn a_body_over_thousands_of_pins_and_workloads_fits() {
    let workload = |n: usize| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: workload-{n:04}\n  namespace: apps-{}\nspec:\n  \
             replicas: {}\n  template:\n    metadata:\n      annotations:\n        \
             config.linkerd.io/proxy-version: edge-26.8.2\n    spec:\n      containers: [{{name: a, image: b}}]\n",
            n % 40,
            n % 5 + 1
        )
    };
    let namespace = |n: usize| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: space-{n}\n  annotations:\n    \
             config.linkerd.io/proxy-version: edge-26.8.2\n"
        )
    };
    let mut files: Vec<(String, String)> =
        (0..1_000).map(|n| (format!("apps/a{:02}/workload-{n:04}.yaml", n % 40), workload(n))).collect();
    files.extend((0..1_500).map(|n| (format!("spaces/s{:02}/space-{n:04}.yaml", n % 50), namespace(n))));
    files.push(("uplinker.yaml".into(), "dataPlane:\n  controlPlane: edge-26.8.3\n  after: 0d\n".into()));
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let scene = Scene::new(&files);
    let run = scene.run().env("GITHUB_ACTIONS", "true");
    let _ = run.env("GITHUB_STEP_SUMMARY", scene.home.path().join("summary.md")).done().exits(0);
    let pull = scene.only_pull();
    assert_eq!(pull.head_ref, DATA_PLANE);
    assert_ne!(pull.head_ref, PLATFORM);
    let body = pull.body.expect("a body");
    shape::assert_body(&body);
    assert!(body.contains("2500 pins move from `edge-26.8.2` to `edge-26.8.3`"), "{body:.400}");
    assert!(shape::left_out(&body) > 0);
    let told = summary(&scene);
    assert!(told.len() <= 1 << 20);
    shape::assert_whole(&told);
    let plan = scene.command("plan").args(["--format", "markdown"]).done().exits(0).stdout;
    shape::assert_whole(&plan);
    assert!((0..1_000).all(|n| plan.contains(&format!("workload-{n:04}"))));
    assert!((0..1_500).all(|n| plan.contains(&format!("space-{n:04}.yaml"))));
}
