//! What keeps a good token out, or out of a part: single sign-on, address lists, policies, interaction limits.

use super::play::*;
use crate::support::{
    github::{Repo, Token, TokenKind},
    scene::{PLATFORM, REPO, TOKEN},
};

/// Asserts that the first request says it all, over Git and over the API, and that nothing was written.
fn is_kept_out(token: &Token, set: impl Fn(&mut Repo), words: &str, hint: &str) {
    for public in [false, true] {
        let play = Play::new();
        play.scene.github.token(TOKEN, token.clone());
        play.scene.github.settings(REPO, |repo| {
            set(repo);
            repo.private = !public;
        });
        let pass = play.run().exits(1).complains(&[words, &format!("hint: {hint}")]);
        assert_eq!(pass.asked, [LOOK], "{}", pass.done);
        for untrue in ["missing, wrong or expired", "authorization_request"] {
            assert!(!pass.done.stderr.contains(untrue), "{}", pass.done);
        }
        assert_eq!(play.scene.repo.branches().len(), 1);
    }
}

#[test]
fn single_sign_on_is_told_with_the_place_to_authorise_the_token() {
    let words = "the token is not authorised for the organisation's single sign-on";
    let hint = "authorise the token on GitHub under Settings > Developer settings";
    for token in [Token::classic("ada").unauthorized(), Token::fine_grained("ada").unauthorized()] {
        is_kept_out(&token, |repo| repo.single_sign_on = true, words, hint);
    }
    for token in [Token::classic("ada"), Token::actions(), Token::app("mesh-robot")] {
        let play = Play::new();
        play.scene.github.token(TOKEN, token);
        play.scene.github.settings(REPO, |repo| repo.single_sign_on = true);
        play.run().exits(0).prints(&["opened http://"]);
        play.settles(0);
    }
}

#[test]
fn an_address_list_is_told() {
    let words = "the organisation's IP allow list does not have the address of this machine";
    for token in [Token::classic("ada"), Token::actions()] {
        is_kept_out(&token, |repo| repo.address_list = true, words, "add the address of this machine to the");
    }
}

#[test]
fn a_kind_of_token_that_is_forbidden_is_told() {
    let words = "the organisation forbids this kind of token, or its lifetime";
    for (token, kind) in
        [(Token::classic("ada"), TokenKind::Classic), (Token::fine_grained("ada"), TokenKind::FineGrained)]
    {
        let hint = "use a kind of token that the organisation allows";
        is_kept_out(&token, |repo| repo.forbidden_kind = Some(kind), words, hint);
    }
}

#[test]
fn a_barrier_that_the_api_alone_has_is_told_before_anything_is_written() {
    let play = Play::new();
    play.scene.github.token(TOKEN, Token::classic("ada").unauthorized());
    play.scene.github.before(("GET", "*/pulls?*"), |state| {
        state.repo_mut(REPO).expect("the repository").single_sign_on = true;
    });
    let pass = play.run().exits(1).asks(&[LOOK, FETCH, &list(PLATFORM)]);
    pass.complains(&["single sign-on", "hint: authorise the token"]);
    assert_eq!(play.scene.repo.branches().len(), 1);
}

#[test]
fn an_interaction_limit_leaves_the_branch_and_is_told() {
    let play = Play::new();
    play.scene.github.settings(REPO, |repo| repo.collaborators_only = true);
    play.run().exits(1).asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, OPEN]).complains(&[
        "the repository limits who may open pull requests",
        "hint: look at Settings > Moderation options > Interaction limits",
    ]);
    let ours = play.tip(PLATFORM);
    play.scene.github.settings(REPO, |repo| repo.collaborators_only = false);
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), &opens(1)]);
    assert_eq!(play.tip(PLATFORM), ours);
    play.settles(0);
}
