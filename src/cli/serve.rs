//! `uplinker serve`: many repositories, again and again.
#![allow(clippy::disallowed_methods, reason = "the time is taken here")]

mod catalog;
mod list;
pub(super) mod listen;
mod pass;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::AtomicU64},
    time::{Duration, Instant},
};

use clap::{Args, builder::BoolishValueParser};
use jiff::Timestamp;

use super::{
    Context, Error, Exit,
    args::{AccessArgs, HelmArgs, NetworkArgs},
    repositories::ListArgs,
    request::{Network, RunRequest},
    session::Session,
};
use crate::{
    config,
    propose::forge::{kinds, listing::Pattern},
    serve::{self, Board, Daemon, Hooks, Listener, Next, Served, Site},
    sys::{env, secrets::Token, stop::Stop},
};
use catalog::SharedCatalog;
use list::List;
use listen::ListenArgs;
use pass::Passes;

/// How many repositories are worked on at once.
const WORKERS: usize = 4;

/// Poll many repositories
///
/// Makes a pass over each repository, a few at a time, waits, and begins again. Stops cleanly on SIGTERM and SIGINT:
/// passes that are going on end first. What a repository wants is in its own uplinker.yaml. The file of the list is read
/// again every ten seconds, and the token's file with it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    list: ListArgs,
    /// Also the repositories of the forge that match, such as acme/*, or acme/** with the groups below where it has groups;
    /// asked for anew each interval. With a GitHub App those of its installations, of which */* is all
    #[arg(long, env = env::REPOS, hide_env_values = true, value_name = "PATTERN", value_delimiter = ',', value_parser = Pattern::parse)]
    repos: Vec<Pattern>,
    /// Make one pass over each, and end
    #[arg(long, env = env::ONCE, hide_env_values = true, value_parser = BoolishValueParser::new(), conflicts_with = "interval")]
    once: bool,
    /// The time from one pass to the next, such as 15m; up to a tenth more, so that many do not ask at once
    #[arg(long, env = env::INTERVAL, hide_env_values = true, value_name = "DURATION", default_value = "15m", value_parser = interval)]
    interval: Duration,
    #[command(flatten)]
    listen: ListenArgs,
    /// A file with the secret that webhooks are set up with [default: UPLINKER_WEBHOOK_SECRET; without one, they are
    /// not taken]
    #[arg(long, env = env::WEBHOOK_SECRET_FILE, hide_env_values = true, value_name = "FILE")]
    webhook_secret_file: Option<PathBuf>,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    helm: HelmArgs,
}

const EXAMPLES: &str = "\
Examples:
  UPLINKER_TOKEN=... uplinker serve https://github.com/acme/mesh https://github.com/acme/edge
  uplinker serve --repos-file /etc/uplinker/repositories --interval 30m --token-file /run/secrets/token
  uplinker serve --repos-file /etc/uplinker/repositories --listen :8080 --log-format json
  uplinker serve --repos-file /etc/uplinker/repositories --once --shard 0/4

Exit codes: 0 stopped by a signal, 1 failed, 2 usage or configuration. With --once, those of the passes that failed: 1,
else 2, else 5; 0 where none did.";

/// Runs the command.
pub(super) fn execute(args: ServeArgs, context: &Context) -> Result<Exit, Error> {
    let ServeArgs { list, repos, once, interval, listen, webhook_secret_file, access, network, helm } = args;
    let session = Session::open(network.ca_file.as_deref(), &context.terminal)?;
    let (found, app) = (Mutex::new(None), OnceLock::new());
    let list = List { list, patterns: repos, lasts: interval, found, access, network, helm, app };
    let runs = list.read(&session, context)?;
    let failed = |e: std::io::Error| Error::failed("cannot listen for signals").because(e);
    let network = Network::of(list.network.clone(), &context.environment)?;
    let stop = Stop::on_signals().map_err(failed)?;
    let start = Timestamp::now();
    let board = Arc::new(Board::new(start, interval));
    let (last, lasts) = (Mutex::new(None), interval / 2);
    let catalog = SharedCatalog { session: &session, network: &network, lasts, board: &board, last };
    let count = AtomicU64::new(0);
    let passes = Passes { session: &session, catalog, board: &board, context, start, count };
    if once {
        return Ok(all_once(&runs, &stop, |run| passes.make(run, false)));
    }
    let secret = Token::of(webhook_secret_file.as_deref(), &[env::WEBHOOK_SECRET], &context.environment)?;
    secret.iter().for_each(|secret| context.terminal.hide(secret));
    let listener = listen.bind()?;
    // The first passes are spread over a part of the interval, in which nothing else would be said.
    let (counted, minutes) = (list::counted(runs.len()), interval.as_secs() / 60);
    context.terminal.note(&format!("polling {counted} every {minutes} min; SIGTERM stops it"));
    let runs = list::by_name(runs);
    board.list(runs.keys().map(String::as_str));
    let daemon = Arc::new(Daemon::new(interval, stop.clone()));
    daemon.set(runs);
    let hooks = secret.map(|secret| hooks(secret, Arc::clone(&daemon))).transpose()?;
    let site = Site { board: Arc::clone(&board), traffic: session.traffic(), hooks };
    let served = listener.map(|listener| answer(listener, site, context)).transpose()?;
    std::thread::scope(|scope| {
        scope.spawn(|| list.watch(&session, &daemon, (&board, context, &stop)));
        // Who probes is to know at once that no new work is taken.
        scope.spawn(|| {
            while !stop.sleep_until(Instant::now() + Duration::from_secs(3600), stop.wakes()) {}
            board.stops();
        });
        daemon.run(WORKERS, |_, run| {
            passes.make(run, served.is_some()).map_or_else(|error| pass::next(&error), |()| Next::Interval)
        });
    });
    served.into_iter().for_each(Served::end);
    context.terminal.note("stopped");
    Ok(Exit::Done)
}

/// Opens the door for webhooks.
fn hooks(secret: Token, daemon: Arc<Daemon<RunRequest>>) -> Result<Arc<Hooks>, Error> {
    let wake = move |places: &BTreeSet<String>| {
        daemon.wake(|name| serve::place(name).is_some_and(|place| places.contains(&place)))
    };
    let hooks = Hooks::new(secret, kinds::webhooks(), Box::new(wake));
    let wrong = |reason| {
        let error = Error::usage(format!("the secret of webhooks cannot be used: {reason}"));
        error.hint("make one with `openssl rand -hex 32`, and set the webhook up with the same")
    };
    hooks.map(Arc::new).map_err(wrong)
}

/// Begins to answer HTTP, and says where.
fn answer(listener: Listener, site: Site, context: &Context) -> Result<Served, Error> {
    let address = listener.address();
    let failed = |e: std::io::Error| Error::failed(format!("cannot serve on {address}")).because(e);
    let served = listener.serve(site).map_err(failed)?;
    context.terminal.note(&format!("listening on http://{address}"));
    Ok(served)
}

/// One pass over each, and the worst way in which one ended.
fn all_once(
    runs: &[RunRequest],
    stop: &Stop,
    pass: impl Fn(&RunRequest) -> Result<(), Error> + Sync,
) -> Exit {
    let failed = Mutex::new(Vec::new());
    serve::once(runs.len(), WORKERS, stop, |n| {
        if let Some(error) = runs.get(n).and_then(|run| pass(run).err()) {
            failed.lock().unwrap_or_else(PoisonError::into_inner).push(error.exit());
        }
    });
    Exit::worst(&failed.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = config::duration(text).map_err(|(reason, hint)| format!("{reason}; {hint}"))?;
    match Duration::try_from(interval) {
        Ok(interval) if interval >= Duration::from_secs(60) => Ok(interval),
        _ => Err("shorter than a minute".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_a_unit_and_is_no_shorter_than_a_minute() {
        assert!(interval("0m").is_err() && interval("15").is_err());
        assert_eq!(interval("15m").unwrap(), Duration::from_secs(900));
    }
}
