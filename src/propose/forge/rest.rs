//! Step 10, propose: how every forge with a REST API is spoken to.
//!
//! In: a path below the API's root, and what is asked there. Out: an answer that the forge's own words let through, or
//! who has to do what. Reads are repeated where that may help; a write is never repeated blindly. What a rate limit
//! refused was not done, so that is asked again once it ends. No redirect is followed: a write cannot be sent again, so
//! that a renamed repository would be read and pushed to before that shows; and none leads the token to a host that
//! nobody configured. The token is in no address, no log and no error.

mod extras;
mod plain;
mod pulls;
mod reply;

use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{Mutex, OnceLock},
    time::Duration,
};

use backon::{BlockingRetryable, ExponentialBuilder};
use reqwest::header::ETAG;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) use self::{
    extras::{add, each, why},
    plain::{Plain, Sent, innermost, sound},
    pulls::{by_branch, change, draft_prefix, fields, recent, status, success_since},
    reply::{Asked, Known, Refused, Reply, words},
};
use super::{Forge, ForgeError, Grant, NewPull, PullRequest, PullState};
use crate::sys::{
    clock::Clock,
    http::{Caller, Http},
};

/// The most pages of a list that are read.
pub(super) const PAGES: usize = 10;
/// The most pages of a list of which a part is worth nothing.
const WHOLE: usize = 100;
/// The most bytes of one answer.
const LARGEST: usize = 32 << 20;
/// The longest wait for a rate limit to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause before a read is repeated; the second is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The most answers that are kept for conditional requests.
const KEPT: usize = 64;

/// What is asked of a forge once.
#[derive(Debug)]
pub(super) struct AskedOnce<T>(OnceLock<T>);

impl<T: Clone> AskedOnce<T> {
    /// Nothing, yet.
    pub(super) fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns what is known, or asks; a failure is not kept.
    pub(super) fn or_ask(&self, ask: impl FnOnce() -> Result<T, ForgeError>) -> Result<T, ForgeError> {
        if let Some(known) = self.0.get() {
            return Ok(known.clone());
        }
        let answer = ask()?;
        Ok(self.0.get_or_init(|| answer).clone())
    }
}

/// Returns what opening came to, or what a lost answer may have made: the open pull request from the branch to the base.
pub(super) fn opened_after_all(
    forge: &dyn Forge,
    pull: &NewPull,
    result: Result<PullRequest, Refused>,
) -> Result<PullRequest, ForgeError> {
    let refused = match result {
        Ok(opened) => return Ok(opened),
        Err(refused) => refused,
    };
    let opened = || -> Result<Option<PullRequest>, ForgeError> {
        let open = |p: &PullRequest| p.state == PullState::Open && p.base == pull.base;
        Ok(forge.pulls(&pull.head)?.into_iter().find(open))
    };
    match (refused.known, refused.error) {
        (Some(Known::AlreadyOpen), error) => {
            let find = || opened().map_err(Some)?.ok_or(None);
            let found = find.retry(until_it_shows()).when(Option::is_none).call();
            found.map_err(|failed| failed.unwrap_or(error))
        }
        (None, error @ ForgeError::Temporary { .. }) => opened()?.ok_or(error),
        (_, error) => Err(error),
    }
}

/// The pauses after which a forge is asked again for what it did not show a moment ago: seven seconds in all.
pub(super) fn until_it_shows() -> ExponentialBuilder {
    ExponentialBuilder::default().with_min_delay(Duration::from_secs(1)).with_max_times(3)
}

/// A method and what is sent with it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Method<'a> {
    Get,
    Post(&'a Value),
    Patch(&'a Value),
    Put(&'a Value),
    Delete,
}

/// What carries a request to a forge, with the token in the way that the forge wants it.
pub(super) trait Wire {
    /// Sends one request; `etag` is that of the answer that is held.
    fn send<'a>(&'a self, method: Method<'a>, path: &'a str, etag: Option<&'a str>) -> Sending<'a>;
}

/// A request under way; an error is in words that hold no secret.
pub(super) type Sending<'a> = Pin<Box<dyn Future<Output = Result<reqwest::Response, String>> + 'a>>;

/// What is particular to the API of a forge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manners {
    /// What a refusal means.
    pub refused: fn(&Reply, &Asked<'_>) -> Refused,
    /// What the name is of that a request needs.
    pub grant: fn(&str) -> Grant,
    /// The parameter for the entries on a page, and as many as the forge gives.
    pub page: (&'static str, usize),
}

/// An API, for one repository.
pub(super) struct Rest<'h> {
    http: &'h Http,
    wire: Box<dyn Wire + 'h>,
    manners: Manners,
    forge: &'static str,
    host: String,
    repository: String,
    kept: Mutex<HashMap<String, (String, Vec<u8>)>>,
    caller: Caller,
}

// === impl Rest ===

impl<'h> Rest<'h> {
    /// Connects nothing yet. `forge` is its name, `repository` that of the repository, both for messages; the limits are
    /// those of the token.
    pub fn new(
        http: &'h Http,
        wire: Box<dyn Wire + 'h>,
        manners: Manners,
        (forge, host, repository): (&'static str, &str, &str),
        token: Option<&str>,
    ) -> Self {
        let caller = http.pauses().caller(host, token);
        let (host, repository) = (host.to_owned(), repository.to_owned());
        Self { http, wire, manners, forge, host, repository, kept: Mutex::default(), caller }
    }

    /// Names what is asked, for messages.
    pub fn asked(&self, what: &'static str, permission: &'static str) -> Asked<'_> {
        let Self { forge, host, repository, .. } = self;
        Asked { what, permission, grant: self.manners.grant, forge, host, repository }
    }

    /// Reads, with the last answer's ETag, and tries again where that may help.
    pub fn get(&self, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        self.read(Method::Get, path, asked)
    }

    /// The same for a question that takes a body and changes nothing either.
    pub fn read(&self, method: Method<'_>, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        let read = || self.send(method, path, asked);
        let pauses = ExponentialBuilder::default().with_min_delay(FIRST_PAUSE).with_max_times(2);
        let reply = read.retry(pauses).when(|e| matches!(e, ForgeError::Temporary { .. })).call()?;
        self.accept(reply, asked)
    }

    /// Reads what is known to be there: where it is not found, it does not show yet.
    pub fn get_soon(&self, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        let read = || self.get(path, asked).map_err(|refused| refused.late(asked));
        read.retry(until_it_shows()).when(|e| e.known == Some(Known::Behind)).call()
    }

    /// Writes, once; and again where the answer was that the forge does not see yet what it is about, since then
    /// nothing was done.
    pub fn put(&self, method: Method<'_>, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        let write = || self.once(method, path, asked);
        write.retry(until_it_shows()).when(|e| e.known == Some(Known::Behind)).call()
    }

    /// Sends a request once, whatever the answer.
    pub fn once(&self, method: Method<'_>, path: &str, asked: &Asked<'_>) -> Result<Reply, Refused> {
        self.accept(self.send(method, path, asked)?, asked)
    }

    /// Reads the pages of a list up to a bound.
    pub fn list<T: DeserializeOwned>(&self, path: &str, asked: &Asked<'_>) -> Result<Vec<T>, Refused> {
        let mut all = Vec::new();
        self.each_page(path, asked, |page: Vec<T>| {
            all.extend(page);
            true
        })?;
        Ok(all)
    }

    /// Reads the pages of a list as long as more is wanted, up to a bound; `true` where nothing was left out.
    pub fn each_page<T: DeserializeOwned>(
        &self,
        path: &str,
        asked: &Asked<'_>,
        take: impl FnMut(Vec<T>) -> bool,
    ) -> Result<bool, Refused> {
        self.pages(path, asked, PAGES, take)
    }

    /// Reads a list to its end, from the first of several places that is there; one without an end is refused.
    pub fn whole<T: DeserializeOwned>(
        &self,
        places: &[String],
        asked: &Asked<'_>,
    ) -> Result<Vec<T>, ForgeError> {
        let mut missing = ForgeError::NotFound(self.repository.clone());
        for place in places {
            let mut all = Vec::new();
            let take = |page: Vec<T>| {
                all.extend(page);
                true
            };
            match self.pages(place, asked, WHOLE, take) {
                Ok(true) => return Ok(all),
                Ok(false) => {
                    return Err(
                        asked.rejected(format!("there are more than {}", WHOLE * self.manners.page.1))
                    );
                }
                Err(Refused { error: error @ ForgeError::NotFound(_), .. }) => missing = error,
                Err(refused) => return Err(refused.error),
            }
        }
        Err(missing)
    }

    fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        asked: &Asked<'_>,
        most: usize,
        mut take: impl FnMut(Vec<T>) -> bool,
    ) -> Result<bool, Refused> {
        for page in 1..=most {
            let reply = self.get(&self.page(path, page), asked)?;
            let goes_on = reply.has_next();
            if !take(reply.json(asked)?) {
                return Ok(false);
            }
            if !goes_on {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The address of one page of a list.
    pub fn page(&self, path: &str, page: usize) -> String {
        let sign = if path.contains('?') { '&' } else { '?' };
        let (parameter, entries) = self.manners.page;
        format!("{path}{sign}{parameter}={entries}&page={page}")
    }

    fn accept(&self, reply: Reply, asked: &Asked<'_>) -> Result<Reply, Refused> {
        match reply.status {
            200..=299 => Ok(reply),
            301 | 302 | 307 | 308 => Err(reply.moved(asked)),
            _ => Err((self.manners.refused)(&reply, asked)),
        }
    }

    /// Sends a request, and again where a rate limit refused it that ends soon: then nothing was done.
    fn send(&self, method: Method<'_>, path: &str, asked: &Asked<'_>) -> Result<Reply, ForgeError> {
        let mut reply = self.in_time(method, path)?;
        if reply.rate_limit().is_some_and(|wait| wait <= PATIENCE) {
            reply = self.in_time(method, path)?;
        }
        match reply.rate_limit() {
            Some(_) => Err(reply.limited(&self.host)),
            None => reply.unless_broken(asked),
        }
    }

    /// Sends a request once no rate limit is in the way, whoever came upon that; one that lasts long is an error.
    fn in_time(&self, method: Method<'_>, path: &str) -> Result<Reply, ForgeError> {
        let pauses = self.http.pauses();
        let too_long = |until| ForgeError::RateLimited { host: self.host.clone(), until: Some(until) };
        pauses.wait(self.caller, PATIENCE).map_err(too_long)?;
        let reply = self.http.block_on(self.exchange(method, path))?;
        if let Some(until) = reply.pause().and_then(|wait| reply.received.checked_add(wait).ok()) {
            pauses.begin(self.caller, until, reply.received);
        }
        Ok(reply)
    }

    async fn exchange(&self, method: Method<'_>, path: &str) -> Result<Reply, ForgeError> {
        let reads = matches!(method, Method::Get);
        let kept = self.kept.lock().ok().filter(|_| reads).and_then(|kept| kept.get(path).cloned());
        let broken = |reason: String| ForgeError::Temporary { host: self.host.clone(), reason };
        let etag = kept.as_ref().map(|(etag, _)| etag.as_str());
        let mut response = self.wire.send(method, path, etag).await.map_err(broken)?;
        self.http.traffic().count(&self.host, response.headers());
        let mut body = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|_| broken("the connection broke".to_owned()))?
        {
            if body.len() + chunk.len() > LARGEST {
                return Err(broken(format!("an answer has more than {LARGEST} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        let mut reply = Reply {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body,
            received: Clock::System.now(),
        };
        match (reply.status, kept) {
            (304, Some((_, body))) => (reply.status, reply.body) = (200, body),
            (200, _) if reads => self.keep(path, &reply),
            _ => {}
        }
        Ok(reply)
    }

    fn keep(&self, path: &str, reply: &Reply) {
        let Some(etag) = reply.headers.get(ETAG).and_then(|v| v.to_str().ok()) else { return };
        if let Ok(mut kept) = self.kept.lock() {
            if kept.len() >= KEPT {
                kept.clear();
            }
            kept.insert(path.to_owned(), (etag.to_owned(), reply.body.clone()));
        }
    }
}
