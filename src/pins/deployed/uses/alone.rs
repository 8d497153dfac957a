//! Step 5, pins: charts of the tree that nobody in it deploys.
//!
//! In: the files that name Linkerd or a release. Out: each such chart as Helm would install it: with each values file
//! that names what it depends on, or with its own values alone.

use std::collections::{BTreeSet, HashSet};

use crate::{
    deploy::{ChartRelease, Files as _, Layer, Scalar, chart::Repository, umbrella},
    pins::{context::Context, deployed::charts::is_foreign},
    repo::RepoPath,
};

/// Values files that nobody refers to and that may be those of one chart.
const FILES: usize = 20;

/// Lists what those charts depend on, and what is to be said of it. `deployed` are the folders of others.
pub(super) fn dependencies(
    context: &Context<'_>,
    named: &[RepoPath],
    deployed: &HashSet<String>,
) -> Vec<(Vec<ChartRelease>, String)> {
    let charts = named.iter().filter(|path| matches!(path.name(), "Chart.yaml" | "requirements.yaml"));
    let folders: BTreeSet<&str> = charts.map(RepoPath::folder).collect();
    let folders: Vec<&str> = folders.into_iter().filter(|folder| !deployed.contains(*folder)).collect();
    let values = if folders.is_empty() { Vec::new() } else { values(context, named) };
    let mut found = Vec::new();
    for folder in folders {
        let Some(path) = RepoPath::resolve(folder, "Chart.yaml") else { continue };
        let name = folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("release");
        let alone = ChartRelease {
            release: Scalar::made(name),
            ..ChartRelease::new(&path, Scalar::made(folder), Repository::Git(None))
        };
        let of = |release: &ChartRelease| umbrella::dependencies(release, context.files, &is_foreign);
        let Some(plain) = of(&alone).filter(|plain| !plain.is_empty()) else { continue };
        let keys = umbrella::keys(context.files, folder);
        let names = |(file, own): &&(&RepoPath, Vec<String>)| {
            let beside = file.folder() == folder && file.name() == "values.yaml";
            !beside && own.iter().any(|key| keys.contains(key))
        };
        let files: Vec<&RepoPath> = values.iter().filter(names).map(|(file, _)| *file).take(FILES).collect();
        if files.is_empty() {
            let note = "Nothing in the repository deploys this chart; its own values are taken alone.";
            found.push((plain, note.to_owned()));
        }
        for file in files {
            let Ok(source) = context.files.file(file.as_str()) else { continue };
            let layers = vec![Layer::text(&Scalar::file(&source), context.files, file.as_str())];
            let with = ChartRelease { by: Some(file.clone()), layers, ..alone.clone() };
            let note =
                format!("Nothing in the repository deploys this chart; {file} is laid over its values.");
            found.push((of(&with).unwrap_or_default(), note));
        }
    }
    found
}

/// Lists the files that may hold values, with their keys.
fn values<'p>(context: &Context<'_>, named: &'p [RepoPath]) -> Vec<(&'p RepoPath, Vec<String>)> {
    let is_yaml = |path: &str| path.ends_with(".yaml") || path.ends_with(".yml");
    let lower = |path: &RepoPath| path.as_str().to_ascii_lowercase();
    let may =
        |path: &&RepoPath| Some(lower(path)).is_some_and(|path| path.contains("values") && is_yaml(&path));
    let read = |path: &'p RepoPath| {
        let documents = context.files.documents(path.as_str()).ok()?;
        let first = documents.first().filter(|first| first.get("kind").is_none())?;
        Some((path, first.entries().map(|(key, _)| key.to_owned()).collect()))
    };
    named.iter().filter(may).filter_map(read).collect()
}
