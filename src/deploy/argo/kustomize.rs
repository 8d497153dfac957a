//! A kustomization that argocd-repo-server builds, with the Application's own options.
//!
//! Source: `Build` of `util/kustomize/kustomize.go`, which runs `kustomize edit` (`set nameprefix`, `set image`, `add
//! annotation` ..) in a copy of the folder and appends patches.

use super::source::Source;
use crate::{
    deploy::{
        build::Build,
        chart::ChartRelease,
        kustomize,
        note::About,
        object::Object,
        typed::is_true,
        value::{Scalar, Value},
    },
    repo::RepoPath,
};

/// Builds a folder's kustomization.
pub(super) fn take(source: &Source<'_>, folder: &str, deployed: &mut Build) {
    let (path, kustomization) = match kustomize::kustomization(source.files, folder) {
        Ok(Some(found)) => found,
        Ok(None) => {
            let why = "kustomization file not found in the path".to_owned();
            return source.note(&mut deployed.notes, About::Refused(why));
        }
        Err(note) => return deployed.notes.push(note),
    };
    let none = Value::empty();
    let options = source.value.get("kustomize").unwrap_or(&none);
    let kustomization = edited(source, options, &kustomization);
    add(source, kustomize::build_as(source.files, &path, &kustomization), deployed);
}

/// Reads what the options say of a folder that is not in this tree.
pub(super) fn take_over(source: &Source<'_>, deployed: &mut Build) {
    let none = Value::empty();
    let options = source.value.get("kustomize").unwrap_or(&none);
    let kustomization = edited(source, options, &none);
    add(source, kustomize::build_over(source.files, &source.application.file, &kustomization), deployed);
}

fn add(source: &Source<'_>, build: Build, deployed: &mut Build) {
    let (by, installed) = (Some(source.application.file.clone()), source.installed());
    deployed.objects.extend(build.objects.into_iter().map(|object| Object { by: by.clone(), ..object }));
    let of_this = |chart: ChartRelease| ChartRelease { by: by.clone(), installed, ..chart };
    deployed.charts.extend(build.charts.into_iter().map(of_this));
    deployed.covered.extend(build.covered);
    deployed.unpatched.extend(build.unpatched);
    deployed.left_out.extend(build.left_out);
    deployed.guards.extend(build.guards);
    deployed.strays.extend(build.strays);
    deployed.idle.extend(build.idle);
    deployed.unmatched.extend(build.unmatched);
    deployed.images.extend(build.images);
    deployed.images_of_known.extend(build.images_of_known);
    deployed.notes.extend(build.notes);
}

/// Does to a kustomization what `kustomize edit` would do.
fn edited(source: &Source<'_>, options: &Value, kustomization: &Value) -> Value {
    let mut out = kustomization.clone();
    for key in ["namePrefix", "nameSuffix", "namespace"] {
        if let Some(value) = options.scalar(&[key]).filter(|v| !v.text().is_empty()) {
            out.insert(key, Value::Scalar(value.clone()));
        }
    }
    let images = options.list_at("images").iter().filter_map(Value::as_scalar);
    for image in images.filter_map(|image| image_of(&source.environment.fill(image))) {
        put_named(&mut out, "images", image);
    }
    for replica in options.list_at("replicas") {
        put_named(&mut out, "replicas", replica.clone());
    }
    if let Some(labels) = options.get("commonLabels") {
        let labels = filled(source, labels, true);
        let without = is_true(options, &["labelWithoutSelector"]);
        if without {
            let mut entry = Value::map([("pairs", labels)]);
            if is_true(options, &["labelIncludeTemplates"]) {
                entry.insert("includeTemplates", Value::Scalar(Scalar::made("true").as_plain()));
            }
            append(&mut out, "labels", &[entry]);
        } else {
            add_entries(&mut out, "commonLabels", &labels);
        }
    }
    if let Some(annotations) = options.get("commonAnnotations") {
        let fills = is_true(options, &["commonAnnotationsEnvsubst"]);
        add_entries(&mut out, "commonAnnotations", &filled(source, annotations, fills));
    }
    append(&mut out, "patches", options.list_at("patches"));
    let components: Vec<Value> = options
        .list_at("components")
        .iter()
        .filter(|component| !is_true(options, &["ignoreMissingComponents"]) || is_there(source, component))
        .cloned()
        .collect();
    append(&mut out, "components", &components);
    out
}

fn is_there(source: &Source<'_>, component: &Value) -> bool {
    let Some(path) = component.as_scalar().map(|s| s.text().into_owned()) else { return false };
    let folder = source.folder().unwrap_or_default();
    RepoPath::resolve_folder(&folder, &path).is_some_and(|folder| source.files.has_folder(&folder))
}

fn filled(source: &Source<'_>, entries: &Value, fills: bool) -> Value {
    let fill = &mut |s: &Scalar| fills.then(|| source.environment.fill(s));
    entries.with_scalars(fill).unwrap_or_else(|| entries.clone())
}

fn append(kustomization: &mut Value, key: &str, items: &[Value]) {
    if items.is_empty() {
        return;
    }
    let mut all = kustomization.list_at(key).to_vec();
    all.extend_from_slice(items);
    kustomization.insert(key, Value::list(all));
}

fn add_entries(kustomization: &mut Value, key: &str, entries: &Value) {
    let mut all = kustomization.get(key).cloned().unwrap_or_else(Value::empty);
    entries.entries().for_each(|(name, value)| all.insert(name, value.clone()));
    kustomization.insert(key, all);
}

/// Puts an entry in place of one of the same name, or behind the others.
fn put_named(kustomization: &mut Value, key: &str, entry: Value) {
    let name = entry.text(&["name"]).map(|n| n.into_owned());
    let mut all = kustomization.list_at(key).to_vec();
    match all.iter_mut().find(|e| e.text(&["name"]).map(|n| n.into_owned()) == name) {
        Some(there) => *there = with_kept(entry, there),
        None => all.push(entry),
    }
    kustomization.insert(key, Value::list(all));
}

/// A `*` keeps what the entry had.
fn with_kept(mut entry: Value, there: &Value) -> Value {
    for key in ["newName", "newTag", "digest"] {
        if entry.text(&[key]).is_some_and(|text| text == "*") {
            match there.get(key) {
                Some(kept) => entry.insert(key, kept.clone()),
                None => drop(entry.remove(key)),
            }
        }
    }
    entry
}

/// Reads an image as `kustomize edit set image` does: `name=new:tag`, `name:tag`, `name@digest`.
fn image_of(written: &Scalar) -> Option<Value> {
    let text = written.text();
    let (name, from) = match text.find('=') {
        Some(at) => (Some(written.cut(0..at)), at + 1),
        None => (None, 0),
    };
    let rest = text.get(from..)?;
    let tag = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '*');
    let digest = rest.find('@').map(|at| (at, at + 1, "digest"));
    let colon = rest.rfind(':').filter(|at| rest[at + 1..].chars().all(tag)).map(|at| (at, at + 1, "newTag"));
    let (end, found) = match digest.or(colon) {
        Some((end, start, key)) => (end, Some((key, written.cut(from + start..text.len())))),
        None => (rest.len(), None),
    };
    let new = written.cut(from..from + end);
    let mut image = match name {
        Some(name) => Value::map([("name", Value::Scalar(name)), ("newName", Value::Scalar(new))]),
        None if found.is_some() => Value::map([("name", Value::Scalar(new))]),
        None => return None,
    };
    if let Some((key, value)) = found {
        image.insert(key, Value::Scalar(value.as_string()));
    }
    Some(image)
}
