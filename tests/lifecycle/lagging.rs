//! An API that lags behind Git, and lists that are stale.

use super::{FORGE, play::*};
use crate::support::{
    flavor::Flavor,
    scene::{PLATFORM, REPO},
};

/// From the push on, the API shows for so many requests what there was before.
fn lags(play: &Play, requests: u32) {
    play.scene.github.before(("POST", "*/git-receive-pack"), move |state| {
        state.repo_mut(REPO).expect("the repository").lag_for(requests);
    });
}

#[test]
fn a_branch_that_the_api_sees_late_gets_its_pull_request() {
    let play = Play::new();
    lags(&play, 1);
    let (listed, opened, looked) = (list(PLATFORM), opens(1), format!("GET {}", FORGE.repository(REPO)));
    let mut parts = vec![LOOK, FETCH, &listed, WHO, PUSH, OPEN, &opened];
    if FORGE == Flavor::Gitea {
        // It says the same where pull requests are turned off.
        parts.insert(6, &looked);
    }
    play.run().exits(0).asks(&parts).prints(&["opened http://"]);
    play.expect_platform(1, 3, &play.files("main"), &[play.tip("main")]);
    play.settles(0);
}

#[test]
fn a_branch_that_the_api_does_not_see_is_left_for_the_next_run() {
    let play = Play::new();
    lags(&play, 40);
    play.run().exits(5).complains(&["does not see yet what was pushed", "hint: try again later"]);
    assert!(play.scene.github.pulls(REPO).is_empty());
    let ours = play.tip(PLATFORM);
    play.scene.github.settings(REPO, |repo| repo.lag = None);
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), &opens(1)]).prints(&["opened http://"]);
    assert_eq!(play.tip(PLATFORM), ours);
    play.settles(0);
}

#[test]
fn a_list_that_is_stale_makes_no_second_pull_request() {
    let play = Play::new();
    play.scene.github.settings(REPO, |repo| repo.lag_for(0));
    play.run().exits(0).prints(&["opened http://"]);
    for (requests, code) in [(1, 0), (40, 5)] {
        play.scene.github.settings(REPO, |repo| {
            repo.lag_for(requests);
            repo.lag.as_mut().expect("a lag").pulls.clear();
        });
        play.run().exits(code);
        play.scene.github.settings(REPO, |repo| repo.lag = None);
        assert_eq!(play.scene.github.pulls(REPO).len(), 1);
    }
    play.run().exits(0);
    play.settles(0);
}
