//! Step 7, render: one set made again in its new version.
//!
//! In: a set that was rendered, proven or to be overwritten. Out: what is written for it and what changes by object, or the
//! reason why it stays. No key is ever made here.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Committed, Drift, DriftMode, Refusal, Regenerate,
    candidate::defaults,
    checksum::settle,
    prove::{holds_key, is_printed},
    restore::Restore,
    retain::retain,
    wording,
    work::{Attempt, Work, takes, unrendered, unsound},
    write::{Writing, Written},
};
use crate::{
    helm::key_material::private_keys,
    render::{Chart, Manifest, Object, ObjectKey, RenderError, Rendering, kubernetes},
};

/// What to do about a key that a chart makes.
const OWN_KEY: &str = "let cert-manager make the certificate: set `externalSecret: true` and `injectCaFrom` (or `caBundle`) for that webhook, or create the Secret and commit it yourself";

/// Makes one set again: its text, and what changes by object; else why not, and what to do.
pub(super) fn make<'w>(
    request: &Regenerate<'_>,
    work: &'w Work<'_>,
) -> Result<(Written, Rendering), Refusal<'w>> {
    let nothing = || ("nothing was rendered".to_owned(), "try again");
    let (Some(best), Some(to)) = (&work.best, &work.to) else { return Err(nothing().into()) };
    let lost = |drift: &Drift| {
        let mut others = best.placed.others();
        drift.is_own() && others.any(|(_, o)| o.key == drift.object && is_printed(&work.from, o))
    };
    let refuses = request.drift == DriftMode::Refuse || best.drifts.iter().any(|d| of_identity(d) || lost(d));
    if !best.drifts.is_empty() && refuses {
        return Err(refused(work.set, best));
    }
    if let Some(doubt) = work.doubt.as_ref().filter(|_| !best.drifts.is_empty()) {
        return Err(doubtful(work.set, best, doubt));
    }
    let text = |text: &Result<Arc<str>, RenderError>| text.clone().map_err(|e| unrendered(&e));
    let [first, second] = best.new.as_slice() else { return Err(nothing().into()) };
    let (raw, mut nondeterministic) = takes(request, to, [text(first)?, text(second)?])?;
    wording::keep(&best.reworded, &raw, &mut nondeterministic);
    wording::keep_unversioned(&work.set.chart, &raw, &best.placed, &mut nondeterministic);
    let lookup = |key: &ObjectKey| best.placed.get(key).map(|(_, object)| &object.value);
    let (given, seed) = (best.candidate.given(&work.from), work.set.seed());
    let restore = Restore { rendered: &raw, nondeterministic: &nondeterministic, given: &given, seed: &seed };
    let retained = retain(&restore, &lookup, false).ok_or_else(|| unsound(to))?;
    // A Secret with a key that the owner keeps elsewhere stays there.
    let left_out = |key: &ObjectKey| {
        let old = best.old.get(key).filter(|_| best.placed.get(key).is_none());
        old.is_some_and(|object| holds_key(&best.old, object))
    };
    let without: BTreeSet<&ObjectKey> =
        raw.objects.iter().map(|object| &object.key).filter(|key| left_out(key)).collect();
    let held = |key: &ObjectKey| raw.get(key).is_some_and(|o| best.groups.hold(o)) && !without.contains(key);
    if let Some((key, field)) = retained.nowhere.iter().find(|(key, _)| held(key)) {
        return Err(uncommitted(to, key, &field.to_string()).into());
    }
    let unsettled = || unsound(to);
    let kept = match &best.embedded {
        Some(embedded) => embedded.moved(&retained.manifest).ok_or_else(unsettled)?,
        None => retained.manifest,
    };
    let new = settle(&best.old, &raw, &kept, (&nondeterministic, &without), &lookup).ok_or_else(unsettled)?;
    let wanted = |object: &Object| best.groups.hold(object) && !without.contains(&object.key);
    let entries = request.tree.entries();
    let writing = Writing {
        placed: &best.placed,
        old: &best.old,
        new: &new,
        wanted: &wanted,
        taken: &|path| entries.binary_search_by(|e| e.path.cmp(path)).is_ok(),
    };
    let written = writing.write().map_err(|key| {
        (format!("{key} cannot be written in the form of the files"), "render it by hand once".to_owned())
    })?;
    let mut notes = vec![format!("Rendered with the values of {}.", best.candidate.what)];
    let assumed = work.kubernetes.as_deref().filter(|_| request.kube_version.is_none());
    notes.extend(assumed.map(kubernetes::note));
    notes.extend(written.notes.iter().cloned());
    notes.extend(
        without.iter().map(|key| format!("{key} is not in Git as Helm gives it, and is left to its owner.")),
    );
    let overwritten = best.drifts.iter().filter(|drift| !drift.is_own());
    notes.extend(overwritten.map(|drift| format!("Overwritten: {drift}.")));
    let rendering = rendering(work, best, to, (&new, &wanted), notes).ok_or_else(|| unsound(to))?;
    let rendering = Rendering { places: written.places.clone(), ..rendering };
    let mut known = private_keys(&rendering.before.text);
    known.extend(private_keys(&best.candidate.given(&work.from)));
    if !private_keys(&rendering.after.text).is_subset(&known) {
        let reason = format!(
            "{} gives a private key that is not in Git, and such a one is never written to it",
            to.id
        );
        return Err((reason, OWN_KEY.to_owned()).into());
    }
    Ok((written, rendering))
}

fn rendering(
    work: &Work<'_>,
    best: &Attempt,
    to: &Chart,
    (new, wanted): (&Manifest, &dyn Fn(&Object) -> bool),
    notes: Vec<String>,
) -> Option<Rendering> {
    let document = |manifest: &Manifest, object: &Object| match object.item {
        Some(_) => format!("---\n{}\n", object.value),
        None => format!("---\n{}\n", manifest.document(object).trim_end()),
    };
    let before: String = best.placed.all().map(|(file, object)| document(&file.manifest, object)).collect();
    let after: String = new.objects.iter().filter(|o| wanted(o)).map(|o| document(new, o)).collect();
    Some(Rendering {
        path: work.set.path()?.clone(),
        line: work.set.line(),
        committed: true,
        from: work.from.id.clone(),
        to: to.id.clone(),
        namespace: work.set.namespace.clone(),
        before: Arc::new(Manifest::parse(before).ok()?),
        after: Arc::new(Manifest::parse(after).ok()?),
        values_before: best.candidate.user_values(&work.from),
        values_after: best.candidate.user_values(to),
        defaults_before: defaults(&work.from),
        defaults_after: defaults(to),
        stand_ins: best.candidate.stand_ins(&work.from),
        notes,
        places: Default::default(),
        difference: Default::default(),
    })
}

fn refused<'w>(set: &Committed, best: &'w Attempt) -> Refusal<'w> {
    let among = |key: &ObjectKey| best.drifts.iter().any(|drift| drift.object == *key);
    let half = set.mixed.iter().find(|(key, _)| among(key)).map(|(key, version)| {
        let rest = set.version.as_deref().unwrap_or("another version");
        format!("an upgrade was done by half ({key} is of {version}, the rest of {rest}): ")
    });
    let first = best.drifts.first().map(Drift::to_string).unwrap_or_default();
    let more = match best.drifts.len() {
        0 | 1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    let half = half.unwrap_or_default();
    let (name, values) = (set_name(set), &best.candidate.what);
    Refusal {
        reason: format!("{half}it is not what {name} with the values of {values} gives: {first}{more}"),
        hint: best
            .drifts
            .iter()
            .find(|d| !d.is_own())
            .or(best.drifts.first())
            .map_or("", Drift::hint)
            .to_owned(),
        at: best.drifts.first(),
    }
}

/// Refuses to overwrite where either side may be what somebody changed.
fn doubtful<'w>(set: &Committed, best: &'w Attempt, doubt: &str) -> Refusal<'w> {
    let first = best.drifts.first().map(Drift::to_string).unwrap_or_default();
    let reason = format!(
        "{}: {first}, or the other way round ({doubt}): which of the two was changed by hand cannot be told, so nothing is overwritten",
        set_name(set)
    );
    let hint = "name the values in `render:`, or undo the change".to_owned();
    Refusal { reason, hint, at: best.drifts.first() }
}

/// Tells whether a difference is one of the trust anchors: overwriting it would cut off every proxy.
fn of_identity(drift: &Drift) -> bool {
    drift.field.as_ref().is_some_and(|field| field.contains("linkerd.io/trust-root-sha256"))
}

fn set_name(set: &Committed) -> String {
    format!("{} {}", set.chart, set.version.as_deref().unwrap_or("in the version around it"))
}

fn uncommitted(to: &Chart, key: &ObjectKey, field: &str) -> (String, String) {
    let reason = format!(
        "{} makes {field} of {key} anew at each rendering, and nothing committed holds it or says what it was: it belongs to \
         a private key, and one that is not in Git is never written to it",
        to.id
    );
    (reason, OWN_KEY.to_owned())
}
