//! `uplinker releases`: the catalog.

use std::path::PathBuf;

use clap::Args;

use super::{
    Context, Error, Exit,
    args::NetworkArgs,
    request::{self, Network, ReleasesRequest},
    session::Session,
};
use crate::sys::env;

/// List the releases with date, charts, milestone, advice, and why one is passed over
///
/// The releases are those that the feeds know, newest first. Which of them a repository goes to depends on its
/// policy as well; `uplinker plan` says that.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReleasesArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// A file with a token for api.github.com, which answers more often to those who have one
    #[arg(long, env = env::TOKEN_FILE, hide_env_values = true, value_name = "FILE", help_heading = "Feeds and network")]
    token_file: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  uplinker releases
  uplinker releases --releases-url file:///srv/mirror/releases.json
  uplinker releases --format json | jq -r '.releases[0].version'

Exit codes: 0 listed, 1 failed, 2 usage, 5 temporary failure outside.";

/// Runs the command.
pub(super) fn execute(args: ReleasesArgs, context: &Context) -> Result<Exit, Error> {
    let token = request::token(args.token_file.as_deref(), &context.environment)?;
    // The token of a workflow on GitHub Enterprise Server is of no use to github.com, and none of its business.
    let server = context.environment.get(env::GITHUB_SERVER_URL).filter(|_| context.environment.in_actions());
    let token = token.filter(|_| server.is_none_or(|server| server == "https://github.com"));
    token.iter().for_each(|token| context.terminal.hide(token));
    let request = ReleasesRequest { network: Network::of(args.network, &context.environment)?, token };
    let report = Session::open(request.network.ca_file.as_deref(), &context.terminal)?.releases(&request)?;
    context.print(&report.render(context.style(false)))?;
    Ok(Exit::Done)
}
