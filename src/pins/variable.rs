//! Step 5, pins: shape `variable`, a value that a pin reads from elsewhere.
//!
//! In: the variables that pins read, Helm's `valuesFrom`, kustomize's `replacements`. Out: pins where the value is
//! defined. A variable that no pin reads is reported at most.

use std::collections::BTreeSet;

use super::{
    PinKind, Reason,
    context::Context,
    env_file,
    found::{Found, Reader, Spec},
    index::{Map, Root},
    object::Object,
    place::Place,
    values::{self, ReadBy},
    version_text::Expects,
};
use crate::{repo::RepoPath, yaml::Node};

/// Finds where a Flux substitution variable is defined for its reader.
pub(super) fn trace(context: &Context<'_>, reader: &Reader, found: &mut Found) {
    let spec = Spec { kind: PinKind::Variable, ..reader.spec.clone() };
    let above: Vec<&Root> = context.layout.roots_above(&reader.path).into_iter().filter(|r| r.flux).collect();
    let roots: Vec<&Root> =
        if above.is_empty() { context.index.roots.iter().filter(|r| r.flux).collect() } else { above };
    for root in roots {
        if root.substitutes.contains(&reader.variable) {
            substitutes(context, root, |place, key, value| {
                if key == reader.variable {
                    found.scalar(place, value, &spec);
                }
            });
        }
        for name in &root.substitute_from {
            entry_of_map(context, name, root, &reader.variable, &spec, found);
        }
    }
}

/// Reports Flux substitution variables that name a release and that no pin reads.
pub(super) fn unread(place: Place<'_>, object: &Object<'_>, found: &mut Found) {
    let values = object.node.path(&["spec", "postBuild", "substitute"]);
    let spec = Spec::platform(PinKind::Other, Expects::Either).staying(Some(Reason::NotDeployed));
    for (_, value) in values.into_iter().flat_map(Node::entries) {
        found.scalar(place, value, &spec);
    }
}

/// Takes the values that a release reads from a ConfigMap or Secret in the tree.
pub(super) fn values_from(
    context: &Context<'_>,
    from: Node<'_>,
    read_by: &ReadBy<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let Some(name) = from.text(&["name"]) else { return };
    let key = from.text(&["valuesKey"]).unwrap_or("values.yaml");
    let target = from.text(&["targetPath"]);
    for map in context.maps.all("", name, namespaces) {
        with_entry(context, map, key, |place, node| match target {
            Some(path) => {
                if let Some(spec) = read_by.spec(context, path) {
                    found.scalar(place, node, &Spec { kind: PinKind::Variable, ..spec });
                }
            }
            None => drop(place.inside(node, |inner| {
                for root in inner.stream.roots() {
                    values::walk(context, inner, root, read_by, namespaces, found);
                }
            })),
        });
    }
    for (path, generator) in generators(context, name) {
        let Some(file) = context.corpus.file(path.as_str()) else { continue };
        for node in generated(&file, generator) {
            for entry in node.get("files").into_iter().flat_map(Node::items).filter_map(Node::as_str) {
                let (as_key, written) = entry.split_once('=').unwrap_or((last(entry), entry));
                let values = path.join_from_folder(written).filter(|_| as_key == key && target.is_none());
                if let Some(values) = values {
                    values::file(context, values.as_str(), read_by, namespaces, found);
                }
            }
        }
    }
}

/// A replacement whose targets are pins.
struct Replacement {
    kind: String,
    name: String,
    field: Vec<String>,
    /// What the value is cut at, and which piece is taken.
    piece: Option<(String, usize)>,
    spec: Spec,
}

/// Takes the sources of a kustomization's replacements whose targets are pins.
pub(super) fn replacements(context: &Context<'_>, place: Place<'_>, root: Node<'_>, found: &mut Found) {
    let home = &place.file.path;
    let mut read: Vec<Replacement> = Vec::new();
    for item in root.get("replacements").into_iter().flat_map(Node::items) {
        let Some(path) = item.text(&["path"]).and_then(|p| home.join_from_folder(p)) else {
            read.extend(Replacement::of(context, home, item));
            continue;
        };
        for root in context.corpus.file(path.as_str()).iter().flat_map(|file| file.stream.roots()) {
            let one = (!root.is_sequence()).then_some(root);
            read.extend(root.items().chain(one).filter_map(|item| Replacement::of(context, home, item)));
        }
    }
    if read.is_empty() {
        return;
    }
    for path in taken_files(context, home) {
        let Some(file) = context.corpus.file(path.as_str()) else { continue };
        let place = Place::of(&file);
        for object in Object::all(place) {
            let of_this =
                read.iter().filter(|r| r.kind == object.kind && Some(r.name.as_str()) == object.name);
            of_this.for_each(|replacement| replacement.take(place, &object, found));
        }
    }
    for Replacement { kind, name, field, spec, .. } in &read {
        if let ("ConfigMap", [first, key]) = (kind.as_str(), field.as_slice())
            && first == "data"
        {
            generated_entry(context, name, key, spec, found);
        }
    }
}

// === impl Replacement ===

impl Replacement {
    fn of(context: &Context<'_>, kustomization: &RepoPath, item: Node<'_>) -> Option<Self> {
        let source = item.get("source")?;
        let name = source.text(&["name"])?.to_owned();
        let mut targets = item.get("targets").into_iter().flat_map(Node::items);
        let spec = targets.find_map(|target| target_spec(context, kustomization, target))?;
        let index = source.text(&["options", "index"]).and_then(|i| i.parse().ok()).unwrap_or(0);
        let delimiter = source.text(&["options", "delimiter"]).filter(|delimiter| !delimiter.is_empty());
        Some(Self {
            kind: source.text(&["kind"]).unwrap_or("ConfigMap").to_owned(),
            name,
            field: field_path(source.text(&["fieldPath"]).unwrap_or("metadata.name")),
            piece: delimiter.map(|delimiter| (delimiter.to_owned(), index)),
            spec,
        })
    }

    fn take(&self, place: Place<'_>, object: &Object<'_>, found: &mut Found) {
        let keys: Vec<&str> = self.field.iter().map(String::as_str).collect();
        let Some(node) = object.node.path(&keys) else { return };
        match (&self.piece, node.as_str()) {
            (Some((delimiter, index)), Some(text)) => {
                let start = text.split(delimiter).take(*index).map(|p| p.len() + delimiter.len()).sum();
                let length = text.split(delimiter).nth(*index).map_or(0, str::len);
                found.part(place, node, start..start + length, &self.spec);
            }
            _ => found.scalar(place, node, &self.spec),
        }
    }
}

/// Says which pin a replacement's target is.
fn target_spec(context: &Context<'_>, kustomization: &RepoPath, target: Node<'_>) -> Option<Spec> {
    let (kind, name) = (target.text(&["select", "kind"]), target.text(&["select", "name"]));
    let fields = target.get("fieldPaths").into_iter().flat_map(Node::items).filter_map(Node::as_str);
    fields.map(field_path).find_map(|field| {
        let keys: Vec<&str> = field.iter().map(String::as_str).collect();
        if keys.last() == Some(&crate::linkerd::PROXY_VERSION) {
            return Some(Spec { kind: PinKind::Variable, ..super::annotation::spec() });
        }
        let kind = kind.unwrap_or("HelmRelease");
        let named = context.patched_chart(kustomization, kind, name?, &BTreeSet::new())?;
        let read_by = ReadBy::judge(context, &named, "");
        let of_chart = match keys.as_slice() {
            ["spec", "chart", "spec", "version"] | ["spec", "source", "targetRevision"] => true,
            ["spec", "sources", _, "targetRevision"] => true,
            ["spec", "values", rest @ ..] => {
                return read_by.spec(context, &rest.join(".")).map(|s| Spec { kind: PinKind::Variable, ..s });
            }
            _ => false,
        };
        match read_by {
            ReadBy::Ours(ours) if of_chart => {
                Some(ours.fill(Spec::platform(PinKind::Variable, Expects::Chart)))
            }
            _ => None,
        }
    })
}

/// Returns what a kustomization takes in, and what kustomizations above it take in beside it.
fn taken_files(context: &Context<'_>, kustomization: &RepoPath) -> BTreeSet<RepoPath> {
    let mut folders = context.layout.folders_above(kustomization);
    folders
        .extend(context.index.kustomizations.get_key_value(kustomization.folder()).map(|(k, _)| k.as_str()));
    folders.into_iter().flat_map(|folder| context.layout.taken_by(folder)).collect()
}

/// Reads kustomize's field paths: `a.b`, `a.[b.c/d].e` and `a.b\.c`.
fn field_path(text: &str) -> Vec<String> {
    let (mut keys, mut key, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for c in text.chars() {
        match c {
            _ if escaped => {
                key.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '[' if key.is_empty() && !quoted => quoted = true,
            ']' if quoted => quoted = false,
            '.' if !quoted => keys.push(std::mem::take(&mut key)),
            _ => key.push(c),
        }
    }
    keys.push(key);
    keys
}

/// Visits what a Flux Kustomization substitutes by itself.
pub(super) fn substitutes(
    context: &Context<'_>,
    root: &Root,
    mut visit: impl FnMut(Place<'_>, &str, Node<'_>),
) {
    let Some(file) = context.corpus.file(root.path.as_str()) else { return };
    let place = Place::of(&file);
    let flux = |o: &Object<'_>| o.is("kustomize.toolkit.fluxcd.io", "Kustomization");
    for object in Object::all(place).into_iter().filter(flux).filter(|o| o.name == root.name.as_deref()) {
        let values = object.node.path(&["spec", "postBuild", "substitute"]);
        for (key, value) in values.into_iter().flat_map(Node::entries) {
            visit(place, key.as_str().unwrap_or_default(), value);
        }
    }
}

fn entry_of_map(context: &Context<'_>, name: &str, root: &Root, key: &str, spec: &Spec, found: &mut Found) {
    let own: BTreeSet<String> = root.namespace.iter().cloned().collect();
    if let Some(map) = context.maps.nearest("", name, &own, &root.path) {
        with_entry(context, map, key, |place, node| found.scalar(place, node, spec));
    }
    generated_entry(context, name, key, spec, found);
}

/// Visits an entry of a ConfigMap, or of a Secret in plain text; base64 is left alone.
fn with_entry(context: &Context<'_>, map: &Map, key: &str, mut visit: impl FnMut(Place<'_>, Node<'_>)) {
    let Some(file) = context.corpus.file(map.path.as_str()) else { return };
    let place = Place::of(&file);
    let data = if map.kind == "Secret" { "stringData" } else { "data" };
    for object in Object::all(place).iter().filter(|o| o.kind == map.kind && o.name == Some(&map.name)) {
        if let Some(node) = object.node.path(&[data, key]) {
            visit(place, node);
        }
    }
}

/// Takes an entry of a ConfigMap that kustomize generates: a literal, or a line of an env file.
fn generated_entry(context: &Context<'_>, name: &str, key: &str, spec: &Spec, found: &mut Found) {
    for (path, generator) in generators(context, name) {
        let Some(file) = context.corpus.file(path.as_str()) else { continue };
        let place = Place::of(&file);
        for node in generated(&file, generator) {
            for literal in node.get("literals").into_iter().flat_map(Node::items) {
                let Some((name, value)) = literal.as_str().and_then(|l| l.split_once('=')) else { continue };
                if name == key {
                    let value_start = name.len() + 1;
                    found.part(place, literal, value_start..value_start + value.len(), spec);
                }
            }
            let files = node.get("envs").into_iter().flat_map(Node::items).filter_map(Node::as_str);
            for env in files.chain(node.text(&["env"])).filter_map(|e| path.join_from_folder(e)) {
                if let Some(entry) = context.corpus.entry(env.as_str())
                    && let Ok(text) = context.corpus.text(entry)
                {
                    found.pins.extend(env_file::pin(entry, &text, key, spec));
                }
            }
        }
    }
}

/// Returns the kustomizations that generate a ConfigMap of that name.
fn generators<'n>(context: &Context<'_>, name: &'n str) -> Vec<(RepoPath, &'n str)> {
    let makes = context.index.kustomizations.values().filter(|k| k.generated.iter().any(|g| g == name));
    makes.map(|k| (k.path.clone(), name)).collect()
}

fn generated<'a>(file: &'a super::corpus::File, name: &str) -> Vec<Node<'a>> {
    let roots = file.stream.roots();
    let items = roots.filter_map(|r| r.get("configMapGenerator")).flat_map(Node::items);
    items.filter(|g| g.text(&["name"]) == Some(name)).collect()
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    #[test]
    fn field_paths_have_quoted_and_escaped_dots() {
        let joined = |text| super::field_path(text).join("|");
        assert_eq!(joined("spec.chart.spec.version"), "spec|chart|spec|version");
        assert_eq!(joined("metadata.annotations.[a.b/c]"), "metadata|annotations|a.b/c");
        assert_eq!(joined("metadata.annotations.a\\.b/c"), "metadata|annotations|a.b/c");
    }
}
