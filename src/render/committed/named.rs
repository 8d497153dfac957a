//! Step 7, render: the release of a set whose objects do not name one.
//!
//! In: sets, the versions that there are. Out: the sets, each with its version. The objects of linkerd2-cni name the release
//! of their image; of which charts they are is known by what the charts give.

use std::{collections::BTreeMap, sync::Arc};

use super::{Committed, Regenerate, candidate::chart_id, work::rendered};
use crate::linkerd::CONTROL_PLANE;
use crate::render::{Chart, Renderer};

/// So many versions that differ are rendered to find the one that is committed.
const RENDERED: usize = 40;

/// Returns the sets of a request with their versions: the first of `versions` that gives what is committed, else the one
/// that is nearest. A set of which none can be rendered keeps none.
pub fn named(
    request: &Regenerate<'_>,
    renderer: &dyn Renderer,
    versions: &BTreeMap<String, Vec<String>>,
) -> Vec<Committed> {
    let with_version = |set: &Committed| {
        let found = || version(request, renderer, set, versions.get(&set.chart).map_or(&[], Vec::as_slice));
        let found = || if set.other.is_none() { found() } else { None };
        Committed { version: set.version.clone().or_else(found), ..set.clone() }
    };
    request.committed.iter().map(with_version).collect()
}

fn version(
    request: &Regenerate<'_>,
    renderer: &dyn Renderer,
    set: &Committed,
    versions: &[String],
) -> Option<String> {
    let mut tried: Vec<Arc<Chart>> = Vec::new();
    let mut nearest: Option<(usize, String)> = None;
    let wanted = request.to.get(&set.chart).into_iter().chain(around(request, set)).chain(versions);
    for version in wanted {
        let Ok(chart) = renderer.chart(&chart_id(set, version)) else { continue };
        if tried.iter().any(|known| is_alike(known, &chart)) {
            continue;
        }
        if tried.len() == RENDERED {
            break;
        }
        tried.push(chart);
        let one = Committed { version: Some(version.clone()), ..set.clone() };
        let work = rendered(request, renderer, [&one], false).pop().and_then(|(_, work)| work.ok());
        match work.and_then(|work| work.best).map(|best| best.drifts.len()) {
            Some(0) => return Some(version.clone()),
            Some(drifts) if nearest.as_ref().is_none_or(|(least, _)| drifts < *least) => {
                nearest = Some((drifts, version.clone()));
            }
            _ => {}
        }
    }
    nearest.map(|(_, version)| version)
}

/// Lists the versions that stand near a set: that of the same chart where it is deployed, then those of the sets whose
/// folders have most in common with its own, the control plane's first.
fn around<'r>(request: &Regenerate<'r>, set: &Committed) -> Vec<&'r String> {
    let deployed = request.uses.iter().filter(|found| found.chart == set.chart).map(|found| &found.version);
    let common =
        |other: &Committed| set.path().zip(other.path()).map_or(0, |(own, other)| own.shared_folders(other));
    let mut others: Vec<_> = request.committed.iter().filter(|other| other.version.is_some()).collect();
    others.sort_by_key(|other| (std::cmp::Reverse(common(other)), other.chart != CONTROL_PLANE));
    deployed.chain(others.into_iter().filter_map(|other| other.version.as_ref())).collect()
}

/// Tells whether two versions give the same, since only their numbers differ.
fn is_alike(a: &Chart, b: &Chart) -> bool {
    let files = |chart: &Chart| {
        let own = chart.files.iter().filter(|(path, _)| *path != "Chart.yaml");
        own.map(|(path, text)| (path.clone(), text.clone())).collect::<Vec<_>>()
    };
    files(a) == files(b)
}
