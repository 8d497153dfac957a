//! Probes: it lives, it works, it stops.

use std::{
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use super::daemon::{Daemon, LIMIT, prepared, until};
use crate::support::{
    controls::Fault,
    feed::failing,
    http::Response,
    mesh::MESH,
    scene::{REPO, Scene, TOKEN},
};

#[test]
fn it_lives_at_once_and_is_ready_when_it_works() {
    let scene = Scene::new(MESH);
    scene.feed.break_always("*", failing(500));
    // So that the first question comes before the first pass has ended.
    scene.feed.controls().rules.before("GET", "*", |_| std::thread::sleep(Duration::from_secs(2)));
    let daemon = Daemon::start(prepared(&scene));
    assert_eq!(daemon.get("/healthz").status, 200);
    let unready = daemon.get("/readyz");
    assert_eq!(
        (unready.status, unready.as_text().as_str()),
        (503, "starting: 0 of 1 repositories had a pass\n")
    );
    until("readiness", || daemon.get("/readyz").status == 200);
    assert_eq!(daemon.passes("temporary"), 1, "every repository was tried");
    daemon.running.terminate();
    let _ = daemon.running.done().exits(0).never_says(TOKEN);
}

#[test]
fn a_healthcheck_needs_no_shell() {
    let scene = Scene::new(MESH);
    let daemon = Daemon::start(prepared(&scene));
    let asked = |address: &str| scene.home.run(["healthcheck", "--listen", address]);
    let port = daemon.address.port();
    let _ = asked(&daemon.address.to_string()).done().exits(0).prints(&[]);
    let by_variable = scene.home.run(["healthcheck"]).env("UPLINKER_LISTEN", format!(":{port}"));
    // A proxy is not asked for what is on this machine.
    let _ = by_variable.env("HTTP_PROXY", "http://127.0.0.1:1").done().exits(0);
    daemon.running.terminate();
    let _ = daemon.running.done().exits(0);
    let _ = asked(&format!("127.0.0.1:{port}")).done().exits(1).complains(&["127.0.0.1"]);
    let _ = scene.home.run(["healthcheck"]).done().exits(2).complains(&["UPLINKER_LISTEN"]);
    let _ = asked("nowhere").done().exits(2).complains(&["write an address and a port"]);
}

#[test]
fn an_address_that_is_taken_is_told_before_anything_is_done() {
    let scene = Scene::new(MESH);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = scene.github.url(REPO);
    let address = taken.local_addr().unwrap().to_string();
    let run = scene.home.run(["serve", "--listen", &address, &url]).args(scene.feed.flags());
    let _ = run.env("UPLINKER_TOKEN", TOKEN).done().exits(2).complains(&["cannot listen on", "--listen"]);
    assert_eq!(scene.requests(), Vec::<String>::new());
}

#[test]
fn a_signal_makes_it_unready_while_the_pass_ends() {
    let scene = Scene::new(MESH);
    let gate = Arc::new((Mutex::new((false, false)), Condvar::new()));
    let inside = Arc::clone(&gate);
    scene.github.controls().rules.before("POST", "*/pulls", move |_| {
        let (state, changed) = &*inside;
        state.lock().unwrap().0 = true;
        changed.notify_all();
        drop(changed.wait_timeout_while(state.lock().unwrap(), LIMIT, |(_, open)| !*open).unwrap());
    });
    let daemon = Daemon::start(prepared(&scene));
    until("the pass", || gate.0.lock().unwrap().0);
    daemon.running.terminate();
    until("the end of readiness", || daemon.get("/readyz").as_text() == "stopping\n");
    assert_eq!(daemon.get("/healthz").status, 200, "it lives until the pass has ended");
    gate.0.lock().unwrap().1 = true;
    gate.1.notify_all();
    let _ = daemon.running.done().exits(0).complains(&["stopped"]);
    assert_eq!(scene.github.pulls(REPO).len(), 1, "the pass ended");
}

#[test]
fn a_forge_that_fails_is_told_and_recovers() {
    let scene = Scene::new(MESH);
    scene.github.controls().rules.fault_nth(
        "*",
        "*",
        0,
        usize::MAX,
        Fault::Answer(Response::text(500, "out of order")),
    );
    let daemon = Daemon::start(prepared(&scene));
    until("a pass that fails", || daemon.passes("temporary") == 1);
    assert_eq!(daemon.metric("uplinker_repositories_failing"), Some(1.0));
    assert_eq!(daemon.get("/readyz").status, 200, "three intervals are not over");
    daemon.running.terminate();
    let _ = daemon.running.done().exits(0).complains(&["500"]);
}
