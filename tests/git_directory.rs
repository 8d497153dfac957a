//! The `directory:` forge beside a real bare repository: proposed, merged by hand, told apart from a close.

use crate::support::{
    git_server::hermetic_git,
    repo::{ADA, BEN, BareRepo, put},
};
use tempfile::TempDir;
use uplinker::{
    propose::forge::{
        Forge, NewPull, PullState,
        directory::{Access, DirectoryForge},
    },
    repo::{
        ChangeSet, FileChange, Mode, NewCommit, RefUpdate, Remote, RepoPath, Signature, Upstream,
        git::{GitRemote, RemoteOptions},
    },
    sys::http::Http,
};

const BRANCH: &str = "uplinker/default/platform";

struct Scene {
    folder: TempDir,
    repo: BareRepo,
    http: Http,
}

impl Scene {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let files = [("crds.yaml", "version: 2026.8.2\n"), ("b.txt", "keep\n")];
        let repo = BareRepo::with_files(folder.path().join("config.git"), "main", &files);
        Self { folder, repo, http: Http::new(None).unwrap() }
    }

    fn remote(&self) -> GitRemote<'_> {
        let path = self.repo.path().to_str().unwrap();
        GitRemote::open(path, RemoteOptions::default(), &self.http).unwrap()
    }

    /// Pushes a bump and proposes it, as a run does.
    fn propose(&self) -> u64 {
        let remote = self.remote();
        let refs = remote.refs().unwrap();
        let onto = refs.branches["main"];
        remote.fetch(&[("main", onto)]).unwrap();
        let tree = remote.tree(onto).unwrap();
        let path = RepoPath::new("crds.yaml").unwrap();
        let entry = tree.entries().iter().find(|e| e.path == path).unwrap();
        let file = FileChange {
            path,
            mode: Mode::File,
            before_id: Some(entry.id),
            before: tree.read(entry.id).unwrap(),
            after: Some(b"version: 2026.8.3\n".to_vec()),
            rendered: false,
        };
        let changes = ChangeSet { files: vec![file] };
        let commit = remote
            .write(&NewCommit {
                onto,
                parents: vec![onto],
                changes: &changes,
                message: "Linkerd edge-26.8.3".into(),
                author: Signature { name: "uplinker".into(), email: "bot@example.com".into() },
                date: "2026-08-20T10:00:00Z".parse().unwrap(),
            })
            .unwrap();
        let old = refs.branches.get(BRANCH).copied();
        remote.push(&RefUpdate { branch: BRANCH.into(), old, new: Some(commit) }).unwrap();
        let proposals = self.folder.path().join("proposals");
        let forge = DirectoryForge::new(&proposals, &remote, Access::Write);
        let pull = forge
            .open(&NewPull {
                title: "Linkerd".into(),
                body: "What moves\n".into(),
                head: BRANCH.into(),
                base: "main".into(),
                draft: false,
            })
            .unwrap();
        assert_eq!(pull.head, commit.to_string());
        forge.attach(pull.number, &|| Ok(remote.patch(onto, &changes).unwrap())).unwrap();
        pull.number
    }

    /// What a new run sees.
    fn state(&self, number: u64) -> PullState {
        let remote = self.remote();
        let proposals = self.folder.path().join("proposals");
        DirectoryForge::new(&proposals, &remote, Access::Write).pull(number).unwrap().state
    }
}

#[test]
fn a_patch_applies_to_a_clone() {
    let scene = Scene::new();
    let number = scene.propose();
    let patch = scene.folder.path().join(format!("proposals/{number}/changes.patch"));
    let run = |folder: &std::path::Path, arguments: &[&str]| {
        let output = hermetic_git(folder).current_dir(folder).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(scene.folder.path(), &["clone", "--quiet", "config.git", "work"]);
    let work = scene.folder.path().join("work");
    run(&work, &["apply", "--index", patch.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(work.join("crds.yaml")).unwrap(), "version: 2026.8.3\n");
}

#[test]
fn every_way_to_take_a_branch_is_seen_as_a_merge() {
    type Take = fn(&BareRepo);
    let takes: [(&str, Take); 6] = [
        ("merge", |repo| {
            repo.merge("main", BRANCH, &BEN, "Merge").unwrap();
        }),
        ("fast-forward", |repo| repo.set_tip("main", repo.tip(BRANCH).unwrap())),
        ("squash", |repo| {
            repo.squash("main", BRANCH, &BEN, "Squash").unwrap();
        }),
        ("rebase onto a moved base", |repo| {
            repo.commit("main", &ADA, "Other", &[put("z.txt", "z")]);
            repo.rebase("main", BRANCH, &BEN).unwrap();
        }),
        ("merge, then more", |repo| {
            repo.merge("main", BRANCH, &BEN, "Merge").unwrap();
            repo.commit("main", &ADA, "Other", &[put("crds.yaml", "version: 2026.8.4\n")]);
        }),
        ("merge, and the branch removed", |repo| {
            repo.merge("main", BRANCH, &BEN, "Merge").unwrap();
            repo.delete_branch(BRANCH);
        }),
    ];
    for (name, take) in takes {
        let scene = Scene::new();
        let number = scene.propose();
        assert_eq!(scene.state(number), PullState::Open, "{name}");
        scene.repo.commit("side", &ADA, "Elsewhere", &[put("s.txt", "s")]);
        assert_eq!(scene.state(number), PullState::Open, "{name}");
        take(&scene.repo);
        assert_eq!(scene.state(number), PullState::Merged, "{name}");
        assert_eq!(scene.state(number), PullState::Merged, "{name}, again");
    }
}

#[test]
fn a_base_that_moves_or_a_branch_that_goes_is_no_merge() {
    let scene = Scene::new();
    let number = scene.propose();
    scene.repo.commit("main", &ADA, "Other", &[put("b.txt", "new\n")]);
    assert_eq!(scene.state(number), PullState::Open);
    scene.repo.commit(BRANCH, &BEN, "A person's", &[put("c.txt", "c\n")]);
    assert_eq!(scene.state(number), PullState::Open);
    scene.repo.delete_branch(BRANCH);
    assert_eq!(scene.state(number), PullState::Closed);
    assert_eq!(scene.propose(), number + 1, "there is room for a new one");
}
