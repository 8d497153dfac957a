//! The order in which a kustomization is worked off, as kustomize's `KustTarget` has it: resources, generators,
//! components, transformers; then, of the outermost alone, hashes, references and variables.

use std::sync::Arc;

use super::{
    builder::{Builder, Here, Layer},
    charts,
    config::FIELDS,
    generate::{self, Kind},
    letters, names, plugins,
    resource::{Resource, text_of},
    variables::{self},
};
use crate::{
    deploy::{
        chart::ChartRelease,
        files::{FileError, Files},
        note::{About, Bound, Note},
        object::Object,
        read,
        schema::Schema,
        value::Value,
    },
    repo::RepoPath,
};

/// The names of a kustomization's file, in the order in which kustomize looks for them.
pub const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What a kustomization may say; kustomize refuses all else. Letters of either case are one to it.
const KEYS: [&str; 34] = [
    "apiversion",
    "kind",
    "metadata",
    "openapi",
    "nameprefix",
    "namesuffix",
    "namespace",
    "commonlabels",
    "labels",
    "commonannotations",
    "patchesstrategicmerge",
    "patchesjson6902",
    "patches",
    "images",
    "imagetags",
    "replacements",
    "replicas",
    "vars",
    "sortoptions",
    "resources",
    "components",
    "crds",
    "bases",
    "configmapgenerator",
    "secretgenerator",
    "helmglobals",
    "helmcharts",
    "helmchartinflationgenerator",
    "generatoroptions",
    "configurations",
    "generators",
    "transformers",
    "validators",
    "buildmetadata",
];
/// Kustomizations that one build takes in, each as often as it is taken in.
const KUSTOMIZATIONS: usize = 2_000;
/// Kustomizations in kustomizations.
const OVERLAYS: usize = 60;

// === impl Builder ===

impl<'f> Builder<'f> {
    /// Builds the outermost kustomization on top of what there is without it.
    pub fn outermost(&mut self, here: &Here, kustomization: &Value, mut layer: Layer) -> Layer {
        self.open.push(here.folder.clone());
        self.read_schema(here, kustomization);
        self.accumulate(here, kustomization, &mut layer);
        self.open.pop();
        names::hash(&mut layer.resources);
        if self.spend(here, layer.resources.len().saturating_mul(layer.resources.len())) {
            for (id, error) in names::refer(&mut layer.resources, &layer.config) {
                self.fails(here, &format!("{} {}", id.gvk.kind, id.name), &error.to_string());
            }
        }
        for name in variables::resolve(&mut layer.resources, &layer.variables, &layer.config) {
            self.note(here, About::NoTarget(format!("the variable {name}")));
        }
        layer.resources.retain(|resource| {
            let local =
                resource.value.scalar(&["metadata", "annotations", "config.kubernetes.io/local-config"]);
            local.is_none_or(|local| local.text() == "false")
        });
        layer
    }

    /// Takes in the objects that a list names: files and folders.
    pub fn resources<'v>(
        &mut self,
        here: &Here,
        entries: impl Iterator<Item = &'v Value>,
        layer: &mut Layer,
    ) {
        for entry in entries {
            if !self.spend(here, 1) {
                break;
            }
            let path = text_of(Some(entry));
            if is_remote(&path) {
                layer.outside = true;
                self.note(here, About::Remote(path));
                continue;
            }
            let resolved = resolve(here, &path);
            if resolved.as_ref().is_some_and(|folder| self.files.has_folder(folder)) {
                let mut inner = Layer::default();
                if self.folder(here, &resolved.unwrap_or_default(), false, &mut inner) {
                    self.join(here, layer, inner);
                } else {
                    layer.outside = true;
                }
                continue;
            }
            match self.documents(here, &path) {
                Some(documents) => self.take_file(here, resolved, &documents, layer),
                None => layer.outside = true,
            }
        }
        // Once for all of them: nothing changes what they are known by before the last one is there.
        self.apart(here, &layer.resources);
    }

    fn take_file(&mut self, here: &Here, path: Option<String>, documents: &[Value], layer: &mut Layer) {
        let Some(path) = path.and_then(RepoPath::new) else { return };
        let mut found = Layer::default();
        for document in documents {
            let objects = Object::all(document, &path);
            if objects.is_empty() && !document.is_null() && document.entries().next().is_some() {
                self.fails(here, path.as_str(), "it has a document that is no object");
            }
            if objects.iter().any(|object| object.name().is_none()) {
                self.fails(here, path.as_str(), "it has an object without a name");
            }
            found.resources.extend(objects.iter().map(|object| Resource::new(&object.value, &path)));
        }
        self.join(here, layer, found);
    }

    /// Puts what a base has come to behind what is there.
    fn join(&mut self, here: &Here, layer: &mut Layer, inner: Layer) {
        if self.spend(here, inner.resources.len()) {
            layer.resources.extend(inner.resources);
        }
        layer.config.merge(&inner.config);
        variables::merge(&mut layer.variables, &inner.variables);
        layer.charts.extend(inner.charts);
        layer.outside |= inner.outside;
    }

    /// Works off the kustomization of a folder; tells whether there is one.
    fn folder(&mut self, here: &Here, folder: &str, component: bool, layer: &mut Layer) -> bool {
        let inside = |open: &String| {
            let below = open.strip_prefix(folder);
            folder.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.open.iter().any(inside) {
            self.note(here, About::Cycle(folder.to_owned()));
            return false;
        }
        let bound = match (self.open.len() >= OVERLAYS, self.taken >= KUSTOMIZATIONS) {
            (true, _) => Some(Bound::Overlays(OVERLAYS)),
            (_, true) => Some(Bound::Kustomizations(KUSTOMIZATIONS)),
            _ => None,
        };
        if let Some(bound) = bound {
            self.note(here, About::Bound(bound));
            return false;
        }
        self.taken += 1;
        let (inner, kustomization) = match kustomization(self.files, folder) {
            Ok(Some(found)) => found,
            Ok(None) => {
                self.fails(here, folder, "the folder has no kustomization");
                return false;
            }
            Err(note) => {
                self.notes.insert(note);
                return false;
            }
        };
        if component != (kustomization.text(&["kind"]).as_deref() == Some("Component")) {
            self.fails(here, folder, "`components` are of the kind Component, and `resources` are not");
            return false;
        }
        let nothing = |(key, value): (&str, &Value)| {
            matches!(key, "apiVersion" | "kind")
                || text_of(Some(value)).is_empty() && !matches!(value, Value::List(_) | Value::Map(_))
        };
        if kustomization.entries().all(nothing) {
            self.fails(&inner, inner.path.as_str(), "it says nothing");
        }
        self.open.push(folder.to_owned());
        self.read_schema(&inner, &kustomization);
        self.accumulate(&inner, &kustomization, layer);
        self.open.pop();
        true
    }

    fn read_schema(&mut self, here: &Here, kustomization: &Value) {
        if let (None, Some(path)) = (&self.schema, kustomization.scalar(&["openapi", "path"])) {
            let documents = self.documents(here, &path.text());
            let document = documents.as_ref().and_then(|documents| documents.first());
            self.schema = document.map(|document| Arc::new(Schema::of_document(document)));
        }
    }

    /// Works off a kustomization on top of what is there.
    fn accumulate(&mut self, here: &Here, of: &Value, layer: &mut Layer) {
        self.refuse(here, of);
        self.resources(here, of.list_at("resources").iter().chain(of.list_at("bases")), layer);
        for path in of.list_at("configurations") {
            let documents = self.documents(here, &text_of(Some(path)));
            documents.iter().flat_map(|d| d.first()).for_each(|file| layer.config.add_file(file));
        }
        for path in of.list_at("crds") {
            let documents = self.documents(here, &text_of(Some(path)));
            if !documents.iter().flat_map(|d| d.first()).all(|file| layer.config.add_crds(file)) {
                self.note(here, About::Bound(Bound::Looks(FIELDS)));
            }
        }
        self.generators(here, of, layer);
        for component in of.list_at("components") {
            let path = text_of(Some(component));
            match resolve(here, &path).filter(|_| !is_remote(&path)) {
                Some(folder) => drop(self.folder(here, &folder, true, layer)),
                None => {
                    layer.outside = true;
                    self.note(here, About::Remote(path));
                }
            }
        }
        plugins::built_in(self, here, of, layer);
        let transformers = self.plugins(here, of.list_at("transformers"), layer);
        for (at, transformer) in transformers {
            plugins::transformer(self, &at, &transformer, layer);
        }
        variables::note(&mut layer.resources, &mut layer.variables, of.list_at("vars"));
        charts::changed(here, of, &mut layer.charts);
    }

    /// Notes what kustomize refuses of a kustomization before it reads on.
    fn refuse(&mut self, here: &Here, of: &Value) {
        let at = |name: &str| RepoPath::resolve(&here.folder, name);
        if NAMES.iter().filter_map(|name| at(name)).filter(|p| self.files.has(p.as_str())).count() > 1 {
            self.fails(here, here.path.as_str(), "its folder has more than one kustomization");
        }
        for (key, _) in of.entries().filter(|(key, _)| !KEYS.contains(&&*key.to_ascii_lowercase())) {
            self.fails(here, here.path.as_str(), &format!("kustomize knows no field `{key}`"));
        }
    }

    fn generators(&mut self, here: &Here, of: &Value, layer: &mut Layer) {
        let options = of.get("generatorOptions");
        for (key, kind) in [("configMapGenerator", Kind::ConfigMap), ("secretGenerator", Kind::Secret)] {
            for entry in of.list_at(key) {
                if let Some(resource) = generate::generate(self, here, kind, entry, options) {
                    generate::absorb(self, here, &mut layer.resources, resource);
                }
            }
        }
        let charts = ["helmCharts", "helmChartInflationGenerator"].into_iter().flat_map(|key| {
            of.list_at(key).iter().enumerate().map(move |(n, entry)| (format!("{key}[{n}]"), entry))
        });
        for (part, entry) in charts {
            layer.outside = true;
            let chart = charts::chart(self, here, entry, of.get("helmGlobals"));
            layer.charts.push(ChartRelease { part, ..chart });
        }
        for (at, generator) in self.plugins(here, of.list_at("generators"), layer) {
            plugins::generator(self, &at, &generator, layer);
        }
    }

    /// Reads the configurations of plugins: inline, or in files and folders.
    fn plugins(&mut self, here: &Here, entries: &[Value], layer: &mut Layer) -> Vec<(Here, Value)> {
        let mut found = Vec::new();
        let mut paths = Vec::new();
        for entry in entries {
            let text = entry.as_scalar().filter(|text| generate::is_inline(&text.text()));
            match text.map(|text| read::documents(text, self.files.ceilings())) {
                None => paths.push(entry),
                Some(Ok(documents)) => found.extend(documents.into_iter().map(|value| (here.clone(), value))),
                Some(Err(error)) => self.fails(here, "an inline plugin", &error.to_string()),
            }
        }
        let mut inner = Layer::default();
        self.resources(here, paths.into_iter(), &mut inner);
        layer.outside |= inner.outside;
        found.extend(inner.resources.into_iter().map(|resource| (here.clone(), resource.value)));
        found
    }
}

/// Tells whether a file is a kustomization by its name.
pub fn is_kustomization(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Finds the kustomization of a folder.
pub fn file(files: &dyn Files, folder: &str) -> Option<RepoPath> {
    let path = |name: &&str| RepoPath::resolve(folder, name).filter(|path| files.has(path.as_str()));
    NAMES.iter().find_map(path)
}

/// Reads the kustomization of a folder, where it has one.
pub(super) fn kustomization(files: &dyn Files, folder: &str) -> Result<Option<(Here, Value)>, Note> {
    let Some(path) = file(files, folder) else { return Ok(None) };
    let unread = |error: &FileError| About::Unread { what: path.as_str().to_owned(), why: error.to_string() };
    let documents = files.documents(path.as_str()).map_err(|error| Note::new(&path, unread(&error)))?;
    let value = letters::canonical(&documents.first().cloned().unwrap_or_else(Value::empty));
    Ok(Some((Here { folder: folder.to_owned(), path }, value)))
}

/// Resolves a folder that a kustomization names; `Some("")` is the root.
fn resolve(here: &Here, path: &str) -> Option<String> {
    if path.starts_with('/') || path.is_empty() {
        return None;
    }
    let mut parts: Vec<&str> = here.folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Tells whether a path leads out of the tree, by the forms that kustomize knows for repositories and files.
fn is_remote(path: &str) -> bool {
    path.contains("://")
        || path.starts_with("git@")
        || ["github.com/", "github.com:", "gitlab.com/", "bitbucket.org/"]
            .iter()
            .any(|host| path.starts_with(host))
        || path.contains("?ref=")
        || path.contains("?version=")
        || path.contains("git::")
}
