//! `uplinker releases`: the catalog.

use std::path::PathBuf;

use clap::Args;

use super::{
    Context, Error, Exit,
    args::NetworkArgs,
    request::{Network, ReleasesRequest},
    session::Session,
};
use crate::{
    propose::forge::kind::ACTIONS,
    sys::{
        env::{self, Environment},
        secrets::Token,
    },
};

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
    let token = Token::find(args.token_file.as_deref(), &context.environment)?;
    let token = token.filter(|_| !is_for_another_server(&context.environment));
    token.iter().for_each(|token| context.terminal.hide(token));
    let request = ReleasesRequest { network: Network::of(args.network, &context.environment)?, token };
    let report = Session::open(request.network.ca_file.as_deref(), &context.terminal)?.releases(&request)?;
    context.print(&report.render(context.style(false)))?;
    Ok(Exit::Done)
}

/// The token of a GitHub Enterprise Server is of no use to github.com, and none of its business.
fn is_for_another_server(environment: &Environment) -> bool {
    let workflow = environment.get(ACTIONS.server).filter(|_| environment.in_actions());
    workflow.is_some_and(|server| server != "https://github.com")
        || environment
            .get(env::GITHUB_API_URL)
            .is_some_and(|api| api.trim_end_matches('/') != "https://api.github.com")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_another_server_is_told() {
        let of =
            |variables: &[(&str, &str)]| is_for_another_server(&Environment::of(variables.iter().copied()));
        let ghes = (ACTIONS.server, "https://ghes.example.com");
        assert!(of(&[(env::GITHUB_ACTIONS, "true"), ghes]) && !of(&[ghes]) && !of(&[]));
        assert!(!of(&[(env::GITHUB_ACTIONS, "true"), (ACTIONS.server, "https://github.com")]));
        assert!(of(&[(env::GITHUB_API_URL, "https://ghes.example.com/api/v3")]));
    }
}
