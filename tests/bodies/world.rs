//! Where the bodies are made: one set of charts and one cache for all, a host and a feed for each.

use std::sync::{Arc, LazyLock};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use tempfile::TempDir;
use uplinker::{
    helm::{Layer, Template},
    render::{ChartId, Job, Renderer as _, Take},
};

use crate::support::{
    charts::{CHARTS, ChartRepository, Package, VERSIONS, files, pack},
    feed::{Feed, Published, release},
    flavor::Flavor,
    github::{GitHub, Token},
    helm::{Bench, helm},
    process::{Home, Run, scrub},
    repo::BareRepo,
    scene::{LABELS, REPO, Scene, TOKEN},
};

/// The charts of `tests/charts`, and more releases made of them.
pub static PACKAGES: LazyLock<Vec<Package>> = LazyLock::new(|| {
    let ours = CHARTS.iter().flat_map(|chart| VERSIONS.iter().map(|version| (*chart, *version)));
    let mut all: Vec<Package> =
        ours.map(|(chart, version)| pack(chart, version, &files(chart, version))).collect();
    for chart in CHARTS {
        all.push(relabelled(chart, "2026.8.4", "2026.8.5", |text| text.replace("v0.1.12", "v0.1.13")));
        all.push(relabelled(chart, "2026.8.2", "2025.2.1", str::to_owned));
        all.push(relabelled(chart, "2026.8.2", "2025.7.6", str::to_owned));
    }
    all.push(relabelled("linkerd-crds", "2026.8.4", "2026.8.6", |text| with_a_long_schema(text, "")));
    let bounded = |text: &str| with_a_long_schema(text, "                    maxLength: 63\n");
    all.push(relabelled("linkerd-crds", "2026.8.4", "2026.8.7", bounded));
    all
});

/// What every scene keeps.
pub static CACHE: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a temporary folder"));

fn relabelled(chart: &str, version: &str, new: &str, change: impl Fn(&str) -> String) -> Package {
    let mut files = files(chart, version);
    for bytes in files.values_mut() {
        let text = String::from_utf8(std::mem::take(bytes)).expect("text");
        let text = text.replace(version, new).replace(&edge(version), &edge(new));
        *bytes = change(&text).into_bytes();
    }
    pack(chart, new, &files)
}

fn edge(version: &str) -> String {
    format!("edge-{}", version.trim_start_matches("20"))
}

/// The schema of Servers with 180 fields, and something more about each.
fn with_a_long_schema(text: &str, more: &str) -> String {
    if !text.contains("servers.policy.linkerd.io") {
        return text.to_owned();
    }
    let open = "            x-kubernetes-preserve-unknown-fields: true\n";
    let mut fields = String::from("            properties:\n");
    for group in ["accessPolicy", "podSelector", "proxyProtocol", "resourceGroups", "routes", "timeouts"] {
        let head = "type: object\n                properties:\n";
        fields.push_str(&format!("              {group}:\n                {head}"));
        for n in 1..=30 {
            fields
                .push_str(&format!("                  field{n}:\n                    type: string\n{more}"));
        }
    }
    text.replacen(open, &fields, 1)
}

/// A release of the test charts with notes as GitHub writes them.
pub fn published(number: &str, day: &str, changes: &[&str]) -> Published {
    let lines: Vec<String> = changes
        .iter()
        .map(|change| {
            let (title, pull) = change.rsplit_once(' ').expect("a title and a number");
            format!("* {title} by @someone in https://github.com/linkerd/linkerd2/pull/{pull}\n")
        })
        .collect();
    let notes = format!(
        "## What's Changed\n{}\n**Full Changelog**: https://github.com/linkerd/linkerd2/compare/a...b\n",
        lines.concat()
    );
    release(&format!("edge-{number}"), &format!("{day}T09:00:00Z")).charts(&CHARTS).notes(&notes)
}

/// A host with one repository, and releases.
pub fn scene(files: &[(&str, &str)], releases: &[Published]) -> Scene {
    let github = GitHub::start();
    let repo: Arc<BareRepo> = github.add(REPO, |path| BareRepo::with_files(path, "main", files));
    github.token(TOKEN, Token::actions());
    github.labels(REPO, &LABELS);
    let feed = Feed::start(releases);
    feed.serve_packages(&PACKAGES);
    Scene { github, feed, home: Home::new(), repo, renders: false, flavor: Flavor::GitHub }
}

/// Runs the program with Helm, and returns the text of the pull request with that number, with addresses and ids replaced.
pub fn body(scene: &Scene, number: u64, change: impl FnOnce(Run) -> Run) -> String {
    run(scene, change);
    received(scene, number)
}

/// Returns the body of a pull request as the forge received it.
pub fn received(scene: &Scene, number: u64) -> String {
    let body = scene.github.pull(REPO, number).body.expect("a body");
    // What it was made from is another with each change of the program.
    let (text, basis) = body.split_once(",\"basis\":{\"inputs\":\"").expect("what it was made from");
    let (_, end) = basis.rsplit_once("}} -->").expect("the marker's end");
    scrub(&format!("{text}}} -->{end}"), &[])
}

/// Runs the program with Helm.
pub fn run(scene: &Scene, change: impl FnOnce(Run) -> Run) {
    let run = scene.run().env("UPLINKER_HELM", helm()).env("XDG_CACHE_HOME", CACHE.path());
    let _ = change(run).done().exits(0);
}

/// Helm's output at 2026.8.2 as a person committed it, with the clock of another day and nothing that differs from run to
/// run: where Helm makes a certificate up, one that is known stands, and a text that says it is its key.
pub fn committed() -> Vec<(String, String)> {
    static TEXTS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
        CHARTS.iter().map(|chart| (format!("mesh/{chart}.yaml"), rendered(chart))).collect()
    });
    TEXTS.clone()
}

fn rendered(chart: &str) -> String {
    let repository = ChartRepository::of(PACKAGES.clone());
    let bench = Bench::new(&repository.url());
    let values = super::files::identity();
    let job = Job {
        chart: ChartId { name: chart.into(), version: "2026.8.2".into() },
        template: Template {
            values: if chart == "linkerd-control-plane" { vec![Layer(values.into())] } else { Vec::new() },
            ..Template::of(chart, if chart == "linkerd-viz" { "linkerd-viz" } else { "linkerd" })
        },
        take: Take::First,
    };
    let text = bench.helm().render(&[job]).remove(0).expect("renders").to_string();
    let pem = |kind: &str, text: &str| {
        format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", BASE64_STANDARD.encode(text))
    };
    let key = pem("EC PRIVATE KEY", "no key");
    let line = |line: &str| {
        let indent = " ".repeat(line.len() - line.trim_start().len());
        match line.trim().split(':').next() {
            Some(name @ ("tls.crt" | "caBundle")) if line.len() > 100 => {
                format!("{indent}{name}: {}\n", BASE64_STANDARD.encode(super::files::ANCHOR))
            }
            Some("tls.key") => format!("{indent}tls.key: {}\n", BASE64_STANDARD.encode(&key)),
            Some("schedule") => format!("{indent}schedule: \"03 21 * * *\"\n"),
            _ => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}
