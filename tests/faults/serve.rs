//! The daemon: signals in the middle of a pass, one catalog for many repositories, and a repository that fails.

use std::{
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use super::{
    place::{Place, complete, settled},
    scenario,
};
use crate::support::{
    feed::failing,
    process::{Home, Run, Running},
    scene::{Scene, TOKEN},
};

/// The longest that a test waits for the daemon to get somewhere: its first passes are spread over some seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// A gate in the server at which a request waits until the test lets it pass.
#[derive(Default)]
struct Gate {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

// === impl Gate ===

impl Gate {
    /// In the server: tells that a request is here, and waits.
    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 = true;
        self.changed.notify_all();
        drop(self.changed.wait_timeout_while(state, LIMIT, |(_, open)| !*open).unwrap());
    }

    /// In the test: waits until a request is here.
    fn reached(&self) {
        let state = self.state.lock().unwrap();
        let (state, waited) = self.changed.wait_timeout_while(state, LIMIT, |(here, _)| !*here).unwrap();
        drop(state);
        assert!(!waited.timed_out(), "no request came");
    }

    fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

fn serve(scene: &Scene, home: &Home, repositories: &[&str]) -> Run {
    let urls: Vec<String> = repositories.iter().map(|name| scene.github.url(name)).collect();
    let run = home.run(["serve", "--interval", "1m", "--forge", "github"]).args(urls);
    run.args(scene.feed.flags()).env("UPLINKER_TOKEN", TOKEN)
}

/// Starts the daemon and holds it at its first pull request.
fn held_in_a_pass(scene: &Scene) -> (Running, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let inside = Arc::clone(&gate);
    scene.github.controls().rules.before("POST", "*/pulls", move |_| inside.pass());
    let running = serve(scene, &scene.home, &["acme/config"]).start();
    gate.reached();
    (running, gate)
}

#[test]
fn a_signal_lets_the_pass_end() {
    let (clean, _) = scenario::FIRST.clean();
    let (scene, _) = scenario::FIRST.set();
    let (running, gate) = held_in_a_pass(&scene);
    running.terminate();
    gate.open();
    let start = Instant::now();
    let done = running.done().exits(0).complains(&["stopped"]).never_says(TOKEN);
    assert!(start.elapsed() < Duration::from_secs(30), "it does not wait for the next pass");
    assert_eq!(Place::of(&scene), clean, "{done}");
    settled(&scene);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let (clean, _) = scenario::FIRST.clean();
    let (scene, _) = scenario::FIRST.set();
    let (running, gate) = held_in_a_pass(&scene);
    running.terminate();
    // The first has to have been taken before the second is sent: two that wait are one.
    let start = Instant::now();
    while running.pid().is_some() && start.elapsed() < LIMIT {
        running.terminate();
        std::thread::sleep(Duration::from_millis(20));
    }
    let done = running.done().exits(143);
    gate.open();
    complete(&scene);
    assert_eq!(Place::of(&scene), clean, "{done}");
    settled(&scene);
}

#[test]
fn many_repositories_share_a_catalog_and_one_that_fails_stops_nobody() {
    let (scene, _) = scenario::FIRST.set();
    let sound = ["acme/one", "acme/two", "acme/three", "acme/four", "acme/five"];
    let files = [
        ("source.yaml", scenario::SOURCE),
        ("crds.yaml", scenario::CRDS),
        ("cp.yaml", scenario::CONTROL_PLANE),
    ];
    for name in sound {
        scene.github.repo(name, &files);
    }
    scene.github.repo("acme/broken", &[("uplinker.yaml", "versoin: 1\n"), ("crds.yaml", scenario::CRDS)]);
    scene.feed.controls().log.take();
    let mut all = vec!["acme/gone", "acme/broken"];
    all.extend(sound);
    let running = serve(&scene, &scene.home, &all).start();
    let start = Instant::now();
    let complete = || sound.iter().all(|name| scene.github.pulls(name).len() == 1);
    while !complete() && start.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(50));
    }
    // The two that fail may be the last to have their turn.
    let tried =
        || ["/acme/gone.git/*", "/acme/broken.git/*"].map(|p| scene.github.controls().log.count("*", p));
    while tried().contains(&0) && start.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(50));
    }
    running.terminate();
    let done = running.done().exits(0).never_says(TOKEN);
    assert!(complete(), "{done}");
    let done = done.complains(&["acme/gone", "acme/broken", "versoin"]);
    for name in sound {
        assert!(done.stdout.contains(name), "{name} is reported\n{done}");
    }
    let mut asked = scene.feed.controls().log.lines();
    let count = asked.len();
    asked.sort();
    asked.dedup();
    assert!(count > 0 && asked.len() == count, "each feed is read once for all: {asked:#?}");
    for name in sound {
        let pulls = scene.github.pulls(name);
        assert!(pulls.len() == 1 && pulls[0].open, "{name}: {pulls:#?}");
    }
}

#[test]
fn feeds_that_are_down_are_asked_once_for_many_repositories() {
    let (scene, _) = scenario::FIRST.set();
    scene.feed.break_always("*", failing(404));
    scene.feed.controls().log.take();
    let names = ["acme/config", "acme/two", "acme/three", "acme/four"];
    let running = serve(&scene, &scene.home, &names).start();
    // The first passes are spread over six seconds, and a failure counts for thirty.
    std::thread::sleep(Duration::from_secs(12));
    running.terminate();
    let done = running.done().exits(0);
    assert_eq!(done.stderr.matches("no feed tells of any release").count(), names.len(), "{done}");
    assert_eq!(scene.feed.controls().log.entries().len(), 3, "{:#?}", scene.feed.controls().log.lines());
}
