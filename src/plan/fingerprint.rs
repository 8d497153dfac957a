//! Step 6, plan: the fingerprint of a plan's inputs.
//!
//! In: what a plan was made from. Out: SHA-256 in hexadecimal. Only inputs count, never anything rendered, so that
//! a second run over an open pull request sees that nothing is to do. Each field is written with its length, so
//! that no two different inputs give the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::{Move, NewText, Request, Undone};
use crate::repo::{BlobId, RepoPath};

/// The version of our rules. It goes up whenever the same inputs would give another change set.
pub const RULES_VERSION: u32 = 1;

/// Hashes (path, base blob) of the files that moves change, and of those that rendered manifests are made from.
pub(super) fn inputs(request: &Request<'_>, moves: &[Move]) -> String {
    let mut hash = Fields::default();
    for (path, blob) in files(request, moves) {
        hash.add(path.as_str().as_bytes()).add(&blob.0);
    }
    hash.finish()
}

/// Hashes all that decides a change set: its files, target, stage, release, the digests of the release's charts
/// that its pins fix, and the version of our rules.
pub(super) fn fingerprint(request: &Request<'_>, moves: &[Move]) -> String {
    let mut hash = Fields::default();
    hash.add(&RULES_VERSION.to_be_bytes())
        .add(request.target.name.as_bytes())
        .add(request.stage.name().as_bytes())
        .add(request.to.to_string().as_bytes())
        .add(inputs(request, moves).as_bytes());
    let charts: BTreeSet<&str> = moves.iter().flat_map(|m| m.pin.charts()).collect();
    let release = request.catalog.get(request.to);
    for chart in charts {
        let digest = release.and_then(|r| r.charts.get(chart)).and_then(|c| c.digest.as_deref());
        hash.add(chart.as_bytes()).add(digest.unwrap_or_default().as_bytes());
    }
    hash.finish()
}

/// Hashes all that decides what taking a change back comes to: its files as they are now, the change, and our rules.
pub(super) fn back(request: &Request<'_>, moves: &[Move], undone: &Undone) -> String {
    let mut hash = Fields::default();
    hash.add(b"back")
        .add(&RULES_VERSION.to_be_bytes())
        .add(request.target.name.as_bytes())
        .add(request.stage.name().as_bytes())
        .add(undone.commit.to_string().as_bytes())
        .add(inputs(request, moves).as_bytes());
    hash.finish()
}

fn files<'a>(request: &Request<'a>, moves: &'a [Move]) -> BTreeMap<&'a RepoPath, BlobId> {
    let rendered = moves.iter().any(|m| matches!(m.new, NewText::Rendered(_)));
    let sources = request.sources.iter().filter(|_| rendered).map(|(path, blob)| (path, *blob));
    moves.iter().map(|m| (&m.pin.path, m.pin.blob)).chain(sources).collect()
}

#[derive(Default)]
struct Fields(Sha256);

// === impl Fields ===

impl Fields {
    fn add(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        pins::{Inventory, PinKind, Stage},
        plan::{Options, Plan, Target, plan, testing::*},
        release::Catalog,
        repo::BlobId,
    };

    fn build() -> Build {
        Build::default()
            .chart("a.yaml", "linkerd-crds", "2026.8.2")
            .chart("b.yaml", "linkerd-control-plane", "2026.8.2")
            .chart("held.yaml", "linkerd-viz", "2026.8.2")
            .stays(crate::pins::Reason::Held)
    }

    fn made(inventory: &Inventory, catalog: &Catalog, to: &str) -> Plan {
        made_from(inventory, catalog, to, &[])
    }

    fn made_from(inventory: &Inventory, catalog: &Catalog, to: &str, sources: &[(RepoPath, BlobId)]) -> Plan {
        let (target, options) = (Target::default_all(), Options::default());
        let (stage, to) = (Stage::Platform, edge(to));
        let request = Request {
            inventory,
            target: &target,
            stage,
            to,
            hop_towards: None,
            catalog,
            options: &options,
            sources,
        };
        plan(&request).unwrap().unwrap()
    }

    #[test]
    fn the_same_inputs_give_the_same_fingerprint_and_each_input_counts() {
        let catalog = catalog(&["edge-26.8.3", "edge-26.8.4"]);
        let inventory = build().inventory();
        let first = made(&inventory, &catalog, "edge-26.8.3");
        let again = made(&inventory, &catalog, "edge-26.8.3");
        assert_eq!((&first.fingerprint, &first.inputs), (&again.fingerprint, &again.inputs));
        assert_eq!(first.fingerprint.len(), 64);

        let newer = made(&inventory, &catalog, "edge-26.8.4");
        assert_ne!(first.fingerprint, newer.fingerprint);
        assert_eq!(first.inputs, newer.inputs, "the release is no part of the inputs");

        let mut other = catalog.clone();
        let release = other.releases.get_mut(&edge("edge-26.8.3")).unwrap();
        release.charts.get_mut("linkerd-crds").unwrap().digest = Some("other".into());
        assert_ne!(first.fingerprint, made(&inventory, &other, "edge-26.8.3").fingerprint);
        release_charts_not_needed_do_not_count(&inventory, catalog, &first);
    }

    fn release_charts_not_needed_do_not_count(inventory: &Inventory, mut catalog: Catalog, first: &Plan) {
        let release = catalog.releases.get_mut(&edge("edge-26.8.3")).unwrap();
        release.charts.get_mut("linkerd-multicluster").unwrap().digest = Some("other".into());
        assert_eq!(first.fingerprint, made(inventory, &catalog, "edge-26.8.3").fingerprint);
    }

    #[test]
    fn what_a_rendered_manifest_is_made_from_counts() {
        let catalog = catalog(&["edge-26.8.3"]);
        let values = |n| [(path("values.yaml"), BlobId([n; 20]))];
        let of = |inventory: &Inventory, n| made_from(inventory, &catalog, "edge-26.8.3", &values(n)).inputs;
        let pins = build().inventory();
        assert_eq!(of(&pins, 1), of(&pins, 2), "nothing is rendered");
        let rendered =
            build().pin("out.yaml", PinKind::RenderedManifest, "linkerd/helm edge-26.8.2").inventory();
        assert_ne!(of(&rendered, 1), of(&rendered, 2));
    }

    #[test]
    fn a_changed_file_of_the_change_set_counts_and_another_does_not() {
        let catalog = catalog(&["edge-26.8.3"]);
        let mut inventory = build().inventory();
        let first = made(&inventory, &catalog, "edge-26.8.3");
        let held = inventory.pins().position(|p| p.path.as_str() == "held.yaml").unwrap();
        Arc::make_mut(&mut inventory.pins[held]).blob = BlobId([9; 20]);
        assert_eq!(first.fingerprint, made(&inventory, &catalog, "edge-26.8.3").fingerprint);
        Arc::make_mut(&mut inventory.pins[0]).blob = BlobId([9; 20]);
        let moved = made(&inventory, &catalog, "edge-26.8.3");
        assert!(first.fingerprint != moved.fingerprint && first.inputs != moved.inputs);
    }
}
