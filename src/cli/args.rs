//! What was typed: groups of arguments that several commands share. Nothing here looks at anything.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, builder::BoolishValueParser};

use crate::{
    linkerd::EdgeVersion,
    propose::forge::kinds,
    release::{self},
    repo::git::SshOptions,
    report::Format,
    sys::{
        env::{self, Environment},
        terminal::{ColorChoice, LogFormat, Terminal, Verbosity},
    },
};

/// How results are shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct OutputArgs {
    /// The form of the result on standard output
    #[arg(long, value_enum, global = true, env = env::FORMAT, hide_env_values = true)]
    format: Option<FormatArg>,
    /// When to use colours; NO_COLOR is respected
    #[arg(long, value_enum, global = true, env = env::COLOR, hide_env_values = true, default_value = "auto", value_name = "WHEN")]
    color: ColorArg,
    /// The form of what is told on standard error: text, or one JSON object a line
    #[arg(long, value_enum, global = true, env = env::LOG_FORMAT, hide_env_values = true, default_value = "text", value_name = "FORM")]
    log_format: LogFormatArg,
    /// Print results and errors alone
    #[arg(short, long, global = true, env = env::QUIET, hide_env_values = true, value_parser = BoolishValueParser::new())]
    quiet: bool,
    /// Tell what is being done; twice for more
    #[arg(short, long, global = true, env = env::VERBOSE, hide_env_values = true, action = ArgAction::Count)]
    verbose: u8,
}

/// The repository and how to reach it.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Repository")]
pub(super) struct RepositoryArgs {
    /// The repository: a URL, or a path [default: the workflow's repository in GitHub Actions, else this folder]
    #[arg(long, env = env::REPO, hide_env_values = true, value_name = "URL|PATH")]
    pub repo: Option<String>,
    /// The same as `--repo`
    #[arg(value_name = "URL|PATH")]
    place: Option<String>,
    #[command(flatten)]
    pub access: AccessArgs,
}

/// Says what `--forge` takes.
fn forge_help() -> String {
    let names = kinds::names();
    format!(
        "Where pull requests live: {names}, or `directory:PATH` for folders of files [default: by the URL]"
    )
}

/// How a repository is reached, whichever it is.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Repository")]
pub(super) struct AccessArgs {
    #[arg(long, env = env::FORGE, hide_env_values = true, value_name = "FORGE", help = forge_help())]
    pub forge: Option<String>,
    /// The API of GitHub Enterprise Server [default: https://HOST/api/v3]
    #[arg(long, env = env::GITHUB_API_URL, hide_env_values = true, value_name = "URL")]
    pub github_api_url: Option<String>,
    /// The API of the forge [default: where that forge has it on the repository's host]
    #[arg(long, env = env::FORGE_API_URL, hide_env_values = true, value_name = "URL")]
    pub forge_api_url: Option<String>,
    /// A file with the token [default: UPLINKER_TOKEN, then GITHUB_TOKEN]
    #[arg(long, env = env::TOKEN_FILE, hide_env_values = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    #[command(flatten)]
    pub ssh: SshArgs,
    /// The id, or the client id, of a GitHub App: its installation's tokens are used, whatever token is given
    #[arg(long, env = env::GITHUB_APP_ID, hide_env_values = true, value_name = "ID")]
    pub github_app_id: Option<String>,
    /// A file with the App's private key [default: UPLINKER_GITHUB_APP_KEY]
    #[arg(long, env = env::GITHUB_APP_KEY_FILE, hide_env_values = true, value_name = "FILE")]
    pub github_app_key_file: Option<PathBuf>,
    /// How commits are made: here, or by GitHub's API where it signs them, which it does for Apps and workflows
    #[arg(long, value_enum, env = env::COMMITS, hide_env_values = true, default_value = "git", value_name = "HOW")]
    pub commits: CommitsArg,
    /// A file with an Ed25519 key of SSH, without a passphrase, that signs commits [default: UPLINKER_SIGNING_KEY; without one
    /// they are not signed]
    #[arg(long, env = env::SIGNING_KEY_FILE, hide_env_values = true, value_name = "FILE")]
    pub signing_key_file: Option<PathBuf>,
}

/// Who we are and whom we talk to, where a remote is reached by SSH.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct SshArgs {
    /// A file with the private key for remotes by SSH, without a passphrase [default: those of the SSH agent]
    #[arg(long, env = env::SSH_KEY_FILE, hide_env_values = true, value_name = "FILE")]
    ssh_key_file: Option<PathBuf>,
    /// The list of the servers' keys, as ssh-keyscan prints it; others are refused [default: the user's own known_hosts]
    #[arg(long, env = env::SSH_KNOWN_HOSTS, hide_env_values = true, value_name = "FILE")]
    ssh_known_hosts: Option<PathBuf>,
}

/// Where releases are learnt from, and how the network is used.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Feeds and network")]
pub(super) struct NetworkArgs {
    /// The feed that names the newest release: a URL, file://..., or `off`
    #[arg(long, env = env::VERSIONCHECK_URL, hide_env_values = true, value_name = "URL", default_value = release::VERSIONCHECK)]
    pub versioncheck_url: String,
    /// The Helm index that serves the charts: a URL, file://..., or `off`; or a registry, oci://HOST/PATH
    #[arg(long, env = env::CHARTS_URL, hide_env_values = true, value_name = "URL", default_value = release::CHARTS)]
    pub charts_url: String,
    /// A mirror of the charts, which has to have what is taken from it, or from below it, before that is proposed: a Helm
    /// repository, or a registry with oci://; may be given several times
    #[arg(long = "mirror", env = env::MIRRORS, hide_env_values = true, value_name = "URL", value_delimiter = ',')]
    pub mirrors: Vec<String>,
    /// The feed of dates, notes and advice: a URL, file://..., or `off`
    #[arg(long, env = env::RELEASES_URL, hide_env_values = true, value_name = "URL", default_value = release::RELEASES)]
    pub releases_url: String,
    /// Milestones and notices beside the built-in ones: a URL, file://..., or `off`
    #[arg(long, env = env::MILESTONES_URL, hide_env_values = true, value_name = "URL", default_value = "off")]
    pub milestones_url: String,
    /// The folder of the cache; it may be deleted at any time [default: uplinker in the user's cache folder]
    #[arg(long, env = env::CACHE_DIR, hide_env_values = true, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Keep nothing on disk between runs
    #[arg(long, env = env::NO_CACHE, hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub no_cache: bool,
    /// A PEM file with certificate authorities beside the system's
    #[arg(long, env = env::CA_FILE, hide_env_values = true, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}

/// The program that renders charts.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Rendering")]
pub(super) struct HelmArgs {
    /// The Helm program that renders charts, 3.14 or newer, or `off` [default: `helm` on PATH]
    #[arg(long, env = env::HELM, hide_env_values = true, value_name = "FILE")]
    pub helm: Option<PathBuf>,
}

/// The release to go to.
#[derive(Clone, Debug, Args)]
pub(super) struct ToArgs {
    /// The release to go to, such as edge-26.8.3; holds, required hops and the ban on downgrades still apply
    #[arg(long, env = env::TO, hide_env_values = true, value_name = "RELEASE", value_parser = release)]
    pub to: Option<EdgeVersion>,
}

/// A repository, and what it is looked at with.
#[derive(Clone, Debug, Args)]
pub(super) struct LookArgs {
    #[command(flatten)]
    pub repository: RepositoryArgs,
    #[command(flatten)]
    pub network: NetworkArgs,
    #[command(flatten)]
    pub helm: HelmArgs,
}

/// What a pass is made with, whether it proposes or only says what it would propose.
#[derive(Clone, Debug, Args)]
pub(super) struct PassArgs {
    #[command(flatten)]
    pub to: ToArgs,
    /// End with exit code 4 also where a pull request says that it must not be merged
    #[arg(long, value_enum, env = env::FAIL_ON, hide_env_values = true, value_name = "SEVERITY")]
    pub fail_on: Option<FailOnArg>,
    #[command(flatten)]
    pub look: LookArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CommitsArg {
    Git,
    Api,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum FailOnArg {
    Block,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum FormatArg {
    Text,
    Json,
    Markdown,
    /// Of `repositories` alone, whose help names it
    #[value(hide = true)]
    Matrix,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum LogFormatArg {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ColorArg {
    Auto,
    Always,
    Never,
}

/// Reads a release, and knows what a chart version was meant to be.
fn release(text: &str) -> Result<EdgeVersion, String> {
    text.parse().map_err(|error: crate::linkerd::NotAnEdge| match EdgeVersion::meant_by(text) {
        Some(near) => format!("{error}; did you mean `{near}`?"),
        None => error.to_string(),
    })
}

// === impl SshArgs ===

impl SshArgs {
    /// Returns what the remote is given.
    pub fn options(self) -> SshOptions {
        SshOptions { key_file: self.ssh_key_file, known_hosts: self.ssh_known_hosts }
    }
}

// === impl RepositoryArgs ===

impl RepositoryArgs {
    /// Returns the repository as it was named; what stands alone wins, as a variable may have set the flag.
    pub(super) fn named(&self) -> Option<&str> {
        self.place.as_deref().or(self.repo.as_deref())
    }
}

// === impl OutputArgs ===

impl OutputArgs {
    /// Returns the format, where one was given.
    pub(super) fn format(&self) -> Option<Format> {
        self.format.and_then(|f| match f {
            FormatArg::Text => Some(Format::Text),
            FormatArg::Json => Some(Format::Json),
            FormatArg::Markdown => Some(Format::Markdown),
            FormatArg::Matrix => None,
        })
    }

    /// Tells whether a matrix is asked for.
    pub(super) fn matrix(&self) -> bool {
        matches!(self.format, Some(FormatArg::Matrix))
    }

    /// Sets up the streams.
    pub(super) fn terminal(&self, environment: &Environment) -> Terminal {
        let verbosity = match (self.quiet, self.verbose) {
            (_, 2..) => Verbosity::Debug,
            (_, 1) => Verbosity::Verbose,
            (true, 0) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
        };
        let color = match self.color {
            ColorArg::Auto => ColorChoice::Auto,
            ColorArg::Always => ColorChoice::Always,
            ColorArg::Never => ColorChoice::Never,
        };
        let log = match self.log_format {
            LogFormatArg::Text => LogFormat::Text,
            LogFormatArg::Json => LogFormat::Json,
        };
        Terminal::of_process(verbosity, log, color, environment)
    }
}
