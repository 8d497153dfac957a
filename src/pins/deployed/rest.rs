//! Step 5, pins: releases that manifests name where no deployer reads them.
//!
//! In: the manifests that were read, and what was found in them. Out: `other` pins for comments, labels, and what somebody
//! else may read.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use crate::{
    deploy::Files as _,
    pins::{
        Form, Pin, PinKind, RepoPath, Skipped,
        context::Context,
        found::Found,
        marker::TextFile,
        other,
        release_names::{TAGS, tokens},
        siblings::Siblings,
    },
    repo::parallel,
};

/// What sets variables of Flux's: a ConfigMap, a Secret, and what kustomize makes them of.
const SETS: [&str; 4] = ["ConfigMap", "Secret", "configMapGenerator", "secretGenerator"];
/// How a file begins that has values for ytt's code.
const VALUES_OF_YTT: &str = "#@data/values";

/// Reports what manifests name beside all that was found in them, and beside what is not Linkerd's.
pub(in crate::pins) fn report(
    context: &Context<'_>,
    named: &[RepoPath],
    foreign: &[(RepoPath, Range<usize>)],
    skipped: &mut Vec<Skipped>,
    found: &mut Found,
) {
    let is_rendered = |pin: &&Pin| pin.kind == PinKind::RenderedManifest;
    let rendered = found.pins.iter().filter(is_rendered).map(|pin| pin.path.clone());
    let told: BTreeSet<RepoPath> = skipped.iter().map(|skip| skip.path.clone()).chain(rendered).collect();
    let is_manifest = |path: &&RepoPath| matches!(other::class(path), other::Class::Manifest);
    let is_read =
        |path: &&RepoPath| is_manifest(path) && !told.contains(*path) && !other::is_configuration(path);
    let mut own: HashMap<RepoPath, Vec<Range<usize>>> = HashMap::new();
    for pin in &found.pins {
        own.entry(pin.path.clone()).or_default().push(pin.site.span.clone());
    }
    let mut others: HashMap<&RepoPath, Vec<Range<usize>>> = HashMap::new();
    for (path, span) in foreign {
        others.entry(path).or_default().push(span.clone());
    }
    let siblings = Siblings::of(context.files, &found.pins);
    let read: Vec<&RepoPath> = named.iter().filter(is_read).collect();
    let beside = read_beside(context, &read);
    let variables = names(context, &read, "${");
    // What has code for a version is told as not read.
    let all: Vec<&RepoPath> = named.iter().filter(is_manifest).collect();
    let of_ytt = names(context, &all, other::YTT);
    let in_file = |path: &&RepoPath| {
        let source = context.files.file(path.as_str()).ok()?;
        let text = &*source.text;
        let names_linkerd =
            text.contains("inkerd") || text.contains("INKERD") || path.as_str().contains("linkerd");
        let sets_any = SETS.iter().any(|kind| text.contains(kind));
        let mut names = siblings.names(path);
        names.extend(beside.get(&stem(path)).into_iter().chain(sets_any.then_some(&variables)));
        names.extend(text.contains(VALUES_OF_YTT).then_some(&of_ytt));
        let has_names = names.iter().any(|names| !names.is_empty());
        let speaks = names_linkerd || has_names || tokens(text).iter().any(|token| token.form == Form::Edge);
        if !speaks || (text.contains("{{") && context.is_template(path)) {
            return None;
        }
        let sealed = crate::yaml::encrypted(text.as_bytes());
        let file = TextFile { path, blob: source.blob, text, sealed };
        let mut known = own.get(*path).cloned().unwrap_or_default();
        // A tag with the name of a channel is Linkerd's whoever reads it.
        let is_tag = |text: &str| TAGS.iter().any(|channel| text.contains(channel));
        let is_ours = |span: &&Range<usize>| text.get((*span).clone()).is_some_and(is_tag);
        known.extend(others.get(*path).into_iter().flatten().filter(|span| !is_ours(span)).cloned());
        Some(other::in_code(&file, known, &names))
    };
    for told in parallel::map(&read, in_file).into_iter().flatten() {
        told.report(&mut found.pins, skipped);
    }
}

/// Lists the names of Flux's variables, or of values of ytt's, that files read about Linkerd, which a sign in them tells. Whoever
/// fills them need not be in the repository, and then nobody here says which map or which file has them.
fn names(context: &Context<'_>, paths: &[&RepoPath], sign: &str) -> BTreeSet<String> {
    let of_file = |path: &&RepoPath| {
        let source = context.files.file(path.as_str()).ok().filter(|source| source.text.contains(sign));
        let names = source.iter().flat_map(|source| other::names_read(&source.text));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    parallel::map(paths, of_file).into_iter().flatten().collect()
}

/// Lists the names that files read about Linkerd which have others of their kind beside them: `Pulumi.yaml` has the values of
/// `Pulumi.dev.yaml`.
fn read_beside(context: &Context<'_>, paths: &[&RepoPath]) -> HashMap<String, BTreeSet<String>> {
    let mut alike: HashMap<String, Vec<&RepoPath>> = HashMap::new();
    for path in paths {
        alike.entry(stem(path)).or_default().push(path);
    }
    alike.retain(|_, paths| paths.len() > 1);
    let mut read: HashMap<String, BTreeSet<String>> = HashMap::new();
    for (stem, paths) in alike {
        for source in paths.iter().filter_map(|path| context.files.file(path.as_str()).ok()) {
            let names = other::names_read(&source.text);
            read.entry(stem.clone()).or_default().extend(names.into_iter().map(str::to_owned));
        }
    }
    read
}

/// Returns what a file has in common with those of its kind: its folder, and its name up to the first dot.
fn stem(path: &RepoPath) -> String {
    let first = path.name().split('.').next().unwrap_or_default();
    format!("{}/{first}", path.folder())
}
