//! Step 10, propose: a GitHub App, which gives out a token for each of its installations.
//!
//! In: the App's id and its private key, of the operator. Out: a token for a repository, made when it is needed, used until
//! shortly before it ends, and the list of repositories that the App is installed on. The key signs a short-lived claim to be
//! the App, and nothing else; it goes nowhere. (docs.github.com/en/apps: "Generating a JSON Web Token for a GitHub App",
//! "Authenticating as a GitHub App installation".)

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use openssl::{
    hash::MessageDigest,
    pkey::{Id, PKey, Private},
    sign::Signer,
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::{Address, ByOctocrab, DIALECT, MANNERS, connect, wire::Repo};
use crate::{
    propose::forge::{
        ForgeError,
        kind::host_of,
        listing::Listed,
        rest::{Method, Rest},
    },
    sys::{clock::Clock, http::Http},
};

/// A token that ends sooner is not used any more: a pass may take a while.
const SPARE: Duration = Duration::from_secs(10 * 60);
/// How far the clocks of two machines may differ.
const DRIFT: Duration = Duration::from_secs(60);
/// How long a claim holds; GitHub takes ten minutes at most.
const CLAIM: Duration = Duration::from_secs(8 * 60);
/// The entries on a page of repositories or installations.
const PAGE: usize = 100;

/// A GitHub App.
pub struct App {
    id: String,
    key: PKey<Private>,
    state: Mutex<State>,
}

/// An id or a key that cannot be used: the operator's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppError {
    /// The id is none.
    #[error("`{0}` is neither the App's id nor its client id")]
    Id(String),
    /// The key is none.
    #[error("the App's private key cannot be used: {0}")]
    Key(&'static str),
}

#[derive(Default)]
struct State {
    /// The installation of each repository, by the API and its name.
    installations: HashMap<String, u64>,
    /// The token of each installation, by the API and its id.
    tokens: HashMap<(String, u64), Held>,
}

#[derive(Clone)]
struct Held {
    token: SecretString,
    until: Timestamp,
}

/// A token as it comes.
#[derive(Deserialize)]
struct Made {
    token: String,
    expires_at: Timestamp,
}

#[derive(Deserialize)]
struct Installation {
    id: u64,
    #[serde(default)]
    suspended_at: Option<Timestamp>,
}

/// A page of the repositories that a token sees.
#[derive(Deserialize)]
struct Seen {
    total_count: usize,
    repositories: Vec<Repo>,
}

// === impl App ===

impl App {
    /// Reads the key (PEM, PKCS#1 or PKCS#8); `id` is the App's id, or its client id.
    pub fn new(id: &str, key: &SecretString) -> Result<Self, AppError> {
        let known = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        if id.is_empty() || id.len() > 64 || !id.bytes().all(known) {
            return Err(AppError::Id(id.chars().take(64).collect()));
        }
        // In a variable, line breaks are often written as two characters.
        let pem = key.expose_secret().replace("\\n", "\n");
        let key = PKey::private_key_from_pem(pem.as_bytes())
            .map_err(|_| AppError::Key("it is no private key in PEM; GitHub gives it as a file `.pem`"))?;
        match key.id() == Id::RSA {
            true => Ok(Self { id: id.to_owned(), key, state: Mutex::default() }),
            false => Err(AppError::Key("it is no RSA key")),
        }
    }

    /// Returns a token for a repository: the one that is held, or a new one of its installation.
    pub fn token(&self, http: &Http, address: &Address) -> Result<SecretString, ForgeError> {
        // Held while it is asked, so that it is asked once however many passes wait for it.
        let state = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Clock::System.now();
        let place = format!("{} {}", address.api(), address.full_name().to_lowercase());
        let installation = match state.installations.get(&place) {
            Some(id) => *id,
            None => self.installation_of(http, address, now)?,
        };
        let key = (address.api().to_owned(), installation);
        let held = state.tokens.get(&key).filter(|held| held.until > now + SPARE).cloned();
        let held = match held {
            Some(held) => held,
            None => self.make(http, address.api(), installation, now).inspect_err(|_| {
                // It may have been installed anew since, under another id.
                state.installations.remove(&place);
            })?,
        };
        state.installations.insert(place, installation);
        state.tokens.insert(key, held.clone());
        Ok(held.token)
    }

    /// Forgets the token of a repository that GitHub does not take any more.
    pub fn forget(&self, address: &Address) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let place = format!("{} {}", address.api(), address.full_name().to_lowercase());
        if let Some(installation) = state.installations.remove(&place) {
            state.tokens.remove(&(address.api().to_owned(), installation));
        }
    }

    /// Lists the repositories of every installation that is not suspended.
    pub fn repositories(&self, http: &Http, api: &str) -> Result<Vec<Listed>, ForgeError> {
        let now = Clock::System.now();
        let own = self.rest(http, api, (host_of(api), "installations"), now)?;
        let asked = own.asked("cannot list the installations of the App", "metadata: read");
        let installations: Vec<Installation> = own.list("/app/installations", &asked)?;
        let mut all = Vec::new();
        for installation in installations.into_iter().filter(|one| one.suspended_at.is_none()) {
            let token = self.make(http, api, installation.id, now)?.token;
            let rest = rest(http, api, token.expose_secret(), (host_of(api), "repositories"))?;
            for page in 1.. {
                let path = format!("/installation/repositories?per_page={PAGE}&page={page}");
                let asked = rest.asked("cannot list the repositories of an installation", "metadata: read");
                let seen: Seen = rest.get(&path, &asked)?.json(&asked)?;
                let last = seen.repositories.len() < PAGE;
                all.extend(seen.repositories.into_iter().map(Listed::from));
                if last || seen.total_count <= page * PAGE {
                    break;
                }
            }
        }
        Ok(all)
    }

    fn installation_of(&self, http: &Http, address: &Address, now: Timestamp) -> Result<u64, ForgeError> {
        let name = address.full_name();
        let rest = self.rest(http, address.api(), (address.host(), &name), now)?;
        let asked = rest.asked("cannot find the App's installation", "metadata: read");
        let path = format!("/repos/{name}/installation");
        let found = match rest.get(&path, &asked) {
            Ok(reply) => reply.json::<Installation>(&asked)?,
            Err(refused) => {
                return Err(match refused.error {
                    ForgeError::NotFound(_) => {
                        self.rejected(&format!("it is not installed on {name}, or not for this repository"))
                    }
                    ForgeError::Auth { reason, .. } => self.rejected(&format!(
                        "GitHub does not know it by this id and key, or the clock is wrong: {reason}"
                    )),
                    error => error,
                });
            }
        };
        match found.suspended_at {
            Some(_) => Err(self.rejected(&format!("its installation on {name} is suspended"))),
            None => Ok(found.id),
        }
    }

    fn make(&self, http: &Http, api: &str, id: u64, now: Timestamp) -> Result<Held, ForgeError> {
        let rest = self.rest(http, api, (host_of(api), "an installation"), now)?;
        let asked = rest.asked("cannot make a token of the App's installation", "metadata: read");
        let path = format!("/app/installations/{id}/access_tokens");
        let made: Made = rest.put(Method::Post(&json!({})), &path, &asked)?.json(&asked)?;
        Ok(Held { token: made.token.into(), until: made.expires_at })
    }

    fn rejected(&self, reason: &str) -> ForgeError {
        let what = format!("cannot get a token of the GitHub App {}", self.id);
        ForgeError::Rejected { what, reason: reason.to_owned() }
    }

    /// The API, asked as the App itself.
    fn rest<'h>(
        &self,
        http: &'h Http,
        api: &str,
        about: (&str, &str),
        now: Timestamp,
    ) -> Result<Rest<'h>, ForgeError> {
        let claim = self.claim(now).map_err(|_| self.rejected("the key cannot sign"))?;
        rest(http, api, &claim, about)
    }

    /// A claim to be the App, signed with its key (RFC 7519, RS256).
    fn claim(&self, now: Timestamp) -> Result<String, openssl::error::ErrorStack> {
        let (from, until) = (now - DRIFT, now + CLAIM);
        let head = json!({"alg": "RS256", "typ": "JWT"}).to_string();
        let body = json!({"iat": from.as_second(), "exp": until.as_second(), "iss": self.id}).to_string();
        let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(body));
        let signature =
            Signer::new(MessageDigest::sha256(), &self.key)?.sign_oneshot_to_vec(text.as_bytes())?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

// The key is a secret.
impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The API, asked with a token.
pub(super) fn rest<'h>(
    http: &'h Http,
    api: &str,
    token: &str,
    (host, about): (&str, &str),
) -> Result<Rest<'h>, ForgeError> {
    let fail = |reason: &str| ForgeError::Auth { host: host.to_owned(), reason: reason.to_owned() };
    let wire = Box::new(ByOctocrab(connect(http, api, Some(token)).map_err(fail)?));
    Ok(Rest::new(http, wire, MANNERS, (DIALECT.forge, host, about), Some(token)))
}

#[cfg(test)]
mod tests {
    use openssl::{rsa::Rsa, sign::Verifier};

    use super::*;

    fn pem() -> SecretString {
        let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
        String::from_utf8(key.private_key_to_pem_pkcs8().unwrap()).unwrap().into()
    }

    #[test]
    fn a_claim_is_short_lived_and_signed() {
        let app = App::new("12345", &pem()).unwrap();
        let now = Timestamp::from_second(1_790_000_000).unwrap();
        let claim = app.claim(now).unwrap();
        let (text, signature) = claim.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let mut verifier = Verifier::new(MessageDigest::sha256(), &app.key).unwrap();
        assert!(verifier.verify_oneshot(&signature, text.as_bytes()).unwrap());
        let body = URL_SAFE_NO_PAD.decode(text.split('.').nth(1).unwrap()).unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body, json!({"iat": 1_789_999_940, "exp": 1_790_000_480, "iss": "12345"}));
    }

    #[test]
    fn what_is_no_key_or_id_is_refused_and_not_shown() {
        let wrong = App::new("1", &"-----BEGIN s3cret-----".to_owned().into()).unwrap_err();
        assert!(matches!(wrong, AppError::Key(_)) && !wrong.to_string().contains("s3cret"));
        assert!(App::new("a b", &pem()).is_err() && App::new("", &pem()).is_err());
        let in_one_line = pem().expose_secret().replace('\n', "\\n");
        let app = App::new("Iv1.abc", &in_one_line.into()).unwrap();
        assert_eq!(format!("{app:?}"), "App { id: \"Iv1.abc\", .. }");
    }
}
