//! `uplinker doctor`: what is missing is named before anything is written, and what is there is not.

use crate::support::{
    controls::Fault,
    feed::failing,
    github::{
        Level, Token, TokenKind,
        rules::{Form, Kind},
    },
    helm::helm,
    http::Response,
    mesh::{MESH, mesh_and},
    process::{Done, Run},
    repo::BareRepo,
    scene::{PLATFORM, REPO, Scene, TOKEN},
};
use serde_json::Value;

fn doctor(scene: &Scene) -> Run {
    scene.command("doctor").args(["--format", "json"]).env("UPLINKER_HELM", helm())
}

/// What a check says, as `state: message`; several of one name in their order.
fn check(done: &Done, name: &str) -> Vec<String> {
    let report = done.json();
    let checks = report["checks"].as_array().unwrap();
    let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    checks
        .iter()
        .filter(|c| c["name"] == name)
        .map(|c| format!("{}: {}", text(c, "state"), text(c, "message")))
        .collect()
}

fn hints(done: &Done, name: &str) -> String {
    let report = done.json();
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["name"] == name);
    checks
        .flat_map(|c| c["hints"].as_array().unwrap())
        .map(|hint| hint.as_str().unwrap().to_owned())
        .collect()
}

/// The names and states of all checks.
fn states(done: &Done) -> Vec<String> {
    let report = done.json();
    let text =
        |check: &Value| format!("{} {}", check["name"].as_str().unwrap(), check["state"].as_str().unwrap());
    report["checks"].as_array().unwrap().iter().map(text).collect()
}

/// The doctor writes nothing, whatever it finds.
fn examined(scene: &Scene, run: Run) -> Done {
    let refs = scene.repo.refs();
    let done = run.done();
    assert_eq!(scene.repo.refs(), refs, "{done}");
    let requests = scene.requests();
    let reads = |line: &String| {
        line.starts_with("GET ") || line.ends_with("/graphql") || line.contains("git-upload-pack")
    };
    assert!(requests.iter().all(reads), "{requests:#?}");
    done.never_says(TOKEN)
}

#[test]
fn where_all_is_there_nothing_is_missing() {
    let scene = Scene::new(MESH);
    for token in [Token::app("mesh-robot"), Token::fine_grained("ada"), Token::classic("ada")] {
        let kind = token.kind;
        scene.github.token(TOKEN, token);
        let done = examined(&scene, doctor(&scene)).exits(0);
        let permissions = if kind == TokenKind::Classic { "permissions ok" } else { "permissions unknown" };
        assert_eq!(
            states(&done),
            [
                "helm ok",
                "cache ok",
                "feed-milestones ok",
                "feed-charts ok",
                "feed-releases ok",
                "base-branch ok",
                "push ok",
                "commits ok",
                "repository ok",
                "token ok",
                permissions,
                "pull-requests ok",
                "statuses ok",
                "labels ok",
                "rules ok",
            ],
            "{done}"
        );
        assert_eq!(done.json()["healthy"], true);
    }
    // What it calls fine, a run does.
    let _ = scene.run().done().exits(0).prints(&["opened http://"]);
}

#[test]
fn a_workflows_token_is_told_of_the_setting_that_it_cannot_see() {
    let scene = Scene::new(MESH);
    let done = examined(&scene, doctor(&scene)).exits(0);
    assert!(check(&done, "token")[0].starts_with("ok: commits are by github-actions[bot] <"), "{done}");
    assert!(
        hints(&done, "permissions").contains("Allow GitHub Actions to create and approve pull requests"),
        "{done}"
    );
}

#[test]
fn a_token_that_may_not_push_is_named() {
    let scene = Scene::new(MESH);
    scene.github.token(TOKEN, Token::app("mesh-robot").having("contents", Level::Read));
    let done = examined(&scene, doctor(&scene)).exits(1);
    assert!(check(&done, "push")[0].starts_with("failure: "), "{done}");
    assert!(hints(&done, "push").contains("may write `contents`"), "{done}");
    let _ = scene.run().done().exits(1);
}

#[test]
fn without_a_token_it_is_said_what_needs_one() {
    let scene = Scene::new(MESH);
    let bare = |scene: &Scene| examined(scene, doctor(scene).env("UPLINKER_TOKEN", ""));
    let done = bare(&scene).exits(1);
    assert!(check(&done, "base-branch")[0].contains("none was given"), "{done}");
    scene.github.settings(REPO, |repo| repo.private = false);
    let done = bare(&scene).exits(1);
    assert!(check(&done, "base-branch")[0].starts_with("ok: "), "{done}");
    assert!(check(&done, "push")[0].contains("none was given"), "{done}");
    assert!(hints(&done, "token").contains("`contents: write` and `pull-requests: write`"), "{done}");
}

#[test]
fn each_missing_permission_is_named() {
    let scene = Scene::new(MESH);
    let with = |token: Token| {
        scene.github.token(TOKEN, token);
        examined(&scene, doctor(&scene))
    };
    let done = with(Token::app("mesh-robot").without("pull_requests")).exits(1);
    assert!(
        check(&done, "pull-requests")[0].contains("lacks the permission `pull-requests: write`"),
        "{done}"
    );
    let done = with(Token::app("mesh-robot").without("statuses")).exits(0);
    assert!(check(&done, "statuses")[0].starts_with("warning: "), "{done}");
    assert!(hints(&done, "statuses").contains("give it `statuses: write`"), "{done}");
    let done = with(Token::app("mesh-robot").expired()).exits(1);
    assert!(check(&done, "base-branch")[0].contains("the token is wrong or has expired"), "{done}");
}

#[test]
fn gates_are_asked_for_where_the_configuration_has_some() {
    let config = "version: 1\ngates: {active: ['flux/*']}\n";
    let scene = Scene::new(&mesh_and(&[("uplinker.yaml", config)]));
    let done = examined(&scene, doctor(&scene)).exits(0);
    assert!(check(&done, "gates")[0].starts_with("warning: "), "{done}");
    assert!(hints(&done, "gates").contains("`checks: read` and `deployments: read`"), "{done}");
    let token = Token::app("mesh-robot").having("checks", Level::Read).having("deployments", Level::Read);
    scene.github.token(TOKEN, token);
    let done = examined(&scene, doctor(&scene)).exits(0);
    assert!(check(&done, "gates")[0].starts_with("ok: "), "{done}");
}

#[test]
fn labels_that_are_not_there_are_named() {
    let scene =
        Scene::new(&mesh_and(&[("uplinker.yaml", "version: 1\npullRequest: {labels: [mesh, Team]}\n")]));
    scene.github.labels(REPO, &["team"]);
    let done = examined(&scene, doctor(&scene)).exits(0);
    assert_eq!(
        check(&done, "labels"),
        ["warning: not in the repository: `mesh`"],
        "case does not count\n{done}"
    );
    assert!(hints(&done, "labels").contains("`issues: write`"), "{done}");
}

#[test]
fn rules_over_our_branches_are_told_with_the_way_out() {
    let cases = [
        (Kind::Unsigned, "failure", "commits have to be signed"),
        (Kind::Creation, "failure", "no branch is made"),
        (Kind::WithoutPullRequest, "failure", "changes come through pull requests"),
        (Kind::ForcePush, "warning", "no force-push"),
        (Kind::MergeCommits, "warning", "no merge commits"),
        (Kind::Deletion, "warning", "no branch is deleted"),
        (Kind::Any("JIRA".to_owned()), "warning", "have to match a pattern"),
    ];
    for (kind, state, words) in cases {
        let scene = Scene::new(MESH);
        scene.github.rule(REPO, "refs/heads/uplinker/", kind.clone(), Form::Ruleset);
        let done = examined(&scene, doctor(&scene)).exits(i32::from(state == "failure"));
        let told = check(&done, "rules");
        assert_eq!(told.len(), 1, "once for all branches: {told:?}");
        assert!(
            told[0].starts_with(state) && told[0].contains(words) && told[0].contains(PLATFORM),
            "{told:?}"
        );
        assert!(!hints(&done, "rules").is_empty());
        // What it says of the first push is so.
        let run = scene.run().done();
        let refused = !matches!(kind, Kind::ForcePush | Kind::MergeCommits | Kind::Deletion);
        assert_eq!(run.status.code(), Some(i32::from(refused)), "{run}");
    }
}

#[test]
fn rules_that_do_not_hold_for_us_are_not_told() {
    let scene = Scene::new(MESH);
    scene.github.rule(REPO, "refs/heads/main", Kind::WithoutPullRequest, Form::Ruleset);
    scene.github.rule(REPO, "refs/heads/uplinker/", Kind::Unsigned, Form::Ruleset);
    scene.github.settings(REPO, |repo| repo.rules[1].bypassed = true);
    let done = examined(&scene, doctor(&scene)).exits(0);
    assert!(check(&done, "rules")[0].starts_with("ok: no ruleset keeps"), "{done}");
    let _ = scene.run().done().exits(0);
}

#[test]
fn an_older_server_that_knows_no_rules_leaves_them_unknown() {
    let scene = Scene::new(MESH);
    let missing = || Fault::Answer(Response::text(404, "Not Found"));
    scene.github.controls().rules.fault_nth("GET", "*/rules/branches/*", 0, usize::MAX, missing());
    let done = examined(&scene, doctor(&scene)).exits(0);
    assert!(check(&done, "rules")[0].starts_with("unknown: this server does not list the rules"), "{done}");
}

#[test]
fn a_clock_and_a_token_are_judged_by_the_forges_time() {
    let looks = |date: &str, expiry: &str| {
        let scene = Scene::new(MESH);
        let repo = serde_json::json!({"full_name": REPO, "archived": false});
        let answer = Response::json(200, &repo)
            .with("Date", date)
            .with("GitHub-Authentication-Token-Expiration", expiry);
        let path = format!("*/repos/{REPO}");
        scene.github.controls().rules.fault_nth("GET", &path, 0, usize::MAX, Fault::Answer(answer));
        examined(&scene, doctor(&scene))
    };
    let done = looks("Sat, 01 Aug 2020 12:00:00 GMT", "2020-08-05 10:00:00 UTC").exits(0);
    assert!(check(&done, "clock")[0].contains(" s ahead of that of 127.0.0.1"), "{done}");
    assert_eq!(check(&done, "token")[1], "warning: it ends on 2020-08-05", "{done}");
    let done = looks("Fri, 01 Aug 2070 12:00:00 GMT", "2071-01-01 01:00:00 +0200").exits(0);
    assert!(check(&done, "clock")[0].contains(" s behind that of 127.0.0.1"), "{done}");
    assert_eq!(check(&done, "token")[1], "ok: it lasts until 2070-12-31", "{done}");
    let now = jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&jiff::Timestamp::now())
        .unwrap();
    let done = looks(&now, "soon").exits(0);
    assert!(check(&done, "clock")[0].starts_with("ok: within a minute"), "{done}");
    assert_eq!(check(&done, "token").len(), 1, "a date that is none says nothing");
}

#[test]
fn a_repository_that_is_not_there_or_archived_is_named() {
    let scene = Scene::new(MESH);
    scene.github.settings(REPO, |repo| repo.archived = true);
    let done = examined(&scene, doctor(&scene)).exits(1);
    assert!(check(&done, "repository")[0].contains("archived"), "{done}");
    scene.github.token(TOKEN, Token::app("mesh-robot").only("acme/other"));
    let done = examined(&scene, doctor(&scene)).exits(1);
    assert!(check(&done, "base-branch")[0].starts_with("failure: "), "{done}");
}

#[test]
fn a_configuration_with_mistakes_is_told_with_its_places() {
    let scene =
        Scene::new(&mesh_and(&[("uplinker.yaml", "version: 1\nfrobnicate: 1\nbranch: {prefix: 7}\n")]));
    let done = examined(&scene, doctor(&scene)).exits(2);
    let told = check(&done, "configuration").concat();
    assert!(told.contains("uplinker.yaml:2:1") && told.contains("uplinker.yaml:3:"), "{told}");
}

#[test]
fn the_machine_is_looked_at_too() {
    let scene = Scene::new(MESH);
    let off = examined(&scene, doctor(&scene).env("UPLINKER_HELM", "off").env("UPLINKER_NO_CACHE", "true"))
        .exits(0);
    assert!(
        check(&off, "helm")[0].starts_with("warning: off")
            && check(&off, "cache")[0].starts_with("warning: off")
    );
    let absent = examined(&scene, doctor(&scene).env("UPLINKER_HELM", "/nowhere/helm")).exits(2);
    assert!(check(&absent, "helm")[0].contains("/nowhere/helm"), "{absent}");
    let shared = scene.home.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(&shared, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let done = examined(&scene, doctor(&scene).env("UPLINKER_CACHE_DIR", &shared)).exits(0);
    assert!(check(&done, "cache")[0].contains("other users may write to"), "{done}");
}

#[test]
fn feeds_out_of_reach_are_named() {
    let scene = Scene::new(MESH);
    scene.feed.break_always("*/index.yaml", failing(503));
    let done = examined(&scene, doctor(&scene)).exits(0);
    assert!(check(&done, "feed-charts")[0].starts_with("warning: "), "{done}");
    assert!(hints(&done, "feed-charts").contains("`--charts-url`"), "{done}");
    scene.feed.break_always("*", failing(503));
    let _ = examined(&scene, doctor(&scene)).exits(5);
}

#[test]
fn a_rate_limit_may_pass_by_itself() {
    let scene = Scene::new(MESH);
    scene.github.limit(0, 4_000_000_000);
    let done = examined(&scene, doctor(&scene)).exits(5);
    assert!(check(&done, "repository")[0].contains("rate limit reached"), "{done}");
}

#[test]
fn a_folder_of_proposals_needs_no_forge() {
    let scene = Scene::new(MESH);
    let bare = BareRepo::with_files(scene.home.path().join("mesh.git"), "main", MESH);
    let run =
        scene.home.run(["doctor", "--format", "json", "--repo"]).arg(bare.path()).args(scene.feed.flags());
    let run = run.arg(format!("--forge=directory:{}", scene.home.path().join("proposals").display()));
    let done = run.env("UPLINKER_HELM", helm()).done().exits(0);
    assert_eq!(check(&done, "push"), ["unknown: shows only when it is tried"], "{done}");
    assert!(check(&done, "repository").is_empty(), "{done}");
}

#[test]
fn people_read_a_table_and_what_to_do() {
    let scene = Scene::new(MESH);
    scene.github.settings(REPO, |repo| repo.labels.clear());
    let text = scene.command("doctor").env("UPLINKER_HELM", helm()).done().exits(0);
    let _ = text.clone().prints(&[
        "STATE",
        "ok       base-branch",
        "warning  labels",
        "\nlabels: making one takes the permission",
    ]);
    let markdown =
        scene.command("doctor").args(["--format", "markdown"]).env("UPLINKER_HELM", helm()).done().exits(0);
    let _ = markdown.prints(&["| state | check | found | what to do |", "| warning | labels | "]);
}
