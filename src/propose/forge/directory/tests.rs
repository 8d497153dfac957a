//! The folder as a forge: what people write into it, and two processes at once.

use std::{cell::RefCell, collections::BTreeMap};

use tempfile::TempDir;

use super::*;
use crate::repo::CommitId;

const BRANCH: &str = "uplinker/default/platform";

/// A remote as a table: branches, and which commits each base has.
#[derive(Default)]
struct Table {
    tips: RefCell<BTreeMap<String, CommitId>>,
    merged: RefCell<Vec<CommitId>>,
}

impl RemoteView for Table {
    fn tip(&self, branch: &str) -> Result<Option<CommitId>, ForgeError> {
        Ok(self.tips.borrow().get(branch).copied())
    }

    fn contains(&self, _branch: &str, head: CommitId) -> Result<bool, ForgeError> {
        Ok(self.merged.borrow().contains(&head))
    }
}

struct Scene {
    folder: TempDir,
    remote: Table,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { folder: TempDir::new().unwrap(), remote: Table::default() };
        scene.set(BRANCH, 1);
        scene.set("main", 99);
        scene
    }

    fn set(&self, branch: &str, commit: u8) {
        self.remote.tips.borrow_mut().insert(branch.into(), CommitId([commit; 20]));
    }

    fn forge(&self) -> DirectoryForge<'_> {
        DirectoryForge::new(&self.folder.path().join("proposals"), &self.remote, Access::Write)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("proposals").join(name)
    }

    fn json(&self, number: u64) -> String {
        fs::read_to_string(self.path(&format!("{number}/pull.json"))).unwrap()
    }

    fn rewrite(&self, number: u64, from: &str, to: &str) {
        let text = self.json(number);
        assert!(text.contains(from), "{text}");
        fs::write(self.path(&format!("{number}/pull.json")), text.replace(from, to)).unwrap();
    }
}

fn proposal(title: &str) -> NewPull {
    NewPull {
        title: title.into(),
        body: "What moves\n".into(),
        head: BRANCH.into(),
        base: "main".into(),
        draft: false,
    }
}

#[test]
fn a_proposal_is_a_folder_that_people_can_read() {
    let scene = Scene::new();
    let forge = scene.forge();
    assert!(forge.pulls(BRANCH).unwrap().is_empty());
    assert!(!scene.path("").exists(), "reading makes nothing");
    let pull = forge.open(&proposal("One")).unwrap();
    assert_eq!((pull.number, pull.state, pull.head.as_str()), (1, PullState::Open, "01".repeat(20).as_str()));
    assert_eq!(fs::read_to_string(scene.path("1/body.md")).unwrap(), "What moves\n");
    forge.attach(1, &|| Ok("diff --git a/x b/x\n".to_owned())).unwrap();
    assert_eq!(fs::read_to_string(scene.path("1/changes.patch")).unwrap(), "diff --git a/x b/x\n");
    assert_eq!(forge.pulls(BRANCH).unwrap(), std::slice::from_ref(&pull));
    assert_eq!(forge.pull(1).unwrap(), pull);
    assert!(forge.pulls("uplinker/default/data-plane").unwrap().is_empty());
    let names: Vec<_> = fs::read_dir(scene.path("1")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "nothing unfinished stays: {names:?}");
}

#[test]
fn labels_people_status_and_texts_are_kept_and_so_is_what_people_add() {
    let scene = Scene::new();
    let forge = scene.forge();
    let pull = forge.open(&proposal("One")).unwrap();
    scene.rewrite(1, "\"title\"", "\"ticket\": {\"id\": 7},\n  \"title\"");
    let extras =
        Extras { labels: vec!["a".into(), "b".into()], reviewers: vec!["ada".into()], assignees: Vec::new() };
    assert!(forge.add_labels_and_reviewers(&pull, &extras).unwrap().is_empty());
    forge.add_labels_and_reviewers(&pull, &extras).unwrap();
    forge.unlabel(1, "a").unwrap();
    let status = Status { success: false, description: "2 blocks".into() };
    forge.status(CommitId([1; 20]), &status, None).unwrap();
    forge
        .status(CommitId([2; 20]), &status, None)
        .expect("before there is a proposal, its body says the same");
    let patch = PullPatch { title: Some("Two".into()), body: Some("New\n".into()), state: None };
    forge.update(1, &patch).unwrap();
    let pull = forge.pull(1).unwrap();
    assert_eq!(
        (pull.title.as_str(), pull.body.as_str(), pull.labels),
        ("Two", "New\n", vec!["b".to_owned()])
    );
    let json: serde_json::Value = serde_json::from_str(&scene.json(1)).unwrap();
    assert_eq!(json["ticket"]["id"], 7);
    assert_eq!(json["reviewers"], serde_json::json!(["ada"]));
    assert_eq!(json["verify"]["description"], "2 blocks");
}

#[test]
fn the_head_follows_the_branch_until_it_is_merged() {
    let scene = Scene::new();
    let forge = scene.forge();
    forge.open(&proposal("One")).unwrap();
    scene.set(BRANCH, 2);
    assert_eq!(forge.pulls(BRANCH).unwrap()[0].head, "02".repeat(20));
    scene.remote.merged.borrow_mut().push(CommitId([2; 20]));
    let before = scene.json(1);
    let reader = DirectoryForge::new(&scene.path(""), &scene.remote, Access::Read);
    assert_eq!(reader.pulls(BRANCH).unwrap()[0].state, PullState::Merged);
    assert_eq!(scene.json(1), before, "a reader writes nothing");
    assert!(
        reader.update(1, &PullPatch::default()).is_err() && reader.attach(1, &|| Ok(String::new())).is_err()
    );

    let merged = forge.pulls(BRANCH).unwrap().remove(0);
    assert_eq!(merged.state, PullState::Merged);
    assert!(scene.json(1).contains("\"state\": \"merged\""));
    scene.set(BRANCH, 3);
    assert_eq!(forge.pull(1).unwrap(), merged, "what came later is not its own");
    scene.remote.tips.borrow_mut().remove(BRANCH);
    assert_eq!(forge.pull(1).unwrap(), merged);
}

#[test]
fn a_close_is_told_by_who_did_it() {
    let scene = Scene::new();
    let forge = scene.forge();
    forge.open(&proposal("One")).unwrap();
    scene.rewrite(1, "\"open\"", "\"closed\"");
    let closed = forge.pull(1).unwrap();
    assert_eq!(closed.state, PullState::Closed);
    let age = Timestamp::now().duration_since(closed.closed_at.unwrap());
    assert!(age.as_secs().abs() < 60, "{age}");
    assert_eq!(forge.pull(1).unwrap().closed_at, closed.closed_at, "the date stays");
    assert!(matches!(forge.closer(1).unwrap(), Closer::Person(_)));
    // Our own close does not overwrite a person's.
    forge.update(1, &PullPatch { state: Some(PullState::Closed), ..PullPatch::default() }).unwrap();
    assert!(matches!(forge.closer(1).unwrap(), Closer::Person(_)));

    forge.open(&proposal("Two")).unwrap();
    forge.update(2, &PullPatch { state: Some(PullState::Closed), ..PullPatch::default() }).unwrap();
    assert_eq!(forge.closer(2).unwrap(), Closer::Bot("uplinker".into()));
    forge.update(2, &PullPatch { state: Some(PullState::Open), ..PullPatch::default() }).unwrap();
    assert_eq!(forge.pull(2).unwrap().closed_at, None);
    forge.update(2, &PullPatch { state: Some(PullState::Closed), ..PullPatch::default() }).unwrap();

    forge.open(&proposal("Three")).unwrap();
    scene.remote.tips.borrow_mut().remove(BRANCH);
    assert_eq!(forge.pull(3).unwrap().state, PullState::Closed, "without its branch it cannot be merged");
    assert!(matches!(forge.closer(3).unwrap(), Closer::Person(_)));
    scene.remote.tips.borrow_mut().remove("main");
    assert_eq!(forge.closer(3).unwrap(), Closer::BaseGone);
    let numbers: Vec<u64> = forge.pulls(BRANCH).unwrap().iter().map(|p| p.number).collect();
    assert_eq!(numbers, [3, 2, 1], "newest first");
}

#[test]
fn a_branch_has_one_open_proposal_and_no_number_comes_twice() {
    let scene = Scene::new();
    let forge = scene.forge();
    forge.open(&proposal("One")).unwrap();
    let again = forge.open(&proposal("Again")).unwrap();
    assert_eq!((again.number, again.title.as_str()), (1, "One"), "the one that is open is gone on with");
    fs::remove_dir_all(scene.path("1")).unwrap();
    assert_eq!(forge.open(&proposal("Two")).unwrap().number, 2);
    fs::remove_file(scene.path(LOCK)).unwrap();
    scene.rewrite(2, "\"open\"", "\"closed\"");
    fs::create_dir(scene.path(".unfinished-9")).unwrap();
    assert_eq!(forge.open(&proposal("Three")).unwrap().number, 3);
    assert!(!scene.path(".unfinished-9").exists());
    let other = NewPull { head: "uplinker/none".into(), ..proposal("X") };
    assert!(matches!(forge.open(&other), Err(ForgeError::Rejected { .. })));
}

#[test]
fn many_at_once_make_one_proposal() {
    let scene = Scene::new();
    let folder = scene.path("");
    let opened = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let remote = Table::default();
                    remote.tips.borrow_mut().insert(BRANCH.into(), CommitId([1; 20]));
                    DirectoryForge::new(&folder, &remote, Access::Write)
                        .open(&proposal("One"))
                        .unwrap()
                        .number
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(opened, [1; 8]);
    assert_eq!(scene.forge().pulls(BRANCH).unwrap().len(), 1);
}

#[test]
fn what_a_person_wrote_wrong_is_told_with_its_place() {
    let scene = Scene::new();
    let forge = scene.forge();
    forge.open(&proposal("One")).unwrap();
    let good = scene.json(1);
    let wrong = |text: &str, words: &str| {
        fs::write(scene.path("1/pull.json"), text).unwrap();
        match forge.pulls(BRANCH).unwrap_err() {
            ForgeError::Directory { path, reason } => {
                assert!(path.ends_with("1/pull.json"), "{path}");
                assert!(reason.contains(words), "{reason}");
            }
            other => panic!("{other}"),
        }
    };
    wrong(&good.replace("\"open\"", "\"rejected\""), "line 4");
    wrong(&good.replace("\"open\",", "\"closed\""), "line 5");
    wrong("", "line 1");
    wrong(&good.replace("\"number\": 1", "\"number\": 2"), "make them the same");
    wrong(&good.replace("pull/v1", "pull/v9"), "schema");
    scene.remote.tips.borrow_mut().remove(BRANCH);
    for id in ["01zz", "0+1+", "01", "é1"] {
        wrong(&good.replacen("0101", id, 1), "commit id");
    }
    scene.set(BRANCH, 1);
    fs::write(scene.path("1/pull.json"), b"\xff").unwrap();
    assert!(forge.pulls(BRANCH).unwrap_err().to_string().contains("UTF-8"));
    fs::remove_file(scene.path("1/pull.json")).unwrap();
    assert!(forge.pulls(BRANCH).is_err());
    fs::write(scene.path("1/pull.json"), good).unwrap();
    fs::remove_file(scene.path("1/body.md")).unwrap();
    assert!(forge.pull(1).unwrap_err().to_string().contains("body.md"));
    assert!(forge.pull(7).is_err());
}
