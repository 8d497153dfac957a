//! The commands: what was typed becomes a ready request, the pipeline answers, the report is printed.
//!
//! One file a command. `args` are what was typed, [`request`] is what it means; between them lies one conversion
//! that looks at nothing but the arguments and the environment it is given. Errors are rendered once, here.

mod args;
mod completions;
mod demo;
mod doctor;
mod error;
mod healthcheck;
mod init;
mod man;
mod pins;
mod plan;
mod releases;
mod render;
mod repositories;
pub mod request;
mod rollback;
mod run;
mod schema;
mod serve;
mod session;
mod status;
mod verify;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    propose::forge::kinds,
    report::{self, Format},
    sys::{
        actions::Actions,
        env::{self, Environment},
        stop::Stop,
        terminal::Terminal,
    },
};

pub use error::{Error, Exit, Kind};
pub use request::{
    Demo, Forge, ForgeSettings, Network, PinsRequest, ReleasesRequest, RemoteUrl, Repository, RunRequest,
    VerifyRequest,
};

/// Keeps Linkerd current in a GitOps repository, one reviewed pull request at a time.
///
/// uplinker learns of new Linkerd edge releases, finds every place in a repository that pins a Linkerd version,
/// and opens one pull request for each target and stage. It never talks to a cluster and never writes to your
/// branches; Flux or Argo CD apply what you merge.
#[derive(Debug, Parser)]
#[command(name = "uplinker", version, after_help = AFTER_HELP, disable_help_subcommand = true, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    output: args::OutputArgs,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  uplinker demo                                see it work, without network or token
  uplinker pins                                list the versions that this folder's clone pins
  uplinker plan --diff                         show what a run would propose
  uplinker run --repo https://github.com/o/r   propose it; the token is in UPLINKER_TOKEN

Exit codes:
  0  done: proposed, or nothing to do     4  a check blocked the change
  1  failed                               5  something outside failed for now; try again later
  2  wrong usage or configuration        10  plan --exit-code: a change would be proposed
  3  no pin found

Every flag has a variable UPLINKER_*, shown beside it; the flag wins.";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Plan(plan::PlanArgs),
    Pins(pins::PinsArgs),
    Status(status::StatusArgs),
    Rollback(rollback::RollbackArgs),
    Verify(verify::VerifyArgs),
    Doctor(doctor::DoctorArgs),
    Releases(releases::ReleasesArgs),
    Serve(serve::ServeArgs),
    Repositories(repositories::RepositoriesArgs),
    Healthcheck(healthcheck::HealthcheckArgs),
    Init(init::InitArgs),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Demo(demo::DemoArgs),
}

/// What every command is given.
pub(crate) struct Context {
    /// The variables.
    pub environment: Environment,
    /// The streams.
    pub terminal: Terminal,
    /// The step of GitHub Actions; does nothing elsewhere.
    pub actions: Actions,
    /// `--format`, where it was given.
    pub format: Option<Format>,
    /// `--format matrix`.
    pub matrix: bool,
}

/// Runs the program; `arguments` begin with its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let environment = Environment::of_process(&kinds::variables());
    let parsed = command().try_get_matches_from(arguments).and_then(|m| Cli::from_arg_matches(&m));
    let cli = match parsed {
        Ok(cli) => cli,
        // Help and version are no errors, and clap knows which stream and code they want.
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let context = Context {
        terminal: cli.output.terminal(&environment),
        actions: Actions::of(&environment),
        format: cli.output.format(),
        matrix: cli.output.matrix(),
        environment,
    };
    context.terminal.install_log();
    let exit = match dispatch(cli.command, &context) {
        Ok(exit) => exit,
        Err(error) => {
            context.tell_error(&error);
            error.exit()
        }
    };
    ExitCode::from(exit.code())
}

fn dispatch(command: Command, context: &Context) -> Result<Exit, Error> {
    if context.matrix && !matches!(command, Command::Repositories(_)) {
        return Err(Error::usage("`--format matrix` is of `uplinker repositories` alone"));
    }
    // What serves ends its pass first.
    if !matches!(command, Command::Serve(_)) {
        Stop::end_on_signals().map_err(|e| Error::failed("cannot listen for signals").because(e))?;
    }
    match command {
        Command::Run(args) => run::execute(args, context),
        Command::Plan(args) => plan::execute(args, context),
        Command::Pins(args) => pins::execute(args, context),
        Command::Status(args) => status::execute(args, context),
        Command::Rollback(args) => rollback::execute(args, context),
        Command::Verify(args) => verify::execute(args, context),
        Command::Doctor(args) => doctor::execute(args, context),
        Command::Releases(args) => releases::execute(args, context),
        Command::Serve(args) => serve::execute(args, context),
        Command::Repositories(args) => repositories::execute(args, context),
        Command::Healthcheck(args) => healthcheck::execute(&args),
        Command::Init(args) => init::execute(&args, context),
        Command::Schema(args) => schema::execute(&args, context),
        Command::Completions(args) => completions::execute(&args, context),
        Command::Man(args) => man::execute(&args, context),
        Command::Demo(args) => demo::execute(args, context),
    }
}

/// Builds the command line. Variables that are set to nothing are left out: a workflow passes an input that nobody
/// gave as an empty text.
fn command() -> clap::Command {
    let without_empty = |arg: clap::Arg| match arg.get_env().is_some_and(env::is_set_to_nothing) {
        true => arg.env(None::<&str>),
        false => arg,
    };
    Cli::command().mut_args(without_empty).mut_subcommands(|sub| sub.mut_args(without_empty))
}

// === impl Context ===

impl Context {
    /// Makes the request of a command that looks at a repository, and keeps its token out of everything that is written
    /// from now on.
    fn request(&self, args: args::LookArgs) -> Result<RunRequest, Error> {
        let request = RunRequest::to_look(args, &self.environment)?;
        request.token.iter().for_each(|token| self.terminal.hide(token));
        Ok(request)
    }

    /// Prints a report.
    fn print(&self, text: &str) -> Result<(), Error> {
        self.terminal.data(text).map_err(|e| Error::failed("cannot write the report").because(e))
    }

    /// Tells the person of an error.
    fn tell_error(&self, error: &Error) {
        self.terminal.error(&render::error(error, self.terminal.color_err()));
    }

    /// Returns how reports are shown.
    fn style(&self, diff: bool) -> report::Style {
        report::Style {
            format: self.format.unwrap_or_default(),
            color: self.terminal.color_out(),
            diff,
            terminal: self.terminal.is_terminal_out(),
            quiet: self.terminal.is_quiet(),
        }
    }

    /// Tells the person something, unless quiet was asked for.
    fn note(&self, text: &str) {
        self.terminal.note(&report::for_terminal(text));
    }
}
