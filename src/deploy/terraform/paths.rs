//! Paths of which the tree does not say a part, as `values/${var.env}.yaml`: the files that are there say what it may be.

use std::collections::BTreeSet;

use regex::Regex;

use super::scope::Scope;
use crate::{
    deploy::value::{Part, Scalar},
    repo::RepoPath,
};

/// Files that are looked at in one step.
const LOOKS: usize = 64;
/// Parts of one path that the tree does not say.
const PARTS: usize = 8;
/// What stands in a path for each of these parts: letters for private use, by the part's number.
const FIRST: u32 = 0xE000;

/// Returns who knows the first such part of a path, and what it is in the files that the path may mean, whatever the
/// others are.
pub(super) fn open(path: &Scalar, scope: &Scope<'_>) -> Option<(String, BTreeSet<String>)> {
    let mut who: Vec<&str> = Vec::new();
    let mut text = String::new();
    let mut parts = 0;
    for part in path.parts() {
        let Part::Unknown(unknown) = part else {
            text.push_str(part.text());
            continue;
        };
        parts += 1;
        let n = who.iter().position(|known| **known == *unknown.who).unwrap_or_else(|| {
            who.push(&unknown.who);
            who.len() - 1
        });
        text.push(char::from_u32(FIRST + u32::try_from(n).ok()?)?);
    }
    if parts > PARTS {
        return None;
    }
    let found = |base: &str| matches(&RepoPath::resolve(base, &text)?, scope);
    let found = found("").filter(|found| !found.is_empty()).or_else(|| found(&scope.module.folder))?;
    Some(((*who.first()?).to_owned(), found))
}

/// Returns what the first part is in the files that a path may mean.
fn matches(path: &RepoPath, scope: &Scope<'_>) -> Option<BTreeSet<String>> {
    let part = |letter: char| u32::from(letter).checked_sub(FIRST).filter(|n| (*n as usize) < PARTS);
    let mut pattern = String::from("^");
    let mut groups = Vec::new();
    for letter in path.as_str().chars() {
        match part(letter) {
            Some(n) => {
                groups.push(n);
                // Files that are called `_base.yaml` are none of many.
                pattern.push_str("([^/._][^/]*)");
            }
            None => pattern.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    let regex = Regex::new(&(pattern + "$")).ok()?;
    // Where nothing of a file's name is said, and of the folders below it, it may be any.
    let says = |name: &&str| name.chars().any(|letter| part(letter).is_none());
    path.as_str().rsplit('/').next().filter(says)?;
    let known = path.as_str().split(|letter| part(letter).is_some()).next().unwrap_or_default();
    let above = known.rsplit_once('/').map_or("", |(folder, _)| folder);
    let first = |path: &str| {
        let found = regex.captures(path)?;
        let text = |n: u32| {
            let mut own = groups.iter().enumerate().filter(|(_, group)| **group == n);
            let mut all = own.by_ref().filter_map(|(at, _)| Some(found.get(at + 1)?.as_str()));
            let text = all.next()?;
            all.all(|other| other == text).then_some(text)
        };
        groups.iter().all(|n| text(*n).is_some()).then(|| text(0).map(str::to_owned))?
    };
    let below = scope.files.below(above);
    scope.budget.take(below.len() / LOOKS)?;
    let paths = below.iter().map(|entry| entry.path.as_str()).filter(|path| scope.files.has(path));
    Some(paths.filter_map(first).collect())
}
