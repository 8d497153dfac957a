//! A daemon over many repositories for several rounds: what it asks, and what it takes. `UPLINKER_FLEET` says how many they
//! are, and `scripts/fleet` runs it; without it nothing is done, since the shortest interval is a minute.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{
    super::support::{
        mesh::{CONTROL_PLANE, CRDS, MESH, SOURCES, WEB},
        scene::{Scene, TOKEN},
    },
    daemon::Daemon,
};

/// The rounds after the first.
const ROUNDS: u64 = 4;

/// The memory of a process, in megabytes.
fn memory(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

/// Waits for so many passes.
fn until_passed(daemon: &Daemon, passes: u64) {
    let start = Instant::now();
    while daemon.passes("success") < passes {
        assert!(start.elapsed() < Duration::from_secs(600), "{}", daemon.running.stderr());
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// How often each repository was asked about, the busiest first.
fn asked(scene: &Scene, names: &[String]) -> Vec<(usize, String)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in scene.requests() {
        let name = names
            .iter()
            .find(|name| line.contains(&format!("{name}.git/")) || line.contains(&format!("{name}/")));
        *counts.entry(name.map_or("", String::as_str)).or_default() += 1;
    }
    let mut all: Vec<_> = counts.into_iter().map(|(name, count)| (count, name.to_owned())).collect();
    all.sort_by(|a, b| b.cmp(a));
    all
}

#[test]
fn many_repositories_cost_little_and_no_more_with_time() {
    let Some(many) = std::env::var("UPLINKER_FLEET").ok().and_then(|text| text.parse::<u64>().ok()) else {
        return;
    };
    let newest = |text: &str| text.replace("edge-26.8.2", "edge-26.8.3").replace("2026.8.2", "2026.8.3");
    let texts = [SOURCES, CRDS, CONTROL_PLANE, WEB].map(newest);
    let files: Vec<(&str, &str)> =
        MESH.iter().zip(&texts).map(|((path, _), text)| (*path, text.as_str())).collect();
    let scene = Scene::new(MESH);
    let names: Vec<String> = (0..many).map(|n| format!("fleet/r{n:04}x")).collect();
    // Every tenth has a pull request to be opened, which stays open.
    for (n, name) in names.iter().enumerate() {
        scene.github.repo(name, if n % 10 == 0 { MESH } else { &files });
    }
    let list: String = names.iter().map(|name| format!("{}\n", scene.github.url(name))).collect();
    let file = scene.home.path().join("repositories");
    std::fs::write(&file, list).unwrap();
    let run = scene.home.run(["serve", "--interval", "1m", "--listen", "127.0.0.1:0", "--forge", "github"]);
    let run = run.arg("--repos-file").arg(file).args(scene.feed.flags()).env("UPLINKER_TOKEN", TOKEN);
    let start = Instant::now();
    let daemon = Daemon::start(run);
    until_passed(&daemon, many);
    eprintln!(
        "first round of {many}: {:.0} s, {:.1} MB",
        start.elapsed().as_secs_f64(),
        memory(daemon.running.pid().unwrap())
    );
    let _ = (scene.requests(), scene.feed.controls().log.take());
    let mut sizes = Vec::new();
    for round in 1..=ROUNDS {
        let begin = Instant::now();
        until_passed(&daemon, many * (round + 1));
        let (most, feeds) = (asked(&scene, &names), scene.feed.controls().log.take().len());
        let all: usize = most.iter().map(|(count, _)| count).sum();
        sizes.push(memory(daemon.running.pid().unwrap()));
        eprintln!(
            "round {round}: {:.0} s, {all} requests, {:.2} a repository, the most {:?}, {feeds} of the feeds, {:.1} MB",
            begin.elapsed().as_secs_f64(),
            all as f64 / many as f64,
            most.first(),
            sizes.last().unwrap()
        );
        assert!(all as u64 <= 2 * many + many / 10, "at most two a repository and pass");
        // Two feeds, read when half an interval has passed; a round may last a little longer than an interval.
        assert!(feeds <= 8, "{feeds}");
    }
    let page = daemon.get("/").body.len();
    eprintln!(
        "the first page has {} kB; the pass took {:?} s in all",
        page / 1024,
        daemon.metric("uplinker_pass_duration_seconds_sum")
    );
    let (first, last) = (sizes[0], *sizes.last().unwrap());
    assert!(last < first * 1.1 + 4.0, "memory grows: {sizes:?}");
    daemon.running.terminate();
    let _ = daemon.running.done().exits(0);
}
