//! What a forge tells by a webhook: is it from the forge, is it new, and which repository is it about.
//!
//! In: headers and body of a request from anywhere, and how each forge delivers. Out: what is to be made of it. Nothing of
//! the body is believed but which repository has news: what the news are is asked of the forge.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::{
    propose::forge::webhook::{Proof, Webhook},
    sys::secrets::Token,
};

/// The largest delivery, in bytes.
pub(super) const LARGEST: usize = 1 << 20;

/// So many deliveries are remembered.
const REMEMBERED: usize = 10_000;

/// The shortest secret that is one.
const SHORTEST: usize = 16;

/// What is made of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The repository is due.
    Taken,
    /// It is about nothing that matters here.
    Ignored,
    /// It was taken before.
    Repeated,
    /// It is about no repository of the list.
    Unknown,
    /// Nothing shows that it is from the forge.
    Unproven,
    /// It is from the forge, and no delivery.
    Malformed,
}

/// Makes the repositories due that have one of these places, and tells whether there are any.
pub type Wake = Box<dyn Fn(&BTreeSet<String>) -> bool + Send + Sync>;

/// The door for deliveries.
pub struct Hooks {
    secret: Token,
    forges: Vec<&'static Webhook>,
    wake: Wake,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seen: HashSet<[u8; 32]>,
    /// The same, oldest first.
    order: VecDeque<[u8; 32]>,
    counts: BTreeMap<&'static str, u64>,
}

// === impl Hooks ===

impl Hooks {
    /// Opens the door to those forges that know the secret; a secret that can be guessed is refused with the reason.
    pub fn new(secret: Token, forges: Vec<&'static Webhook>, wake: Wake) -> Result<Self, &'static str> {
        match secret.expose().len() < SHORTEST {
            true => Err("it is shorter than 16 characters"),
            false => Ok(Self { secret, forges, wake, state: Mutex::default() }),
        }
    }

    /// Takes a delivery; `header` gives the headers by their names in lower case.
    pub(super) fn take<'h>(&self, header: impl Fn(&str) -> Option<&'h str>, body: &[u8]) -> Verdict {
        let verdict = self.judge(header, body);
        *self.lock().counts.entry(verdict.word()).or_default() += 1;
        verdict
    }

    fn judge<'h>(&self, header: impl Fn(&str) -> Option<&'h str>, body: &[u8]) -> Verdict {
        // A forge may send the headers of another one too.
        let told = self.forges.iter().filter_map(|forge| Some((*forge, header(forge.event)?)));
        let mut proven = told.filter(|(forge, _)| self.is_proven(&forge.proof, &header, body)).peekable();
        if proven.peek().is_none() {
            return Verdict::Unproven;
        }
        let Some((forge, _)) =
            proven.find(|(forge, event)| forge.events.iter().any(|known| is(event, known)))
        else {
            return Verdict::Ignored;
        };
        let Some(places) = places(body, forge.addresses) else { return Verdict::Malformed };
        let id = forge.id.iter().find_map(|name| header(name));
        // The id is not signed, so the body counts too.
        let keys = [Some(digest(b"body", body)), id.map(|id| digest(b"id", id.as_bytes()))];
        if keys.iter().flatten().any(|key| self.lock().seen.contains(key)) {
            return Verdict::Repeated;
        }
        if !(self.wake)(&places) {
            return Verdict::Unknown;
        }
        keys.into_iter().flatten().for_each(|key| self.lock().remember(key));
        Verdict::Taken
    }

    fn is_proven<'h>(&self, proof: &Proof, header: impl Fn(&str) -> Option<&'h str>, body: &[u8]) -> bool {
        let Ok(mac) = Hmac::<Sha256>::new_from_slice(self.secret.expose().as_bytes()) else { return false };
        // How long a comparison takes tells nothing of where two texts differ, nor of their lengths.
        match proof {
            Proof::Signed { header: name, prefix } => {
                let signature = header(name).and_then(|text| from_hex(text.strip_prefix(prefix)?));
                signature.is_some_and(|given| mac.chain_update(body).verify_slice(&given).is_ok())
            }
            Proof::Shared { header: name } => {
                let given = header(name).unwrap_or_default().as_bytes();
                let wanted = mac.clone().chain_update(self.secret.expose()).finalize().into_bytes();
                mac.chain_update(given).verify(&wanted).is_ok()
            }
        }
    }

    /// Returns how many deliveries there were, by what was made of them.
    pub(super) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.lock().counts.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    fn remember(&mut self, key: [u8; 32]) {
        if self.seen.insert(key) {
            self.order.push_back(key);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
    }
}

// === impl Verdict ===

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Ignored => "ignored",
            Self::Repeated => "repeated",
            Self::Unknown => "unknown",
            Self::Unproven => "unproven",
            Self::Malformed => "malformed",
        }
    }
}

/// Tells whether an event is one that is known, or says more of it.
fn is(event: &str, known: &str) -> bool {
    event.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Returns the places of the repository that a body is about, by where the forge has its addresses; `None` where it is no
/// delivery.
fn places(body: &[u8], addresses: &[&str]) -> Option<BTreeSet<String>> {
    let delivery: Value = serde_json::from_slice(body).ok()?;
    let mut places = BTreeSet::new();
    for address in addresses.iter().filter_map(|pointer| delivery.pointer(pointer)) {
        match address {
            Value::Null => {}
            Value::String(text) => places.extend(place(text)),
            _ => return None,
        }
    }
    Some(places)
}

/// Returns the place of a repository as `host/path`, the same for all forms of its address; `None` for a folder.
pub fn place(address: &str) -> Option<String> {
    let url = match address.contains("://") {
        true => Url::parse(address).ok()?,
        false => {
            let (host, path) = address.split_once(':').filter(|(host, _)| host.contains('@'))?;
            Url::parse(&format!("ssh://{host}/{path}")).ok()?
        }
    };
    let path = url.path().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let host = url.host_str().filter(|host| !host.is_empty() && !path.is_empty())?;
    Some(format!("{host}/{path}").to_lowercase())
}

fn digest(kind: &[u8], of: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(kind).chain_update([0]).chain_update(of).finalize().into()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair.first()?)? << 4 | digit(pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::propose::forge::kinds;

    const SECRET: &str = "a secret of the operator";

    /// A door that notes what was woken; only `h/acme/config` is on the list.
    fn door() -> (Hooks, Arc<Mutex<usize>>) {
        let woken = Arc::new(Mutex::new(0));
        let count = Arc::clone(&woken);
        let wake: Wake = Box::new(move |places| {
            let listed = places.contains("h/acme/config");
            *count.lock().unwrap() += usize::from(listed);
            listed
        });
        let secret = Token::new(&SECRET.replace(' ', "-"), "x").unwrap();
        (Hooks::new(secret, kinds::webhooks(), wake).unwrap(), woken)
    }

    fn signature(body: &[u8]) -> String {
        let mac = Hmac::<Sha256>::new_from_slice(SECRET.replace(' ', "-").as_bytes()).unwrap();
        let bytes = mac.chain_update(body).finalize().into_bytes();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn taken(door: &Hooks, headers: &[(&str, &str)], body: &[u8]) -> Verdict {
        door.take(|name| headers.iter().find(|(n, _)| *n == name).map(|(_, value)| *value), body)
    }

    const BODY: &[u8] =
        br#"{"ref":"refs/heads/main","repository":{"clone_url":"https://h/acme/config.git","ssh_url":7}}"#;

    fn body(address: &str, n: usize) -> Vec<u8> {
        format!(r#"{{"n":{n},"repository":{{"clone_url":"{address}"}}}}"#).into_bytes()
    }

    #[test]
    fn each_forge_is_known_by_its_headers() {
        let (door, woken) = door();
        let secret = SECRET.replace(' ', "-");
        for (n, (event, proof, id)) in [
            (("x-github-event", "check_run"), "x-hub-signature-256", "x-github-delivery"),
            (("x-gitea-event", "pull_request_sync"), "x-gitea-signature", "x-gitea-delivery"),
            (("x-gitlab-event", "Merge Request Hook"), "x-gitlab-token", "idempotency-key"),
        ]
        .into_iter()
        .enumerate()
        {
            let body = match proof {
                "x-gitlab-token" => {
                    format!(r#"{{"n":{n},"project":{{"git_ssh_url":"git@h:Acme/config.git"}}}}"#).into_bytes()
                }
                _ => body("git@h:Acme/config.git", n),
            };
            let shown = match proof {
                "x-hub-signature-256" => format!("sha256={}", signature(&body)),
                "x-gitea-signature" => signature(&body),
                _ => secret.clone(),
            };
            let number = n.to_string();
            let headers = [event, (proof, shown.as_str()), (id, &number)];
            assert_eq!(taken(&door, &headers, &body), Verdict::Taken, "{event:?}");
            assert_eq!(taken(&door, &headers, &body), Verdict::Repeated, "{event:?}");
            let other = [event, (proof, shown.as_str()), (id, "another")];
            assert_eq!(taken(&door, &other, &body), Verdict::Repeated, "the id is not signed");
            for wrong in
                ["", "sha256=", "sha256=00", "0", "zz", "sha256=é", &shown[1..], &shown.to_uppercase()]
            {
                let verdict = taken(&door, &[event, (proof, wrong), (id, "7")], b"{}");
                assert_eq!(verdict, Verdict::Unproven, "{wrong}");
            }
            assert_eq!(taken(&door, &[event, (id, "8")], &body), Verdict::Unproven);
        }
        // Gitea sends what GitHub does beside its own, with fewer events.
        let body = body("https://h/acme/config.git", 9);
        let (own, as_github) = (signature(&body), format!("sha256={}", signature(&body)));
        let headers = [
            ("x-gitea-event", "workflow_run"),
            ("x-gitea-signature", own.as_str()),
            ("x-github-event", "workflow_run"),
            ("x-hub-signature-256", as_github.as_str()),
        ];
        assert_eq!(taken(&door, &headers, &body), Verdict::Taken);
        assert_eq!(*woken.lock().unwrap(), 4);
        assert_eq!(taken(&door, &[], b"{}"), Verdict::Unproven);
        assert_eq!(door.counts()["taken"], 4);
    }

    #[test]
    fn other_events_and_repositories_change_nothing() {
        let (door, woken) = door();
        let send = |event: &str, body: &[u8]| {
            let signature = format!("sha256={}", signature(body));
            taken(&door, &[("x-github-event", event), ("x-hub-signature-256", &signature)], body)
        };
        for event in ["ping", "star", "pushy", "", "push "] {
            assert_eq!(send(event, BODY), Verdict::Ignored, "{event}");
        }
        let ways = [
            (body("https://h/acme/other.git", 0), Verdict::Unknown),
            (b"{}".to_vec(), Verdict::Unknown),
            (b"".to_vec(), Verdict::Malformed),
            (b"payload=%7B%7D".to_vec(), Verdict::Malformed),
            (BODY.to_vec(), Verdict::Malformed),
            (vec![b'['; 1 << 20], Verdict::Malformed),
        ];
        for (body, verdict) in ways {
            assert_eq!(send("push", &body), verdict, "{:.60}", String::from_utf8_lossy(&body));
        }
        assert_eq!(*woken.lock().unwrap(), 0);
    }

    #[test]
    fn so_many_are_remembered_and_no_more() {
        let mut state = State::default();
        (0..2 * REMEMBERED).for_each(|n| state.remember(digest(b"n", &n.to_be_bytes())));
        assert_eq!((state.seen.len(), state.order.len()), (REMEMBERED, REMEMBERED));
        assert!(!state.seen.contains(&digest(b"n", &0usize.to_be_bytes())));
    }

    #[test]
    fn a_place_has_one_name() {
        for address in [
            "https://GitHub.com/Acme/Config",
            "https://github.com:443/acme/config.git/",
            "git@github.com:acme/config.git",
            "ssh://git@github.com:22/acme/config",
        ] {
            assert_eq!(place(address).as_deref(), Some("github.com/acme/config"), "{address}");
        }
        for none in ["/srv/x.git", "", "file:///srv/x", "x:y", "https://h", "https://h/"] {
            assert_eq!(place(none), None, "{none}");
        }
        assert!(Hooks::new(Token::new("short", "x").unwrap(), Vec::new(), Box::new(|_| true)).is_err());
    }
}
