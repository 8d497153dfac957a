//! One issue that shows where every target stands.
//!
//! In: what a run decided, and the issue as it is. Out: the issue, written where it differs; closed while all is current.
//! What it was written for is in its own text, so that nothing is looked up where nothing is new.

use sha2::{Digest as _, Sha256};

use crate::{
    config::Config,
    explain::{Dialect, marker},
    pipeline::{Base, Error, Operator, landed::OnRemote, standing, status::Standing, survey::Survey},
    propose::forge::{
        Forge, ForgeError, PullState,
        issues::{Issue, Issues},
    },
    repo::Upstream,
    report::{OpenPull, Outcome, Overview, RunReport, StageDecision, StageReport},
};

/// What an overview is kept with.
pub(super) struct Keeping<'a> {
    pub survey: &'a Survey<'a>,
    pub base: &'a Base,
    pub config: &'a Config,
    pub operator: &'a Operator<'a>,
    pub remote: &'a dyn Upstream,
    pub forge: &'a dyn Forge,
}

// === impl Keeping ===

impl Keeping<'_> {
    /// Writes the issue where it is not what it should be; returns a note where that cannot be.
    pub fn keep(&self, report: &RunReport) -> Result<Option<String>, Error> {
        if !self.config.overview {
            return Ok(None);
        }
        let Some(issues) = self.forge.issues() else {
            return Ok(Some("there is no overview: this forge has no issues".to_owned()));
        };
        match self.write(report, issues) {
            Err(Error::Forge(error)) if error.is_refusal() => {
                Ok(Some(format!("the overview was not written: {}", why(&error))))
            }
            done => done.map(|()| None),
        }
    }

    fn write(&self, report: &RunReport, issues: &dyn Issues) -> Result<(), Error> {
        let seen = self.seen(report);
        let known = issues.labelled()?.into_iter().find(|issue| Overview::seen(&issue.body).is_some());
        if known.as_ref().is_some_and(|issue| Overview::seen(&issue.body) == Some(&seen)) {
            return Ok(());
        }
        let landed = OnRemote::new(self.remote, Some(self.forge), self.base, self.config);
        let Self { survey, operator, .. } = *self;
        let mut rows = Standing { survey, operator, landed: &landed, remote: None, history: false }.rows()?;
        for row in &mut rows {
            let of_row = |stage: &&StageReport| stage.target == row.target && stage.stage == row.stage;
            let Some(stage) = report.stages.iter().find(of_row) else { continue };
            row.pull_request = open_pull(stage, survey.dialect);
            if row.pull_request.is_none() {
                row.waits = row.waits.take().or_else(|| left(stage));
            }
        }
        let overview = Overview { status: standing(self.base, operator, rows, None), seen };
        let (body, open) = (overview.body(), !overview.is_current());
        match known {
            Some(known) => issues.update_issue(&Issue { body, open, ..known })?,
            None if open => drop(issues.open_issue(Overview::TITLE, &body)?),
            None => {}
        }
        Ok(())
    }

    /// Returns a hash over what the rows say.
    fn seen(&self, report: &RunReport) -> String {
        let mut sha = Sha256::new();
        let newest = super::status::newest(self.operator.catalog);
        sha.update(format!("{}\n{newest:?}\n{}\n", env!("CARGO_PKG_VERSION"), self.base.tip.id));
        for stage in &report.stages {
            let pull = open_pull(stage, self.survey.dialect).map(|pull| (pull.number, pull.release));
            let waits = left(stage).unwrap_or_default();
            let release = stage.decision.plan().map(|plan| plan.to);
            sha.update(format!("{} {:?} {release:?} {waits} {pull:?}\n", stage.target, stage.stage));
        }
        sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Says why nothing is proposed for a stage.
fn left(stage: &StageReport) -> Option<String> {
    match (&stage.decision, &stage.outcome) {
        (_, Some(Outcome::LeftAlone { reason, .. })) => Some(reason.clone()),
        (StageDecision::Hold { text, .. }, _) => Some(text.clone()),
        (StageDecision::Unplannable { release, reason }, _) => {
            Some(format!("{release} is not proposed: {reason}"))
        }
        (StageDecision::Blocked(plan), _) => Some(format!("{} is not proposed: a check blocks it", plan.to)),
        (StageDecision::Propose(_), _) => None,
    }
}

/// Returns what is open for a stage, as the run has left it.
fn open_pull(stage: &StageReport, dialect: &Dialect) -> Option<OpenPull> {
    let pull = match stage.outcome.as_ref()? {
        Outcome::Merged(_) | Outcome::Closed(_) => None,
        outcome => outcome.pull().filter(|pull| pull.state == PullState::Open),
    }?;
    let release = marker::read(&pull.body).map(|marker| marker.release);
    let reference = dialect.reference(pull.number);
    Some(OpenPull { number: pull.number, reference, url: pull.url.clone(), release })
}

/// Says why, with what to do about it where issues are turned off.
fn why(error: &ForgeError) -> String {
    match error {
        ForgeError::NotFound(repository) => {
            format!("{repository} has no issues, or the token may not see them")
        }
        error => error.to_string(),
    }
}
