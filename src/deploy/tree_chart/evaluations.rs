//! What charts of the tree came to, kept for whoever asks again: by who deploys one, and with which values.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    deploy::{chart::ChartRelease, go_yaml, object::Object},
    repo::RepoPath,
};

/// Objects of charts by their releases.
#[derive(Clone, Debug, Default)]
pub struct Evaluations {
    made: HashMap<Key, Vec<Object>>,
    /// What would come of them with what their values switch off.
    off: HashMap<Key, Vec<Object>>,
}

/// The file and part of the object that asks, the chart's folder, and the values.
type Key = (RepoPath, String, String, String);

// === impl Evaluations ===

impl Evaluations {
    /// Keeps objects of a release.
    pub fn keep(&mut self, release: &ChartRelease, objects: impl IntoIterator<Item = Object>) {
        self.made.entry(key(release)).or_default().extend(objects);
    }

    /// Keeps objects of a release that its values switch off.
    pub fn keep_off(&mut self, release: &ChartRelease, objects: impl IntoIterator<Item = Object>) {
        self.off.entry(key(release)).or_default().extend(objects);
    }

    /// Adds what others have kept.
    pub fn append(&mut self, other: Self) {
        self.made.extend(other.made);
        self.off.extend(other.off);
    }

    /// Returns what was kept of a release.
    pub fn of(&self, release: &ChartRelease) -> &[Object] {
        found(&self.made, release)
    }

    /// Returns what would come of a release with what its values switch off.
    pub fn off(&self, release: &ChartRelease) -> &[Object] {
        found(&self.off, release)
    }

    /// Returns, of the charts that nobody in the tree deploys, the file with what came of each of their values.
    pub fn lone(&self) -> Vec<(&RepoPath, &[Object])> {
        let deployed: BTreeSet<RepoPath> =
            self.made.keys().filter_map(|key| file(key).filter(|file| *file != key.0)).collect();
        let is_lone = |key: &Key| file(key).is_some_and(|file| file == key.0 && !deployed.contains(&file));
        let lone: BTreeMap<&Key, &Vec<Object>> = self.made.iter().filter(|(key, _)| is_lone(key)).collect();
        lone.into_iter().map(|(key, objects)| (&key.0, objects.as_slice())).collect()
    }

    /// Lists the files of charts that objects were written in: what has no template of its own is of the file that asks.
    pub fn files(&self) -> impl Iterator<Item = &RepoPath> {
        self.made.iter().flat_map(|((asks, ..), objects)| {
            objects.iter().map(|object| &object.file).filter(move |file| *file != asks)
        })
    }
}

/// Returns the file of a chart, which asks for itself where nobody does.
fn file((_, _, folder, _): &Key) -> Option<RepoPath> {
    RepoPath::resolve(folder.trim_start_matches('/'), "Chart.yaml")
}

fn found<'k>(kept: &'k HashMap<Key, Vec<Object>>, release: &ChartRelease) -> &'k [Object] {
    if kept.is_empty() { &[] } else { kept.get(&key(release)).map_or(&[], Vec::as_slice) }
}

fn key(release: &ChartRelease) -> Key {
    let values = go_yaml::document(&release.values().value).text().into_owned();
    (release.file.clone(), release.part.clone(), release.chart.text().into_owned(), values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::{chart::Repository, value::Scalar};

    #[test]
    fn a_chart_that_somebody_deploys_is_by_hand_no_more() {
        let path = |path: &str| RepoPath::new(path).unwrap();
        let release = |asks: &str, chart: &str| {
            ChartRelease::new(&path(asks), Scalar::made(chart), Repository::Git(None))
        };
        let mut all = Evaluations::default();
        let lone = |all: &Evaluations| {
            all.lone().into_iter().map(|(file, _)| file.to_string()).collect::<Vec<_>>().join(" ")
        };
        all.keep(&release("b/Chart.yaml", "b"), []);
        all.keep(&release("a/Chart.yaml", "a"), []);
        assert_eq!(lone(&all), "a/Chart.yaml b/Chart.yaml");
        all.keep(&release("argo/app.yaml", "/a"), []);
        assert_eq!(lone(&all), "b/Chart.yaml");
    }
}
