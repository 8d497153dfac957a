//! The lock of a helmfile: what exact versions have to agree with, and what runs where a range is written.
//!
//! Source: `pkg/state/chart_dependency.go`: a release of a repository that the helmfile names gets the first locked
//! version of its chart that its own allows, and where there is none nothing is applied. The digest is not looked at.

use super::state::{Loader, State};
use crate::{
    deploy::{
        chart::{ChartRelease, Repository},
        json_patch::Guard,
        value::Scalar,
    },
    repo::RepoPath,
};

/// Notes the locked versions that releases have to agree with.
pub(super) fn guards<'r>(
    loader: &Loader<'_>,
    state: &State,
    releases: impl Iterator<Item = &'r ChartRelease>,
) {
    let Some(path) = path(state).filter(|path| loader.run.files.has(path.as_str())) else { return };
    let Ok(documents) = loader.run.files.documents(path.as_str()) else { return };
    let Some(lock) = documents.first() else { return };
    for release in releases.filter(|r| matches!(r.repository, Repository::Address(_))) {
        let Some(value) = &release.version else { continue };
        let (chart, version) = (release.chart.text(), value.text());
        let of_chart = lock.list_at("dependencies").iter();
        let of_chart = of_chart.filter(|item| item.text(&["name"]).is_some_and(|own| own == chart));
        let locked: Vec<&Scalar> = of_chart.filter_map(|item| item.scalar(&["version"])).collect();
        let is_exact = semver::Version::parse(&version).is_ok();
        let wanted = if is_exact { Some(version.into_owned()) } else { taken(&version, &locked) };
        let agrees = |own: &&Scalar| wanted.as_ref().is_some_and(|wanted| own.text() == *wanted);
        let guard = |guard: &Scalar| Guard { guard: guard.clone(), value: value.clone() };
        loader.guards.borrow_mut().extend(locked.into_iter().filter(agrees).map(guard));
    }
}

/// Returns what a range takes of the versions that are locked: the first that it allows. What is the only one was locked for
/// it, however it is written.
fn taken(range: &str, locked: &[&Scalar]) -> Option<String> {
    let all: Vec<String> = locked.iter().map(|own| own.text().into_owned()).collect();
    let first = all.first()?;
    if all.iter().all(|own| own == first) {
        return Some(first.clone());
    }
    // A part of a version alone is one range to Helm and another one to Cargo.
    let is_alike = range.starts_with(['~', '^', '<', '>', '=']) || range.ends_with(['*', 'x']);
    let range = semver::VersionReq::parse(range).ok().filter(|_| is_alike)?;
    let is_allowed = |own: &&String| semver::Version::parse(own).is_ok_and(|own| range.matches(&own));
    all.iter().find(is_allowed).cloned()
}

/// Returns where the lock lies: where `lockFilePath` says, or beside the helmfile, whose name it has.
fn path(state: &State) -> Option<RepoPath> {
    if let Some(path) = state.value.scalar(&["lockFilePath"]).and_then(Scalar::known) {
        return RepoPath::resolve(state.path.folder(), &path);
    }
    let name = state.path.as_str();
    let stem = name.strip_suffix(".gotmpl").unwrap_or(name);
    let stem = stem.strip_suffix(".yaml").or_else(|| stem.strip_suffix(".yml"))?;
    RepoPath::new(format!("{stem}.lock"))
}
