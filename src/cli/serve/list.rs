//! The list of repositories while the daemon runs: read again and again, taken over where it changed.
#![allow(clippy::disallowed_methods, reason = "the time is taken here")]

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    cli::{
        Context, Error,
        args::{AccessArgs, HelmArgs, NetworkArgs},
        repositories::ListArgs,
        request::{HelmChoice, RunRequest},
    },
    serve::{Board, Daemon},
    sys::stop::Stop,
};

/// How often the list is read.
const EVERY: Duration = Duration::from_secs(10);

/// The list, and what is the same for all on it.
#[derive(Debug)]
pub(super) struct List {
    pub(super) list: ListArgs,
    pub(super) access: AccessArgs,
    pub(super) network: NetworkArgs,
    pub(super) helm: HelmArgs,
}

/// What is made of the list: a request for each repository, by its name.
pub(super) type Runs = BTreeMap<String, Arc<RunRequest>>;

// === impl List ===

impl List {
    /// Reads the list, and the token's file.
    pub(super) fn read(&self, context: &Context) -> Result<Vec<RunRequest>, Error> {
        let repositories = self.list.repositories()?;
        let Some(first) = repositories.first() else { return Ok(Vec::new()) };
        let run = RunRequest::of(first.clone(), &self.access, self.network.clone(), &context.environment)?;
        let run = RunRequest { helm: HelmChoice::of(self.helm.clone()), ..run };
        run.token.iter().for_each(|token| context.terminal.hide(token));
        Ok(repositories.into_iter().map(|repository| RunRequest { repository, ..run.clone() }).collect())
    }

    /// Reads the list again every while, until it is to stop. One that cannot be read, or is wrong, changes nothing.
    pub(super) fn watch(&self, daemon: &Daemon<RunRequest>, board: &Board, context: &Context, stop: &Stop) {
        let mut told = None;
        loop {
            let next = Instant::now() + EVERY;
            // What wakes the workers is not for this one.
            while Instant::now() < next {
                if stop.sleep_until(next, stop.wakes()) {
                    return;
                }
            }
            let error = match self.read(context) {
                Ok(runs) => {
                    take(runs, daemon, board, context);
                    None
                }
                Err(error) => Some(error),
            };
            let text = error.as_ref().map(|error| error.message.clone());
            if let Some(error) = error.filter(|_| told != text) {
                context.terminal.note("the list of repositories stays as it was:");
                context.tell_error(&error);
            }
            told = text;
        }
    }
}

/// Hands a list over, also where it is the same: the token may be another one.
fn take(runs: Vec<RunRequest>, daemon: &Daemon<RunRequest>, board: &Board, context: &Context) {
    let runs = by_name(runs);
    if !daemon.has(runs.keys()) {
        context.terminal.note(&format!("the list of repositories changed: {}", counted(runs.len())));
        board.list(runs.keys().map(String::as_str));
    }
    let token = |run: &RunRequest| run.token.as_ref().map(|token| token.expose().to_owned());
    let now = runs.values().next().and_then(|run| token(run));
    let replaced = daemon.any(|run| token(run) != now);
    daemon.set(runs);
    if replaced {
        // What the old one failed at is tried at once.
        let failing = board.failing();
        daemon.wake(|name| failing.contains(name));
    }
}

/// Names each request.
pub(super) fn by_name(runs: Vec<RunRequest>) -> Runs {
    runs.into_iter().map(|run| (run.repository.to_string(), Arc::new(run))).collect()
}

/// So many repositories, in words.
pub(super) fn counted(number: usize) -> String {
    if number == 1 { "1 repository".to_owned() } else { format!("{number} repositories") }
}
