//! The manifests of a directory source.
//!
//! Source: `findManifests` and `getPotentiallyValidManifestFile` of `reposerver/repository/repository.go`. `include` and
//! `exclude` are globs of gobwas/glob without separators, over the path below the folder.

use globset::{GlobBuilder, GlobMatcher};

use super::source::Source;
use crate::{
    deploy::{build::Build, files::FileError, note::About, object::Object, typed::is_true},
    repo::{Entry, Mode},
};

/// A file with this line is left out.
const SKIP: &str = "# +argocd:skip-file-rendering";

/// Takes the objects of a folder.
pub(super) fn take(source: &Source<'_>, folder: &str, deployed: &mut Build) {
    let directory = source.value.get("directory");
    let text =
        |key: &str| directory.and_then(|d| d.text(&[key])).map(|t| t.into_owned()).filter(|t| !t.is_empty());
    let flag = |key: &str| directory.is_some_and(|directory| is_true(directory, &[key]));
    let (recurse, all) = (flag("recurse"), flag("disableExtensionFilter"));
    let (include, exclude) = (text("include"), text("exclude"));
    let (taken, out) = (include.as_deref().and_then(glob), exclude.as_deref().and_then(glob));
    let prefix = if folder.is_empty() { 0 } else { folder.len() + 1 };
    for entry in source.files.below(folder) {
        let below = entry.path.as_str().get(prefix..).unwrap_or_default();
        let is_manifest = (recurse || !below.contains('/')) && (all || has_manifest(below));
        if !is_manifest || !is_file(source, entry) {
            continue;
        }
        if out.as_ref().is_some_and(|g| g.is_match(below)) {
            deployed.left_out.push(entry.path.clone());
        } else if include.is_none() || taken.as_ref().is_some_and(|g| g.is_match(below)) {
            take_file(source, entry, deployed);
        }
    }
}

fn has_manifest(path: &str) -> bool {
    [".yaml", ".yml", ".json", ".jsonnet"].into_iter().any(|end| path.ends_with(end))
}

/// Of links the manifests are taken that they lead to in the repository, whatever these are called; a folder is not entered by
/// one.
fn is_file(source: &Source<'_>, entry: &Entry) -> bool {
    match entry.mode {
        Mode::File | Mode::Executable => true,
        Mode::Symlink => source.files.has(entry.path.as_str()),
        Mode::Submodule => false,
    }
}

fn glob(text: &str) -> Option<GlobMatcher> {
    Some(GlobBuilder::new(text).literal_separator(false).build().ok()?.compile_matcher())
}

fn take_file(source: &Source<'_>, entry: &Entry, deployed: &mut Build) {
    let path = entry.path.as_str();
    if path.ends_with(".jsonnet") {
        source.note(&mut deployed.notes, About::Unfollowed("directory.jsonnet"));
        return;
    }
    let file = source.files.file(path);
    if file.as_ref().is_ok_and(|file| file.text.contains(SKIP)) {
        deployed.left_out.push(entry.path.clone());
        return;
    }
    let place = file.map_or_else(|_| entry.path.clone(), |file| file.path.clone());
    match source.files.documents(path) {
        Ok(documents) => {
            let by = Some(source.application.file.clone());
            let objects = documents.iter().flat_map(|d| Object::all(d, &place));
            deployed.objects.extend(objects.map(|object| Object { by: by.clone(), ..object }));
        }
        // Another file of the folder, such as a template or a picture of YAML, is not meant.
        Err(FileError::NotUtf8) => {}
        Err(error) => {
            let about = About::Unread { what: path.to_owned(), why: error.to_string() };
            source.note(&mut deployed.notes, about);
        }
    }
}
