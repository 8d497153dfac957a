//! What is written elsewhere than over HTTP: a remote behind SSH, and the cache. Ended at each step, found by a counter.

use std::{fs, path::PathBuf};

use super::{
    place::{Place, complete, settled},
    scenario::{self, CONTROL_PLANE, CRDS, SOURCE, Scenario},
};
use crate::support::{
    feed::Feed,
    process::{Done, Home},
    repo::BareRepo,
    scene::{PLATFORM, Scene, releases},
    ssh_server::SshServer,
    steps,
};

/// A remote behind SSH, with the folder for its proposals.
struct Far {
    server: SshServer,
    home: Home,
    feed: Feed,
    repo: BareRepo,
}

// === impl Far ===

impl Far {
    fn new() -> Self {
        let (home, server) = (Home::new(), SshServer::start());
        let files = [("source.yaml", SOURCE), ("crds.yaml", CRDS), ("control-plane.yaml", CONTROL_PLANE)];
        let repo = BareRepo::with_files(home.path().join("config.git"), "main", &files);
        let far = Self { server, home, feed: Feed::start(&releases()), repo };
        far.know(&far.server.known_host());
        far
    }

    /// Writes the user's own list of known hosts.
    fn know(&self, text: &str) {
        let folder = self.home.path().join(".ssh");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("known_hosts"), text).unwrap();
    }

    /// Runs; a hook of the repository is told which process it is.
    fn run(&self) -> Done {
        let url = self.server.url(self.repo.path());
        let run =
            self.home.run(["run", "--repo", &url, "--forge", "directory:proposals"]).args(self.feed.flags());
        let running = run.env("SSH_AUTH_SOCK", self.server.agent_socket()).start();
        let pid = running.pid().map(|pid| pid.to_string()).unwrap_or_default();
        fs::write(self.process(), format!("{pid}\n")).unwrap();
        let done = running.done();
        fs::remove_file(self.process()).unwrap();
        done
    }

    fn process(&self) -> PathBuf {
        self.home.path().join("process")
    }

    /// Kills the client in a hook of the server.
    fn kill_in(&self, hook: &str, code: u8) {
        let process = self.process().display().to_string();
        let script = format!(
            "while [ ! -s '{process}' ]; do sleep 0.01; done\nkill -KILL \"$(cat '{process}')\"\nexit {code}"
        );
        self.repo.install_hook(hook, &script);
    }

    fn check(&self) {
        let mut wanted = self.repo.files("main");
        for path in ["crds.yaml", "control-plane.yaml"] {
            let text = String::from_utf8(wanted[path].clone()).unwrap().replace("2026.8.2", "2026.8.3");
            wanted.insert(path.to_owned(), text.into_bytes());
        }
        assert_eq!(self.repo.files(PLATFORM), wanted);
        assert_eq!(self.repo.ahead("main", PLATFORM), 1);
        let record = fs::read_to_string(self.home.path().join("proposals/1/pull.json")).unwrap();
        assert!(
            record.contains("\"open\"") && record.contains(&self.repo.tip(PLATFORM).unwrap().to_string())
        );
        assert!(!self.home.path().join("proposals/2").exists(), "there is one proposal");
    }
}

#[test]
fn killed_around_a_push_over_ssh() {
    let clean = Far::new();
    let done = clean.run().exits(0);
    clean.check();
    let tip = clean.repo.tip(PLATFORM);
    for (hook, code, applied) in [("pre-receive", 1, false), ("post-receive", 0, true)] {
        let far = Far::new();
        far.kill_in(hook, code);
        let killed = far.run();
        assert!(killed.was_killed(), "{hook}\n{killed}");
        far.repo.remove_hook(hook);
        assert_eq!(far.repo.tip(PLATFORM).is_some(), applied, "{hook}\n{killed}");
        let _ = far.run().exits(0);
        far.check();
        assert_eq!(far.repo.tip(PLATFORM), tip, "{hook}\n{done}");
        let _ = far.run().exits(0).prints(&["nothing to do"]);
        far.check();
    }
}

/// The program as it is started: the user's agent and the user's own list of known hosts.
#[test]
fn a_server_that_the_user_does_not_know_gets_nothing() {
    let far = Far::new();
    for list in [String::new(), far.server.false_host()] {
        far.know(&list);
        let _ = far.run().exits(2).complains(&["known hosts"]);
        assert_eq!(far.repo.branches().len(), 1);
        assert_eq!(fs::read_to_string(far.home.path().join(".ssh/known_hosts")).unwrap(), list);
    }
    far.know(&far.server.known_host());
    let _ = far.run().exits(0);
    far.check();
}

/// Ends a run before its steps on the cache, each `every`-th of them; the next one has to end where a run ends that
/// nobody stopped.
fn end_in_the_cache(scenario: Scenario, every: usize, most: usize) {
    let (clean, _) = scenario.clean();
    let (scene, _) = scenario.set();
    // The home holds the cache, and what is laid out for Helm.
    let counted = |scene: &Scene, end| steps::run(scene.run(), &[scene.home.path()], end);
    let whole = counted(&scene, None);
    assert_eq!(whole.done.status.code(), Some(0), "{}", whole.done);
    let count = whole.steps.len();
    let in_cache = whole.steps.iter().filter(|step| step.contains("/.cache/")).count();
    assert!(in_cache > 10, "it writes to the cache: {:#?}", whole.steps);
    assert!(count / every < most, "{count} steps: {:#?}", whole.steps);
    for n in (1..=count).step_by(every) {
        let (scene, kept) = scenario.set();
        let counted = counted(&scene, Some(n));
        let case = format!("step {n} of {count}: {}", counted.steps.last().map_or("none", String::as_str));
        // Threads of Helm's make a few steps more or less.
        assert!(counted.done.was_killed() || n + 8 > count, "{case}\n{}", counted.done);
        let again = complete(&scene);
        assert_eq!(Place::of(&scene), clean, "{case}\n{}\n{again}", counted.done);
        scenario::check_kept(&scene, &kept);
        if n % 5 == 0 {
            settled(&scene);
        }
    }
}

#[test]
fn ended_at_a_write_to_the_cache_of_a_first_run() {
    end_in_the_cache(scenario::FIRST, 3, 60);
}

#[test]
fn ended_at_a_write_to_a_cache_that_is_there() {
    end_in_the_cache(scenario::NEWER, 3, 60);
}

#[test]
fn ended_at_a_write_while_manifests_are_made_again() {
    end_in_the_cache(scenario::RENDERING, 9, 60);
}
