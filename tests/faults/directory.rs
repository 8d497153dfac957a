//! The forge that is a folder: killed at any moment, and two runs at once.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use git2::Oid;

use super::scenario::{CONTROL_PLANE, CRDS, SOURCE};
use crate::support::{
    feed::{Feed, release},
    process::{Home, Run},
    repo::{ADA, BareRepo, put},
    scene::{PLATFORM, releases, unaddressed},
    steps,
};

/// A bare remote on this machine, with the folder for its proposals.
struct World {
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

// === impl World ===

impl World {
    fn new() -> Self {
        let home = Home::new();
        let files = [("source.yaml", SOURCE), ("crds.yaml", CRDS), ("control-plane.yaml", CONTROL_PLANE)];
        // The same place in each scene's home, so that what names it is the same.
        let repo = BareRepo::with_files(home.path().join("config.git"), "main", &files);
        Self { home, feed: Feed::start(&releases()), repo }
    }

    /// With an open proposal and a newer release.
    fn with_a_newer_release() -> Self {
        let world = Self::new();
        let _ = world.run().done().exits(0);
        world.feed.publish(release("edge-26.8.4", "2026-08-22T09:00:00Z"));
        let touched = CRDS.replace("interval: 1h", "interval: 2h");
        world.repo.commit("main", &ADA, "Ask less often", &[put("crds.yaml", &touched)]);
        world
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

    /// What has to be there in the end, from what went in: the base with its two pins moved, and one open proposal.
    fn check(&self, to: &str) {
        let mut wanted = self.repo.files("main");
        for path in ["crds.yaml", "control-plane.yaml"] {
            let text = String::from_utf8(wanted[path].clone()).unwrap().replace("2026.8.2", to);
            wanted.insert(path.to_owned(), text.into_bytes());
        }
        assert_eq!(self.repo.files(PLATFORM), wanted);
        let place = self.place();
        assert_eq!(place.files.keys().collect::<Vec<_>>(), ["N/body.md", "N/changes.patch", "N/pull.json"]);
        let record: serde_json::Value =
            serde_json::from_str(&place.files["N/pull.json"].replace(": N,", ": 1,")).unwrap();
        let tip = self.repo.tip(PLATFORM).unwrap().to_string();
        assert_eq!((record["state"].as_str(), record["commit"].as_str()), (Some("open"), Some(tip.as_str())));
        assert!(place.files["N/changes.patch"].contains(&format!("+      version: {to}")));
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
                let text = unaddressed(&text, &home).replace(&number, "\"number\": N,");
                assert_eq!(files.insert(path, text), None, "there is one proposal");
            }
        }
        Place { refs: self.repo.refs(), files }
    }
}

#[test]
fn a_base_that_moves_elsewhere_is_not_taken_back_by_the_patch() {
    let world = World::new();
    let _ = world.run().done().exits(0);
    let before = world.place().files;
    assert!(before["N/changes.patch"].contains("+      version: 2026.8.3"), "{before:?}");
    world.repo.commit("main", &ADA, "Elsewhere", &[put("docs/notes.md", "Something.\n")]);
    let _ = world.run().done().exits(0).prints(&["nothing to do"]);
    assert_eq!(world.place().files, before);
}

#[test]
fn a_plan_knows_what_was_declined_and_leaves_no_trace() {
    let world = World::new();
    let _ = world.run().done().exits(0);
    assert!(world.plan().contains("nothing to do, "));
    fs::remove_file(world.proposals().join(".uplinker-lock")).unwrap();
    let record = world.proposals().join("1/pull.json");
    let text = fs::read_to_string(&record).unwrap().replace("\"open\"", "\"closed\"");
    fs::write(&record, text).unwrap();
    assert!(world.plan().contains("edge-26.8.3 was declined in #1"));
    assert!(!world.proposals().join(".uplinker-lock").exists());
    world.feed.publish(release("edge-26.8.4", "2026-08-22T09:00:00Z"));
    assert!(world.plan().contains("edge-26.8.2 → edge-26.8.4: would be proposed"));
}

/// Ends a run before each of its steps on the remote and the proposals, in turn; the next one has to end where a run
/// ends that nobody stopped.
fn end_before_every_step(make: fn() -> World, to: &str) {
    let world = make();
    let shared = |world: &World| [world.repo.path().to_owned(), world.proposals()];
    let counted = |world: &World, end| {
        let shared = shared(world);
        steps::run(world.run(), &[&shared[0], &shared[1]], end)
    };
    let whole = counted(&world, None);
    let count = whole.steps.len();
    assert_eq!(whole.done.status.code(), Some(0), "{}", whole.done);
    assert!(count > 20 && whole.steps.iter().any(|step| step.ends_with("pull.json")), "{:#?}", whole.steps);
    let clean = world.place();
    world.check(to);
    for n in 1..=count {
        let world = make();
        let counted = counted(&world, Some(n));
        let case = format!("step {n} of {count}: {}", counted.steps.last().map_or("none", String::as_str));
        assert!(counted.done.was_killed() && counted.steps.len() >= n, "{case}\n{}", counted.done);
        let again = world.run().done().exits(0);
        assert_eq!(world.place(), clean, "{case}\n{}\n{again}", counted.done);
        if n % 4 == 0 {
            let last = world.run().done().exits(0);
            assert_eq!(world.place(), clean, "{case}\n{last}");
        }
    }
}

#[test]
fn ended_before_any_step_while_the_first_is_made() {
    end_before_every_step(World::new, "2026.8.3");
}

#[test]
fn ended_before_any_step_while_it_is_moved() {
    end_before_every_step(World::with_a_newer_release, "2026.8.4");
}

#[test]
fn two_at_once_make_one_proposal() {
    for make in [World::new, World::with_a_newer_release] {
        let world = make();
        let _ = world.run().done().exits(0);
        let clean = world.place();
        for n in 0..16 {
            let world = make();
            let first = world.run().start();
            std::thread::sleep(Duration::from_millis(n * 3));
            let second = world.run().start();
            for done in [first.done(), second.done()] {
                assert!(matches!(done.status.code(), Some(0 | 5)), "{done}");
            }
            let last = world.run().done().exits(0);
            assert_eq!(world.place(), clean, "{n}\n{last}");
            assert_eq!(world.repo.branches().len(), 2);
            assert!(world.repo.tip(PLATFORM).is_some());
        }
    }
}
