//! `uplinker run`: one pass that proposes.

use clap::Args;

use super::{Context, Error, Exit, args::PassArgs, request::RunRequest, session::Session};
use crate::report::{self, RunReport};

/// One pass: read, decide, edit, verify, push, propose
///
/// Reads the releases and the repository's base branch, decides for each target whether to go to a newer release,
/// edits the pins, pushes the change to a branch of its own, and opens a pull request or moves the open one. Nothing
/// is checked out, nothing is merged, and no other branch is written to. A second run finds nothing to do.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pass: PassArgs,
}

const EXAMPLES: &str = "\
Examples:
  UPLINKER_TOKEN=... uplinker run --repo https://github.com/acme/mesh-config
  uplinker run --repo https://github.com/acme/mesh-config --to edge-26.8.3
  uplinker run --repo /srv/git/mesh.git --forge directory:/srv/proposals

In GitHub Actions the repository, the API and GITHUB_TOKEN are found by themselves; the report goes
to the step's summary, and the outputs are `proposed`, `url`, `release` and `exit`.

Exit codes: 0 proposed or nothing to do, 1 failed, 2 usage or configuration, 3 no pin found,
4 blocked by a check (`onBlock: hold`, or `--fail-on block`), 5 temporary failure outside.";

/// Runs the command.
pub(super) fn execute(args: RunArgs, context: &Context) -> Result<Exit, Error> {
    let fail_on_block = args.pass.fail_on.is_some();
    let done = request(args.pass, context).and_then(|request| pass(&request, context));
    context.terminal.clear();
    finish(done, fail_on_block, false, context)
}

/// One pass over the repository that a request names.
pub(super) fn pass(request: &RunRequest, context: &Context) -> Result<RunReport, Error> {
    let session = Session::open(request.network.ca_file.as_deref(), &context.terminal)?;
    session.run(request, &session.catalog_for(request)?)
}

/// Makes the request of a pass, and keeps its token out of everything that is written from now on.
pub(super) fn request(args: PassArgs, context: &Context) -> Result<RunRequest, Error> {
    Ok(RunRequest { to: args.to.to, ..context.request(args.look)? })
}

/// Prints the report, tells GitHub Actions, and chooses the exit code; also of a run that failed.
pub(super) fn finish(
    done: Result<RunReport, Error>,
    fail_on_block: bool,
    diff: bool,
    context: &Context,
) -> Result<Exit, Error> {
    let exit = match &done {
        Ok(report) => exit_of(report, fail_on_block),
        Err(error) => error.exit(),
    };
    let told = context.actions.set(&report::outputs(done.as_ref().ok(), exit.code()));
    let report = done?;
    context.print(&report.render(context.style(diff)))?;
    let told = told.and_then(|()| match context.actions.room() {
        // What is shown otherwise for the runner's sake may be longer.
        Some(room) => {
            let summary = report.summary(diff, room - room / 100);
            context.actions.summarize(&context.terminal.filtered(&summary))
        }
        None => Ok(()),
    });
    told.map_err(|e| Error::failed("cannot write to the files of GitHub Actions").because(e))?;
    // Where files were not read, the report has said so.
    if exit == Exit::NoPin && !report.pins.pins.is_empty() {
        context.note(&format!("hint: {}", report.pins.mentions()));
    } else if exit == Exit::NoPin && report.pins.skipped.is_empty() {
        context.note("hint: where Linkerd is deployed from another branch, `base` names it; `uplinker pins` lists what was found");
    }
    Ok(exit)
}

/// Chooses the exit code of a report.
pub(super) fn exit_of(report: &RunReport, fail_on_block: bool) -> Exit {
    if report.is_without_pins() {
        Exit::NoPin
    } else if report.is_held_by_block() || (fail_on_block && report.has_block()) {
        Exit::Blocked
    } else {
        Exit::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pins::{PinKind, Stage},
        repo::{ChangeSet, RepoPath},
        report::{PinRow, PinsReport, StageDecision, StageReport},
        verify::{CheckId, Finding, Severity},
    };

    fn report(pins: usize, severity: Severity, unplannable: bool) -> RunReport {
        let pin = PinRow {
            path: RepoPath::new("a").unwrap(),
            line: 1,
            column: 1,
            document: 0,
            kind: PinKind::Marker,
            chart: None,
            also: Vec::new(),
            kept_by: None,
            value: String::new(),
            version: None,
            new: None,
            target: None,
            installations: Vec::new(),
            stage: Stage::Platform,
            moves: false,
            reason: None,
        };
        let hold =
            crate::policy::Hold { reason: crate::policy::HoldReason::UpToDate, release: None, until: None };
        let decision = match unplannable {
            true => {
                StageDecision::Unplannable { release: "edge-26.8.3".parse().unwrap(), reason: String::new() }
            }
            false => StageDecision::Hold { hold, text: String::new() },
        };
        let finding =
            Finding { check: CheckId::Skew, severity, place: None, reason: String::new(), hint: None };
        let stage = StageReport {
            target: "default".to_owned(),
            stage: Stage::Platform,
            decision,
            changes: ChangeSet::default(),
            findings: vec![finding],
            proposal: None,
            kept: None,
            outcome: None,
        };
        RunReport {
            repository: String::new(),
            base: String::new(),
            base_commit: String::new(),
            writes: true,
            pins: PinsReport { pins: vec![pin; pins], ..PinsReport::default() },
            stages: vec![stage],
            notes: Vec::new(),
        }
    }

    #[test]
    fn exit_codes_are_those_of_the_contract() {
        assert_eq!(exit_of(&report(0, Severity::Info, false), false), Exit::NoPin);
        assert_eq!(exit_of(&report(1, Severity::Warn, false), true), Exit::Done);
        assert_eq!(exit_of(&report(1, Severity::Block, false), false), Exit::Done);
        assert_eq!(exit_of(&report(1, Severity::Block, false), true), Exit::Blocked);
        assert_eq!(exit_of(&report(1, Severity::Info, true), false), Exit::Blocked);
        let codes = [
            Exit::Done,
            Exit::Failed,
            Exit::Usage,
            Exit::NoPin,
            Exit::Blocked,
            Exit::Temporary,
            Exit::Changes,
        ];
        assert_eq!(codes.map(Exit::code), [0, 1, 2, 3, 4, 5, 10]);
    }
}
