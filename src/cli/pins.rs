//! `uplinker pins`: every pin and every skip.

use std::path::PathBuf;

use clap::{Args, builder::BoolishValueParser};

use super::{
    Context, Error, Exit,
    args::{HelmArgs, SshArgs, ToArgs},
    request::{self, HelmChoice, PinsRequest, Repository},
    session,
};
use crate::sys::{env, secrets::Token};

/// List every pin of a Linkerd version, and every file that could not be read
///
/// Needs no network for a path, of which the HEAD commit is read. Without --to, `moves` means that a pin may move;
/// with it, the list says what each pin would become, or why it stays.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PinsArgs {
    /// The repository: a path, or a URL
    #[arg(value_name = "PATH|URL", default_value = ".", env = env::REPO, hide_env_values = true)]
    repository: String,
    #[command(flatten)]
    to: ToArgs,
    /// A file with the token, for a URL [default: UPLINKER_TOKEN, then GITHUB_TOKEN]
    #[arg(long, env = env::TOKEN_FILE, hide_env_values = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    ssh: SshArgs,
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
  uplinker pins                                   this folder's repository
  uplinker pins ../mesh-config --to edge-26.8.3   what each pin would become
  uplinker pins --format json | jq '.pins[].path'

Kinds and reasons: https://github.com/uplinker/uplinker/blob/main/docs/pins.md

Exit codes: 0 listed, 1 failed, 2 usage or configuration, 3 no pin found,
5 temporary failure outside.";

/// Runs the command.
pub(super) fn execute(args: PinsArgs, context: &Context) -> Result<Exit, Error> {
    let request = request(args, context)?;
    request.token.iter().for_each(|token| context.terminal.hide(token));
    let report = session::pins(&request, &context.terminal)?;
    context.print(&report.render(context.style(false)))?;
    if !report.is_without_pins() {
        return Ok(Exit::Done);
    }
    if !report.pins.is_empty() {
        context.note(&format!("hint: {}", report.mentions()));
    }
    Ok(Exit::NoPin)
}

fn request(args: PinsArgs, context: &Context) -> Result<PinsRequest, Error> {
    let repository = Repository::parse(&args.repository)?;
    let token = match &repository {
        Repository::Remote(_) => Token::find(args.token_file.as_deref(), &context.environment)?,
        Repository::Path(_) => None,
    };
    let cache_dir = request::cache_dir(args.cache_dir.as_deref(), args.no_cache, &context.environment);
    Ok(PinsRequest {
        repository,
        token,
        ssh: args.ssh.options(),
        ca_file: args.ca_file,
        cache_dir,
        to: args.to.to,
        helm: HelmChoice::of(args.helm),
    })
}
