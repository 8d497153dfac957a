//! One pass of the daemon: what it found is told, and kept for whoever asks.
#![allow(clippy::disallowed_methods, reason = "the time is taken here")]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use jiff::Timestamp;

use super::catalog::SharedCatalog;
use crate::{
    cli::{
        Context, Error, Kind,
        request::RunRequest,
        session::{self, Session},
    },
    report::{Outcome, RunReport},
    serve::{Board, Done, Next, Pass},
};

/// What every pass needs.
pub(super) struct Passes<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) catalog: SharedCatalog<'a>,
    pub(super) board: &'a Board,
    pub(super) context: &'a Context,
    /// What the ids of passes begin with.
    pub(super) start: Timestamp,
    pub(super) count: AtomicU64,
}

// === impl Passes ===

impl Passes<'_> {
    /// One pass; what happened is printed, and where nothing did, only the log says so. Where it is `shown`, where the
    /// targets stand is looked at too when there is news.
    pub(super) fn make(&self, run: &RunRequest, shown: bool) -> Result<(), Error> {
        let name = run.repository.to_string();
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let id = format!("{:x}-{number}", self.start.as_millisecond());
        let _inside = tracing::info_span!("pass", run = %id, repository = %name).entered();
        let (began, clock) = (Timestamp::now(), Instant::now());
        let work = || {
            let catalog = self.catalog.get(session::releases_token(run))?;
            let report = self.session.run(run, &catalog)?;
            // What is shown is no reason to call a pass failed that did its work; the next one looks again.
            let news = shown && self.board.is_news(&name, &report);
            let looked = news.then(|| self.session.status(run, &catalog, false));
            let unseen =
                |error: &Error| tracing::warn!("cannot tell where the targets stand: {}", error.message);
            Ok((report, looked.and_then(|status| status.inspect_err(unseen).ok())))
        };
        let done = guarded(work);
        self.context.terminal.clear();
        let told = done.as_ref().map_err(Clone::clone).and_then(|(report, _)| self.tell(report));
        let failure = told.as_ref().err();
        let pass = Pass {
            run: id,
            began,
            took: clock.elapsed(),
            failure: failure.map(|error| self.context.terminal.filtered(&error.message)),
            temporary: failure.is_some_and(|error| error.kind == Kind::Temporary),
        };
        let done = done.ok();
        let done = done.as_ref().map(|(report, status)| Done { report, status: status.clone() });
        self.board.passed(&name, pass, done);
        told.inspect_err(|error| {
            if !self.context.terminal.logs_json() {
                self.context.terminal.note(&format!("{name}:"));
            }
            self.context.tell_error(error);
        })
    }

    fn tell(&self, report: &RunReport) -> Result<(), Error> {
        if !report.wrote() {
            tracing::info!("nothing to do");
            return Ok(());
        }
        if !self.context.terminal.logs_json() {
            return self.context.print(&report.render(self.context.style(false)));
        }
        for stage in &report.stages {
            let Some(pull) = stage.outcome.as_ref().and_then(Outcome::pull) else { continue };
            let outcome = stage.outcome.as_ref().map_or("", |outcome| outcome.word(true));
            let of = format!("{}/{}", stage.target, stage.stage.name());
            tracing::info!(stage = %of, pull_request = %pull.url, "{outcome}: {}", pull.title);
        }
        Ok(())
    }
}

/// Does the work of a pass. What one repository makes the program stumble over does not end the passes over the others.
fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // What is shared with other passes is behind locks that each takes over as it is.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let error = Error::failed("this pass came upon a defect of uplinker");
        Err(error.hint("please report it, with what standard error says of it"))
    })
}

/// When the next pass is, after one that failed.
pub(super) fn next(error: &Error) -> Next {
    let wait = error.retry_at.and_then(|at| Duration::try_from(at.duration_since(Timestamp::now())).ok());
    match (wait, error.kind) {
        (Some(wait), _) => Next::NotBefore(wait),
        (None, Kind::Temporary) => Next::Retry,
        (None, _) => Next::Interval,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_is_a_failure_of_its_pass_alone() {
        let error = guarded::<()>(|| panic!("a defect")).unwrap_err();
        assert_eq!((error.kind, error.hints.len()), (Kind::Failed, 1));
        assert_eq!(next(&error), Next::Interval);
        assert_eq!(guarded(|| Ok(7)).ok(), Some(7));
    }
}
