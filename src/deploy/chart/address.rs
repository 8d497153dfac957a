//! Where a chart is, by what deployers call it.
//!
//! In: a name, an address or a path as it is written. Out: the chart's name, and the repository, the package or the folder that
//! it is in.

use crate::{
    deploy::{files::Files, value::Scalar},
    repo::RepoPath,
};

/// Where a chart is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repository {
    /// A Helm repository, or with `oci://` a registry, without the chart's name.
    Address(Scalar),
    /// A folder of a Git repository: its address where that is written, which may be this repository's own.
    Git(Option<Scalar>),
    /// Not in the tree: who knows it.
    Unknown(String),
}

/// Takes the path off the name of a chart that is no folder: it goes on where the repository's address ends, or begins with
/// what Helm calls the repository (`pkg/action/install.go`, `LocateChart`).
pub(super) fn named(chart: Scalar, repository: Repository) -> (Scalar, Repository) {
    let text = chart.text();
    if !text.contains('/') || text.starts_with(['.', '/']) {
        return (chart, repository);
    }
    match repository {
        Repository::Address(address) => {
            let end = address.text().trim_end_matches('/').len();
            registry_chart(&address.cut(0..end).then(&Scalar::made("/")).then(&chart))
        }
        Repository::Unknown(who) if chart.unknown_to().is_none() => {
            (registry_chart(&chart).0, Repository::Unknown(who))
        }
        other => (chart, other),
    }
}

/// Finds the chart of the tree that a path from a folder means.
pub fn beside(folder: &str, path: &str, files: &dyn Files) -> Option<Scalar> {
    let inside = RepoPath::resolve(folder, &format!("{path}/Chart.yaml"))?;
    files.has(inside.as_str()).then(|| Scalar::made(inside.folder()))
}

/// Cuts the address of a chart in a registry into the chart's name and what is before it.
pub fn registry_chart(address: &Scalar) -> (Scalar, Repository) {
    let text = address.text();
    let end = text.trim_end_matches('/').len();
    match text.get(..end).and_then(|text| text.rfind('/')) {
        Some(slash) => (address.cut(slash + 1..end), Repository::Address(address.cut(0..slash))),
        None => (address.clone(), Repository::Unknown(format!("`{text}`, which names no chart"))),
    }
}

/// Reads a chart that is named by an address of its own, of a registry or of a package.
pub fn addressed(chart: &Scalar) -> Option<(Scalar, Repository, Option<Scalar>)> {
    chart.text().contains("://").then(|| {
        packaged(chart).unwrap_or_else(|| {
            let (name, repository) = registry_chart(chart);
            (name, repository, None)
        })
    })
}

/// Cuts the address of a package into the chart's name, the repository before it and the version behind it.
pub fn packaged(address: &Scalar) -> Option<(Scalar, Repository, Option<Scalar>)> {
    let text = address.text();
    let end = text.strip_suffix(".tgz")?.len();
    let slash = text.get(..end)?.rfind('/')?;
    let digit = |at: usize| text.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit);
    let (dash, _) = text.get(..end)?.match_indices('-').find(|(at, _)| *at > slash && digit(*at))?;
    let repository = Repository::Address(address.cut(0..slash));
    Some((address.cut(slash + 1..dash), repository, Some(address.cut(dash + 1..end))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_in_a_registry_is_named_by_its_address() {
        let (chart, repository) = registry_chart(&Scalar::made("oci://cr.example.com/charts/linkerd-crds/"));
        assert_eq!(chart.text(), "linkerd-crds");
        assert_eq!(repository, Repository::Address(Scalar::made("oci://cr.example.com/charts")));
    }
}
