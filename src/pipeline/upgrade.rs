//! What a stage should become to go on to a release: policy, plan, edit, render. Nothing is written.
//!
//! In: a case, the operator's knowledge, what is on the forge. Out: a draft. What is done already is not made again.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    config::TargetConfig,
    edit, explain,
    linkerd::EdgeVersion,
    pins::Stage,
    pipeline::{
        Error, Operator,
        basis::{Origin, Question, Watched, Witness},
        case::Case,
        draft::{Draft, Drafting, Prepared, held},
        landed::Landed,
        rendering::Rendering,
        rollback,
        verdict::Verdict,
        warm::Warm,
    },
    plan::{self, Plan},
    policy::{Decision, Hold, HoldReason},
    propose::{self, UpToDate},
    render::{Renderings, committed::Left},
    report::{Kept, Outcome, StageDecision, StageReport},
    verify::Clock,
};

/// How often a stage is planned again without a pin whose edit was refused.
const REFUSALS: usize = 1000;

/// What a plan became when it was applied.
enum Applied {
    Done(Box<Prepared>),
    Nothing,
    Stuck(String),
}

/// Drafts one stage; nothing where the target has no pins of it. With `warm`, nothing is made where the open pull request
/// is what it would become.
pub(super) fn draft(
    case: Case<'_>,
    base: &str,
    operator: &Operator<'_>,
    landed: &dyn Landed,
    warm: Option<&Warm<'_>>,
    others: &[Draft],
) -> Result<Option<Draft>, Error> {
    let Case { survey, target, stage } = case;
    if !case.has_pins() {
        return Ok(None);
    }
    let decided = case.decide(operator, landed)?;
    let decided = case.behind_the_way_back(decided, landed, others)?;
    let held_back = match &decided {
        Decision::Hold(hold) => Some(&hold.reason),
        Decision::Target { .. } => None,
    };
    if !held_back.is_some_and(HoldReason::is_pause) {
        let failure = case.fails(operator, landed)?;
        // One that takes a change back is kept as it is to be, until somebody merges or closes it.
        let stays = held_back.is_some_and(|reason| !reason.leaves_nothing());
        let open = landed.goes_back(case)?;
        if failure.is_some() || open.is_some() {
            let back = rollback::draft(case, base, operator, landed, failure)?;
            if let Some(undoes) = open
                && let Some(gone) = rollback::outdated(case, &back, undoes)
            {
                return Ok(Some(gone));
            }
            // Where there is no way back, there may be one onward.
            if open.is_some() || back.wanted.is_some() || held_back.is_some() {
                return Ok(Some(back));
            }
        }
        if stays && let Some(hold) = case.is_outrun(operator, landed)? {
            return Ok(Some(case.without_proposal(held(stage, hold))));
        }
    }
    let (to, hop_towards, promoted) = match decided {
        Decision::Hold(hold) => return Ok(Some(case.without_proposal(held(stage, hold)))),
        Decision::Target { version, hop_towards, promoted } => (version, hop_towards, promoted),
    };
    if let Some(target) = goes_first(target, stage, others) {
        let hold = Hold { reason: HoldReason::After { target }, release: Some(to), until: None };
        return Ok(Some(case.without_proposal(held(stage, hold))));
    }
    let origin = Origin::of(&Question { case, to, hop_towards, promoted: &promoted }, operator);
    let kept = match warm {
        Some(warm) => warm.up_to_date(case, to, &origin, operator.now)?,
        None => None,
    };
    if let Some(draft) = kept.and_then(|kept| case.kept(kept, to, hop_towards)) {
        return Ok(Some(draft));
    }
    let verdicts = warm.zip(operator.cache).map(|(warm, cache)| warm.verdicts(cache, case));
    let inputs = origin.inputs(&BTreeSet::new());
    if let Some(verdict) = verdicts.as_ref().and_then(|verdicts| verdicts.known(&inputs)) {
        return Ok(Some(case.without_proposal(case.decision(verdict, to))));
    }
    if let Some(hold) = case.went_back(to, operator, landed)? {
        return Ok(Some(case.without_proposal(held(stage, hold))));
    }
    let (tree, renderer) = (Watched::new(&origin), Witness::new(operator.renderer));
    let rendering = Rendering::new(survey, target, &tree, &renderer);
    let clock = Clock::new(operator.now);
    let drafting = Drafting {
        case,
        origin: &origin,
        tree: &tree,
        renderer: &renderer,
        clock: &clock,
        rendering: &rendering,
        promoted: &promoted,
    };
    let verdict = match drafting.apply(to, hop_towards) {
        Applied::Done(change) => return drafting.finish(*change, base).map(Some),
        Applied::Nothing => Verdict::Nothing,
        Applied::Stuck(reason) => Verdict::Stuck(reason),
    };
    // Without a Helm each run is to say so in its own way.
    let lasts = renderer.is_lasting() && operator.renderer.identity().is_some();
    if let Some(verdicts) = verdicts.filter(|_| lasts && tree.searches().is_some_and(|all| all.is_empty())) {
        verdicts.keep(inputs, verdict.clone());
    }
    Ok(Some(case.without_proposal(case.decision(verdict, to))))
}

/// Names the target that goes before this one, where it has something to do or waits for another installation.
fn goes_first(target: &TargetConfig, stage: Stage, others: &[Draft]) -> Option<String> {
    let first = target.target.after.as_ref().filter(|_| stage == Stage::Platform)?;
    let draft = others.iter().find(|d| d.report.target == *first && d.report.stage == Stage::Platform)?;
    let is_there = match &draft.report.decision {
        StageDecision::Hold { hold, .. } => hold.reason.lets_go_on(|name| target.target.serves(name)),
        _ => false,
    };
    (!is_there).then(|| first.clone())
}

// === impl Case ===

impl Case<'_> {
    /// Puts a verdict into words.
    fn decision(&self, verdict: Verdict, to: EdgeVersion) -> StageDecision {
        match verdict {
            Verdict::Nothing => {
                let up_to_date = Hold { reason: HoldReason::UpToDate, release: Some(to), until: None };
                held(self.stage, self.resting_at(to).unwrap_or(up_to_date))
            }
            Verdict::Stuck(reason) => StageDecision::Unplannable { release: to, reason },
        }
    }

    /// Says what was planned when an open pull request was made that would be made again as it is.
    fn kept(
        &self,
        kept: UpToDate,
        to: EdgeVersion,
        hop_towards: Option<(EdgeVersion, &'static str)>,
    ) -> Option<Draft> {
        let Self { survey, target, stage } = *self;
        let UpToDate { pull, basis, branch, held } = kept;
        let mut inventory = survey.inventory.clone();
        for found in &basis.pins {
            let pin = Arc::make_mut(inventory.pins.get_mut(found.pin)?);
            (pin.stays, pin.version) = (found.stays, found.version);
        }
        let (inventory, target, sources) = (&inventory, &target.target, &[]);
        let (catalog, options) = (survey.catalog, &survey.options);
        let request = plan::Request { inventory, target, stage, to, hop_towards, catalog, options, sources };
        let plan = Plan { fingerprint: basis.plan, ..plan::plan(&request).ok().flatten()? };
        let kept = Some(Kept {
            branch,
            base: pull.base.clone(),
            title: propose::title_of(&self.title(&plan), survey.dialect),
            draft: survey.config().pull_request.draft,
            blocked: basis.blocked,
        });
        let draft = self.without_proposal(StageDecision::Propose(Box::new(plan)));
        let outcome = Some(match held {
            Some(held) => Outcome::LeftAlone { reason: held.words(survey.dialect), pull: Some(pull) },
            None => Outcome::Unchanged(pull),
        });
        Some(Draft { report: StageReport { outcome, kept, ..draft.report }, ..draft })
    }
}

// === impl Drafting ===

impl Drafting<'_> {
    /// Plans, edits and renders again; what is refused is set aside, and the checks name it.
    fn apply(&self, to: EdgeVersion, hop_towards: Option<(EdgeVersion, &'static str)>) -> Applied {
        let Case { survey, target, stage } = self.case;
        let mut inventory = survey.inventory.clone();
        let sources = self.rendering.sources();
        let at = self.rendering.at(to);
        at.name_pins(&mut inventory);
        for _ in 0..REFUSALS {
            let request = plan::Request {
                inventory: &inventory,
                target: &target.target,
                stage,
                to,
                hop_towards,
                catalog: survey.catalog,
                options: &survey.options,
                sources: &sources,
            };
            let plan = match plan::plan(&request) {
                Ok(Some(plan)) => plan,
                Ok(None) => return Applied::Nothing,
                Err(blocked) => return Applied::Stuck(blocked.to_string()),
            };
            let mut changes = match edit::apply(&plan, self.tree) {
                Ok(changes) => changes,
                Err(error) => {
                    let place = error.path.as_ref();
                    if place.is_some_and(|path| plan::set_aside(&mut inventory, path, error.line)) {
                        continue;
                    }
                    return Applied::Stuck(error.to_string());
                }
            };
            let made = at.again(&plan, &inventory, &changes);
            // A stage moves whole or not at all: half of it would be ahead of the rest.
            if !made.missing.is_empty() {
                return Applied::Stuck(explain::waits(&plan, &made.missing));
            }
            let left =
                |left: &Left| plan::set_aside_own(&mut inventory, &left.path, &left.chart, left.reason());
            if made.left.iter().map(left).fold(false, |any, one| any | one) {
                continue;
            }
            made.changes.into_iter().for_each(|change| changes.lay_over(change));
            let helm = if made.renderings.is_empty() { None } else { self.rendering.helm() };
            let rendered = Renderings { done: made.renderings, missing: Vec::new(), helm };
            return Applied::Done(Box::new(Prepared { plan, changes, inventory, rendered }));
        }
        Applied::Stuck("too many edits were refused".to_owned())
    }
}
