//! Feeds that are broken, too large, late, or something else altogether.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::bad_input::{mesh, with_feeds, writes_nothing};
use crate::support::{
    controls::Fault,
    feed::{failing, html, huge, release},
    http::Response,
    process::Done,
    scene::Scene,
};

const INDEX: &str = "/edge/index.yaml";

/// A run with one feed broken for good.
fn with_broken(pattern: &str, fault: Fault) -> (Scene, Done) {
    let scene = mesh();
    scene.feed.break_always(pattern, fault);
    let done = writes_nothing(&scene, scene.run());
    (scene, done)
}

fn page(text: &str) -> Fault {
    Fault::Answer(Response::text(200, text))
}

/// Without an index nothing is ready: the hold names the feed and what is wrong with it.
#[test]
fn an_index_that_cannot_be_read_holds_and_says_why() {
    let scalar = "apiVersion: v1\nentries: none\n";
    let cases: [(Fault, &str); 6] = [
        (page("apiVersion: v1\nentries: [\n"), "not a Helm index: entries"),
        (page(scalar), "index"),
        (page(""), "index"),
        (html(), "HTML"),
        (huge(33 << 20), "33554432 bytes"),
        (page(&format!("entries: {}", "[".repeat(100_000))), "nested too deeply"),
    ];
    for (fault, why) in cases {
        let (scene, done) = with_broken(INDEX, fault);
        let done = done.exits(0).prints(&["waits until the chart index can be read", why]);
        assert!(done.stdout.contains(&scene.feed.charts()), "the feed is named\n{done}");
    }
}

#[test]
fn an_index_without_end_is_cut_off_at_the_ceiling() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let sent = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&sent);
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a client");
        let _ = socket.read(&mut [0; 4096]);
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        let chunk = [b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat();
        while socket.write_all(&chunk).is_ok() {
            counter.fetch_add(0x10000, Ordering::SeqCst);
        }
    });
    let scene = mesh();
    let flags = scene.feed.flags().into_iter().filter(|flag| !flag.starts_with("--charts-url"));
    let own = format!("--charts-url=http://{address}/index.yaml");
    let run = with_feeds(&scene, &flags.chain([own]).collect::<Vec<_>>());
    let _ = writes_nothing(&scene, run).exits(0).prints(&["larger than 33554432 bytes", "waits until"]);
    server.join().expect("the server");
    assert!(sent.load(Ordering::SeqCst) < 64 << 20, "it read on: {} bytes", sent.load(Ordering::SeqCst));
}

#[test]
fn other_feeds_that_are_not_what_they_should_be() {
    for fault in [html(), page("[{\"tag_name\": "), page("null"), page("[1, {}, []]"), huge(17 << 20)] {
        // Dates and advice are missing then; the charts are there, and no soak time asks for a date.
        let scene = mesh();
        scene.feed.break_always("/repos/*", fault);
        let done = scene.run().done().exits(0).prints(&["edge-26.8.3"]);
        assert!(scene.only_pull().title.contains("edge-26.8.3"), "{done}");
    }
    let scene = mesh();
    scene.feed.break_always("/repos/*", failing(500));
    scene.feed.break_always("/version.json", html());
    let _ = scene.run().done().exits(0).prints(&["edge-26.8.3"]);
}

#[test]
fn feeds_that_all_fail_are_a_temporary_failure() {
    let scene = mesh();
    scene.feed.break_always("*", failing(503));
    let done = writes_nothing(&scene, scene.run()).exits(5);
    for feed in ["caused by: versioncheck: ", "caused by: charts: ", "caused by: releases: ", "503", "hint:"]
    {
        assert!(done.stderr.contains(feed), "{feed}\n{done}");
    }
    assert!(scene.requests().is_empty(), "without releases the host is not asked at all");
}

#[test]
fn feeds_that_are_all_something_else_are_a_failure_that_stays() {
    let scene = mesh();
    scene.feed.break_always("*", html());
    let _ =
        writes_nothing(&scene, scene.run()).exits(1).complains(&["HTML", "check the addresses of the feeds"]);
}

#[test]
fn feeds_that_nobody_serves() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("its address").port()
    };
    let scene = mesh();
    let url = |flag: &str| format!("--{flag}-url=http://127.0.0.1:{port}/x");
    let run = with_feeds(&scene, &["versioncheck", "charts", "releases"].map(url));
    let _ = writes_nothing(&scene, run)
        .exits(5)
        .complains(&[&format!("127.0.0.1:{port}"), "hint: try again later"]);
}

#[test]
fn feeds_that_are_all_off() {
    let scene = mesh();
    let off = |flag: &str| format!("--{flag}-url=off");
    let run = with_feeds(&scene, &["versioncheck", "charts", "releases"].map(off));
    let _ = writes_nothing(&scene, run).exits(2).complains(&["every release feed is off", "--charts-url"]);
}

#[test]
fn files_as_feeds_that_are_not_there() {
    let scene = mesh();
    let file = |flag: &str| format!("--{flag}-url=file:///nonexistent/feed");
    let run = with_feeds(&scene, &["versioncheck", "charts", "releases"].map(file));
    let _ = writes_nothing(&scene, run).exits(1).complains(&["/nonexistent/feed", "No such file"]);
}

/// An entry that makes no sense is passed over and named; the others count.
#[test]
fn an_entry_that_makes_no_sense_is_named() {
    let scene = mesh();
    let index = "apiVersion: v1\nentries:\n  linkerd-crds:\n  - {urls: [x.tgz], digest: abc}\n  - {version: 2026.8.3, urls: []}\n  \
                 - nonsense\n  linkerd-viz: &a [*a]\n";
    scene.feed.break_always(INDEX, page(index));
    let done = writes_nothing(&scene, scene.run()).exits(0);
    for text in ["the chart index", "linkerd-crds has no version", "2026.8.3 has no usable address"] {
        assert!(done.stdout.contains(text), "{text}\n{done}");
    }
    let releases = scene.home.run(["releases"]).args(scene.feed.flags()).done().exits(0);
    let _ = releases.prints(&["note: the chart index: linkerd-crds 2026.8.3 has no usable address"]);
}

/// The index lags behind the release: what is missing is named, and so is the release.
#[test]
fn a_chart_that_is_not_in_the_index_yet_is_waited_for() {
    let scene = mesh();
    scene
        .feed
        .publish(release("edge-26.8.3", "2026-08-15T09:00:00Z").charts(&["linkerd-crds", "linkerd-viz"]));
    let run = scene.run().args(["--to", "edge-26.8.3"]);
    let _ = writes_nothing(&scene, run)
        .exits(0)
        .prints(&["edge-26.8.3 waits until the chart index has linkerd-control-plane"]);
}

/// A digest is needed where a chart is opened, and nothing opens one to move a version.
#[test]
fn an_index_without_digests_moves_pins_and_claims_none() {
    let scene = mesh();
    scene.feed.publish(release("edge-26.8.3", "2026-08-15T09:00:00Z").without_digests());
    let _ = scene.run().done().exits(0).prints(&["edge-26.8.3"]);
    let message = scene.repo.message(crate::bad_input::PLATFORM);
    assert!(message.contains("Linkerd-Version: edge-26.8.3"), "{message}");
    assert!(!message.contains("sha256:"), "a digest that nobody named: {message}");
}
