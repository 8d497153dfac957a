//! The list of repositories while the daemon runs: read again and again, taken over where it changed.
#![allow(clippy::disallowed_methods, reason = "the time is taken here")]

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    cli::{
        Context, Error,
        args::{AccessArgs, HelmArgs, NetworkArgs},
        repositories::ListArgs,
        request::{HelmChoice, Repository, RunRequest},
        session::Session,
    },
    propose::forge::{github::App, listing::Pattern},
    serve::{Board, Daemon},
    sys::stop::Stop,
};

/// How often the list is read.
const EVERY: Duration = Duration::from_secs(10);

/// The list, and what is the same for all on it.
pub(super) struct List {
    pub(super) list: ListArgs,
    pub(super) patterns: Vec<Pattern>,
    /// How long what was found by the patterns lasts.
    pub(super) lasts: Duration,
    /// What was found by them, and when.
    pub(super) found: Mutex<Option<(Instant, Vec<String>)>>,
    pub(super) access: AccessArgs,
    pub(super) network: NetworkArgs,
    pub(super) helm: HelmArgs,
    /// The App, which keeps the tokens of its installations.
    pub(super) app: OnceLock<Option<Arc<App>>>,
}

/// What is made of the list: a request for each repository, by its name.
pub(super) type Runs = BTreeMap<String, Arc<RunRequest>>;

// === impl List ===

impl List {
    /// Reads the list, and the token's file.
    pub(super) fn read(&self, session: &Session<'_>, context: &Context) -> Result<Vec<RunRequest>, Error> {
        let nowhere = Repository::Path(PathBuf::new());
        let run = RunRequest::of(nowhere, &self.access, self.network.clone(), &context.environment)?;
        let run = RunRequest { helm: HelmChoice::of(self.helm.clone()), ..run };
        let app = self.app.get_or_init(|| run.app.clone()).clone();
        let run = RunRequest { app, ..run };
        run.token.iter().for_each(|token| context.terminal.hide(token));
        let repositories = match self.patterns.is_empty() {
            true => self.list.repositories()?,
            false => self.list.with(self.found(session, &run)?)?,
        };
        let of_one = |repository: Repository| {
            let forge = run.forge.of_one(&repository.to_string());
            RunRequest { repository, forge, ..run.clone() }
        };
        Ok(repositories.into_iter().map(of_one).collect())
    }

    /// Asks for what the patterns name, where the last answer is too old.
    fn found(&self, session: &Session<'_>, run: &RunRequest) -> Result<Vec<String>, Error> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, names)) = found.as_ref().filter(|(asked, _)| asked.elapsed() < self.lasts) {
            return Ok(names.clone());
        }
        let names = session.repositories(run, &self.patterns)?;
        *found = Some((Instant::now(), names.clone()));
        Ok(names)
    }

    /// Reads the list again every while, until it is to stop. One that cannot be read, or is wrong, changes nothing.
    pub(super) fn watch(
        &self,
        session: &Session<'_>,
        daemon: &Daemon<RunRequest>,
        (board, context, stop): (&Board, &Context, &Stop),
    ) {
        let mut told = None;
        loop {
            let next = Instant::now() + EVERY;
            // What wakes the workers is not for this one.
            while Instant::now() < next {
                if stop.sleep_until(next, stop.wakes()) {
                    return;
                }
            }
            let error = match self.read(session, context) {
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
