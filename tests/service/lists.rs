//! The list and the token while the daemon runs.

use super::daemon::{Daemon, until};
use crate::support::{
    flavor::Flavor,
    github::Token,
    mesh::MESH,
    process::Run,
    repo::BareRepo,
    scene::{LABELS, REPO, Scene, TOKEN},
};

fn by_file(scene: &Scene, names: &[&str]) -> Run {
    write(scene, names);
    let list = scene.home.path().join("repositories");
    let run = scene.home.run(["serve", "--interval", "1m", "--listen", "127.0.0.1:0", "--forge", "github"]);
    run.arg("--repos-file").arg(list).args(scene.feed.flags())
}

fn write(scene: &Scene, names: &[&str]) {
    let lines: String = names.iter().map(|name| format!("{}\n", scene.github.url(name))).collect();
    std::fs::write(scene.home.path().join("repositories"), lines).unwrap();
}

#[test]
fn a_list_that_changes_is_taken_over_and_a_wrong_one_is_not() {
    let scene = Scene::new(MESH);
    scene.github.repo("acme/second", MESH);
    scene.github.labels("acme/second", &LABELS);
    let daemon = Daemon::start(by_file(&scene, &[REPO]).env("UPLINKER_TOKEN", TOKEN));
    until("the first pull request", || scene.github.pulls(REPO).len() == 1);
    std::fs::write(scene.home.path().join("repositories"), "https://u:s3cret@h/o/n\n").unwrap();
    until("the complaint", || daemon.running.stderr().contains("stays as it was"));
    assert_eq!(daemon.metric("uplinker_repositories"), Some(1.0));
    write(&scene, &["acme/second"]);
    until("the second", || scene.github.pulls("acme/second").len() == 1);
    assert_eq!(daemon.metric("uplinker_repositories"), Some(1.0), "the first is off the list");
    daemon.running.terminate();
    let done = daemon.running.done().exits(0).never_says("s3cret");
    let _ =
        done.complains(&["carries a user or a password", "the list of repositories changed: 1 repository"]);
}

#[test]
fn a_token_that_is_replaced_is_used() {
    let scene = Scene::new(MESH);
    let file = scene.home.path().join("token");
    std::fs::write(&file, "ghs_TheOldTokenThatIsGone0123456789").unwrap();
    let daemon = Daemon::start(by_file(&scene, &[REPO]).arg("--token-file").arg(&file));
    until("the refusal", || daemon.passes("failed") == 1);
    let new = "ghs_TheNewTokenOfTheOperator0123456789";
    scene.github.token(new, Token::actions());
    std::fs::write(&file, new).unwrap();
    until("the pull request", || scene.github.pulls(REPO).len() == 1);
    daemon.running.terminate();
    let _ = daemon.running.done().exits(0).never_says(new).never_says("TheOldToken");
}

#[test]
fn a_group_with_those_below_and_an_organisation_are_lists() {
    for (flavor, api, pattern, others) in [
        (Flavor::GitLab, "/api/v4", "acme/**", ["acme/eu/config", "acme/website"]),
        (Flavor::Gitea, "/api/v1", "acme/*", ["acme/mesh", "acme/website"]),
    ] {
        let scene = Scene::on(flavor, |path| BareRepo::with_files(path, "main", MESH));
        for name in others.into_iter().chain(["acme/old", "acme-labs/mesh"]) {
            scene.github.repo(name, MESH);
            scene.github.labels(name, &LABELS);
        }
        scene.github.settings("acme/old", |repo| repo.archived = true);
        let serve = |pattern: &str| {
            let run = scene.home.run(["serve", "--once", "--forge", flavor.name(), "--repos", pattern]);
            let api = format!("{}{api}", scene.github.server().url());
            run.args(["--forge-api-url", &api]).args(scene.feed.flags()).env("UPLINKER_TOKEN", TOKEN)
        };
        let _ = serve(pattern).done().exits(0);
        for name in others.into_iter().chain([REPO]) {
            assert_eq!(scene.github.pulls(name).len(), 1, "{name}");
        }
        for name in ["acme/old", "acme-labs/mesh"] {
            assert!(scene.github.pulls(name).is_empty(), "{name}");
        }
        let _ = serve("*/*").done().exits(2).complains(&["names no owner"]);
        if flavor == Flavor::Gitea {
            let _ = serve("acme/eu/*").done().exits(2).complains(&["names a group in a group"]);
        }
    }
}
