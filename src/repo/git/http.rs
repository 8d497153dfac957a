//! Step 3, repo: the requests to a Git server over HTTP that libgit2 does not make.
//!
//! In: an address and a token. Out: the branches in one request, and for a transfer that failed the reason in the
//! server's own words. The token goes to the operator's host and to no other: a redirect elsewhere is an error.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use base64::Engine;
use reqwest::{StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::{
    repo::{GitError, Refs, Refusals, git::advertisement},
    sys::http::Http,
};

/// How large a list of branches may be: room for half a million.
const MAX_LIST: usize = 32 << 20;
/// How much of a refusal is read.
const MAX_WORDS: usize = 4 << 10;
/// How often a server may say that the repository moved.
const MAX_REDIRECTS: usize = 3;
/// The pause before a read is repeated.
const PAUSE: Duration = Duration::from_millis(400);
/// A read that took longer to fail is not repeated: the run's own time is bounded too.
const QUICK: Duration = Duration::from_secs(2);
/// The name beside a token, where the forge is not known: most take any.
const USER: &str = "x-access-token";

/// What is asked of a Git server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// To read.
    UploadPack,
    /// To write.
    ReceivePack,
}

/// A Git server over HTTP.
pub struct HttpServer<'h> {
    http: &'h Http,
    /// Where the repository is now; a server on the same host may have said that it was renamed.
    url: RefCell<Url>,
    user: &'static str,
    token: Option<SecretString>,
    refusals: Vec<&'static Refusals>,
}

// === impl Service ===

impl Service {
    fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "git-upload-pack",
            Self::ReceivePack => "git-receive-pack",
        }
    }
}

// === impl HttpServer ===

impl<'h> HttpServer<'h> {
    /// Makes no request yet; `user` is the name that goes with the token.
    pub fn new(
        http: &'h Http,
        url: Url,
        (user, token): (Option<&'static str>, Option<SecretString>),
        refusals: Vec<&'static Refusals>,
    ) -> Self {
        Self { http, url: RefCell::new(url), user: user.unwrap_or(USER), token, refusals }
    }

    /// Returns the address without credentials, as the server last gave it.
    pub fn url(&self) -> String {
        self.url.borrow().as_str().to_owned()
    }

    /// Returns the header that carries the token, for libgit2: sent at once, it saves the round trip that ends in 401.
    pub fn authorization(&self) -> Option<SecretString> {
        let token = self.token.as_ref()?.expose_secret();
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{}:{token}", self.user));
        Some(format!("Authorization: Basic {pair}").into())
    }

    /// Lists the branches: one request, no object. A failure is told in the server's words.
    pub fn refs(&self, service: Service) -> Result<Refs, GitError> {
        retry_once(|| self.list(service))
    }

    fn list(&self, service: Service) -> Result<Refs, GitError> {
        for _ in 0..=MAX_REDIRECTS {
            let response = self.http.block_on(self.get(service)).map_err(|e| self.unreachable(&e))?;
            if !response.status.is_redirection() {
                return self.read(service, &response);
            }
            self.follow(response.location.as_deref().unwrap_or_default())?;
        }
        Err(self.address("the server redirects over and over; check the address"))
    }

    async fn get(&self, service: Service) -> Result<Answer, reqwest::Error> {
        let url = format!("{}/info/refs?service={}", self.url(), service.name());
        let mut request = self.http.staying_client().get(url).header(header::PRAGMA, "no-cache");
        if let Some(token) = &self.token {
            request = request.basic_auth(self.user, Some(token.expose_secret()));
        }
        let mut response = request.send().await?;
        self.http.traffic().count(self.url.borrow().host_str().unwrap_or_default(), response.headers());
        let text = |name: header::HeaderName| {
            response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned)
        };
        let mut answer = Answer {
            status: response.status(),
            content_type: text(header::CONTENT_TYPE).unwrap_or_default(),
            location: text(header::LOCATION),
            body: Vec::new(),
            whole: true,
        };
        let ceiling = if answer.status.is_success() { MAX_LIST } else { MAX_WORDS };
        while let Some(chunk) = response.chunk().await? {
            answer.body.extend_from_slice(&chunk);
            if answer.body.len() > ceiling {
                answer.whole = false;
                break;
            }
        }
        Ok(answer)
    }

    fn read(&self, service: Service, answer: &Answer) -> Result<Refs, GitError> {
        if !answer.status.is_success() {
            return Err(self.refusal(answer.status, &answer.words()));
        }
        if answer.content_type != format!("application/x-{}-advertisement", service.name()) {
            let kind = printable(&answer.content_type, 60);
            return Err(self.address(&format!(
                "no Git repository answers there (the answer is `{kind}`); check the address"
            )));
        }
        if !answer.whole {
            return Err(GitError::Other(format!(
                "{}: the list of branches is over {} MiB",
                self.url(),
                MAX_LIST >> 20
            )));
        }
        advertisement::parse(service.name(), &answer.body).map_err(|malformed| match malformed {
            advertisement::Malformed::Said(words) => self.temporary(printable(&words, 200)),
            advertisement::Malformed::Sha256 => self.address(&malformed.to_string()),
            advertisement::Malformed::Shallow => GitError::Shallow { url: self.url() },
            advertisement::Malformed::Format(_) => self.temporary(malformed.to_string()),
        })
    }

    /// Turns a status into the error that says whose fault it is.
    pub fn refusal(&self, status: StatusCode, words: &str) -> GitError {
        let url = self.url();
        let told = if words.is_empty() { String::new() } else { format!(": {words}") };
        match status.as_u16() {
            401 if self.token.is_none() => GitError::Auth {
                url,
                reason: format!("the repository needs a token, and none was given{told}"),
            },
            401 => GitError::Auth { url, reason: format!("the token is wrong or has expired{told}") },
            403 if words.contains("archived") => GitError::Archived { url },
            403 => match self.refusals.iter().find_map(|forge| forge.barrier(words)) {
                Some(barrier) => GitError::Barred { url, barrier },
                None => GitError::Auth { url, reason: format!("the token may not do this{told}") },
            },
            404 | 410 => GitError::NotFound { url },
            408 | 429 | 500.. => self.temporary(format!("the server answered {status}{told}")),
            _ => GitError::Other(format!("{url}: the server answered {status}{told}")),
        }
    }

    /// Accepts a new address of the repository on the same host, as a renamed repository has it.
    fn follow(&self, location: &str) -> Result<(), GitError> {
        let from = self.url.borrow().clone();
        // The base of a relative address is the request's, one level below the repository's.
        let asked = Url::parse(&format!("{from}/info/refs")).unwrap_or_else(|_| from.clone());
        let to = asked.join(location).map_err(|_| self.address("the server redirects to no address"))?;
        let upgrade = from.scheme() == "http" && to.scheme() == "https";
        let same_port = from.port_or_known_default() == to.port_or_known_default();
        let stays = from.host() == to.host() && ((from.scheme() == to.scheme() && same_port) || upgrade);
        if !stays {
            let host = to.host_str().unwrap_or("no host").to_owned();
            return Err(self.address(&format!(
                "the server redirects to {}://{host}, where the token was not meant to go; \
                 if that is right, give that address",
                to.scheme()
            )));
        }
        let path = to.path().strip_suffix("/info/refs");
        let path = path.ok_or_else(|| {
            self.address("the server redirects to a page that is no Git repository; check the address")
        })?;
        let mut next = to.clone();
        next.set_path(path);
        next.set_query(None);
        next.set_fragment(None);
        let cleared = next.set_username("").and_then(|()| next.set_password(None));
        cleared.map_err(|()| self.address("the server redirects to no address"))?;
        *self.url.borrow_mut() = next;
        Ok(())
    }

    fn unreachable(&self, error: &reqwest::Error) -> GitError {
        let mut causes = Vec::new();
        let mut source: Option<&dyn std::error::Error> = std::error::Error::source(error);
        while let Some(cause) = source {
            causes.push(cause.to_string());
            source = cause.source();
        }
        let cause = causes.last().cloned().unwrap_or_else(|| "the request failed".into());
        if causes.iter().any(|c| c.contains("certificate")) {
            return self.address(&format!(
                "the server's certificate is not trusted ({cause}); give its authority as the CA file"
            ));
        }
        let kind = if error.is_timeout() { "no answer in time" } else { "cannot be reached" };
        self.temporary(format!("{kind}: {cause}"))
    }

    /// The network's or the server's fault, for now.
    pub fn temporary(&self, reason: impl Into<String>) -> GitError {
        GitError::Temporary { url: self.url(), reason: reason.into() }
    }

    fn address(&self, reason: &str) -> GitError {
        GitError::Address { url: self.url(), reason: reason.to_owned() }
    }
}

/// An answer, read up to its ceiling.
struct Answer {
    status: StatusCode,
    content_type: String,
    location: Option<String>,
    body: Vec<u8>,
    whole: bool,
}

// === impl Answer ===

impl Answer {
    /// Returns what a refusal says, where it says it in plain text; a page for browsers says nothing.
    fn words(&self) -> String {
        if self.content_type.starts_with("text/plain") {
            printable(&String::from_utf8_lossy(&self.body), 200)
        } else {
            String::new()
        }
    }
}

/// Reads, and once more where the first failure was quick and may pass. A write is never repeated so.
pub fn retry_once<T>(read: impl Fn() -> Result<T, GitError>) -> Result<T, GitError> {
    let start = Instant::now();
    match read() {
        Err(GitError::Temporary { url, reason }) if start.elapsed() < QUICK => {
            tracing::debug!(url, reason, "reading once more");
            std::thread::sleep(PAUSE);
            read()
        }
        result => result,
    }
}

/// Makes a server's words fit for one line: no control characters, not longer than `most` characters.
pub fn printable(words: &str, most: usize) -> String {
    let line: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::Barrier;

    const REFUSALS: Refusals =
        Refusals { barriers: &[("SSO", Barrier { what: "no single sign-on", hint: "sign on" })], rules: &[] };

    fn server(http: &Http) -> HttpServer<'_> {
        HttpServer::new(
            http,
            Url::parse("https://git.example.com/o/r").unwrap(),
            (None, Some("t0ken".to_owned().into())),
            vec![&REFUSALS],
        )
    }

    #[test]
    fn follows_a_rename_on_the_host_and_nothing_else() {
        let http = Http::new(None).unwrap();
        let one = server(&http);
        one.follow("https://git.example.com/o/new/info/refs?service=git-upload-pack").unwrap();
        assert_eq!(one.url(), "https://git.example.com/o/new");
        one.follow("/o/newer.git/info/refs").unwrap();
        assert_eq!(one.url(), "https://git.example.com/o/newer.git");
        for elsewhere in [
            "https://evil.example.com/o/r/info/refs",
            "http://git.example.com/o/r/info/refs",
            "https://git.example.com:8443/o/r/info/refs",
            "https://git.example.com/login",
            "//evil.example.com/o/r/info/refs",
            "file:///etc/info/refs",
        ] {
            assert!(matches!(one.follow(elsewhere), Err(GitError::Address { .. })), "{elsewhere}");
        }
        one.follow("https://u:p@git.example.com/o/r/info/refs").unwrap();
        assert_eq!(one.url(), "https://git.example.com/o/r");
    }

    #[test]
    fn a_status_says_whose_fault_it_is() {
        let http = Http::new(None).unwrap();
        let one = server(&http);
        let refusal = |code: u16, words: &str| one.refusal(StatusCode::from_u16(code).unwrap(), words);
        assert!(matches!(refusal(401, ""), GitError::Auth { .. }));
        assert!(matches!(refusal(403, "Write access not granted"), GitError::Auth { .. }));
        assert!(matches!(
            refusal(403, "This repository was archived so it is read-only."),
            GitError::Archived { .. }
        ));
        assert!(
            matches!(refusal(403, "`acme` enforces SSO."), GitError::Barred { barrier, .. } if barrier.hint == "sign on")
        );
        assert!(matches!(refusal(404, ""), GitError::NotFound { .. }));
        assert!(matches!(refusal(429, ""), GitError::Temporary { .. }));
        assert!(matches!(refusal(502, ""), GitError::Temporary { .. }));
        assert!(matches!(refusal(418, ""), GitError::Other(_)));
    }

    #[test]
    fn words_are_cut_and_cleaned() {
        assert_eq!(printable("a\x1b[31m\r\nb  c", 99), "a [31m b c");
        assert_eq!(printable("äöü", 2), "äö…");
    }

    #[test]
    fn the_header_is_the_one_of_the_standard() {
        let http = Http::new(None).unwrap();
        let header = server(&http).authorization().unwrap();
        assert_eq!(header.expose_secret(), "Authorization: Basic eC1hY2Nlc3MtdG9rZW46dDBrZW4=");
    }
}
