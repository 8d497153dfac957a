//! The requests to a registry: tags, manifests, blobs, and the tokens for them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::{
    Address, Descriptor, Keyring, Manifest, OciError,
    address::{authority_of, tag_of},
    challenge::{self, Challenge},
    manifest::{self, MANIFEST, hash},
};
use crate::sys::http::{Existence, Http, HttpError, Question, Reply, shown};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A page of tags is some kilobytes.
const PAGE_LIMIT: u64 = 4 << 20;
/// The specification lets a registry refuse a larger manifest.
const MANIFEST_LIMIT: u64 = 4 << 20;
const TOKEN_LIMIT: u64 = 1 << 20;

/// The most pages of tags that are read of one repository; edge releases of ten years are one.
const PAGES: usize = 50;

/// What is known of all registries of a process: credentials, and tokens that were given for them.
#[derive(Debug, Default)]
pub struct Registries {
    keys: Keyring,
    /// `Authorization` headers by repository.
    tokens: Mutex<BTreeMap<Address, SecretString>>,
}

/// Asks registries.
#[derive(Clone, Copy)]
pub struct Client<'a> {
    http: &'a Http,
    registries: &'a Registries,
}

/// What a request is for.
struct Wanted<'a> {
    url: &'a Url,
    head: bool,
    accept: &'static str,
    limit: u64,
}

#[derive(Deserialize)]
struct Tags {
    /// Some registries write `null` for none.
    tags: Option<Vec<String>>,
}

/// What a realm gives; one of the two names is enough.
#[derive(Deserialize)]
struct Given {
    token: Option<String>,
    access_token: Option<String>,
}

// === impl Registries ===

impl Registries {
    /// Takes the operator's credentials.
    pub fn new(keys: Keyring) -> Self {
        Self { keys, tokens: Mutex::default() }
    }

    /// Returns the passwords, for whoever keeps them out of texts.
    pub fn passwords(&self) -> impl Iterator<Item = &SecretString> {
        self.keys.passwords()
    }

    /// Returns what asks with them.
    pub fn client<'a>(&'a self, http: &'a Http) -> Client<'a> {
        Client { http, registries: self }
    }
}

// === impl Client ===

impl Client<'_> {
    /// Lists the tags of a repository; `None` where there is no such repository.
    pub fn tags(&self, at: &Address) -> Result<Option<Vec<String>>, OciError> {
        let first = request(at, "tags/list?n=1000")?;
        let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
        let mut next = Some(first.clone());
        while let Some(url) = next {
            let content =
                |reason: &str| OciError::Content { address: shown(&url), reason: reason.to_owned() };
            // A page elsewhere would get the token, and one that leads back to itself has no end.
            if url.origin() != first.origin() || url.path() != first.path() {
                return Err(content("its next page is of another list"));
            }
            if seen.len() == PAGES || !seen.insert(url.clone()) {
                return Err(content("its pages have no end"));
            }
            let wanted = Wanted { url: &url, head: false, accept: "application/json", limit: PAGE_LIMIT };
            let Some(reply) = self.get(at, &wanted)? else { return Ok(None) };
            let page: Tags = serde_json::from_slice(&reply.body)
                .map_err(|e| content(&format!("is no list of tags: {e}")))?;
            all.extend(page.tags.unwrap_or_default());
            next = reply.next;
        }
        Ok(Some(all))
    }

    /// Tells whether a repository has a chart at a version.
    pub fn has(&self, at: &Address, version: &str) -> Result<bool, OciError> {
        let url = request(at, &format!("manifests/{}", tag_of(version)))?;
        let wanted = Wanted { url: &url, head: true, accept: MANIFEST, limit: 0 };
        Ok(self.get(at, &wanted)?.is_some())
    }

    /// Gets the manifest of a chart at a version, proven by its digest where the registry says one; `None` where it is
    /// not there.
    pub fn manifest(&self, at: &Address, version: &str) -> Result<Option<Manifest>, OciError> {
        let url = request(at, &format!("manifests/{}", tag_of(version)))?;
        let wanted = Wanted { url: &url, head: false, accept: MANIFEST, limit: MANIFEST_LIMIT };
        let Some(reply) = self.get(at, &wanted)? else { return Ok(None) };
        let content = |reason: &str| OciError::Content { address: shown(&url), reason: reason.to_owned() };
        let read = Manifest::read(&reply.body).map_err(|reason| content(&reason))?;
        if let Some(said) = &reply.digest {
            let said = manifest::sha256(said).ok_or_else(|| content("its digest is no SHA-256"))?;
            proven(&url, said, &read.digest)?;
        }
        Ok(Some(read))
    }

    /// Gets a blob, proven by its digest and size.
    pub fn blob(&self, at: &Address, blob: &Descriptor, limit: u64) -> Result<Vec<u8>, OciError> {
        let url = request(at, &format!("blobs/sha256:{}", blob.digest))?;
        if blob.size > limit {
            return Err(OciError::Http(HttpError::TooLarge { url: shown(&url), limit }));
        }
        let wanted = Wanted { url: &url, head: false, accept: "*/*", limit: blob.size };
        let missing = || HttpError::Refused { url: shown(&url), status: 404 };
        let reply = self.get(at, &wanted)?.ok_or_else(missing)?;
        proven(&url, &blob.digest, &hash(&reply.body))?;
        Ok(reply.body)
    }

    /// Asks, and says who asks where that is wanted; `None` where what is asked for is not there.
    fn get(&self, at: &Address, wanted: &Wanted<'_>) -> Result<Option<Reply>, OciError> {
        let kept = || self.registries.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().get(at).cloned();
        let mut reply = self.ask(wanted, known.as_ref())?;
        if let Existence::Who(headers) = &reply.found {
            // A token that is known is one that has expired.
            let authorization = self.authorization(at, wanted.url, headers)?;
            reply = self.ask(wanted, Some(&authorization))?;
            kept().insert(at.clone(), authorization);
        }
        match reply.found {
            Existence::Yes => Ok(Some(reply)),
            Existence::No => Ok(None),
            Existence::Who(_) => Err(refused(wanted.url).into()),
        }
    }

    fn ask(&self, wanted: &Wanted<'_>, authorization: Option<&SecretString>) -> Result<Reply, HttpError> {
        let Wanted { url, head, accept, limit } = *wanted;
        self.http.ask(&Question { url, head, accept, authorization, limit, timeout: TIMEOUT })
    }

    /// Does what a challenge asks for.
    fn authorization(&self, at: &Address, url: &Url, headers: &[String]) -> Result<SecretString, OciError> {
        let key = self.registries.keys.of(at.host());
        let Some(Challenge::Bearer { realm, service, scope }) = Challenge::read(headers) else {
            return Ok(key.ok_or_else(|| refused(url))?.basic());
        };
        let content = |reason: &str| OciError::Content { address: shown(url), reason: reason.to_owned() };
        let mut realm = Url::parse(&realm).map_err(|_| content("has its tokens from no address"))?;
        let own = realm.origin() == url.origin();
        if !own && (realm.scheme() != "https" || !realm.has_host()) {
            return Err(content("has its tokens from another host in plain text"));
        }
        let named = &self.registries.keys.realms;
        let told = key.filter(|_| challenge::may_know(&realm, url, named));
        let withheld = key.is_some() && told.is_none();
        let registry = at.host().to_owned();
        let untold = OciError::Realm { registry, realm: authority_of(&realm) };
        let scope = challenge::scope(scope.as_deref(), at.path());
        let pairs = service.iter().map(|service| ("service", service)).chain([("scope", &scope)]);
        realm.query_pairs_mut().extend_pairs(pairs);
        let basic = told.map(super::Key::basic);
        let wanted = Wanted { url: &realm, head: false, accept: "application/json", limit: TOKEN_LIMIT };
        let reply = match self.ask(&wanted, basic.as_ref()) {
            Err(HttpError::Refused { .. }) if withheld => return Err(untold),
            reply => reply?,
        };
        if reply.found != Existence::Yes {
            return Err(if withheld { untold } else { refused(&realm).into() });
        }
        // The parser's words could quote the token.
        let given = serde_json::from_slice::<Given>(&reply.body).ok();
        let token = given.and_then(|given| given.token.or(given.access_token));
        let plain = |token: &String| token.bytes().all(|byte| byte.is_ascii_graphic());
        let token = token.filter(plain).ok_or_else(|| OciError::Content {
            address: shown(&realm),
            reason: "gives no token".to_owned(),
        })?;
        Ok(format!("Bearer {token}").into())
    }
}

fn request(at: &Address, rest: &str) -> Result<Url, OciError> {
    at.request(rest).filter(|_| !at.path().is_empty()).ok_or_else(|| OciError::Content {
        address: at.to_string(),
        reason: "names no repository".to_owned(),
    })
}

fn refused(url: &Url) -> HttpError {
    HttpError::Refused { url: shown(url), status: 401 }
}

/// Compares a digest with the one that was asked for.
fn proven(url: &Url, expected: &str, found: &str) -> Result<(), OciError> {
    match expected == found {
        true => Ok(()),
        false => Err(OciError::Digest {
            address: shown(url),
            expected: expected.to_owned(),
            found: found.to_owned(),
        }),
    }
}
