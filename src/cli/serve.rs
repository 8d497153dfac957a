//! `uplinker serve`: many repositories, again and again.
#![allow(clippy::disallowed_methods, reason = "the time is taken here")]

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use clap::{Args, builder::BoolishValueParser};
use jiff::Timestamp;

use super::{
    Context, Error, Exit, Kind,
    args::{AccessArgs, HelmArgs, NetworkArgs},
    render,
    repositories::ListArgs,
    request::{HelmChoice, Repository, RunRequest, ServeRequest},
    session::{self, Session},
};
use crate::{
    config,
    release::{Catalog, Purpose},
    serve::{self, Next, Pace},
    sys::{env, stop::Stop},
};

/// How many repositories are worked on at once.
const WORKERS: usize = 4;

/// How long a failure to read the feeds counts for every repository.
const FAILURE_LASTS: Duration = Duration::from_secs(30);

/// Poll many repositories
///
/// Makes a pass over each repository, a few at a time, waits, and begins again. Stops cleanly on SIGTERM and SIGINT:
/// passes that are going on end first. What a repository wants is in its own uplinker.yaml.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    list: ListArgs,
    /// Make one pass over each, and end
    #[arg(long, env = env::ONCE, hide_env_values = true, value_parser = BoolishValueParser::new(), conflicts_with = "interval")]
    once: bool,
    /// The time from one pass to the next, such as 15m; up to a tenth more, so that many do not ask at once
    #[arg(long, env = env::INTERVAL, hide_env_values = true, value_name = "DURATION", default_value = "15m", value_parser = interval)]
    interval: Duration,
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
  uplinker serve --repos-file /etc/uplinker/repositories --once --shard 0/4

Exit codes: 0 stopped by a signal, 1 failed, 2 usage or configuration. With --once, those of the passes that failed: 1,
else 2, else 5; 0 where none did.";

/// Runs the command.
pub(super) fn execute(args: ServeArgs, context: &Context) -> Result<Exit, Error> {
    let request = request(args, context)?;
    request.runs.iter().filter_map(|r| r.token.as_ref()).take(1).for_each(|t| context.terminal.hide(t));
    let failed = |e: std::io::Error| Error::failed("cannot listen for signals").because(e);
    let Some(first) = request.runs.first() else { return Ok(Exit::Done) };
    let session = Session::open(first.network.ca_file.as_deref(), &context.terminal)?;
    let stop = Stop::on_signals().map_err(failed)?;
    let feeds = SharedCatalog { session: &session, request: &request, last: Mutex::new(None) };
    let names: Vec<String> = request.runs.iter().map(|run| run.repository.to_string()).collect();
    if request.once {
        return Ok(all_once(&request.runs, &stop, |run| pass(run, &session, &feeds, context)));
    }
    let minutes = request.interval.as_secs() / 60;
    let (one, many) = ("1 repository".to_owned(), format!("{} repositories", names.len()));
    let which = if names.len() == 1 { one } else { many };
    // The first passes are spread over a part of the interval, in which nothing else would be said.
    context.terminal.note(&format!("polling {which} every {minutes} min; SIGTERM stops it"));
    let pace = Pace { interval: request.interval, workers: WORKERS };
    serve::serve(&names, pace, &stop, |n| match request.runs.get(n) {
        Some(run) => {
            pass(run, &session, &feeds, context).map_or_else(|error| next(&error), |()| Next::Interval)
        }
        None => Next::Interval,
    });
    context.terminal.note("stopped");
    Ok(Exit::Done)
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

/// One pass; what happened is printed, and where nothing did, only the log says so.
fn pass(
    run: &RunRequest,
    session: &Session<'_>,
    feeds: &SharedCatalog<'_>,
    context: &Context,
) -> Result<(), Error> {
    let done = feeds.get().and_then(|catalog| session.run(run, &catalog));
    context.terminal.clear();
    let told = done.and_then(|report| match report.wrote() {
        true => context.print(&report.render(context.style(false))),
        false => {
            tracing::info!(repository = %run.repository, "nothing to do");
            Ok(())
        }
    });
    told.inspect_err(|error| {
        context.terminal.note(&format!("{}:", run.repository));
        context.terminal.error(&render::error(error, context.terminal.color_err()));
    })
}

/// When the next pass is, after one that failed.
fn next(error: &Error) -> Next {
    let wait = error.retry_at.and_then(|at| Duration::try_from(at.duration_since(Timestamp::now())).ok());
    match (wait, error.kind) {
        (Some(wait), _) => Next::NotBefore(wait),
        (None, Kind::Temporary) => Next::Retry,
        (None, _) => Next::Interval,
    }
}

/// The catalog that all repositories of a daemon share, read again when half an interval has passed.
struct SharedCatalog<'a> {
    session: &'a Session<'a>,
    request: &'a ServeRequest,
    last: Mutex<Option<(Instant, Shared)>>,
}

/// What reading the feeds gave.
type Shared = Result<Arc<Catalog>, Error>;

// === impl SharedCatalog ===

impl SharedCatalog<'_> {
    fn get(&self) -> Shared {
        // Held while the feeds are read, so that they are read once however many passes wait for them.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, catalog)) =
            last.as_ref().filter(|(read, shared)| read.elapsed() < self.lasts(shared))
        {
            tracing::debug!(age = read.elapsed().as_secs(), "the catalog is fresh enough");
            return catalog.clone();
        }
        let Some(first) = self.request.runs.first() else { return Ok(Arc::default()) };
        let token = self.request.runs.iter().find_map(session::releases_token);
        let catalog = self.session.catalog(&first.network, token, Purpose::Run { to: None }).map(Arc::new);
        *last = Some((Instant::now(), catalog.clone()));
        catalog
    }

    /// Feeds that are down are not asked again for each of hundreds of repositories.
    fn lasts(&self, shared: &Shared) -> Duration {
        let half = self.request.interval / 2;
        if shared.is_ok() { half } else { half.min(FAILURE_LASTS) }
    }
}

fn request(args: ServeArgs, context: &Context) -> Result<ServeRequest, Error> {
    let run = |repository: Repository| {
        let run = RunRequest::of(repository, &args.access, args.network.clone(), &context.environment)?;
        Ok(RunRequest { helm: HelmChoice::of(args.helm.clone()), ..run })
    };
    let runs = args.list.repositories()?.into_iter().map(run).collect::<Result<_, Error>>()?;
    Ok(ServeRequest { runs, interval: args.interval, once: args.once })
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
