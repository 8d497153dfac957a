//! The forge that is a folder: killed at any moment, and two runs at once.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use git2::Oid;

use super::{
    scenario::{CONTROL_PLANE, CRDS, SOURCE},
    support::{
        feed::{Feed, release},
        process::{Home, Run},
        repo::{ADA, BareRepo, put},
        scene::{PLATFORM, releases},
    },
};

const KILLS: u32 = 30;

/// A bare remote on this machine, with the folder for its proposals.
struct Desk {
    home: Home,
    feed: Feed,
    repo: BareRepo,
}

/// Refs, and the files of all proposals.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    refs: BTreeMap<String, Oid>,
    files: BTreeMap<String, String>,
}

// === impl Desk ===

impl Desk {
    fn new() -> Self {
        let home = Home::new();
        let files = [("source.yaml", SOURCE), ("crds.yaml", CRDS), ("control-plane.yaml", CONTROL_PLANE)];
        // The same place in each scene's home, so that what names it is the same.
        let repo = BareRepo::with_files(home.path().join("config.git"), "main", &files);
        Self { home, feed: Feed::start(&releases()), repo }
    }

    /// With an open proposal and a newer release.
    fn with_a_newer_release() -> Self {
        let desk = Self::new();
        let _ = desk.run().done().exits(0);
        desk.feed.publish(release("edge-26.8.4", "2026-08-22T09:00:00Z"));
        let touched = CRDS.replace("interval: 1h", "interval: 2h");
        desk.repo.commit("main", &ADA, "Ask less often", &[put("crds.yaml", &touched)]);
        desk
    }

    fn run(&self) -> Run {
        self.command("run", "config.git")
    }

    fn command(&self, name: &str, repo: &str) -> Run {
        self.home.run([name, "--repo", repo, "--forge", "directory:proposals"]).args(self.feed.flags())
    }

    /// What a plan says; it writes nothing.
    fn plan(&self) -> String {
        let place = self.place();
        let done = self.command("plan", "config.git").done().exits(0);
        let url = format!("file://{}", self.repo.path().display());
        let by_url = self.command("plan", &url).done().exits(0).stdout.replace("file://", "");
        assert_eq!(
            by_url.lines().skip(1).collect::<Vec<_>>(),
            done.stdout.lines().skip(1).collect::<Vec<_>>()
        );
        assert_eq!(self.place(), place, "{done}");
        done.stdout
    }

    fn proposals(&self) -> PathBuf {
        self.home.path().join("proposals")
    }

    fn place(&self) -> Place {
        let mut files = BTreeMap::new();
        let home = self.home.path().to_string_lossy().into_owned();
        for folder in fs::read_dir(self.proposals()).unwrap().filter_map(Result::ok) {
            let name = folder.file_name().into_string().unwrap();
            if !folder.file_type().unwrap().is_dir() {
                continue;
            }
            // A run that was killed may have used a number up.
            let number = format!("\"number\": {name},");
            for file in fs::read_dir(folder.path()).unwrap().filter_map(Result::ok) {
                let path = format!("N/{}", file.file_name().into_string().unwrap());
                let text = fs::read_to_string(file.path()).unwrap();
                let text = text.replace(&home, "[HOME]").replace(&number, "\"number\": N,");
                assert_eq!(files.insert(path, text), None, "there is one proposal");
            }
        }
        Place { refs: self.repo.refs(), files }
    }
}

#[test]
fn a_base_that_moves_elsewhere_is_not_taken_back_by_the_patch() {
    let desk = Desk::new();
    let _ = desk.run().done().exits(0);
    let before = desk.place().files;
    assert!(before["N/changes.patch"].contains("+      version: 2026.8.3"), "{before:?}");
    desk.repo.commit("main", &ADA, "Elsewhere", &[put("docs/notes.md", "Something.\n")]);
    let _ = desk.run().done().exits(0).prints(&["nothing to do"]);
    assert_eq!(desk.place().files, before);
}

#[test]
fn a_plan_knows_what_was_declined_and_leaves_no_trace() {
    let desk = Desk::new();
    let _ = desk.run().done().exits(0);
    assert!(desk.plan().contains("nothing to do, "));
    fs::remove_file(desk.proposals().join(".uplinker-lock")).unwrap();
    let record = desk.proposals().join("1/pull.json");
    let text = fs::read_to_string(&record).unwrap().replace("\"open\"", "\"closed\"");
    fs::write(&record, text).unwrap();
    assert!(desk.plan().contains("edge-26.8.3 was declined in #1"));
    assert!(!desk.proposals().join(".uplinker-lock").exists());
    desk.feed.publish(release("edge-26.8.4", "2026-08-22T09:00:00Z"));
    assert!(desk.plan().contains("edge-26.8.2 → edge-26.8.4: would be proposed"));
}

fn kill_all_along(make: fn() -> Desk) {
    let desk = make();
    let start = Instant::now();
    let _ = desk.run().done().exits(0);
    let whole = start.elapsed();
    let clean = desk.place();
    assert_eq!(clean.files.keys().collect::<Vec<_>>(), ["N/body.md", "N/changes.patch", "N/pull.json"]);
    let mut killed = 0;
    for n in 0..KILLS / 2 {
        let desk = make();
        let running = desk.run().start();
        std::thread::sleep(whole * n / (KILLS / 2));
        running.kill();
        let done = running.done();
        killed += usize::from(done.was_killed());
        let again = desk.run().done().exits(0);
        assert_eq!(desk.place(), clean, "{n}\n{done}\n{again}");
        let last = desk.run().done().exits(0);
        assert_eq!(desk.place(), clean, "{n}\n{last}");
    }
    assert!(killed > 0, "runs are killed");
}

#[test]
fn killed_at_any_moment_while_the_first_is_made() {
    kill_all_along(Desk::new);
}

#[test]
fn killed_at_any_moment_while_it_is_moved() {
    kill_all_along(Desk::with_a_newer_release);
}

#[test]
fn two_at_once_make_one_proposal() {
    for make in [Desk::new, Desk::with_a_newer_release] {
        let desk = make();
        let _ = desk.run().done().exits(0);
        let clean = desk.place();
        for n in 0..16 {
            let desk = make();
            let first = desk.run().start();
            std::thread::sleep(Duration::from_millis(n * 3));
            let second = desk.run().start();
            for done in [first.done(), second.done()] {
                assert!(matches!(done.status.code(), Some(0 | 5)), "{done}");
            }
            let last = desk.run().done().exits(0);
            assert_eq!(desk.place(), clean, "{n}\n{last}");
            assert_eq!(desk.repo.branches().len(), 2);
            assert!(desk.repo.tip(PLATFORM).is_some());
        }
    }
}
