//! `uplinker verify`: do the committed manifests follow from their versions and values, and do versions go together?

use std::path::PathBuf;

use clap::{Args, builder::BoolishValueParser};

use super::{
    Context, Error, Exit,
    args::{HelmArgs, SshArgs},
    request::{HelmChoice, Network, Repository, VerifyRequest},
    session::Session,
};
use crate::{
    release,
    report::{Format, Style},
    sys::{env, secrets::Token},
};

/// Check committed manifests against their charts, and versions against each other
///
/// Renders each committed manifest again in the version that it names, with the values that belong to it, and names
/// every object and field that differs: changes by hand, tampering, upgrades that were done by half. What Helm
/// invents (webhook certificates, a schedule from the clock) is not compared. Then compares versions: CRDs that are not
/// of their control plane's release, values and proxy pins that are ahead of it. Meant as a required check of the
/// repository. Of a path the HEAD commit is read, and nothing is written. The network and Helm are needed only where
/// manifests are committed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct VerifyArgs {
    /// The repository: a path, or a URL
    #[arg(value_name = "PATH|URL", default_value = ".", env = env::REPO, hide_env_values = true)]
    repository: String,
    /// A file with the token, for a URL [default: UPLINKER_TOKEN, then GITHUB_TOKEN]
    #[arg(long, env = env::TOKEN_FILE, hide_env_values = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    ssh: SshArgs,
    /// The Helm index that serves the charts: a URL, or file://...; or a registry, oci://HOST/PATH
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

Exit codes: 0 everything follows and goes together, warnings aside; 1 failed; 2 usage or
configuration; 4 something differs, cannot be proven, or is half done; 5 temporary failure outside.";

/// Runs the command.
pub(super) fn execute(args: VerifyArgs, context: &Context) -> Result<Exit, Error> {
    let request = request(args, context)?;
    request.token.iter().for_each(|token| context.terminal.hide(token));
    let session = Session::open(request.network.ca_file.as_deref(), &context.terminal)?;
    let done = session.verify(&request);
    context.terminal.clear();
    let report = done?;
    context.print(&report.render(context.style(false)))?;
    let summary = report.render(Style { format: Format::Markdown, ..Style::default() });
    let exit = if report.is_proven() { Exit::Done } else { Exit::Blocked };
    let told = context.actions.set(&format!("exit={}\n", exit.code()));
    let told = told.and_then(|()| context.actions.summarize(&context.terminal.filtered(&summary)));
    told.map_err(|e| Error::failed("cannot write to the files of GitHub Actions").because(e))?;
    Ok(exit)
}

fn request(args: VerifyArgs, context: &Context) -> Result<VerifyRequest, Error> {
    let repository = Repository::parse(&args.repository)?;
    let token = match &repository {
        Repository::Remote(_) => Token::find(args.token_file.as_deref(), &context.environment)?,
        Repository::Path(_) => None,
    };
    let cache = (args.cache_dir, args.no_cache);
    let network = Network::of_charts(&args.charts_url, cache, args.ca_file, &context.environment)?;
    let (ssh, helm) = (args.ssh.options(), HelmChoice::of(args.helm));
    Ok(VerifyRequest { repository, token, ssh, network, helm })
}
