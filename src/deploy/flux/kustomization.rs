//! What kustomize-controller builds of a Kustomization.
//!
//! Sources: `github.com/fluxcd/pkg/kustomize/kustomize_generator.go`, and `build` and `apply` of kustomize-controller.
//! The folder is looked for in this tree, whatever the source, unless it is the root. Without a kustomization every manifest below is taken in,
//! and every kustomization of a folder below.

use std::collections::BTreeSet;

use super::{
    ARTIFACT, KUSTOMIZATIONS, SOURCES,
    artifact::{Artifact, steps},
    ignored::Ignored,
    substitute::{Variables, note_versions},
};
use crate::{
    deploy::{
        build::Build,
        cluster::{Cluster, Reference},
        files::Files,
        go_yaml,
        kustomize::{self, NAMES},
        note::{About, Note},
        object::Object,
        repositories,
        typed::is_true,
        value::{Scalar, Value},
    },
    repo::RepoPath,
};

/// The kind of source that takes in folders of others.
const INCLUDING: &str = "GitRepository";

/// Tells whether a Kustomization reads a folder of which it is said that something of interest is in it.
pub fn concerns(object: &Object, cluster: &Cluster<'_>, is_wanted: &dyn Fn(&str) -> bool) -> bool {
    let reference = object.value.path(&["spec", "sourceRef"]);
    // Where an artifact's folders lie is known to its generator, and where included ones do to their source.
    let of_artifact = reference.and_then(|r| r.text(&["kind"])).is_some_and(|kind| kind == ARTIFACT);
    let source = reference.and_then(|reference| referred(reference, object, cluster));
    let includes = || source.is_some_and(|source| !included(source).is_empty());
    of_artifact || includes() || is_wanted(&object.value.text(&["spec", "path"]).unwrap_or_default())
}

/// The same of the Kustomization that a FluxInstance makes.
pub fn instance_concerns(object: &Object, _: &Cluster<'_>, is_wanted: &dyn Fn(&str) -> bool) -> bool {
    let patches = object.value.path(&["spec", "kustomize"]);
    let speaks = |value: &Value| value.scalars().iter().any(|text| text.text().contains("inkerd"));
    patches.is_some_and(speaks)
        || object.value.text(&["spec", "sync", "path"]).is_some_and(|path| is_wanted(&path))
}

/// Builds the Kustomization that flux-operator makes of a FluxInstance's `spec.sync`, and takes what `spec.kustomize` says
/// of Flux itself. Its patches go over both (`internal/builder/build.go` of flux-operator).
pub fn flux_instance(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Build {
    let patches = object.value.path(&["spec", "kustomize", "patches"]);
    let over = Value::map(patches.map(|patches| ("patches", patches.clone())));
    let mut own = kustomize::build_with(files, &object.file, &over, sync(object).as_ref());
    let synced = own.objects.into_iter().find(|made| made.group() == KUSTOMIZATIONS);
    let synced = synced.map(|made| Object { value: made.value, ..object.clone() });
    let synced = synced.map(|made| kustomization(&made, cluster, files)).unwrap_or_default();
    own.strays.extend(synced.strays);
    own.idle.extend(synced.idle);
    own.unmatched.extend(synced.unmatched);
    own.guards.extend(synced.guards);
    own.notes.extend(synced.notes);
    Build {
        strays: own.strays,
        idle: own.idle,
        unmatched: own.unmatched,
        guards: own.guards,
        notes: own.notes,
        ..synced
    }
}

/// Makes the Kustomization of `spec.sync`, which is called as its namespace is, or as it says.
fn sync(instance: &Object) -> Option<Value> {
    let sync = instance.value.path(&["spec", "sync"])?;
    let namespace = instance.namespace().cloned().unwrap_or_else(|| Scalar::made(""));
    let name = sync.scalar(&["name"]).filter(|name| !name.text().is_empty()).unwrap_or(&namespace).clone();
    let metadata = [("name", Value::Scalar(name)), ("namespace", Value::Scalar(namespace))];
    Some(Value::map([
        ("apiVersion", Value::made(&format!("{KUSTOMIZATIONS}/v1"))),
        ("kind", Value::made("Kustomization")),
        ("metadata", Value::map(metadata)),
        ("spec", Value::map([("path", Value::Scalar(sync.scalar(&["path"])?.clone()))])),
    ]))
}

/// Builds a Kustomization: its objects as they reach the cluster.
pub fn kustomization(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Build {
    let mut build = Build::default();
    let note = |about: About| Note::new(&object.file, about);
    let none = Value::empty();
    let spec = object.value.get("spec").unwrap_or(&none);
    let path = path(object);
    let Some((folder, source)) = place(&path, object, cluster, files) else {
        let over = added(files, object.file.folder(), &none, spec);
        build = kustomize::build_over(files, &object.file, &over);
        build.notes.push(note(About::Remote(path.text().into_owned())));
        return build;
    };
    let found = match kustomize::kustomization(files, &folder) {
        Ok(found) => found,
        Err(note) => {
            build.notes.push(note);
            return build;
        }
    };
    let mut ignored = Ignored::of(&folder, source, files);
    // Without its folder a Kustomization fails, and what it has applied stays.
    if files.below(&folder).iter().all(|entry| ignored.has(entry.path.as_str())) {
        ignored = Ignored::default();
    }
    let made = || Some((RepoPath::resolve(&folder, NAMES[0])?, generated(files, &folder, &ignored)));
    let found = found.filter(|(path, _)| !ignored.has(path.as_str()));
    let Some((path, own)) = found.or_else(made) else { return build };
    build = kustomize::build_as(files, &path, &added(files, &folder, &own, spec));
    build.left_out.extend(left_out(files, &folder, &ignored).cloned());
    build.ignored.extend(left_out(files, &folder, &ignored).flat_map(|path| Object::of_file(files, path)));
    let by = Some(object.file.clone());
    build.objects.iter_mut().for_each(|o| o.by.clone_from(&by));
    build.covered.iter_mut().chain(&mut build.unpatched).for_each(|o| o.by.clone_from(&by));
    build.strays.iter_mut().for_each(|o| o.by.clone_from(&by));
    build.charts.iter_mut().for_each(|chart| chart.by.clone_from(&by));
    if let Some(variables) = Variables::of(object, cluster) {
        let shadowed = variables.shadowed(object, cluster);
        for object in &mut build.objects {
            let fill = |other: &Variables| other.fill(object, files, &mut Vec::new());
            let others: Vec<Value> = shadowed.iter().filter_map(fill).collect();
            if let Some(mut value) = variables.fill(object, files, &mut build.notes) {
                note_versions(&mut value, object);
                object.value = value;
            }
            let others = others.into_iter().filter(|value| *value != object.value);
            build.shadowed.extend(others.map(|value| Object { value, ..object.clone() }));
        }
        for object in build.covered.iter_mut().chain(&mut build.unpatched) {
            let filled = variables.fill(object, files, &mut Vec::new());
            filled.into_iter().for_each(|value| object.value = value);
        }
        // What is put to images is in the objects then.
        for entry in build.images.iter_mut().chain(&mut build.images_of_known) {
            let put = Object { value: entry.clone(), ..object.clone() };
            let filled = variables.fill(&put, files, &mut Vec::new());
            filled.into_iter().for_each(|value| *entry = value);
        }
    }
    set_common_metadata(spec, &mut build.objects);
    set_common_metadata(spec, &mut build.covered);
    build
}

/// Puts what all objects get on them (fluxcd/pkg `ssa.SetCommonMetadata`).
pub(super) fn set_common_metadata(spec: &Value, objects: &mut [Object]) {
    for part in ["labels", "annotations"] {
        let common = spec.path(&["commonMetadata", part]);
        for (key, value) in common.into_iter().flat_map(Value::entries) {
            objects.iter_mut().for_each(|object| set_metadata(object, part, key, value));
        }
    }
}

/// Lists the variables that Kustomizations give to what an artifact has that is not followed: it may be made of this tree.
pub fn handed_on(cluster: &Cluster<'_>, files: &dyn Files) -> BTreeSet<String> {
    let is_artifact = |object: &&Object| {
        let kind = object.value.text(&["spec", "sourceRef", "kind"]);
        kind.is_some_and(|kind| kind != INCLUDING) && place(&path(object), object, cluster, files).is_none()
    };
    let all = cluster.all(KUSTOMIZATIONS, "Kustomization").into_iter().filter(is_artifact);
    all.filter_map(|object| Variables::of(object, cluster)).flat_map(Variables::into_names).collect()
}

/// Returns the path that a Kustomization names.
fn path(object: &Object) -> Scalar {
    object.value.scalar(&["spec", "path"]).cloned().unwrap_or_else(|| Scalar::made("."))
}

/// Returns the folder of the tree, and the source that it is of.
fn place<'a>(
    path: &Scalar,
    object: &Object,
    cluster: &'a Cluster<'_>,
    files: &dyn Files,
) -> Option<(String, Option<&'a Object>)> {
    if path.unknown_to().is_some() {
        return None;
    }
    let reference = object.value.path(&["spec", "sourceRef"]);
    let text = |key| reference.and_then(|reference| reference.text(&[key]));
    let copied = text("name").filter(|_| text("kind").as_deref() == Some(ARTIFACT)).and_then(|name| {
        let namespace = text("namespace").or_else(|| object.namespace().and_then(Scalar::known));
        Artifact::find(&name, namespace.as_deref(), cluster)?.at(&path.text())
    });
    let reference = copied.as_ref().map(|copied| copied.source).or(reference);
    let written = copied.as_ref().map_or_else(|| path.text(), |copied| copied.path.as_str().into());
    let source = reference.and_then(|reference| referred(reference, object, cluster));
    let include = source.and_then(|source| Some((source, included_at(source, &written)?)));
    let (reference, asks, written) = match &include {
        Some((source, (repository, path))) => (Some(*repository), *source, path.as_str().into()),
        None => (reference, object, written),
    };
    let clean = written.trim_start_matches('/');
    let folder = RepoPath::resolve_folder("", clean)?;
    let source = |key| reference.and_then(|reference| reference.text(&[key]));
    let kind = source("kind").or_else(|| include.as_ref().map(|_| INCLUDING.into()));
    let named = kind.zip(source("name"));
    let is_here = match folder.is_empty() {
        true => {
            named.as_ref().is_none_or(|(kind, name)| files.has_root_of(&repositories::referred(kind, name)))
        }
        false => files.has_folder(&folder),
    };
    is_here.then(|| (folder, reference.and_then(|reference| referred(reference, asks, cluster))))
}

/// Finds the source that an object refers to; one that includes another need not say its kind.
fn referred<'a>(reference: &Value, object: &Object, cluster: &'a Cluster<'_>) -> Option<&'a Object> {
    let kind = reference.text(&["kind"]).unwrap_or_else(|| INCLUDING.into());
    let name = reference.text(&["name"])?;
    let namespace = reference.text(&["namespace"]).or_else(|| object.namespace().and_then(Scalar::known));
    let (namespace, from) = (namespace.as_deref(), &object.file);
    cluster.find(Reference { group: SOURCES, kind: &kind, name: &name, namespace, from })
}

/// Returns what a GitRepository includes of others (`docs/spec/v1/gitrepositories.md` of source-controller, "Include").
fn included(source: &Object) -> &[Value] {
    let spec = source.value.get("spec").filter(|_| source.kind() == INCLUDING);
    spec.map_or(&[][..], |spec| spec.list_at("include"))
}

/// Says which repository a path of a source is included from, and its path there; of several the one that names it most
/// closely.
fn included_at<'a>(source: &'a Object, path: &str) -> Option<(&'a Value, String)> {
    let wanted = steps(path);
    let all = included(source).iter().filter_map(|include| {
        let repository = include.get("repository")?;
        let to =
            include.text(&["toPath"]).filter(|to| !to.is_empty()).or_else(|| repository.text(&["name"]))?;
        let from = include.text(&["fromPath"]).unwrap_or_default();
        let rest = wanted.strip_prefix(steps(&to).as_slice())?;
        let path = steps(&from).iter().chain(rest).copied().collect::<Vec<_>>().join("/");
        Some((wanted.len() - rest.len(), (repository, path)))
    });
    all.max_by_key(|(shared, _)| *shared).map(|(_, found)| found)
}

fn set_metadata(object: &mut Object, part: &str, key: &str, value: &Value) {
    if object.value.path(&["metadata"]).is_none() {
        object.value.insert("metadata", Value::empty());
    }
    if let Some(metadata) = object.value.entry_mut("metadata") {
        if metadata.get(part).is_none() {
            metadata.insert(part, Value::empty());
        }
        if let Some(entries) = metadata.entry_mut(part) {
            entries.insert(key, value.clone());
        }
    }
}

/// Lists the manifests of a folder that its source leaves out.
fn left_out<'a>(
    files: &'a dyn Files,
    folder: &str,
    ignored: &'a Ignored,
) -> impl Iterator<Item = &'a RepoPath> + 'a {
    let paths = files.below(folder).iter().map(|entry| &entry.path);
    paths.filter(|path| is_manifest(path.as_str()) && ignored.has(path.as_str()))
}

fn is_manifest(path: &str) -> bool {
    path.ends_with(".yaml") || path.ends_with(".yml")
}

/// Makes up the kustomization of a folder that has none.
fn generated(files: &dyn Files, folder: &str, ignored: &Ignored) -> Value {
    let prefix = if folder.is_empty() { 0 } else { folder.len() + 1 };
    let mut resources: Vec<Value> = Vec::new();
    let mut inside: Option<String> = None;
    for entry in files.below(folder) {
        let path = entry.path.as_str();
        if inside.as_ref().is_some_and(|folder| path.starts_with(folder.as_str())) {
            continue;
        }
        let below = path.get(prefix..).unwrap_or_default();
        // The outermost folder on the way that has a kustomization of its own.
        let has_own = |sub: &&str| {
            let file = kustomize::file(files, path.get(..prefix + sub.len()).unwrap_or_default());
            file.is_some_and(|file| !ignored.has(file.as_str()))
        };
        let own = below.match_indices('/').map(|(at, _)| &below[..at]).find(has_own);
        if let Some(sub) = own {
            resources.push(Value::made(&format!("./{sub}")));
            inside = Some(format!("{}/", path.get(..prefix + sub.len()).unwrap_or_default()));
        } else if is_manifest(below) && !ignored.has(path) {
            resources.push(Value::made(&format!("./{below}")));
        }
    }
    Value::map([
        ("apiVersion", Value::made("kustomize.config.k8s.io/v1beta1")),
        ("kind", Value::made("Kustomization")),
        ("resources", Value::list(resources)),
    ])
}

/// Adds to a kustomization what a Kustomization says.
pub(super) fn added(files: &dyn Files, folder: &str, own: &Value, spec: &Value) -> Value {
    let mut out = own.clone();
    for (from, to) in
        [("targetNamespace", "namespace"), ("namePrefix", "namePrefix"), ("nameSuffix", "nameSuffix")]
    {
        if let Some(value) = spec.scalar(&[from]) {
            out.insert(to, Value::Scalar(value.clone()));
        }
    }
    append(&mut out, "patches", spec.list_at("patches").to_vec());
    let as_text = |patch: &Value| Value::Scalar(go_yaml::document(patch));
    // The older forms hold objects, where kustomize has texts.
    let strategic = spec.list_at("patchesStrategicMerge").iter().map(as_text);
    append(&mut out, "patchesStrategicMerge", strategic.collect());
    let json = spec.list_at("patchesJson6902").iter().map(|patch| {
        let mut patch = patch.clone();
        if let Some(operations @ Value::List(_)) = patch.get("patch").cloned() {
            patch.insert("patch", as_text(&operations));
        }
        patch
    });
    append(&mut out, "patchesJson6902", json.collect());
    let optional = is_true(spec, &["ignoreMissingComponents"]);
    let is_there = |component: &Value| {
        let path = component.as_scalar().map(|s| s.text().into_owned()).unwrap_or_default();
        RepoPath::resolve_folder(folder, &path).is_some_and(|folder| files.has_folder(&folder))
    };
    let components = spec.list_at("components").iter().filter(|c| !optional || is_there(c)).cloned();
    append(&mut out, "components", components.collect());
    let mut images = own.list_at("images").to_vec();
    spec.list_at("images").iter().for_each(|image| add_image(&mut images, image));
    if !images.is_empty() {
        out.insert("images", Value::list(images));
    }
    out
}

fn append(kustomization: &mut Value, key: &str, items: Vec<Value>) {
    if !items.is_empty() {
        let all = kustomization.list_at(key).iter().cloned().chain(items).collect();
        kustomization.insert(key, Value::list(all));
    }
}

/// Merges an image into one of the same name; tag and digest are one unit.
fn add_image(images: &mut Vec<Value>, image: &Value) {
    let name = |image: &Value| image.text(&["name"]).map(|n| n.into_owned());
    let wanted = name(image);
    let Some(there) = images.iter_mut().find(|i| name(i) == wanted) else {
        return images.push(image.clone());
    };
    let given = |key: &str| image.get(key).filter(|v| v.as_scalar().is_some_and(|s| !s.text().is_empty()));
    if let Some(new) = given("newName") {
        there.insert("newName", new.clone());
    }
    if given("newTag").or(given("digest")).is_some() {
        for key in ["newTag", "digest"] {
            match given(key) {
                Some(new) => there.insert(key, new.clone()),
                None => drop(there.remove(key)),
            }
        }
    }
}
