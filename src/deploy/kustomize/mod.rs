//! What `kustomize build` makes of a folder (version 5), with the origin of every scalar.
//!
//! In: the files of a tree and a folder with a kustomization, or a kustomization that a deployer has made up for one.
//! Out: a [`Build`]. What kustomize would fail at is a note, and everything else is built all the same. The order is in
//! `target.rs`; one file a transformer.

mod builder;
mod charts;
mod config;
mod fields;
mod generate;
mod gvk;
mod images;
mod letters;
mod names;
mod patches;
mod paths;
mod plugins;
mod replacement;
mod resource;
mod selector;
mod target;
#[cfg(test)]
mod tests;
mod transform;
mod variables;

use super::{
    build::Build,
    chart::ChartRelease,
    files::Files,
    note::{About, Note},
    object::Object,
    value::Value,
};
use crate::repo::RepoPath;
use builder::Layer;

pub use images::pattern as image_pattern;
pub use names::{HASH, without_hash};
pub use target::{NAMES, file, is_kustomization};

/// Builds the kustomization of a folder (`""` is the root).
pub fn build(files: &dyn Files, folder: &str) -> Build {
    match target::kustomization(files, folder) {
        Ok(Some((here, kustomization))) => build_as(files, &here.path, &kustomization),
        Ok(None) => {
            let about =
                About::Fails { what: folder.to_owned(), why: "the folder has no kustomization".to_owned() };
            let path = RepoPath::resolve(folder, NAMES[0]);
            Build {
                notes: path.iter().map(|path| Note::new(path, about.clone())).collect(),
                ..Build::default()
            }
        }
        Err(note) => Build { notes: vec![note], ..Build::default() },
    }
}

/// Reads the kustomization of a folder: its file and its content.
///
/// # Errors
/// Where it is there and cannot be read.
pub fn kustomization(files: &dyn Files, folder: &str) -> Result<Option<(RepoPath, Value)>, Note> {
    Ok(target::kustomization(files, folder)?.map(|(here, value)| (here.path, value)))
}

/// Builds a kustomization as if `path` had this content: what a deployer adds to it, or makes up where there is none.
pub fn build_as(files: &dyn Files, path: &RepoPath, kustomization: &Value) -> Build {
    built(files, path, kustomization, Layer::default())
}

/// Builds a kustomization over objects that are not in the tree: what it says of them.
pub fn build_over(files: &dyn Files, path: &RepoPath, kustomization: &Value) -> Build {
    build_with(files, path, kustomization, None)
}

/// The same where one of those objects is known, since the deployer makes it of what stands in `path`.
pub fn build_with(files: &dyn Files, path: &RepoPath, kustomization: &Value, made: Option<&Value>) -> Build {
    let resources = made.iter().map(|value| resource::Resource::new(value, path)).collect();
    built(files, path, kustomization, Layer { resources, outside: true, ..Layer::default() })
}

fn built(files: &dyn Files, path: &RepoPath, kustomization: &Value, base: Layer) -> Build {
    let (build, lays_over) = built_once(files, path, kustomization, base.clone(), false);
    let covered =
        if lays_over { built_once(files, path, kustomization, base, true).0.objects } else { Vec::new() };
    Build { covered, ..build }
}

/// Builds it as kustomize does, or so that generators give way to those that they are merged over; says whether there are any.
fn built_once(
    files: &dyn Files,
    path: &RepoPath,
    kustomization: &Value,
    base: Layer,
    gives_way: bool,
) -> (Build, bool) {
    let here = builder::Here { folder: path.folder().to_owned(), path: path.clone() };
    let mut builder = builder::Builder { gives_way, ..builder::Builder::new(files) };
    // A component is laid over the objects of whoever takes it in.
    let is_component = kustomization.text(&["kind"]).is_some_and(|kind| kind == "Component");
    let base = Layer { outside: base.outside || is_component, ..base };
    let layer = builder.outermost(&here, kustomization, base);
    let by = Some(path.clone());
    let object = |mut resource: resource::Resource| {
        generate::decode(&mut resource);
        Object::new(resource.value, resource.file, by.clone())
    };
    let objects = layer.resources.into_iter().map(object).collect();
    let charts = layer.charts.into_iter().map(|chart| ChartRelease { by: by.clone(), ..chart }).collect();
    let strays = builder.strays.into_iter().map(|stray| Object { by: by.clone(), ..stray }).collect();
    let (guards, images, images_of_known) = (builder.guards, builder.images, builder.images_of_known);
    let left_out = builder.deleted;
    let (mut idle, mut unmatched) = (builder.idle, builder.unmatched);
    let unpatched = builder.unpatched.into_iter().map(|object| Object { by: by.clone(), ..object }).collect();
    // Where not all is followed, there may be what a patch means.
    if !builder.notes.is_empty() {
        idle.append(&mut unmatched);
    }
    let notes = builder.notes.into_iter().collect();
    let build = Build {
        objects,
        charts,
        left_out,
        guards,
        strays,
        idle,
        unmatched,
        unpatched,
        images,
        images_of_known,
        notes,
        ..Build::default()
    };
    (build, builder.lays_over)
}
