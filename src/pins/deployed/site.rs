//! Step 5, pins: a pin for each place that something deployed reads.
//!
//! In: claims, ordered. Out: pins, in YAML and JSON with the way to the node, elsewhere by their bytes alone. Each file
//! is opened once, and of each text inside a scalar only what is asked for.

use std::{collections::HashSet, ops::Range, sync::Arc};

use super::{claim::Claim, reading};
use crate::{
    deploy::Files as _,
    linkerd::PROXY_VERSION,
    pins::{
        Form, Pin, Reason, RepoPath,
        context::Context,
        corpus::File,
        ended::Ended,
        found::{Found, Spec, is_workflow},
        marker::{self, TextFile, text_pin},
        other,
        place::Place,
        under::Given,
        version_text::VersionText,
    },
    repo::parallel,
    yaml::{Node, Route, SourceMap, Step, encrypted, position},
};

/// Makes the pins.
pub(super) fn pins(context: &Context<'_>, claims: &[Claim], found: &mut Found) {
    let files: Vec<&[Claim]> = claims.chunk_by(|a, b| a.path == b.path).collect();
    let of_files = parallel::fold(&files, |found: &mut Found, of_file| in_file(context, of_file, found));
    of_files.into_iter().for_each(|of_file| found.append(of_file));
}

/// Makes those of one file.
fn in_file(context: &Context<'_>, claims: &[Claim], found: &mut Found) {
    let Some(Claim { path, .. }) = claims.first() else { return };
    match manifest(context, path) {
        Some(file) => {
            let (code, wanted): (Vec<&Claim>, Vec<&Claim>) = claims.iter().partition(|claim| claim.is_code());
            let wanted: Vec<Wanted<'_>> = wanted.into_iter().map(|c| (c, c.span.clone())).collect();
            drop(in_yaml((context, Place::of(&file)), &wanted, found));
            if !code.is_empty() {
                in_text(context, path, code, found);
            }
        }
        None => in_text(context, path, claims, found),
    }
}

/// Says of a pin what is known of those who read it.
fn read_by(context: &Context<'_>, claim: &Claim, pin: &mut Pin, found: &mut Given) {
    pin.frame.clone_from(&claim.frame);
    pin.read_as = claim.read_as;
    // Of what cannot be written anew in one place, that place alone says nothing.
    if let Some(frame) = claim.frame.as_ref().filter(|_| claim.text.form == Form::Opaque) {
        pin.value = frame.whole(&pin.value);
    }
    pin.homes.clone_from(&claim.homes);
    pin.is_off = claim.is_off;
    pin.filter.clone_from(&claim.spec.filter);
    pin.read_at = claim.read.iter().filter_map(|at| reading::line(context, at)).collect();
    if pin.stays == Some(Reason::Shared) {
        pin.kept_by = claim.foreign.as_ref().and_then(|at| reading::line_of(context, at));
    }
    if let Some(at) = &claim.held_at
        && pin.stays.is_none_or(|reason| !reason.reads_nothing())
        && pin.stays != Some(Reason::Held)
    {
        pin.hold(reading::line(context, at));
    }
    if !claim.spec.under.is_empty() {
        let place = (pin.path.clone(), pin.site.span.start);
        found.note(place, claim.spec.under.iter().cloned());
    }
}

fn manifest(context: &Context<'_>, path: &RepoPath) -> Option<Arc<File>> {
    // A template is YAML only by chance: `{{ .Values.a }}` is a mapping in a mapping.
    let is_filled = |file: &Arc<File>| context.is_template(path) && file.text.contains("{{");
    let is_manifest = matches!(other::class(path), other::Class::Manifest);
    is_manifest.then(|| context.corpus.read(path.as_str()))?.filter(|file| !is_filled(file))
}

/// A claim, and where its bytes are in the text at hand.
type Wanted<'c> = (&'c Claim, Range<usize>);

/// Finds the scalars that hold the bytes, also in the text of another; returns the claims that none holds.
fn in_yaml<'c>(
    (context, place): (&Context<'_>, Place<'_>),
    wanted: &[Wanted<'c>],
    found: &mut Found,
) -> Vec<&'c Claim> {
    let mut scalars: Vec<Node<'_>> = place
        .stream
        .roots()
        .flat_map(|root| root.document().nodes())
        .filter(|node| !node.is_alias() && !node.is_key() && node.as_str().is_some())
        .collect();
    scalars.sort_by_key(|node| node.span().start);
    let holder = |span: &Range<usize>| {
        let at = scalars.partition_point(|node| node.span().start <= span.start).checked_sub(1)?;
        scalars.get(at).filter(|node| span.end <= node.span().end).map(|_| at)
    };
    let mut left = Vec::new();
    for group in wanted.chunk_by(|(_, a), (_, b)| holder(a) == holder(b)) {
        match group.first().and_then(|(_, span)| scalars.get(holder(span)?)) {
            Some(node) => left.extend(in_scalar((context, place), *node, group, found)),
            None => left.extend(group.iter().map(|(claim, _)| *claim)),
        }
    }
    left
}

fn in_scalar<'c>(
    (context, place): (&Context<'_>, Place<'_>),
    node: Node<'_>,
    group: &[Wanted<'c>],
    found: &mut Found,
) -> Vec<&'c Claim> {
    // What a template stands in is a part of the text around it.
    let Some(map) = SourceMap::of(place.text, node).filter(|_| !place.is_covered(node)) else {
        return group.iter().map(|(claim, _)| *claim).collect();
    };
    let (mut parts, mut left): (Vec<Wanted<'c>>, _) = (Vec::new(), Vec::new());
    for (claim, span) in group {
        match map.in_value(span.clone()) {
            Some(part) => parts.push((*claim, part)),
            None => left.push(*claim),
        }
    }
    let value = node.as_str().unwrap_or_default();
    // A scalar alone is no text inside a text.
    let is_part = |(_, part): &Wanted<'_>| part.len() < value.trim().len() && value.contains([':', '{', '[']);
    let inside = parts.iter().any(is_part).then(|| {
        place.inside(node, |inner| {
            let is_text = inner.stream.roots().any(|root| root.is_mapping() || root.is_sequence());
            is_text.then(|| in_yaml((context, inner), &parts, found))
        })
    });
    // What the inner text does not hold; all where there is none.
    let own: Option<HashSet<*const Claim>> =
        inside.flatten().flatten().map(|own| own.into_iter().map(std::ptr::from_ref).collect());
    let is_own = |claim: &Claim| own.as_ref().is_none_or(|own| own.contains(&std::ptr::from_ref(claim)));
    for (claim, part) in parts.iter().filter(|(claim, _)| is_own(claim)) {
        let before = found.pins.len();
        found.version(place, node, &claim.spec, VersionText { span: part.clone(), ..claim.text.clone() });
        // Of a key that is written twice, readers differ in which value they take.
        if node.is_written_twice() {
            found.scalar(place, node, &claim.spec);
        }
        for pin in found.pins.iter_mut().skip(before) {
            read_by(context, claim, pin, &mut found.given);
            if claim.text.form == Form::Absent {
                "(none)".clone_into(&mut pin.value);
                beside(pin);
            } else if claim.span.is_empty() {
                // Flux and Helm take a version that is not there for this one.
                "*".clone_into(&mut pin.value);
            }
        }
    }
    left
}

/// Puts a pin that is not there yet where it belongs: among the annotations that go with the label that asks for it.
fn beside(pin: &mut Pin) {
    if pin.site.route.as_mut().and_then(annotation).is_none() {
        pin.stays = pin.stays.or(Some(Reason::Uneditable));
    }
}

/// Makes the route of a label that of the annotation that goes with it; `None` where no such place is known.
fn annotation(label: &mut Route) -> Option<()> {
    if let Some(Step::Text(inner)) = label.steps.last_mut() {
        return annotation(inner);
    }
    let is = |step: &Step, name: &str| matches!(step, Step::Key(key) if key == name);
    let (kept, beside) = match label.steps.as_slice() {
        [before @ .., labels, _] if is(labels, "labels") => (before.len(), "annotations"),
        [before @ .., labels, _] if is(labels, "podLabels") => (before.len(), "podAnnotations"),
        // Of a kustomization, on all that the label is put on.
        [before @ .., labels, _] if is(labels, "commonLabels") => (before.len(), "commonAnnotations"),
        [before @ .., labels, Step::Index(_), pairs, _] if is(labels, "labels") && is(pairs, "pairs") => {
            (before.len(), "commonAnnotations")
        }
        _ => return None,
    };
    label.steps.truncate(kept);
    label.steps.extend([beside, PROXY_VERSION].map(|key| Step::Key(key.to_owned())));
    Some(())
}

/// Makes the pins of a file that is no YAML, or of what is none in it.
fn in_text<'c>(
    context: &Context<'_>,
    path: &RepoPath,
    claims: impl IntoIterator<Item = &'c Claim>,
    found: &mut Found,
) {
    let Ok(source) = context.files.file(path.as_str()) else { return };
    let text = &*source.text;
    let file = TextFile { path, blob: source.blob, text, sealed: encrypted(text.as_bytes()) };
    for claim in claims {
        let is_read = claim.spec.stays != Some(Reason::NoEffect);
        let is_held = is_read && marker::is_held(text, &claim.span);
        let sealed = file.sealed.then_some(Reason::Encrypted);
        let workflow = is_workflow(path).then_some(Reason::NeedsWorkflowsScope);
        let stays = sealed.or(claim.spec.stays).or(claim.text.stays).or(workflow);
        let (span, what) = (claim.span.clone(), (claim.text.form, claim.text.version));
        let pin = text_pin(&file, claim.spec.kind, span, position(text, claim.span.start), what, stays);
        let value = if claim.span.is_empty() { "*".to_owned() } else { pin.value };
        let (chart, mirror) = (claim.spec.chart.clone(), claim.spec.mirror.clone());
        let Spec { stage, restarts, chooses_controllers, .. } = claim.spec;
        let ended = claim.spec.ended.map(Ended::since);
        let mut pin = Pin { value, chart, mirror, stage, restarts, chooses_controllers, ended, ..pin };
        if is_held {
            pin.hold(None);
        }
        read_by(context, claim, &mut pin, &mut found.given);
        found.pins.push(pin);
    }
}
