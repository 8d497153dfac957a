//! Patches: strategic merge or JSON, in files or inline, with or without a target.

use std::{collections::HashSet, sync::Arc};

use super::{
    builder::{Builder, Here, Layer},
    generate::is_inline,
    resource::{Id, Resource, text_of, unquoted},
    selector::Selector,
};
use crate::deploy::{
    files::FileError,
    json_patch, merge,
    note::{About, Bound},
    object::Object,
    read,
    typed::is_true,
    value::{Origin, Scalar, Value},
};

/// Steps of a path that are followed where an object is made up.
const STEPS: usize = 50;
/// Items of a list that is made up.
const ITEMS: usize = 50;
/// Objects that one build keeps as they were without a patch.
const UNPATCHED: usize = 10_000;

/// A patch as a kustomization has it.
pub(super) struct Patch<'v> {
    /// Its documents.
    documents: Arc<[Value]>,
    target: Option<&'v Value>,
    /// What it is called, for people.
    name: String,
    rename: bool,
    change_kind: bool,
    /// Whether what the objects were known by is remembered, as `patches` does and `patchesJson6902` does not.
    remembers: bool,
}

impl<'v> Patch<'v> {
    /// Reads an entry of `patches`.
    pub fn of(builder: &mut Builder<'_>, here: &Here, entry: &'v Value) -> Option<Self> {
        let flag = |key: &str| is_true(entry, &["options", key]);
        let inline = entry.scalar(&["patch"]).filter(|text| !text.text().trim().is_empty());
        let (documents, name) = documents(builder, here, inline, entry.get("path"))?;
        Some(Self {
            documents,
            target: entry.get("target"),
            name,
            rename: flag("allowNameChange"),
            change_kind: flag("allowKindChange"),
            remembers: true,
        })
    }

    /// Reads an entry of `patchesJson6902`, or such a transformer.
    pub fn of_json(builder: &mut Builder<'_>, here: &Here, entry: &'v Value, key: &str) -> Option<Self> {
        let (documents, name) = documents(builder, here, entry.scalar(&[key]), entry.get("path"))?;
        let target = entry.get("target");
        Some(Self { documents, target, name, rename: false, change_kind: false, remembers: false })
    }

    /// Reads an entry of `patchesStrategicMerge`: a path, or the patch itself.
    pub fn of_text(builder: &mut Builder<'_>, here: &Here, entry: &'v Value) -> Option<Self> {
        let text = entry.as_scalar()?;
        let (inline, path) = if is_inline(&text.text()) { (Some(text), None) } else { (None, Some(entry)) };
        let (documents, name) = documents(builder, here, inline, path)?;
        Some(Self { documents, target: None, name, rename: false, change_kind: false, remembers: true })
    }

    /// Applies it.
    pub fn apply(&self, builder: &mut Builder<'_>, here: &Here, layer: &mut Layer) {
        if !builder.spend(here, layer.resources.len()) {
            return;
        }
        match self.documents.first() {
            Some(first @ Value::List(operations)) if json_patch::is_patch(first) => {
                self.apply_json(builder, here, layer, operations);
            }
            _ => self.apply_merge(builder, here, layer),
        }
        let deleted = layer.resources.extract_if(.., |resource| resource.value.is_null());
        builder.deleted.extend(deleted.map(|resource| resource.file));
        builder.apart(here, &layer.resources);
    }

    fn apply_json(&self, builder: &mut Builder<'_>, here: &Here, layer: &mut Layer, operations: &[Value]) {
        let Some(target) = self.target else {
            return builder.fails(here, &self.name, "a JSON patch needs a target");
        };
        let Some(selected) = self.selected(builder, here, target, &layer.resources) else { return };
        let first = selected.first().and_then(|at| layer.resources.get(*at)).map(|first| &first.value);
        let said = made(operations, target, first, &|op, _| matches!(op, "add" | "replace"));
        if selected.is_empty() {
            let (kind, name) = (text_of(target.get("kind")), text_of(target.get("name")));
            self.no_target(builder, here, layer, &format!("{kind} {name}"), || said.clone());
            // What is tested of what a chart gives is of the chart's release: it moves with the chart.
            let is_image = |op: &str, path: &str| op == "test" && path.contains("ontainers/");
            let is_other = |op: &str, path: &str| op == "test" && !is_image(op, path);
            let images = made(operations, target, first, &is_image);
            let mut others = made(&[], target, first, &is_other);
            others.insert(json_patch::TESTED, made(operations, target, first, &is_other));
            if layer.outside && operations.iter().any(is_test) {
                let stray = |tested: Value| Object::new(tested, here.path.clone(), None);
                builder.strays.extend([images, others].map(stray));
            }
        }
        self.says(builder, here, layer, said, !selected.is_empty());
        for at in selected {
            let resource = &mut layer.resources[at];
            if self.remembers {
                resource.remember();
            }
            // The notes that kustomize keeps among the annotations make them be there.
            let noted = resource.has_notes() && resource.value.path(&["metadata", "annotations"]).is_none();
            if let Some(metadata) = resource.value.entry_mut("metadata").filter(|_| noted) {
                metadata.insert("annotations", Value::empty());
            }
            match json_patch::apply(&resource.value, operations, &mut builder.guards) {
                Ok(value) => {
                    let old = std::mem::replace(&mut resource.value, unquoted(value));
                    resource.part();
                    keep_unpatched(builder, here, old, resource);
                }
                Err(error) => builder.fails(here, &self.name, &error.to_string()),
            }
            let empty = resource.value.path(&["metadata", "annotations"]) == Some(&Value::empty());
            if let Some(metadata) = resource.value.entry_mut("metadata").filter(|_| noted && empty) {
                metadata.remove("annotations");
            }
        }
    }

    fn apply_merge(&self, builder: &mut Builder<'_>, here: &Here, layer: &mut Layer) {
        let patches: Vec<Object> = self.documents.iter().flat_map(|d| Object::all(d, &here.path)).collect();
        let whole: Vec<Value> = if patches.is_empty() && self.target.is_some() {
            self.documents.iter().filter(|document| matches!(document, Value::Map(_))).cloned().collect()
        } else {
            patches.into_iter().map(|object| object.value).collect()
        };
        if whole.is_empty() {
            return builder.fails(here, &self.name, "it is neither an object nor a list of operations");
        }
        if self.target.is_some() && whole.len() > 1 {
            builder.fails(here, &self.name, "of several patches in one entry none may have a target");
        }
        for patch in whole {
            let patch = Resource::new(&patch, &here.path).value;
            let selected = match self.target {
                Some(target) => self.selected(builder, here, target, &layer.resources),
                None => {
                    let id = Id::of(&patch);
                    let means =
                        |(at, resource): (usize, &Resource)| resource.ids().contains(&id).then_some(at);
                    Some(layer.resources.iter().enumerate().filter_map(means).collect())
                }
            };
            let Some(selected) = selected else { continue };
            // What is deleted is said to be nothing.
            if patch.text(&["$patch"]).is_none_or(|directive| directive != "delete") {
                self.says(builder, here, layer, patch.clone(), !selected.is_empty());
            }
            if selected.is_empty() {
                let what =
                    format!("{} {}", text_of(patch.get("kind")), text_of(patch.path(&["metadata", "name"])));
                self.no_target(builder, here, layer, &what, || patch.clone());
            }
            if self.target.is_none() && selected.len() > 1 {
                builder.fails(here, &self.name, "it means several objects");
            }
            for at in selected {
                self.merge(builder, here, &mut layer.resources[at], &patch);
            }
        }
    }

    fn merge(&self, builder: &mut Builder<'_>, here: &Here, resource: &mut Resource, patch: &Value) {
        let mut patch = patch.clone();
        if let Some(api_version) = resource.value.entry("apiVersion").filter(|_| self.target.is_some()) {
            patch.insert("apiVersion", api_version.clone());
        }
        if self.rename || self.change_kind {
            resource.remember();
        }
        let old = resource.value.clone();
        match merge::strategic(&old, &patch, builder.schema()) {
            Ok(Some(new)) => resource.value = new,
            Ok(None) => {
                resource.value = Value::Scalar(Scalar::made("").as_plain());
                return;
            }
            Err(error) => return builder.fails(here, &self.name, &error.to_string()),
        }
        if let Some(kind) = old.entry("kind").filter(|_| !self.change_kind) {
            resource.value.insert("kind", kind.clone());
        }
        if !self.rename {
            resource.set_metadata("name", old.scalar(&["metadata", "name"]));
        }
        resource.set_metadata("namespace", old.scalar(&["metadata", "namespace"]));
        resource.settle(&old);
        keep_unpatched(builder, here, old, resource);
    }

    fn selected(
        &self,
        builder: &mut Builder<'_>,
        here: &Here,
        target: &Value,
        resources: &[Resource],
    ) -> Option<Vec<usize>> {
        let Some(selector) = Selector::of(target) else {
            builder.fails(here, &self.name, "its target is no selector");
            return None;
        };
        Some((0..resources.len()).filter(|at| selector.selects(&resources[*at])).collect())
    }

    /// Keeps what a patch says, whatever is laid over it. Only one with a target may mean nothing.
    fn says(&self, builder: &mut Builder<'_>, here: &Here, layer: &Layer, value: Value, is_matched: bool) {
        let is_idle = is_matched || layer.outside || self.target.is_none();
        let said = if is_idle { &mut builder.idle } else { &mut builder.unmatched };
        said.push(Object::new(value, here.path.clone(), None));
    }

    /// A patch that means nothing here: of an object that is not in the tree it still says something.
    fn no_target(
        &self,
        builder: &mut Builder<'_>,
        here: &Here,
        layer: &Layer,
        what: &str,
        value: impl FnOnce() -> Value,
    ) {
        if layer.outside {
            builder.strays.push(Object::new(value(), here.path.clone(), None));
        } else if self.target.is_none() {
            // A target may mean nothing; kustomize does not mind.
            builder.note(here, About::NoTarget(format!("{}: {what}", self.name)));
        }
    }
}

/// Keeps an object as it was without a patch that has taken a version out of it.
fn keep_unpatched(builder: &mut Builder<'_>, here: &Here, old: Value, resource: &Resource) {
    if !loses_version(&old, &resource.value) {
        return;
    }
    if builder.unpatched.len() >= UNPATCHED {
        return builder.note(here, About::Bound(Bound::Objects(UNPATCHED)));
    }
    builder.unpatched.push(Object::new(old, resource.file.clone(), None));
}

/// Tells whether a version that was written for one value is not in another one.
fn loses_version(old: &Value, new: &Value) -> bool {
    let place = |at: &Origin| (at.source.path.clone(), at.span.start);
    let versions = old.scalars().into_iter().filter(|text| names_version(&text.text()));
    let places: HashSet<_> = versions.flat_map(Scalar::origins).map(place).collect();
    if places.is_empty() {
        return false;
    }
    let left: HashSet<_> = new.scalars().into_iter().flat_map(Scalar::origins).map(place).collect();
    !places.is_subset(&left)
}

/// Tells whether a text has three numbers with dots between.
fn names_version(text: &str) -> bool {
    let numbers = |word: &str| word.split('.').filter(|number| !number.is_empty()).count();
    text.split(|c: char| c != '.' && !c.is_ascii_digit()).any(|word| numbers(word) >= 3)
}

/// Reads the documents of a patch, and says what it is called.
fn documents(
    builder: &mut Builder<'_>,
    here: &Here,
    inline: Option<&Scalar>,
    path: Option<&Value>,
) -> Option<(Arc<[Value]>, String)> {
    let name = path
        .map_or_else(|| "an inline patch".to_owned(), |path| format!("the patch {}", text_of(Some(path))));
    let (is_broken, read) = match (inline, path) {
        (Some(text), None) => {
            let read = read::documents(text, builder.files.ceilings());
            (is_broken_json(&text.text()), read.map(Arc::from).map_err(FileError::from))
        }
        (None, Some(path)) => {
            let path = text_of(Some(path));
            let file = builder.file(here, &path)?;
            (is_broken_json(&file.text), builder.try_documents(here, &path))
        }
        _ => {
            builder.fails(here, &name, "it needs either a path or a text");
            return None;
        }
    };
    if is_broken {
        builder.fails(here, &name, "what begins with `[` must be JSON");
    }
    read.map_err(|error| builder.fails(here, &name, &error.to_string()))
        .ok()
        .map(|documents| (documents, name))
}

/// Kustomize takes for JSON what begins as a list in JSON does, and other YAML in flow style is none.
fn is_broken_json(text: &str) -> bool {
    text.starts_with('[') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_err()
}

fn is_test(operation: &Value) -> bool {
    operation.text(&["op"]).is_some_and(|op| op == "test")
}

/// What some operations say of an object that is not here: the values that they put or test, where they do.
fn made(
    operations: &[Value],
    target: &Value,
    selected: Option<&Value>,
    is_wanted: &dyn Fn(&str, &str) -> bool,
) -> Value {
    let of = |key: &str, own: &[&str]| {
        let said = target.get(key).or_else(|| selected?.path(own));
        said.cloned().unwrap_or_else(|| Value::made(""))
    };
    let mut object = Value::map([("kind", of("kind", &["kind"]))]);
    object.insert("metadata", Value::map([("name", of("name", &["metadata", "name"]))]));
    for operation in operations {
        let (Some(op), Some(path)) = (operation.text(&["op"]), operation.text(&["path"])) else { continue };
        let Some(value) = operation.get("value").filter(|_| is_wanted(&op, &path)) else { continue };
        let mut at = &mut object;
        for step in path.split('/').skip(1).take(STEPS) {
            let key = step.replace("~1", "/").replace("~0", "~");
            at = match key.parse::<usize>().ok().or((key == "-").then_some(0)) {
                Some(index) => {
                    let (items, index) = (at.make_list(), index.min(ITEMS - 1));
                    items.resize(items.len().max(index + 1), Value::empty());
                    &mut items[index]
                }
                None => at.make_map().entry(key.into()).or_insert_with(Value::empty),
            };
        }
        *at = value.clone();
    }
    object
}
