//! Step 10, propose: requests with nothing between them and the HTTP client.
//!
//! In: the API's root and a header that carries the token. Out: answers as they come.

use reqwest::header::{ACCEPT, HeaderName, HeaderValue, IF_NONE_MATCH};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{Method, Sending, Wire};
use crate::{propose::forge::ForgeError, sys::http::Http};

/// In which header a forge takes the token, and what stands before it.
#[derive(Clone, Copy, Debug)]
pub(in crate::propose::forge) struct Sent {
    pub header: &'static str,
    pub before: &'static str,
}

/// The client of an API.
pub(in crate::propose::forge) struct Plain<'h> {
    http: &'h Http,
    /// Without a slash at its end.
    root: String,
    token: Option<(HeaderName, HeaderValue)>,
}

// === impl Plain ===

impl<'h> Plain<'h> {
    /// Connects nothing yet.
    pub fn new(
        http: &'h Http,
        (root, host): (&str, &str),
        token: Option<&SecretString>,
        sent: Sent,
    ) -> Result<Self, ForgeError> {
        let header = |token: &SecretString| {
            let text = sound(token, host)?;
            let value = HeaderValue::from_str(&format!("{}{text}", sent.before));
            let mut value = value.map_err(|_| unusable(host))?;
            value.set_sensitive(true);
            Ok::<_, ForgeError>((HeaderName::from_static(sent.header), value))
        };
        Ok(Self { http, root: root.trim_end_matches('/').to_owned(), token: token.map(header).transpose()? })
    }
}

impl Wire for Plain<'_> {
    fn send<'a>(&'a self, method: Method<'a>, path: &'a str, etag: Option<&'a str>) -> Sending<'a> {
        let client = self.http.staying_client();
        let url = format!("{}{path}", self.root);
        let (request, body): (_, Option<&Value>) = match method {
            Method::Get => (client.get(url), None),
            Method::Post(body) => (client.post(url), Some(body)),
            Method::Patch(body) => (client.patch(url), Some(body)),
            Method::Put(body) => (client.put(url), Some(body)),
            Method::Delete => (client.delete(url), None),
        };
        let mut request = request.header(ACCEPT, "application/json");
        if let Some((name, value)) = &self.token {
            request = request.header(name, value);
        }
        if let Some(etag) = etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        Box::pin(async move { request.send().await.map_err(|error| innermost(&error.without_url())) })
    }
}

/// The token as it is sent: a client may panic on what no header can carry.
pub(in crate::propose::forge) fn sound<'t>(
    token: &'t SecretString,
    host: &str,
) -> Result<&'t str, ForgeError> {
    let text = token.expose_secret().trim();
    let is_sound = !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
    if is_sound { Ok(text) } else { Err(unusable(host)) }
}

fn unusable(host: &str) -> ForgeError {
    let reason = "it is empty or has characters that no token has".to_owned();
    ForgeError::Auth { host: host.to_owned(), reason }
}

/// What people need of an error is its first cause; some carry a backtrace too.
pub(in crate::propose::forge) fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string().lines().next().unwrap_or_default().to_owned()
}
