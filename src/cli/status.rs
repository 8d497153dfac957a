//! `uplinker status`: where every target stands.

use clap::Args;

use super::{Context, Error, Exit, args::LookArgs, session::Session};

/// Show where every target stands, and what comes next
///
/// For each stage of each target: the release that it is at and since when, how far that is behind the newest, the open
/// pull request, and what the next one waits for. Nothing is rendered and nothing is written. Of a path the HEAD commit
/// and its history are read; of a remote also pull requests and what is said of commits, where a token is given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StatusArgs {
    /// Also list what was merged for each stage, newest first: one request more for each
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    look: LookArgs,
}

const EXAMPLES: &str = "\
Examples:
  uplinker status                                           this folder's clone
  uplinker status https://github.com/acme/mesh-config       a remote, with its pull requests
  uplinker status --history https://github.com/acme/mesh-config
  uplinker status --format json | jq .targets               for programs (uplinker.status/v1)

Exit codes: 0 shown, 1 failed, 2 usage or configuration, 3 no pin found, 5 temporary failure outside.";

/// Runs the command.
pub(super) fn execute(args: StatusArgs, context: &Context) -> Result<Exit, Error> {
    let StatusArgs { history, look } = args;
    let request = context.request(look)?;
    let session = Session::open(request.network.ca_file.as_deref(), &context.terminal)?;
    let done = session.catalog_for(&request).and_then(|catalog| session.status(&request, &catalog, history));
    context.terminal.clear();
    let report = done?;
    context.print(&report.render(context.style(false)))?;
    Ok(if report.targets.is_empty() { Exit::NoPin } else { Exit::Done })
}
