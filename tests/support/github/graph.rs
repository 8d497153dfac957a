//! `POST /graphql`, as far as it is asked who the token is, and what is said of commits.

use serde_json::{Map, Value, json};

use super::{
    api::{Answer, Call},
    json as shape,
    state::{Level, Repo, State},
};
use crate::support::http::Response;

const DOCS: &str = "/guides/forming-calls-with-graphql#authenticating-with-graphql";
const VIEWER: &str = "query{viewer{logindatabaseId}}";
/// What is asked of one commit, and of how many at most on a page.
const SAID: &str = "statusCheckRollup{contexts(first:100,after:AFTER){pageInfo{hasNextPageendCursor}nodes{...onStatusContext{\
                    contextstatecreatedAt}...onCheckRun{namestatusconclusionstartedAtcompletedAt}}}}\
                    deployments(first:100){nodes{environmentstateupdatedAt}}";
const PAGE: usize = 100;

/// A check run or a deployment, as GraphQL shows it.
#[derive(Clone, Debug)]
pub struct Shown {
    pub sha: String,
    pub value: Value,
}

pub fn answer(call: &mut Call<'_>, state: &mut State) -> Answer {
    let Some(token) = &call.token else {
        return Err(shape::refusal(401, "This endpoint requires you to be authenticated.", DOCS));
    };
    let body = call.body()?;
    let query: String = body["query"].as_str().unwrap_or_default().split_whitespace().collect();
    if query == VIEWER {
        let id = shape::user(&call.urls, &token.login)["id"].clone();
        let viewer = json!({"login": token.login, "databaseId": id});
        return Ok(Response::json(200, &json!({"data": {"viewer": viewer}})));
    }
    let start = "query($owner:String!,$name:String!){repository(owner:$owner,name:$name){";
    let Some(objects) = query.strip_prefix(start).and_then(|rest| rest.strip_suffix("}}")) else {
        return Ok(problem("undefinedField", &format!("Field of {query} doesn't exist")));
    };
    let of = |key: &str| body["variables"][key].as_str().unwrap_or_default().to_lowercase();
    let name = format!("{}/{}", of("owner"), of("name"));
    let Some(repo) = state.repo(&name).filter(|repo| !repo.private || token.sees(&name)) else {
        return Ok(problem(
            "NOT_FOUND",
            &format!("Could not resolve to a Repository with the name '{name}'."),
        ));
    };
    let may = ["statuses", "checks", "deployments"].iter().all(|what| token.may(what, Level::Read));
    if !may {
        return Ok(problem("FORBIDDEN", "Resource not accessible by integration"));
    }
    let mut data = Map::new();
    let mut rest = objects;
    while !rest.is_empty() {
        let Some((alias, commit, left)) = read(rest, repo) else {
            return Ok(problem("undefinedField", &format!("Field of {rest} doesn't exist")));
        };
        data.insert(alias, commit);
        rest = left;
    }
    Ok(Response::json(200, &json!({"data": {"repository": data}})))
}

fn problem(kind: &str, message: &str) -> Response {
    Response::json(200, &json!({"errors": [{"type": kind, "message": message}]}))
}

/// Reads `c0:object(oid:"..."){...onCommit{..}}`, answers it, and returns what comes after it.
fn read<'q>(objects: &'q str, repo: &Repo) -> Option<(String, Value, &'q str)> {
    let (alias, rest) = objects.split_once(":object(oid:\"")?;
    let (oid, rest) = rest.split_once("\"){...onCommit{")?;
    let (start, end) = SAID.split_once("AFTER")?;
    let (after, rest) = rest.strip_prefix(start)?.split_once(')')?;
    let rest = rest.strip_prefix(end.strip_prefix(')')?)?.strip_prefix("}}")?;
    let known = git2::Oid::from_str(oid).is_ok_and(|id| repo.bare.open().find_commit(id).is_ok());
    let from: usize = after.trim_matches('"').parse().unwrap_or(0);
    Some((alias.to_owned(), if known { commit(oid, repo, from) } else { Value::Null }, rest))
}

/// Of each context the last status is shown, as in the box of a pull request.
fn commit(oid: &str, repo: &Repo, from: usize) -> Value {
    let mut contexts: Vec<Value> = Vec::new();
    for status in repo.statuses.iter().rev().filter(|status| status.sha == oid) {
        if !contexts.iter().any(|shown| shown["context"] == status.context.as_str()) {
            let at = jiff::Timestamp::from_second(status.at).expect("a time").to_string();
            contexts.push(
                json!({"context": status.context, "state": status.state.to_uppercase(), "createdAt": at}),
            );
        }
    }
    let of = |all: &[Shown]| -> Vec<Value> {
        all.iter().filter(|shown| shown.sha == oid).map(|shown| shown.value.clone()).collect()
    };
    contexts.extend(of(&repo.checks));
    let page: Vec<&Value> = contexts.iter().skip(from).take(PAGE).collect();
    let end = from + page.len();
    let info = json!({"hasNextPage": end < contexts.len(), "endCursor": end.to_string()});
    let rollup = json!({"contexts": {"pageInfo": info, "nodes": page}});
    let rollup = if contexts.is_empty() { Value::Null } else { rollup };
    json!({"statusCheckRollup": rollup, "deployments": {"nodes": of(&repo.deployments)}})
}
