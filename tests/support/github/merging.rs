//! `PUT /repos/{owner}/{repo}/pulls/{n}/merge`.

use git2::Oid;
use serde_json::json;

use super::{
    api::{Answer, Call},
    json as shape,
    people::Merge,
    state::{Level, State, owner_of},
};
use crate::support::{
    http::Response,
    repo::{FORGE, Person},
};

const MERGE_DOCS: &str = "/pulls/pulls#merge-a-pull-request";

/// Merges, where the head is the one that was named, and the rules of the base branch allow it.
pub fn merge(call: &mut Call<'_>, state: &mut State, number: u64) -> Answer {
    let token = call.allow(state, &[("contents", Level::Write)], MERGE_DOCS)?;
    let body = call.body()?;
    let repo = call.repo(state)?;
    let pull = repo.pulls.get(&number).ok_or_else(|| shape::refusal(404, "Not Found", MERGE_DOCS))?;
    let refuse = |words: &str| Err(shape::refusal(405, words, MERGE_DOCS));
    if !pull.open || pull.draft {
        return refuse("Pull Request is not mergeable");
    }
    if body["sha"].as_str().is_some_and(|sha| sha != pull.head_sha.to_string()) {
        let words = "Head branch was modified. Review and try the merge again.";
        return Err(shape::refusal(409, words, MERGE_DOCS));
    }
    if let Some(rule) = &repo.merge_rule {
        return refuse(rule);
    }
    let how = match body["merge_method"].as_str() {
        None | Some("merge") if !repo.squash_only => Merge::Commit,
        Some("squash") => Merge::Squash,
        Some("rebase") if !repo.squash_only => Merge::Rebase,
        _ => return refuse("Merge commits are not allowed on this repository."),
    };
    let sha = merged(state, &call.name.clone(), number, how, &token.login, false);
    let done = json!({"sha": sha.to_string(), "merged": true, "message": "Pull Request successfully merged"});
    Ok(Response::json(200, &done))
}

/// Merges as a button does.
pub fn merged(state: &mut State, name: &str, number: u64, how: Merge, who: &str, delete_branch: bool) -> Oid {
    let repo = state.repo(name).expect("the repository");
    let (bare, pull) = (repo.bare.clone(), repo.pulls[&number].clone());
    let title = format!("{} (#{number})", pull.title);
    let button = Person { name: "Ada Platform", email: "ada@example.com" };
    let done = match how {
        Merge::Commit => {
            let message = format!("Merge pull request #{number} from {}/{}", owner_of(name), pull.head_ref);
            bare.merge(&pull.base_ref, &pull.head_ref, &FORGE, &message)
        }
        Merge::Squash => bare.squash(&pull.base_ref, &pull.head_ref, &button, &title),
        Merge::Rebase => bare.rebase(&pull.base_ref, &pull.head_ref, &FORGE),
    };
    let commit = done.expect("a pull request that can be merged");
    state.note(name, number, who, "merged");
    state.note(name, number, who, "closed");
    if let Some(pull) = state.repo_mut(name).and_then(|repo| repo.pulls.get_mut(&number)) {
        pull.merge_commit = Some(commit);
    }
    if delete_branch {
        bare.delete_branch(&pull.head_ref);
        state.note(name, number, who, "head_ref_deleted");
    }
    state.follow(name, who);
    commit
}
