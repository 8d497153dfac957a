//! One issue that shows where every target stands.
//!
//! In: what a run decided, and the issue as it is. Out: the issue, written where it differs; closed while all is current.
//! What it was written for is in its own text, so that nothing is looked up where nothing is new.

use sha2::{Digest as _, Sha256};

use crate::{
    config::Config,
    pipeline::{Base, Error, Operator, landed::OnRemote, standing, status::Standing, survey::Survey},
    propose::forge::{
        Forge, ForgeError,
        issues::{Issue, Issues},
    },
    repo::Upstream,
    report::{Note, Overview, RunReport, StageReport},
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
            return Ok(Some(Note::NoIssues.to_string()));
        };
        match self.write(report, issues) {
            Err(Error::Forge(error)) if error.is_refusal() => {
                Ok(Some(Note::OverviewFailed(&why(&error)).to_string()))
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
            row.pull_request = stage.open_pull(survey.dialect);
            if row.pull_request.is_none() {
                row.waits = row.waits.take().or_else(|| stage.waits());
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
            let pull = stage.open_pull(self.survey.dialect).map(|pull| (pull.number, pull.release));
            let waits = stage.waits().unwrap_or_default();
            let release = stage.decision.plan().map(|plan| plan.to);
            sha.update(format!("{} {:?} {release:?} {waits} {pull:?}\n", stage.target, stage.stage));
        }
        sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
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
