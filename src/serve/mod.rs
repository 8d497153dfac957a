//! The daemon: one pass a repository and interval, spread over time, until it is asked to stop.
//!
//! In: a list of repositories and what one pass does. Out: nothing but the passes. It owns no rule of the flow and
//! keeps no state that a restart would miss.
#![allow(clippy::disallowed_methods, reason = "the time is taken here")]

mod agenda;
mod shard;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::sys::stop::Stop;

use agenda::Agenda;
pub use shard::Shard;

/// How the daemon paces itself.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The time between two passes over one repository.
    pub interval: Duration,
    /// How many repositories are worked on at once.
    pub workers: usize,
}

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

/// Passes over the repositories until `stop` is asked for; a pass that has begun is finished.
///
/// `pass` gets the position of the repository in the list; it reports by itself.
pub fn serve(repositories: &[String], pace: Pace, stop: &Stop, pass: impl Fn(usize) -> Next + Sync) {
    let agenda = Mutex::new(Agenda::new(repositories, pace.interval, std::time::Instant::now()));
    let workers = pace.workers.clamp(1, repositories.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| work(&agenda, stop, &pass));
        }
    });
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

fn work(agenda: &Mutex<Agenda>, stop: &Stop, pass: &(impl Fn(usize) -> Next + Sync)) {
    let lock = || agenda.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    while !stop.is_asked() {
        // Bound in a `let`, so that the lock is not held while this thread sleeps or works.
        let due = lock().take();
        let Some(due) = due else {
            // Every repository is in another worker's hands.
            stop.sleep_until(std::time::Instant::now() + Duration::from_secs(1));
            continue;
        };
        if stop.sleep_until(due.at) {
            return;
        }
        let next = pass(due.repository);
        lock().put_back(due, next, std::time::Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_repository_gets_its_passes_until_stopped() {
        let names: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
        let counts: Vec<AtomicUsize> = names.iter().map(|_| AtomicUsize::new(0)).collect();
        let stop = Stop::default();
        let pace = Pace { interval: Duration::from_millis(20), workers: 2 };
        serve(&names, pace, &stop, |n| {
            counts[n].fetch_add(1, Ordering::SeqCst);
            if counts.iter().all(|c| c.load(Ordering::SeqCst) >= 3) {
                stop.ask();
            }
            Next::Interval
        });
        assert!(counts.iter().all(|c| c.load(Ordering::SeqCst) >= 3));
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
        let names = vec!["only".to_owned()];
        let running = AtomicUsize::new(0);
        let passes = AtomicUsize::new(0);
        let stop = Stop::default();
        serve(&names, Pace { interval: Duration::from_millis(1), workers: 4 }, &stop, |_| {
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
