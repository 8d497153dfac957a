//! The built program as a process of its own: a scrubbed environment, a home that is thrown away, a time limit.
//!
//! [`Home`] is kept between runs, so that a second run finds the first one's cache.

use std::{
    ffi::{OsStr, OsString},
    io::Read,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{controls::Victim, processor::computed};

/// The longest that a run may compute, or do nothing at all, before the test gives up. A busy machine may take as long as
/// it likes.
const LIMIT: Duration = Duration::from_secs(180);

/// A place from which the program is run.
pub struct Home {
    folder: TempDir,
}

/// A run to be started.
#[must_use = "a run does nothing until it is started"]
pub struct Run {
    command: Command,
    victim: Victim,
}

/// A run that has been started.
#[must_use = "a running process has to be waited for"]
pub struct Running {
    victim: Victim,
    stdout: Option<Pipe>,
    stderr: Option<Pipe>,
    line: String,
}

/// What a process has written so far, and who reads it.
struct Pipe {
    text: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

/// What a run left behind.
#[must_use = "how a run ended is to be looked at"]
#[derive(Clone, Debug)]
pub struct Done {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    /// The command line, for failures.
    pub line: String,
}

// === impl Home ===

impl Home {
    /// Makes an empty home.
    pub fn new() -> Self {
        Self { folder: TempDir::new().expect("a temporary folder") }
    }

    /// Makes an empty home some folders below another one, in which a path that leads out of it still ends.
    pub fn deep_in(folder: &Path) -> Self {
        let above = folder.join("a/b/c/d/e");
        std::fs::create_dir_all(&above).expect("folders");
        Self { folder: TempDir::new_in(above).expect("a temporary folder") }
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns where the program keeps its cache by default.
    pub fn cache(&self) -> PathBuf {
        self.path().join(".cache")
    }

    /// Removes the cache, as anybody may at any time.
    pub fn forget(&self) {
        let _ = std::fs::remove_dir_all(self.cache());
    }

    /// Prepares a run of the program; the working folder is the home.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_uplinker"));
        command.args(arguments).env_clear().current_dir(self.path()).stdin(Stdio::null());
        for name in ["PATH", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("HOME", self.path())
            .env("XDG_CACHE_HOME", self.cache())
            .env("TMPDIR", self.path())
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            // To read all of the system's authorities takes half of the processor's time of a run; nothing here needs one.
            .env("SSL_CERT_FILE", "/dev/null")
            // A test that renders names its Helm.
            .env("UPLINKER_HELM", "off");
        Run { command, victim: Victim::default() }
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

// === impl Run ===

impl Run {
    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the working folder.
    pub fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Lets a server's write counter kill this process.
    pub fn victim(mut self, victim: &Victim) -> Self {
        self.victim = victim.clone();
        self
    }

    /// Starts the process.
    pub fn start(mut self) -> Running {
        let words: Vec<OsString> = self.command.get_args().map(OsStr::to_owned).collect();
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let line = format!("uplinker {}", words.join(" "));
        let mut child =
            self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the built program");
        let stdout = child.stdout.take().map(drain);
        let stderr = child.stderr.take().map(drain);
        self.victim.set(child);
        Running { victim: self.victim, stdout, stderr, line }
    }

    /// Runs the process to its end.
    pub fn done(self) -> Done {
        self.start().done()
    }
}

fn drain(mut pipe: impl Read + Send + 'static) -> Pipe {
    let text = Arc::new(Mutex::new(Vec::new()));
    let read = Arc::clone(&text);
    let reader = std::thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(length) = pipe.read(&mut part)
            && length > 0
        {
            read.lock().expect("no poison").extend_from_slice(&part[..length]);
        }
    });
    Pipe { text, reader }
}

// === impl Pipe ===

impl Pipe {
    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().expect("no poison")).into_owned()
    }

    fn whole(self) -> String {
        let _ = self.reader.join();
        let text = self.text.lock().expect("no poison");
        String::from_utf8_lossy(&text).into_owned()
    }
}

// === impl Running ===

impl Running {
    /// Returns the process id; `None` when it has ended.
    pub fn pid(&self) -> Option<u32> {
        self.victim.pid()
    }

    /// Ends the process at once.
    pub fn kill(&self) {
        self.victim.kill();
    }

    /// Asks the process to stop, as a supervisor does.
    pub fn terminate(&self) {
        if let Some(pid) = self.pid() {
            let sent = Command::new("sh").args(["-c", &format!("kill -TERM {pid}")]).status();
            assert!(sent.is_ok_and(|status| status.success()), "cannot signal process {pid}");
        }
    }

    /// Returns what was written to standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.as_ref().map(Pipe::so_far).unwrap_or_default()
    }

    /// Returns where the process listens, once it has said so.
    pub fn address(&self) -> SocketAddr {
        let start = Instant::now();
        loop {
            let told = self.stderr();
            let rest = told.split("listening on http://").nth(1).filter(|rest| rest.contains('\n'));
            if let Some(address) = rest.and_then(|rest| rest.split(['\n', '"']).next()?.parse().ok()) {
                return address;
            }
            assert!(start.elapsed() < LIMIT && self.pid().is_some(), "it does not listen\n{told}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the end; fails the test when it takes too long.
    pub fn done(mut self) -> Done {
        // What it did before is no part of its end: a daemon may have worked for long.
        let before = self.pid().and_then(computed).unwrap_or_default();
        let (mut used, mut since) = (Duration::ZERO, Instant::now());
        let status = loop {
            let now = self.pid().and_then(computed).map_or(used, |now| now.saturating_sub(before));
            if now > used {
                (used, since) = (now, Instant::now());
            }
            match self.victim.ended().expect("a status") {
                Some(status) => break Some(status),
                None if used > LIMIT || since.elapsed() > LIMIT => break None,
                None => std::thread::sleep(Duration::from_millis(3)),
            }
        };
        if status.is_none() {
            self.victim.kill();
        }
        let text = |pipe: Option<Pipe>| pipe.map(Pipe::whole).unwrap_or_default();
        let (stdout, stderr) = (text(self.stdout.take()), text(self.stderr.take()));
        let Some(status) = status else {
            panic!("`{}` did not end: it computed for {used:?}\n{stdout}\n{stderr}", self.line)
        };
        Done { status, stdout, stderr, line: self.line.clone() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed half-way leaves no process behind.
        self.victim.kill();
    }
}

// === impl Done ===

impl Done {
    /// Asserts the exit code.
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    /// Asserts that stdout holds each text.
    pub fn prints(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stdout.contains(text), "stdout lacks `{text}`\n{self}");
        }
        self
    }

    /// Asserts that stderr holds each text.
    pub fn complains(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "stderr lacks `{text}`\n{self}");
        }
        self
    }

    /// Asserts that a secret is nowhere in the output.
    pub fn never_says(self, secret: &str) -> Self {
        assert!(!self.stdout.contains(secret) && !self.stderr.contains(secret), "a secret is shown\n{self}");
        self
    }

    /// Tells whether the process was killed.
    pub fn was_killed(&self) -> bool {
        self.status.code().is_none()
    }

    /// Reads stdout as JSON of a form that has a schema, and checks it against that.
    pub fn json(&self) -> serde_json::Value {
        let value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("stdout is no JSON: {e}\n{self}"));
        if let Some(refusal) = super::schema::refusal(&value) {
            panic!("{refusal}\n{self}");
        }
        value
    }
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, stdout, stderr, line } = self;
        write!(f, "$ {line}\n{status}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

/// Replaces given texts, loopback ports and object ids by names.
pub fn scrub(text: &str, names: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (from, to) in names {
        text = text.replace(from, to);
    }
    let mut parts = text.split("127.0.0.1:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("[HOST]");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    let hex = |c: char| c.is_ascii_hexdigit() && !c.is_ascii_uppercase();
    let mut done = String::new();
    let mut rest = out.as_str();
    while let Some(start) = rest.find(hex) {
        let word = &rest[start..];
        let end = word.find(|c| !hex(c)).unwrap_or(word.len());
        done.push_str(&rest[..start]);
        done.push_str(if matches!(end, 40 | 64) { "[ID]" } else { &word[..end] });
        rest = &word[end..];
    }
    done.push_str(rest);
    done
}
