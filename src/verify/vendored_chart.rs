//! Step 8, verify: copies of charts that lie committed under an umbrella chart.
//!
//! In: the moving dependencies of `Chart.yaml` and the names of the files beside it. Out: a `block` for each that is
//! committed in `charts/` too, at another release than it moves to: Helm takes what lies there by its name alone.

use std::collections::BTreeSet;

use super::{CheckId, Checked, Finding, Verification, count};
use crate::{
    linkerd::EdgeVersion,
    pins::PinKind,
    repo::{Entry, RepoPath},
    yaml::Stream,
};

pub(super) const ID: CheckId = CheckId::VendoredChart;
/// What an unpacked chart has.
const UNPACKED: &str = "Chart.yaml";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let umbrella = |kind| matches!(kind, PinKind::ChartDependency | PinKind::ChartLock);
    let moving = input.moving().filter(|(pin, _)| umbrella(pin.kind));
    let charts: BTreeSet<(&str, &str)> =
        moving.flat_map(|(pin, _)| pin.charts().map(|chart| (pin.path.folder(), chart))).collect();
    let copies = charts.iter().filter_map(|(folder, chart)| copy(input, folder, chart));
    let findings = copies
        .map(|(path, folder, chart)| {
            let reason = format!(
                "{chart} lies here as a committed copy, which Helm takes whatever `Chart.yaml` says: the old release would \
                 stay, and be on under its own name where it has an alias"
            );
            let at = if folder.is_empty() { "." } else { folder };
            // Helm replaces packages, and puts one beside a folder (`downloadAll` of its downloader).
            let first = if path.name() == UNPACKED {
                format!("remove `{}/`, ", path.folder())
            } else {
                String::new()
            };
            let hint = format!("{first}run `helm dependency update {at}` on this branch and commit what it makes");
            Finding::block(ID, reason).at(path, None).hint(hint)
        })
        .collect();
    Checked { looked_at: format!("what lies beside {}", count(charts.len(), "dependency")), findings }
}

/// Looks for a chart in `charts/`, unpacked or as a package of a release, that is not what it moves to.
fn copy<'a>(
    input: &Verification<'a>,
    folder: &'a str,
    chart: &'a str,
) -> Option<(&'a RepoPath, &'a str, &'a str)> {
    let entries = input.before.entries();
    let home = if folder.is_empty() { "charts/".to_owned() } else { format!("{folder}/charts/") };
    let first = entries.partition_point(|entry| entry.path.as_str() < home.as_str());
    let inside = entries.get(first..)?.iter().take_while(|entry| entry.path.as_str().starts_with(&home));
    let is_other = |entry: &&Entry| {
        let rest = entry.path.as_str().strip_prefix(&home).and_then(|rest| rest.strip_prefix(chart));
        // Helm takes it whatever its version is: the old schemes count their own.
        let packed = |rest: &str| {
            let version = rest.strip_prefix('-').and_then(|rest| rest.strip_suffix(".tgz"))?;
            semver::Version::parse(version).ok().map(|_| EdgeVersion::from_chart(version))
        };
        rest.is_some_and(|rest| match rest {
            rest if rest.strip_prefix('/') == Some(UNPACKED) => unpacked(input, entry) != Some(input.plan.to),
            rest => packed(rest).is_some_and(|release| release != Some(input.plan.to)),
        })
    };
    // A folder stays where Helm replaces the package beside it: Helm then takes both, with the values of the first.
    let found = inside.filter(is_other).max_by_key(|entry| entry.path.name() == UNPACKED);
    found.map(|entry| (&entry.path, folder, chart))
}

/// Reads the release of an unpacked chart; `None` where it is of none.
fn unpacked(input: &Verification<'_>, entry: &Entry) -> Option<EdgeVersion> {
    let bytes = input.before.read(entry.id).ok()?;
    let stream = Stream::parse(std::str::from_utf8(&bytes).ok()?).ok()?;
    EdgeVersion::from_chart(stream.roots().next()?.text(&["version"])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn beside(files: &[&str]) -> Vec<Finding> {
        let case = Case::default().pins(|b| {
            b.pin("mesh/Chart.lock", PinKind::ChartLock, "2026.8.2")
                .of("linkerd-crds")
                .pin("mesh/Chart.yaml", PinKind::ChartDependency, "2026.8.2")
                .of("linkerd-crds")
        });
        files.iter().fold(case, |case, file| case.file(file, "x\n")).check(ID)
    }

    #[test]
    fn a_committed_copy_of_a_dependency_blocks_once() {
        let package = |version: &str| format!("mesh/charts/linkerd-crds-{version}.tgz");
        for copy in ["mesh/charts/linkerd-crds/Chart.yaml", &package("2026.8.2"), &package("30.12.11")] {
            let found = beside(&[copy, "mesh/charts/linkerd-crds/values.yaml"]);
            assert_eq!(severities(&found), [Block], "{copy}");
            assert_eq!(found[0].place.as_ref().unwrap().path.as_str(), copy);
            let hint = found[0].hint.as_ref().unwrap();
            assert!(hint.contains("run `helm dependency update mesh`"), "{hint}");
            assert_eq!(
                hint.contains("remove `mesh/charts/linkerd-crds/`"),
                copy.ends_with(".yaml"),
                "{hint}"
            );
        }
    }

    #[test]
    fn a_folder_is_named_before_the_package_beside_it() {
        let folder = "mesh/charts/linkerd-crds/Chart.yaml";
        let found = beside(&["mesh/charts/linkerd-crds-2026.8.2.tgz", folder]);
        assert_eq!(severities(&found), [Block]);
        assert_eq!(found[0].place.as_ref().unwrap().path.as_str(), folder);
        assert!(found[0].hint.as_ref().unwrap().contains("remove `mesh/charts/linkerd-crds/`"));
    }

    #[test]
    fn a_copy_of_what_it_moves_to_is_as_it_should_be() {
        assert_eq!(beside(&["mesh/charts/linkerd-crds-2026.8.3.tgz"]), []);
        let unpacked = |version: &str| {
            let case = Case::default()
                .pins(|b| b.pin("mesh/Chart.yaml", PinKind::ChartDependency, "2026.8.2").of("linkerd-crds"));
            case.file("mesh/charts/linkerd-crds/Chart.yaml", &format!("version: {version}\n")).check(ID)
        };
        assert_eq!(unpacked("2026.8.3"), []);
        assert_eq!(severities(&unpacked("2026.8.2")), [Block]);
    }

    #[test]
    fn what_helm_does_not_take_for_it_is_quiet() {
        for other in [
            "charts/linkerd-crds/Chart.yaml",
            "mesh/charts/linkerd-crds-extra/Chart.yaml",
            "mesh/charts/linkerd-crds-extra-1.0.0.tgz",
            "mesh/charts/podinfo-2026.8.2.tgz",
            "mesh/charts/linkerd-crds/README.md",
        ] {
            assert_eq!(beside(&[other]), [], "{other}");
        }
    }
}
