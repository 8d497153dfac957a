//! Until when servers want to hear nothing: a rate limit holds for all who use a token, whoever of them came upon it.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};

use crate::sys::clock::Clock;

/// The longest pause that a server's word is taken for.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// The pauses that go on.
#[derive(Debug, Default)]
pub struct Pauses {
    hasher: RandomState,
    ends: Mutex<HashMap<u64, Timestamp>>,
}

/// Whom a limit is for: a token at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller(u64);

// === impl Pauses ===

impl Pauses {
    /// Names who calls; of the token nothing is kept.
    pub fn caller(&self, host: &str, token: Option<&str>) -> Caller {
        Caller(self.hasher.hash_one((host, token)))
    }

    /// Has a caller be silent until an instant, or for longer where that was said before.
    pub fn begin(&self, caller: Caller, until: Timestamp, now: Timestamp) {
        let until = until.min(now + LONGEST);
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.retain(|_, end| *end > now);
        let end = ends.entry(caller.0).or_insert(until);
        *end = until.max(*end);
    }

    /// Waits until a caller may go on; where that would take longer than so, returns when it may.
    pub fn wait(&self, caller: Caller, most: Duration) -> Result<(), Timestamp> {
        let start = Clock::System.now();
        let mut now = start;
        while let Some(until) = self.until(caller, now) {
            if until > start + most {
                return Err(until);
            }
            let wait = until.duration_since(now).unsigned_abs();
            tracing::info!(seconds = wait.as_millis().div_ceil(1000), "waiting for the forge's rate limit");
            std::thread::sleep(wait);
            now = Clock::System.now();
        }
        Ok(())
    }

    fn until(&self, caller: Caller, now: Timestamp) -> Option<Timestamp> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.get(&caller.0).copied().filter(|end| *end > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_for_one_token_at_one_host_and_ends() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let pauses = Pauses::default();
        let [mine, other, elsewhere] =
            [("a", Some("t")), ("a", None), ("b", Some("t"))].map(|(host, token)| pauses.caller(host, token));
        assert_eq!(pauses.caller("a", Some("t")), mine);
        pauses.begin(mine, at(100), at(10));
        pauses.begin(mine, at(50), at(10));
        assert_eq!(pauses.until(mine, at(99)), Some(at(100)));
        assert_eq!([other, elsewhere].map(|caller| pauses.until(caller, at(20))), [None, None]);
        assert_eq!(pauses.until(mine, at(100)), None);
        pauses.begin(mine, Timestamp::MAX, at(200));
        assert_eq!(pauses.until(mine, at(200)), Some(at(200) + LONGEST), "not for good");
    }
}
