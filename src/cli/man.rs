//! `uplinker man`: manual pages.

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use super::{Cli, Context, Error, Exit};

/// Print a manual page
///
/// The page of the program, or that of one of its commands.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  uplinker man > /usr/local/share/man/man1/uplinker.1
  uplinker man run > /usr/local/share/man/man1/uplinker-run.1")]
pub(super) struct ManArgs {
    /// The command; without one, the program
    command: Option<String>,
}

/// Runs the command.
pub(super) fn execute(args: &ManArgs, context: &Context) -> Result<Exit, Error> {
    let mut program = Cli::command();
    program.build();
    let page = match &args.command {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            Error::usage(format!("there is no command `{name}`")).hint("`uplinker --help` lists them")
        })?,
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text).map_err(|e| Error::failed("cannot write the page").because(e))?;
    context.print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
