//! Nothing new, and the first pull request.

use super::{FORGE, play::*};
use crate::support::{
    github::Merge,
    repo::EPOCH,
    scene::{DATA_PLANE, PLATFORM, REPO},
};

#[test]
fn the_first_run_opens_the_pull_request() {
    let play = Play::new();
    let (base, files) = (play.tip("main"), play.files("main"));
    let plan = play.pass(play.scene.command("plan").arg("--exit-code")).exits(10);
    let plan = plan.asks(&[LOOK, FETCH, &list(PLATFORM)]);
    assert!(plan.done.stdout.contains("default, platform: edge-26.8.2 → edge-26.8.3: would be proposed"));
    assert_eq!((play.scene.repo.branches().len(), play.scene.github.pulls(REPO).len()), (1, 0));
    play.scene.home.forget();

    let pass = play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, &opens(1)]).prints(&[
        "default, platform: edge-26.8.2 → edge-26.8.3: opened http://",
        "/acme/config/pull/1\n",
        "title: Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)",
        "branch: uplinker/default/platform into main",
        "2 pins in 2 files:",
        "control-plane.yaml:12 flux-helm-release: 2026.8.2 → 2026.8.3",
        "crds.yaml:10 flux-helm-release: 2026.8.2 → 2026.8.3",
        "default, data-plane: level with the control plane at edge-26.8.2",
    ]);
    assert_eq!(pass.feeds, ["GET /edge/index.yaml", "GET /repos/linkerd/linkerd2/releases?per_page=100"]);
    assert_eq!(pass.done.stderr, "");

    let pull = play.expect_platform(1, 3, &files, &[base]);
    assert_eq!(marker(&pull)["base"], base.to_string());
    assert_eq!((pull.author.as_str(), pull.draft), ("github-actions[bot]", false));
    assert_eq!(play.statuses(PLATFORM), success());
    assert_eq!(play.scene.repo.branches().into_keys().collect::<Vec<_>>(), ["main", PLATFORM]);
    assert_eq!(play.tip("main"), base);
    let sent = pass.sent(OPEN);
    assert_eq!(
        (&sent[0]["head"], &sent[0]["base"], sent[0]["draft"].as_bool().unwrap_or_default()),
        (&PLATFORM.into(), &"main".into(), false)
    );
    let status = &pass.sent(STATUS)[0];
    assert_eq!(status["description"], "no check found anything to settle");
    assert!(
        status["target_url"].as_str().is_some_and(|page| page.ends_with(&FORGE.words("/acme/config/pull/1"))),
        "{status}"
    );
    assert_eq!(pull.labels, [ATTENTION], "what changes in the cluster is not known");

    let body = pull.body.as_deref().unwrap();
    let (text, sign) = body.trim_end().rsplit_once('\n').unwrap();
    assert!(sign.starts_with("<!-- uplinker:v1 {"), "{sign}");
    assert_eq!(text.trim_end(), FORGE.words(BODY.trim_end()));

    let commit = play.scene.repo.open().find_commit(pull.head_sha).unwrap().author().to_owned();
    let address = match is_elsewhere() {
        false => "41898282+github-actions[bot]@users.noreply.127.0.0.1",
        true => "github-actions[bot]@example.org",
    };
    assert_eq!((commit.name().unwrap(), commit.email().unwrap()), ("github-actions[bot]", address));
    let message = play.scene.repo.message(PLATFORM);
    assert!(
        message.starts_with("Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)\n\nLinkerd-Version: "),
        "{message}"
    );
    let digests = trailers(&message, "Chart-Digest");
    assert!(digests[0].starts_with("linkerd-control-plane 2026.8.3 sha256:"), "{digests:?}");
    assert!(digests[1].starts_with("linkerd-crds 2026.8.3 sha256:") && digests.len() == 2, "{digests:?}");
    play.settles(0);
}

const BODY: &str = "\
**Not rendered: no chart was rendered, so what changes in the cluster is not known.** No check found anything to settle.

2 pins move from `edge-26.8.2` to `edge-26.8.3`, published on 2026-08-15. Both are of milestone `2.20`.

| what | now | after |
|---|---|---|
| `linkerd-control-plane` | `2026.8.2` | **`2026.8.3`** |
| `linkerd-crds` | `2026.8.2` | **`2026.8.3`** |

<details><summary>Where: 2 lines</summary>

- `linkerd-control-plane`: `control-plane.yaml:12`
- `linkerd-crds`: `crds.yaml:10`

</details>

### What changes in the cluster

Not rendered, so not compared:

- `linkerd-control-plane` at `control-plane.yaml:1`, `linkerd-crds` at `crds.yaml:1`: rendering is off &#40;`--helm off`&#41;. Give uplinker a `helm` of 3.14 or newer.

### What changed upstream

Linkerd has published no advice on this release, for or against.

<details><summary>1 release: 1 feature, fix or other change</summary>

**[edge-26.8.3](https://github.com/linkerd/linkerd2/releases/tag/edge-26.8.3)**, 2026-08-15

- Something in edge-26.8.3 (linkerd2#&#8203;1)

</details>

### Order and way back

1. `linkerd-crds`
2. `linkerd-control-plane`, waits for `linkerd-crds`

Proxies of `edge-26.8.2` keep running until their pods restart; 1 proxy pin is not moved here. They are of milestone `2.20` like the control plane, and supported through the next milestone.

To go back, run `uplinker rollback` or revert the merge. Whether a CRD stores its objects in another version is not known: the CRDs were not rendered. `edge-26.8.3` is then not proposed again.

Everything is at its default: this repository has no `uplinker.yaml`.

---

<!-- uplinker:boxes -->
- [ ] Skip `edge-26.8.3` for `default` (platform) <!-- uplinker:skip edge-26.8.3 -->
- [ ] Apply this to the base branch as it is now <!-- uplinker:rebase -->
- [ ] Ask again for labels, people and status <!-- uplinker:retry -->

To decline `edge-26.8.3`, tick the first box or close this pull request: uplinker then stays quiet until a newer release. \
Commits that you push to this branch are kept, and uplinker stops changing it.
<!-- /uplinker:boxes -->";

#[test]
fn the_same_inputs_make_the_same_commit() {
    let (one, other) = (Play::opened(), Play::opened());
    assert_eq!(one.tip(PLATFORM), other.tip(PLATFORM));
    // Their feeds have addresses of their own.
    let text = |play: &Play| play.body(1).split_once(",\"basis\":").unwrap().0.to_owned();
    assert_eq!(text(&one), text(&other));
}

#[test]
fn nothing_new_in_an_idle_repository() {
    let play = Play::with(&cluster("", 3));
    play.run().exits(0).asks(&[LOOK, FETCH]).prints(&["default, platform: up to date at edge-26.8.3"]);
    play.run().exits(0).asks(&[LOOK]).stays_warm();
    play.settles(0);
    assert_eq!(play.scene.repo.branches().len(), 1);
}

#[test]
fn nothing_new_with_an_open_pull_request() {
    let play = Play::opened();
    play.run()
        .exits(0)
        .asks(&[LOOK, &list(PLATFORM)])
        .stays_warm()
        .prints(&["edge-26.8.2 → edge-26.8.3: nothing to do, http://", "/acme/config/pull/1 is up to date"]);
    play.settles(0);
    // The cache is a help and no memory.
    play.scene.home.forget();
    play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM)]);
}

#[test]
fn nothing_new_while_the_data_plane_waits() {
    for left_behind in [false, true] {
        let play = Play::opened();
        let now = jiff::Timestamp::now().as_second();
        play.scene.github.set_clock(now);
        // The host notes the merge a second later.
        play.scene.repo.set_clock(now + 1);
        play.scene.github.merge(REPO, 1, Merge::Squash, "ada", !left_behind);
        let waits = "default, data-plane: on hold: the control plane's edge-26.8.3 is to prove itself first; proxies wait until 20";
        play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM)]).prints(&[waits]);
        play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).stays_warm().prints(&[waits]);
        play.settles(0);
        assert_eq!(play.scene.repo.tip(DATA_PLANE), None);
    }
}

#[test]
fn the_data_plane_is_due_after_its_wait() {
    let play = Play::opened();
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    // Merged on 2026-08-01, by the host's clock; the wait is a day by default.
    assert!(play.pull(1).merged_at.unwrap() < EPOCH + 86_400);
    play.run()
        .exits(0)
        .asks(&[LOOK, FETCH, &list(PLATFORM), &list(DATA_PLANE), WHO, PUSH, &opens(2)])
        .prints(&[
            "default, data-plane: edge-26.8.2 → edge-26.8.3: opened http://",
            "web.yaml:13 proxy-annotation",
        ]);
    play.expect_data_plane(2);
    assert_eq!(play.statuses(DATA_PLANE), success());
    play.run()
        .exits(0)
        .asks(&[LOOK, &list(DATA_PLANE)])
        .stays_warm()
        .prints(&["/acme/config/pull/2 is up to date"]);
    play.settles(0);

    play.scene.github.merge(REPO, 2, Merge::Commit, "ada", true);
    play.run()
        .exits(0)
        .asks(&[LOOK, FETCH])
        .prints(&["default, data-plane: level with the control plane at edge-26.8.3"]);
    play.settles(0);
}

#[test]
fn without_a_wait_the_data_plane_follows_at_once() {
    let play = Play::configured("version: 1\ndataPlane:\n  after: 0d\n").begun();
    play.scene.github.set_clock(jiff::Timestamp::now().as_second());
    play.scene.github.merge(REPO, 1, Merge::Rebase, "ada", true);
    play.run().exits(0).asks(&[LOOK, FETCH, &list(DATA_PLANE), WHO, PUSH, &opens(2)]);
    play.expect_data_plane(2);
    play.settles(0);
}
