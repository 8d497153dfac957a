//! What a release has kustomize do to the objects that its chart gives.
//!
//! Sources: `pkg/state/state.go` (`PrepareChartify`) of helmfile, `patch.go` of helmfile/chartify.

use super::state::{Loader, State, expression};
use crate::deploy::{
    build::Build,
    flux, go_yaml,
    note::{About, Note},
    read,
    value::Value,
};

/// The fields that say so, each a list of mappings and names of files.
const FIELDS: [&str; 3] = ["strategicMergePatches", "jsonPatches", "transformers"];

/// Reads what the fields of a release say of objects that are not known here.
pub(super) fn patches(loader: &Loader<'_>, state: &State, release: &Value, dot: &Value) -> Build {
    let keys: Vec<&'static str> = FIELDS.into_iter().filter(|key| !release.list_at(key).is_empty()).collect();
    if keys.is_empty() {
        return Build::default();
    }
    let [merges, operations, transformers] =
        FIELDS.map(|key| listed(loader, state, release.list_at(key), dot));
    let transformers = transformers.iter().map(|transformer| Value::Scalar(go_yaml::document(transformer)));
    let own = Value::map([("transformers", Value::list(transformers.collect()))]);
    let options = Value::map([
        ("patchesStrategicMerge", Value::list(merges)),
        ("patchesJson6902", Value::list(operations)),
    ]);
    let Build { strays, images, .. } = flux::laid_over(loader.run.files, &state.path, &own, &options);
    let notes = vec![Note::new(&state.path, About::Afterwards { who: "helmfile", keys })];
    Build { strays, images, notes, ..Build::default() }
}

/// Returns the mappings of a field, those of files among them.
fn listed(loader: &Loader<'_>, state: &State, items: &[Value], dot: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for item in items {
        let Some(name) = item.as_scalar() else {
            all.push(item.clone());
            continue;
        };
        let Some(name) = expression(loader, state, name, dot).known().map(|name| name.into_owned()) else {
            continue;
        };
        for file in loader.found(&name, &state.path, state.path.folder(), true) {
            let text = loader.run.text(&file, &state.path).and_then(|text| {
                let is_template = file.name().ends_with(".gotmpl");
                if is_template { loader.run.fill(&text, dot, file.folder(), &file) } else { Some(text) }
            });
            let read = text.map(|text| read::documents(&text, loader.run.files.ceilings()));
            match read {
                Some(Ok(documents)) => all.extend(documents),
                Some(Err(error)) => {
                    let (what, why) = ("its patches".to_owned(), error.to_string());
                    loader.run.note(&file, About::Unread { what, why });
                }
                None => {}
            }
        }
    }
    all
}
