//! One request to a server whose answer is read whatever it says, as registries want it: a challenge, a tag that is not
//! there, a redirect to where the bytes are.
//!
//! Redirects are followed here and not by the client: credentials go to the origin that was asked and to no other, and
//! nothing goes on from `https` to `http`.

use std::time::Duration;

use reqwest::{Method, StatusCode, header};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::{Http, HttpError, REDIRECTS, failed, is_downgrade, keeps_secrets, read_body, shown, unwelcome};

/// A question to a server.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The address: `https` or `http`.
    pub url: &'a Url,
    /// Whether the body of the answer is of no interest.
    pub head: bool,
    /// The `Accept` header.
    pub accept: &'a str,
    /// The `Authorization` header, for this origin alone; never sent in plain text over a network.
    pub authorization: Option<&'a SecretString>,
    /// The most bytes that the body may have.
    pub limit: u64,
    /// The longest that one attempt may take, body included.
    pub timeout: Duration,
}

/// What a server said.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Whether it has what was asked for.
    pub found: Existence,
    /// The body.
    pub body: Vec<u8>,
    /// Where the next page is, by the `Link` header, absolute.
    pub next: Option<Url>,
    /// `Docker-Content-Digest`.
    pub digest: Option<String>,
}

/// Whether a server has what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existence {
    /// It has.
    Yes,
    /// It has not.
    No,
    /// It wants to know who asks; what it says of that.
    Who(Vec<String>),
}

impl Http {
    /// Asks, with one retry where that may help.
    pub fn ask(&self, question: &Question<'_>) -> Result<Reply, HttpError> {
        self.persist(|| self.ask_once(question))
    }

    async fn ask_once(&self, question: &Question<'_>) -> Result<Reply, HttpError> {
        let mut url = question.url.clone();
        for _ in 0..=REDIRECTS {
            let wrap = |error| failed(question.url, question.timeout, error);
            let response = self.send(question, &url).await.map_err(wrap)?;
            let status = response.status();
            let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
            if status.is_redirection() {
                url = follow(&url, text(header::LOCATION))?;
                continue;
            }
            let all = response.headers().get_all(header::WWW_AUTHENTICATE);
            let found = match status {
                StatusCode::OK => Existence::Yes,
                StatusCode::NOT_FOUND => Existence::No,
                StatusCode::UNAUTHORIZED => Existence::Who(
                    all.iter().filter_map(|value| value.to_str().ok().map(str::to_owned)).collect(),
                ),
                _ => return Err(unwelcome(&url, &response)),
            };
            let next = text(header::LINK).and_then(super::next_link).and_then(|next| url.join(next).ok());
            let digest = response.headers().get("docker-content-digest");
            let digest = digest.and_then(|value| value.to_str().ok()).map(str::to_owned);
            let body = match found {
                Existence::Yes if !question.head => {
                    read_body(response, question.url, question.limit, question.timeout).await?
                }
                _ => Vec::new(),
            };
            return Ok(Reply { found, body, next, digest });
        }
        Err(HttpError::Redirect { url: shown(question.url), reason: "redirected too often".to_owned() })
    }

    async fn send(&self, question: &Question<'_>, url: &Url) -> Result<reqwest::Response, reqwest::Error> {
        let method = if question.head { Method::HEAD } else { Method::GET };
        let building = self.staying.request(method, url.clone()).timeout(question.timeout);
        let mut building = building.header(header::ACCEPT, question.accept);
        let own = url.origin() == question.url.origin();
        if let Some(authorization) = question.authorization.filter(|_| own && keeps_secrets(url)) {
            building = building.header(header::AUTHORIZATION, authorization.expose_secret());
        }
        let response = building.send().await?;
        self.traffic.count(url.host_str().unwrap_or_default(), response.headers());
        Ok(response)
    }
}

/// Returns where a redirect leads.
fn follow(from: &Url, to: Option<&str>) -> Result<Url, HttpError> {
    let refused = |reason: &str| HttpError::Redirect { url: shown(from), reason: reason.to_owned() };
    let to = to.and_then(|to| from.join(to).ok()).ok_or_else(|| refused("redirected to no address"))?;
    if !matches!(to.scheme(), "https" | "http") {
        return Err(refused("redirected to what is no address of a server"));
    }
    if is_downgrade(&to, std::slice::from_ref(from)) {
        return Err(refused("redirected from https to plain http, which is not followed"));
    }
    Ok(to)
}
