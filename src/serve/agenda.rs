//! When each repository is due: a heap of instants, with a jitter that needs no dice.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    hash::{DefaultHasher, Hash, Hasher},
    time::{Duration, Instant},
};

use super::Next;

/// The wait after the first temporary failure; it doubles with each further one.
const FIRST_RETRY: Duration = Duration::from_secs(60);

/// The longest pause that a server's word is taken for.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// A repository and when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) at: Instant,
    pub(super) repository: usize,
    passes: u64,
    failures: u32,
}

/// The repositories that nobody is working on, soonest first.
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<Due>>,
    seeds: Vec<u64>,
    interval: Duration,
}

// === impl Agenda ===

impl Agenda {
    /// Spreads the first passes over a tenth of the interval, at most a minute, by the repositories' names.
    pub(super) fn new(repositories: &[String], interval: Duration, now: Instant) -> Self {
        let seeds: Vec<u64> = repositories.iter().map(seed).collect();
        let spread = (interval / 10).min(Duration::from_secs(60));
        let first = |(repository, seed): (usize, &u64)| {
            let at = now + spread.mul_f64(fraction(*seed));
            Reverse(Due { at, repository, passes: 0, failures: 0 })
        };
        let heap = seeds.iter().enumerate().map(first).collect();
        Self { heap, seeds, interval }
    }

    /// Takes the repository that is due first; `None` while all are in someone's hands.
    pub(super) fn take(&mut self) -> Option<Due> {
        self.heap.pop().map(|Reverse(due)| due)
    }

    /// Puts a repository back after a pass.
    pub(super) fn put_back(&mut self, done: Due, next: Next, now: Instant) {
        let passes = done.passes + 1;
        let failures = if next == Next::Retry { done.failures + 1 } else { 0 };
        let wait = match next {
            Next::Interval => self.interval,
            Next::Retry => (FIRST_RETRY * 2u32.saturating_pow(failures.min(12) - 1)).min(self.interval),
            // A server that names a day far off must not switch a repository off for good.
            Next::NotBefore(wait) => wait.min(LONGEST_WAIT).max(self.interval),
        };
        // Up to a tenth later, differently in each pass, so that many repositories do not fall into step.
        let jitter = wait.mul_f64(fraction(seed(&(self.seeds.get(done.repository), passes))) / 10.0);
        self.heap.push(Reverse(Due {
            at: now + wait + jitter,
            repository: done.repository,
            passes,
            failures,
        }));
    }
}

fn seed(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

fn fraction(seed: u64) -> f64 {
    (seed % 1000) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(next: &[Next]) -> Vec<Duration> {
        let start = Instant::now();
        let mut agenda = Agenda::new(&["r".to_owned()], Duration::from_secs(3600), start);
        next.iter()
            .map(|n| {
                let due = agenda.take().unwrap();
                agenda.put_back(due, *n, start);
                agenda.heap.peek().unwrap().0.at - start
            })
            .collect()
    }

    #[test]
    fn an_interval_has_at_most_a_tenth_of_jitter() {
        let wait = after(&[Next::Interval])[0];
        assert!((3600..=3960).contains(&wait.as_secs()), "{wait:?}");
    }

    #[test]
    fn temporary_failures_wait_longer_each_time_up_to_the_interval() {
        let waits = after(&[Next::Retry; 9]);
        assert!(waits[0] < Duration::from_secs(67) && waits[1] >= Duration::from_secs(120));
        assert!(waits[8] >= Duration::from_secs(3600) && waits[8] <= Duration::from_secs(3960));
    }

    #[test]
    fn a_rate_limit_is_respected() {
        let wait = after(&[Next::NotBefore(Duration::from_secs(7200))])[0];
        assert!(wait >= Duration::from_secs(7200));
        assert!(after(&[Next::NotBefore(Duration::MAX)])[0] <= LONGEST_WAIT * 2, "within reason");
    }
}
