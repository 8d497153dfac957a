//! A first run on a 20,000-file, 300 MB repository, against `git clone --bare --depth 1` of the same URL; then the base
//! moves without touching a pin, against `git fetch --depth 1` into the same kind of cache.

use std::process::Command;

use tempfile::TempDir;

use crate::{
    Scale, fixture, measure,
    measure::Cost,
    support::{feed::Feed, git_server::GitServer, repo::BareRepo, scene},
    table::{Amount, Row},
};

const ROUNDS: usize = 5;
const REPO: &str = "acme/large";
/// Bytes of one file.
const SIZE: usize = 15 << 10;

/// The servers, and the repository on them.
struct Host {
    git: GitServer,
    feed: Feed,
    repo: BareRepo,
}

/// Measures both.
pub fn rows(scale: &Scale) -> Vec<Row> {
    let files = scale.of(20_000);
    let host = Host::new(files);
    let (mut floor, mut ours, mut traffic) = (Vec::new(), Vec::new(), (0.0, 0.0));
    for round in 0..=ROUNDS {
        let home = tempfile::tempdir().expect("a temporary folder");
        let git = measure::run(&host.clone_command(&home), home.path(), 0);
        traffic.0 = host.bytes();
        let run = measure::run(&host.run_command(&home), home.path(), 0);
        traffic.1 = host.bytes();
        host.forget_proposal();
        // The first round warms the file system's cache and does not count.
        if round > 0 {
            floor.push(git);
            ours.push(run);
        }
    }
    let size = (files * SIZE) >> 20;
    let mut rows = vec![
        Row::times(
            format!("first run on {files} files, {size} MB, against `git clone --bare --depth 1`"),
            Amount::Seconds(measure::wall(&floor)),
            Amount::Seconds(measure::wall(&ours)),
            1.3,
        ),
        Row::times("its bytes on the wire", Amount::Bytes(traffic.0), Amount::Bytes(traffic.1), 1.3),
    ];
    report(&floor, &ours);
    rows.push(host.base_moves());
    rows
}

fn report(floor: &[Cost], ours: &[Cost]) {
    let cpu = (measure::cpu(floor), measure::cpu(ours));
    let peak = measure::peak(ours) / f64::from(1 << 20);
    eprintln!("  processor time: git {:.2} s, uplinker {:.2} s; peak memory {peak:.0} MB", cpu.0, cpu.1);
}

// === impl Host ===

impl Host {
    fn new(files: usize) -> Self {
        let git = GitServer::start();
        let repo = BareRepo::empty(git.path_of(REPO), "main");
        fixture::import(repo.path(), "main", fixture::random(files, SIZE).chain(fixture::platform()));
        Self { git, feed: Feed::start(&scene::releases()), repo }
    }

    fn clone_command(&self, home: &TempDir) -> Command {
        let mut git = measure::program("git", home.path());
        git.args(["clone", "--quiet", "--bare", "--depth", "1", &self.git.url(REPO), "clone.git"]);
        git
    }

    fn run_command(&self, home: &TempDir) -> Command {
        let mut run = measure::uplinker(home.path());
        run.args(["run", "--repo", &self.git.url(REPO), "--forge", "directory:proposals"]);
        run.args(self.feed.flags());
        run
    }

    /// Returns the bytes that Git moved since the last call, both ways.
    fn bytes(&self) -> f64 {
        let entries = self.git.controls().log.take();
        entries.iter().map(|e| e.bytes_in + e.bytes_out).sum::<usize>() as f64
    }

    /// Makes the next run a first run.
    fn forget_proposal(&self) {
        assert!(self.repo.tip(scene::PLATFORM).is_some(), "the run pushed its branch");
        self.repo.delete_branch(scene::PLATFORM);
    }

    /// Moves the base by twenty files of which no pin is one.
    fn base_moves(&self) -> Row {
        let home = tempfile::tempdir().expect("a temporary folder");
        measure::run(&self.clone_command(&home), home.path(), 0);
        measure::run(&self.run_command(&home), home.path(), 0);
        let changes = fixture::random(100, SIZE).skip(40).take(20).map(|mut file| {
            file.content.reverse();
            file
        });
        fixture::import(self.repo.path(), "main", changes);
        self.bytes();
        let mut fetch = measure::program("git", &home.path().join("clone.git"));
        fetch.args(["fetch", "--quiet", "--depth", "1", "origin", "main"]);
        measure::run(&fetch, home.path(), 0);
        let floor = self.bytes();
        measure::run(&self.run_command(&home), home.path(), 0);
        let log = self.git.controls().log.entries();
        assert!(!log.iter().any(|e| e.target.contains("receive-pack")), "nothing is pushed: {log:?}");
        Row::times(
            "base moved, no pin touched, against `git fetch --depth 1`",
            Amount::Bytes(floor),
            Amount::Bytes(self.bytes()),
            1.2,
        )
    }
}
