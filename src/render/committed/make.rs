//! Step 7, render: one set made again in its new version.
//!
//! In: a set that was rendered, proven or to be overwritten. Out: what is written for it and what changes by object, or the
//! reason why it stays. No key is ever made here.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Committed, Drift, DriftMode, Refusal, Regenerate,
    candidate::defaults,
    checksum::settle,
    field::{Field, ordered},
    keep::{Clash, Keeping, Kept, keep},
    nondeterministic::Nondeterministic,
    prove::{holds_key, is_printed},
    restore::Restore,
    retain::{Retained, retain},
    wording,
    work::{Attempt, Work, takes, unsound},
    write::{Writing, Written},
};
use crate::{
    helm::key_material::private_keys,
    linkerd::EdgeVersion,
    pins::Installed,
    render::{Cause, Chart, Manifest, Object, ObjectKey, RenderError, Rendering, kubernetes},
};

/// What to do about a key that a chart makes.
const OWN_KEY: &str = "let cert-manager make the certificate: set `externalSecret: true` and `injectCaFrom` (or `caBundle`) for that webhook, or create the Secret and commit it yourself";

/// Makes one set again: its text, and what changes by object; else why not, and what to do.
pub(super) fn make<'w>(
    request: &Regenerate<'_>,
    work: &'w Work<'_>,
) -> Result<(Written, Rendering), Refusal<'w>> {
    let nothing = || Cause::new("nothing was rendered", "try again");
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
    let text = |text: &Result<Arc<str>, RenderError>| text.clone().map_err(Cause::from);
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
    let unsettled = || unsound(to);
    let Retained { manifest, nowhere } = retained;
    let kept = match &best.embedded {
        Some(embedded) => embedded.moved(&manifest).ok_or_else(unsettled)?,
        None => manifest,
    };
    let new = settle(&best.old, &raw, &kept, (&nondeterministic, &without), &lookup).ok_or_else(unsettled)?;
    let wanted = |object: &Object| best.groups.hold(object) && !without.contains(&object.key);
    let keeps = request.drift == DriftMode::Keep && !best.drifts.is_empty();
    let by_hand = keeps.then(|| by_hand(work, best, (&new, &nondeterministic), &wanted)).transpose()?;
    let new = by_hand.as_ref().map_or(&new, |kept| &kept.new);
    let wanted = |object: &Object| {
        wanted(object) && by_hand.as_ref().is_none_or(|kept| !kept.without.contains(&object.key))
    };
    if let Some((key, field)) = nowhere.iter().find(|(key, _)| raw.get(key).is_some_and(wanted)) {
        return Err(uncommitted(to, key, &field.to_string()).into());
    }
    let is_nobodys = |key: &ObjectKey| by_hand.as_ref().is_some_and(|kept| kept.changed.contains(key));
    let entries = request.tree.entries();
    let writing = Writing {
        placed: &best.placed,
        old: &best.old,
        new,
        wanted: &wanted,
        is_nobodys: &is_nobodys,
        taken: &|path| entries.binary_search_by(|e| e.path.cmp(path)).is_ok(),
    };
    let written = writing.write().map_err(|key| {
        Cause::new(format!("{key} cannot be written in the form of the files"), "render it by hand once")
    })?;
    let mut notes = notes(request, work, best);
    notes.extend(written.notes.iter().cloned());
    notes.extend(
        without.iter().map(|key| format!("{key} is not in Git as Helm gives it, and is left to its owner.")),
    );
    let rendering = rendering(work, best, to, (new, &wanted), notes).ok_or_else(|| unsound(to))?;
    let rendering = Rendering { places: written.places.clone(), ..rendering };
    let mut known = private_keys(&rendering.before.text);
    known.extend(private_keys(&best.candidate.given(&work.from)));
    if !private_keys(&rendering.after.text).is_subset(&known) {
        let reason = format!(
            "{} gives a private key that is not in Git, and such a one is never written to it",
            to.id
        );
        return Err(Cause::new(reason, OWN_KEY).into());
    }
    Ok((written, rendering))
}

/// Merges the changes by hand into the new rendering.
fn by_hand<'w>(
    work: &Work<'_>,
    best: &'w Attempt,
    (new, nondeterministic): (&Manifest, &Nondeterministic),
    wanted: &dyn Fn(&Object) -> bool,
) -> Result<Kept, Refusal<'w>> {
    let untouched = |old: &Object, new: &Object| is_untouched(work, nondeterministic, [old, new]);
    let keeping = Keeping { old: &best.old, placed: &best.placed, new, wanted, untouched: &untouched };
    let kept = keep(&keeping).ok_or_else(|| unsound(work.to.as_ref().unwrap_or(&work.from)))?;
    kept.map_err(|clash| clashing(work.set, best, &clash))
}

/// Says how a set was rendered, and what became of the changes by hand.
fn notes(request: &Regenerate<'_>, work: &Work<'_>, best: &Attempt) -> Vec<String> {
    let mut notes = vec![format!("Rendered with the values of {}.", best.candidate.what)];
    let assumed = work.kubernetes.as_deref().filter(|_| request.kube_version.is_none());
    notes.extend(assumed.map(kubernetes::note));
    let done = if request.drift == DriftMode::Keep { "Kept" } else { "Overwritten" };
    let drifts = best.drifts.iter().filter(|drift| !drift.is_own());
    notes.extend(drifts.map(|drift| format!("{done}: {drift}.")));
    notes
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
        installed: [Installed::Applied].into(),
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
    let reason = format!("{half}it is not what {name} with the values of {values} gives: {first}{more}");
    let telling = best.drifts.iter().find(|drift| !drift.is_own()).or(best.drifts.first());
    Refusal { cause: Cause::new(reason, telling.map_or("", Drift::hint)), at: best.drifts.first() }
}

/// Tells whether an object is the same in both versions, but for the release's own name and what each rendering makes anew.
fn is_untouched(work: &Work<'_>, nondeterministic: &Nondeterministic, sides: [&Object; 2]) -> bool {
    let [old, new] = sides.map(|object| {
        let mut value = object.value.clone();
        let fields = nondeterministic.fields.get(&object.key).into_iter().flatten();
        let sums =
            nondeterministic.checksums.iter().filter(|sum| sum.object == object.key).map(|sum| &sum.field);
        fields.chain(sums).for_each(|field| field.set(&mut value, serde_json::Value::Null));
        ordered(&value).to_string()
    });
    let to = work.to.as_ref().map_or(&work.from.id.version, |to| &to.id.version);
    let edges = EdgeVersion::from_chart(&work.from.id.version).zip(EdgeVersion::from_chart(to));
    let renamed = edges.map(|(from, to)| old.replace(&from.to_string(), &to.to_string())).unwrap_or(old);
    renamed.replace(&work.from.id.version, to) == new
}

/// Refuses to keep what the release changes too.
fn clashing<'w>(set: &Committed, best: &'w Attempt, clash: &Clash) -> Refusal<'w> {
    let Clash { key, field } = clash;
    let at = best.drifts.iter().find(|drift| {
        let field = field.as_ref().map(Field::to_string);
        drift.object == *key
            && field.zip(drift.field.as_ref()).is_none_or(|(field, drift)| drift.starts_with(&field))
    });
    let place = field.as_ref().map(|field| format!(" {field}")).unwrap_or_default();
    let what = at.map(Drift::to_string).unwrap_or_else(|| key.to_string());
    let reason = format!("{}: {what}, and the release changes {key}{place} too", set_name(set));
    let hint = "undo the change, or put it into the values and name them in `render:`, or let `drift: overwrite` replace it";
    Refusal { cause: Cause::new(reason, hint), at }
}

/// Refuses to overwrite where either side may be what somebody changed.
fn doubtful<'w>(set: &Committed, best: &'w Attempt, doubt: &str) -> Refusal<'w> {
    let first = best.drifts.first().map(Drift::to_string).unwrap_or_default();
    let reason = format!(
        "{}: {first}, or the other way round ({doubt}): which of the two was changed by hand cannot be told, so nothing is overwritten",
        set_name(set)
    );
    let cause = Cause::new(reason, "name the values in `render:`, or undo the change");
    Refusal { cause, at: best.drifts.first() }
}

/// Tells whether a difference is one of the trust anchors: overwriting it would cut off every proxy.
fn of_identity(drift: &Drift) -> bool {
    drift.field.as_ref().is_some_and(|field| field.contains("linkerd.io/trust-root-sha256"))
}

fn set_name(set: &Committed) -> String {
    format!("{} {}", set.chart, set.version.as_deref().unwrap_or("in the version around it"))
}

fn uncommitted(to: &Chart, key: &ObjectKey, field: &str) -> Cause {
    let reason = format!(
        "{} makes {field} of {key} anew at each rendering, and nothing committed holds it or says what it was: it belongs to \
         a private key, and one that is not in Git is never written to it",
        to.id
    );
    Cause::new(reason, OWN_KEY)
}
