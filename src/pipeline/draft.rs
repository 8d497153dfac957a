//! What one target's stage should become, once it is planned and edited: verified, and put into words. Nothing is written.

use crate::{
    config::{Fields, OnBlock, Wording},
    explain::{Basis, Content, FoundOut},
    linkerd::EdgeVersion,
    pins::{Inventory, Pin, Stage},
    pipeline::{
        Error,
        basis::{Origin, Watched, Witness},
        case::Case,
        rendering::Rendering,
    },
    plan::{self, Plan},
    policy::{self, Hold, HoldReason, Promoted},
    propose::{self, Wanted},
    render::Renderings,
    repo::{ChangeSet, Overlay},
    report::{Outcome, Proposal, StageDecision, StageReport},
    verify::{self, Clock, Finding, Severity, Verification},
};

/// What a stage should become, for people and for the forge.
pub(super) struct Draft {
    /// For people.
    pub report: StageReport,
    /// For the forge, where something is proposed.
    pub wanted: Option<Wanted>,
    /// The charts that move.
    pub charts: Vec<String>,
    /// The pull requests for it that are open from branches under another prefix.
    pub elsewhere: Vec<Elsewhere>,
}

/// A pull request of ours whose branch is under another prefix than ours are now.
pub(super) struct Elsewhere {
    /// The branch.
    pub branch: String,
    /// The number.
    pub number: u64,
    /// The release that it takes back, where it does.
    pub undoes: Option<EdgeVersion>,
}

/// A plan with what was made of it.
pub(super) struct Prepared {
    pub plan: Plan,
    pub changes: ChangeSet,
    /// The inventory that was planned on: what was refused is set aside in it.
    pub inventory: Inventory,
    /// What became of committed manifests.
    pub rendered: Renderings,
}

/// Puts a hold into words.
pub(super) fn held(stage: Stage, hold: Hold) -> StageDecision {
    let text = match stage {
        Stage::Platform => policy::describe(&hold),
        Stage::DataPlane => policy::describe_proxies(&hold),
    };
    StageDecision::Hold { hold, text }
}

// === impl Draft ===

impl Draft {
    /// What is left of a target that is no more: there is nothing to propose.
    pub fn gone(target: &str, stage: Stage) -> Self {
        let hold = Hold { reason: HoldReason::Gone, release: None, until: None };
        Self::undecided(target, stage, held(stage, hold))
    }

    fn undecided(target: &str, stage: Stage, decision: StageDecision) -> Self {
        let report = StageReport {
            target: target.to_owned(),
            stage,
            decision,
            changes: ChangeSet::default(),
            findings: Vec::new(),
            proposal: None,
            kept: None,
            outcome: None,
        };
        Self { report, wanted: None, charts: Vec::new(), elsewhere: Vec::new() }
    }

    /// Notes what became of it, or what would; without a pull request to carry it, there is no proposal.
    pub fn became(&mut self, outcome: Option<Outcome>) {
        if matches!(outcome, Some(Outcome::LeftAlone { pull: None, .. })) {
            self.report.proposal = None;
        }
        self.report.outcome = outcome;
    }
}

pub(super) struct Drafting<'a> {
    pub case: Case<'a>,
    pub origin: &'a Origin<'a>,
    pub tree: &'a Watched<'a>,
    pub renderer: &'a Witness<'a>,
    pub clock: &'a Clock,
    pub rendering: &'a Rendering<'a>,
    pub promoted: &'a [Promoted],
}

// === impl Case ===

impl Case<'_> {
    /// Fills the configured wording, or returns the built-in title.
    pub(super) fn title(&self, plan: &Plan) -> String {
        match &self.survey.config().pull_request.title {
            Some(wording) if plan.undoes.is_none() => fill(wording, plan),
            _ => plan::title(plan, self.survey.targets.len() > 1),
        }
    }

    pub(super) fn without_proposal(&self, decision: StageDecision) -> Draft {
        Draft::undecided(&self.target.target.name, self.stage, decision)
    }
}

// === impl Drafting ===

impl Drafting<'_> {
    /// Verifies what was made, and writes what is to be proposed.
    pub(super) fn finish(&self, change: Prepared, base: &str) -> Result<Draft, Error> {
        let Case { survey, target, .. } = self.case;
        // What a second scan makes of the files that stay follows from what the first one made of them.
        let edited = Overlay::new(survey.tree, &change.changes);
        let mut after = survey.scan(&edited)?;
        self.rendering.name_pins(&mut after, &change.changes, change.plan.to);
        let uses = self.rendering.uses(&change.inventory, &after);
        let change = Prepared { rendered: change.rendered.and(uses), ..change };
        let findings = self.verify(&change, &after, base);
        let Prepared { plan, changes, inventory, rendered } = change;
        let config = survey.config();
        let blocked = findings.iter().any(|f| f.severity == Severity::Block);
        // What cannot be taken back is not proposed.
        if blocked && (config.on_block == OnBlock::Hold || plan.undoes.is_some()) {
            let draft = self.case.without_proposal(StageDecision::Blocked(Box::new(plan)));
            return Ok(Draft { report: StageReport { changes, findings, ..draft.report }, ..draft });
        }
        let content = Content::of(&crate::explain::content::Material {
            plan: &plan,
            inventory: &inventory,
            target: &target.target,
            findings: &findings,
            catalog: survey.catalog,
            promoted: self.promoted,
            rendered: &rendered,
            tree: self.tree,
            configuration: config.path(),
        });
        let title = self.case.title(&plan);
        let wanted = Wanted::new(&plan, &title, &content, &config.pull_request.extras, survey.dialect);
        let wanted = Wanted {
            draft: config.pull_request.draft,
            basis: self.basis(&inventory, plan.fingerprint.clone(), blocked),
            ..wanted.map_err(|e| Error::Defect(e.to_string()))?
        };
        let proposal = Proposal {
            branch: propose::branch(&config.branch.prefix, &plan.target, plan.stage),
            base: base.to_owned(),
            title: wanted.title.clone(),
            body: wanted.text.clone(),
            draft: wanted.draft,
            content: Box::new(content),
        };
        let mut charts: Vec<String> =
            plan.moves.iter().flat_map(|moved| moved.pin.charts().map(str::to_owned)).collect();
        charts.sort_unstable();
        charts.dedup();
        let draft = self.case.without_proposal(StageDecision::Propose(Box::new(plan)));
        let report = StageReport { changes, findings, proposal: Some(proposal), ..draft.report };
        Ok(Draft { report, wanted: Some(wanted), charts, elsewhere: Vec::new() })
    }

    /// Returns what the text was made from; nothing where something else had a part in it.
    fn basis(&self, planned_on: &Inventory, plan: String, blocked: bool) -> Option<Basis> {
        let searches = self.tree.searches().filter(|_| self.renderer.is_lasting())?;
        let pins = self.case.survey.inventory.pins().zip(planned_on.pins()).enumerate();
        let found = |(pin, (before, after)): (usize, (&Pin, &Pin))| {
            let same = (before.stays, before.version) == (after.stays, after.version);
            (!same).then_some(FoundOut { pin, stays: after.stays, version: after.version })
        };
        let basis = Basis {
            inputs: self.origin.inputs(&searches),
            stretch: self.clock.stretch(),
            searches,
            pins: pins.filter_map(found).collect(),
            plan,
            blocked,
        };
        Some(basis).filter(Basis::is_sound)
    }

    fn verify(&self, change: &Prepared, after: &Inventory, base: &str) -> Vec<Finding> {
        let Case { survey, target, .. } = self.case;
        verify::verify(&Verification {
            base,
            before: self.tree,
            inventory: &change.inventory,
            plan: &change.plan,
            changes: &change.changes,
            after: Some(after),
            target: &target.target,
            kubernetes: target.kubernetes.as_ref(),
            control_plane: survey.options.control_plane,
            catalog: survey.catalog,
            options: &survey.options,
            rendered: &change.rendered,
            clock: self.clock,
        })
    }
}

/// Fills a wording from a plan.
pub(super) fn fill(wording: &Wording, plan: &Plan) -> String {
    wording.fill(&Fields {
        from: &plan.origins().join(", "),
        to: &plan.to.to_string(),
        target: &plan.target,
        stage: plan.stage.name(),
    })
}
