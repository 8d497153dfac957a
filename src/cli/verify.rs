//! `uplinker verify`: do the committed manifests follow from their versions and values?

use std::path::PathBuf;

use clap::{Args, builder::BoolishValueParser};

use super::{
    Context, Error, Exit,
    args::HelmArgs,
    request::{HelmChoice, Network, Repository, VerifyRequest},
    session::Session,
};
use crate::{
    release,
    sys::{env, secrets::Token},
};

/// Check that the committed manifests are what their charts and values give
///
/// Renders each committed manifest again in the version that it names, with the values that belong to it, and names
/// every object and field that differs: changes by hand, tampering, upgrades that were done by half. What Helm
/// invents (webhook certificates, a schedule from the clock) is not compared. Meant as a required check of the
/// repository that holds the manifests. Of a path the HEAD commit is read, and nothing is written anywhere.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct VerifyArgs {
    /// The repository: a path, or a URL
    #[arg(value_name = "PATH|URL", default_value = ".", env = env::REPO, hide_env_values = true)]
    repository: String,
    /// A file with the token, for a URL [default: UPLINKER_TOKEN, then GITHUB_TOKEN]
    #[arg(long, env = env::TOKEN_FILE, hide_env_values = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The Helm index that serves the charts: a URL, or file://...
    #[arg(long, env = env::CHARTS_URL, hide_env_values = true, value_name = "URL", default_value = release::CHARTS)]
    charts_url: String,
    /// A PEM file with certificate authorities beside the system's
    #[arg(long, env = env::CA_FILE, hide_env_values = true, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// The folder of the cache; it may be deleted at any time [default: uplinker in the user's cache folder]
    #[arg(long, env = env::CACHE_DIR, hide_env_values = true, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Keep nothing on disk
    #[arg(long, env = env::NO_CACHE, hide_env_values = true, value_parser = BoolishValueParser::new())]
    no_cache: bool,
    #[command(flatten)]
    helm: HelmArgs,
}

const EXAMPLES: &str = "\
Examples:
  uplinker verify                           this folder's repository
  uplinker verify --format json | jq .drifts

Exit codes: 0 everything follows, or nothing is committed; 1 failed, 2 usage or configuration, 4 something differs or
cannot be proven, 5 temporary failure outside.";

/// Runs the command.
pub(super) fn execute(args: VerifyArgs, context: &Context) -> Result<Exit, Error> {
    let request = request(args, context)?;
    request.token.iter().for_each(|token| context.terminal.hide(token));
    let session = Session::open(request.network.ca_file.as_deref(), &context.terminal)?;
    let done = session.verify(&request);
    context.terminal.clear();
    let report = done?;
    context.print(&report.render(context.style(false)))?;
    Ok(if report.is_proven() { Exit::Done } else { Exit::Blocked })
}

fn request(args: VerifyArgs, context: &Context) -> Result<VerifyRequest, Error> {
    let repository = Repository::parse(&args.repository)?;
    let token = match &repository {
        Repository::Remote(_) => Token::find(args.token_file.as_deref(), &context.environment)?,
        Repository::Path(_) => None,
    };
    let cache = (args.cache_dir, args.no_cache);
    let network = Network::of_charts(&args.charts_url, cache, args.ca_file, &context.environment)?;
    Ok(VerifyRequest { repository, token, network, helm: HelmChoice::of(args.helm) })
}
