//! Runs at the same time, held back at each write until the others are at one too.

use std::{
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use super::{
    place::{Place, run_from, settled},
    scenario::{self, Scenario, check_kept},
};
use crate::support::{controls::Victim, http::Request, process::Home};

/// The longest that a write is held back. Only a run that has ended or waits by itself makes the others wait so long.
const LONGEST: Duration = Duration::from_secs(2);

/// Lets writes pass only when every run that is still going is at one.
#[derive(Default)]
struct Meeting {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Runs that have not ended.
    going: usize,
    arrived: usize,
    round: usize,
}

// === impl Meeting ===

impl Meeting {
    fn arrive(&self) {
        let mut state = self.state.lock().unwrap();
        state.arrived += 1;
        let round = state.round;
        if state.arrived >= state.going {
            return self.open(&mut state);
        }
        let (mut state, waited) =
            self.changed.wait_timeout_while(state, LONGEST, |state| state.round == round).unwrap();
        if waited.timed_out() {
            self.open(&mut state);
        }
    }

    fn leave(&self) {
        let mut state = self.state.lock().unwrap();
        state.going -= 1;
        if state.arrived > 0 && state.arrived >= state.going {
            self.open(&mut state);
        }
    }

    fn open(&self, state: &mut State) {
        state.arrived = 0;
        state.round += 1;
        self.changed.notify_all();
    }
}

fn is_write(request: &Request) -> bool {
    request.method != "GET" && !request.path.ends_with("/git-upload-pack")
}

/// Starts that many runs, each from its own home or all from one, and lets them meet at every write.
fn run_together(scenario: Scenario, runs: usize, one_home: bool) {
    let (clean, _) = scenario.clean();
    let (scene, kept) = scenario.set();
    let meeting = Arc::new(Meeting::default());
    meeting.state.lock().unwrap().going = runs;
    let at_writes = Arc::clone(&meeting);
    scene.github.controls().rules.before_each("*", "*", move |request| {
        if is_write(request) {
            at_writes.arrive();
        }
    });
    let homes: Vec<Home> = (0..runs).map(|_| Home::new()).collect();
    let done: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = homes
            .iter()
            .map(|home| {
                let run = match one_home {
                    // A victim of its own: the scene's cell holds one process.
                    true => scene.run().victim(&Victim::default()),
                    false => run_from(&scene, home),
                };
                let meeting = &meeting;
                scope.spawn(move || {
                    let done = run.done();
                    meeting.leave();
                    done
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for one in &done {
        assert!(matches!(one.status.code(), Some(0 | 5)), "{one}");
    }
    assert!(done.iter().any(|one| one.status.code() == Some(0)), "somebody gets through\n{done:#?}");
    assert_eq!(Place::of(&scene), clean, "{done:#?}");
    check_kept(&scene, &kept);
    settled(&scene);
    assert_eq!(Place::of(&scene), clean);
}

#[test]
fn two_open_the_first_pull_request() {
    run_together(scenario::FIRST, 2, false);
    run_together(scenario::FIRST, 2, true);
}

#[test]
fn three_open_the_first_pull_request() {
    run_together(scenario::FIRST, 3, false);
    run_together(scenario::FIRST, 3, true);
}

#[test]
fn two_move_the_open_one() {
    for scenario in [scenario::NEWER, scenario::REPLACED, scenario::BASE_TOUCHED, scenario::LEFT_BEHIND] {
        run_together(scenario, 2, false);
    }
    run_together(scenario::NEWER, 3, true);
}

#[test]
fn two_close_it_and_two_hand_it_back() {
    for scenario in [scenario::CLOSE, scenario::DECLINED, scenario::PERSON, scenario::HANDED_BACK] {
        run_together(scenario, 2, false);
    }
}

#[test]
fn two_open_the_data_plane_s() {
    run_together(scenario::FOLLOWING, 2, true);
}

#[test]
fn two_have_github_sign_theirs_and_one_gets_through() {
    for scenario in [scenario::FIRST, scenario::NEWER, scenario::REPLACED] {
        run_together(scenario.signed(), 2, false);
    }
}
