//! Three environments with four installations, and what comes out for them in a year.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uplinker::{
    linkerd::{EdgeVersion, Hop, HopReason, Knowledge, Milestone, built_in},
    release::{Catalog, Chart, Guidance, Release},
};

use super::place::Files;

pub const DAY: i64 = 24 * 3600;
/// Each environment with the one before it, and for how many days that must have run a release.
pub const ENVIRONMENTS: [(&str, Option<(&str, i64)>); 3] =
    [("dev", None), ("staging", Some(("dev", 1))), ("production", Some(("staging", 3)))];
/// The wave that goes before the other proxies of an environment, and for how many days it must have run a release.
pub const WAVE: (&str, i64) = ("-first", 2);
/// How many releases a year has, and how many of them a milestone.
pub const RELEASES: usize = 50;
const OF_A_MILESTONE: usize = 9;
/// Whoever is below the first must stop at one of those between before they come to the last.
const STOP: (usize, usize) = (22, 25);
const CONFIG: &str = "version: 1\ndataPlane: {after: 1d, waves: [{name: first, namespaces: [trial], soak: 2d}]}\ntargets:\n\
  - {name: dev, paths: [dev], gates: {active: [\"kustomization/dev/*\"], onFailure: rollback}}\n\
  - {name: staging, paths: [staging], after: {target: dev, soak: 1d}, gates: {active: [\"kustomization/staging/*\"]}}\n\
  - {name: production, paths: [production], after: {target: staging, soak: 3d}}\n";

/// A release as it became known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Released {
    pub number: usize,
    pub at: i64,
    /// Whether the index has its charts.
    pub is_ready: bool,
    pub is_bad: bool,
}

/// What an installation, or several, is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub control_plane: EdgeVersion,
    /// The oldest and the newest proxies.
    pub proxies: (EdgeVersion, EdgeVersion),
    /// The oldest of those in the wave.
    pub wave: EdgeVersion,
}

pub fn release_of(n: usize) -> EdgeVersion {
    format!("edge-26.{}.{}", 1 + n / 5, 1 + n % 5).parse().expect("a release")
}

pub fn number_of(version: EdgeVersion) -> usize {
    (0..RELEASES).find(|n| release_of(*n) == version).expect("a release of the year")
}

/// Numbers the milestone of a release.
pub fn milestone_of(version: EdgeVersion) -> usize {
    number_of(version) / OF_A_MILESTONE
}

pub fn catalog(releases: &[Released]) -> Catalog {
    let mut catalog = Catalog { knowledge: knowledge(), ..Catalog::default() };
    for released in releases {
        let version = release_of(released.number);
        let chart = Chart {
            version: version.chart().to_string(),
            url: "https://helm.linkerd.io/edge/x.tgz".to_owned(),
            digest: Some("ab".repeat(32)),
            kube_version: None,
        };
        let names =
            ["linkerd-crds", "linkerd-control-plane"].iter().take(if released.is_ready { 2 } else { 1 });
        let guidance = match released.is_bad {
            false => Guidance::Unknown,
            true => Guidance::NotRecommended {
                instead: Vec::new(),
                note: "It does not work.".to_owned(),
                source: "a release note".to_owned(),
            },
        };
        let charts = names.map(|name| ((*name).to_owned(), chart.clone())).collect();
        let published = Timestamp::from_second(released.at).ok();
        catalog.releases.insert(version, Release { published, charts, guidance, ..Release::new(version) });
    }
    catalog
}

fn knowledge() -> Knowledge {
    let milestones = (0..RELEASES).step_by(OF_A_MILESTONE).map(|n| Milestone {
        name: format!("3.{}", n / OF_A_MILESTONE),
        first: release_of(n),
        source: None,
    });
    let (below, reaching) = STOP;
    let hop = Hop {
        below: release_of(below),
        reaching: release_of(reaching),
        via: (below..reaching).rev().map(release_of).collect(),
        why: HopReason::Operator,
        note: "Look at the policies there.".to_owned(),
        source: "an operator".to_owned(),
    };
    Knowledge { milestones: milestones.collect(), hops: vec![hop], ..built_in().clone() }
}

/// Tells whether a step would go past the required stop.
pub fn goes_past_the_stop(from: EdgeVersion, to: EdgeVersion) -> bool {
    from < release_of(STOP.0) && to >= release_of(STOP.1)
}

pub fn folders(environment: &str) -> Vec<String> {
    match environment {
        "production" => vec!["production/east".to_owned(), "production/west".to_owned()],
        one => vec![one.to_owned()],
    }
}

/// The environment of a target, which a wave of it shares.
pub fn environment_of(target: &str) -> &str {
    target.strip_suffix(WAVE.0).unwrap_or(target)
}

fn chart(name: &str, version: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: {name}\n  namespace: linkerd\nspec:\n  \
         chart:\n    spec:\n      chart: {name}\n      version: {version}\n      sourceRef: {{kind: HelmRepository, name: \
         linkerd-edge, namespace: flux-system}}\n"
    )
}

/// All of them at the same release.
pub fn files(first: usize) -> Vec<(String, String)> {
    let first = release_of(first);
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata:\n  name: linkerd-edge\n  namespace: \
                  flux-system\nspec:\n  interval: 1h\n  url: https://helm.linkerd.io/edge\n";
    let web = |namespace: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: {namespace}}}\nspec:\n  template:\n    \
             metadata:\n      annotations:\n        config.linkerd.io/proxy-version: {first}\n    spec:\n      containers: \
             [{{name: web, image: shop/web:1}}]\n"
        )
    };
    let mut all = vec![("uplinker.yaml".to_owned(), CONFIG.to_owned())];
    for folder in ENVIRONMENTS.iter().flat_map(|(environment, _)| folders(environment)) {
        let charts =
            ["linkerd-crds", "linkerd-control-plane"].map(|name| chart(name, &first.chart().to_string()));
        all.push((format!("{folder}/mesh.yaml"), format!("{source}---\n{}", charts.join("---\n"))));
        all.push((format!("{folder}/web.yaml"), web("shop")));
        all.push((format!("{folder}/trial.yaml"), web("trial")));
    }
    all
}

/// The same files with all that an environment runs at another release: its charts, and proxies that would be ahead of them.
pub fn moved_by_hand(files: &Files, environment: &str, to: EdgeVersion) -> Vec<(String, String)> {
    let mine = files.iter().filter(|(path, _)| path.starts_with(&format!("{environment}/")));
    let line = |line: &str| match line.split_once(": ") {
        Some((key, _)) if key.trim() == "version" => format!("{key}: {}\n", to.chart()),
        Some((key, value)) if is_proxy(key) && value.parse().is_ok_and(|at: EdgeVersion| at > to) => {
            format!("{key}: {to}\n")
        }
        _ => format!("{line}\n"),
    };
    let text = |text: &[u8]| String::from_utf8_lossy(text).lines().map(line).collect::<String>();
    mine.map(|(path, old)| (path.clone(), text(old)))
        .filter(|(path, new)| files[path] != new.as_bytes())
        .collect()
}

fn is_proxy(key: &str) -> bool {
    key.trim() == "config.linkerd.io/proxy-version"
}

/// Reads what an environment is at.
pub fn standing(files: &BTreeMap<String, Vec<u8>>, environment: &str) -> Standing {
    let (mut charts, mut proxies, mut wave) = (Vec::new(), Vec::new(), Vec::new());
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with(&format!("{environment}/"))) {
        for (key, value) in
            std::str::from_utf8(text).expect("text").lines().filter_map(|line| line.split_once(": "))
        {
            if key.trim() == "version" {
                charts.extend(EdgeVersion::from_chart(value));
            } else if is_proxy(key) {
                let at: EdgeVersion = value.parse().expect("a release");
                proxies.push(at);
                wave.extend(path.ends_with("/trial.yaml").then_some(at));
            }
        }
    }
    let oldest = |all: &[EdgeVersion]| *all.iter().min().expect("a release");
    let newest = *proxies.iter().max().expect("a release");
    Standing { control_plane: oldest(&charts), proxies: (oldest(&proxies), newest), wave: oldest(&wave) }
}
