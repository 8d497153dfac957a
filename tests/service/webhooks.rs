//! Webhooks: a forge tells that there is news, and soon there is a pull request; anybody else tells nothing.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::Sha256;

use super::daemon::{Daemon, prepared, until};
use crate::support::{
    mesh::{CONTROL_PLANE, CRDS, MESH, SOURCES, WEB},
    repo::{ADA, put},
    scene::{REPO, Scene, TOKEN},
};

const SECRET: &str = "the-secret-of-the-webhooks-0123456789";

fn signed(body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap().chain_update(body);
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

fn push_to(url: &str) -> Vec<u8> {
    let after = format!("{:x}", url.len());
    json!({"ref": "refs/heads/main", "after": after, "repository": {"clone_url": url}})
        .to_string()
        .into_bytes()
}

/// The scene's repository at the newest release, and a daemon that has nothing to do.
fn idle() -> (Scene, Daemon) {
    let newest = |text: &str| text.replace("edge-26.8.2", "edge-26.8.3").replace("2026.8.2", "2026.8.3");
    let texts = [SOURCES, CRDS, CONTROL_PLANE, WEB].map(newest);
    let files: Vec<(&str, &str)> =
        MESH.iter().zip(&texts).map(|((path, _), text)| (*path, text.as_str())).collect();
    let scene = Scene::new(&files);
    let daemon = Daemon::start(prepared(&scene).env("UPLINKER_WEBHOOK_SECRET", SECRET));
    until("the first pass", || daemon.passes("success") == 1);
    (scene, daemon)
}

fn send(daemon: &Daemon, id: &str, event: &str, body: &[u8]) -> u16 {
    let signature = signed(body);
    let headers =
        [("X-GitHub-Event", event), ("X-GitHub-Delivery", id), ("X-Hub-Signature-256", signature.as_str())];
    daemon.ask("POST", "/webhook", &headers, body).status
}

#[test]
fn a_push_is_a_pull_request_within_two_seconds() {
    let (scene, daemon) = idle();
    let changes: Vec<_> = MESH.iter().map(|(path, text)| put(path, text)).collect();
    let _ = scene.repo.commit("main", &ADA, "Go back", &changes);
    let start = Instant::now();
    assert_eq!(send(&daemon, "1", "push", &push_to(&scene.github.url(REPO))), 202);
    until("the pull request", || !scene.github.pulls(REPO).is_empty());
    let taken = start.elapsed();
    // A busy machine takes longer over all that it does.
    let other = Scene::new(MESH);
    let start = Instant::now();
    let _ = other.run().done().exits(0).prints(&["opened http://"]);
    let limit = Duration::from_secs(2).max(2 * start.elapsed());
    assert!(taken < limit, "{taken:?} of {limit:?}");
    daemon.running.terminate();
    let _ = daemon.running.done().exits(0).never_says(SECRET).never_says(TOKEN);
}

#[test]
fn a_burst_is_one_pass_and_a_replay_none() {
    let (scene, daemon) = idle();
    let url = scene.github.url(REPO);
    let delivery = |n: usize| json!({"n": n, "repository": {"clone_url": url}}).to_string().into_bytes();
    for n in 0..30 {
        let event = ["push", "pull_request", "status", "check_run"][n % 4];
        assert_eq!(send(&daemon, &n.to_string(), event, &delivery(n)), 202);
    }
    until("the second pass", || daemon.passes("success") == 2);
    for n in 0..30 {
        let id = if n % 2 == 0 { n.to_string() } else { format!("new-{n}") };
        assert_eq!(send(&daemon, &id, "push", &delivery(n)), 409);
    }
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(daemon.passes("success"), 2);
    let count = |result: &str| daemon.metric(&format!("uplinker_webhooks_total{{result=\"{result}\"}}"));
    assert_eq!((count("taken"), count("repeated")), (Some(30.0), Some(30.0)));
}

#[test]
fn what_is_not_from_the_forge_or_about_nothing_changes_nothing() {
    let (scene, daemon) = idle();
    let url = scene.github.url(REPO);
    let body = push_to(&url);
    let other = signed(b"another body");
    let proper = signed(&body);
    for signature in ["", "sha256=", "sha256=00", other.as_str(), proper.trim_start_matches("sha256=")] {
        let headers = [("X-GitHub-Event", "push"), ("X-Hub-Signature-256", signature)];
        let answer = daemon.ask("POST", "/webhook", &headers, &body);
        assert_eq!((answer.status, answer.body.len()), (401, 0), "{signature}");
    }
    assert_eq!(daemon.ask("POST", "/webhook", &[], &body).status, 401);
    assert_eq!(daemon.ask("GET", "/webhook", &[], b"").status, 405);
    assert_eq!(send(&daemon, "1", "ping", &body), 204);
    assert_eq!(send(&daemon, "2", "star", &body), 204);
    let unknown = push_to(&scene.github.url("acme/secret-plans"));
    let signature = signed(&unknown);
    let headers = [("X-GitHub-Event", "push"), ("X-Hub-Signature-256", signature.as_str())];
    let answer = daemon.ask("POST", "/webhook", &headers, &unknown);
    assert_eq!((answer.status, answer.body.len()), (404, 0));
    assert_eq!(send(&daemon, "3", "push", b"{"), 400);
    // The first of two: what is announced, and what is sent.
    let huge = vec![b' '; (1 << 20) + 1];
    assert_eq!(send(&daemon, "4", "push", &huge), 413);
    let mut socket = TcpStream::connect(daemon.address).unwrap();
    socket.write_all(b"POST /webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[b'a'; 0x10000], b"\r\n"].concat();
    let mut sent = 0;
    while sent < 64 && socket.write_all(&chunk).is_ok() {
        sent += 1;
    }
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(daemon.passes("success"), 1);
    daemon.running.terminate();
    let _ = daemon.running.done().exits(0);
}

#[test]
fn without_a_secret_there_is_no_door_and_a_weak_one_is_refused() {
    let scene = Scene::new(MESH);
    let daemon = Daemon::start(prepared(&scene));
    let body = push_to(&scene.github.url(REPO));
    assert_eq!(send(&daemon, "1", "push", &body), 404);
    let weak = prepared(&scene).env("UPLINKER_WEBHOOK_SECRET", "hunter2").done().exits(2);
    let _ = weak.complains(&["shorter than 16 characters", "openssl rand"]).never_says("hunter2");
}

#[test]
fn a_delivery_that_is_under_way_is_answered_when_the_daemon_stops() {
    let (scene, daemon) = idle();
    let body = push_to(&scene.github.url(REPO));
    let head = format!(
        "POST /webhook HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: push\r\nX-Hub-Signature-256: {}\r\nContent-Length: {}\r\n\r\n",
        signed(&body),
        body.len()
    );
    let mut socket = TcpStream::connect(daemon.address).unwrap();
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(&body[..10]).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    daemon.running.terminate();
    std::thread::sleep(Duration::from_secs(1));
    socket.write_all(&body[10..]).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    let start = Instant::now();
    let _ = daemon.running.done().exits(0).complains(&["stopped"]);
    assert!(start.elapsed() < Duration::from_secs(9), "nobody else is waited for");
}
