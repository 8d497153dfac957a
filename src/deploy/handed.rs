//! Objects that a chart from elsewhere is given in its values, and that it prints as they are: `extraObjects`,
//! `extraDeploy`, `resources` of `raw`, and Applications and ApplicationSets by their specs, as argo-helm's `argocd-apps` has them.
//!
//! In: a chart with its values. Out: the objects, known by what they hold, under whatever key; some charts take them as texts.

use super::{
    argo,
    chart::{ChartRelease, Repository},
    files::Files,
    object::Object,
    read,
    value::{Scalar, Value},
};

/// Mappings in mappings that are walked.
const DEPTH: usize = 16;
/// Objects of one chart.
const OBJECTS: usize = 1_000;

/// Lists the objects in the values of a chart that is none of the tree's.
pub fn objects(release: &ChartRelease, files: &dyn Files) -> Vec<Object> {
    if matches!(release.repository, Repository::Git(_)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    take(&release.values().value, "", (release, files), DEPTH, &mut found);
    found
}

/// Tells whether values may hold any.
pub fn has(values: &Value) -> bool {
    let named = |text: &str| text.contains("apiVersion") || text.contains("targetRevision");
    let own = |(key, value): (&str, &Value)| named(key) || has(value);
    match value_text(values) {
        Some(text) => named(&text.text()),
        None => values.entries().any(own) || values.items().iter().any(has),
    }
}

fn take(
    value: &Value,
    key: &str,
    (release, files): (&ChartRelease, &dyn Files),
    depth: usize,
    found: &mut Vec<Object>,
) {
    let Some(depth) = depth.checked_sub(1).filter(|_| found.len() < OBJECTS) else { return };
    if let Some(text) = value_text(value) {
        let whole = text.text();
        if whole.contains("apiVersion:") && whole.contains("kind:") {
            let documents = read::documents(text, files.ceilings()).unwrap_or_default();
            documents.iter().for_each(|document| take(document, "", (release, files), depth, found));
        }
        return;
    }
    let own = match (value.text(&["apiVersion"]), value.text(&["kind"])) {
        (Some(_), Some(_)) => Some(value.clone()),
        _ => application(value, key),
    };
    if let Some(own) = own {
        let written = own.scalars().into_iter().flat_map(Scalar::origins).next();
        let file = written.map_or_else(|| release.file.clone(), |at| at.source.path.clone());
        let by = release.by.clone().unwrap_or_else(|| release.file.clone());
        return found.push(Object::new(own, file, Some(by)));
    }
    for (key, value) in value.entries() {
        take(value, key, (release, files), depth, found);
    }
    for item in value.items() {
        take(item, "", (release, files), depth, found);
    }
}

/// Makes an Application, or an ApplicationSet, of its spec.
fn application(spec: &Value, key: &str) -> Option<Value> {
    let has_source = |spec: &Value| {
        let is_source = |source: &Value| source.get("repoURL").is_some();
        argo::sources(spec).into_iter().any(is_source)
    };
    let template = spec.path(&["template", "spec"]).filter(|_| spec.get("generators").is_some());
    let kind = match template {
        Some(template) if has_source(template) => "ApplicationSet",
        _ if has_source(spec) && spec.get("destination").is_some() => "Application",
        _ => return None,
    };
    let name = spec.get("name").cloned().unwrap_or_else(|| Value::made(key));
    Some(Value::map([
        ("apiVersion", Value::made(&format!("{}/v1alpha1", argo::GROUP))),
        ("kind", Value::made(kind)),
        ("metadata", Value::map([("name", name)])),
        ("spec", spec.clone()),
    ]))
}

fn value_text(value: &Value) -> Option<&Scalar> {
    value.as_scalar().filter(|text| text.unknown_to().is_none())
}
