//! `uplinker completions`: for the shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Context, Error, Exit};

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  uplinker completions bash > /etc/bash_completion.d/uplinker
  uplinker completions zsh > ~/.zfunc/_uplinker
  uplinker completions fish > ~/.config/fish/completions/uplinker.fish")]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Runs the command.
pub(super) fn execute(args: &CompletionsArgs, context: &Context) -> Result<Exit, Error> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "uplinker", &mut text);
    context.print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
