//! OpenSSH's own server on loopback, with keys of its own: what a client meets that talks SSH.
//!
//! Debian: `openssh-server`. It runs as the user who runs the tests, who is also the only one to log in.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// The longest that a server may take to listen.
const LIMIT: Duration = Duration::from_secs(30);

/// A server; it ends with this value.
pub struct SshServer {
    server: Child,
    agent: Child,
    port: u16,
    user: String,
    folder: TempDir,
}

// === impl SshServer ===

impl SshServer {
    /// Starts a server that knows one key, and an agent that holds it.
    pub fn start() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let place = folder.path().to_owned();
        let at = |name: &str| place.join(name);
        for name in ["host", "key", "other"] {
            make_key(&at(name));
        }
        fs::copy(at("key.pub"), at("authorized_keys")).expect("the list of keys");
        let user = said(Command::new("id").arg("-un"));
        separate();
        let (server, port) = serve(folder.path());
        let agent = Command::new("ssh-agent")
            .args(["-D", "-a"])
            .arg(at("agent"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("ssh-agent (Debian: openssh-client)");
        let started = Self { server, agent, port, user, folder };
        // The socket is there before anybody listens on it.
        wait(|| UnixStream::connect(started.agent_socket()).is_ok());
        let added =
            Command::new("ssh-add").arg("-q").arg(at("key")).env("SSH_AUTH_SOCK", at("agent")).status();
        assert!(added.is_ok_and(|status| status.success()), "the agent takes the key");
        started
    }

    /// Returns the address of a repository.
    pub fn url(&self, repository: &Path) -> String {
        format!("ssh://{}@127.0.0.1:{}{}", self.user, self.port, repository.display())
    }

    /// Returns the private key that may log in.
    pub fn key(&self) -> PathBuf {
        self.folder.path().join("key")
    }

    /// Returns a private key that the server does not know.
    pub fn unknown_key(&self) -> PathBuf {
        self.folder.path().join("other")
    }

    /// Returns the socket of the agent that holds the key.
    pub fn agent_socket(&self) -> PathBuf {
        self.folder.path().join("agent")
    }

    /// Returns the line of `known_hosts` that names this server.
    pub fn known_host(&self) -> String {
        self.line("host.pub")
    }

    /// Returns a line that names this server with a key that is not its own.
    pub fn false_host(&self) -> String {
        self.line("other.pub")
    }

    fn line(&self, key: &str) -> String {
        let key = fs::read_to_string(self.folder.path().join(key)).expect("a public key");
        let key: Vec<&str> = key.split_whitespace().take(2).collect();
        format!("[127.0.0.1]:{} {}\n", self.port, key.join(" "))
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        for child in [&mut self.server, &mut self.agent] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn make_key(path: &Path) {
    let made =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(path).status();
    assert!(made.is_ok_and(|status| status.success()), "ssh-keygen makes a key (Debian: openssh-client)");
}

fn said(command: &mut Command) -> String {
    let output = command.output().expect("a program of every system");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// A server that root starts wants this empty folder, which the system makes when it starts one itself.
fn separate() {
    if said(Command::new("id").arg("-u")) == "0" {
        fs::create_dir_all("/run/sshd").expect("sshd's empty folder");
        fs::set_permissions("/run/sshd", fs::Permissions::from_mode(0o755)).expect("its mode");
    }
}

/// Starts the server on a port that was free a moment ago, and on another where somebody took that one.
fn serve(folder: &Path) -> (Child, u16) {
    let program = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"]
        .into_iter()
        .find(|p| Path::new(p).exists());
    let program = program.expect("these tests need OpenSSH's server; Debian: apt-get install openssh-server");
    for _ in 0..5 {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let port = free.local_addr().expect("its address").port();
        drop(free);
        fs::write(folder.join("config"), config(folder, port)).expect("its configuration");
        let mut server = Command::new(program)
            .args(["-D", "-e", "-f"])
            .arg(folder.join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("log")).expect("its log"))
            .spawn()
            .expect("sshd is started");
        let ended = |server: &mut Child| server.try_wait().is_ok_and(|status| status.is_some());
        wait(|| TcpStream::connect(("127.0.0.1", port)).is_ok() || ended(&mut server));
        if !ended(&mut server) {
            return (server, port);
        }
    }
    panic!("sshd does not start: {}", fs::read_to_string(folder.join("log")).unwrap_or_default());
}

fn config(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized_keys\n\
         PidFile none\nStrictModes no\nUsePAM no\nUseDNS no\nPermitRootLogin prohibit-password\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nPrintMotd no\nMaxStartups 100\n\
         SetEnv GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null\n"
    )
}

fn wait(mut until: impl FnMut() -> bool) {
    let start = Instant::now();
    while !until() {
        assert!(start.elapsed() < LIMIT, "OpenSSH does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
}
