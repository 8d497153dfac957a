//! A GitHub App: its key makes tokens, which end, and are made again without anything being lost or done twice.

use std::path::PathBuf;

use crate::support::{
    mesh::MESH,
    process::Run,
    scene::{PLATFORM, REPO, Scene},
};

const APP: &str = "12345";

/// A scene whose program is given an App, and no token.
struct WithApp {
    scene: Scene,
    key: String,
    file: PathBuf,
}

// === impl WithApp ===

impl WithApp {
    fn new() -> Self {
        let scene = Scene::new(MESH);
        let key = scene.github.app(APP, "mesh-robot");
        let file = scene.home.path().join("app.pem");
        std::fs::write(&file, &key).unwrap();
        Self { scene, key, file }
    }

    fn command(&self, name: &str) -> Run {
        let run = self.scene.home.run([name, "--repo", &self.scene.github.url(REPO)]);
        let run = run.args(self.scene.feed.flags()).args(["--forge", "github", "--github-app-id", APP]);
        run.arg("--github-app-key-file").arg(&self.file)
    }

    /// A line of the key, which nobody may see.
    fn secret(&self) -> &str {
        self.key.lines().nth(3).unwrap()
    }
}

#[test]
fn an_app_proposes_as_itself() {
    let with = WithApp::new();
    let installation = with.scene.github.install(APP, &[REPO], None);
    let done = with.command("run").args(["-vv"]).done().exits(0);
    let _ = done.never_says(with.secret()).never_says("ghs_installation");
    let pull = with.scene.only_pull();
    assert_eq!((pull.author.as_str(), pull.head_ref.as_str()), ("mesh-robot[bot]", PLATFORM));
    assert_eq!(with.scene.github.tokens_made(APP, installation), 1, "one for Git and the API");
    let _ = with.command("status").done().exits(0).prints(&["/pull/1"]);
    let _ = with.command("doctor").done().exits(0).never_says(with.secret());
    // As a variable, in one line.
    let run = with.scene.home.run(["run", "--repo", &with.scene.github.url(REPO), "--forge", "github"]);
    let run = run.args(with.scene.feed.flags()).env("UPLINKER_GITHUB_APP_ID", APP);
    let again = run.env("UPLINKER_GITHUB_APP_KEY", with.key.replace('\n', "\\n")).done().exits(0);
    let _ = again.never_says(with.secret());
    assert_eq!(with.scene.github.pulls(REPO).len(), 1);
}

#[test]
fn a_token_that_ends_at_any_request_is_made_again() {
    let mut ended = 0;
    for requests in (0..24).step_by(3) {
        let with = WithApp::new();
        let installation = with.scene.github.install(APP, &[REPO], Some(requests));
        let done = with.command("run").done().exits(0);
        let pull = with.scene.only_pull();
        assert!(pull.open && pull.head_ref == PLATFORM, "after {requests}: {done}");
        let made = with.scene.github.tokens_made(APP, installation);
        assert!((1..=2).contains(&made), "after {requests}: {made} tokens");
        ended += u32::from(made == 2);
    }
    assert!(ended >= 3, "{ended}");
}

#[test]
fn what_is_wrong_with_an_app_is_said() {
    let with = WithApp::new();
    let _ =
        with.command("run").done().exits(1).complains(&["GitHub App 12345", "not installed on acme/config"]);
    let installation = with.scene.github.install(APP, &[REPO], None);
    with.scene.github.installation(APP, installation, |one| one.suspended = true);
    let _ = with.command("run").done().exits(1).complains(&["suspended"]);
    with.scene.github.installation(APP, installation, |one| one.suspended = false);
    // Another App's key.
    let other = with.scene.github.app("777", "other");
    std::fs::write(&with.file, other).unwrap();
    let _ = with.command("run").done().exits(1).complains(&["does not know it by this id and key"]);
    std::fs::write(&with.file, "no key").unwrap();
    let _ = with.command("run").done().exits(2).complains(&["private key", ".pem"]);
    let run = with.scene.home.run(["run", "--repo", &with.scene.github.url(REPO), "--github-app-id", APP]);
    let _ = run.done().exits(2).complains(&["and not its key"]);
    let run = with.scene.home.run(["run", "--repo", &with.scene.github.url(REPO), "--github-app-key-file"]);
    let _ = run.arg(&with.file).done().exits(2).complains(&["and not its id"]);
    assert!(with.scene.github.pulls(REPO).is_empty());
}

#[test]
fn a_daemon_takes_one_token_for_an_installation() {
    let with = WithApp::new();
    with.scene.github.repo("acme/second", MESH);
    let installation = with.scene.github.install(APP, &[REPO, "acme/second"], None);
    let urls = [REPO, "acme/second"].map(|name| with.scene.github.url(name));
    let run = with.scene.home.run(["serve", "--once", "--forge", "github", "--github-app-id", APP]);
    let run = run.arg("--github-app-key-file").arg(&with.file).args(urls).args(with.scene.feed.flags());
    let _ = run.done().exits(0).never_says("ghs_installation");
    assert_eq!(with.scene.github.tokens_made(APP, installation), 1);
    for name in [REPO, "acme/second"] {
        assert_eq!(with.scene.github.pulls(name).len(), 1, "{name}");
    }
}

#[test]
fn all_installations_of_an_app_and_all_of_an_organisation_are_lists() {
    let with = WithApp::new();
    let names = ["acme/mesh-eu", "acme/mesh-us", "acme/website", "other/mesh"];
    for name in names {
        with.scene.github.repo(name, MESH);
    }
    with.scene.github.install(APP, &["acme/mesh-eu", "acme/mesh-us", "acme/website"], None);
    with.scene.github.install(APP, &["other/mesh"], None);
    with.scene.github.settings("acme/mesh-us", |repo| repo.archived = true);
    let serve = |pattern: &str| {
        let run = with.scene.home.run(["serve", "--once", "--forge", "github", "--repos", pattern]);
        run.args(with.scene.feed.flags()).args(["--github-api-url", &with.scene.github.api()])
    };
    let by_app = |pattern: &str| {
        serve(pattern).args(["--github-app-id", APP]).arg("--github-app-key-file").arg(&with.file)
    };
    let proposed =
        || names.into_iter().filter(|name| !with.scene.github.pulls(name).is_empty()).collect::<Vec<_>>();
    let _ = by_app("acme/mesh-*").done().exits(0);
    assert_eq!(proposed(), ["acme/mesh-eu"], "the other is archived");
    let _ = by_app("*/*").done().exits(0);
    assert_eq!(proposed(), ["acme/mesh-eu", "acme/website", "other/mesh"]);
    // With a token, what an owner has.
    with.scene.github.repo("acme/mesh-ap", MESH);
    let by_token = |pattern: &str| serve(pattern).env("UPLINKER_TOKEN", crate::support::scene::TOKEN);
    let _ = by_token("acme/mesh-a*").done().exits(0);
    assert_eq!(with.scene.github.pulls("acme/mesh-ap").len(), 1);
    let _ = by_token("*/*").done().exits(2).complains(&["names no owner"]);
    let _ = by_token("acme").done().exits(2).complains(&["OWNER/NAME"]);
    let _ = serve("acme/*").done().exits(2).complains(&["needs a token, or on GitHub an App"]);
}
