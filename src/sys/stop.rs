//! The wish to stop: SIGTERM and SIGINT, seen by every thread that waits.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::{Duration, Instant},
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
    iterator::Signals,
};

/// What shells add to the number of the signal that ended a program.
const ENDED: i32 = 128;

/// Wakes sleepers when the program is asked to stop, or when there is something new to do; clones share the wish.
#[derive(Clone, Default)]
pub struct Stop {
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    asked: bool,
    /// How often sleepers were woken for another reason.
    wakes: u64,
}

// === impl Stop ===

impl Stop {
    /// Listens for SIGTERM and SIGINT. The first asks to stop, the second ends the program at once.
    pub fn on_signals() -> std::io::Result<Self> {
        let stop = Self::default();
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            // The order matters: the conditional end acts on the second signal only, since the flag is set after it. The default
            // action would do nothing in the first process of a container.
            flag::register_conditional_shutdown(signal, ENDED + signal, Arc::clone(&asked))?;
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

    /// Lets SIGTERM and SIGINT end the first process of a container: the kernel has no default action for that one, and it
    /// would be killed after a while of waiting.
    pub fn end_on_signals() -> std::io::Result<()> {
        if std::process::id() != 1 {
            return Ok(());
        }
        let always = Arc::new(AtomicBool::new(true));
        let end = |signal| flag::register_conditional_shutdown(signal, ENDED + signal, Arc::clone(&always));
        [SIGTERM, SIGINT].into_iter().try_for_each(|signal| end(signal).map(drop))
    }

    /// Asks everyone who waits to stop.
    pub fn ask(&self) {
        self.change(|state| state.asked = true);
    }

    /// Wakes everyone who waits, to look again at what there is to do.
    pub fn wake(&self) {
        self.change(|state| state.wakes += 1);
    }

    /// Tells whether stopping was asked for.
    pub fn is_asked(&self) -> bool {
        self.lock().asked
    }

    /// Returns how often sleepers were woken, to be taken before one looks at what there is to do.
    pub fn wakes(&self) -> u64 {
        self.lock().wakes
    }

    /// Sleeps until an instant; returns at once, with `true`, when stopping is asked for, and with `false` when sleepers were
    /// woken since `wakes`.
    pub fn sleep_until(&self, until: Instant, wakes: u64) -> bool {
        let wait = until.saturating_duration_since(Instant::now()).min(Duration::from_secs(86_400));
        let sleeps = |state: &mut State| !state.asked && state.wakes == wakes;
        let (state, _) = self
            .state
            .1
            .wait_timeout_while(self.lock(), wait, sleeps)
            .unwrap_or_else(PoisonError::into_inner);
        state.asked
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.state.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_wakes_when_stopping_is_asked_for() {
        let stop = Stop::default();
        assert!(!stop.sleep_until(Instant::now() + Duration::from_millis(5), 0));
        let other = stop.clone();
        let sleeper =
            std::thread::spawn(move || other.sleep_until(Instant::now() + Duration::from_secs(60), 0));
        stop.ask();
        assert!(sleeper.join().unwrap());
        assert!(stop.is_asked());
    }

    #[test]
    fn a_sleeper_misses_nothing_new() {
        let stop = Stop::default();
        let (wakes, start) = (stop.wakes(), Instant::now());
        stop.wake();
        assert!(!stop.sleep_until(start + Duration::from_secs(60), wakes));
        assert!(start.elapsed() < Duration::from_secs(30), "it was woken before it slept");
    }
}
