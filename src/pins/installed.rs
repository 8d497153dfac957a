//! Step 5, pins: which installations a pin serves.
//!
//! In: pins, and the files from which what they are in is deployed. Out: the names of the installations, put to each pin.
//! What an installation is, is `deploy`'s to say; here is only what of Linkerd tells one from another.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use super::{
    Facts, Form, Installations, Inventory, Pin, PinKind, Reason, RepoPath, Stage, context::Context,
    deployed::agrees, index::Release, origin::ENTERPRISE, renderings,
};
use crate::{
    deploy::{self, Applied, Knows, Mark, Note, Role, tree_chart::Evaluations},
    linkerd,
};

/// Puts to each pin the installations that it serves, and to the facts all that is known of them; returns what was not
/// looked at. `applied` is what tools bring that are run, `made` what charts of the tree came to.
pub(super) fn name(
    context: &Context<'_>,
    applied: Vec<Applied>,
    made: &Evaluations,
    pins: &mut [Pin],
    facts: &mut Facts,
) -> Vec<Note> {
    let homes = renderings::homes(&facts.rendered, linkerd::CONTROL_PLANE);
    let marks: Vec<Mark> = pins.iter().map(|pin| mark(pin, &homes)).collect();
    let index = context.index;
    let is_ours = |chart: &str| linkerd::is_chart(chart) || chart.starts_with(ENTERPRISE);
    let ours = index.releases.iter().filter(|release| is_ours(&release.chart));
    // Who has a chart of Linkerd's rendered need not name it: the version may stand in the chart, or in its source.
    let users: HashSet<&RepoPath> =
        facts.uses.iter().flat_map(|found| [&found.path].into_iter().chain(&found.by)).collect();
    let asks = |path: &&RepoPath| users.contains(path) && !context.is_template(path);
    let asking = || index.releases.iter().map(|release| &release.path).filter(asks);
    // Nor need who has a chart of the tree rendered that brings proxies alone.
    let around: HashSet<&str> = pins.iter().flat_map(|pin| folders(&pin.path)).collect();
    let renders = |release: &&Release| {
        let folder = RepoPath::resolve_folder("", release.chart.trim_start_matches('/'));
        folder.is_some_and(|folder| around.contains(&*folder)) && !context.is_template(&release.path)
    };
    let rendering = || index.releases.iter().filter(renders).map(|release| &release.path);
    // A bundle of Fleet's brings what lies in its folder, and may name a version of nothing but that.
    let is_around = |path: &&RepoPath| path.folder().is_empty() || around.contains(path.folder());
    let bundles = || index.bundles.iter().filter(is_around);
    let makers = || {
        let ours = ours.clone().map(|release| &release.path);
        index.makers.iter().chain(ours).chain(asking()).chain(rendering()).chain(bundles())
    };
    let kustomizations = index.kustomizations.values().map(|kustomization| &kustomization.path);
    let roots: HashSet<&RepoPath> =
        index.roots.iter().map(|root| &root.path).chain(makers()).chain(kustomizations).collect();
    let from = pins.iter().map(|pin| &pin.path).chain(makers()).cloned();
    let entries: Vec<RepoPath> =
        context.layout.outwards(from).into_iter().filter(|path| roots.contains(path)).collect();
    let knows = Knows { is_plane: &linkerd::is_control_plane, agrees: &agrees };
    let found = deploy::installations(context.files, &entries, applied, made, &marks, knows);
    let names: Vec<Arc<str>> = found.names.iter().map(|name| Arc::from(name.as_str())).collect();
    for (pin, of) in pins.iter_mut().zip(found.of) {
        pin.installations = of.into_iter().filter_map(|n| names.get(n).cloned()).collect();
    }
    let those = |are: &[bool]| {
        names.iter().zip(are).filter(|(_, is)| **is).map(|(name, _)| name.clone()).collect::<BTreeSet<_>>()
    };
    (facts.bare, facts.suspended) = (those(&found.bare), those(&found.suspended));
    // What another cluster reads too goes on, and they take it later.
    for ((pin, mark), waiting) in pins.iter_mut().zip(&marks).zip(&found.waiting) {
        let waits = |name: &Arc<str>| waiting.iter().any(|n| names.get(*n) == Some(name));
        let rests = |name: &Arc<str>| facts.suspended.contains(name) || waits(name);
        let mut all = pin.installations.iter();
        let is_left = match mark.role {
            Role::ControlPlane => all.all(rests),
            Role::Platform => is_version(pin) && pin.is_of(linkerd::CRDS) && all.all(waits),
            Role::Proxy | Role::Other => false,
        };
        if is_left && !pin.installations.is_empty() {
            pin.stays.get_or_insert(Reason::Suspended);
        }
    }
    share_crds(pins, &marks);
    facts.labels = names.iter().cloned().zip(found.labels).collect();
    (facts.installations, facts.roots, facts.rootless) = (names, found.roots, !found.notes.is_empty());
    found.notes
}

/// Puts the only CRDs of the tree to the control planes too that helmfiles bring and to which nothing brings any: none runs
/// without. A helmfile with CRDs and no control plane may be run by itself, whoever takes it in.
fn share_crds(pins: &mut [Pin], marks: &[Mark]) {
    let brings = |(_, (pin, mark)): &(usize, (&Pin, &Mark))| {
        pin.is_of(linkerd::CRDS) && is_version(pin) && !pin.is_off && mark.role != Role::Other
    };
    let all = &*pins;
    let crds: Vec<_> = (0..).zip(all.iter().zip(marks)).filter(brings).collect();
    let Some((at, (only, _))) = crds.first().copied().filter(|_| crds.len() == 1) else { return };
    let planes = || {
        let planes = all.iter().zip(marks).filter(|(_, mark)| mark.role == Role::ControlPlane);
        planes.map(|(pin, _)| pin).filter(|pin| !pin.is_off)
    };
    let is_run = |pin: &Pin| pin.kind == PinKind::Helmfile;
    if !is_run(only) || planes().any(|plane| plane.path == only.path) {
        return;
    }
    let others: BTreeSet<&Arc<str>> =
        planes().filter(|plane| !is_run(plane)).flat_map(|plane| plane.installations.iter()).collect();
    let run = planes().flat_map(|plane| plane.installations.iter()).filter(|name| !others.contains(name));
    let theirs: BTreeSet<Arc<str>> = run.chain(only.installations.iter()).cloned().collect();
    if let Some(pin) = pins.get_mut(at) {
        pin.installations = theirs.into_iter().collect();
    }
}

// === impl Inventory ===

impl Inventory {
    /// Takes over the installations that another scan found, of the same repository before an edit: an edit moves
    /// releases, and no pin from one installation to another.
    pub fn take_installations(&mut self, before: &Self) {
        self.facts.installations.clone_from(&before.facts.installations);
        self.facts.labels.clone_from(&before.facts.labels);
        self.facts.bare.clone_from(&before.facts.bare);
        self.facts.suspended.clone_from(&before.facts.suspended);
        let mut from = 0;
        for own in self.pins.chunk_by_mut(|a, b| a.path == b.path) {
            let Some(path) = own.first().map(|pin| pin.path.clone()) else { continue };
            from += before.pins.get(from..).map_or(0, |rest| rest.partition_point(|pin| pin.path < path));
            let old = before.pins.get(from..).unwrap_or_default();
            let old = old.get(..old.partition_point(|pin| pin.path == path)).unwrap_or_default();
            let all: BTreeSet<&Arc<str>> = old.iter().flat_map(|pin| pin.installations.iter()).collect();
            let all: Installations = all.into_iter().cloned().collect();
            let same = old.len() == own.len();
            for (n, pin) in own.iter_mut().enumerate() {
                let there = old.get(n).filter(|_| same);
                let pin = Arc::make_mut(pin);
                pin.installations = there.map_or_else(|| all.clone(), |old| old.installations.clone());
                let is_suspended = there.is_some_and(|old| old.stays == Some(Reason::Suspended));
                pin.stays = pin.stays.or(is_suspended.then_some(Reason::Suspended));
            }
        }
    }
}

/// Lists the folders that a file lies in.
fn folders(path: &RepoPath) -> impl Iterator<Item = &str> {
    path.as_str().match_indices('/').filter_map(|(at, _)| path.as_str().get(..at))
}

/// Tells whether a pin says which release of a chart is deployed: a tag is that of an image, whatever it is written in.
fn is_version(pin: &Pin) -> bool {
    pin.readers().any(|reader| reader.form != Form::Edge)
        && !matches!(
            pin.kind,
            PinKind::ChartLock
                | PinKind::Marker
                | PinKind::Image
                | PinKind::KustomizeImage
                | PinKind::ProxyAnnotation
                | PinKind::Other
        )
}

/// `homes` are the folders that renderings of a control plane lie in, by their files.
fn mark(pin: &Pin, homes: &BTreeMap<&RepoPath, &str>) -> Mark {
    let is_rendered = pin.kind == PinKind::RenderedManifest;
    let role = match () {
        () if pin.stage == Stage::DataPlane && pin.stays.is_none() => Role::Proxy,
        () if pin.stage == Stage::DataPlane || pin.kind == PinKind::Other => Role::Other,
        () if pin.ended.is_some() || pin.stays == Some(Reason::NoEffect) => Role::Other,
        // A control plane is what runs, and not whatever has a mark of one.
        () if is_rendered && pin.is_off => Role::Platform,
        () if is_version(pin) && pin.charts().any(linkerd::is_control_plane) => Role::ControlPlane,
        () => Role::Platform,
    };
    // What Helm printed lies over many files, of one folder or of one for each kind.
    let home = homes.get(&pin.path).copied().filter(|_| is_rendered).unwrap_or(pin.path.folder());
    let unit = if is_rendered { format!("{home}/") } else { pin.path.to_string() };
    Mark { path: pin.path.clone(), span: pin.site.span.clone(), unit, role }
}
