//! Gates: what is said of the commits that an environment runs decides whether a release goes on.

use serde_json::json;

use super::play::*;
use crate::support::{
    github::{Level, Merge, Shown, Token},
    scene::{DATA_PLANE, REPO, TOKEN},
};

const PRODUCTION: &str = "uplinker/production/platform";
const CONFIG: &str = "version: 1\ndataPlane:\n  pins: ignore\ngates:\n  active: [\"kustomization/*\"]\ntargets:\n  - name: \
                      production\n    paths: [production]\n    after: {target: staging}\n  - name: staging\n    paths: \
                      [staging]\n";
const GRAPH: &str = "POST /api/graphql";

fn reading() -> Token {
    Token::actions().having("checks", Level::Read).having("deployments", Level::Read)
}

/// Staging was moved by hand, two hours ago.
fn moved(config: &str) -> (Play, git2::Oid) {
    let mut files = cluster("staging/", 2);
    files.extend(cluster("production/", 2));
    files.push(("uplinker.yaml".to_owned(), config.to_owned()));
    let play = Play::with(&files);
    play.scene.github.token(TOKEN, reading());
    play.scene.repo.set_clock(now() - 7200);
    let moves = CHARTS.map(|path| play.replace("main", &format!("staging/{path}"), "2026.8.2", "2026.8.3"));
    (play, moves[1])
}

#[test]
fn a_release_goes_on_where_the_deployer_said_that_it_works() {
    let (play, moved) = moved(CONFIG);
    let pass = play.run().exits(0).prints(&[
        "production, platform: on hold: edge-26.8.3 waits until `kustomization/*` says something of target `staging`, which has \
         run it since 20",
        "; expected until 20",
    ]);
    let graphs = pass.asked.iter().filter(|line| *line == GRAPH).count();
    assert_eq!(graphs, usize::from(!is_elsewhere()), "{:#?}", pass.asked);
    play.settles(0);

    // The status is on the commit that was applied, which is a later one.
    let later = play.commit("main", "docs/notes.md", "Something else.\n");
    play.says_of(moved, "kustomization/linkerd/0c9c2e41", "failure", 90);
    play.run()
        .exits(0)
        .prints(&["until `kustomization/linkerd/0c9c2e41` succeeds for target `staging`: failed since 20"]);
    play.settles(0);
    play.says_of(later, "kustomization/linkerd/0c9c2e41", "success", 60);
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    assert!(play.scene.repo.tip(PRODUCTION).is_some());
    let body = play.body(1);
    assert!(body.contains("Target `staging` has run it since 20"), "{body}");
    assert!(body.contains("and `kustomization/*` says that it works."), "{body}");
    play.settles(0);
    // What fails later leaves what is open as it is, and says why nothing newer comes.
    play.says_of(later, "kustomization/linkerd/0c9c2e41", "failure", 1);
    play.run().exits(0).prints(&["until `kustomization/linkerd/0c9c2e41` succeeds"]);
    assert!(play.pull(1).open);
}

#[test]
fn checks_and_deployments_speak_too_and_our_own_status_does_not() {
    // Check runs and deployments are GitHub's, and so are their permissions.
    if is_elsewhere() {
        return;
    }
    let config = CONFIG.replace("kustomization/*", "*");
    let (play, moved) = moved(&config);
    play.says_of(moved, "uplinker/verify", "success", 60);
    play.run().exits(0).prints(&["until `*` says something of target `staging`"]);
    let at = jiff::Timestamp::from_second(now() - 600).unwrap().to_string();
    let shown = |value| Shown { sha: moved.to_string(), value };
    let check = |status: &str, conclusion: Option<&str>| {
        shown(
            json!({"name": "smoke", "status": status, "conclusion": conclusion, "startedAt": at, "completedAt":
            conclusion.map(|_| &at)}),
        )
    };
    play.scene.github.settings(REPO, |repo| repo.checks = vec![check("IN_PROGRESS", None)]);
    play.run().exits(0).prints(&["until `smoke` succeeds for target `staging`: pending since 20"]);
    play.scene.github.settings(REPO, |repo| repo.checks = vec![check("COMPLETED", Some("TIMED_OUT"))]);
    play.run().exits(0).prints(&["until `smoke` succeeds for target `staging`: failed since 20"]);
    play.scene.github.settings(REPO, |repo| {
        repo.checks = vec![check("COMPLETED", Some("SUCCESS"))];
        repo.deployments = vec![
            shown(json!({"environment": "staging", "state": "ERROR", "updatedAt": at})),
            shown(json!({"environment": "preview", "state": "INACTIVE", "updatedAt": at})),
        ];
    });
    play.run().exits(0).prints(&["until `staging` succeeds for target `staging`: failed since 20"]);
    play.scene.github.settings(REPO, |repo| {
        repo.deployments = vec![shown(json!({"environment": "staging", "state": "ACTIVE", "updatedAt": at}))];
    });
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
}

#[test]
fn a_thousand_contexts_are_read_page_by_page() {
    // Check runs and deployments are GitHub's, and so are their permissions.
    if is_elsewhere() {
        return;
    }
    let (play, moved) = moved(CONFIG);
    for n in 0..999 {
        play.says_of(moved, &format!("ci/{n}"), "success", 60);
    }
    // The oldest is on the last page.
    play.scene.github.settings(REPO, |repo| {
        let mut first = repo.statuses[0].clone();
        first.context = "kustomization/linkerd/0c9c2e41".to_owned();
        repo.statuses.insert(0, first);
    });
    let pass = play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    assert_eq!(pass.asked.iter().filter(|line| *line == GRAPH).count(), 10 + 1, "{:#?}", pass.asked);
}

#[test]
fn a_token_that_may_not_read_them_holds_and_says_what_it_lacks() {
    // Check runs and deployments are GitHub's, and so are their permissions.
    if is_elsewhere() {
        return;
    }
    let (play, moved) = moved(CONFIG);
    play.says_of(moved, "kustomization/linkerd/0c9c2e41", "success", 60);
    play.scene.github.token(TOKEN, Token::actions());
    play.run().exits(0).prints(&[
        "edge-26.8.3 waits until the gates of target `staging` can be read (",
        "lacks the permission `statuses: read, checks: read, deployments: read`",
    ]);
    play.scene.github.token(TOKEN, reading());
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
}

#[test]
fn proxies_wait_for_what_is_said_of_their_own_control_plane() {
    let config = "version: 1\ndataPlane:\n  after: 0d\ngates:\n  active: [\"kustomization/*\"]\n";
    let play = Play::configured(config).begun();
    play.scene.github.token(TOKEN, reading());
    play.scene.repo.set_clock(now() - 7200);
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    play.run()
        .exits(0)
        .prints(&["default, data-plane: on hold: edge-26.8.3 waits until `kustomization/*` says"]);
    assert!(play.scene.repo.tip(DATA_PLANE).is_none());
    play.says_of(play.tip("main"), "kustomization/linkerd/0c9c2e41", "success", 60);
    play.run().exits(0).prints(&["default, data-plane: edge-26.8.2 → edge-26.8.3: opened"]);
}
