//! What a chart of the tree takes in, switched on or not.
//!
//! In: a chart's folder. Out: the charts that it names, and those that lie unpacked in it, at whatever depth.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    deploy::{
        files::Files,
        tree_chart,
        value::{Scalar, Value},
    },
    repo::RepoPath,
};

/// Where a chart names them.
pub(super) const DEPENDENCIES: &str = "dependencies";
/// Charts of the tree in charts of the tree.
pub const DEPTH: usize = 4;
/// Charts that one chart takes in, with those that they take in: aliases multiply at each depth.
pub(super) const CHARTS: usize = 1_000;

/// A chart that one of the tree takes in, at whatever depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inner {
    /// The keys under which the outermost chart has its values.
    pub keys: Vec<String>,
    /// Its name.
    pub chart: String,
    /// Where it is from; `None` where it lies in `charts/`.
    pub repository: Option<String>,
    /// Its folder, where that is in the tree.
    pub folder: Option<RepoPath>,
    /// Its version as written.
    pub version: Option<Scalar>,
}

/// Charts of the tree by what they take in, each of which is read once, by however many others it is taken in.
pub struct Inners<'f> {
    files: &'f dyn Files,
    read: HashMap<String, Arc<[Value]>>,
}

/// Lists the charts that a chart in a folder of the tree takes in, switched on or not.
pub fn inner(files: &dyn Files, folder: &str) -> Vec<Inner> {
    Inners::new(files).of(folder)
}

/// Returns the key of the values of a dependency.
pub(super) fn key(of: &Value) -> Option<String> {
    let key = of.text(&["alias"]).filter(|alias| !alias.is_empty()).or_else(|| of.text(&["name"]));
    key.map(|key| key.into_owned())
}

/// Returns the folder of the tree that a dependency lies in.
pub(super) fn local(files: &dyn Files, folder: &str, name: &str, repository: &str) -> Option<RepoPath> {
    let local = match repository.strip_prefix("file://") {
        Some(to) => RepoPath::resolve(folder, to),
        None if repository.is_empty() => RepoPath::resolve(folder, &format!("charts/{name}")),
        None => None,
    };
    local.filter(|folder| tree_chart::is_chart(files, folder.as_str()))
}

/// Reads what a chart takes in, with the file that says so: what that names, and what else lies unpacked in `charts/`, which is
/// switched off by nothing.
pub(super) fn taken_in(files: &dyn Files, folder: &str) -> Option<(RepoPath, Vec<Value>)> {
    let (path, mut all) = match named(files, folder) {
        Some((path, chart)) => (path, chart.list_at(DEPENDENCIES).to_vec()),
        None if tree_chart::is_chart(files, folder) => (RepoPath::resolve(folder, "Chart.yaml")?, Vec::new()),
        None => return None,
    };
    let names = all.iter().filter_map(|item| item.text(&["name"]));
    let names: BTreeSet<String> = names.map(|name| name.into_owned()).collect();
    all.extend(unpacked(files, folder, &names));
    (!all.is_empty()).then_some((path, all))
}

/// Reads the charts that lie unpacked in one and that it does not name.
fn unpacked(files: &dyn Files, folder: &str, names: &BTreeSet<String>) -> Vec<Value> {
    let item = |name: &String| {
        let (_, chart) = document(files, folder, &format!("charts/{name}/Chart.yaml"))?;
        let own = chart.text(&["name"]).filter(|own| !names.contains(&**own))?;
        let repository = Value::made(&format!("file://charts/{name}"));
        Some(Value::map([("name", Value::made(&own)), ("repository", repository)]))
    };
    tree_chart::unpacked(files, folder).difference(names).filter_map(item).collect()
}

/// Reads the file that names what a chart depends on. Helm 2 had one of its own for that.
pub(super) fn named(files: &dyn Files, folder: &str) -> Option<(RepoPath, Value)> {
    let mut all =
        ["Chart.yaml", "requirements.yaml"].into_iter().filter_map(|name| document(files, folder, name));
    all.find(|(_, value)| value.get(DEPENDENCIES).is_some())
}

pub(super) fn document(files: &dyn Files, folder: &str, name: &str) -> Option<(RepoPath, Value)> {
    let path = RepoPath::resolve(folder, name)?;
    let documents = files.documents(path.as_str()).ok()?;
    Some((path, documents.first()?.clone()))
}

// === impl Inners ===

impl<'f> Inners<'f> {
    /// Reads none yet.
    pub fn new(files: &'f dyn Files) -> Self {
        Self { files, read: HashMap::new() }
    }

    /// Lists the charts that one in a folder takes in, switched on or not.
    pub fn of(&mut self, folder: &str) -> Vec<Inner> {
        let mut found = Vec::new();
        self.take(folder, &[], &mut found);
        found
    }

    fn take(&mut self, folder: &str, above: &[String], found: &mut Vec<Inner>) {
        if above.len() == DEPTH {
            return;
        }
        for item in self.taken_in(folder).iter() {
            let (Some(name), Some(key)) = (item.text(&["name"]), key(item)) else { continue };
            if found.len() >= CHARTS {
                return;
            }
            let keys = [above, &[key]].concat();
            let repository = item.text(&["repository"]).map(|text| text.into_owned());
            let version = item.scalar(&["version"]).cloned();
            let local = local(self.files, folder, &name, repository.as_deref().unwrap_or_default());
            let (chart, folder) = (name.into_owned(), local.clone());
            found.push(Inner { keys: keys.clone(), chart, repository, folder, version });
            if let Some(local) = local {
                self.take(local.as_str(), &keys, found);
            }
        }
    }

    fn taken_in(&mut self, folder: &str) -> Arc<[Value]> {
        if let Some(known) = self.read.get(folder) {
            return known.clone();
        }
        let all: Arc<[Value]> = taken_in(self.files, folder).map(|(_, all)| all).unwrap_or_default().into();
        self.read.insert(folder.to_owned(), all.clone());
        all
    }
}
