//! A Git server over HTTP on loopback: the real `git http-backend` behind our own listener.
//!
//! Who may do what is decided by a [`Gate`]; faults, hooks between requests and the log are the [`Controls`].

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, LazyLock, Mutex},
};

use tempfile::TempDir;

use super::{
    controls::Controls,
    http::{Handler, Request, Response, Server},
    repo::BareRepo,
};

/// What a client asks of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// Decides who may read and write, and which pushes are refused by rule.
pub trait Gate: Send + Sync + 'static {
    /// Returns the user, or the answer that refuses.
    fn enter(&self, repo: &str, access: Access, secret: Option<&str>) -> Result<String, Response>;
    /// Returns the words and the reason that refuse an update of a ref, if any. `incoming` is the repository with what
    /// was sent.
    fn refuse(
        &self,
        _repo: &str,
        _command: &Command3,
        _incoming: &git2::Repository,
        _secret: Option<&str>,
    ) -> Option<Refusal> {
        None
    }
    /// Hears that refs may have moved.
    fn pushed(&self, _repo: &str, _user: &str, _commands: &[Command3]) {}
}

/// An update refused by a rule of the server.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// What the client prints after `remote:`.
    pub words: Vec<String>,
    /// The reason beside the ref.
    pub reason: String,
}

/// One command of a push: old id, new id and ref, as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command3 {
    pub old: String,
    pub new: String,
    pub refname: String,
}

/// The Git half of a host: repositories in one folder, served by `git http-backend`.
pub struct GitBackend {
    root: PathBuf,
    gate: Arc<dyn Gate>,
}

/// A gate with a fixed table of tokens.
#[derive(Default)]
pub struct TokenGate {
    /// Token to user and whether it may push. Empty: everybody may do everything.
    tokens: Mutex<BTreeMap<String, (String, Access)>>,
    rules: Mutex<Vec<(String, Refusal)>>,
}

/// A Git server with repositories of its own.
pub struct GitServer {
    server: Server,
    gate: Arc<TokenGate>,
    controls: Arc<Controls>,
    home: TempDir,
}

// === impl GitBackend ===

impl GitBackend {
    /// Serves the repositories under `root`, named `owner/name.git`.
    pub fn new(root: impl Into<PathBuf>, gate: Arc<dyn Gate>) -> Self {
        Self { root: root.into(), gate }
    }

    /// Splits a path into repository and service; `None` when it is not one of Git's.
    fn route(path: &str) -> Option<(&str, &str)> {
        let path = path.strip_prefix('/')?;
        for service in ["/info/refs", "/git-upload-pack", "/git-receive-pack"] {
            if let Some(repo) = path.strip_suffix(service) {
                return Some((repo.strip_suffix(".git").unwrap_or(repo), service));
            }
        }
        None
    }

    /// Tells whether the request is one of Git's.
    pub fn takes(request: &Request) -> bool {
        Self::route(&request.path).is_some()
    }

    fn run(&self, request: &Request, repo: &str, service: &str, user: &str) -> std::io::Result<Response> {
        let mut command = hermetic(&HTTP_BACKEND, &self.root);
        command
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("PATH_INFO", format!("/{repo}.git{service}"))
            .env("QUERY_STRING", &request.query)
            .env("REQUEST_METHOD", &request.method)
            .env("REMOTE_USER", user)
            .env("REMOTE_ADDR", "127.0.0.1")
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for (header, variable) in [
            ("content-type", "CONTENT_TYPE"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
            ("git-protocol", "GIT_PROTOCOL"),
        ] {
            if let Some(value) = request.header(header) {
                command.env(variable, value);
            }
        }
        let mut child = command.spawn()?;
        let mut input = child.stdin.take().expect("a pipe to the backend");
        let body = request.body.clone();
        // The backend may answer before it has read everything.
        let writer = std::thread::spawn(move || {
            let _ = input.write_all(&body);
        });
        let output = child.wait_with_output()?;
        let _ = writer.join();
        Ok(from_cgi(&output.stdout))
    }

    fn refused(&self, request: &Request, repo: &str, commands: &[Command3]) -> Option<Response> {
        if commands.is_empty() {
            return None;
        }
        let (_folder, incoming) = self.quarantine(repo, &request.body);
        let secret = request.credentials().map(|(_, secret)| secret);
        let refuse = |c: &Command3| self.gate.refuse(repo, c, &incoming, secret.as_deref());
        let refusals: Vec<Option<Refusal>> = commands.iter().map(refuse).collect();
        let first = refusals.iter().flatten().next()?.clone();
        let mut report = pkt(b"unpack ok\n");
        for (command, refusal) in commands.iter().zip(&refusals) {
            let reason = &refusal.as_ref().unwrap_or(&first).reason;
            report.extend(pkt(format!("ng {} {reason}\n", command.refname).as_bytes()));
        }
        report.extend(b"0000");
        let mut body = Vec::new();
        if contains(&request.body, b"side-band-64k") {
            for word in &first.words {
                body.extend(pkt(&[b"\x02", word.as_bytes(), b"\n"].concat()));
            }
            body.extend(pkt(&[b"\x01", report.as_slice()].concat()));
            body.extend(b"0000");
        } else {
            body = report;
        }
        Some(
            Response { status: 200, body, ..Response::default() }
                .with("Content-Type", "application/x-git-receive-pack-result"),
        )
    }
}

// A second part, since what was sent is looked at before the backend has it.
impl GitBackend {
    /// Puts what was sent into a repository of its own over the one that is pushed to.
    fn quarantine(&self, repo: &str, body: &[u8]) -> (TempDir, git2::Repository) {
        let folder = TempDir::new().expect("a temporary folder");
        let incoming = git2::Repository::init_bare(folder.path()).expect("a repository");
        let objects = self.root.join(format!("{repo}.git/objects"));
        let objects = std::fs::canonicalize(&objects).unwrap_or(objects);
        let alternates = folder.path().join("objects/info/alternates");
        std::fs::write(alternates, format!("{}\n", objects.display())).expect("the alternates");
        if let Some(start) = body.windows(4).position(|w| w == b"PACK") {
            // What does not unpack is refused by the backend itself.
            let odb = incoming.odb().expect("its objects");
            let mut pack = odb.packwriter().expect("a pack");
            let _ = pack.write_all(&body[start..]);
            let _ = pack.commit();
        }
        (folder, git2::Repository::open_bare(incoming.path()).expect("a repository"))
    }
}

impl Handler for GitBackend {
    fn handle(&self, request: &Request) -> Response {
        let Some((repo, service)) = Self::route(&request.path) else {
            return Response::text(404, "Not Found");
        };
        let writes = service == "/git-receive-pack" || request.query.contains("service=git-receive-pack");
        let access = if writes { Access::Write } else { Access::Read };
        let secret = request.credentials().map(|(_, secret)| secret);
        let user = match self.gate.enter(repo, access, secret.as_deref()) {
            Ok(user) => user,
            Err(response) => return response,
        };
        if !self.root.join(format!("{repo}.git")).exists() {
            return Response::text(404, "Repository not found.");
        }
        let commands = if service == "/git-receive-pack" { commands(&request.body) } else { Vec::new() };
        let refused = self.refused(request, repo, &commands);
        let mut response = refused.unwrap_or_else(|| {
            let answer = self.run(request, repo, service, &user);
            if !commands.is_empty() {
                self.gate.pushed(repo, &user, &commands);
            }
            answer.unwrap_or_else(|e| Response::text(500, format!("git http-backend: {e}")))
        });
        response.user = Some(user);
        response
    }

    fn is_write(&self, request: &Request) -> bool {
        request.path.ends_with("/git-receive-pack") && !commands(&request.body).is_empty()
    }
}

/// Where `git` is. A program that is named without a path is searched for by a copy of the whole test process.
static GIT: LazyLock<PathBuf> = LazyLock::new(|| {
    let folders = std::env::var_os("PATH").expect("a path");
    std::env::split_paths(&folders).map(|folder| folder.join("git")).find(|git| git.is_file()).expect("git")
});

/// The program behind `git http-backend`, which is one process less.
static HTTP_BACKEND: LazyLock<PathBuf> = LazyLock::new(|| {
    let output = Command::new(&*GIT).arg("--exec-path").output().expect("git");
    Path::new(str::from_utf8(&output.stdout).expect("a folder").trim()).join("git-http-backend")
});

/// Returns a `git` command that reads no configuration but the repository's.
pub fn hermetic_git(home: &Path) -> Command {
    hermetic(&GIT, home)
}

fn hermetic(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ["PATH", "LD_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env("HOME", home)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        // The tests own the folders, whoever runs them; and nothing of theirs grows old enough to be packed.
        .env("GIT_CONFIG_COUNT", "2")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("GIT_CONFIG_KEY_1", "receive.autogc")
        .env("GIT_CONFIG_VALUE_1", "false");
    command
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn pkt(bytes: &[u8]) -> Vec<u8> {
    let mut line = format!("{:04x}", bytes.len() + 4).into_bytes();
    line.extend_from_slice(bytes);
    line
}

/// Reads the commands at the start of a push; none for a probe.
pub fn commands(body: &[u8]) -> Vec<Command3> {
    let mut commands = Vec::new();
    let mut rest = body;
    while let Some((size, _)) = rest.split_at_checked(4) {
        let size = std::str::from_utf8(size).ok().and_then(|s| usize::from_str_radix(s, 16).ok());
        let Some(line) = size.filter(|size| *size > 4).and_then(|size| rest.get(4..size)) else { break };
        let text = String::from_utf8_lossy(line.split(|byte| *byte == 0).next().unwrap_or_default());
        let mut words = text.trim_end().splitn(3, ' ');
        if let (Some(old), Some(new), Some(refname)) = (words.next(), words.next(), words.next()) {
            commands.push(Command3 { old: old.to_owned(), new: new.to_owned(), refname: refname.to_owned() });
        }
        rest = rest.get(line.len() + 4..).unwrap_or_default();
    }
    commands
}

/// Turns what a CGI program prints into an answer.
fn from_cgi(output: &[u8]) -> Response {
    let Some(end) = output.windows(4).position(|w| w == b"\r\n\r\n") else {
        return Response::text(500, "git http-backend printed no head");
    };
    let mut response = Response { status: 200, body: output[end + 4..].to_vec(), ..Response::default() };
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("status") {
            let status = value.split_whitespace().next().and_then(|s| s.parse().ok());
            response.status = status.unwrap_or(500);
        } else {
            response.headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    response
}

// === impl TokenGate ===

impl TokenGate {
    /// Lets a token in; from then on nobody gets in without one.
    pub fn allow(&self, token: &str, user: &str, access: Access) {
        let entry = (user.to_owned(), access);
        self.tokens.lock().expect("no poison").insert(token.to_owned(), entry);
    }

    /// Refuses every push to refs that start with a prefix.
    pub fn refuse_pushes(&self, prefix: &str, refusal: Refusal) {
        self.rules.lock().expect("no poison").push((prefix.to_owned(), refusal));
    }
}

impl Gate for TokenGate {
    fn enter(&self, _repo: &str, access: Access, secret: Option<&str>) -> Result<String, Response> {
        let tokens = self.tokens.lock().expect("no poison");
        if tokens.is_empty() {
            return Ok("anonymous".to_owned());
        }
        match secret.map(|secret| tokens.get(secret)) {
            Some(Some((user, allowed))) if access == Access::Read || *allowed == Access::Write => {
                Ok(user.clone())
            }
            Some(Some(_)) => Err(Response::text(403, "Write access to repository not granted.")),
            Some(None) | None => Err(unauthorized("Invalid username or token.")),
        }
    }

    fn refuse(
        &self,
        _repo: &str,
        command: &Command3,
        _incoming: &git2::Repository,
        _secret: Option<&str>,
    ) -> Option<Refusal> {
        let rules = self.rules.lock().expect("no poison");
        let over = rules.iter().find(|(prefix, _)| command.refname.starts_with(prefix));
        over.map(|(_, refusal)| refusal.clone())
    }
}

/// The answer to a missing or wrong token.
pub fn unauthorized(words: &str) -> Response {
    Response::text(401, words).with("WWW-Authenticate", "Basic realm=\"GitHub\"")
}

// === impl GitServer ===

impl GitServer {
    /// Starts a server without repositories, open to everybody until a token is allowed.
    pub fn start() -> Self {
        let home = TempDir::new().expect("a temporary folder");
        let gate = Arc::new(TokenGate::default());
        let controls = Arc::new(Controls::default());
        let backend = GitBackend::new(home.path(), Arc::clone(&gate) as Arc<dyn Gate>);
        let server = Server::start(Arc::new(backend), Arc::clone(&controls));
        Self { server, gate, controls, home }
    }

    /// Returns where the repository `owner/name` is to be made, for [`BareRepo`].
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.home.path().join(format!("{name}.git"))
    }

    /// Makes the repository `owner/name` with one commit on `main`.
    pub fn repo(&self, name: &str, files: &[(&str, &str)]) -> Arc<BareRepo> {
        Arc::new(BareRepo::with_files(self.path_of(name), "main", files))
    }

    /// Returns the address that a client clones from.
    pub fn url(&self, name: &str) -> String {
        format!("{}/{name}.git", self.server.url())
    }

    /// Returns the tokens and rules.
    pub fn gate(&self) -> &TokenGate {
        &self.gate
    }

    /// Returns the log, the faults and the write counter.
    pub fn controls(&self) -> &Arc<Controls> {
        &self.controls
    }
}
