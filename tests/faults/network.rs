//! A network and a host that are not well: every request broken in turn, rate limits, a token that ends.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{
    place::{Place, complete, settled},
    scenario,
};
use crate::support::{
    controls::{Fault, matches},
    github::Token,
    http::Response,
    scene::{REPO, Scene, TOKEN},
};

/// Breaks every request of a run once, the reads and the writes; the run goes on by itself.
fn break_every_request(fault: &Fault) {
    let scenario = scenario::NEWER;
    let (clean, _) = scenario.clean();
    let (scene, _) = scenario.set();
    scene.github.controls().log.take();
    complete(&scene);
    let requests = scene.requests();
    for (n, request) in requests.iter().enumerate() {
        let (scene, _) = scenario.set();
        scene.github.controls().rules.fault_nth("*", "*", n, 1, fault.clone());
        let done = scene.run().done().never_says(TOKEN);
        assert_eq!(done.status.code(), Some(0), "{request}: {fault:?}\n{done}");
        assert_eq!(Place::of(&scene), clean, "{request}: {fault:?}\n{done}");
    }
}

#[test]
fn a_bad_gateway_at_any_request() {
    break_every_request(&Fault::Answer(Response::text(502, "Bad Gateway")));
}

#[test]
fn a_dropped_connection_at_any_request() {
    break_every_request(&Fault::DropBefore);
}

#[test]
fn an_answer_cut_at_any_request() {
    break_every_request(&Fault::CutAnswer(30));
}

#[test]
fn a_feed_that_fails_once_is_asked_again() {
    let (clean, _) = scenario::FIRST.clean();
    for path in ["/version.json", "/edge/index.yaml", "/repos/*"] {
        for fault in [Fault::Answer(Response::text(503, "later")), Fault::DropBefore, Fault::CutAnswer(20)] {
            let (scene, _) = scenario::FIRST.set();
            scene.feed.controls().rules.fault("GET", path, fault.clone());
            let done = scene.run().done().exits(0);
            assert_eq!(Place::of(&scene), clean, "{path}: {fault:?}\n{done}");
        }
    }
}

#[test]
fn a_connection_cut_in_mid_push() {
    let (clean, _) = scenario::FIRST.clean();
    for bytes in [0, 40, 400] {
        let (scene, _) = scenario::FIRST.set();
        scene.github.controls().rules.fault("POST", "*/git-receive-pack", Fault::CutUpload(bytes));
        let done = scene.run().done();
        assert!(matches!(done.status.code(), Some(0 | 5)), "{bytes}\n{done}");
        complete(&scene);
        assert_eq!(Place::of(&scene), clean, "{bytes}\n{done}");
    }
    // A push that is cut each time is a failure outside, and the branch is not there.
    let (scene, _) = scenario::FIRST.set();
    let rules = &scene.github.controls().rules;
    rules.fault_nth("POST", "*/git-receive-pack", 0, usize::MAX, Fault::CutUpload(40));
    let done = scene.run().done().exits(5);
    assert_eq!(scene.repo.branches().len(), 1, "{done}");
    assert!(scene.github.pulls(REPO).is_empty());
    complete(&scene);
    assert_eq!(Place::of(&scene), clean);
}

fn limited(wait: &str) -> Response {
    let words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
    let body = serde_json::json!({"message": words, "documentation_url": "https://docs.github.com/rest"});
    Response::json(403, &body).with("Retry-After", wait)
}

/// The pause is taken between the refusal and the next try of the same request, as the host sees them: what else the run
/// does, and how long that takes, has no part in it.
#[test]
fn a_short_secondary_limit_is_waited_for() {
    let (clean, _) = scenario::FIRST.clean();
    for (method, path) in [("POST", "*/pulls"), ("GET", "*/pulls?*"), ("POST", "*/labels")] {
        let (scene, _) = scenario::FIRST.set();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let rules = &scene.github.controls().rules;
        rules.before_each(method, path, move |_| kept.lock().unwrap().push(Instant::now()));
        rules.fault(method, path, Fault::Answer(limited("2")));
        let done = scene.run().arg("-v").done().exits(0).complains(&["rate limit", "seconds=2"]);
        let asked = asked.lock().unwrap().clone();
        let pause = asked[1].duration_since(asked[0]);
        assert!(pause >= Duration::from_secs(2), "{path}: asked again after {pause:?}\n{done}");
        assert_eq!(Place::of(&scene), clean, "{path}\n{done}");
        settled(&scene);
    }
}

#[test]
fn a_long_secondary_limit_ends_the_run_and_says_until_when() {
    let (clean, _) = scenario::FIRST.clean();
    for (method, path) in [("POST", "*/pulls"), ("GET", "*/pulls?*"), ("POST", "*/statuses/*")] {
        let (scene, _) = scenario::FIRST.set();
        let date = httpdate();
        let answer = limited("3600").with("Date", date);
        scene.github.controls().rules.fault_nth(method, path, 0, usize::MAX, Fault::Answer(answer));
        let start = Instant::now();
        let done = scene.run().done().exits(5).complains(&["rate limit", "until"]);
        assert!(start.elapsed() < Duration::from_secs(30), "{path}: it does not wait for an hour");
        let asked = scene.github.controls().log.lines();
        let asked = asked.iter().filter(|line| matches(&format!("{method} {path}"), line)).count();
        assert_eq!(asked, 1, "{path}: a limit is not argued with\n{done}");
        complete(&scene);
        assert_eq!(Place::of(&scene), clean, "{path}\n{done}");
    }
}

/// Now, as servers write it.
fn httpdate() -> String {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn in_seconds(seconds: u64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    i64::try_from(now + seconds).unwrap()
}

#[test]
fn a_spent_primary_limit_ends_the_run_at_any_request_and_says_until_when() {
    let (clean, _) = scenario::FIRST.clean();
    let mut ended = 0;
    for allowed in 0..20 {
        let (scene, _) = scenario::FIRST.set();
        scene.github.limit(allowed, in_seconds(3600));
        let done = scene.run().done();
        if done.status.code() == Some(0) {
            break;
        }
        ended += 1;
        let done = done.exits(5).complains(&["rate limit", "until"]);
        scene.github.limit(5000, in_seconds(3600));
        complete(&scene);
        assert_eq!(Place::of(&scene), clean, "{allowed}\n{done}");
    }
    assert!(ended >= 5, "each request of the API met the limit once: {ended}");
}

#[test]
fn a_token_that_ends_in_the_middle() {
    let (clean, _) = scenario::FIRST.clean();
    for (method, path) in [
        ("POST", "*/git-receive-pack"),
        ("POST", "*/statuses/*"),
        ("POST", "*/pulls"),
        ("PATCH", "*/pulls/*"),
    ] {
        let scenario = if method == "PATCH" { scenario::NEWER } else { scenario::FIRST };
        let (scene, _) = scenario.set();
        let words = serde_json::json!({"message": "Bad credentials", "status": "401"});
        let refused = Response::json(401, &words).with("WWW-Authenticate", "Basic realm=\"GitHub\"");
        scene.github.controls().rules.fault_nth(method, path, 0, usize::MAX, Fault::Answer(refused));
        let done = scene.run().done().exits(1).complains(&["token"]).never_says(TOKEN);
        scene.github.token(TOKEN, Token::actions());
        complete(&scene);
        match method {
            "PATCH" => assert_eq!(Place::of(&scene), scenario.clean().0, "{path}\n{done}"),
            _ => assert_eq!(Place::of(&scene), clean, "{path}\n{done}"),
        }
        settled(&scene);
    }
}

#[test]
fn a_host_that_is_down_is_a_temporary_failure() {
    let (scene, _) = scenario::FIRST.set();
    let down = Fault::Answer(Response::text(503, "Service Unavailable"));
    scene.github.controls().rules.fault_nth("*", "*", 0, usize::MAX, down);
    let done = scene.run().done().exits(5).complains(&["503"]);
    assert_eq!(scene.repo.branches().len(), 1, "{done}");
    only_reads(&scene);
}

fn only_reads(scene: &Scene) {
    assert_eq!(scene.github.controls().writes.count(), 0);
}
