//! Step 3, scan: shape `variable`, a value that a pin reads from elsewhere.
//!
//! In: the variables that pins read, Helm's `valuesFrom`, kustomize's `replacements`. Out: pins where the value is
//! defined. A variable that no pin reads is reported at most.

use std::collections::BTreeSet;

use super::{
    PinKind, Reason, RepoPath,
    context::Context,
    env_file,
    found::{Found, Reader, Spec},
    index::{Map, Root, nearest},
    object::Object,
    place::Place,
    values::{self, ReadBy},
    version_text::Expects,
};
use crate::yaml::Node;

/// Finds where a Flux substitution variable is defined for its reader.
pub(super) fn trace(context: &Context<'_>, reader: &Reader, found: &mut Found) {
    let spec = Spec { kind: PinKind::Variable, ..reader.spec.clone() };
    let above: Vec<&Root> = context.layout.roots_above(&reader.path).into_iter().filter(|r| r.flux).collect();
    let roots: Vec<&Root> =
        if above.is_empty() { context.index.roots.iter().filter(|r| r.flux).collect() } else { above };
    for root in roots {
        substitutes(context, root, |place, key, value| {
            if key == reader.variable {
                found.scalar(place, value, &spec);
            }
        });
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
    let tied = |map: &&Map| {
        let there = context.layout.namespaces(&map.path, map.namespace.as_deref());
        map.name == name && (there.is_empty() || namespaces.is_empty() || !there.is_disjoint(namespaces))
    };
    for map in context.index.maps.iter().filter(tied) {
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

/// Takes the sources of a kustomization's replacements whose targets are pins.
pub(super) fn replacements(context: &Context<'_>, place: Place<'_>, root: Node<'_>, found: &mut Found) {
    for item in root.get("replacements").into_iter().flat_map(Node::items) {
        match item.text(&["path"]).and_then(|p| place.file.path.join_from_folder(p)) {
            None => replacement(context, &place.file.path, item, found),
            Some(path) => {
                let Some(file) = context.corpus.file(path.as_str()) else { continue };
                for root in file.stream.roots() {
                    let items: Vec<Node<'_>> =
                        if root.is_sequence() { root.items().collect() } else { vec![root] };
                    items.into_iter().for_each(|item| replacement(context, &place.file.path, item, found));
                }
            }
        }
    }
}

fn replacement(context: &Context<'_>, kustomization: &RepoPath, item: Node<'_>, found: &mut Found) {
    let Some(source) = item.get("source") else { return };
    let Some(name) = source.text(&["name"]) else { return };
    let spec = item
        .get("targets")
        .into_iter()
        .flat_map(Node::items)
        .find_map(|t| target_spec(context, kustomization, t));
    let Some(spec) = spec else { return };
    let field = field_path(source.text(&["fieldPath"]).unwrap_or("metadata.name"));
    let delimiter = source.text(&["options", "delimiter"]);
    let index = source.text(&["options", "index"]).and_then(|i| i.parse::<usize>().ok()).unwrap_or(0);
    let kind = source.text(&["kind"]).unwrap_or("ConfigMap");
    for path in taken_files(context, kustomization) {
        let Some(file) = context.corpus.file(path.as_str()) else { continue };
        let place = Place::of(&file);
        for object in Object::all(place).iter().filter(|o| o.kind == kind && o.name == Some(name)) {
            let keys: Vec<&str> = field.iter().map(String::as_str).collect();
            let Some(node) = object.node.path(&keys) else { continue };
            match (delimiter, node.as_str()) {
                (Some(delimiter), Some(text)) if !delimiter.is_empty() => {
                    let start: usize =
                        text.split(delimiter).take(index).map(|p| p.len() + delimiter.len()).sum();
                    let length = text.split(delimiter).nth(index).map_or(0, str::len);
                    found.part(place, node, start..start + length, &spec);
                }
                _ => found.scalar(place, node, &spec),
            }
        }
    }
    if let ("ConfigMap", [first, key]) = (kind, field.as_slice())
        && first == "data"
    {
        generated_entry(context, name, key, &spec, found);
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
    let tied = |map: &&Map| {
        let there = context.layout.namespaces(&map.path, map.namespace.as_deref());
        map.name == name && root.namespace.as_ref().is_none_or(|n| there.is_empty() || there.contains(n))
    };
    if let Some(map) = nearest(context.index.maps.iter().filter(tied), &root.path, |m| &m.path) {
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
