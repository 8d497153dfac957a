//! Step 5, pins: pins of what the model says is deployed.
//!
//! In: charts and objects whose scalars know where they were written. Out: a pin where each release of Linkerd that they
//! read was written, in whatever file. Readers push claims; the places are looked at once, when all are gathered.

mod beyond;
mod by_file;
mod charts;
mod claim;
mod claims;
mod dependencies;
mod foreign;
mod guarded;
mod images;
mod objects;
mod pods;
mod reading;
mod release;
mod rest;
mod roots;
mod site;
mod traced;
mod uses;
mod values;
mod values_files;

use std::{collections::BTreeSet, ops::Range};

use super::{Home, Pin, PinKind, Skipped, annotation, context::Context, found::Found, place::Place};
use crate::{
    deploy::{Build, Cluster, Files as _, Object, Scalar, fleet},
    repo::RepoPath,
};

pub(super) use by_file::{helmfile, terraform};
pub(super) use charts::{note_aliases, report as report_charts};
use claims::Places;
pub(super) use claims::{Claims, agrees};
use pods::Injection;
use release::take_release;
pub(super) use rest::report as report_rest;
pub(super) use roots::roots;

/// Makes the pins of all that was claimed. Returns what is read by what is not Linkerd's, by file and bytes.
pub(super) fn pins(
    context: &Context<'_>,
    mut claims: Claims,
    found: &mut Found,
) -> Vec<(RepoPath, Range<usize>)> {
    found.deployments.append(&mut claims.deployments);
    found.aliases_read.extend(std::mem::take(&mut claims.aliases));
    // What a chart has made is said as a whole.
    let made: BTreeSet<RepoPath> = found.rendered.iter().map(|file| file.path.clone()).collect();
    let dependencies = std::mem::take(&mut claims.dependencies);
    let Places { claims: mut places, guarded, foreign } = claims.into_places();
    places.retain(|claim| claim.spec.kind != PinKind::Image || !made.contains(&claim.path));
    reading::note_held(context, &mut places);
    site::pins(context, &places, found);
    guarded.keep(&mut found.pins);
    guarded.note_ranges(&mut found.pins);
    dependencies.leave_off(&mut found.pins);
    foreign
}

/// Tells whether what an object of no shape names is read by what is deployed: values of a chart of k3s. What a marker moves
/// is not among what is named, and says nothing of the rest.
pub(super) fn tells(found: &Found, skipped: &Skipped) -> bool {
    let is_read = |pin: &&Pin| pin.path == skipped.path && pin.kind != PinKind::Marker;
    let told = |version| found.pins.iter().filter(is_read).any(|pin| pin.version == Some(version));
    !skipped.versions.is_empty() && skipped.versions.iter().all(|version| told(*version))
}

/// Takes what bundles of Fleet's deploy that a file tells of.
pub(super) fn fleet(context: &Context<'_>, place: Place<'_>, claims: &mut Claims) {
    let path = &place.file.path;
    let Ok(documents) = context.files.documents(path.as_str()) else { return };
    for document in &fleet::told(path, &documents, &Object::of_file(context.files, path)) {
        let maps = if fleet::asks_for_maps(document) { maps(context) } else { Vec::new() };
        let (cluster, namespaces) = (Cluster::new(&maps), fleet::namespaces(document));
        let Build { charts, notes, .. } = fleet::releases((context.files, &cluster), path, document);
        claims.beyond.take_evaluated(&notes);
        for release in charts {
            let is_own = |made: &&fleet::Namespaced<'_>| {
                made.name.map(Scalar::text) == release.namespace.as_ref().map(Scalar::text)
            };
            let own = namespaces.iter().filter(is_own);
            let injected = own.map(|made| pods::told(made.labels, Some(made.annotations))).min();
            take_release(context, &release, PinKind::Fleet, injected.unwrap_or_default(), claims);
            claims.uses.take(context, &release);
        }
        let mut idle = Claims::default();
        for release in fleet::idle((context.files, &cluster), path, document) {
            take_release(context, &release, PinKind::Fleet, Injection::Open, &mut idle);
        }
        claims.append_without_effect(idle);
        for made in namespaces {
            let name = made.name.map(Scalar::text);
            let stays = pods::opted_out(made.annotations, pods::told(made.labels, None));
            for (version, spec) in annotation::versions(made.annotations) {
                let home = context.options.homes.then(|| Home::new(name.as_deref(), made.labels));
                claims.take(version, &spec.at_home(home).staying(stays));
            }
        }
    }
}

/// Returns the objects that others refer to.
fn maps(context: &Context<'_>) -> Vec<Object> {
    context.index.referable.iter().flat_map(|path| Object::of_file(context.files, path)).collect()
}
