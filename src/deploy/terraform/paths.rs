//! Paths of which the tree does not say a part, as `values/${var.env}.yaml`.

use std::collections::BTreeSet;

use super::scope::Scope;
use crate::{
    deploy::{
        open_path::OpenPath,
        value::{Part, Scalar, UNKNOWN},
    },
    repo::RepoPath,
};

/// Files that are looked at in one step.
const LOOKS: usize = 64;

/// Returns who knows the first such part of a path, and what it is in the files that the path may mean, whatever the
/// others are.
pub(super) fn open(path: &Scalar, scope: &Scope<'_>) -> Option<(String, BTreeSet<String>)> {
    let unknown = path.parts().iter().filter_map(|part| match part {
        Part::Unknown(unknown) => Some(&*unknown.who),
        _ => None,
    });
    let who: Vec<&str> = unknown.collect();
    let text = path.text();
    let found = |base: &str| matches(&RepoPath::resolve(base, &text)?, &who, scope);
    let found = found("").filter(|found| !found.is_empty()).or_else(|| found(&scope.module.folder))?;
    Some(((*who.first()?).to_owned(), found))
}

/// Returns what the first part is in the files that a path may mean; parts that the same knows are the same.
fn matches(path: &RepoPath, who: &[&str], scope: &Scope<'_>) -> Option<BTreeSet<String>> {
    // Where nothing of a file's name is said, it may be any.
    path.name().chars().any(|letter| !UNKNOWN.contains(letter)).then_some(())?;
    let open = OpenPath::new(path.as_str())?;
    let known = path.as_str().split(UNKNOWN).next().unwrap_or_default();
    let below = scope.files.below(known.rsplit_once('/').map_or("", |(folder, _)| folder));
    scope.budget.take(below.len() / LOOKS)?;
    let first = |path: &str| {
        let parts = open.parts(path)?;
        let first_of =
            |n: usize| who.iter().position(|other| who.get(n) == Some(other)).and_then(|at| parts.get(at));
        let agree = parts.iter().enumerate().all(|(n, part)| first_of(n) == Some(part));
        parts.first().filter(|_| agree).map(|part| (*part).to_owned())
    };
    let paths = below.iter().map(|entry| entry.path.as_str()).filter(|path| scope.files.has(path));
    Some(paths.filter_map(first).collect())
}
