//! What one target's stage should become: policy, plan, edit, render, verify. Nothing is written.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::{
    config::{Fields, OnBlock, TargetConfig, Wording},
    edit::{self},
    explain::Content,
    linkerd::EdgeVersion,
    pins::{Inventory, Pin, Reason, Stage},
    pipeline::{Error, Operator, landed::Landed, rendering::Rendering, survey::Survey},
    plan::{self, Plan},
    policy::{self, Decision, Hold, HoldReason, Policy},
    propose::{self, Wanted},
    render::{NotRendered, Renderings},
    repo::{ChangeSet, Overlay, RepoPath},
    report::{Outcome, Proposal, RowReason, StageDecision, StageReport},
    verify::{self, Finding, Severity, Verification},
};

/// How often a stage is planned again without a pin whose edit was refused.
const REFUSALS: usize = 1000;

/// What a stage should become, for people and for the forge.
pub(super) struct Draft {
    /// For people.
    pub report: StageReport,
    /// For the forge, where something is proposed.
    pub wanted: Option<Wanted>,
    /// The charts that move.
    pub charts: Vec<String>,
}

/// What a plan became when it was applied.
enum Applied {
    Done(Box<Change>),
    Nothing,
    Stuck(String),
}

/// A plan with what was made of it.
struct Change {
    plan: Plan,
    changes: ChangeSet,
    /// The inventory that was planned on: what was refused is set aside in it.
    inventory: Inventory,
    /// What became of committed manifests.
    rendered: Renderings,
}

/// Drafts one stage; nothing where the target has no pins of it.
pub(super) fn draft(
    survey: &Survey<'_>,
    target: &TargetConfig,
    stage: Stage,
    base: &str,
    operator: &Operator<'_>,
    landed: &dyn Landed,
) -> Result<Option<Draft>, Error> {
    let mine = |p: &Pin| p.stage == stage && target.target.covers(&p.path);
    if !survey.inventory.pins.iter().any(mine) {
        return Ok(None);
    }
    let rendering = Rendering::new(survey, target, operator.renderer);
    let drafting = Drafting { survey, target, stage, now: operator.now, rendering: &rendering };
    if let Some(reasons) = plan::resting(&survey.inventory, &target.target, stage, &survey.options) {
        let reason = match reasons.iter().copied().eq([Reason::Channel]) {
            true => {
                HoldReason::OtherChannel { pins: survey.inventory.pins.iter().filter(|p| mine(p)).count() }
            }
            false => HoldReason::NothingMoves {
                reasons: reasons.into_iter().map(|r| RowReason::Stays(r).to_string()).collect(),
            },
        };
        let hold = Hold { reason, release: None, until: None };
        return Ok(Some(drafting.without_proposal(held(stage, hold))));
    }
    let decision = drafting.decide(operator, landed)?;
    let (to, hop) = match decision {
        Decision::Hold(hold) => return Ok(Some(drafting.without_proposal(held(stage, hold)))),
        Decision::Target { version, hop_towards } => (version, hop_towards),
    };
    match drafting.apply(to, hop) {
        Applied::Nothing => {
            let hold = Hold { reason: HoldReason::UpToDate, release: Some(to), until: None };
            Ok(Some(drafting.without_proposal(held(stage, hold))))
        }
        Applied::Stuck(reason) => {
            Ok(Some(drafting.without_proposal(StageDecision::Unplannable { release: to, reason })))
        }
        Applied::Done(change) => drafting.finish(*change, base).map(Some),
    }
}

/// Puts a hold into words.
fn held(stage: Stage, hold: Hold) -> StageDecision {
    let text = match stage {
        Stage::Platform => policy::describe(&hold),
        Stage::DataPlane => policy::describe_proxies(&hold),
    };
    StageDecision::Hold { hold, text }
}

// === impl Draft ===

impl Draft {
    /// Notes what became of it, or what would; without a pull request to carry it, there is no proposal.
    pub fn became(&mut self, outcome: Option<Outcome>) {
        if matches!(outcome, Some(Outcome::LeftAlone { pull: None, .. })) {
            self.report.proposal = None;
        }
        self.report.outcome = outcome;
    }
}

struct Drafting<'a> {
    survey: &'a Survey<'a>,
    target: &'a TargetConfig,
    stage: Stage,
    now: jiff::Timestamp,
    rendering: &'a Rendering<'a>,
}

// === impl Drafting ===

impl Drafting<'_> {
    fn decide(&self, operator: &Operator<'_>, landed: &dyn Landed) -> Result<Decision, Error> {
        let Self { survey, target, stage, .. } = *self;
        let data_plane = &survey.config().data_plane;
        let policy = Policy { to: operator.to.or(target.policy.to), ..target.policy.clone() };
        let needs = plan::needs(&survey.inventory, &target.target, stage, &survey.options);
        if stage == Stage::Platform {
            return Ok(policy::decide(&policy, survey.catalog, &needs, operator.now));
        }
        let plane = plan::control_plane(&survey.inventory, &target.target, data_plane.control_plane);
        let at_once =
            policy::ControlPlane { release: plane.ceiling(), landed: None, after: SignedDuration::ZERO };
        let decision = policy::data_plane(&policy, &needs, at_once, operator.now);
        // When it landed costs a request, so it is asked for only where everything else says go.
        match (plane.ceiling(), &decision) {
            (Some(release), Decision::Target { .. }) if !data_plane.after.is_zero() => {
                let landed = landed.since(release, &target.target, &survey.inventory)?;
                let plane = policy::ControlPlane { landed, after: data_plane.after, ..at_once };
                Ok(policy::data_plane(&policy, &needs, plane, operator.now))
            }
            _ => Ok(decision),
        }
    }

    /// Plans, edits and renders again; what is refused is set aside, and the checks name it.
    fn apply(&self, to: EdgeVersion, hop_towards: Option<(EdgeVersion, &'static str)>) -> Applied {
        let Self { survey, target, stage, .. } = *self;
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
            let mut changes = match edit::apply(&plan, &inventory, survey.tree) {
                Ok(changes) => changes,
                Err(error) => {
                    let place = error.path.as_ref();
                    if place.is_some_and(|path| plan::set_aside(&mut inventory, path, error.line)) {
                        continue;
                    }
                    return Applied::Stuck(error.to_string());
                }
            };
            let edited = Overlay::new(survey.tree, &changes);
            let made = at.again(&plan, &inventory, &edited);
            // A stage moves whole or not at all: half of it would be ahead of the rest.
            if !made.missing.is_empty() {
                return Applied::Stuck(waits(&plan, &inventory, &made.missing));
            }
            let left = |(path, chart): &(RepoPath, String)| plan::set_aside_own(&mut inventory, path, chart);
            if made.left.iter().map(left).fold(false, |any, one| any | one) {
                continue;
            }
            made.changes.into_iter().for_each(|change| changes.lay_over(change));
            let helm = if made.renderings.is_empty() { None } else { self.rendering.helm() };
            let rendered = Renderings { done: made.renderings, missing: Vec::new(), helm };
            return Applied::Done(Box::new(Change { plan, changes, inventory, rendered }));
        }
        Applied::Stuck("too many edits were refused".to_owned())
    }

    fn finish(&self, change: Change, base: &str) -> Result<Draft, Error> {
        let survey = self.survey;
        let edited = Overlay::new(survey.tree, &change.changes);
        let mut after = survey.scan(&edited)?;
        self.rendering.name_pins(&mut after, &edited, change.plan.to);
        let uses = self.rendering.uses(&change.inventory, &after);
        let change = Change { rendered: change.rendered.and(uses), ..change };
        let findings = self.verify(&change, &after);
        let Change { plan, changes, inventory, rendered } = change;
        let config = self.survey.config();
        let blocked = findings.iter().any(|f| f.severity == Severity::Block);
        if blocked && config.on_block == OnBlock::Hold {
            let draft = self.without_proposal(StageDecision::Blocked(Box::new(plan)));
            return Ok(Draft { report: StageReport { changes, findings, ..draft.report }, ..draft });
        }
        let content = Content::of(&crate::explain::content::Material {
            plan: &plan,
            inventory: &inventory,
            target: &self.target.target,
            findings: &findings,
            catalog: survey.catalog,
            rendered: &rendered,
            tree: survey.tree,
            configuration: config.path(),
        });
        let title = self.worded(config.pull_request.title.as_ref(), &plan);
        let wanted = Wanted::new(&plan, title, &content, &config.pull_request.extras);
        let wanted =
            Wanted { draft: config.pull_request.draft, ..wanted.map_err(|e| Error::Defect(e.to_string()))? };
        let proposal = Proposal {
            branch: propose::branch(&config.branch.prefix, &plan.target, plan.stage),
            base: base.to_owned(),
            title: wanted.title.clone(),
            body: wanted.text.clone(),
            draft: wanted.draft,
            content: Box::new(content),
        };
        let mut charts: Vec<String> = plan
            .moves
            .iter()
            .filter_map(|m| inventory.pins.get(m.pin))
            .filter_map(|p| p.chart.clone())
            .collect();
        charts.sort_unstable();
        charts.dedup();
        let draft = self.without_proposal(StageDecision::Propose(Box::new(plan)));
        let report = StageReport { changes, findings, proposal: Some(proposal), ..draft.report };
        Ok(Draft { report, wanted: Some(wanted), charts })
    }

    fn verify(&self, change: &Change, after: &Inventory) -> Vec<Finding> {
        let survey = self.survey;
        verify::verify(&Verification {
            before: survey.tree,
            inventory: &change.inventory,
            plan: &change.plan,
            changes: &change.changes,
            after: Some(after),
            target: &self.target.target,
            kubernetes: self.target.kubernetes.as_ref(),
            control_plane: survey.config().data_plane.control_plane,
            catalog: survey.catalog,
            options: &survey.options,
            rendered: &change.rendered,
            now: self.now,
        })
    }

    /// Fills a configured wording, or returns the built-in title.
    fn worded(&self, wording: Option<&Wording>, plan: &Plan) -> String {
        match wording {
            Some(wording) => fill(wording, plan),
            None => plan::title(plan, self.survey.config().targets.len() > 1),
        }
    }

    fn without_proposal(&self, decision: StageDecision) -> Draft {
        let report = StageReport {
            target: self.target.target.name.clone(),
            stage: self.stage,
            decision,
            changes: ChangeSet::default(),
            findings: Vec::new(),
            proposal: None,
            outcome: None,
        };
        Draft { report, wanted: None, charts: Vec::new() }
    }
}

/// Says why a stage waits: of everything that could not be made again why and what to do, then what waits for it. All on
/// one line, as a verdict is.
fn waits(plan: &Plan, inventory: &Inventory, missing: &[NotRendered]) -> String {
    let line = |not: &NotRendered| {
        let (reason, hint) = (not.reason.trim_end_matches('.'), not.hint.trim_end_matches('.'));
        format!("{} in {}: {reason}; {hint}", not.chart, not.path)
    };
    let mut lines: Vec<String> = missing.iter().map(line).collect();
    lines.dedup();
    let stuck = |pin: &Pin| {
        missing.iter().any(|not| Some(&not.chart) == pin.chart.as_ref() && not.files.contains(&pin.path))
    };
    let pins = plan.moves.iter().filter_map(|m| inventory.pins.get(m.pin)).filter(|pin| !stuck(pin));
    let waiting: BTreeSet<&str> = pins.map(|pin| pin.chart.as_deref().unwrap_or(pin.path.as_str())).collect();
    if !waiting.is_empty() {
        let names: Vec<&str> = waiting.into_iter().collect();
        lines.push(format!("The rest of the stage waits for it: {}", names.join(", ")));
    }
    lines.join(". ")
}

/// Fills a wording from a plan.
pub(super) fn fill(wording: &Wording, plan: &Plan) -> String {
    let from: Vec<String> = plan.from.iter().map(ToString::to_string).collect();
    wording.fill(&Fields {
        from: &from.join(", "),
        to: &plan.to.to_string(),
        target: &plan.target,
        stage: plan.stage.name(),
    })
}
