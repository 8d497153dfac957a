//! When each repository is due: at its interval, later after failures, at once when its forge tells of something new.
//!
//! The jitter needs no dice: it hangs on the repository's name.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    time::{Duration, Instant},
};

use super::Next;

/// The wait after the first temporary failure; it doubles with each further one.
const FIRST_RETRY: Duration = Duration::from_secs(60);

/// The longest pause that a server's word is taken for.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// How long what comes together is waited for: a merge is told as a push, a pull request, and statuses.
const BURST: Duration = Duration::from_millis(250);

/// The least time between two passes that a forge's word brings about: a busy repository tells of something every second.
const SPACING: Duration = Duration::from_secs(10);

/// What a worker is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// This repository is due, and the worker's until it is put back.
    Now(String),
    /// Nothing is due before this instant.
    At(Instant),
    /// Nobody waits for a turn.
    Nothing,
}

/// The repositories by their names.
pub(super) struct Agenda {
    entries: BTreeMap<String, Entry>,
    interval: Duration,
}

#[derive(Debug)]
struct Entry {
    at: Instant,
    passes: u64,
    failures: u32,
    /// Whether a worker has it.
    taken: bool,
    /// Whether it is off the list, and goes when the worker puts it back.
    gone: bool,
    /// Whether something new was told of while a worker had it.
    again: bool,
    /// When the last pass began that a forge's word brought about.
    woken: Option<Instant>,
    /// Before this, a server wants to hear nothing.
    not_before: Instant,
}

// === impl Agenda ===

impl Agenda {
    /// Makes an agenda for a list of repositories.
    pub(super) fn new(interval: Duration) -> Self {
        Self { entries: BTreeMap::new(), interval }
    }

    /// Takes a new list. First passes are spread by the repositories' names, over a second for each that is new, at most a
    /// tenth of the interval and a minute; what is on the list already keeps its turn.
    pub(super) fn set<'n>(&mut self, names: impl IntoIterator<Item = &'n str>, now: Instant) {
        self.entries.values_mut().for_each(|entry| entry.gone = true);
        let names: Vec<&str> = names.into_iter().collect();
        let new = names.iter().filter(|name| !self.entries.contains_key(**name)).count();
        // One alone has nobody to wait for.
        let seconds = new.saturating_sub(1).min(60);
        let spread = (self.interval / 10).min(Duration::from_secs(seconds as u64));
        for name in names {
            let first = || Entry::first(now + spread.mul_f64(fraction(seed(&name))), now);
            self.entries.entry(name.to_owned()).or_insert_with(first).gone = false;
        }
        self.entries.retain(|_, entry| entry.taken || !entry.gone);
    }

    /// Takes the repository that is due first.
    pub(super) fn take(&mut self, now: Instant) -> Turn {
        let waiting = self.entries.iter_mut().filter(|(_, entry)| !entry.taken);
        let Some((name, entry)) = waiting.min_by_key(|(_, entry)| entry.at) else { return Turn::Nothing };
        if entry.at > now {
            return Turn::At(entry.at);
        }
        entry.taken = true;
        Turn::Now(name.clone())
    }

    /// Puts a repository back after a pass.
    pub(super) fn put_back(&mut self, name: &str, next: Next, now: Instant) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        if entry.gone {
            self.entries.remove(name);
            return;
        }
        entry.taken = false;
        entry.passes += 1;
        entry.failures = if next == Next::Retry { entry.failures + 1 } else { 0 };
        let wait = match next {
            Next::Interval => self.interval,
            Next::Retry => (FIRST_RETRY * 2u32.saturating_pow(entry.failures.min(12) - 1)).min(self.interval),
            // A server that names a day far off must not switch a repository off for good.
            Next::NotBefore(wait) => wait.min(LONGEST_WAIT).max(self.interval),
        };
        if let Next::NotBefore(wait) = next {
            entry.not_before = now + wait.min(LONGEST_WAIT);
        }
        // Up to a tenth later, differently in each pass, so that many repositories do not fall into step.
        let jitter = wait.mul_f64(fraction(seed(&(name, entry.passes))) / 10.0);
        entry.at = now + wait + jitter;
        if std::mem::take(&mut entry.again) {
            entry.wake(now);
        }
    }

    /// Makes a repository due: its forge tells of something new.
    pub(super) fn wake(&mut self, name: &str, now: Instant) {
        match self.entries.get_mut(name) {
            Some(entry) if entry.taken => entry.again = true,
            Some(entry) => entry.wake(now),
            None => {}
        }
    }
}

// === impl Entry ===

impl Entry {
    fn first(at: Instant, now: Instant) -> Self {
        Self {
            at,
            passes: 0,
            failures: 0,
            taken: false,
            gone: false,
            again: false,
            woken: None,
            not_before: now,
        }
    }

    fn wake(&mut self, now: Instant) {
        let spaced = self.woken.map_or(now, |last| last + SPACING);
        let at = (now + BURST).max(spaced).max(self.not_before);
        // What is due sooner anyway stays so, and what is told meanwhile brings about no second pass.
        if at < self.at {
            (self.at, self.woken) = (at, Some(at));
        }
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

    const HOUR: Duration = Duration::from_secs(3600);

    fn one(start: Instant) -> Agenda {
        let mut agenda = Agenda::new(HOUR);
        agenda.set(["r"], start);
        agenda
    }

    /// Takes the only repository when it is due.
    fn taken(agenda: &mut Agenda, start: Instant) -> String {
        let Turn::Now(name) = agenda.take(start + 48 * HOUR) else { panic!("nothing is due") };
        name
    }

    fn due(agenda: &Agenda, start: Instant) -> Duration {
        agenda.entries["r"].at.saturating_duration_since(start)
    }

    fn after(next: &[Next]) -> Vec<Duration> {
        let start = Instant::now();
        let mut agenda = one(start);
        next.iter()
            .map(|n| {
                let name = taken(&mut agenda, start);
                agenda.put_back(&name, *n, start);
                due(&agenda, start)
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
        assert!(waits[8] >= HOUR && waits[8] <= Duration::from_secs(3960));
    }

    #[test]
    fn a_rate_limit_is_respected() {
        let wait = after(&[Next::NotBefore(2 * HOUR)])[0];
        assert!(wait >= 2 * HOUR);
        assert!(after(&[Next::NotBefore(Duration::MAX)])[0] <= LONGEST_WAIT * 2, "within reason");
    }

    #[test]
    fn news_makes_due_once_for_a_burst_and_not_too_often() {
        let start = Instant::now();
        let mut agenda = one(start);
        let name = taken(&mut agenda, start);
        agenda.put_back(&name, Next::Interval, start);
        for _ in 0..50 {
            agenda.wake("r", start);
        }
        assert_eq!(due(&agenda, start), BURST);
        let name = taken(&mut agenda, start);
        // During the pass there is more.
        agenda.wake("r", start + BURST);
        agenda.put_back(&name, Next::Interval, start + BURST);
        assert_eq!(due(&agenda, start), BURST + SPACING, "one more pass, a while later");
        agenda.wake("nobody", start);
        assert_eq!(agenda.entries.len(), 1);
    }

    #[test]
    fn news_does_not_break_a_rate_limit() {
        let start = Instant::now();
        let mut agenda = one(start);
        let name = taken(&mut agenda, start);
        agenda.put_back(&name, Next::NotBefore(HOUR / 2), start);
        agenda.wake("r", start);
        assert_eq!(due(&agenda, start), HOUR / 2);
    }

    #[test]
    fn first_passes_are_spread_by_how_many_there_are() {
        let start = Instant::now();
        let last = |agenda: &Agenda| {
            agenda.entries.values().map(|entry| entry.at.saturating_duration_since(start).as_secs()).max()
        };
        assert_eq!(due(&one(start), start), Duration::ZERO, "one alone waits for nobody");
        let names: Vec<String> = (0..500).map(|n| format!("acme/{n}")).collect();
        let spread = |count: usize, interval| {
            let mut agenda = Agenda::new(interval);
            agenda.set(names.iter().take(count).map(String::as_str), start);
            last(&agenda)
        };
        assert!((1..10).contains(&spread(10, HOUR).unwrap()));
        assert!((40..60).contains(&spread(500, HOUR).unwrap()), "a minute at most");
        assert!(spread(500, HOUR / 60).unwrap() < 6, "a tenth of the interval at most");
    }

    #[test]
    fn a_new_list_keeps_the_turns_of_what_stays() {
        let start = Instant::now();
        let mut agenda = one(start);
        let name = taken(&mut agenda, start);
        agenda.put_back(&name, Next::Interval, start);
        let before = due(&agenda, start);
        agenda.set(["new", "r"], start);
        assert_eq!(due(&agenda, start), before);
        assert_eq!(taken(&mut agenda, start), "new");
        agenda.set(["r"], start);
        agenda.put_back("new", Next::Interval, start);
        assert_eq!(agenda.entries.keys().collect::<Vec<_>>(), ["r"], "what was being worked on goes then");
        agenda.set([], start);
        assert_eq!(agenda.take(start), Turn::Nothing);
    }
}
