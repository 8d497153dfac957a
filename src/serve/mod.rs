//! The daemon: one pass a repository and interval, spread over time, until it is asked to stop, and what it tells of itself
//! by HTTP.
//!
//! In: a list of repositories and what one pass does. Out: nothing but the passes. It owns no rule of the flow and
//! keeps no state that a restart would miss.
#![allow(clippy::disallowed_methods, reason = "the time is taken here")]

mod agenda;
mod board;
mod http;
mod metrics;
mod page;
mod readiness;
mod shard;
mod webhook;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::sys::stop::Stop;

use agenda::{Agenda, Turn};
pub use board::{Board, Done, Pass};
pub use http::{Listener, Served, Site};
pub use shard::Shard;
pub use webhook::{Hooks, place};

/// What one pass says about the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// After the interval.
    Interval,
    /// A temporary failure outside: sooner at first, then ever later, never later than the interval.
    Retry,
    /// Not before this time has passed (a rate limit), and not before the interval where that is longer.
    NotBefore(Duration),
}

/// The repositories that are polled, each with what a pass over it needs.
pub struct Daemon<T> {
    state: Mutex<(Agenda, BTreeMap<String, Arc<T>>)>,
    stop: Stop,
}

// === impl Daemon ===

impl<T: Send + Sync> Daemon<T> {
    /// Makes a daemon that polls nothing yet.
    pub fn new(interval: Duration, stop: Stop) -> Self {
        Self { state: Mutex::new((Agenda::new(interval), BTreeMap::new())), stop }
    }

    /// Takes a new list: what is new on it is passed over soon, what is no longer on it not again.
    pub fn set(&self, list: BTreeMap<String, Arc<T>>) {
        let mut state = self.lock();
        state.0.set(list.keys().map(String::as_str), Instant::now());
        state.1 = list;
        drop(state);
        self.stop.wake();
    }

    /// Tells whether these are the repositories on the list.
    pub fn has<'n>(&self, names: impl Iterator<Item = &'n String>) -> bool {
        self.lock().1.keys().eq(names)
    }

    /// Tells whether any entry of the list is so.
    pub fn any(&self, is_so: impl Fn(&T) -> bool) -> bool {
        self.lock().1.values().any(|entry| is_so(entry))
    }

    /// Makes the repositories due whose names a test picks, and tells whether there are any.
    pub fn wake(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        let mut state = self.lock();
        let (agenda, list) = &mut *state;
        let mut any = false;
        for name in list.keys().filter(|name| is_meant(name)) {
            agenda.wake(name, Instant::now());
            any = true;
        }
        drop(state);
        self.stop.wake();
        any
    }

    /// Passes over the repositories until it is asked to stop, so many at once; a pass that has begun is finished.
    ///
    /// `pass` gets the name and what the list has for it; it reports by itself.
    pub fn run(&self, workers: usize, pass: impl Fn(&str, &T) -> Next + Sync) {
        std::thread::scope(|scope| {
            for _ in 0..workers.max(1) {
                scope.spawn(|| self.work(&pass));
            }
        });
    }

    fn work(&self, pass: &(impl Fn(&str, &T) -> Next + Sync)) {
        while !self.stop.is_asked() {
            let wakes = self.stop.wakes();
            // Bound in a `let`, so that the lock is not held while this thread sleeps or works.
            let turn = self.lock().0.take(Instant::now());
            match turn {
                Turn::Now(name) => {
                    let entry = self.lock().1.get(&name).cloned();
                    let next = entry.map_or(Next::Interval, |entry| pass(&name, &entry));
                    self.lock().0.put_back(&name, next, Instant::now());
                    // Others sleep until what was due before.
                    self.stop.wake();
                }
                Turn::At(due) => {
                    self.stop.sleep_until(due, wakes);
                }
                Turn::Nothing => {
                    self.stop.sleep_until(Instant::now() + Duration::from_secs(3600), wakes);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Agenda, BTreeMap<String, Arc<T>>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One pass over each repository, in the order of the list; what has not begun when `stop` is asked for is left out.
pub fn once(repositories: usize, workers: usize, stop: &Stop, pass: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        while !stop.is_asked() {
            match next.fetch_add(1, Ordering::SeqCst) {
                n if n < repositories => pass(n),
                _ => return,
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, repositories.max(1)) {
            scope.spawn(work);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn daemon(names: &[&str], interval: Duration, stop: &Stop) -> Daemon<AtomicUsize> {
        let daemon = Daemon::new(interval, stop.clone());
        daemon.set(names.iter().map(|name| ((*name).to_owned(), Arc::default())).collect());
        daemon
    }

    #[test]
    fn every_repository_gets_its_passes_until_stopped() {
        let stop = Stop::default();
        let daemon = daemon(&["a", "b", "c"], Duration::from_millis(20), &stop);
        let list = daemon.lock().1.clone();
        let enough = || list.values().all(|count| count.load(Ordering::SeqCst) >= 3);
        daemon.run(2, |_, count| {
            count.fetch_add(1, Ordering::SeqCst);
            if enough() {
                stop.ask();
            }
            Next::Interval
        });
        assert!(enough());
    }

    #[test]
    fn news_are_looked_at_long_before_the_interval() {
        let stop = Stop::default();
        let daemon = daemon(&["a", "b"], Duration::from_secs(1), &stop);
        let start = Instant::now();
        assert!(!daemon.wake(|_| false));
        daemon.run(2, |name, count| {
            if name == "a" && count.fetch_add(1, Ordering::SeqCst) == 1 {
                stop.ask();
            } else if name == "a" {
                assert!(daemon.wake(|name| name == "a"));
                // That the interval ends later shows that it was not what ended it.
                return Next::NotBefore(Duration::ZERO);
            }
            Next::Interval
        });
        assert!(start.elapsed() < Duration::from_millis(1000), "{:?}", start.elapsed());
    }

    #[test]
    fn once_is_once_and_ends_where_it_is_stopped() {
        let counts: Vec<AtomicUsize> = (0..20).map(|_| AtomicUsize::new(0)).collect();
        once(counts.len(), 4, &Stop::default(), |n| {
            counts[n].fetch_add(1, Ordering::SeqCst);
        });
        assert!(counts.iter().all(|count| count.load(Ordering::SeqCst) == 1));
        let (stop, passes) = (Stop::default(), AtomicUsize::new(0));
        once(20, 1, &stop, |_| {
            passes.fetch_add(1, Ordering::SeqCst);
            stop.ask();
        });
        assert_eq!(passes.into_inner(), 1, "a pass that has begun is finished, and none begins");
        once(0, 4, &Stop::default(), |_| unreachable!("there is none"));
    }

    #[test]
    fn no_repository_is_passed_over_twice_at_once() {
        let running = AtomicUsize::new(0);
        let stop = Stop::default();
        let daemon = daemon(&["only"], Duration::from_millis(1), &stop);
        let passes = AtomicUsize::new(0);
        daemon.run(4, |_, _| {
            assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
            std::thread::sleep(Duration::from_millis(5));
            running.fetch_sub(1, Ordering::SeqCst);
            if passes.fetch_add(1, Ordering::SeqCst) == 4 {
                stop.ask();
            }
            Next::Interval
        });
        assert!(passes.load(Ordering::SeqCst) >= 5);
    }
}
