//! What a forge tells by a webhook: is it from the forge, is it new, and which repository is it about.
//!
//! In: headers and body of a request from anywhere. Out: what is to be made of it. GitHub, Gitea and Forgejo sign the body
//! (HMAC-SHA256 over it, in hexadecimal); GitLab sends the secret itself. Nothing of the body is believed but which repository
//! has news: what the news are is asked of the forge.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::sys::secrets::Token;

/// The largest delivery, in bytes.
pub(super) const LARGEST: usize = 1 << 20;

/// So many deliveries are remembered.
const REMEMBERED: usize = 10_000;

/// The shortest secret that is one.
const SHORTEST: usize = 16;

/// The events that may change what is to be done, by the header that names them. GitHub's come last, since Gitea sends its
/// names too.
const FORGES: [Manner; 3] = [
    Manner {
        event: "x-gitea-event",
        events: &["push", "pull_request", "status", "check_run", "check_suite", "workflow_run"],
        proof: Proof::Signed { header: "x-gitea-signature", prefix: "" },
        id: &["x-gitea-delivery"],
    },
    Manner {
        event: "x-gitlab-event",
        events: &["Push Hook", "Merge Request Hook", "Pipeline Hook", "Job Hook", "Deployment Hook"],
        proof: Proof::Shared { header: "x-gitlab-token" },
        id: &["idempotency-key", "x-gitlab-event-uuid"],
    },
    Manner {
        event: "x-github-event",
        events: &["push", "pull_request", "status", "check_run", "check_suite", "deployment_status"],
        proof: Proof::Signed { header: "x-hub-signature-256", prefix: "sha256=" },
        id: &["x-github-delivery"],
    },
];

/// How a forge delivers.
struct Manner {
    event: &'static str,
    events: &'static [&'static str],
    proof: Proof,
    id: &'static [&'static str],
}

/// How a forge shows that it knows the secret.
enum Proof {
    /// By a signature of the body.
    Signed { header: &'static str, prefix: &'static str },
    /// By telling it.
    Shared { header: &'static str },
}

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

/// The parts of a delivery that name its repository: `project` is GitLab's word.
#[derive(Deserialize)]
struct Delivery {
    #[serde(default)]
    repository: Addresses,
    #[serde(default)]
    project: Addresses,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Addresses {
    clone_url: Option<String>,
    ssh_url: Option<String>,
    html_url: Option<String>,
    git_http_url: Option<String>,
    git_ssh_url: Option<String>,
    web_url: Option<String>,
}

// === impl Hooks ===

impl Hooks {
    /// Opens the door to whoever knows the secret; a secret that can be guessed is refused with the reason.
    pub fn new(secret: Token, wake: Wake) -> Result<Self, &'static str> {
        match secret.expose().len() < SHORTEST {
            true => Err("it is shorter than 16 characters"),
            false => Ok(Self { secret, wake, state: Mutex::default() }),
        }
    }

    /// Takes a delivery; `header` gives the headers by their names in lower case.
    pub(super) fn take<'h>(&self, header: impl Fn(&str) -> Option<&'h str>, body: &[u8]) -> Verdict {
        let verdict = self.judge(header, body);
        *self.lock().counts.entry(verdict.word()).or_default() += 1;
        verdict
    }

    fn judge<'h>(&self, header: impl Fn(&str) -> Option<&'h str>, body: &[u8]) -> Verdict {
        let Some((manner, event)) = FORGES.iter().find_map(|manner| Some((manner, header(manner.event)?)))
        else {
            return Verdict::Unproven;
        };
        if !self.is_proven(&manner.proof, &header, body) {
            return Verdict::Unproven;
        }
        // Gitea says more of some events, as in `pull_request_sync`.
        let same = |known: &&str| {
            event == *known || event.strip_prefix(*known).is_some_and(|rest| rest.starts_with('_'))
        };
        if !manner.events.iter().any(same) {
            return Verdict::Ignored;
        }
        let Ok(delivery) = serde_json::from_slice::<Delivery>(body) else { return Verdict::Malformed };
        let id = manner.id.iter().find_map(|name| header(name));
        // The id is not signed, so the body counts too.
        let keys = [Some(digest(b"body", body)), id.map(|id| digest(b"id", id.as_bytes()))];
        if keys.iter().flatten().any(|key| self.lock().seen.contains(key)) {
            return Verdict::Repeated;
        }
        let places = delivery.repository.places().chain(delivery.project.places()).collect();
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

// === impl Addresses ===

impl Addresses {
    fn places(&self) -> impl Iterator<Item = String> {
        let Self { clone_url, ssh_url, html_url, git_http_url, git_ssh_url, web_url } = self;
        let all = [clone_url, ssh_url, html_url, git_http_url, git_ssh_url, web_url];
        all.into_iter().flatten().filter_map(|address| place(address))
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
        (Hooks::new(secret, wake).unwrap(), woken)
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
            let body = body("git@h:Acme/config.git", n);
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
        assert_eq!(*woken.lock().unwrap(), 3);
        assert_eq!(taken(&door, &[], b"{}"), Verdict::Unproven);
        assert_eq!(door.counts()["taken"], 3);
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
        assert!(Hooks::new(Token::new("short", "x").unwrap(), Box::new(|_| true)).is_err());
    }
}
