//! Step 8, verify: charts of the repository that change while their own version stays.
//!
//! In: the change set, and the charts that deployers take anew by version alone. Out: a `warn` for each of them: Flux goes on with
//! what it has packaged, and Terraform plans nothing for what only the chart's files say.

use std::collections::{BTreeMap, BTreeSet};

use super::{CheckId, Checked, Finding, Verification, count, listed};
use crate::{
    deploy::chart::Renewal,
    pins::Versioned,
    repo::RepoPath,
    yaml::{Stream, position},
};

pub(super) const ID: CheckId = CheckId::ChartVersion;
/// How many of those who ask for a chart are named.
const NAMED: usize = 3;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let mut charts: BTreeMap<(&str, Renewal), BTreeSet<&Versioned>> = BTreeMap::new();
    for chart in &input.inventory.facts.versioned {
        charts.entry((chart.folder.as_str(), chart.renewal)).or_default().insert(chart);
    }
    let findings = charts.iter().filter_map(|((_, renewal), all)| {
        let is_changed = |chart: &&&Versioned| input.changes.files.iter().any(|file| chart.has(&file.path));
        let changed: Vec<&&Versioned> = all.iter().filter(is_changed).collect();
        let (path, line, version) = unchanged(input, changed.first()?)?;
        let by = changed.iter().map(|chart| &chart.path).collect();
        Some(finding((*renewal, version.as_str()), &by).at(&path, Some(line)))
    });
    let findings = findings.collect();
    Checked { looked_at: format!("the versions of {}", count(charts.len(), "chart")), findings }
}

fn finding((renewal, version): (Renewal, &str), by: &BTreeSet<&RepoPath>) -> Finding {
    let asks = listed(by.iter().map(|path| format!("`{path}`")), NAMED);
    let (goes_on, other) = match renewal {
        Renewal::TerraformVersion => (
            format!("by itself that is nothing that Terraform plans in {asks}"),
            "have the provider compare manifests",
        ),
        Renewal::Change | Renewal::FluxVersion => (
            format!("Flux goes on with the chart that it has packaged for {asks}"),
            "have `reconcileStrategy: Revision` there",
        ),
    };
    let reason = format!("the chart changes and its version stays `{version}`: {goes_on}");
    Finding::warn(ID, reason).hint(format!("raise the version in this branch, or {other}"))
}

/// Reads the version of a chart, with its place; `None` where the change gives it another one.
fn unchanged(input: &Verification<'_>, chart: &Versioned) -> Option<(RepoPath, usize, String)> {
    let path = chart.named_in()?;
    let before = input.before.read(input.before.entry(path.as_str())?.id).ok()?;
    let (line, version) = version_of(&before)?;
    let after = match input.changes.files.iter().find(|file| file.path == path) {
        Some(change) => version_of(change.after.as_deref()?)?.1,
        None => version.clone(),
    };
    (after == version).then_some((path, line, version))
}

/// Reads the version of a chart, with its line.
fn version_of(text: &[u8]) -> Option<(usize, String)> {
    let text = std::str::from_utf8(text).ok()?;
    let stream = Stream::parse(text).ok()?;
    let chart = stream.roots().next()?;
    let (line, _) = position(text, chart.get("version")?.span().start);
    Some((line, chart.text(&["version"])?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pins::PinKind,
        plan::testing::path,
        verify::{Severity::*, testing::*},
    };

    /// A chart that takes in one of Linkerd's, at a version of its own, as it is asked for in these files.
    fn found(version: &str, renewal: Renewal, asked: &[&str]) -> Vec<Finding> {
        let chart = |file: &&str| Versioned {
            folder: "charts/mesh".to_owned(),
            renewal,
            path: path(file),
            inner: BTreeSet::new(),
            values: BTreeSet::new(),
        };
        let all: BTreeSet<Versioned> = asked.iter().map(chart).collect();
        let case = Case::default().pins(|b| {
            let b = b.pin("charts/mesh/Chart.yaml", PinKind::ChartDependency, "2026.8.2").of("linkerd-crds");
            b.facts(|facts| facts.versioned = all)
        });
        let text = format!("name: mesh\nversion: {version}\ndependencies:\n- {{version: 2026.8.2}}\n");
        case.file("charts/mesh/Chart.yaml", &text).check(ID)
    }

    #[test]
    fn flux_goes_on_with_a_chart_whose_version_stays() {
        let found = found("0.1.0", Renewal::FluxVersion, &["a/mesh.yaml", "b/mesh.yaml"]);
        assert_eq!(severities(&found), [Warn]);
        let place = found[0].place.as_ref().unwrap();
        assert_eq!((place.path.as_str(), place.line), ("charts/mesh/Chart.yaml", Some(2)));
        let reason = &found[0].reason;
        assert!(reason.contains("stays `0.1.0`"), "{reason}");
        assert!(reason.ends_with("for `a/mesh.yaml`, `b/mesh.yaml`"), "{reason}");
    }

    #[test]
    fn terraform_may_be_told_of_it_by_another_argument() {
        assert_eq!(severities(&found("0.1.0", Renewal::TerraformVersion, &["main.tf"])), [Warn]);
    }

    #[test]
    fn a_version_that_moves_with_the_change_is_another_one() {
        // The first of the two is the version of the chart itself.
        assert_eq!(found("2026.8.2", Renewal::FluxVersion, &["a/mesh.yaml"]), []);
    }

    #[test]
    fn what_is_not_in_the_chart_changes_nothing_of_it() {
        let other = Versioned {
            folder: "charts/other".to_owned(),
            renewal: Renewal::FluxVersion,
            path: path("a.yaml"),
            inner: BTreeSet::new(),
            values: BTreeSet::new(),
        };
        let with = |inner: &[&str]| {
            let other = Versioned { inner: inner.iter().map(|at| path(at)).collect(), ..other.clone() };
            let case = Case::default().pins(|b| {
                let b = b.chart("charts/mesh/mesh.yaml", "linkerd-crds", "2026.8.2");
                b.facts(|facts| facts.versioned = [other].into())
            });
            case.file("charts/other/Chart.yaml", "name: other\nversion: 0.1.0\n").check(ID)
        };
        assert_eq!(with(&[]), []);
        assert_eq!(severities(&with(&["charts/mesh"])), [Warn], "what it takes in is packaged with it");
    }
}
