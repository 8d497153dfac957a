//! An OCI registry on loopback that behaves as the distribution specification has it: repositories with tags,
//! manifests and blobs, tokens that are asked for by a challenge and expire, pages, and redirects to another host.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{
    charts::Package,
    controls::{Controls, Entry},
    http::{Handler, Request, Response, Server},
};

/// The name that the registry knows.
pub const USER: &str = "robot";
/// Its password.
pub const PASSWORD: &str = "TheRegistryPasswordThatNobodyMaySee";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// How the registry wants to know who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// Not at all.
    #[default]
    Open,
    /// By a token, which anybody gets.
    Anonymous,
    /// By a token, which only who knows the password gets; it is good for so many requests.
    Token { lasts: usize },
    /// By name and password.
    Basic,
}

/// The registry, listening.
pub struct Registry {
    server: Server,
    content: Arc<Mutex<Content>>,
    controls: Arc<Controls>,
}

#[derive(Default)]
struct Content {
    login: Login,
    /// Where tokens are given, if not here.
    realm: Option<String>,
    /// Where blobs are, if not here.
    storage: Option<String>,
    /// How many tags a page has.
    page: usize,
    /// Tags by repository, each with its manifest's digest.
    tags: BTreeMap<String, BTreeMap<String, String>>,
    blobs: BTreeMap<String, Vec<u8>>,
    /// How many tokens were given.
    given: usize,
    /// What the last token is still good for, by repository.
    left: BTreeMap<String, usize>,
}

struct Pages(Arc<Mutex<Content>>);

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

// === impl Registry ===

impl Registry {
    /// Starts a registry with charts below `charts/`.
    pub fn start(packages: &[Package]) -> Self {
        let content = Arc::new(Mutex::new(Content { page: 100, ..Content::default() }));
        let controls = Arc::new(Controls::default());
        let server = Server::start(Arc::new(Pages(Arc::clone(&content))), Arc::clone(&controls));
        let registry = Self { server, content, controls };
        packages.iter().for_each(|package| registry.push(package));
        registry
    }

    /// Adds a chart, as `helm push` does.
    pub fn push(&self, package: &Package) {
        let config = b"{}".to_vec();
        let manifest = Self::manifest_of(package).into_bytes();
        let mut content = self.content();
        let tags = content.tags.entry(format!("charts/{}", package.name)).or_default();
        tags.insert(package.version.replace('+', "_"), digest(&manifest));
        for bytes in [config, manifest, package.bytes.clone()] {
            content.blobs.insert(digest(&bytes), bytes);
        }
    }

    /// Writes the manifest of a chart.
    pub fn manifest_of(package: &Package) -> String {
        let config = b"{}";
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "digest": digest(config), "size": config.len()},
            "layers": [{"mediaType": CHART, "digest": digest(&package.bytes), "size": package.bytes.len()}],
        });
        manifest.to_string()
    }

    /// Takes a chart away.
    pub fn remove(&self, chart: &str, version: &str) {
        self.content().tags.get_mut(&format!("charts/{chart}")).expect("a repository").remove(version);
    }

    /// Sets how the registry wants to know who asks.
    pub fn login(&self, login: Login) {
        self.content().login = login;
    }

    /// Names another host for tokens.
    pub fn has_tokens_from(&self, realm: &str) {
        self.content().realm = Some(realm.to_owned());
    }

    /// Redirects to another host for blobs.
    pub fn has_blobs_at(&self, storage: &str) {
        self.content().storage = Some(storage.to_owned());
    }

    /// Lists so many tags on a page.
    pub fn pages_of(&self, tags: usize) {
        self.content().page = tags;
    }

    /// Keeps other bytes under the digest of a chart's package.
    pub fn tamper(&self, package: &Package, bytes: &[u8]) {
        self.content().blobs.insert(digest(&package.bytes), bytes.to_vec());
    }

    /// The address of its charts.
    pub fn address(&self) -> String {
        format!("oci://{}/charts", self.server.address())
    }

    /// Returns the server below.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the log and the faults.
    pub fn controls(&self) -> &Arc<Controls> {
        &self.controls
    }

    /// What it was asked since the last call.
    pub fn asked(&self) -> Vec<Entry> {
        self.controls.log.take()
    }

    fn content(&self) -> std::sync::MutexGuard<'_, Content> {
        self.content.lock().expect("no poison")
    }
}

// === impl Content ===

impl Content {
    /// Answers who is not known yet.
    fn challenge(&self, host: &str, repository: &str) -> Response {
        let challenge = match &self.login {
            Login::Basic => "Basic realm=\"the registry\"".to_owned(),
            _ => {
                let own = format!("http://{host}/token");
                let realm = self.realm.as_deref().unwrap_or(&own);
                format!(
                    "Bearer realm=\"{realm}\",service=\"the registry\",scope=\"repository:{repository}:pull\""
                )
            }
        };
        Response::json(401, &json!({"errors": [{"code": "UNAUTHORIZED"}]}))
            .with("WWW-Authenticate", challenge)
    }

    /// Tells whether a request may be answered; a token gets worn.
    fn lets_in(&mut self, request: &Request, repository: &str) -> bool {
        let said = request.credentials();
        let secret = said.as_ref().map(|(_, secret)| secret.as_str());
        match self.login {
            Login::Open => true,
            Login::Basic => said == Some((USER.to_owned(), PASSWORD.to_owned())),
            Login::Anonymous | Login::Token { .. } => {
                let known =
                    secret.is_some_and(|s| s.starts_with("token-") && s.ends_with(&format!("-{repository}")));
                let left = self.left.entry(repository.to_owned()).or_default();
                let good = known && *left > 0;
                *left = left.saturating_sub(1);
                good
            }
        }
    }

    fn token(&mut self, request: &Request) -> Response {
        let scope = request.query_value("scope").unwrap_or_default();
        let Some(repository) = scope.strip_prefix("repository:").and_then(|s| s.strip_suffix(":pull")) else {
            return Response::text(400, "no scope");
        };
        let known = request.credentials() == Some((USER.to_owned(), PASSWORD.to_owned()));
        let lasts = match self.login {
            Login::Token { .. } if !known => return Response::text(401, "who are you?"),
            Login::Token { lasts } => lasts,
            _ => usize::MAX,
        };
        self.given += 1;
        self.left.insert(repository.to_owned(), lasts);
        Response::json(
            200,
            &json!({"token": format!("token-{}-{repository}", self.given), "expires_in": 300}),
        )
    }

    fn tags(&self, request: &Request, repository: &str) -> Response {
        let Some(tags) = self.tags.get(repository) else { return missing("NAME_UNKNOWN") };
        let asked = request.query_value("n").and_then(|n| n.parse().ok()).unwrap_or(self.page);
        let size = self.page.min(asked);
        let last = request.query_value("last").unwrap_or_default();
        let rest: Vec<&String> = tags.keys().filter(|tag| **tag > last).collect();
        let page: Vec<&&String> = rest.iter().take(size).collect();
        let answer = Response::json(200, &json!({"name": repository, "tags": page}));
        match page.last().filter(|_| rest.len() > size) {
            Some(last) => answer
                .with("Link", format!("</v2/{repository}/tags/list?n={size}&last={last}>; rel=\"next\"")),
            None => answer,
        }
    }

    fn manifest(&self, request: &Request, repository: &str, reference: &str) -> Response {
        let digest = self.tags.get(repository).and_then(|tags| tags.get(reference));
        let accepted = request.header("accept").is_some_and(|accept| accept.contains(MANIFEST));
        let Some((digest, bytes)) = digest.and_then(|digest| Some((digest, self.blobs.get(digest)?))) else {
            return missing("MANIFEST_UNKNOWN");
        };
        if !accepted {
            return missing("MANIFEST_UNKNOWN");
        }
        Response { status: 200, body: bytes.clone(), ..Response::default() }
            .with("Content-Type", MANIFEST)
            .with("Docker-Content-Digest", digest)
    }

    fn blob(&self, digest: &str) -> Response {
        match (&self.storage, self.blobs.get(digest)) {
            (_, None) => missing("BLOB_UNKNOWN"),
            (Some(storage), _) => {
                Response::text(307, "").with("Location", format!("{storage}/stored/{digest}?sig=abc"))
            }
            (None, Some(bytes)) => Response { status: 200, body: bytes.clone(), ..Response::default() },
        }
    }
}

fn missing(code: &str) -> Response {
    Response::json(404, &json!({"errors": [{"code": code}]}))
}

// === impl Pages ===

impl Handler for Pages {
    fn handle(&self, request: &Request) -> Response {
        let mut content = self.0.lock().expect("no poison");
        let host = request.header("host").unwrap_or_default().to_owned();
        if request.path == "/token" {
            return content.token(request);
        }
        // What a registry keeps on another host: that one knows nobody.
        if let Some(digest) = request.path.strip_prefix("/stored/") {
            let bytes = content.blobs.get(digest).cloned();
            return match (request.header("authorization"), bytes) {
                (Some(_), _) => Response::text(400, "only one way to say who asks"),
                (None, Some(body)) => Response { status: 200, body, ..Response::default() },
                (None, None) => Response::text(404, "nothing"),
            };
        }
        let Some((repository, kind, reference)) = parts(&request.path) else {
            return missing("NAME_INVALID");
        };
        if !content.lets_in(request, repository) {
            return content.challenge(&host, repository);
        }
        match kind {
            "tags" => content.tags(request, repository),
            "manifests" => content.manifest(request, repository, reference),
            _ => content.blob(reference),
        }
    }
}

/// Splits `/v2/NAME/KIND/REFERENCE`.
fn parts(path: &str) -> Option<(&str, &str, &str)> {
    let (rest, reference) = path.strip_prefix("/v2/")?.rsplit_once('/')?;
    let (repository, kind) = rest.rsplit_once('/')?;
    matches!(kind, "tags" | "manifests" | "blobs").then_some((repository, kind, reference))
}
