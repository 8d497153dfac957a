//! Step 5, pins: which files of a chart's committed output are one rendering.
//!
//! In: files, with what their objects are called. Out: those that belong together: they lie near each other, and no object
//! stands in two of them. A chart may be split into a folder for each kind.

use std::collections::{BTreeMap, BTreeSet};

use super::RenderedFile;
use crate::repo::{RepoPath, common_folder};

/// Groups the files of one chart: folder by folder from the deepest, those that can be one rendering.
pub fn together<P>(
    parts: Vec<P>,
    folder: impl Fn(&P) -> &str,
    are_one: impl Fn(&[Vec<P>]) -> bool,
) -> Vec<Vec<P>> {
    let mut by_folder: BTreeMap<String, Vec<Vec<P>>> = BTreeMap::new();
    for part in parts {
        by_folder.entry(folder(&part).to_owned()).or_default().push(vec![part]);
    }
    loop {
        let deepest = by_folder.keys().max_by_key(|folder| depth(folder)).cloned();
        let Some(groups) = deepest.as_ref().and_then(|folder| by_folder.remove(folder)) else {
            return Vec::new();
        };
        let groups = if are_one(&groups) { vec![groups.into_iter().flatten().collect()] } else { groups };
        let folder = deepest.unwrap_or_default();
        if folder.is_empty() {
            return groups;
        }
        let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
        by_folder.entry(above.to_owned()).or_default().extend(groups);
    }
}

fn depth(folder: &str) -> usize {
    if folder.is_empty() { 0 } else { folder.matches('/').count() + 1 }
}

/// Returns for each file from which a chart runs the folder in which all of its rendering lies.
pub(super) fn homes<'f>(files: &'f [RenderedFile], chart: &str) -> BTreeMap<&'f RepoPath, &'f str> {
    let of_chart: Vec<&RenderedFile> = files.iter().filter(|file| file.chart == chart && file.runs).collect();
    let mut homes = BTreeMap::new();
    for rendering in together(of_chart, |file| file.path.folder(), are_one) {
        let folders = rendering.iter().map(|file| file.path.folder());
        let home = folders.reduce(|one, other| common_folder(one, other)).unwrap_or_default();
        homes.extend(rendering.iter().map(|file| (&file.path, home)));
    }
    homes
}

/// Tells whether no object stands in two files. Renderings for two namespaces need no word of their own: webhooks are in none,
/// and have one name in both.
fn are_one(groups: &[Vec<&RenderedFile>]) -> bool {
    let mut seen = BTreeSet::new();
    groups.iter().flatten().flat_map(|file| &file.objects).all(|object| seen.insert(object))
}
