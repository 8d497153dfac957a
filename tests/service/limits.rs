//! What a stranger on the network may do: little, and not for long.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use super::daemon::{Daemon, prepared};
use crate::support::{mesh::MESH, scene::Scene};

fn talk(daemon: &Daemon, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(daemon.address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // The other side may hang up while this is sent.
    let _ = socket.write_all(bytes);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn paths_and_methods_that_are_none_are_refused() {
    let scene = Scene::new(MESH);
    let daemon = Daemon::start(prepared(&scene));
    for path in ["/nowhere", "/../etc/passwd", "/healthz/", "/%2e%2e/metrics", "//"] {
        let answer = daemon.get(path);
        assert_eq!((answer.status, answer.body.len()), (404, 0), "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "TRACE", "BREW"] {
        assert_eq!(daemon.ask(method, "/healthz", &[], b"").status, 405, "{method}");
    }
    for answer in [daemon.get("/healthz"), daemon.get("/nowhere"), daemon.get("/metrics")] {
        assert!(
            answer.header("content-security-policy").is_some_and(|v| v.starts_with("default-src 'none'"))
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[test]
fn what_is_no_http_or_too_large_is_hung_up_on() {
    let scene = Scene::new(MESH);
    let daemon = Daemon::start(prepared(&scene));
    assert!(talk(&daemon, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello").starts_with("HTTP/1.1 400"));
    let huge = [b"GET /healthz HTTP/1.1\r\nX: ".as_slice(), &vec![b'a'; 1 << 20]].concat();
    let answer = talk(&daemon, &huge);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert_eq!(daemon.get("/healthz").status, 200);
}

#[test]
fn who_sends_nothing_keeps_nobody_out() {
    let scene = Scene::new(MESH);
    let daemon = Daemon::start(prepared(&scene));
    // More than there are seats.
    let silent: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(daemon.address).unwrap()).collect();
    let start = Instant::now();
    assert_eq!(daemon.get("/healthz").status, 200);
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    drop(silent);
    daemon.running.terminate();
    let _ = daemon.running.done().exits(0);
}
