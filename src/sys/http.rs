//! One HTTP client for every request that is not Git's: bounded in time, one TLS stack.
//!
//! In: addresses that the operator configured. Out: bodies up to a ceiling, asked for conditionally where the
//! cache holds an older one. Nothing here knows what a feed means. A redirect never leads from `https` to
//! `http`, and reqwest drops credentials when a redirect leaves the host.

use std::{future::Future, path::Path, time::Duration};

use backon::{ConstantBuilder, Retryable as _};
use native_tls::TlsConnector;
use reqwest::{StatusCode, header};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

pub use self::{
    ask::{Existence, Question, Reply},
    pauses::{Caller, Pauses},
    traffic::{Host, Traffic},
};
use super::{
    cache::{Cache, Headers, Stored},
    files,
};

mod ask;
mod pauses;
mod traffic;

/// A file with certificate authorities is read up to this size; the system's own has a quarter of a megabyte.
const MAX_AUTHORITIES: u64 = 16 << 20;

/// A chain of redirects is followed this far.
const REDIRECTS: usize = 5;

/// The pause before the one retry.
const PAUSE: Duration = Duration::from_millis(400);

/// A server that asks for a longer pause than this is left alone until the next run.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The client and the runtime that drives it; cheap to share by reference between threads.
pub struct Http {
    traffic: Traffic,
    pauses: Pauses,
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    staying: reqwest::Client,
}

/// A client that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up the HTTP client: {0}")]
pub struct HttpSetup(pub String);

/// One GET of a feed.
#[derive(Clone, Debug)]
pub struct FeedRequest<'a> {
    /// The address: `https`, `http` or `file`.
    pub url: &'a Url,
    /// The `Accept` header.
    pub accept: &'static str,
    /// A token for this address's host, sent as `Bearer`; never sent in plain text over a network.
    pub token: Option<&'a SecretString>,
    /// The most bytes that the body may have.
    pub limit: u64,
    /// The longest that one attempt may take, body included.
    pub timeout: Duration,
}

/// The answer to a [`FeedRequest`].
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The body, from the server or, where the server said that it is unchanged, from the cache.
    pub body: Vec<u8>,
    /// The SHA-256 of the body in hexadecimal.
    pub hash: String,
    /// Whether the cached body still stands.
    pub unchanged: bool,
    /// Where the next page is, by the `Link` header, absolute.
    pub next: Option<Url>,
}

/// A GET that failed. Addresses are shown without credentials and query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// No connection, or it broke off: the network's fault, or the server's.
    #[error("{url}: {reason}")]
    Connection {
        /// The address.
        url: String,
        /// The chain of causes.
        reason: String,
    },
    /// Too slow: the network's fault, or the server's.
    #[error("{url}: no complete answer within {} s", limit.as_secs_f32())]
    Timeout {
        /// The address.
        url: String,
        /// The limit.
        limit: Duration,
    },
    /// The server answered with a failure of its own, or asked to come back later.
    #[error("{url}: the server answered {status}{}", retry_text(*.after))]
    Busy {
        /// The address.
        url: String,
        /// The status code.
        status: u16,
        /// How long it asked to wait.
        after: Option<Duration>,
    },
    /// The server refused: the operator's fault (a wrong address, a missing or wrong token).
    #[error("{url}: the server answered {status}; {}", refusal(*.status))]
    Refused {
        /// The address.
        url: String,
        /// The status code.
        status: u16,
    },
    /// A redirect that is not followed: the server's fault.
    #[error("{url}: {reason}")]
    Redirect {
        /// The address.
        url: String,
        /// Why it is not followed.
        reason: String,
    },
    /// A body over the ceiling: a wrong address, or a hostile server.
    #[error("{url}: the answer is larger than {limit} bytes")]
    TooLarge {
        /// The address.
        url: String,
        /// The ceiling.
        limit: u64,
    },
    /// A web page where data was expected: usually a login or a proxy in between.
    #[error("{url}: got an HTML page; is this behind a login?")]
    Html {
        /// The address.
        url: String,
    },
    /// A `file://` address that cannot be read: the operator's fault.
    #[error("{0}")]
    File(files::FileError),
    /// An address of another kind: the operator's fault.
    #[error("{url}: only https, http and file addresses are read")]
    Scheme {
        /// The address.
        url: String,
    },
}

/// One answer before it is matched with the cache.
enum Answer {
    Unchanged,
    Fresh(Stored),
}

// === impl Http ===

impl Http {
    /// Makes the client. `ca_file` adds an operator's certificate authority (PEM) to the system's.
    pub fn new(ca_file: Option<&Path>) -> Result<Self, HttpSetup> {
        let tls = connector(ca_file)?;
        let builder = || {
            reqwest::Client::builder()
                .user_agent(concat!("uplinker/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(Duration::from_secs(10))
                .read_timeout(Duration::from_secs(30))
                .timeout(Duration::from_secs(120))
                .tls_backend_preconfigured(tls.clone())
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| HttpSetup(e.to_string()))?;
        let failed = |e: reqwest::Error| HttpSetup(e.to_string());
        let client =
            builder().redirect(reqwest::redirect::Policy::custom(redirect)).build().map_err(failed)?;
        let staying = builder().redirect(reqwest::redirect::Policy::none()).build().map_err(failed)?;
        Ok(Self { traffic: Traffic::default(), pauses: Pauses::default(), runtime, client, staying })
    }

    /// Returns what counts the answers; who sends requests with [`Http::staying_client`] counts them here.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Returns who is to be silent until when; who sends requests with [`Http::staying_client`] keeps to it.
    pub fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    /// Returns the client that follows no redirect, for requests that carry a token and may not leave their host.
    pub fn staying_client(&self) -> &reqwest::Client {
        &self.staying
    }

    /// Drives a future to its end on this client's runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Gets a feed: conditionally where the cache holds it, with one retry where that may help. What comes from
    /// the server is put into the cache.
    pub fn get(&self, request: &FeedRequest<'_>, cache: Option<&Cache>) -> Result<Fetched, HttpError> {
        match request.url.scheme() {
            "file" => get_file(request),
            "http" | "https" => self.get_remote(request, cache),
            _ => Err(HttpError::Scheme { url: shown(request.url) }),
        }
    }

    /// Returns what the cache holds for a request, without asking the server.
    pub fn cached(request: &FeedRequest<'_>, cache: Option<&Cache>) -> Option<Fetched> {
        let stored = cache?.load(request.url.as_str())?;
        Some(fetched(request.url, stored, true))
    }

    fn get_remote(&self, request: &FeedRequest<'_>, cache: Option<&Cache>) -> Result<Fetched, HttpError> {
        let older = cache.and_then(|cache| cache.load(request.url.as_str()));
        let validators = older.as_ref().map(|stored| &stored.headers);
        let answer = self.persist(|| self.attempt(request, validators))?;
        match (answer, older) {
            (Answer::Unchanged, Some(stored)) => Ok(fetched(request.url, stored, true)),
            (Answer::Unchanged, None) => Err(HttpError::Connection {
                url: shown(request.url),
                reason: "the server says that nothing changed, and was not asked that".to_owned(),
            }),
            (Answer::Fresh(stored), _) => {
                if let Some(cache) = cache {
                    cache.store(request.url.as_str(), &stored);
                }
                Ok(fetched(request.url, stored, false))
            }
        }
    }

    /// Tries once more where that may help.
    fn persist<T, F>(&self, attempt: impl FnMut() -> F) -> Result<T, HttpError>
    where
        F: Future<Output = Result<T, HttpError>>,
    {
        let once = ConstantBuilder::default().with_delay(PAUSE).with_max_times(1);
        let attempts = attempt.retry(once).sleep(tokio::time::sleep).when(HttpError::is_retryable).adjust(
            |error, pause| match error.retry_after() {
                Some(after) if after > LONGEST_PAUSE => None,
                Some(after) => pause.map(|pause| pause.max(after)),
                None => pause,
            },
        );
        self.block_on(attempts)
    }

    async fn attempt(
        &self,
        request: &FeedRequest<'_>,
        validators: Option<&Headers>,
    ) -> Result<Answer, HttpError> {
        let wrap = |error| failed(request.url, request.timeout, error);
        let mut building = self
            .client
            .get(request.url.clone())
            .timeout(request.timeout)
            .header(header::ACCEPT, request.accept);
        if let Some(token) = request.token.filter(|_| keeps_secrets(request.url)) {
            building = building.bearer_auth(token.expose_secret());
        }
        if let Some(etag) = validators.and_then(|v| v.etag.as_deref()) {
            building = building.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(modified) = validators.and_then(|v| v.modified.as_deref()) {
            building = building.header(header::IF_MODIFIED_SINCE, modified);
        }
        let response = building.send().await.map_err(wrap)?;
        self.traffic.count(request.url.host_str().unwrap_or_default(), response.headers());
        let status = response.status();
        if status == StatusCode::NOT_MODIFIED {
            return Ok(Answer::Unchanged);
        }
        if status != StatusCode::OK {
            return Err(unwelcome(request.url, &response));
        }
        let headers = kept(response.headers());
        let body = read_body(response, request.url, request.limit, request.timeout).await?;
        Ok(Answer::Fresh(Stored::new(body, headers)))
    }
}

/// Reads a body up to its ceiling.
async fn read_body(
    mut response: reqwest::Response,
    url: &Url,
    limit: u64,
    timeout: Duration,
) -> Result<Vec<u8>, HttpError> {
    let too_large = || HttpError::TooLarge { url: shown(url), limit };
    if response.content_length().is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(url, timeout, error))? {
        body.extend_from_slice(&chunk);
        if u64::try_from(body.len()).is_ok_and(|length| length > limit) {
            return Err(too_large());
        }
    }
    if is_html(&body) {
        return Err(HttpError::Html { url: shown(url) });
    }
    Ok(body)
}

/// Makes what both clients connect with: to read the system's authorities once is most of the work of a run without
/// news.
fn connector(ca_file: Option<&Path>) -> Result<TlsConnector, HttpSetup> {
    let mut builder = TlsConnector::builder();
    builder.request_alpns(&["http/1.1"]);
    if let Some(path) = ca_file {
        let wrong = |e: &dyn std::fmt::Display| HttpSetup(format!("{}: {e}", path.display()));
        let pem = files::read(path, MAX_AUTHORITIES).map_err(|e| HttpSetup(e.to_string()))?;
        for authority in native_tls::Certificate::stack_from_pem(&pem).map_err(|e| wrong(&e))? {
            builder.add_root_certificate(authority);
        }
    }
    builder.build().map_err(|e| HttpSetup(e.to_string()))
}

// === impl HttpError ===

impl HttpError {
    /// Says whether the same request may succeed later with nothing changed on our side.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Connection { .. } | Self::Timeout { .. } | Self::Busy { .. })
    }

    // A timeout is not tried again: the run's own time is bounded too.
    fn is_retryable(&self) -> bool {
        match self {
            Self::Connection { .. } => true,
            // A rate limit without a stated pause lasts longer than a retry would wait.
            Self::Busy { status, after, .. } => *status >= 500 || after.is_some(),
            _ => false,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { after, .. } => *after,
            _ => None,
        }
    }
}

/// Shows an address without user, password, query and fragment, any of which may hold a secret.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // These fail only for addresses that cannot have the part.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

fn get_file(request: &FeedRequest<'_>) -> Result<Fetched, HttpError> {
    let scheme = || HttpError::Scheme { url: shown(request.url) };
    let path = request.url.to_file_path().map_err(|()| scheme())?;
    let body = files::read(&path, request.limit).map_err(HttpError::File)?;
    if is_html(&body) {
        return Err(HttpError::Html { url: shown(request.url) });
    }
    Ok(fetched(request.url, Stored::new(body, Headers::default()), false))
}

fn fetched(url: &Url, stored: Stored, unchanged: bool) -> Fetched {
    let next = stored.headers.next.as_deref().and_then(|next| url.join(next).ok());
    Fetched { body: stored.body, hash: stored.hash, unchanged, next }
}

fn redirect(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    if is_downgrade(attempt.url(), attempt.previous()) {
        attempt.error("redirected from https to plain http, which is not followed")
    } else if attempt.previous().len() > REDIRECTS {
        attempt.error("redirected too often")
    } else {
        attempt.follow()
    }
}

fn is_downgrade(next: &Url, previous: &[Url]) -> bool {
    next.scheme() != "https" && previous.iter().any(|url| url.scheme() == "https")
}

/// Tells whether a token may be sent to an address: encrypted, or never leaving this machine.
pub fn keeps_secrets(url: &Url) -> bool {
    let local = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || local
}

fn failed(url: &Url, limit: Duration, error: reqwest::Error) -> HttpError {
    let url = shown(url);
    if error.is_timeout() {
        return HttpError::Timeout { url, limit };
    }
    // The address is shown by us, without its secrets.
    let error = error.without_url();
    let reason = causes(&error);
    if error.is_redirect() {
        HttpError::Redirect { url, reason }
    } else {
        HttpError::Connection { url, reason }
    }
}

fn causes(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    let (first, last) = (error.to_string(), last.to_string());
    if first == last { first } else { format!("{first}: {last}") }
}

fn unwelcome(url: &Url, response: &reqwest::Response) -> HttpError {
    let status = response.status();
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let after = text("retry-after").and_then(|value| value.trim().parse().ok()).map(Duration::from_secs);
    // GitHub says "too many" with 403 as well.
    let limited = status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::FORBIDDEN && (after.is_some() || text("x-ratelimit-remaining") == Some("0"));
    if limited || status.is_server_error() {
        HttpError::Busy { url: shown(url), status: status.as_u16(), after }
    } else {
        HttpError::Refused { url: shown(url), status: status.as_u16() }
    }
}

fn kept(headers: &header::HeaderMap) -> Headers {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    Headers {
        etag: text(header::ETAG).map(str::to_owned),
        modified: text(header::LAST_MODIFIED).map(str::to_owned),
        next: text(header::LINK).and_then(next_link).map(str::to_owned),
    }
}

/// Finds `rel="next"` in a `Link` header.
fn next_link(link: &str) -> Option<&str> {
    link.split(',').find_map(|part| {
        let (target, parameters) = part.split_once(';')?;
        let next =
            parameters.split(';').any(|p| p.trim().trim_start_matches("rel=").trim_matches('"') == "next");
        next.then(|| target.trim().trim_start_matches('<').trim_end_matches('>'))
    })
}

/// Says whether a body is a web page: no JSON, YAML or archive begins with `<`.
fn is_html(body: &[u8]) -> bool {
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    text.trim_ascii_start().first() == Some(&b'<')
}

fn refusal(status: u16) -> &'static str {
    match status {
        401 | 403 => "is a token missing, expired, or without access?",
        404 | 410 => "check the address, and that the token, if one is needed, may see it",
        _ => "check the address",
    }
}

fn retry_text(after: Option<Duration>) -> String {
    after.map(|after| format!(" and asks to wait {} s", after.as_secs())).unwrap_or_default()
}

/// Asks a server on this machine, by no proxy, and returns its status.
pub fn status_of(url: &Url, within: Duration) -> Result<u16, HttpError> {
    let broken = |error: reqwest::Error| match error.is_timeout() {
        true => HttpError::Timeout { url: shown(url), limit: within },
        false => HttpError::Connection { url: shown(url), reason: causes(&error.without_url()) },
    };
    let client = reqwest::Client::builder().no_proxy().timeout(within).build().map_err(broken)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| HttpError::Connection { url: shown(url), reason: e.to_string() })?;
    let answer = runtime.block_on(async { client.get(url.clone()).send().await }).map_err(broken)?;
    Ok(answer.status().as_u16())
}

#[cfg(test)]
pub(crate) mod loopback;
#[cfg(test)]
mod tests;
