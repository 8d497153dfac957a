//! Step 5, pins: files of values, whoever hands them to a chart.
//!
//! In: files that name Linkerd or a release. Out: claims of what mappings that are no objects say.

use super::{
    claims::Claims,
    values::{Read, ReadBy, take_for_dependencies, take_unclaimed},
};
use crate::{
    deploy::{Files as _, Value, fleet},
    pins::{chart, context::Context, is_kustomization},
    repo::RepoPath,
};

/// Files in the form of a mapping that are something else.
const OTHERS: [&str; 4] = ["Chart.yaml", "Chart.lock", "requirements.yaml", "requirements.lock"];

/// Takes what a file says that holds values of a chart, or data of somebody's.
pub(super) fn take_values_file(context: &Context<'_>, path: &RepoPath, claims: &mut Claims) {
    let name = path.name();
    if OTHERS.contains(&name) || is_kustomization(name) || fleet::is_bundle(name) {
        return;
    }
    let documents = context.files.documents(path.as_str());
    let plain = |value: &&Value| matches!(value, Value::Map(_)) && value.entry("kind").is_none();
    let mut found = Claims::default();
    for values in documents.iter().flat_map(|all| all.iter()).filter(plain) {
        take(context, path, values, &mut found);
    }
    claims.append_of_file(found);
}

fn take(context: &Context<'_>, path: &RepoPath, values: &Value, claims: &mut Claims) {
    let is_values = path.as_str().to_ascii_lowercase().contains("values");
    let folder = is_values.then(|| chart::folder_around(context, path)).flatten();
    let by = folder.map(|folder| ReadBy::umbrella(context, folder));
    let is_copy = by.as_ref().zip(folder).is_some_and(|(by, folder)| by.is_copy(context, folder));
    if let Some(by) = by.filter(|_| !is_copy) {
        Read::new(context, by).take(values, claims);
    }
    // Values beside a `Chart.yaml` are read by that chart and its dependencies alone, whatever they name; those of a copy
    // of a chart of Linkerd's go with what was copied.
    if folder == Some(path.folder()) || is_copy {
        return;
    }
    if folder.is_none() {
        take_for_dependencies(context, values, claims);
    }
    if is_values {
        take_unclaimed(context, values, claims);
    } else {
        Read::new(context, ReadBy::Other).take(values, claims);
    }
}
