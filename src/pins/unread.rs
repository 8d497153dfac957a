//! Step 5, pins: what is told of files that are not read.
//!
//! In: a file, and why it cannot be read. Out: what is said of it, if it concerns anybody; its markers are read all the same.

use super::{
    Pin, RepoPath, SkipReason, Skipped, annotation,
    context::Context,
    corpus::Unread,
    found::FIXING,
    is_kustomization,
    marker::{self, TextFile},
    other,
    screen::{self, Hit},
};
use crate::{
    deploy::{fleet, kinds, read},
    linkerd::{EdgeVersion, INJECT},
    repo::Entry,
};

/// Texts that are told of one file.
const TOLD: usize = 20;

/// Reads the markers of a file that cannot be read, and names it where it mentions Linkerd or leads to what may.
pub(super) fn unreadable(
    context: &Context<'_>,
    entry: &Entry,
    hit: &Hit,
    unread: Unread,
) -> (Vec<Pin>, Option<Skipped>) {
    let text = unread.text.or_else(|| context.corpus.text(entry).map_or_else(|unread| unread.text, Some));
    let markers = text.as_deref().filter(|_| unread.reason != SkipReason::NotUtf8).map(|text| {
        let sealed = crate::yaml::encrypted(text.as_bytes());
        marker::pins(&TextFile { path: &entry.path, blob: entry.id, text, sealed })
    });
    let markers = markers.unwrap_or_default();
    let marked = text.as_deref().is_some_and(|text| is_marked(text, &markers));
    let versions = text.as_deref().map(|t| other::unmarked_releases(t, &markers)).unwrap_or_default();
    let binary = unread.reason == SkipReason::NotUtf8 && screen::is_binary(&entry.path);
    let injects = unread.reason == SkipReason::HelmTemplate && text.as_deref().is_some_and(only_injects);
    let is_yaml = unread.reason == SkipReason::Syntax;
    let leading = || is_yaml && text.as_deref().is_some_and(|text| leads(&entry.path, text, &versions));
    let is_told = (concerns(hit, &versions) || leading()) && !injects && !marked && !binary;
    let skipped = is_told.then(|| {
        let path = entry.path.clone();
        // No template is YAML: where the parser stopped says nothing.
        let template = unread.reason == SkipReason::HelmTemplate && context.is_template(&path);
        let detail = unread.detail.filter(|_| !template);
        Skipped { path, reason: unread.reason, detail, versions }
    });
    (markers, skipped)
}

/// Tells whether it is to be told of a file that it is not read: it names Linkerd, or one of its releases in a way that is
/// nobody else's.
pub(super) fn concerns(hit: &Hit, versions: &[EdgeVersion]) -> bool {
    hit.linkerd || hit.speaks && !versions.is_empty()
}

/// Tells whether deployers find others by a file, or one of the releases that it names, without a word of Linkerd in it.
fn leads(path: &RepoPath, text: &str, versions: &[EdgeVersion]) -> bool {
    let is_object = |document: &str| {
        let said = |key: &str| document.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        let (group, _) = said("apiVersion:").trim().rsplit_once('/').unwrap_or_default();
        let kind = said("kind:").trim();
        let is_read = || kinds::asks(group, kind) || kinds::is_referred(group, kind);
        kinds::leads(group, kind) || !versions.is_empty() && is_read()
    };
    is_kustomization(path.name()) || fleet::is_bundle(path.name()) || text.split("\n---").any(is_object)
}

/// Tells whether a template names nothing of Linkerd's but that pods are to be injected, or not: no value of it is a version.
pub(super) fn only_injects(text: &str) -> bool {
    text.contains(INJECT) && !text.replace(INJECT, "").contains("inkerd")
}

/// Names a file in which code of ytt's stands for a version: what else it says is read.
pub(super) fn coded(file: &TextFile<'_>) -> Option<Skipped> {
    // Nearly all files have none.
    if !["#@ ", "(@"].iter().any(|sign| file.text.contains(sign)) {
        return None;
    }
    let told = file.text.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("- ");
        let (key, _) = line.split_once(':')?;
        let behind = line.get(key.len()..)?;
        let code = behind.get(read::code(behind).or_else(|| read::code_in(behind))?)?;
        let name = key.trim_matches(['"', '\'']);
        let fixes = FIXING.contains(&name) || annotation::is_in(name);
        fixes.then(|| format!("`{code}` is not followed"))
    });
    let details: Vec<String> = told.take(TOLD).collect();
    (!details.is_empty()).then(|| Skipped {
        path: file.path.clone(),
        reason: SkipReason::HelmTemplate,
        detail: Some(details.join("; ")),
        versions: Vec::new(),
    })
}

// === impl Skipped ===

impl Skipped {
    /// Tells whether the file is text for people, from which nothing is deployed.
    pub fn is_prose(&self) -> bool {
        other::class(&self.path) == other::Class::Prose
    }
}

/// Tells whether every release that a text names is marked: nothing more is to be said of it.
pub(super) fn is_marked(text: &str, markers: &[Pin]) -> bool {
    !markers.is_empty() && other::unmarked_releases(text, markers).is_empty()
}
