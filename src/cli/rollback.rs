//! `uplinker rollback`: a pull request that takes the last change of a target back.

use clap::{Args, builder::BoolishValueParser};

use super::{Context, Error, Exit, args::LookArgs, run, session::Session};
use crate::{
    pipeline::Rollback,
    report::{RunReport, StageDecision},
    sys::env,
};

/// Propose to take the last change of a target back
///
/// Finds the commit of the base branch with which the target's release came, and opens a pull request that restores its
/// files; what came since is kept. Where proxies are pinned ahead of what the control plane goes back to, they go first.
/// Once it is merged, the release is not proposed for the target again until a newer one is out, nor for those after it;
/// a box in the pull request lifts that, and so does `run --to`.
///
/// It is refused where going back cannot work: definitions would be deleted, or lose the version that their objects are
/// stored in, or the same lines have changed since. The reason says what to do instead.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RollbackArgs {
    /// The target, where there are several
    #[arg(long, env = env::TARGET, hide_env_values = true, value_name = "NAME")]
    target: Option<String>,
    /// Show what would be proposed, and write nothing
    #[arg(long, env = env::DRY_RUN, hide_env_values = true, value_parser = BoolishValueParser::new())]
    dry_run: bool,
    /// Show the changes line by line, and the text of the pull request
    #[arg(long, env = env::DIFF, hide_env_values = true, value_parser = BoolishValueParser::new())]
    diff: bool,
    #[command(flatten)]
    look: LookArgs,
}

const EXAMPLES: &str = "\
Examples:
  uplinker rollback --dry-run --diff --repo https://github.com/acme/mesh-config
  UPLINKER_TOKEN=... uplinker rollback --target production --repo https://github.com/acme/mesh-config

Exit codes: 0 proposed, 1 failed, 2 usage or configuration, 3 no pin found, 4 it cannot be taken back,
5 temporary failure outside.";

/// Runs the command.
pub(super) fn execute(args: RollbackArgs, context: &Context) -> Result<Exit, Error> {
    let RollbackArgs { target, dry_run, diff, look } = args;
    let request = context.request(look)?;
    let session = Session::open(request.network.ca_file.as_deref(), &context.terminal)?;
    let wanted = Rollback { target: target.as_deref(), dry_run };
    let done =
        session.catalog_for(&request).and_then(|catalog| session.roll_back(&request, &catalog, wanted));
    context.terminal.clear();
    let is_held = |report: &RunReport| {
        report.stages.iter().any(|stage| matches!(stage.decision, StageDecision::Hold { .. }))
    };
    let held = done.as_ref().is_ok_and(is_held);
    Ok(match run::finish(done, false, diff, context)? {
        Exit::Done if held => Exit::Blocked,
        exit => exit,
    })
}
