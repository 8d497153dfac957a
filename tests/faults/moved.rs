//! Branches that people move while a run is going on, at every one of its requests.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use git2::Oid;

use super::{
    place::{complete, settled},
    scenario::{self, Scenario, push_by_person, touch_base},
};
use crate::support::scene::{PLATFORM, Scene, TOKEN};

/// How many requests the host gets in the scenario's run.
fn requests(scenario: Scenario) -> usize {
    let (scene, _) = scenario.set();
    scene.github.controls().log.take();
    complete(&scene);
    scene.github.controls().log.take().len()
}

/// Runs with something that happens just before the n-th request is handled.
fn run_with(scene: &Scene, n: usize, event: impl Fn() + Send + Sync + 'static) -> String {
    let count = AtomicUsize::new(0);
    scene.github.controls().rules.before_each("*", "*", move |_| {
        if count.fetch_add(1, Ordering::SeqCst) + 1 == n {
            event();
        }
    });
    let done = scene.run().done().never_says(TOKEN);
    scene.github.controls().rules.clear();
    assert!(matches!(done.status.code(), Some(0 | 5)), "request {n}\n{done}");
    done.to_string()
}

/// Lets a person commit to our branch just before the n-th request of a run, if it is there; returns the commit, and
/// what this run and the next one said.
fn pushed_before(n: usize, scenario: Scenario) -> (Arc<Scene>, Option<Oid>, String) {
    let (scene, _) = scenario.set();
    let scene = Arc::new(scene);
    let theirs = Arc::new(Mutex::new(None));
    let (inside, pushed) = (Arc::downgrade(&scene), Arc::clone(&theirs));
    let said = run_with(&scene, n, move || {
        let scene = inside.upgrade().unwrap();
        let is_there = scene.repo.tip(PLATFORM).is_some();
        *pushed.lock().unwrap() = is_there.then(|| push_by_person(&scene));
    });
    let again = complete(&scene);
    let theirs = theirs.lock().unwrap().take();
    (scene, theirs, format!("request {n}\n{said}\n{again}"))
}

/// The person's files are still theirs, also after the next run, which tells them so.
fn a_person_pushes(scenario: Scenario) {
    for n in 1..=requests(scenario) {
        let (scene, theirs, said) = pushed_before(n, scenario);
        let theirs = theirs.expect("the person pushed");
        assert_eq!(scene.repo.tip(PLATFORM), Some(theirs), "a person's commit is gone: {said}");
        let pull = scene.only_pull();
        assert!(pull.body.unwrap_or_default().contains("uplinker:retake"), "{said}");
        if n % 4 == 0 {
            settled(&scene);
        }
    }
}

#[test]
fn a_person_pushes_while_a_newer_release_is_taken() {
    a_person_pushes(scenario::NEWER);
}

#[test]
fn a_person_pushes_while_one_commit_is_replaced() {
    a_person_pushes(scenario::REPLACED);
}

/// A commit that comes before the branch is deleted keeps it.
fn a_person_pushes_while_we_close(scenario: Scenario, stays_open: bool) {
    let mut pushes = 0;
    for n in 1..=requests(scenario) {
        let (scene, Some(theirs), said) = pushed_before(n, scenario) else { continue };
        pushes += 1;
        assert_eq!(scene.repo.tip(PLATFORM), Some(theirs), "{said}");
        assert_eq!(scene.only_pull().open, stays_open, "{said}");
        settled(&scene);
    }
    assert!(pushes > 3, "{pushes}");
}

#[test]
fn a_person_pushes_while_what_has_nothing_left_to_do_is_closed() {
    a_person_pushes_while_we_close(scenario::CLOSE, true);
}

#[test]
fn a_person_pushes_while_what_they_declined_is_closed() {
    a_person_pushes_while_we_close(scenario::DECLINED, false);
}

/// Lets the base branch move at every moment of a run.
fn the_base_moves(scenario: Scenario) {
    for n in 1..=requests(scenario) {
        let (scene, _) = scenario.set();
        let scene = Arc::new(scene);
        let inside = Arc::downgrade(&scene);
        let said = run_with(&scene, n, move || {
            touch_base(&inside.upgrade().unwrap());
        });
        let base = scene.repo.tip("main");
        let again = complete(&scene);
        assert_eq!(scene.repo.tip("main"), base, "the default branch is never written");
        let text = scene.repo.read(PLATFORM, "crds.yaml").unwrap();
        let wanted = scene.repo.read("main", "crds.yaml").unwrap();
        assert!(wanted.contains("interval: 2h"));
        let wanted = wanted.replace("2026.8.2", newest(&text));
        assert_eq!(text, wanted, "request {n}\n{said}\n{again}");
        assert_eq!(scene.repo.changed("main", PLATFORM), ["control-plane.yaml", "crds.yaml"], "request {n}");
        assert!(scene.only_pull().open);
        if n % 4 == 0 {
            settled(&scene);
        }
    }
}

fn newest(text: &str) -> &'static str {
    if text.contains("2026.8.4") { "2026.8.4" } else { "2026.8.3" }
}

#[test]
fn the_base_moves_while_the_first_is_opened() {
    the_base_moves(scenario::FIRST);
}

#[test]
fn the_base_moves_while_a_newer_release_is_taken() {
    the_base_moves(scenario::NEWER);
}
