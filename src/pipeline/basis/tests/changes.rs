//! What may change between two runs: files, releases, and what the operator and the clock say.

use jiff::SignedDuration;

use super::{
    super::*,
    world::{World, knowledge},
};
use crate::{
    release::{FeedState, Guidance},
    repo::Mode,
};

/// A change of one input, with its name.
pub(super) type Change = (String, Box<dyn Fn(&mut World)>);

pub(super) fn change(name: impl Into<String>, change: impl Fn(&mut World) + 'static) -> Change {
    (name.into(), Box::new(change))
}

/// Changes each file in turn: each of its lines in one of several ways, its mode, its being there.
pub(super) fn of_files(world: &World) -> Vec<Change> {
    let mut all = Vec::new();
    for (name, (text, _)) in &world.files {
        let with = |what: String, make: Box<dyn Fn(&mut String)>| {
            let file = name.clone();
            change(format!("{name}: {what}"), move |world| make(&mut world.files.get_mut(&file).unwrap().0))
        };
        for (n, line) in text.lines().enumerate() {
            let (line, text) = (line.to_owned(), text.clone());
            let other = move |how: usize| -> String {
                let changed = match how {
                    0 => format!("# a comment\n{line}"),
                    1 => String::new(),
                    2 => line.replacen(|c: char| c.is_ascii_digit(), "7", 1),
                    _ => line.replacen(|c: char| c.is_ascii_lowercase(), "z", 1),
                };
                let lines = text.lines().enumerate();
                lines
                    .map(|(at, other)| if at == n { changed.clone() + "\n" } else { other.to_owned() + "\n" })
                    .collect()
            };
            // Each line in two ways: all ways are met in each file.
            for how in [n % 4, (n + 2) % 4] {
                let new = other(how);
                all.push(with(
                    format!("line {} otherwise ({how})", n + 1),
                    Box::new(move |text| text.clone_from(&new)),
                ));
            }
        }
        let (file, other) = (name.clone(), name.clone());
        all.push(change(format!("{name}: executable"), move |world| {
            world.files.get_mut(&file).unwrap().1 = Mode::Executable;
        }));
        all.push(change(format!("{name}: removed"), move |world| drop(world.files.remove(&other))));
    }
    let prunes = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: all}\nspec: {path: ./, prune: \
                  true}\n";
    for (name, text) in [
        ("apps/new.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n"),
        ("mesh/new.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n"),
        (
            "viz/new.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: linkerd-viz-config, namespace: linkerd-viz}\n",
        ),
        ("viz/values.yaml", "replicas: 5\n"),
        ("viz/linkerd-viz-values.yaml", "replicas: 6\n"),
        ("kustomization.yaml", "resources: [viz]\n"),
        ("umbrella/charts/linkerd-crds-2026.8.2.tgz", "no package\n"),
        ("clusters/all.yaml", prunes),
        ("net/other.yaml", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: b}\n"),
        ("crds/more.yaml", "metadata:\n  annotations: {gateway.networking.k8s.io/bundle-version: v1.0.0}\n"),
        ("linkerd.sh", "linkerd install --version edge-26.8.2\n"),
        ("apps/other.yaml", "metadata:\n  annotations:\n    config.linkerd.io/proxy-version: edge-26.8.1\n"),
        (
            ".github/dependabot.yml",
            "version: 2\nupdates: [{package-ecosystem: helm, directory: /umbrella}]\n",
        ),
        ("broken2.yaml", "linkerd: edge-26.8.2\n  - x: [\n"),
    ] {
        all.push(change(format!("{name}: new"), move |world| {
            world.files.insert(name.to_owned(), (text.to_owned(), Mode::File));
        }));
    }
    all
}

/// Changes each fact of the catalog in turn.
pub(super) fn of_catalog(world: &World) -> Vec<Change> {
    let mut all = Vec::new();
    for &version in world.catalog.releases.keys() {
        let of = |what: &str, make: fn(&mut Release)| {
            change(format!("{version}: {what}"), move |world| {
                make(world.catalog.releases.get_mut(&version).unwrap())
            })
        };
        all.push(of("another day", |release| {
            release.published = release.published.map(|at| at + SignedDuration::from_hours(30))
        }));
        all.push(of("no day", |release| release.published = None));
        all.push(of("other notes", |release| {
            release.notes = Some("* feat!: something else (#77)\n".to_owned())
        }));
        all.push(of("no notes", |release| release.notes = None));
        all.push(of("another milestone", |release| release.milestone = Some("2.99".to_owned())));
        all.push(of("recommended", |release| {
            release.guidance =
                Guidance::Recommended { source: "there".to_owned(), cautions: Some("IPv4 only".to_owned()) };
        }));
        all.push(of("a caution", |release| {
            release.guidance = Guidance::Caution { note: "GKE only".to_owned(), source: "there".to_owned() };
        }));
        all.push(change(format!("{version}: unknown"), move |world| {
            drop(world.catalog.releases.remove(&version))
        }));
        for chart in ["linkerd-crds", "linkerd-control-plane", "linkerd-viz", "linkerd2-cni"] {
            let of = |what: &str, make: fn(&mut Packaged)| {
                change(format!("{chart} of {version}: {what}"), move |world| {
                    make(world.catalog.releases.get_mut(&version).unwrap().charts.get_mut(chart).unwrap());
                })
            };
            all.push(of("another digest", |chart| chart.digest = Some("another".to_owned())));
            all.push(of("no digest", |chart| chart.digest = None));
            all.push(of("another range", |chart| chart.kube_version = Some(">=1.99.0-0".to_owned())));
            all.push(of("another address", |chart| chart.url.push('x')));
            all.push(of("another password", |chart| chart.url = chart.url.replace("//", "//me:secret@")));
        }
    }
    for state in [FeedState::Off, FeedState::Failed("it answers 503".to_owned())] {
        all.push(change(format!("the releases' feed: {}", state == FeedState::Off), move |world| {
            world.catalog.feeds.last_mut().unwrap().state = state.clone();
        }));
    }
    for more in [
        "  - {release: edge-26.8.3, kind: one-way, text: No way back., source: here}\n",
        "  - {release: edge-26.8.3, kind: breaking, text: Links., source: here, touches: {charts: [linkerd-viz]}}\n",
        "  - {release: edge-26.8.3, kind: breaking, text: R., source: here, touches: {unset: ['linkerd-crds:replicas']}}\n",
        "  - {release: edge-26.9.1, kind: breaking, text: Later., source: here}\n",
        "kubernetes:\n  - {since: edge-26.8.3, range: '>=1.33.0-0', source: here}\n",
        "hops:\n  - {below: edge-26.8.2, reaching: edge-26.8.3, via: [edge-26.8.2], why: gateway-api-ownership, note: x, source: y}\n",
    ] {
        all.push(change(format!("known: {more}"), move |world| world.catalog.knowledge = knowledge(more)));
    }
    all
}

/// Changes what is neither of the repository nor of the feeds.
pub(super) fn of_the_rest() -> Vec<Change> {
    let mut all = vec![
        change("another Helm", |world| world.renderer.name = "b"),
        change("no index was read", |world| world.served.index = None),
        change("another index", |world| {
            world.served.index = Some("https://mirror.example/charts".to_owned())
        }),
    ];
    for time in [
        "2026-11-21T06:49:43Z",
        "2026-11-21T06:49:44Z",
        "2027-01-01T00:00:01Z",
        "2027-06-01T12:00:00Z",
        "2046-09-17T06:49:43Z",
        "2046-09-17T06:49:44Z",
        "2046-09-18T00:00:00Z",
        "2046-11-16T06:49:44Z",
        "2046-11-16T06:49:45Z",
        "2050-01-01T00:00:00Z",
    ] {
        all.push(change(time, move |world| world.now = time.parse().unwrap()));
    }
    all
}
