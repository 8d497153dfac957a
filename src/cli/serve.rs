//! `uplinker serve`: many repositories, again and again.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    Context, Error, Exit,
    args::{AccessArgs, NetworkArgs},
    request::{Repository, RunRequest, ServeRequest},
};
use crate::{
    config, serve,
    sys::{env, files},
};

/// Poll many repositories
///
/// Makes a pass over each repository, one after the other, waits, and begins again. Stops cleanly on SIGTERM and
/// SIGINT: the pass that is going on ends first. What a repository wants is in its own uplinker.yaml.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ServeArgs {
    /// The repositories: URLs or paths
    #[arg(value_name = "URL|PATH")]
    repositories: Vec<String>,
    /// A file with more of them, one a line; `#` begins a comment
    #[arg(long, env = env::REPOS_FILE, hide_env_values = true, value_name = "FILE")]
    repos_file: Option<PathBuf>,
    /// The time from one pass to the next, such as 15m; a tenth more or less, so that many do not ask at once
    #[arg(long, env = env::INTERVAL, hide_env_values = true, value_name = "DURATION", default_value = "15m", value_parser = interval)]
    interval: Duration,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    network: NetworkArgs,
}

/// The largest list that is read, in bytes.
const MAX_LIST: u64 = 4 << 20;

const EXAMPLES: &str = "\
Examples:
  UPLINKER_TOKEN=... uplinker serve https://github.com/acme/mesh https://github.com/acme/edge
  uplinker serve --repos-file /etc/uplinker/repositories --interval 30m --token-file /run/secrets/token

Exit codes: 0 stopped by a signal, 1 failed, 2 usage or configuration.";

/// Runs the command.
pub(super) fn execute(args: ServeArgs, context: &Context) -> Result<Exit, Error> {
    let request = request(args, context)?;
    request.runs.iter().filter_map(|r| r.token.as_ref()).take(1).for_each(|t| context.terminal.hide(t));
    serve::serve(&request, &context.terminal)?;
    Ok(Exit::Done)
}

fn request(args: ServeArgs, context: &Context) -> Result<ServeRequest, Error> {
    let mut names = args.repositories;
    if let Some(path) = &args.repos_file {
        let text = files::read_text(path, MAX_LIST)
            .map_err(|e| Error::usage(format!("cannot read {}", path.display())).because(e))?;
        names.extend(listed(&text));
    }
    if names.is_empty() {
        return Err(Error::usage("no repository is named").hint("name some, or a list with --repos-file"));
    }
    let run = |name: &String| {
        let repository = Repository::parse(name)?;
        RunRequest::of(repository, &args.access, args.network.clone(), None, &context.environment)
    };
    Ok(ServeRequest { runs: names.iter().map(run).collect::<Result<_, _>>()?, interval: args.interval })
}

fn listed(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned)
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = config::duration(text).map_err(|(reason, mend)| format!("{reason}; {mend}"))?;
    match Duration::try_from(interval) {
        Ok(interval) if interval >= Duration::from_secs(60) => Ok(interval),
        _ => Err("shorter than a minute".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_comments_and_blank_lines() {
        let names: Vec<_> = listed("# ours\n\n https://h/o/n \r\n/srv/x.git\n").collect();
        assert_eq!(names, ["https://h/o/n", "/srv/x.git"]);
        assert!(interval("0m").is_err() && interval("15").is_err());
        assert_eq!(interval("15m").unwrap(), Duration::from_secs(900));
    }
}
