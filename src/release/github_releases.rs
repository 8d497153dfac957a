//! The `releases` feed: GitHub's list of the releases of `linkerd/linkerd2`.
//!
//! In: pages of the list. Out: per edge release its publish date, notes and guidance. Pages go from the newest
//! release to the oldest; reading stops where it knows enough. Guidance is written into the notes days after
//! the release, so the first page is asked for in every run; the request is conditional. Where it stands, no
//! release came in, and the pages behind it are taken from the cache: an edit of notes that are a hundred releases
//! old shows with the next change of the first page.

use jiff::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::{
    Guidance, advice,
    feed::{FeedError, TIMEOUT},
    lenient::Lenient,
};
use crate::{
    linkerd::EdgeVersion,
    sys::{
        cache::Cache,
        http::{FeedRequest, Fetched, Http},
    },
};

/// A hundred releases with notes of the greatest length that GitHub takes.
const LIMIT: u64 = 16 * 1024 * 1024;

/// More releases than the project has; a list that goes on is not followed for ever.
const PAGES: usize = 20;

/// An edge release as published on GitHub.
#[derive(Clone, Debug)]
pub(super) struct Published {
    /// The version.
    pub version: EdgeVersion,
    /// When it was published.
    pub date: Option<Timestamp>,
    /// Its notes.
    pub notes: Option<String>,
    /// What the notes advise.
    pub guidance: Guidance,
}

/// A release as GitHub describes it, as far as it is used.
#[derive(Deserialize)]
struct Entry {
    #[serde(default = "absent")]
    tag_name: Lenient<Option<String>>,
    #[serde(default = "absent")]
    published_at: Lenient<Option<String>>,
    #[serde(default = "absent")]
    body: Lenient<Option<String>>,
    #[serde(default)]
    draft: bool,
}

/// Where the list is read from.
pub(super) struct List<'a> {
    /// The address as configured.
    pub address: &'a Url,
    /// A token for its host.
    pub token: Option<&'a SecretString>,
}

// === impl List ===

impl List<'_> {
    /// Adds the releases of page after page to `all`, until one goes back far enough.
    pub(super) fn read(
        &self,
        http: &Http,
        cache: Option<&Cache>,
        enough: impl Fn(EdgeVersion) -> bool,
        all: &mut Vec<Published>,
    ) -> Result<(), FeedError> {
        let mut address = first_page(self.address);
        let mut first: Option<String> = None;
        for _ in 0..PAGES {
            let request = self.request(&address);
            let page = match &first {
                None => http.get(&request, cache)?,
                Some(first) => behind(&request, http, cache, first)?,
            };
            let published = parse(&page.body).map_err(|reason| FeedError::content(self.address, &reason))?;
            // A page without any edge says nothing of how far back it goes.
            let enough = published.iter().map(|p| p.version).min().is_some_and(&enough);
            all.extend(published);
            match self.next(&page) {
                Some(next) if !enough => address = next,
                _ => break,
            }
            first.get_or_insert(page.hash);
        }
        Ok(())
    }

    fn request<'b>(&'b self, url: &'b Url) -> FeedRequest<'b> {
        let accept = "application/vnd.github+json";
        FeedRequest { url, accept, token: self.token, limit: LIMIT, timeout: TIMEOUT }
    }

    /// Returns the next page where it is on the same host: a mirror's copy of GitHub's headers must not lead the
    /// token, or us, elsewhere.
    fn next(&self, page: &Fetched) -> Option<Url> {
        page.next.clone().filter(|next| next.origin() == self.address.origin())
    }
}

/// Gets a page behind the first: from the cache where it was read beside the same first page.
fn behind(
    request: &FeedRequest<'_>,
    http: &Http,
    cache: Option<&Cache>,
    first: &str,
) -> Result<Fetched, FeedError> {
    let address = request.url.as_str();
    let stands = cache.is_some_and(|cache| cache.load_derived(address, first).is_some());
    if let Some(page) = Http::cached(request, cache).filter(|_| stands) {
        return Ok(page);
    }
    let page = http.get(request, cache)?;
    if let Some(cache) = cache {
        cache.store_derived(address, first, b"");
    }
    Ok(page)
}

/// Adds what the configured address lacks: the path below an API's root, and the page size.
fn first_page(address: &Url) -> Url {
    let mut url = address.clone();
    if url.scheme() == "file" {
        return url;
    }
    let root = matches!(url.path().trim_end_matches('/'), "" | "/api/v3");
    if root {
        let path = format!("{}/repos/linkerd/linkerd2/releases", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    if url.path().ends_with("/releases") && url.query().is_none() {
        url.set_query(Some("per_page=100"));
    }
    url
}

/// Reads one page; drafts, and tags of other channels, are left out.
fn parse(body: &[u8]) -> Result<Vec<Published>, String> {
    let entries: Vec<Entry> =
        serde_json::from_slice(body).map_err(|e| format!("not GitHub's list of releases: {e}"))?;
    Ok(entries.into_iter().filter(|entry| !entry.draft).filter_map(published).collect())
}

fn published(entry: Entry) -> Option<Published> {
    let version: EdgeVersion = entry.tag_name.0?.parse().ok()?;
    let date = entry.published_at.0.and_then(|text| text.parse().ok());
    let notes = entry.body.0.filter(|body| !body.trim().is_empty());
    let source = format!("https://github.com/linkerd/linkerd2/releases/tag/{version}");
    let guidance = notes.as_deref().map_or(Guidance::Unknown, |notes| advice::read(version, notes, &source));
    Some(Published { version, date, notes, guidance })
}

fn absent() -> Lenient<Option<String>> {
    Lenient(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> String {
        first_page(&Url::parse(text).unwrap()).into()
    }

    #[test]
    fn the_address_is_completed() {
        let list = "https://api.github.com/repos/linkerd/linkerd2/releases?per_page=100";
        assert_eq!(page("https://api.github.com"), list);
        assert_eq!(page("https://api.github.com/repos/linkerd/linkerd2/releases"), list);
        assert_eq!(
            page("https://ghe.example.com/api/v3/"),
            "https://ghe.example.com/api/v3/repos/linkerd/linkerd2/releases?per_page=100"
        );
        assert_eq!(page("https://mirror.example.com/r.json"), "https://mirror.example.com/r.json");
        assert_eq!(page("file:///r/releases"), "file:///r/releases");
    }

    #[test]
    fn only_published_edges_are_taken() {
        let body =
            br#"[{"tag_name": "edge-26.8.3", "published_at": "2026-08-21T10:00:00Z", "prerelease": true,
              "body": "Overall status: RECOMMENDED", "assets": [{"size": 1}]},
             {"tag_name": "edge-26.8.4", "draft": true, "published_at": null, "body": null},
             {"tag_name": "stable-2.14.10", "body": ""}, {"tag_name": "version-2.20"}, {"tag_name": null}, {},
             {"tag_name": "edge-26.8.2", "published_at": "yesterday", "body": 7}]"#;
        let all = parse(body).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].date, Some("2026-08-21T10:00:00Z".parse().unwrap()));
        assert!(matches!(all[0].guidance, Guidance::Recommended { .. }));
        assert!(all[1].date.is_none() && all[1].notes.is_none() && all[1].guidance == Guidance::Unknown);
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert!(parse(br#"{"message": "Not Found"}"#).unwrap_err().contains("list of releases"));
        assert!(parse(br#"[{"tag_name": "edge-26"#).is_err());
    }
}
