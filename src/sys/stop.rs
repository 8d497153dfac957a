//! The wish to stop: SIGTERM and SIGINT, seen by every thread that waits.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, atomic::AtomicBool},
    time::{Duration, Instant},
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
    iterator::Signals,
};

/// Wakes sleepers when the program is asked to stop; clones share the wish.
#[derive(Clone, Default)]
pub struct Stop {
    state: Arc<(Mutex<bool>, Condvar)>,
}

// === impl Stop ===

impl Stop {
    /// Listens for SIGTERM and SIGINT. The first asks to stop, the second ends the program at once.
    pub fn on_signals() -> std::io::Result<Self> {
        let stop = Self::default();
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            // The order matters: the conditional default acts on the second signal only, since the flag is set after it.
            flag::register_conditional_default(signal, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        let mut signals = Signals::new([SIGTERM, SIGINT])?;
        let listener = stop.clone();
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                listener.ask();
            }
        });
        Ok(stop)
    }

    /// Asks everyone who waits to stop.
    pub fn ask(&self) {
        let (asked, wake) = &*self.state;
        *asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        wake.notify_all();
    }

    /// Tells whether stopping was asked for.
    pub fn is_asked(&self) -> bool {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until an instant; returns `true` at once when stopping is asked for.
    pub fn sleep_until(&self, until: Instant) -> bool {
        let (asked, wake) = &*self.state;
        let guard = asked.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = until.saturating_duration_since(Instant::now()).min(Duration::from_secs(86_400));
        let (guard, _) =
            wake.wait_timeout_while(guard, wait, |asked| !*asked).unwrap_or_else(PoisonError::into_inner);
        *guard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_wakes_when_stopping_is_asked_for() {
        let stop = Stop::default();
        assert!(!stop.sleep_until(Instant::now() + Duration::from_millis(5)));
        let other = stop.clone();
        let sleeper = std::thread::spawn(move || other.sleep_until(Instant::now() + Duration::from_secs(60)));
        stop.ask();
        assert!(sleeper.join().unwrap());
        assert!(stop.is_asked());
    }
}
