//! Compares what is committed of charts with what their versions and values give, and versions with each other.

use crate::{
    config,
    pipeline::{Error, rendering::Rendering, survey::Survey, targets::Aim},
    plan::Served,
    release::Catalog,
    render::{
        NotRendered, Renderer,
        committed::{Committed, Drift, Own, Proofs},
    },
    repo::Tree,
    report::{DriftRow, ManifestRow, OwnRow, UnprovenRow, VerifyReport},
    verify::{
        Place,
        at_rest::{AtRest, Deployed, Proxies, at_rest, proxies_at_rest},
    },
};

/// Proves the committed manifests of a tree, target by target.
pub(super) fn verify(
    tree: &dyn Tree,
    catalog: &Catalog,
    renderer: &dyn Renderer,
    now: jiff::Timestamp,
) -> Result<VerifyReport, Error> {
    let config = config::read(tree)?;
    let survey =
        Survey::new(tree, &config, catalog, &Served::default(), Aim::default(), renderer.evaluator())?;
    let mut report = VerifyReport::default();
    let mut committed = Vec::new();
    // A wave has nothing that its target does not have.
    for target in survey.targets.iter().filter(|target| target.target.whole() == target.target.name) {
        let rendering = Rendering::new(&survey, target, tree, renderer);
        let proofs = rendering.proofs();
        report.manifests.extend(proofs.sets.iter().filter_map(|set| row(set, &proofs)));
        report.drifts.extend(proofs.drifts.iter().map(drift));
        report.own.extend(proofs.own.iter().map(own));
        let proxies = Proxies {
            inventory: &survey.inventory,
            target: &target.target,
            control_plane: config.data_plane.control_plane,
            knowledge: &catalog.knowledge,
        };
        report.proxies += proxies.count();
        report.findings.extend(proxies_at_rest(&proxies));
        report.unproven.extend(proofs.missing.into_iter().map(unproven));
        report.helm = report.helm.or_else(|| rendering.helm().filter(|_| rendering.has_committed()));
        committed.extend(proofs.sets);
    }
    let deployed = deployed(&survey, &committed);
    report.deployed = deployed.len();
    let rest = AtRest { inventory: &survey.inventory, deployed: &deployed, committed: &committed, now };
    report.findings.extend(at_rest(&rest));
    Ok(report)
}

/// Lists what a tree deploys of Linkerd's charts and what it has committed of them, where one release is named.
fn deployed(survey: &Survey<'_>, committed: &[Committed]) -> Vec<Deployed> {
    let edge = |chart: &str, version: &str| {
        let exact = version.trim().trim_start_matches(['=', 'v', ' ']);
        survey.catalog.edge_of_chart(chart, exact)
    };
    let uses = survey.inventory.facts.uses.iter().filter_map(|found| {
        Some(Deployed {
            chart: found.chart.clone(),
            version: edge(&found.chart, &found.version)?,
            place: Place { path: found.path.clone(), line: Some(found.line) },
            by: found.by.iter().cloned().collect(),
            values: found.sources.iter().cloned().collect(),
        })
    });
    let sets = committed.iter().filter_map(|set| {
        Some(Deployed {
            chart: set.chart.clone(),
            version: edge(&set.chart, set.version.as_ref()?)?,
            place: Place { path: set.path()?.clone(), line: Some(set.line()) },
            by: Vec::new(),
            values: Vec::new(),
        })
    });
    uses.chain(sets).collect()
}

fn row(set: &Committed, proofs: &Proofs) -> Option<ManifestRow> {
    let path = set.path()?.clone();
    let is_mine = |other: &_| set.files.iter().any(|file| file.path == *other);
    let id = |version: &String| format!("{} {version}", set.chart);
    let of_chart = |drift: &Drift| set.version.as_ref().map(id).is_none_or(|id| drift.chart == id);
    let differs = proofs.drifts.iter().any(|drift| is_mine(&drift.path) && of_chart(drift));
    let unknown = proofs.missing.iter().any(|m| m.chart == set.chart && m.files.iter().any(is_mine));
    Some(ManifestRow {
        path,
        files: set.files.len(),
        chart: set.chart.clone(),
        version: set.version.clone(),
        namespace: set.namespace.clone(),
        proven: !differs && !unknown,
    })
}

fn drift(drift: &Drift) -> DriftRow {
    DriftRow {
        path: drift.path.clone(),
        line: drift.line,
        chart: drift.chart.clone(),
        object: drift.object.to_string(),
        field: drift.field.clone(),
        reason: drift.to_string(),
        hint: drift.hint().to_owned(),
    }
}

fn own(own: &Own) -> OwnRow {
    OwnRow {
        path: own.path.clone(),
        line: own.line,
        object: own.object.to_string(),
        command: own.command.map(str::to_owned),
    }
}

fn unproven(not: NotRendered) -> UnprovenRow {
    let (reason, hint) = (not.cause.to_string(), not.cause.hint().to_owned());
    UnprovenRow { path: not.path, chart: not.chart, reason, hint }
}
