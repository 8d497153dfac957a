//! Step 5, render: the way of all committed manifests through the module.
//!
//! In: a request and something that renders. Out: file changes, renderings, and what could not be made again. All jobs of
//! one round are given at once, so that they run over the cores; a second round is for sets whose likeliest values were
//! not the right ones.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Committed, Drift, DriftMode, Regenerate, Regenerated,
    candidate::{Candidate, candidates, chart_id, defaults},
    checksum::settle,
    finish::{Finished, finish},
    invented::Invented,
    placed::Placed,
    prove::{Groups, holds_key, prove},
    retain::retain,
    wording::{self, Reworded},
    write::{Writing, Written},
};
use crate::render::{
    Chart, Job, Manifest, NotRendered, Object, ObjectKey, RenderError, Renderer, Rendering,
    key_material::private_keys, kubernetes,
};

/// What only `linkerd install` prints, and no chart.
const FROM_CLI: &str = "`linkerd install` made this: the Namespace and the Secret linkerd-config-overrides, which no chart has, stay as they are.";

/// What to do about a key that a chart makes.
const OWN_KEY: &str = "let cert-manager make the certificate: set `externalSecret: true` and `injectCaFrom` (or `caBundle`) for that webhook, or create the Secret and commit it yourself";

/// A set on its way.
struct Work<'a> {
    set: &'a Committed,
    from: Arc<Chart>,
    /// The new chart; the old one where only a proof is wanted.
    to: Option<Arc<Chart>>,
    /// The Kubernetes that is rendered for.
    kubernetes: Option<String>,
    candidates: Vec<Candidate>,
    /// The best so far.
    best: Option<Attempt>,
    /// Why a candidate could not be tried, for a reason that is not its own.
    untried: Option<Failure>,
}

/// A set rendered with one candidate's values.
struct Attempt {
    candidate: Candidate,
    placed: Placed,
    groups: Groups,
    /// The old version with the committed values in it.
    old: Manifest,
    /// Texts that are committed in another wording of blanks.
    reworded: Vec<Reworded>,
    drifts: Vec<Drift>,
    /// Both takes of the new version.
    new: Vec<Result<Arc<str>, RenderError>>,
}

/// What a proof of everything found.
#[derive(Clone, Debug, Default)]
pub struct Proofs {
    /// The differences, by path and line.
    pub drifts: Vec<Drift>,
    /// What could not be proven.
    pub missing: Vec<NotRendered>,
}

/// Makes committed manifests again in the versions that they are to have.
pub fn regenerate(request: &Regenerate<'_>, renderer: &dyn Renderer) -> Regenerated {
    let mut done = Finished::default();
    let mut missing = Vec::new();
    for (set, work) in rendered(request, renderer, true) {
        let made =
            work.map_err(|(reason, mend)| (reason, mend.to_owned())).and_then(|work| make(request, &work));
        match made {
            Ok((written, rendering)) => match done.take(request, set, written) {
                Ok(()) => done.renderings.push(rendering),
                Err(reason) => {
                    missing.extend(set.not_rendered(reason, "render it by hand, and report this as a bug"))
                }
            },
            Err((reason, mend)) => missing.extend(set.not_rendered(reason, mend)),
        }
    }
    finish(request, done, missing)
}

/// Compares committed manifests with what their versions and values give.
pub fn prove_all(request: &Regenerate<'_>, renderer: &dyn Renderer) -> Proofs {
    let mut proofs = Proofs::default();
    for (set, work) in rendered(request, renderer, false) {
        match work {
            Ok(work) => proofs.drifts.extend(work.best.into_iter().flat_map(|best| best.drifts)),
            Err((reason, mend)) => proofs.missing.extend(set.not_rendered(reason, mend)),
        }
    }
    proofs.drifts.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    proofs
}

type Failure = (String, &'static str);

/// Renders every set with its candidates until one proves or none is left.
fn rendered<'a>(
    request: &Regenerate<'a>,
    renderer: &dyn Renderer,
    new: bool,
) -> Vec<(&'a Committed, Result<Work<'a>, Failure>)> {
    let mut works: Vec<_> =
        request.committed.iter().map(|set| (set, Work::begin(request, renderer, set, new))).collect();
    for round in 0.. {
        let mut jobs: Vec<Job> = Vec::new();
        let mut asked = Vec::new();
        for (n, (_, work)) in works.iter().enumerate() {
            let Ok(work) = work else { continue };
            if let Some(candidate) = work.candidates.get(round).filter(|_| !work.is_proven()) {
                let before = jobs.len();
                let of = |chart: &Chart| candidate.jobs(work.kubernetes.as_deref(), work.set, chart);
                jobs.extend(of(&work.from));
                // The new version at once with the likeliest values, with others once they are known to be right.
                jobs.extend(work.to.iter().filter(|_| round == 0).flat_map(|to| of(to)));
                asked.push((n, candidate.clone(), before..jobs.len()));
            }
        }
        if asked.is_empty() {
            break;
        }
        let texts = renderer.render(&jobs);
        for (n, candidate, range) in asked {
            let Some((_, slot)) = works.get_mut(n) else { continue };
            let Ok(work) = slot else { continue };
            let last = round + 1 >= work.candidates.len();
            if let Err(failure) = work.attempt(request, candidate, texts.get(range).unwrap_or_default(), last)
            {
                *slot = Err(failure);
            }
        }
    }
    for (_, slot) in &mut works {
        // What is nearest of the others says nothing while the right one may be among those that were not tried.
        let untried =
            slot.as_mut().ok().filter(|work| !work.is_proven()).and_then(|work| work.untried.take());
        if let Some(failure) = untried {
            *slot = Err(failure);
        }
    }
    complete(request, renderer, &mut works);
    works
}

/// Renders the new version of the sets that will be written and lack it.
fn complete<'a>(
    request: &Regenerate<'a>,
    renderer: &dyn Renderer,
    works: &mut [(&'a Committed, Result<Work<'a>, Failure>)],
) {
    let mut waiting = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    for work in works.iter_mut().filter_map(|(_, work)| work.as_mut().ok()) {
        let written = work.is_proven() || request.drift == DriftMode::Overwrite;
        let (Some(to), Some(best)) = (&work.to, &mut work.best) else { continue };
        if best.new.is_empty() && written {
            jobs.extend(best.candidate.jobs(work.kubernetes.as_deref(), work.set, to));
            waiting.push(best);
        }
    }
    let mut texts = if jobs.is_empty() { Vec::new() } else { renderer.render(&jobs) }.into_iter();
    waiting.into_iter().for_each(|best| best.new = texts.by_ref().take(2).collect());
}

// === impl Work ===

impl<'a> Work<'a> {
    fn begin(
        request: &Regenerate<'_>,
        renderer: &dyn Renderer,
        set: &'a Committed,
        new: bool,
    ) -> Result<Self, Failure> {
        renderer.helm().map_err(|e| unrendered(&e))?;
        // What does not say its version goes with the control plane.
        let around = || {
            let others = || request.committed.iter().filter(|other| other.version.is_some());
            let plane = others().find(|other| other.chart == "linkerd-control-plane");
            let deployed = || request.uses.iter().find(|u| u.chart == set.chart).map(|u| &u.version);
            deployed().or_else(|| plane.or_else(|| others().next())?.version.as_ref())
        };
        let version = set.version.as_ref().or_else(around).ok_or_else(|| {
            let reason = format!("no object of it names the version of {}", set.chart);
            (reason, "render it by hand once")
        })?;
        let chart = |version: &str| renderer.chart(&chart_id(set, version)).map_err(|e| unrendered(&e));
        let from = chart(version)?;
        let to = match request.to.get(&set.chart).filter(|_| new) {
            Some(to) => Some(chart(to)?),
            None if new => {
                return Err((
                    format!("the release has no chart {}", set.chart),
                    "see the release notes for what became of it",
                ));
            }
            None => None,
        };
        let candidates = candidates(request, set, &from).map_err(|path| {
            (format!("{path}, which `render:` names, holds no values"), "mend the `render:` entry")
        })?;
        let oldest = || kubernetes::oldest(to.iter().chain([&from]).map(|chart| &**chart));
        let kubernetes = request.kube_version.map(str::to_owned).or_else(oldest);
        Ok(Self { set, from, to, kubernetes, candidates, best: None, untried: None })
    }

    fn is_proven(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.drifts.is_empty())
    }

    /// Tries one candidate's renderings, and keeps it where it is nearer than the ones before.
    fn attempt(
        &mut self,
        request: &Regenerate<'_>,
        candidate: Candidate,
        texts: &[Result<Arc<str>, RenderError>],
        last: bool,
    ) -> Result<(), Failure> {
        let refused = |error: &&RenderError| matches!(error, RenderError::Helm { .. });
        let failed = texts.iter().take(2).filter_map(|text| text.as_ref().err()).find(|e| !refused(e));
        if let Some(error) = failed {
            self.untried.get_or_insert_with(|| unrendered(error));
        }
        match self.tried(request, candidate, texts) {
            Ok(attempt) => {
                let nearer = |best: &Attempt| attempt.drifts.len() < best.drifts.len();
                if self.best.as_ref().is_none_or(nearer) {
                    self.best = Some(attempt);
                }
                Ok(())
            }
            Err(failure) if last && self.best.is_none() => Err(self.untried.take().unwrap_or(failure)),
            Err(_) => Ok(()),
        }
    }

    fn tried(
        &self,
        request: &Regenerate<'_>,
        candidate: Candidate,
        texts: &[Result<Arc<str>, RenderError>],
    ) -> Result<Attempt, Failure> {
        let text = |n: usize| match texts.get(n) {
            Some(Ok(text)) => Ok(text.clone()),
            Some(Err(e)) => Err(unrendered(e)),
            None => Err(("nothing was rendered".to_owned(), "try again")),
        };
        let (first, mut invented) = takes(request, &self.from, [text(0)?, text(1)?])?;
        let placed = Placed::of(request.tree, self.set, &first);
        let reworded = wording::reworded(&first, &placed);
        wording::keep(&reworded, &first, &mut invented);
        let lookup = |key: &ObjectKey| placed.get(key).map(|(_, object)| &object.value);
        let retained = retain(&first, &invented, &lookup, true).ok_or_else(|| unsound(&self.from))?;
        let old = retained.manifest;
        let groups = Groups::of(&old, &placed);
        let drifts = prove(self.set, &old, &placed, groups);
        let new = texts.get(2..).unwrap_or_default().to_vec();
        Ok(Attempt { candidate, groups, old, reworded, drifts, new, placed })
    }
}

/// Reads both takes of one version.
fn takes(
    request: &Regenerate<'_>,
    chart: &Chart,
    texts: [Arc<str>; 2],
) -> Result<(Manifest, Invented), Failure> {
    let [first, second] = texts.map(Manifest::parse);
    let unread = |e| (format!("what {} renders cannot be read: {e}", chart.id), "report this as a bug");
    let (first, second) = (first.map_err(unread)?, second.map_err(unread)?);
    let invented = Invented::of(&first, &second, chart, &request.knowledge.clock_fields).map_err(|key| {
        (format!("{} gives {key} in one rendering and not in the next", chart.id), "render it by hand")
    })?;
    Ok((first, invented))
}

/// Makes one set again.
fn make(request: &Regenerate<'_>, work: &Work<'_>) -> Result<(Written, Rendering), (String, String)> {
    let owned = |(reason, mend): Failure| (reason, mend.to_owned());
    let nothing = || ("nothing was rendered".to_owned(), "try again".to_owned());
    let (Some(best), Some(to)) = (&work.best, &work.to) else { return Err(nothing()) };
    let refuses = request.drift == DriftMode::Refuse || best.drifts.iter().any(of_identity);
    if !best.drifts.is_empty() && refuses {
        return Err(refused(work.set, best));
    }
    let text = |text: &Result<Arc<str>, RenderError>| text.clone().map_err(|e| owned(unrendered(&e)));
    let [first, second] = best.new.as_slice() else { return Err(nothing()) };
    let (raw, mut invented) = takes(request, to, [text(first)?, text(second)?]).map_err(owned)?;
    wording::keep(&best.reworded, &raw, &mut invented);
    let lookup = |key: &ObjectKey| best.placed.get(key).map(|(_, object)| &object.value);
    let retained = retain(&raw, &invented, &lookup, false).ok_or_else(|| owned(unsound(to)))?;
    // What the owner took out of the output is not brought back where that would take a key that nobody has.
    let left_out = |key: &ObjectKey| best.old.get(key).is_some() && best.placed.get(key).is_none();
    let of_key = |key: &ObjectKey| best.old.get(key).is_some_and(|object| holds_key(&best.old, object));
    let held = |key: &ObjectKey| raw.get(key).is_some_and(|o| best.groups.hold(o)) && !left_out(key);
    if let Some((key, field)) = retained.nowhere.iter().find(|(key, _)| held(key)) {
        return Err(uncommitted(to, key, &field.to_string()));
    }
    let nowhere: BTreeSet<&ObjectKey> = retained.nowhere.iter().map(|(key, _)| key).collect();
    let without: BTreeSet<&ObjectKey> = raw
        .objects
        .iter()
        .map(|object| &object.key)
        .filter(|key| left_out(key) && (of_key(key) || nowhere.contains(key)))
        .collect();
    let new = settle(&best.old, &raw, &retained.manifest, (&invented, &without), &lookup)
        .ok_or_else(|| owned(unsound(to)))?;
    let wanted = |object: &Object| best.groups.hold(object) && !without.contains(&object.key);
    let entries = request.tree.entries();
    let writing = Writing {
        placed: &best.placed,
        old: &best.old,
        new: &new,
        wanted: &wanted,
        taken: &|path| entries.binary_search_by(|e| e.path.cmp(path)).is_ok(),
        chart: &work.set.chart,
    };
    let written = writing.write().map_err(|key| {
        (format!("{key} cannot be written in the form of the files"), "render it by hand once".to_owned())
    })?;
    let mut notes = vec![format!("Rendered with the values of {}.", best.candidate.what)];
    let assumed = work.kubernetes.as_deref().filter(|_| request.kube_version.is_none());
    notes.extend(assumed.map(kubernetes::note));
    notes.extend(work.set.cli.then(|| FROM_CLI.to_owned()));
    notes.extend(written.notes.iter().cloned());
    notes.extend(
        without.iter().map(|key| format!("{key} is not in Git as Helm gives it, and is left to its owner.")),
    );
    notes.extend(best.drifts.iter().map(|drift| format!("Overwritten: {drift}.")));
    let rendering = rendering(work, best, to, (&new, &wanted), notes).ok_or_else(|| owned(unsound(to)))?;
    let mut known = private_keys(&rendering.before.text);
    known.extend(private_keys(&best.candidate.given(&work.from)));
    if !private_keys(&rendering.after.text).is_subset(&known) {
        let reason = format!(
            "{} gives a private key that is not in Git, and such a one is never written to it",
            to.id
        );
        return Err((reason, OWN_KEY.to_owned()));
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
        difference: Default::default(),
    })
}

fn refused(set: &Committed, best: &Attempt) -> (String, String) {
    let half = set.mixed.first().map(|(key, version)| {
        let rest = set.version.as_deref().unwrap_or("another version");
        format!("an upgrade was done by half ({key} is of {version}, the rest of {rest}): ")
    });
    let first = best.drifts.first().map(Drift::to_string).unwrap_or_default();
    let more = match best.drifts.len() {
        0 | 1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    let half = half.unwrap_or_default();
    (
        format!("{half}it is not what {} with the values of {} gives: {first}{more}", set_name(set), best.candidate.what),
        "put the change into the values and name them in `render:`, or undo it, or let `drift: overwrite` replace it"
            .to_owned(),
    )
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
        "{} invents {field} of {key} at each rendering, and nothing committed holds it: a private key that is not in Git is never written to it",
        to.id
    );
    (reason, OWN_KEY.to_owned())
}

fn unsound(chart: &Chart) -> Failure {
    (
        format!("the committed values cannot be put back into what {} renders", chart.id),
        "render it by hand, and report this as a bug",
    )
}

fn unrendered(error: &RenderError) -> Failure {
    let mend = match error {
        RenderError::NoHelm(_) => "install Helm 3.14 or newer where uplinker runs, or name it with `--helm`",
        RenderError::NoChart { .. } => "wait for the index, or mend the mirror",
        RenderError::Digest { .. } | RenderError::Package { .. } => "mend the mirror",
        RenderError::Helm { .. } => "name the values in `render:`",
        RenderError::Ceiling { .. } => "render it by hand",
        RenderError::Outside { .. } => "try again",
    };
    (error.to_string(), mend)
}
