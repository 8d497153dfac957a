//! Questions about history that is only partly here.

use super::*;

#[test]
fn ancestry_is_told_by_deepening_as_far_as_needed() {
    let scene = Scene::new();
    let root = tip(&scene.repo, "main").unwrap();
    for n in 0..100 {
        scene.repo.commit("main", &ADA, "More", &[put("b.txt", &format!("{n}\n"))]);
    }
    let side = id(scene.repo.commit("side", &BEN, "Aside", &[put("c.txt", "x")]));
    let cache = TempDir::new().unwrap();
    let remote = scene.cached(cache.path());
    let head = base(&remote);
    scene.lines();
    assert!(remote.is_ancestor(head, "main", head).unwrap());
    assert!(scene.lines().is_empty(), "what is known is not asked for");
    let parent = remote.commit(head).unwrap().parents[0];
    assert!(remote.is_ancestor(parent, "main", head).unwrap());
    assert_eq!(remote.tree(parent).unwrap().entries().len(), 2, "after a yes it can be read");
    assert!(remote.commit(remote.commit(parent).unwrap().parents[0]).is_err(), "no deeper than needed");
    assert!(remote.is_ancestor(root, "main", head).unwrap());
    assert!(!remote.is_ancestor(side, "main", head).unwrap());
    // A deep cache still fetches and pushes.
    scene.repo.commit("main", &ADA, "After", &[put("b.txt", "after\n")]);
    let remote = scene.cached(cache.path());
    let ours = bump(&remote);
    remote.push(&update(None, Some(ours))).unwrap();
    assert_eq!(tip(&scene.repo, BRANCH), Some(ours));
}

#[test]
fn a_head_is_contained_once_it_was_merged_squashed_or_rebased() {
    type Take = fn(&BareRepo);
    let takes: [(&str, Take, bool); 6] = [
        ("open", |_| {}, false),
        (
            "base moved",
            |repo| {
                repo.commit("main", &ADA, "Other", &[put("z.txt", "z")]);
            },
            false,
        ),
        (
            "merged",
            |repo| {
                repo.merge("main", BRANCH, &BEN, "Merge").unwrap();
            },
            true,
        ),
        (
            "squashed",
            |repo| {
                repo.squash("main", BRANCH, &BEN, "Squash").unwrap();
            },
            true,
        ),
        (
            "squashed onto a moved base",
            |repo| {
                repo.commit("main", &ADA, "Other", &[put("z.txt", "z")]);
                repo.squash("main", BRANCH, &BEN, "Squash").unwrap();
            },
            true,
        ),
        (
            "merged and the branch removed",
            |repo| {
                repo.merge("main", BRANCH, &BEN, "Merge").unwrap();
                repo.delete_branch(BRANCH);
            },
            true,
        ),
    ];
    for (name, take, merged) in takes {
        let scene = Scene::new();
        let remote = scene.open();
        let ours = bump(&remote);
        remote.push(&update(None, Some(ours))).unwrap();
        take(&scene.repo);
        let over_http = scene.open();
        assert_eq!(over_http.contains("main", ours).unwrap(), merged, "{name}, over HTTP");
        let path = scene.repo.path().to_str().unwrap();
        let local = GitRemote::open(path, RemoteOptions::default(), &scene.http).unwrap();
        assert_eq!(local.contains("main", ours).unwrap(), merged, "{name}, in a folder");
    }
}
