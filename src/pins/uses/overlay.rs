//! Step 5, pins: what kustomizations and Flux do to an object on its way to the cluster.
//!
//! In: an object's file and name. Out: [`Variant`]s, one for each way that makes something else of it: the patches in
//! order, the variables, the namespace. Only what is written in patches is followed; other transformers are noted.

use std::cmp::Reverse;

use super::{
    super::{
        context::Context,
        index::{Kustomization, Root},
        object::Object,
    },
    data::Data,
    fill::Variables,
};
use crate::repo::RepoPath;

/// More ways are not followed.
const VARIANTS: usize = 64;
/// Components nest no deeper in practice.
const NESTED: usize = 4;

/// One way of an object to the cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Variant {
    /// What makes it differ: an overlay's kustomization or a Flux Kustomization.
    pub by: Option<RepoPath>,
    /// The namespace that it is given, or its own.
    pub namespace: Option<String>,
    /// The folders of the kustomizations that it goes through, inner ones first.
    pub folders: Vec<String>,
    /// The variables that are filled in.
    pub variables: Option<Variables>,
    /// What was not followed.
    pub notes: Vec<String>,
    patches: Vec<Patch>,
}

#[derive(Clone, Debug)]
enum Patch {
    Merge(Data),
    Operations(Vec<Data>),
}

/// The object that patches are looked for.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    kind: &'a str,
    name: &'a str,
    namespace: Option<&'a str>,
    labels: Option<&'a Data>,
}

// === impl Variant ===

impl Variant {
    /// Applies the patches, then fills the variables.
    pub fn apply(&self, data: &mut Data) {
        for patch in &self.patches {
            match patch {
                Patch::Merge(over) => data.merge(over),
                // Of operations that fail kustomize fails too; the rest is applied all the same.
                Patch::Operations(ops) => ops.iter().for_each(|op| {
                    data.operate(op);
                }),
            }
        }
        if let Some(variables) = &self.variables {
            data.fill(true, &|text| variables.fill(text));
        }
    }
}

/// Lists the ways of an object to the cluster, equal ones once.
pub(super) fn variants(
    context: &Context<'_>,
    path: &RepoPath,
    object: &Object<'_>,
    data: &Data,
) -> Vec<Variant> {
    let name = object.name.unwrap_or_default();
    let labels = data.path(&["metadata", "labels"]);
    let wanted = Wanted { kind: object.kind, name, namespace: object.namespace, labels };
    let mut found: Vec<Variant> = Vec::new();
    for (root, chain) in ways(context, path).into_iter().take(VARIANTS) {
        let variant = variant(context, root, &chain, wanted, data);
        let same = |v: &Variant| {
            v.by == variant.by && (v.namespace == variant.namespace || variant.namespace.is_none())
        };
        if !found.iter().any(same) {
            found.push(variant);
        }
    }
    found
}

/// Tells whether a file is a patch of some kustomization and no resource of any.
pub(super) fn is_patch(context: &Context<'_>, path: &RepoPath) -> bool {
    let names = |k: &&Kustomization, list: &[String]| {
        list.iter().any(|p| RepoPath::resolve(k.path.folder(), p).as_ref() == Some(path))
    };
    let around = context.layout.folders_above(path);
    let mut all = around.iter().filter_map(|f| context.index.kustomizations.get(*f));
    all.any(|k| names(&k, &k.patch_files))
}

type Way<'c> = (Option<&'c Root>, Vec<&'c Kustomization>);

fn ways<'c>(context: &Context<'c>, path: &RepoPath) -> Vec<Way<'c>> {
    let above = |k: &Kustomization| context.layout.folders_above(&k.path);
    let folders = context.layout.folders_above(path);
    let mut chain: Vec<(usize, &'c Kustomization)> = Vec::new();
    for folder in folders {
        let kustomization = context.index.kustomizations.get(folder);
        chain.extend(kustomization.map(|k| (above(k).len(), k)));
    }
    // The more there is above a kustomization, the further inside it is.
    chain.sort_by_key(|(height, k)| (Reverse(*height), &k.path));
    let through = |top: &str| -> Vec<&'c Kustomization> {
        let below = |k: &&Kustomization| {
            k.path.folder() == top
                || above(k).contains(top)
                || (!context.index.kustomizations.contains_key(top) && is_below(k.path.folder(), top))
        };
        chain.iter().map(|(_, k)| *k).filter(below).collect()
    };
    let roots: Vec<&Root> = context.layout.roots_above(path).into_iter().filter(|r| r.flux).collect();
    if !roots.is_empty() {
        return roots.into_iter().map(|root| (Some(root), through(&root.folder))).collect();
    }
    let tops = chain.iter().filter(|(height, _)| *height <= 1).map(|(_, k)| k.path.folder());
    let mut ways: Vec<Way<'c>> = tops.map(|top| (None, through(top))).collect();
    if ways.is_empty() {
        ways.push((None, chain.iter().map(|(_, k)| *k).collect()));
    }
    ways
}

fn is_below(folder: &str, top: &str) -> bool {
    top.is_empty() || folder.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'))
}

fn variant(
    context: &Context<'_>,
    root: Option<&Root>,
    chain: &[&Kustomization],
    wanted: Wanted<'_>,
    data: &Data,
) -> Variant {
    let mut variant = Variant::default();
    for kustomization in chain {
        let before = variant.patches.len();
        folder_patches(context, kustomization.path.folder(), wanted, NESTED, &mut variant);
        if variant.patches.len() > before {
            variant.by = Some(kustomization.path.clone());
        }
        variant.folders.push(kustomization.path.folder().to_owned());
        let set = kustomization.namespace.clone();
        variant.namespace = set.or(variant.namespace);
    }
    let own = wanted.namespace.map(str::to_owned);
    variant.namespace = variant.namespace.or(own);
    if let Some(root) = root {
        variant.namespace = root.target.clone().or(variant.namespace);
        root_patches(context, root, wanted, &mut variant);
        let text = data.to_text();
        let reads = text.contains("${") || variant.patches.iter().any(Patch::reads_variables);
        let disabled = ["annotations", "labels"].into_iter().any(|map| {
            let key = "kustomize.toolkit.fluxcd.io/substitute";
            data.text(&["metadata", map, key]) == Some("disabled")
        });
        variant.variables = Variables::of(context, root).filter(|_| !disabled);
        if reads && variant.variables.is_some() {
            variant.by = Some(root.path.clone());
        }
    } else if data.to_text().contains("${") {
        variant.variables = Some(Variables::elsewhere());
    }
    variant
}

fn root_patches(context: &Context<'_>, root: &Root, wanted: Wanted<'_>, variant: &mut Variant) {
    let Some(file) = context.corpus.file(root.path.as_str()) else { return };
    let place = super::super::place::Place::of(&file);
    for object in Object::all(place).into_iter().filter(|o| o.name == root.name.as_deref()) {
        let spec = object.node.get("spec").and_then(Data::read);
        let before = variant.patches.len();
        if let Some(spec) = spec.filter(|_| object.kind == "Kustomization") {
            patches(context, &root.path, &spec, wanted, variant);
        }
        if variant.patches.len() > before {
            variant.by = Some(root.path.clone());
        }
    }
}

fn folder_patches(
    context: &Context<'_>,
    folder: &str,
    wanted: Wanted<'_>,
    depth: usize,
    variant: &mut Variant,
) {
    let Some(kustomization) = context.index.kustomizations.get(folder) else { return };
    let Some(file) = context.corpus.file(kustomization.path.as_str()) else { return };
    let Some(root) = file.stream.roots().next().and_then(Data::read) else { return };
    for component in root.texts("components").into_iter().filter(|_| depth > 0) {
        if let Some(path) = RepoPath::resolve(folder, component) {
            folder_patches(context, path.as_str(), wanted, depth - 1, variant);
        }
    }
    patches(context, &kustomization.path, &root, wanted, variant);
    if !root.list("replacements").is_empty() || !root.list("transformers").is_empty() {
        let note =
            format!("{} has replacements or transformers, which are not followed.", kustomization.path);
        variant.notes.push(note);
    }
}

/// Takes the patches for the object in kustomize's order.
fn patches(context: &Context<'_>, path: &RepoPath, root: &Data, wanted: Wanted<'_>, variant: &mut Variant) {
    for key in ["patchesStrategicMerge", "patches", "patchesJson6902"] {
        for item in root.list(key) {
            let texts = match (item, item.get("patch"), item.text(&["path"])) {
                (Data::Scalar { text, .. }, ..) => documents(context, path, text),
                (_, Some(Data::Scalar { text, .. }), _) => parsed(text),
                // Flux 0.x and Argo CD take a patch as YAML, not as text.
                (_, Some(node), _) => vec![node.clone()],
                (_, None, Some(file)) => documents(context, path, file),
                (_, None, None) => Vec::new(),
            };
            for patch in texts {
                take(patch, item.get("target"), path, wanted, variant);
            }
        }
    }
}

fn take(patch: Data, target: Option<&Data>, path: &RepoPath, wanted: Wanted<'_>, variant: &mut Variant) {
    let meant = match target {
        Some(target) => wanted.is_selected(target),
        None => Some(wanted.is_named(&patch)),
    };
    match (meant, patch) {
        (Some(false), _) => {}
        (None, _) => {
            let note = format!("{path} has a patch whose target is not understood here.");
            if !variant.notes.contains(&note) {
                variant.notes.push(note);
            }
        }
        (Some(true), Data::List(ops)) => variant.patches.push(Patch::Operations(ops)),
        (Some(true), merge) => variant.patches.push(Patch::Merge(without_identity(merge))),
    }
}

/// A patch never renames its object.
fn without_identity(mut patch: Data) -> Data {
    if let Data::Map(map) = &mut patch {
        map.remove("apiVersion");
        map.remove("kind");
        if let Some(Data::Map(metadata)) = map.get_mut("metadata") {
            metadata.remove("name");
            metadata.remove("namespace");
        }
    }
    patch
}

fn documents(context: &Context<'_>, path: &RepoPath, written: &str) -> Vec<Data> {
    if written.contains('\n') {
        return parsed(written);
    }
    let file = path.join_from_folder(written).and_then(|p| context.corpus.file(p.as_str()));
    let read = |file: &super::super::corpus::File| file.stream.roots().filter_map(Data::read).collect();
    file.map(|file| read(&file)).unwrap_or_default()
}

fn parsed(text: &str) -> Vec<Data> {
    let stream = crate::yaml::Stream::parse(text);
    stream.map(|s| s.roots().filter_map(Data::read).collect()).unwrap_or_default()
}

// === impl Patch ===

impl Patch {
    fn reads_variables(&self) -> bool {
        match self {
            Self::Merge(data) => data.to_text().contains("${"),
            Self::Operations(ops) => ops.iter().any(|op| op.to_text().contains("${")),
        }
    }
}

// === impl Wanted ===

impl Wanted<'_> {
    fn is_named(&self, patch: &Data) -> bool {
        let namespace = patch.text(&["metadata", "namespace"]);
        patch.text(&["kind"]) == Some(self.kind)
            && patch.text(&["metadata", "name"]) == Some(self.name)
            && self.namespace.zip(namespace).is_none_or(|(a, b)| a == b)
    }

    /// Tells whether a target selects the object; `None` where that cannot be told.
    fn is_selected(&self, target: &Data) -> Option<bool> {
        let field = |key: &str, own: Option<&str>| match target.text(&[key]) {
            None => Some(true),
            Some(pattern) => own.map_or(Some(true), |own| matches(pattern, own)),
        };
        let mut all = field("kind", Some(self.kind))?
            && field("name", Some(self.name))?
            && field("namespace", self.namespace)?;
        if target.text(&["annotationSelector"]).is_some() && all {
            return None;
        }
        for pair in target.text(&["labelSelector"]).into_iter().flat_map(|s| s.split(',')) {
            let (key, value) = pair.split_once("==").or_else(|| pair.split_once('='))?;
            let own = self.labels.and_then(|l| l.get(key.trim())).and_then(Data::as_str);
            all &= own == Some(value.trim());
        }
        Some(all)
    }
}

/// Matches the whole text as kustomize does: a regular expression, of which `.*` alone is understood.
fn matches(pattern: &str, text: &str) -> Option<bool> {
    let pattern = pattern.trim_start_matches('^').trim_end_matches('$');
    let parts: Vec<&str> = pattern.split(".*").collect();
    let plain = |part: &&str| !part.contains(['*', '+', '?', '[', ']', '(', ')', '|', '\\', '{', '}']);
    if !parts.iter().all(plain) {
        return None;
    }
    let (first, rest) = parts.split_first()?;
    let Some((last, middle)) = rest.split_last() else { return Some(*first == text) };
    let Some(mut left) = text.strip_prefix(first) else { return Some(false) };
    for part in middle {
        match left.find(part) {
            Some(at) => left = left.get(at + part.len()..)?,
            None => return Some(false),
        }
    }
    Some(left.ends_with(last))
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_are_matched_whole() {
        use super::matches;
        assert_eq!(matches("linkerd-crds", "linkerd-crds"), Some(true));
        assert_eq!(matches("linkerd", "linkerd-crds"), Some(false));
        assert_eq!(matches("^linkerd-.*$", "linkerd-crds"), Some(true));
        assert_eq!(matches(".*", "x"), Some(true));
        assert_eq!(matches("a.*b.*c", "a-b-c"), Some(true));
        assert_eq!(matches("a.*b.*c", "a-c"), Some(false));
        assert_eq!(matches("(a|b)", "a"), None);
    }
}
