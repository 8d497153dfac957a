//! Step 7, render: one set rendered with the values that it may have been rendered with.
//!
//! In: a request and something that renders. Out: of each set the attempt that is nearest to what is committed. All jobs of
//! one round are given at once, so that they run over the cores; later rounds are for sets whose likeliest values were not
//! the right ones.

use std::sync::Arc;

use super::{
    Committed, Drift, DriftMode, Regenerate,
    candidate::{Candidate, candidates, chart_id},
    edited::edited,
    embedded::Embedded,
    nondeterministic::Nondeterministic,
    placed::Placed,
    prove::{Groups, prove},
    recognise::{marks, own},
    restore::Restore,
    retain::retain,
    wording::{self, Reworded},
};
use crate::{
    linkerd::{CONTROL_PLANE, EdgeVersion},
    render::{Cause, Chart, Job, Manifest, ObjectKey, RenderError, Renderer, kubernetes},
    repo::RepoPath,
};

/// A set on its way.
pub(super) struct Work<'a> {
    pub(super) set: &'a Committed,
    pub(super) from: Arc<Chart>,
    /// The new chart; none where only a proof is wanted.
    pub(super) to: Option<Arc<Chart>>,
    /// The Kubernetes that is rendered for.
    pub(super) kubernetes: Option<String>,
    candidates: Vec<Candidate>,
    /// The best so far.
    pub(super) best: Option<Attempt>,
    /// Values that explain what is committed as well as the best: the sentence that names the one by which they differ.
    pub(super) doubt: Option<String>,
    /// Whether the candidates without an edit of the values that the set carries were added.
    is_varied: bool,
    /// Why a candidate could not be tried, for a reason that is not its own.
    untried: Option<Cause>,
}

/// A set rendered with one candidate's values.
pub(super) struct Attempt {
    pub(super) candidate: Candidate,
    pub(super) placed: Placed,
    pub(super) groups: Groups,
    /// The old version with the committed values in it.
    pub(super) old: Manifest,
    /// Texts that are committed in another wording of blanks.
    pub(super) reworded: Vec<Reworded>,
    /// Values that are committed in other words.
    pub(super) embedded: Option<Embedded>,
    pub(super) drifts: Vec<Drift>,
    /// Both takes of the new version.
    pub(super) new: Vec<Result<Arc<str>, RenderError>>,
}

/// Sets, each with what was made of it.
pub(super) type Works<'a> = Vec<(&'a Committed, Result<Work<'a>, Cause>)>;

/// Renders sets with their candidates until one proves or none is left; with `new`, in the version too that they are to
/// have.
pub(super) fn rendered<'a>(
    request: &Regenerate<'_>,
    renderer: &dyn Renderer,
    sets: impl IntoIterator<Item = &'a Committed>,
    new: bool,
) -> Works<'a> {
    let mut works: Works<'a> =
        sets.into_iter().map(|set| (set, Work::begin(request, renderer, set, new))).collect();
    for round in 0.. {
        let mut jobs: Vec<Job> = Vec::new();
        let mut asked = Vec::new();
        for (n, (_, work)) in works.iter().enumerate() {
            let Ok(work) = work else { continue };
            if let Some(candidate) = work.candidates.get(round).filter(|_| !work.is_settled()) {
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
            let texts = texts.get(range).unwrap_or_default();
            let (last, varied) = (round + 1 >= work.candidates.len(), work.is_varied);
            if let Err(failure) = work.attempt(request, candidate, texts, last) {
                *slot = Err(failure);
            } else if last && !varied && !work.is_proven() {
                work.vary();
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
    works
}

/// Renders the new version of the sets that will be written and lack it.
pub(super) fn complete(request: &Regenerate<'_>, renderer: &dyn Renderer, works: &mut Works<'_>) {
    let mut waiting = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    for work in works.iter_mut().filter_map(|(_, work)| work.as_mut().ok()) {
        let written = work.is_proven() || request.drift != DriftMode::Refuse;
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
    ) -> Result<Self, Cause> {
        renderer.helm()?;
        let version = set.version.as_ref().ok_or_else(|| {
            let reason = match &set.other {
                Some(other) => format!("its objects name {other}, which is no release of the edge channel"),
                None => {
                    format!(
                        "no object of it names a release of {}, and none gives what is committed",
                        set.chart
                    )
                }
            };
            Cause::new(reason, "render it by hand once")
        })?;
        if let Some((name, given)) = renamed(set) {
            let reason = format!(
                "its objects have other names than the chart gives (`{name}` for `{given}`), as `namePrefix` of a kustomization makes them, and by such names the parts of Linkerd do not find each other"
            );
            let hint = "commit it without `namePrefix`, or leave the files out with `ignore`";
            return Err(Cause::new(reason, hint));
        }
        let chart = |version: &str| renderer.chart(&chart_id(set, version)).map_err(Cause::from);
        let from = chart(version).map_err(|failure| without_chart(version).unwrap_or(failure))?;
        let to = match request.to.get(&set.chart).filter(|_| new) {
            Some(to) => Some(chart(to)?),
            None if new => {
                return Err(Cause::new(
                    format!("the release has no chart {}", set.chart),
                    "see the release notes for what became of it",
                ));
            }
            None => None,
        };
        let candidates = candidates(request, set, &from).map_err(|path| {
            Cause::new(format!("{path}, which `render:` names, holds no values"), "fix the `render:` entry")
        })?;
        let oldest = || kubernetes::oldest(to.iter().chain([&from]).map(|chart| &**chart));
        let kubernetes = request.kube_version.map(str::to_owned).or_else(oldest);
        let (best, doubt, untried) = (None, None, None);
        Ok(Self { set, from, to, kubernetes, candidates, best, doubt, is_varied: false, untried })
    }

    /// Tells whether no other values can be nearer.
    fn is_settled(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.distance() == (0, 0))
    }

    /// Adds the values without what may have been edited in those that the set carries.
    fn vary(&mut self) {
        self.is_varied = true;
        if let Some(best) = self.best.as_ref().filter(|best| best.candidate.is_carried) {
            self.candidates.extend(edited(&best.candidate, &best.old, &best.placed, &self.from));
        }
    }

    pub(super) fn is_proven(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.drifts.is_empty())
    }

    /// Tries one candidate's renderings, and keeps it where it is nearer than the ones before.
    fn attempt(
        &mut self,
        request: &Regenerate<'_>,
        candidate: Candidate,
        texts: &[Result<Arc<str>, RenderError>],
        last: bool,
    ) -> Result<(), Cause> {
        let refused = |error: &&RenderError| matches!(error, RenderError::Helm { .. });
        let failed = texts.iter().take(2).filter_map(|text| text.as_ref().err()).find(|e| !refused(e));
        if let Some(error) = failed {
            self.untried.get_or_insert_with(|| error.clone().into());
        }
        match self.tried(request, candidate, texts) {
            Ok(attempt) => {
                let (new, old) = (attempt.distance(), self.best.as_ref().map(Attempt::distance));
                if old.is_none_or(|old| new < old) {
                    (self.best, self.doubt) = (Some(attempt), None);
                } else if self.is_varied && old == Some(new) {
                    self.doubt = Some(attempt.candidate.what);
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
    ) -> Result<Attempt, Cause> {
        let text = |n: usize| match texts.get(n) {
            Some(Ok(text)) => Ok(text.clone()),
            Some(Err(e)) => Err(e.clone().into()),
            None => Err(Cause::new("nothing was rendered", "try again")),
        };
        let (first, mut nondeterministic) = takes(request, &self.from, [text(0)?, text(1)?])?;
        let placed = Placed::of(request.tree, self.set, &first);
        let reworded = wording::reworded(&first, &placed);
        wording::keep(&reworded, &first, &mut nondeterministic);
        wording::keep_unversioned(&self.set.chart, &first, &placed, &mut nondeterministic);
        let lookup = |key: &ObjectKey| placed.get(key).map(|(_, object)| &object.value);
        let (given, seed) = (candidate.given(&self.from), self.set.seed());
        let restore =
            Restore { rendered: &first, nondeterministic: &nondeterministic, given: &given, seed: &seed };
        let retained = retain(&restore, &lookup, true).ok_or_else(|| unsound(&self.from))?;
        let mut old = retained.manifest;
        let embedded = Embedded::find(&old, &placed);
        if let Some(embedded) = &embedded {
            old = embedded.kept(&old).ok_or_else(|| unsound(&self.from))?;
        }
        let groups = Groups::of(&old, &placed);
        let drifts = prove(self.set, &self.from, &old, &placed, groups);
        let new = texts.get(2..).unwrap_or_default().to_vec();
        Ok(Attempt { candidate, groups, old, reworded, embedded, drifts, new, placed })
    }
}

// === impl Attempt ===

impl Attempt {
    /// Leaves out what belongs to others, though it has marks of the chart.
    pub(super) fn without(&mut self, is_anothers: impl Fn(&RepoPath, &ObjectKey) -> bool) {
        self.drifts.retain(|drift| !(drift.is_own() && is_anothers(&drift.path, &drift.object)));
        self.placed.without_others(is_anothers);
    }

    /// Returns how far it is from what is committed: differences, then objects with the chart's marks that it does not give.
    fn distance(&self) -> (usize, usize) {
        let others = self.placed.others();
        let unsaid = others.filter(|(file, o)| marks(&file.manifest, o).is_some_and(|marks| !marks.cli));
        (self.drifts.len(), unsaid.count())
    }
}

/// Says of a release from before charts had its number that nothing gives what is committed.
fn without_chart(version: &str) -> Option<Cause> {
    let number = version.strip_prefix("20").filter(|_| EdgeVersion::from_chart(version).is_none())?;
    let old = EdgeVersion::meant_by(number)?;
    let reason = format!(
        "its objects name {old}, and no chart has that number: charts have the number of their release since edge-24.3.1, \
         so what is committed cannot be made again"
    );
    Some(Cause::new(reason, "render the new release by hand once"))
}

/// Finds an object that is not where every control plane has it, because all names got something before them.
fn renamed(set: &Committed) -> Option<(String, &'static str)> {
    const CONFIG: &str = "linkerd-config";
    let objects = || set.files.iter().flat_map(own).map(|(_, object)| &object.key);
    let config = objects().filter(|key| key.kind == "ConfigMap" && key.name.ends_with(CONFIG));
    let name = config.map(|key| &key.name).min_by_key(|name| name.len()).filter(|name| *name != CONFIG)?;
    let prefix = name.strip_suffix(CONFIG)?;
    let workloads = || objects().filter(|key| key.kind == "Deployment");
    (set.chart == CONTROL_PLANE && workloads().all(|key| key.name.starts_with(prefix)))
        .then(|| (name.clone(), CONFIG))
}

/// Reads both takes of one version.
pub(super) fn takes(
    request: &Regenerate<'_>,
    chart: &Chart,
    texts: [Arc<str>; 2],
) -> Result<(Manifest, Nondeterministic), Cause> {
    let [first, second] = texts.map(Manifest::parse);
    let unread =
        |e| Cause::new(format!("what {} renders cannot be read: {e}", chart.id), "report this as a bug");
    let (first, second) = (first.map_err(unread)?, second.map_err(unread)?);
    let nondeterministic = Nondeterministic::of(&first, &second, chart, &request.knowledge.clock_fields)
        .map_err(|key| {
            let reason = format!("{} gives {key} in one rendering and not in the next", chart.id);
            Cause::new(reason, "render it by hand")
        })?;
    Ok((first, nondeterministic))
}

pub(super) fn unsound(chart: &Chart) -> Cause {
    Cause::new(
        format!("the committed values cannot be put back into what {} renders", chart.id),
        "render it by hand, and report this as a bug",
    )
}
