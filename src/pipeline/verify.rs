//! Compares what is committed of charts with what their versions and values give.

use crate::{
    config,
    pipeline::{Error, rendering::Rendering, survey::Survey},
    release::Catalog,
    render::{
        NotRendered, Renderer,
        committed::{Committed, Drift, Proofs},
    },
    report::{DriftRow, ManifestRow, UnprovenRow, VerifyReport},
    scan::Tree,
};

/// Proves the committed manifests of a tree, target by target.
pub(super) fn verify(
    tree: &dyn Tree,
    catalog: &Catalog,
    renderer: &dyn Renderer,
) -> Result<VerifyReport, Error> {
    let config = config::read(tree)?;
    let survey = Survey::new(tree, &config, catalog, &[])?;
    let mut report = VerifyReport::default();
    for target in &config.targets {
        let rendering = Rendering::new(&survey, target, renderer);
        let proofs = rendering.proofs();
        report.manifests.extend(rendering.committed().iter().filter_map(|set| row(set, &proofs)));
        report.drifts.extend(proofs.drifts.iter().map(drift));
        report.unproven.extend(proofs.missing.into_iter().map(unproven));
        report.helm = report.helm.or_else(|| rendering.helm().filter(|_| !rendering.committed().is_empty()));
    }
    Ok(report)
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
    }
}

fn unproven(not: NotRendered) -> UnprovenRow {
    UnprovenRow { path: not.path, chart: not.chart, reason: not.reason, mend: not.mend }
}
