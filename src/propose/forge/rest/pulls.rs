//! Step 10, propose: what several forges take and tell of pull requests in the same form.
//!
//! In: what is to be written, or a page of a list. Out: JSON, or the open pull requests by branch. Pure.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Asked, Reply};
use crate::{
    explain::Dialect,
    propose::forge::{ForgeError, OpenPulls, PullPatch, PullRequest, PullState, Recent, STATUS, Status},
};

/// The fields that are given, as the body of a request.
pub(in crate::propose::forge) fn fields<const N: usize>(given: [(&str, Option<&str>); N]) -> Value {
    let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
    Value::Object(given.collect::<Map<_, _>>())
}

/// A change to a pull request; `title` is as the forge is to have it.
pub(in crate::propose::forge) fn change(patch: &PullPatch, title: Option<&str>) -> Value {
    let state = patch.state.map(|state| if state == PullState::Open { "open" } else { "closed" });
    fields([("title", title), ("body", patch.body.as_deref()), ("state", state)])
}

/// Our status; `failure` is the forge's word for it.
pub(in crate::propose::forge) fn status(
    status: &Status,
    page: Option<&str>,
    dialect: &Dialect,
    failure: &str,
) -> Value {
    let description: String = status.description.chars().take(dialect.status).collect();
    let state = if status.success { "success" } else { failure };
    fields([
        ("state", Some(state)),
        ("context", Some(STATUS)),
        ("description", Some(&description)),
        ("target_url", page),
    ])
}

/// The open pull requests of a list by their branches; `None` where the list goes on.
pub(in crate::propose::forge) fn by_branch<P: DeserializeOwned + Into<PullRequest>>(
    reply: &Reply,
    asked: &Asked<'_>,
    branches: &[String],
    is_from: impl Fn(&P, &str) -> bool,
) -> Result<Option<OpenPulls>, ForgeError> {
    if reply.has_next() {
        return Ok(None);
    }
    let mut open = OpenPulls::new();
    for pull in reply.json::<Vec<P>>(asked)? {
        if let Some(branch) = branches.iter().find(|branch| is_from(&pull, branch)) {
            open.entry(branch.clone()).or_default().push(pull.into());
        }
    }
    Ok(Some(open))
}

/// What a list has, which begins with what was touched last; `touched` says when.
pub(in crate::propose::forge) fn recent<P: DeserializeOwned + Into<PullRequest>>(
    reply: &Reply,
    asked: &Asked<'_>,
    branches: &[String],
    is_from: impl Fn(&P, &str) -> bool,
    touched: impl Fn(&P) -> Option<Timestamp>,
) -> Result<Recent, ForgeError> {
    let listed = reply.json::<Vec<P>>(asked)?;
    // One that does not say when it was touched leaves nothing that could be relied on.
    let last = || listed.last().and_then(&touched).unwrap_or(Timestamp::MAX);
    let mut recent = Recent { since: reply.has_next().then(last), ..Recent::default() };
    for pull in listed {
        if let Some(branch) = branches.iter().find(|branch| is_from(&pull, branch)) {
            recent.pulls.entry(branch.clone()).or_default().push(pull.into());
        }
    }
    recent.pulls.values_mut().for_each(|all| all.sort_by_key(|pull| std::cmp::Reverse(pull.number)));
    Ok(recent)
}

/// What makes a draft of a title, as it stands before the rest, with the spaces between.
pub(in crate::propose::forge) fn draft_prefix<'t>(title: &'t str, known: &[&str]) -> &'t str {
    let starts =
        |prefix: &&&str| title.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let Some(length) = known.iter().find(starts).map(|prefix| prefix.len()) else { return "" };
    let rest = title.get(length..).unwrap_or_default();
    let spaces = rest.len() - rest.trim_start().len();
    title.get(..length + spaces).unwrap_or_default()
}

/// Since when a status has said success; what it said comes newest first.
pub(in crate::propose::forge) fn success_since<'s>(
    newest_first: impl Iterator<Item = (&'s str, Timestamp)>,
) -> Option<Timestamp> {
    newest_first.take_while(|(state, _)| *state == "success").last().map(|(_, at)| at)
}
