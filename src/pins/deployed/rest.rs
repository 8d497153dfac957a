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
        siblings::Siblings,
        version_text::{TAGS, tokens},
    },
    repo::parallel,
};

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
    let is_read =
        |path: &&RepoPath| matches!(other::class(path), other::Class::Manifest) && !told.contains(*path);
    let mut own: HashMap<RepoPath, Vec<Range<usize>>> = HashMap::new();
    for pin in &found.pins {
        own.entry(pin.path.clone()).or_default().push(pin.site.span.clone());
    }
    let mut others: HashMap<&RepoPath, Vec<Range<usize>>> = HashMap::new();
    for (path, span) in foreign {
        others.entry(path).or_default().push(span.clone());
    }
    let siblings = Siblings::of(context.files, &found.pins);
    let in_file = |path: &&RepoPath| {
        let source = context.files.file(path.as_str()).ok()?;
        let text = &*source.text;
        let names_linkerd =
            text.contains("inkerd") || text.contains("INKERD") || path.as_str().contains("linkerd");
        let names = siblings.names(path);
        let speaks =
            names_linkerd || !names.is_empty() || tokens(text).iter().any(|token| token.form == Form::Edge);
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
    let read: Vec<&RepoPath> = named.iter().filter(is_read).collect();
    for told in parallel::map(&read, in_file).into_iter().flatten() {
        told.report(&mut found.pins, skipped);
    }
}
