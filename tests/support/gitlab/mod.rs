//! What of the fake host is GitLab's: its API, with its words and its quirks, over the same repositories, people and pull
//! requests. A project is addressed by its whole path as one part, and a merge request by its number there.

mod api;
mod groups;
mod issues;
mod json;
mod merge_requests;
mod people;
mod quick_actions;
mod statuses;

pub use api::answer;

use serde_json::Value;

/// What is asked of GitLab where GitHub is asked a line.
pub fn lines(line: &str) -> Vec<String> {
    let same = line
        .replace("/api/v3/repos/acme/config", "/api/v4/projects/acme%2Fconfig")
        .replace("/api/v3/", "/api/v4/")
        .replace("/pulls", "/merge_requests");
    let Some((method, target)) = same.split_once(' ') else { return vec![same] };
    if target == "/api/graphql" {
        return Vec::new();
    }
    let put = |target: &str| vec![format!("PUT {target}")];
    if let Some((start, rest)) = target.split_once("?state=all&head=acme%3A") {
        let rest = rest.replace("&sort=created&direction=desc", "&order_by=created_at&sort=desc");
        return vec![format!("{method} {start}?state=all&source_branch={rest}")];
    }
    if let Some((start, rest)) = target.split_once("/events?") {
        let start = start.replace("/issues/", "/merge_requests/");
        return vec![format!("{method} {start}/resource_state_events?{rest}")];
    }
    if let Some((start, _)) = target.split_once("/labels").filter(|_| method != "GET") {
        return put(&start.replace("/issues/", "/merge_requests/"));
    }
    match method {
        "PATCH" => put(target),
        _ => vec![same.replace("?state=open&", "?state=opened&")],
    }
}

/// What is printed or shown on GitLab where a text stands on GitHub.
pub fn words(text: &str) -> String {
    let named = |text: String, digit| {
        let text = text.replace(&format!(" #{digit}"), &format!(" !{digit}"));
        let text = text.replace(&format!("[#{digit}"), &format!("[!{digit}"));
        match text.strip_prefix('#') {
            Some(rest) if rest.starts_with(digit) => format!("!{rest}"),
            _ => text,
        }
    };
    let text = ('1'..='9').fold(text.to_owned(), named);
    text.replace("/pull/", "/-/merge_requests/")
        .replace("close this pull request", "close this merge request")
        .replace("no pull request is", "no merge request is")
        .replace(
            "cannot merge the pull request: At least 1 approving review",
            "cannot merge the merge request: it has to be approved",
        )
}

/// A body that was sent to a merge request, in GitHub's names.
pub fn sent(line: &str, mut body: Value) -> Value {
    if !line.contains("/merge_requests") {
        return body;
    }
    let Some(fields) = body.as_object_mut() else { return body };
    for (name, same) in [("description", "body"), ("source_branch", "head"), ("target_branch", "base")] {
        if let Some(value) = fields.remove(name) {
            fields.insert(same.to_owned(), value);
        }
    }
    let state = match fields.remove("state_event").as_ref().and_then(Value::as_str) {
        Some("close") => "closed",
        Some("reopen") => "open",
        _ => return body,
    };
    fields.insert("state".to_owned(), state.into());
    body
}
