//! The table of pull requests where the forge is a folder: a person merges a branch, or writes into `pull.json` and `body.md`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::{
    feed::{Feed, release},
    mesh::{MESH, mesh_and},
    process::{Home, Run},
    repo::{ADA, BEN, BareRepo, EPOCH, put},
    scene::{DATA_PLANE, PLATFORM, releases},
    ssh_server::SshServer,
};

/// Proxies stay out of it.
const IGNORED: &str = "version: 1\ndataPlane:\n  pins: ignore\n";
const CHARTS: [&str; 2] = ["linkerd/crds.yaml", "linkerd/control-plane.yaml"];

/// A bare remote on this machine, with the folder for its proposals.
struct World {
    home: Home,
    feed: Feed,
    repo: BareRepo,
}

// === impl World ===

impl World {
    fn configured(config: &str) -> Self {
        let home = Home::new();
        let files = mesh_and(&[("uplinker.yaml", config), ("notes.md", "Nothing about versions.\n")]);
        let repo = BareRepo::with_files(home.path().join("config.git"), "main", &files);
        Self { home, feed: Feed::start(&releases()), repo }
    }

    /// With an open proposal.
    fn opened() -> Self {
        let world = Self::configured(IGNORED);
        world.says(&["edge-26.8.2 → edge-26.8.3: opened "]);
        assert_eq!(world.record(1)["state"], "open");
        world.settles();
        world
    }

    fn command(&self, name: &str) -> Run {
        self.home
            .run([name, "--repo", "config.git", "--forge", "directory:proposals"])
            .args(self.feed.flags())
    }

    /// A run says so, and ends well.
    fn says(&self, words: &[&str]) {
        let _ = self.command("run").done().exits(0).prints(words);
    }

    fn proposal(&self, number: u64, file: &str) -> PathBuf {
        self.home.path().join(format!("proposals/{number}/{file}"))
    }

    fn record(&self, number: u64) -> Value {
        serde_json::from_str(&fs::read_to_string(self.proposal(number, "pull.json")).unwrap()).unwrap()
    }

    /// A person writes a state.
    fn set_state(&self, number: u64, state: &str) {
        let path = self.proposal(number, "pull.json");
        let text = fs::read_to_string(&path).unwrap();
        let was = format!("\"state\": {}", self.record(number)["state"]);
        fs::write(path, text.replacen(&was, &format!("\"state\": \"{state}\""), 1)).unwrap();
    }

    fn body(&self, number: u64) -> String {
        fs::read_to_string(self.proposal(number, "body.md")).unwrap()
    }

    /// A person ticks the box whose words begin so.
    fn ticks(&self, number: u64, words: &str) {
        let (body, start) = (self.body(number), format!("- [ ] {words}"));
        assert!(body.contains(&start), "{body}");
        fs::write(self.proposal(number, "body.md"), body.replacen(&start, &start.replace("[ ]", "[x]"), 1))
            .unwrap();
    }

    /// How many proposals there are.
    fn count(&self) -> usize {
        (1..).take_while(|number| self.proposal(*number, "pull.json").exists()).count()
    }

    /// Changes the pins of the base branch by hand.
    fn moves_pins(&self, from: &str, to: &str) {
        for path in CHARTS {
            let text = self.repo.read("main", path).unwrap().replace(from, to);
            self.repo.commit("main", &ADA, "By hand", &[put(path, &text)]);
        }
    }

    fn publish(&self, number: u32) {
        let day = format!("2026-08-{}T09:00:00Z", 12 + number);
        self.feed.publish(release(&format!("edge-26.8.{number}"), &day));
    }

    /// All that a run could change.
    fn all(&self) -> String {
        let texts = (1..=self.count() as u64).map(|n| format!("{:#}\n{}", self.record(n), self.body(n)));
        format!("{:?}\n{}", self.repo.refs(), texts.collect::<String>())
    }

    /// The open proposal has the pins of a release and nothing else beside what the base has.
    fn holds(&self, number: u64, wanted: &str, parents: &[git2::Oid]) {
        let record = self.record(number);
        let tip = self.repo.tip(PLATFORM).unwrap();
        assert_eq!((&record["state"], &record["commit"]), (&"open".into(), &tip.to_string().into()));
        assert!(record["title"].as_str().unwrap().contains(&format!("→ edge-{wanted}")), "{record}");
        assert_eq!(record["verify"]["commit"], record["commit"], "what verification said is of this head");
        let mut files = self.repo.files("main");
        for path in CHARTS {
            let text = String::from_utf8(files[path].clone()).unwrap().replace("26.8.2", wanted);
            files.insert(path.to_owned(), text.into_bytes());
        }
        assert_eq!(self.repo.files(PLATFORM), files);
        assert_eq!(self.repo.parents(PLATFORM), parents);
        self.settles();
    }

    /// A second run changes nothing, and neither does a plan.
    fn settles(&self) {
        let before = self.all();
        for name in ["run", "plan", "status"] {
            let _ = self.command(name).done().exits(0);
            assert_eq!(self.all(), before, "{name}");
        }
    }
}

#[test]
fn a_newer_release_moves_the_open_proposal() {
    let world = World::opened();
    let (base, first) = (world.repo.tip("main").unwrap(), world.repo.tip(PLATFORM).unwrap());
    world.holds(1, "26.8.3", &[base]);
    world.publish(4);
    world.says(&["edge-26.8.2 → edge-26.8.4: updated "]);
    assert_eq!(world.count(), 1);
    world.holds(1, "26.8.4", &[first]);
}

#[test]
fn a_base_that_moves_is_followed_where_it_matters_or_is_asked_for() {
    let world = World::opened();
    let first = world.repo.tip(PLATFORM).unwrap();
    world.repo.commit("main", &ADA, "Notes", &[put("notes.md", "Something else.\n")]);
    world.says(&["nothing to do"]);
    assert_eq!(world.repo.tip(PLATFORM), Some(first), "no file of the proposal was touched");
    world.ticks(1, "Apply this to the base branch");
    world.says(&["updated "]);
    let base = world.repo.tip("main").unwrap();
    world.holds(1, "26.8.3", &[first, base]);
    assert!(!world.body(1).contains("- [x]"));

    let second = world.repo.tip(PLATFORM).unwrap();
    let crds = world.repo.read("main", CHARTS[0]).unwrap().replace("30m", "60m");
    let base = world.repo.commit("main", &ADA, "Ask less often", &[put(CHARTS[0], &crds)]);
    world.says(&["updated "]);
    world.holds(1, "26.8.3", &[second, base]);
}

#[test]
fn a_persons_commit_stays_until_the_branch_is_handed_back() {
    let world = World::opened();
    let theirs = world.repo.commit(PLATFORM, &BEN, "Mine", &[put("mine.md", "Mine.\n")]);
    world.says(&["left alone, #1 has commits of a person"]);
    world.publish(4);
    world.says(&["left alone, #1 has commits of a person"]);
    assert_eq!(world.repo.tip(PLATFORM), Some(theirs));
    assert!(world.body(1).contains("uplinker:note"));
    world.settles();
    world.ticks(1, "Hand");
    world.says(&["updated "]);
    assert!(world.repo.contains(PLATFORM, theirs), "history stays");
    assert!(!world.body(1).contains("uplinker:note"));
    assert_eq!(world.record(1)["state"], "open");
    world.settles();
}

#[test]
fn a_state_that_a_person_writes_is_a_no_which_they_can_take_back() {
    let world = World::opened();
    world.set_state(1, "closed");
    world.says(&["left alone, edge-26.8.3 was declined in #1; the next release will be offered"]);
    world.settles();
    let status = world.command("status").done().exits(0);
    let _ = status.prints(&["edge-26.8.3 was declined in #1"]);
    world.set_state(1, "open");
    world.says(&["nothing to do"]);
    world.set_state(1, "closed");
    world.says(&["was declined in #1"]);
    world.publish(4);
    world.says(&["edge-26.8.2 → edge-26.8.4: opened "]);
    assert_eq!((world.count(), &world.record(1)["state"]), (2, &"closed".into()));
    world.settles();
}

#[test]
fn a_box_that_is_ticked_is_a_no_too() {
    let world = World::opened();
    world.ticks(1, "Skip");
    world.says(&["edge-26.8.3 was declined in #1"]);
    assert_eq!((&world.record(1)["state"], world.repo.tip(PLATFORM)), (&"closed".into(), None));
    world.settles();
    world.publish(4);
    world.says(&["edge-26.8.2 → edge-26.8.4: opened "]);
}

#[test]
fn what_was_done_by_hand_is_there_and_leaves_nothing_open() {
    let world = World::opened();
    world.moves_pins("26.8.2", "26.8.3");
    world.says(&["default, platform: up to date at edge-26.8.3"]);
    assert_eq!(world.record(1)["state"], "merged", "the base branch has what it would bring");
    world.settles();
}

#[test]
fn what_is_not_wanted_any_more_is_closed_and_that_is_no_refusal() {
    let world = World::opened();
    let config = format!("{IGNORED}policy:\n  skip: [edge-26.8.3]\n");
    world.repo.commit("main", &ADA, "Not this one", &[put("uplinker.yaml", &config)]);
    world.says(&["; closed "]);
    assert_eq!((&world.record(1)["state"], world.repo.tip(PLATFORM)), (&"closed".into(), None));
    assert_eq!(world.record(1)["closed_by"], "uplinker");
    world.settles();
    // That was nobody's no.
    world.repo.commit("main", &ADA, "But yes", &[put("uplinker.yaml", IGNORED)]);
    world.says(&["edge-26.8.2 → edge-26.8.3: opened "]);
    assert_eq!(world.count(), 2);
}

#[test]
fn a_branch_that_somebody_deletes_is_a_no() {
    let world = World::opened();
    world.repo.delete_branch(PLATFORM);
    world.says(&["left alone, edge-26.8.3 was declined in #1"]);
    assert_eq!((&world.record(1)["state"], world.count()), (&"closed".into(), 1));
    world.settles();
    world.publish(4);
    world.says(&["edge-26.8.2 → edge-26.8.4: opened "]);
    world.holds(2, "26.8.4", &[world.repo.tip("main").unwrap()]);
}

#[test]
fn after_each_way_to_merge_it_the_next_release_gets_one_of_its_own() {
    type Take = fn(&BareRepo);
    let takes: [Take; 3] = [
        |repo| _ = repo.merge("main", PLATFORM, &BEN, "Merge").unwrap(),
        |repo| _ = repo.squash("main", PLATFORM, &BEN, "Squash").unwrap(),
        |repo| _ = repo.rebase("main", PLATFORM, &BEN).unwrap(),
    ];
    for (take, removed) in takes.into_iter().flat_map(|take| [(take, false), (take, true)]) {
        let world = World::opened();
        take(&world.repo);
        if removed {
            world.repo.delete_branch(PLATFORM);
        }
        world.says(&["default, platform: up to date at edge-26.8.3"]);
        world.settles();
        world.publish(4);
        world.says(&["edge-26.8.3 → edge-26.8.4: opened "]);
        assert_eq!((&world.record(1)["state"], world.count()), (&"merged".into(), 2));
        assert_eq!(world.repo.parents(PLATFORM), [world.repo.tip("main").unwrap()]);
        world.settles();
    }
}

#[test]
fn a_branch_that_somebody_works_on_is_held() {
    let world = World::configured(IGNORED);
    world.repo.branch(PLATFORM, "main");
    let theirs = world.repo.commit(PLATFORM, &ADA, "Mine", &[put("notes.md", "Ada works here.\n")]);
    world.says(&["left alone, branch-occupied: the branch is at "]);
    assert_eq!((world.repo.tip(PLATFORM), world.count()), (Some(theirs), 0));
    world.repo.delete_branch(PLATFORM);
    world.says(&["opened "]);
}

#[test]
fn proxies_follow_once_the_platform_was_merged_and_has_stood() {
    let config = "version: 1\ndataPlane:\n  after: 0d\n";
    let world = World::configured(config);
    world.says(&["default, platform: edge-26.8.2 → edge-26.8.3: opened "]);
    assert_eq!(world.repo.tip(DATA_PLANE), None);
    world.repo.squash("main", PLATFORM, &BEN, "Squash").unwrap();
    world.says(&["default, data-plane: edge-26.8.2 → edge-26.8.3: opened "]);
    assert_eq!(world.record(2)["head"], DATA_PLANE);
    let web = MESH.iter().find(|(path, _)| *path == "apps/web.yaml").unwrap().1;
    assert_eq!(
        world.repo.read(DATA_PLANE, "apps/web.yaml").unwrap(),
        web.replace("edge-26.8.2", "edge-26.8.3")
    );
    world.settles();
    world.repo.merge("main", DATA_PLANE, &BEN, "Merge").unwrap();
    world.says(&["default, data-plane: level with the control plane at edge-26.8.3"]);
    world.settles();
}

#[test]
fn what_was_merged_is_taken_back_by_a_proposal() {
    let world = World::opened();
    // What was there for a moment alone has not run.
    world.repo.set_clock(EPOCH + 86_400);
    world.repo.merge("main", PLATFORM, &BEN, "Merge").unwrap();
    world.says(&["up to date at edge-26.8.3"]);
    let _ = world.command("rollback").done().exits(0).prints(&["edge-26.8.3 → edge-26.8.2"]);
    let record = world.record(2);
    assert_eq!((&record["state"], &record["head"]), (&"open".into(), &PLATFORM.into()));
    world.says(&["default, platform: "]);
    world.repo.merge("main", PLATFORM, &BEN, "Merge").unwrap();
    world.says(&["default, platform: on hold: edge-26.8.3 waits until a release newer"]);
    assert_eq!(world.count(), 2);
    world.publish(4);
    world.says(&["edge-26.8.2 → edge-26.8.4: opened "]);
}

#[test]
fn a_remote_behind_ssh_is_proposed_to_with_the_key_that_is_named() {
    let world = World::configured(IGNORED);
    let server = SshServer::start();
    let list = world.home.path().join("known");
    fs::write(&list, server.known_host()).unwrap();
    let url = server.url(world.repo.path());
    let command = |name: &str, more: &[&str]| {
        let run = world.home.run([name, &url]).args(more);
        run.arg("--ssh-key-file").arg(server.key()).env("UPLINKER_SSH_KNOWN_HOSTS", &list)
    };
    let run = |known: &Path| {
        let run = command("run", &["--forge", "directory:proposals"]).args(world.feed.flags());
        run.env("UPLINKER_SSH_KNOWN_HOSTS", known).done()
    };
    let _ = run(&list).exits(0).prints(&["edge-26.8.2 → edge-26.8.3: opened "]);
    assert!(world.repo.tip(PLATFORM).is_some());
    let _ = run(&list).exits(0).prints(&["nothing to do"]);
    let _ = command("pins", &[]).done().exits(0).prints(&["linkerd/crds.yaml:"]);
    let _ = command("verify", &["--charts-url", "off"]).done().exits(0);
    // Who cannot be told from somebody else is not talked to.
    let other = world.home.path().join("other");
    fs::write(&other, server.false_host()).unwrap();
    let _ = run(&other).exits(2).complains(&["known hosts"]);
}

#[test]
fn each_repository_that_is_served_has_a_folder_of_its_own() {
    let world = World::configured(IGNORED);
    let other = BareRepo::with_files(world.home.path().join("other.git"), "main", MESH);
    let once = || {
        let run = world.home.run(["serve", "--once", "config.git", "other.git", "--forge", "directory:all"]);
        run.args(world.feed.flags()).done().exits(0)
    };
    let _ = once();
    // Who merges the one has not merged the other, whose branch has the same name.
    world.repo.merge("main", PLATFORM, &BEN, "Merge").unwrap();
    let _ = once();
    let folders = fs::read_dir(world.home.path().join("all")).unwrap();
    let mut states: Vec<(String, String)> = folders
        .map(|folder| {
            let folder = folder.unwrap().path();
            let record = fs::read_to_string(folder.join("1/pull.json")).unwrap();
            let record: Value = serde_json::from_str(&record).unwrap();
            let name = folder.file_name().unwrap().to_str().unwrap().rsplit_once('-').unwrap().0.to_owned();
            (name, record["state"].as_str().unwrap().to_owned())
        })
        .collect();
    states.sort();
    let wanted = [("config", "merged"), ("other", "open")].map(|(n, s)| (n.to_owned(), s.to_owned()));
    assert_eq!(states, wanted);
    assert!(other.tip(PLATFORM).is_some());
}
