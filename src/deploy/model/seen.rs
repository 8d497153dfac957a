//! The roots that the model has met.

use std::collections::{BTreeSet, HashMap};

use crate::{
    deploy::{
        flux,
        kustomize::without_hash,
        object::Object,
        value::{Scalar, Value},
    },
    repo::RepoPath,
};

/// The roots that are known: an Application that comes of itself is built once.
#[derive(Default)]
pub(super) struct Seen(HashMap<(RepoPath, String), Vec<Met>>);

/// A root, with the maps that are built beside it and that it has values or variables from: one build may fill them otherwise
/// than another.
struct Met {
    root: Value,
    given: Vec<Value>,
    /// The folder of what took it in, where its variables are of maps: another overlay may be another cluster's.
    by: Option<String>,
}

/// Where a Kustomization names the maps that it has variables from.
const VARIABLES: &[&str] = &["spec", "postBuild", "substituteFrom"];

/// What is built beside roots, with the maps in it by their names.
#[derive(Default)]
pub(super) struct Beside<'k> {
    objects: &'k [Object],
    maps: HashMap<String, Vec<&'k Object>>,
}

// === impl Beside ===

impl<'k> Beside<'k> {
    pub fn of(objects: &'k [Object]) -> Self {
        let mut maps: HashMap<String, Vec<&Object>> = HashMap::new();
        for map in objects.iter().filter(|map| matches!(&*map.kind(), "ConfigMap" | "Secret")) {
            let name = map.name().map(Scalar::text);
            name.iter().for_each(|name| maps.entry(without_hash(name).to_owned()).or_default().push(map));
        }
        Self { objects, maps }
    }

    /// Lists the maps that a root has values or variables from, and the inputs of a ResourceSet.
    fn given(&self, root: &Object) -> Vec<Value> {
        if flux::copies(root) {
            return self.objects.iter().map(|object| object.value.clone()).collect();
        }
        if root.value.path(&["spec", "inputsFrom"]).is_some() {
            let inputs = self.objects.iter().filter(|object| object.kind() == "ResourceSetInputProvider");
            return inputs.map(|object| object.value.clone()).collect();
        }
        const FROM: [&[&str]; 2] = [&["spec", "valuesFrom"], VARIABLES];
        let from = FROM.iter().filter_map(|path| root.value.path(path)).flat_map(Value::items);
        let names: BTreeSet<_> = from.filter_map(|from| from.text(&["name"])).collect();
        let maps = names.iter().filter_map(|name| self.maps.get(&**name)).flatten();
        maps.map(|map| map.value.clone()).collect()
    }
}

// === impl Met ===

impl Met {
    fn of(root: &Object, beside: &Beside<'_>) -> Self {
        let by = root.by.as_ref().filter(|_| root.value.path(VARIABLES).is_some());
        let by = by.map(|path| path.folder().to_owned());
        Self { root: root.value.clone(), given: beside.given(root), by }
    }

    /// Tells whether it comes to all that another one does. What no overlay takes in is read as whatever cluster has it.
    fn covers(&self, other: &Self) -> bool {
        let is_alike = self.root == other.root && self.given == other.given;
        is_alike && (self.by.is_none() || self.by == other.by)
    }
}

// === impl Seen ===

impl Seen {
    /// Tells whether a root is known.
    pub fn knows(&self, root: &Object) -> bool {
        self.0.get(&id(root)).is_some_and(|met| met.iter().any(|met| met.root == root.value))
    }

    /// Tells whether a root of that name is known, whatever it was filled with.
    pub fn has(&self, root: &Object) -> bool {
        self.0.contains_key(&id(root))
    }

    /// Notes a root that was built beside others; tells whether it was not known.
    pub fn is_new(&mut self, root: &Object, beside: &Beside<'_>) -> bool {
        let met = Met::of(root, beside);
        let known = self.0.entry(id(root)).or_default();
        let is_new = !known.iter().any(|known| known.covers(&met));
        if is_new {
            known.push(met);
        }
        is_new
    }
}

fn id(root: &Object) -> (RepoPath, String) {
    (root.file.clone(), root.name().map(|name| name.text().into_owned()).unwrap_or_default())
}
