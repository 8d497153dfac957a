//! A token is nowhere but in the header of a request to its own host.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::promises::{files_below, holds};
use crate::support::{
    controls::Fault,
    http::Response,
    mesh::MESH,
    scene::{PLATFORM, REPO, Scene, TOKEN},
};

/// The forms in which a token could be written down: as it is, and as a header carries it.
fn forms() -> Vec<Vec<u8>> {
    let basic = |user: &str| base64(format!("{user}:{TOKEN}").as_bytes()).into_bytes();
    vec![TOKEN.as_bytes().to_vec(), basic("x-access-token"), base64(TOKEN.as_bytes()).into_bytes()]
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in bytes.chunks(3) {
        let word =
            part.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for n in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * n)) as usize & 63];
            out.push(if n <= part.len() { letter.into() } else { '=' });
        }
    }
    out
}

fn has_token(bytes: &[u8]) -> bool {
    forms().iter().any(|form| holds(bytes, form))
}

/// Looks at everything that a run left: its home with the cache, the repository, the pull request, the requests.
fn searched(scene: &Scene, what: &str) {
    for (path, bytes) in files_below(scene.home.path()).into_iter().chain(files_below(scene.repo.path())) {
        assert!(!has_token(&bytes), "{what}: {} holds the token", path.display());
        assert!(!has_token(path.to_string_lossy().as_bytes()), "{what}: {}", path.display());
    }
    let repo = scene.repo.open();
    let odb = repo.odb().expect("objects");
    odb.foreach(|id| {
        assert!(!has_token(odb.read(*id).expect("an object").data()), "{what}: object {id} holds the token");
        true
    })
    .expect("all objects");
    for entry in scene.github.controls().log.entries().iter().chain(&scene.feed.controls().log.entries()) {
        let text = format!("{} {:?}", entry.line(), entry.body);
        assert!(!has_token(text.as_bytes()), "{what}: {text}");
    }
}

#[test]
fn base64_is_base64() {
    assert_eq!(
        ["", "f", "fo", "foo", "foobar"].map(|t| base64(t.as_bytes())),
        ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYmFy"]
    );
}

#[test]
fn nothing_that_a_run_leaves_or_says_holds_the_token() {
    for args in [&["-v"][..], &["-vv"], &["-v", "--format", "json"], &["--format", "markdown"]] {
        let scene = Scene::new(MESH);
        let run = scene.run().args(args).env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full");
        let done = run.done().exits(0);
        assert!(!has_token(done.stdout.as_bytes()) && !has_token(done.stderr.as_bytes()), "{done}");
        let pull = scene.only_pull();
        assert!(!has_token(format!("{pull:?}").as_bytes()));
        searched(&scene, &format!("{args:?}"));
    }
}

/// A server that gives back what it was sent cannot make us show it.
#[test]
fn errors_do_not_hold_the_token() {
    let echo = |status: u16| Fault::Answer(Response::text(status, format!("no: {TOKEN}\nBearer {TOKEN}")));
    for (method, pattern, status) in [
        ("GET", "*/info/refs*", 500),
        ("GET", "*/info/refs*", 403),
        ("POST", "*/git-upload-pack", 500),
        ("POST", "*/git-receive-pack", 403),
        ("GET", "*/pulls*", 403),
        ("POST", "*/pulls", 422),
        ("POST", "*/pulls", 400),
    ] {
        let scene = Scene::new(MESH);
        scene.github.controls().rules.fault_nth(method, pattern, 0, usize::MAX, echo(status));
        let done = scene.run().arg("-vv").done();
        assert_ne!(done.status.code(), Some(0), "{done}");
        assert!(
            !has_token(done.stdout.as_bytes()) && !has_token(done.stderr.as_bytes()),
            "{pattern} {status}\n{done}"
        );
        searched(&scene, &format!("{method} {pattern} {status}"));
    }
}

#[test]
fn a_token_from_a_file_is_kept_the_same() {
    let scene = Scene::new(MESH);
    let elsewhere = tempfile::tempdir().expect("a folder");
    let file = elsewhere.path().join("token");
    fs::write(&file, format!("{TOKEN}\n")).expect("a file");
    let run = scene.run().env("UPLINKER_TOKEN", "").arg("--token-file").arg(&file).arg("-vv");
    let done = run.done().exits(0);
    assert!(!has_token(done.stdout.as_bytes()) && !has_token(done.stderr.as_bytes()), "{done}");
    searched(&scene, "--token-file");
}

/// While a run waits for an answer, its arguments are looked at, and no child of it is there to inherit anything.
#[test]
fn other_processes_do_not_see_the_token() {
    let scene = Scene::new(MESH);
    scene.github.controls().rules.fault("POST", "*/git-receive-pack", Fault::Hang);
    let seen = Arc::new(Mutex::new(false));
    let told = Arc::clone(&seen);
    scene
        .github
        .controls()
        .rules
        .before("POST", "*/git-receive-pack", move |_| *told.lock().expect("no poison") = true);
    let running = scene.run().start();
    let start = Instant::now();
    while !*seen.lock().expect("no poison") {
        assert!(start.elapsed() < Duration::from_secs(60), "it never pushed");
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = running.pid().expect("it runs");
    let line = fs::read(format!("/proc/{pid}/cmdline")).expect("its arguments");
    assert!(!has_token(&line) && line.starts_with(b"/"), "{}", String::from_utf8_lossy(&line));
    for task in fs::read_dir(format!("/proc/{pid}/task")).expect("its threads").filter_map(Result::ok) {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        assert_eq!(children.trim(), "", "a run starts no program");
    }
    running.kill();
    let _ = running.done();
}

/// Sends what matches to another host for good.
fn redirect(scene: &Scene, method: &str, pattern: &str, to: &str) {
    let answer = Response::text(302, "").with("Location", to);
    scene.github.controls().rules.fault_nth(method, pattern, 0, usize::MAX, Fault::Answer(answer));
}

#[test]
fn a_redirect_to_another_host_carries_no_token() {
    for (pattern, path) in [
        ("*/info/refs?service=git-upload-pack", "/acme/config.git/info/refs?service=git-upload-pack"),
        ("*/info/refs?service=git-receive-pack", "/acme/config.git/info/refs?service=git-receive-pack"),
        ("/api/v3/*", "/api/v3/repos/acme/config/pulls"),
    ] {
        let scene = Scene::new(MESH);
        let other = crate::promises::hosts::Listener::start();
        // Another name of the loopback is another host.
        redirect(&scene, "GET", pattern, &format!("http://localhost:{}{path}", other.port()));
        let done = scene.run().done();
        assert!(!has_token(done.stderr.as_bytes()), "{done}");
        for request in other.heard() {
            assert!(
                !request.to_lowercase().contains("authorization:") && !has_token(request.as_bytes()),
                "{request}"
            );
        }
        assert!(scene.repo.tip(PLATFORM).is_none() || pattern.starts_with("/api"), "{done}");
    }
}

#[test]
fn a_feed_gets_no_token_and_a_redirect_of_it_neither() {
    let scene = Scene::new(MESH);
    let other = crate::promises::hosts::Listener::start();
    let answer = Response::text(302, "").with("Location", format!("http://localhost:{}/x", other.port()));
    for pattern in ["/repos/*", "/edge/index.yaml", "/version.json"] {
        scene.feed.break_always(pattern, Fault::Answer(answer.clone()));
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    scene.feed.controls().rules.before_each("*", "*", move |request| {
        kept.lock().expect("no poison").push(format!("{:?}", request.headers));
    });
    let done = scene.run().done();
    assert!(!has_token(done.stderr.as_bytes()), "{done}");
    let seen = seen.lock().expect("no poison").clone();
    assert!(!seen.is_empty() && !other.heard().is_empty(), "nothing was asked, so nothing is shown\n{done}");
    for text in seen.iter().chain(&other.heard()) {
        assert!(!has_token(text.as_bytes()) && !text.to_lowercase().contains("authorization"), "{text}");
    }
    assert_eq!(scene.github.pulls(REPO).len(), 0);
}
