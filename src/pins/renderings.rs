//! Step 5, pins: which files of a chart's committed output are one rendering.
//!
//! In: files, with what their objects are called. Out: those that belong together: they lie near each other, and no object
//! stands in two of them. A chart may be split into a folder for each kind.

use std::collections::{BTreeMap, BTreeSet};

use crate::repo::{BlobId, RepoPath, common_folder};

/// A file with committed output of a chart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RenderedFile {
    /// The file.
    pub path: RepoPath,
    /// Its content.
    pub blob: BlobId,
    /// The chart.
    pub chart: String,
    /// Whether something of it runs from here, or says that it was printed: other marks may be copies.
    pub runs: bool,
    /// What the chart's objects in it are called.
    pub objects: BTreeSet<String>,
}

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

/// Returns for each file of a chart the folder in which all of its rendering lies. A file from which nothing runs may have
/// copied its marks: it is a part of what runs from its own folder, or from one beside it.
pub(super) fn homes<'f>(files: &'f [RenderedFile], chart: &str) -> BTreeMap<&'f RepoPath, &'f str> {
    let of_chart: Vec<&RenderedFile> = files.iter().filter(|file| file.chart == chart).collect();
    let mut homes = BTreeMap::new();
    for rendering in together(of_chart, |file| file.path.folder(), are_one) {
        let running = rendering.iter().filter(|file| file.runs).map(|file| file.path.folder());
        let Some(home) = running.reduce(|one, other| common_folder(one, other)) else { continue };
        let above = home.rsplit_once('/').map(|(above, _)| above);
        let is_beside = |file: &&&RenderedFile| {
            above.is_some() && file.path.folder().rsplit_once('/').map(|(above, _)| above) == above
        };
        let is_split = rendering.iter().filter(is_beside).any(|file| !file.runs);
        let home = above.filter(|_| is_split).unwrap_or(home);
        let own = rendering.iter().filter(|file| file.path.is_below(home));
        homes.extend(own.map(|file| (&file.path, home)));
    }
    homes
}

/// Tells whether no object stands in two files. Renderings for two namespaces need no word of their own: webhooks are in none,
/// and have one name in both.
fn are_one(groups: &[Vec<&RenderedFile>]) -> bool {
    let mut seen = BTreeSet::new();
    groups.iter().flatten().flat_map(|file| &file.objects).all(|object| seen.insert(object))
}
