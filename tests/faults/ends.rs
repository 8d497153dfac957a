//! What has to be on the host in the end, worked out from what went into a scenario: no word of the program under test
//! is taken for it.

use crate::support::{
    github::Pull,
    scene::{PLATFORM, REPO, Scene},
};

/// The files that hold the platform's pins.
pub const PINS: &[&str] = &["control-plane.yaml", "crds.yaml"];

/// The pull request is open, and shows what its branch is at.
pub fn open(scene: &Scene, number: u64, branch: &str) -> Pull {
    let pull = scene.github.pull(REPO, number);
    assert!(pull.open && pull.head_ref == branch, "{pull:#?}");
    assert_eq!(Some(pull.head_sha), scene.repo.tip(branch));
    let open = scene.github.pulls(REPO).into_iter().filter(|p| p.open && p.head_ref == branch).count();
    assert_eq!(open, 1, "one for each branch");
    pull
}

/// The branch has the files of the base that it stands on, in some of which one text stands for another, and nothing
/// else.
pub fn moved(scene: &Scene, pull: &Pull, paths: &[&str], (old, new): (&str, &str)) {
    let tip = scene.repo.tip(&pull.base_ref).unwrap();
    let onto = scene.repo.open().merge_base(tip, pull.head_sha).unwrap();
    let mut wanted = scene.repo.files(&onto.to_string());
    for path in paths {
        let text = wanted.get_mut(*path).unwrap_or_else(|| panic!("{path} is on the base"));
        let before = String::from_utf8(text.clone()).unwrap();
        assert!(before.contains(old), "{path} has something to move");
        *text = before.replace(old, new).into_bytes();
    }
    let made = scene.repo.files(&pull.head_ref);
    assert_eq!(made.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (path, text) in &wanted {
        assert_eq!(String::from_utf8_lossy(&made[path]), String::from_utf8_lossy(text), "{path}");
    }
}

/// The only pull request is the platform's, from edge-26.8.2 to that release, with its status.
pub fn proposed(scene: &Scene, to: &str) -> Pull {
    let pull = open(scene, 1, PLATFORM);
    assert_eq!(scene.github.pulls(REPO).len(), 1);
    assert_eq!(pull.title, format!("Linkerd edge-26.8.2 → {to} (default, platform)"));
    let chart = to.replacen("edge-", "20", 1);
    moved(scene, &pull, PINS, ("2026.8.2", &chart));
    let last =
        scene.github.statuses(REPO, pull.head_sha).into_iter().rfind(|s| s.context == "uplinker/verify");
    assert_eq!(last.map(|status| status.state).as_deref(), Some("success"));
    pull
}

/// The same on the newest commit of the base branch.
pub fn follows(scene: &Scene, to: &str) -> Pull {
    let pull = proposed(scene, to);
    assert!(scene.repo.contains(PLATFORM, scene.repo.tip("main").unwrap()), "it follows the base branch");
    pull
}

/// The only pull request is closed and not merged, and its branch is gone.
pub fn closed(scene: &Scene) {
    let pulls = scene.github.pulls(REPO);
    assert!(pulls.len() == 1 && !pulls[0].open && pulls[0].merged_at.is_none(), "{pulls:#?}");
    assert_eq!(scene.repo.branches().into_keys().collect::<Vec<_>>(), ["main"]);
}
