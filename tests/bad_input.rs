//! Bad input, end to end: whatever is wrong with the feeds, the token, the host, the repository or the command, the
//! program says what and where, ends with the contract's exit code, and writes nothing.

mod access;
mod arguments;
mod feeds;
mod files;
mod repository;

use crate::support::{
    mesh::MESH,
    process::{Done, Run},
    scene::{PLATFORM, REPO, Scene, TOKEN},
};

/// The scene with the usual repository.
fn mesh() -> Scene {
    Scene::new(MESH)
}

/// A run with other feeds than the scene's; the rest are off.
fn with_feeds(scene: &Scene, flags: &[String]) -> Run {
    let run = scene.home.run(["run", "--repo", &scene.github.url(REPO), "--forge", "github"]);
    run.args(flags).env("UPLINKER_TOKEN", TOKEN)
}

/// Runs to the end and sees to it that nothing was written: no ref moved, no pull request, no write request at all.
fn writes_nothing(scene: &Scene, run: Run) -> Done {
    let before = scene.repo.refs();
    let done = run.done().never_says(TOKEN);
    assert_eq!(scene.repo.refs(), before, "a ref moved\n{done}");
    assert!(scene.github.pulls(REPO).is_empty(), "a pull request was made\n{done}");
    assert_eq!(scene.github.controls().writes.count(), 0, "{:#?}", scene.requests());
    is_calm(&done);
    done
}

/// Bad input is no crash, and the words are for people.
fn is_calm(done: &Done) {
    for word in
        ["panicked", "RUST_BACKTRACE", "Error {", "Some(", "Err(", "defect of uplinker", "!\n", "\\u{a}"]
    {
        assert!(!done.stderr.contains(word), "`{word}`\n{done}");
    }
}

/// The text of a file on the branch of the first pull request.
fn proposed(scene: &Scene, path: &str) -> String {
    scene.repo.read(PLATFORM, path).unwrap_or_else(|| panic!("{path} is not on {PLATFORM}"))
}
