//! The way back: what a stage should become so that its last change is taken back.
//!
//! In: a case, and the history of the base branch. Out: a draft, or why there is none. What was there before is read from the
//! commit before the change; what came since is kept.

use std::{collections::BTreeSet, ops::Bound, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use crate::{
    config::TargetConfig,
    edit::{self, Restoring},
    linkerd::EdgeVersion,
    pins::{Inventory, Pin, PinKind, Stage},
    pipeline::{
        Error, Operator,
        basis::{Origin, Question, Watched, Witness},
        case::Case,
        draft::{Draft, Drafting, Prepared, held},
        landed::Landed,
        past::Was,
        promotion::{self, LookBack},
        rendering::Rendering,
        survey::Survey,
    },
    plan::{self, NoWayBack, Undoing, Undone},
    policy::{Hold, HoldReason, OnFailure, StatusCheck},
    render::Renderings,
    repo::{CommitId, Overlay, RepoPath},
    report::{Note, Outcome, RunReport, StageDecision},
    verify::{Clock, Severity},
};

/// How many changes of a stage's files are looked back over.
const CHANGES: usize = 50;
/// What was on the base branch for no longer has not run: the commits of a rebased pull request come all at once. One that is
/// dated well before what it was made on came by another clock, and not at once with it.
const MOMENT: SignedDuration = SignedDuration::from_secs(60);

/// The last change of a stage's release.
struct Last {
    undone: Undone,
    /// The release before it.
    to: EdgeVersion,
    /// The last commit before it.
    before: CommitId,
}

/// Drafts what is to be taken back first of a target, with what is to be told beside it.
pub(super) fn first(
    survey: &Survey<'_>,
    target: Option<&str>,
    base: &str,
    operator: &Operator<'_>,
    landed: &dyn Landed,
) -> Result<(Draft, Vec<String>), Error> {
    let named = |one: &&TargetConfig| match target {
        Some(name) => one.target.name == name,
        None => one.target.whole() == one.target.name,
    };
    let mut found = survey.targets.iter().filter(named);
    let (Some(target), None) = (found.next(), found.next()) else {
        let targets = survey.targets.iter().map(|one| one.target.name.clone()).collect();
        return Err(Error::WhichTarget { named: target.map(str::to_owned), targets });
    };
    let platform = Case { survey, target, stage: Stage::Platform };
    if !platform.has_pins() {
        let proxies = Case { stage: Stage::DataPlane, ..platform };
        return Ok((draft(proxies, base, operator, landed, None)?, Vec::new()));
    }
    let last = platform.last_change(landed)?;
    let ahead = |to| platform.ahead(to).map(|(proxies, _)| proxies).or_else(|| platform.ahead_beside(to));
    match last.as_ref().ok().and_then(|last| ahead(last.to)) {
        Some(proxies) => {
            Ok((draft(proxies, base, operator, landed, None)?, vec![Note::ProxiesFirst.to_string()]))
        }
        None => Ok((taken_back(platform, last, base, operator, landed)?, Vec::new())),
    }
}

/// Drafts what takes the last change of a stage back.
pub(super) fn draft(
    case: Case<'_>,
    base: &str,
    operator: &Operator<'_>,
    landed: &dyn Landed,
    failure: Option<StatusCheck>,
) -> Result<Draft, Error> {
    let last = case.last_change(landed)?;
    let last = last.map(|last| Last { undone: Undone { failure, ..last.undone }, ..last });
    taken_back(case, last, base, operator, landed)
}

/// Closes the pull request of a way back from a release, where there is none any more: `None` where it is as it was.
pub(super) fn outdated(case: Case<'_>, draft: &Draft, from: EdgeVersion) -> Option<Draft> {
    let blocks = || draft.report.findings.iter().find(|finding| finding.severity == Severity::Block);
    let reason = match &draft.report.decision {
        StageDecision::Hold { hold: Hold { reason: HoldReason::NoWayBack { reason }, .. }, .. } => {
            reason.clone()
        }
        StageDecision::Blocked(_) => blocks().map(|finding| finding.reason.clone()).unwrap_or_default(),
        decision => {
            let undoes = decision.plan().and_then(|plan| plan.undoes.as_ref()).map(|undone| undone.release);
            let now = undoes.filter(|now| *now != from)?;
            NoWayBack::MovedOn { from, now }.to_string()
        }
    };
    let hold = Hold { reason: HoldReason::WayBackGone { reason }, release: None, until: None };
    Some(case.without_proposal(held(case.stage, hold)))
}

/// Names the pull requests that were closed since there is no way back any more.
pub(super) fn closed(report: &RunReport) -> impl Iterator<Item = String> {
    report.stages.iter().filter_map(|stage| match (&stage.decision, &stage.outcome) {
        (StageDecision::Hold { hold, text }, Some(Outcome::Closed(pull)))
            if matches!(hold.reason, HoldReason::WayBackGone { .. } | HoldReason::ProxiesAhead { .. }) =>
        {
            Some(Note::NoWayBack(stage, pull, text).to_string())
        }
        _ => None,
    })
}

fn taken_back(
    case: Case<'_>,
    last: Result<Last, NoWayBack>,
    base: &str,
    operator: &Operator<'_>,
    landed: &dyn Landed,
) -> Result<Draft, Error> {
    let Case { survey, target, .. } = case;
    let last = match last {
        Ok(last) => last,
        Err(none) => return Ok(case.stuck(None, &none)),
    };
    let to = last.to;
    let ahead = if case.stage == Stage::Platform { case.ahead(to) } else { None };
    if let Some((proxies, running)) = ahead {
        let reason = HoldReason::ProxiesAhead { target: proxies.target.target.name.clone(), running };
        return Ok(case.without_proposal(held(case.stage, Hold { reason, release: Some(to), until: None })));
    }
    let origin = Origin::of(&Question { case, to, hop_towards: None, promoted: &[] }, operator);
    let (tree, renderer) = (Watched::new(&origin), Witness::new(operator.renderer));
    let rendering = Rendering::new(survey, target, &tree, &renderer);
    let change = match case.way_back(last, landed, &rendering)? {
        Ok(change) => change,
        Err(none) => return Ok(case.stuck(Some(to), &none)),
    };
    let clock = Clock::new(operator.now);
    let drafting = Drafting {
        case,
        origin: &origin,
        tree: &tree,
        renderer: &renderer,
        clock: &clock,
        rendering: &rendering,
        promoted: &[],
    };
    drafting.finish(change, base)
}

// === impl Case ===

impl Case<'_> {
    /// Finds what says that the target's release does not work, where it is to be taken back for that in this stage, can be,
    /// and nobody has said no.
    pub(super) fn fails(
        &self,
        operator: &Operator<'_>,
        landed: &dyn Landed,
    ) -> Result<Option<StatusCheck>, Error> {
        let target = self.target;
        if target.gates.on_failure == OnFailure::Hold || target.gates.active.is_empty() {
            return Ok(None);
        }
        let back = LookBack { case: *self, landed, floor: Bound::Unbounded, now: operator.now };
        let platform = self.platform();
        let Some(ran) = back.itself(platform.target)? else { return Ok(None) };
        let checks = ran.checks.unwrap_or_default();
        let Some(failure) = target.gates.fails(ran.since, &checks, operator.now) else { return Ok(None) };
        let Ok(last) = platform.last_change(landed)? else { return Ok(None) };
        // Proxies first, all waves of them.
        let is_first = match self.stage {
            Stage::Platform => platform.ahead(last.to).is_none(),
            Stage::DataPlane => self.highest().is_some_and(|highest| highest > last.to),
        };
        let is_due = is_first && !landed.keeps(*self, last.undone.release)?;
        Ok(is_due.then_some(failure))
    }

    fn stuck(&self, release: Option<EdgeVersion>, none: &NoWayBack) -> Draft {
        let hold = Hold { reason: HoldReason::NoWayBack { reason: none.to_string() }, release, until: None };
        self.without_proposal(held(self.stage, hold))
    }

    /// Takes a change back in the tree; says why that cannot be.
    fn way_back(
        &self,
        last: Last,
        landed: &dyn Landed,
        rendering: &Rendering<'_>,
    ) -> Result<Result<Prepared, NoWayBack>, Error> {
        let Self { survey, target, stage } = *self;
        let (before, after) = (landed.tree(last.before)?, landed.tree(last.undone.commit)?);
        let (earlier, then) = (survey.scan(before.as_ref())?, survey.scan(after.as_ref())?);
        let Some(plan) = plan::back(Undoing {
            inventory: &survey.inventory,
            earlier: &earlier,
            then: &then,
            target: &target.target,
            stage,
            to: last.to,
            undone: last.undone,
            catalog: survey.catalog,
            options: &survey.options,
        }) else {
            return Ok(Err(NoWayBack::NoPin));
        };
        let inventories = [&survey.inventory, &earlier, &then];
        let is_rendered = |path: &RepoPath| {
            let made =
                |inventory: &&Inventory| inventory.facts.rendered.iter().any(|file| file.path == *path);
            inventories.iter().any(made)
        };
        let restored = edit::restore(&Restoring {
            before: before.as_ref(),
            after: after.as_ref(),
            then: &then,
            now: survey.tree,
            inventory: &survey.inventory,
            plan: &plan,
            is_part: &|path| self.has_part(path, &inventories),
            is_rendered: &is_rendered,
        });
        let changes = match restored {
            Ok(changes) => changes,
            Err(error) => return Ok(Err(NoWayBack::Refused(error.to_string()))),
        };
        let edited = Overlay::new(survey.tree, &changes);
        let done = rendering.compared(&edited, &survey.scan(&edited)?);
        let rendered = Renderings { done, missing: Vec::new(), helm: None };
        Ok(Ok(Prepared { plan, changes, inventory: survey.inventory.clone(), rendered }))
    }

    /// Tells whether a file belongs to the stage: it has a pin of it, or was rendered with it.
    fn has_part(&self, path: &RepoPath, inventories: &[&Inventory]) -> bool {
        let mine = |pin: &Pin| {
            pin.path == *path
                && pin.stage == self.stage
                && pin.kind != PinKind::Other
                && self.target.target.has(pin)
        };
        let beside = |inventory: &Inventory| {
            let made = |of: &RepoPath| {
                of == path || of.folder() == path.folder() && path.name().starts_with("kustomization.")
            };
            self.stage == Stage::Platform && inventory.facts.rendered.iter().any(|file| made(&file.path))
        };
        let covers = self.target.target.covers(path);
        inventories.iter().any(|inventory| inventory.pins().any(mine) || covers && beside(inventory))
    }

    /// Returns the platform of the target, or of the one whose wave it is.
    fn platform(&self) -> Self {
        Self { target: self.survey.whole(self.target), stage: Stage::Platform, ..*self }
    }

    /// Returns the newest release of the stage.
    fn highest(&self) -> Option<EdgeVersion> {
        plan::needs(&self.survey.inventory, &self.target.target, self.stage, &self.survey.options).highest
    }

    /// Finds proxies of the target that a control plane at a release would fall behind, the last wave of them, and theirs.
    fn ahead(&self, to: EdgeVersion) -> Option<(Self, EdgeVersion)> {
        let name = &self.target.target.name;
        let mine = self.survey.targets.iter().filter(|other| other.target.whole() == name);
        let proxies = mine.map(|target| Self { target, stage: Stage::DataPlane, ..*self });
        let ahead = proxies.filter_map(|one| Some((one, one.highest().filter(|highest| *highest > to)?)));
        // What is in no wave comes first in the list, and went last.
        let mut ahead: Vec<(Self, EdgeVersion)> = ahead.collect();
        let rest = ahead.iter().position(|(one, _)| one.target.target.name == *name);
        rest.map(|at| ahead.swap_remove(at)).or_else(|| ahead.pop())
    }

    /// Finds a target with proxies that this control plane at a release would fall behind, since they are run beside it too.
    fn ahead_beside(&self, to: EdgeVersion) -> Option<Self> {
        let Self { survey, target, .. } = *self;
        let pins = || survey.inventory.pins();
        let platform = pins().filter(|pin| pin.stage == Stage::Platform && target.target.has(pin));
        let mine: BTreeSet<&Arc<str>> = platform.flat_map(|pin| pin.installations.iter()).collect();
        let is_ahead = |pin: &Pin| {
            pin.stage == Stage::DataPlane
                && pin.stays.is_none()
                && pin.version.is_some_and(|version| version > to)
                && pin.installations.iter().any(|name| mine.contains(name))
        };
        let has = |other: &&TargetConfig| pins().any(|pin| is_ahead(pin) && other.target.has(pin));
        survey.targets.iter().find(has).map(|target| Self { target, stage: Stage::DataPlane, ..*self })
    }

    /// Walks back to the last change of the stage's release.
    fn last_change(&self, landed: &dyn Landed) -> Result<Result<Last, NoWayBack>, Error> {
        let now = self.was(&self.survey.inventory);
        let Some(release) = now.release else {
            return Ok(Err(NoWayBack::Unknown));
        };
        // With which commit the release came, and since when what came after a stretch is there.
        let (mut came, mut later) = (None, Timestamp::MAX);
        let (mut next, mut was) = (Some(landed.tip()), now);
        for _ in 0..CHANGES {
            let Some(last) = next else { break };
            // Pods that had no pin before it came go where the control plane goes.
            let at = match (was.release, came) {
                (None, Some(_)) if self.stage == Stage::DataPlane => {
                    self.platform().last_change(landed)?.ok().map(|last| last.to)
                }
                (release, _) => release,
            };
            let Some(at) = at else { break };
            let Some(stretch) = landed.stretch(last, &was.files)? else { break };
            let first = stretch.commits.last().copied().unwrap_or(last);
            if at == release {
                came = Some((first, stretch.since));
            } else if later.duration_since(stretch.since).abs() > MOMENT {
                let Some((commit, since)) = came else { break };
                let undone = Undone { release, commit, since, failure: None };
                return Ok(match at < release {
                    true => Ok(Last { undone, to: at, before: last }),
                    false => Err(NoWayBack::CameDown { release, at }),
                });
            }
            (later, next) = (promotion::dated(*self, landed, at, &stretch)?, stretch.before);
            if let Some(before) = next {
                was = self.was(&self.survey.scan(landed.tree(before)?.as_ref())?);
            }
        }
        Ok(Err(NoWayBack::NoHistory))
    }

    fn was(&self, inventory: &Inventory) -> Was {
        promotion::was(inventory, &self.target.target, self.stage, &self.survey.options)
    }
}
