//! Whether the daemon does its work: what a probe, or the person who set it up, wants to know.

use std::fmt;

use jiff::Timestamp;

use super::board::Facts;

/// So many intervals may pass without a pass that succeeds.
const INTERVALS: u32 = 3;

/// Why the daemon is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unready {
    /// It has just started.
    Starting {
        /// The repositories that had a pass.
        passed: usize,
        /// All of them.
        all: usize,
    },
    /// No pass succeeds any more.
    Failing {
        /// Since when.
        since: Timestamp,
    },
    /// It was asked to stop.
    Stopping,
}

/// Tells whether it is ready: it has read the feeds or tried every repository, and some pass succeeded a while ago at most.
pub(super) fn unready(facts: &Facts, now: Timestamp) -> Option<Unready> {
    if facts.stops {
        return Some(Unready::Stopping);
    }
    let all = facts.repositories.len();
    let passed = facts.repositories.values().filter(|known| known.pass.is_some()).count();
    if facts.releases.is_none() && passed < all {
        return Some(Unready::Starting { passed, all });
    }
    let since = facts.succeeded.unwrap_or(facts.started);
    let patience = i64::try_from((facts.interval * INTERVALS).as_secs()).unwrap_or(i64::MAX);
    let quiet = now.as_second().saturating_sub(since.as_second());
    (all > 0 && quiet > patience).then_some(Unready::Failing { since })
}

impl fmt::Display for Unready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting { passed, all } => {
                write!(f, "starting: {passed} of {all} repositories had a pass")
            }
            Self::Failing { since } => write!(f, "no pass succeeded since {since}; the log says why"),
            Self::Stopping => f.write_str("stopping"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::serve::board::{Board, Pass};

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pass(second: i64, failure: Option<&str>) -> Pass {
        let failure = failure.map(str::to_owned);
        Pass { run: String::new(), began: at(second), took: MINUTE, failure, temporary: false }
    }

    #[test]
    fn it_is_ready_once_it_works_and_unready_when_nothing_succeeds() {
        let board = Board::new(at(0), MINUTE);
        let seen = |second| unready(&board.lock(), at(second));
        assert_eq!(seen(0), None, "where the list is empty there is nothing to do");
        board.list(["a", "b"]);
        assert_eq!(seen(0), Some(Unready::Starting { passed: 0, all: 2 }));
        board.passed("a", pass(1, None), None);
        assert_eq!(seen(1), Some(Unready::Starting { passed: 1, all: 2 }));
        board.releases(at(1), 3, None);
        assert_eq!(seen(2), None, "the feeds were read");
        board.passed("b", pass(100, Some("500")), None);
        assert_eq!(seen(181), None);
        assert_eq!(seen(182), Some(Unready::Failing { since: at(1) }), "b fails, and of a nothing was heard");
        board.passed("a", pass(183, None), None);
        assert_eq!(seen(184), None);
        board.stops();
        assert_eq!(seen(184), Some(Unready::Stopping));
    }

    #[test]
    fn what_never_works_is_not_ready() {
        let board = Board::new(at(0), MINUTE);
        board.list(["a"]);
        board.passed("a", pass(1, Some("no")), None);
        let seen = |second| unready(&board.lock(), at(second));
        assert_eq!((seen(2), seen(181)), (None, Some(Unready::Failing { since: at(0) })));
    }
}
