//! Step 7, render: values files in the neighbourhood of a committed manifest.
//!
//! In: the tree, a set. Out: the files near it that may hold a chart's values, the nearest first, whatever their names.
//! Which of them are the set's is for the proof to say.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::Committed;
use crate::{
    helm::Layer,
    render::value,
    repo::{Entry, Mode, RepoPath, Tree},
};

/// Steps between two folders that are near each other: up to the common one, and down again.
const NEAR: usize = 2;
/// More files near a set are not opened.
const OPENED: usize = 64;
/// A values file is never larger.
const CEILING: u64 = 1 << 18;

/// A file that may hold values.
pub(super) struct ValuesFile {
    /// The file.
    pub(super) path: RepoPath,
    values: Value,
    text: String,
}

/// Finds the files near a set that are a mapping and no object.
pub(super) fn values_files(tree: &dyn Tree, set: &Committed) -> Vec<ValuesFile> {
    let folders: BTreeSet<&str> = set.files.iter().map(|file| file.path.folder()).collect();
    let own: BTreeSet<&RepoPath> = set.files.iter().map(|file| &file.path).collect();
    let mut near = near(tree, &folders, &own);
    // A file that calls itself one comes first, so that the ceiling cuts off the others.
    near.sort_by_key(|(steps, entry)| (*steps, !entry.path.name().contains("values"), &entry.path));
    near.into_iter().take(OPENED).filter_map(|(_, entry)| read(tree, entry)).collect()
}

/// Lists the files near a set that may hold its values.
pub fn values_near(tree: &dyn Tree, set: &Committed) -> Vec<RepoPath> {
    values_files(tree, set).into_iter().map(|file| file.path).collect()
}

/// Lists the files that may be opened near committed files and whose content may have a part in what is made.
pub fn opened_near<'t>(tree: &'t dyn Tree, files: &BTreeSet<&RepoPath>) -> Vec<&'t Entry> {
    let folders: BTreeSet<&str> = files.iter().map(|path| path.folder()).collect();
    let near: Vec<&Entry> =
        near(tree, &folders, &BTreeSet::new()).into_iter().map(|(_, entry)| entry).collect();
    let many = near.len() > OPENED;
    near.into_iter().filter(|entry| many || read(tree, entry).is_some()).collect()
}

/// Lists the files near folders, with the steps to each.
fn near<'t>(
    tree: &'t dyn Tree,
    folders: &BTreeSet<&str>,
    own: &BTreeSet<&RepoPath>,
) -> Vec<(usize, &'t Entry)> {
    let yaml = |e: &&Entry| [".yaml", ".yml", ".json"].iter().any(|end| e.path.as_str().ends_with(end));
    let regular = |e: &&Entry| matches!(e.mode, Mode::File | Mode::Executable) && !own.contains(&e.path);
    let entries = tree.entries().iter().filter(yaml).filter(regular);
    let near = entries.filter_map(|entry| {
        let steps = folders.iter().map(|folder| steps(folder, entry.path.folder())).min()?;
        (steps <= NEAR).then_some((steps, entry))
    });
    near.collect()
}

/// Counts the steps from one folder to another.
fn steps(from: &str, to: &str) -> usize {
    let parts = |folder: &str| folder.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let (from, to): (Vec<String>, Vec<String>) = (parts(from), parts(to));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    from.len() + to.len() - 2 * common
}

fn read(tree: &dyn Tree, entry: &Entry) -> Option<ValuesFile> {
    let small = tree.size(entry.id).ok()? <= CEILING;
    let text = String::from_utf8(tree.read(entry.id).ok().filter(|_| small)?).ok()?;
    let values = value::read(&text).ok()?;
    let map = values.as_object()?;
    let is_object = map.contains_key("kind") || map.contains_key("apiVersion") || map.contains_key("sops");
    (!is_object && !map.is_empty()).then(|| ValuesFile { path: entry.path.clone(), values, text })
}

// === impl ValuesFile ===

impl ValuesFile {
    /// Returns the values for a chart with these defaults: the file's, where the chart knows all of its keys, else what it
    /// holds under the chart's name, as for an umbrella chart.
    pub(super) fn layer(&self, chart: &str, defaults: &Value) -> Option<Layer> {
        let map = self.values.as_object()?;
        let known = |key: &String| key == "global" || defaults.get(key).is_some();
        if let Some(below) = map.get(chart).filter(|below| below.is_object()) {
            return Some(Layer(below.to_string().into()));
        }
        map.keys().any(known).then(|| Layer(Arc::from(self.text.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_near_by_steps_up_and_down() {
        let pairs = [("a/b", "a/b"), ("a/b", "a"), ("a/b", "a/c"), ("a", ""), ("", "a/b/c"), ("ab", "a")];
        assert_eq!(pairs.map(|(from, to)| steps(from, to)), [0, 1, 2, 1, 3, 2]);
    }
}
