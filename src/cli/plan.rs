//! `uplinker plan`: the same as a run, with no write.

use clap::{Args, builder::BoolishValueParser};

use super::{Context, Error, Exit, args::PassArgs, request::RunRequest, run, session::Session};
use crate::{report::RunReport, sys::env};

/// Show what a run would propose, and write nothing
///
/// Reads, decides, edits and verifies as `run` does, and prints the decision, the pins that would move, what the
/// checks say and the pull request. Of a path the HEAD commit is read, and nothing else; of a remote also the pull
/// requests that are open or were declined, where a token or a folder of proposals is named.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PlanArgs {
    /// Show the changes line by line, and the text of the pull request
    #[arg(long, env = env::DIFF, hide_env_values = true, value_parser = BoolishValueParser::new())]
    diff: bool,
    /// End with exit code 10 where a change would be proposed
    #[arg(long, env = env::EXIT_CODE, hide_env_values = true, value_parser = BoolishValueParser::new())]
    exit_code: bool,
    #[command(flatten)]
    pass: PassArgs,
}

const EXAMPLES: &str = "\
Examples:
  uplinker plan                                   what would be proposed here
  uplinker plan --diff --to edge-26.8.3           the same for one release, line by line
  uplinker plan --format json | jq .changes       for programs (uplinker.plan/v1)
  uplinker plan --exit-code || echo due           in scripts

Exit codes: 0 planned, 1 failed, 2 usage or configuration, 3 no pin found, 4 blocked by a check,
5 temporary failure outside, 10 a change would be proposed (with --exit-code).";

/// Runs the command.
pub(super) fn execute(args: PlanArgs, context: &Context) -> Result<Exit, Error> {
    let (diff, exit_code, fail_on_block) = (args.diff, args.exit_code, args.pass.fail_on.is_some());
    let done = run::request(args.pass, context).and_then(|request| look(&request, context));
    context.terminal.clear();
    let proposes = done.as_ref().is_ok_and(|report| report.proposes());
    match run::finish(done, fail_on_block, diff, context)? {
        Exit::Done if exit_code && proposes => Ok(Exit::Changes),
        exit => Ok(exit),
    }
}

fn look(request: &RunRequest, context: &Context) -> Result<RunReport, Error> {
    let session = Session::open(request.network.ca_file.as_deref(), &context.terminal)?;
    session.plan(request, &session.catalog_for(request)?)
}
