//! It writes refs under its prefix and its own pull requests, and nothing else.

use std::sync::{Arc, Mutex};

use crate::support::{
    git_server::{Command3, commands},
    github::Merge,
    mesh::{MESH, mesh_and},
    repo::{ADA, BEN, put},
    scene::{DATA_PLANE, PLATFORM, REPO, Scene},
};

/// Notes every command of every push.
fn pushes(scene: &Scene) -> Arc<Mutex<Vec<Command3>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    scene.github.controls().rules.before_each("POST", "*/git-receive-pack", move |request| {
        kept.lock().expect("no poison").extend(commands(&request.body));
    });
    seen
}

/// Every write of a whole life: proposed, moved on, merged, the proxies' turn, and a person in between.
#[test]
fn only_our_refs_and_our_pull_requests_are_written() {
    let config = "version: 1\npullRequest:\n  labels: [linkerd]\n";
    let scene = Scene::new(&mesh_and(&[("uplinker.yaml", config)]));
    scene.repo.commit("feature", &BEN, "A feature", &[put("x", "y")]);
    let other = scene.github.open_pull(REPO, "ben", "feature", "main", "A feature of Linkerd edge-26.8.3");
    let theirs = format!("{:?}", scene.github.pull(REPO, other));
    let seen = pushes(&scene);

    let _ = scene.run().done().exits(0);
    let ours = scene.github.pulls(REPO).into_iter().find(|p| p.head_ref == PLATFORM).expect("ours").number;
    scene.feed.publish(crate::support::feed::release("edge-26.8.4", "2026-08-18T09:00:00Z"));
    scene.home.forget();
    let _ = scene.run().done().exits(0);
    scene.github.merge(REPO, ours, Merge::Squash, "ada", true);
    let _ = scene.run().done().exits(0);
    let _ = scene.run().done().exits(0);
    scene.repo.commit(DATA_PLANE, &BEN, "By hand", &[put("apps/web.yaml", "by: hand\n")]);
    let hand = scene.repo.tip(DATA_PLANE);
    scene.feed.publish(crate::support::feed::release("edge-26.8.5", "2026-08-19T09:00:00Z"));
    let _ = scene.run().done().exits(0);

    let pushed = seen.lock().expect("no poison").clone();
    assert!(pushed.len() >= 3, "{pushed:#?}");
    for command in &pushed {
        assert!(command.refname.starts_with("refs/heads/uplinker/default/"), "{command:?}");
    }
    assert_eq!(scene.repo.tip(DATA_PLANE), hand, "a person's commit stays");
    assert_eq!(
        format!("{:?}", scene.github.pull(REPO, other)),
        theirs,
        "a pull request of others is not ours"
    );

    let mine: Vec<u64> = scene
        .github
        .pulls(REPO)
        .iter()
        .filter(|p| p.head_ref.starts_with("uplinker/"))
        .map(|p| p.number)
        .collect();
    for entry in scene.github.controls().log.entries() {
        let write = matches!(entry.method.as_str(), "POST" | "PATCH" | "PUT" | "DELETE");
        if !write || entry.target.contains(".git/") {
            continue;
        }
        // GraphQL is asked who the token is, by POST as all that it is asked.
        if entry.target == "/api/graphql" {
            let asked = &entry.body.as_ref().expect("a body")["query"];
            assert_eq!(asked, "query { viewer { login databaseId } }");
            continue;
        }
        let path = entry
            .target
            .strip_prefix(&format!("/api/v3/repos/{REPO}/"))
            .unwrap_or_else(|| panic!("{}", entry.line()));
        let own = |kind: &str| {
            mine.iter().any(|n| path == format!("{kind}/{n}") || path.starts_with(&format!("{kind}/{n}/")))
        };
        let allowed = path == "pulls" || own("pulls") || own("issues") || path.starts_with("statuses/");
        assert!(allowed, "{}", entry.line());
        if path.starts_with("statuses/") {
            assert_eq!(entry.body.as_ref().expect("a body")["context"], "uplinker/verify");
        }
    }
}

/// A prefix of the repository's own choice, and a branch of that name that a person made first.
#[test]
fn a_branch_of_a_person_under_our_prefix_is_not_overwritten() {
    let scene = Scene::new(MESH);
    scene.repo.commit(PLATFORM, &BEN, "Mine", &[put("mine", "mine\n")]);
    let tip = scene.repo.tip(PLATFORM);
    let seen = pushes(&scene);
    let done = scene.run().done().exits(0);
    assert_eq!(scene.repo.tip(PLATFORM), tip, "{done}");
    assert!(scene.github.pulls(REPO).is_empty(), "{done}");
    assert!(seen.lock().expect("no poison").is_empty(), "{done}");
    let said = format!("{}{}", done.stdout, done.stderr);
    assert!(said.contains(PLATFORM), "it is said which branch is in the way\n{done}");
}

/// The base branch can be protected by nothing, and is still safe.
#[test]
fn the_base_branch_is_never_written_whatever_it_is_called() {
    for name in ["main", "uplinker", "live/uplinker"] {
        let scene = Scene::made(|path| crate::support::repo::BareRepo::with_files(path, name, MESH));
        scene.repo.commit(name, &ADA, "More", &[put("note.md", "x\n")]);
        let tip = scene.repo.tip(name);
        let seen = pushes(&scene);
        let done = scene.run().done();
        assert_eq!(scene.repo.tip(name), tip, "{done}");
        for command in seen.lock().expect("no poison").iter() {
            assert_ne!(command.refname, format!("refs/heads/{name}"), "{done}");
        }
        // A branch `uplinker` leaves no room for `uplinker/...` in Git, which is said and not worked around.
        assert_eq!(done.status.code() == Some(0), name != "uplinker", "{done}");
    }
}
