//! What charts of the tree came to, kept for whoever asks again: by who deploys one, and with which values.

use std::collections::HashMap;

use crate::{
    deploy::{chart::ChartRelease, go_yaml, object::Object},
    repo::RepoPath,
};

/// Objects of charts by their releases.
#[derive(Clone, Debug, Default)]
pub struct Evaluations(HashMap<Key, Vec<Object>>);

/// The file and part of the object that asks, the chart's folder, and the values.
type Key = (RepoPath, String, String, String);

// === impl Evaluations ===

impl Evaluations {
    /// Keeps objects of a release.
    pub fn keep(&mut self, release: &ChartRelease, objects: impl IntoIterator<Item = Object>) {
        self.0.entry(key(release)).or_default().extend(objects);
    }

    /// Adds what others have kept.
    pub fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns what was kept of a release.
    pub fn of(&self, release: &ChartRelease) -> &[Object] {
        if self.0.is_empty() { &[] } else { self.0.get(&key(release)).map_or(&[], Vec::as_slice) }
    }

    /// Lists the files of charts that objects were written in: what has no template of its own is of the file that asks.
    pub fn files(&self) -> impl Iterator<Item = &RepoPath> {
        self.0.iter().flat_map(|((asks, ..), objects)| {
            objects.iter().map(|object| &object.file).filter(move |file| *file != asks)
        })
    }
}

fn key(release: &ChartRelease) -> Key {
    let values = go_yaml::document(&release.values().value).text().into_owned();
    (release.file.clone(), release.part.clone(), release.chart.text().into_owned(), values)
}
