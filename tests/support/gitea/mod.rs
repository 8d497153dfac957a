//! What of the fake host is Gitea's: its API, with its words and its quirks, over the same repositories, people and
//! pull requests. How the real one answers was looked at with `scripts/gitea`.

mod api;
mod board;
mod issues;
mod json;
mod pulls;

pub use api::answer;

/// What is asked of Gitea where GitHub is asked a line: labels go by number, pull requests have no filter for their head,
/// and lists end with a page that is empty.
pub fn lines(line: &str) -> Vec<String> {
    let same = line.replace("/api/v3/", "/api/v1/").replace("per_page=100", "limit=50");
    let Some((method, target)) = same.split_once(' ') else { return vec![same] };
    let root = "/api/v1/repos/acme/config";
    let labels =
        [format!("GET {root}/labels?limit=50&page=1"), "GET /api/v1/orgs/acme/labels?limit=50&page=1".into()];
    if target == "/api/graphql" {
        return vec!["GET /api/v1/user/settings".to_owned()];
    }
    if target.contains("/pulls?state=all") {
        return vec![format!("GET {root}/pulls?state=all&sort=recentupdate&limit=50&page=1")];
    }
    if let Some((start, _)) = target.split_once("/events?") {
        let page = |n: usize| format!("GET {start}/timeline?limit=50&page={n}");
        return vec![page(1), page(2)];
    }
    if target.contains("/labels") && method != "GET" {
        let (start, label) = target.split_once("/labels").unwrap_or_default();
        let last = if label.is_empty() { String::new() } else { "/N".to_owned() };
        return labels.into_iter().chain([format!("{method} {start}/labels{last}")]).collect();
    }
    vec![match method {
        "PUT" => same.replacen("PUT", "POST", 1),
        _ => same,
    }]
}
