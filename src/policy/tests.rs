//! One test a rule of the policy and a trap of it, one file a subject; here is what they share.

mod chain;
mod data_plane;
mod decide;
mod describe;
mod eligible;
mod hops;
mod promotion;
mod properties;
mod quiet;

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::*;
use crate::release::{Catalog, Chart, Feed, FeedState, Guidance, Release};

const CRDS: &str = "linkerd-crds";

fn edge(text: &str) -> EdgeVersion {
    format!("edge-{text}").parse().unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A Friday.
fn now() -> Timestamp {
    at("2026-08-21T12:00:00Z")
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}

/// A ready release of that age.
fn release(version: &str, age: i64) -> Release {
    let version = edge(version);
    let mut release = Release::new(version);
    release.published = Some(now() - days(age));
    release.charts = BTreeMap::from([(CRDS.to_owned(), chart(version))]);
    release
}

fn chart(version: EdgeVersion) -> Chart {
    Chart {
        version: version.chart(),
        url: "https://example.com/a.tgz".into(),
        digest: None,
        kube_version: None,
    }
}

fn catalog(releases: impl IntoIterator<Item = Release>) -> Catalog {
    let releases = releases.into_iter().map(|release| (release.version, release)).collect();
    let feeds = ["charts", "releases"].map(|name| Feed { name, state: FeedState::Read }).to_vec();
    Catalog { releases, feeds, ..Catalog::default() }
}

fn three() -> Catalog {
    catalog([release("26.8.1", 22), release("26.8.2", 9), release("26.8.3", 1)])
}

fn needs(lowest: &str, highest: &str) -> Needs {
    let charts = vec![ChartNeed { chart: CRDS.into(), mirror: None }];
    Needs {
        charts,
        lowest: Some(edge(lowest)),
        steps_from: Some(edge(lowest)),
        laggard: Some("a.yaml:7".to_owned()),
        highest: Some(edge(highest)),
        ..Needs::default()
    }
}

fn against(version: &str) -> Release {
    let guidance = Guidance::NotRecommended {
        instead: vec![edge("26.9.1")],
        note: "leaks".into(),
        source: "notes".into(),
    };
    Release { guidance, ..release(version, 1) }
}

fn target(decision: Decision) -> String {
    match decision {
        Decision::Target { version, .. } => version.to_string(),
        Decision::Hold(hold) => panic!("{hold}"),
    }
}

fn hold(decision: Decision) -> Hold {
    match decision {
        Decision::Target { version, .. } => panic!("{version}"),
        Decision::Hold(hold) => hold,
    }
}
