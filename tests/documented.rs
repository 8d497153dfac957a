//! Every command that README and `docs/` give for a terminal runs as it stands there, on hosts that answer by those names, but
//! for those that need more than the program.
//!
//! Addresses are reached through a proxy that the environment names; of a line only a port and folders that are an
//! administrator's become the test's own.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use crate::{
    documents,
    service::daemon::LIMIT,
    support::{
        feed::Feed,
        flavor::Flavor,
        github::{GitHub, Merge, Token},
        http::send,
        internet::Internet,
        mesh::MESH,
        repo::{ADA, BareRepo, put},
        scene::{LABELS, TOKEN, releases},
        ssh_server::make_key,
    },
};

/// What lines begin with that need more than the program, and what runs them.
const ELSEWHERE: [(&str, &str); 7] = [
    ("cargo install ", "the program is the one that was built for the tests"),
    ("docker run ", "scripts/container"),
    ("ssh-keyscan ", "scripts/gitea, by a Gitea of that name"),
    ("uplinker run --repo git@", "scripts/gitea"),
    ("curl ", "scripts/gitea, by a Gitea"),
    ("git -C demo/config.git push ", "scripts/gitea"),
    ("export UPLINKER_TOKEN=", "scripts/gitea; here the token is set"),
];
const APP: &str = "12345";

/// Hosts with a repository each, and somebody's terminal.
struct Terminal {
    github: GitHub,
    _others: [GitHub; 2],
    _feed: Feed,
    internet: Internet,
    home: tempfile::TempDir,
}

/// How a line is run.
struct Line {
    text: String,
    /// Where it listens.
    port: Option<u16>,
}

// === impl Terminal ===

impl Terminal {
    fn new() -> Self {
        let home = tempfile::TempDir::new().unwrap();
        let feed = Feed::start(&releases());
        let github = forge(Flavor::DotCom, "acme/mesh-config");
        let target = "version: 1\ntargets:\n  - name: production\n    paths: [\"**\"]\n";
        github.bare("acme/mesh-config").commit(
            "main",
            &ADA,
            "Name the target",
            &[put("uplinker.yaml", target)],
        );
        let gitlab = forge(Flavor::GitLab, "acme/mesh/config");
        let gitea = forge(Flavor::Gitea, "acme/mesh-config");
        gitea.add("robot/mesh-config", |path| BareRepo::with_files(path, "main", MESH));
        gitea.labels("robot/mesh-config", &LABELS);
        let api = github.api().trim_start_matches("http://").parse().unwrap();
        let of = |forge: &GitHub| forge.server().address();
        let internet = Internet::start(&[
            ("github.com", "/", of(&github)),
            ("api.github.com", "/repos/linkerd/", of_feed(&feed)),
            ("api.github.com", "/", api),
            ("gitlab.example.com", "/", of(&gitlab)),
            ("git.example.com", "/", of(&gitea)),
            ("helm.linkerd.io", "/", of_feed(&feed)),
            ("versioncheck.linkerd.io", "/", of_feed(&feed)),
        ]);
        let key = github.app(APP, "mesh-robot");
        let _ = github.install(APP, &["acme/mesh-config"], None);
        let terminal = Self { github, _others: [gitlab, gitea], _feed: feed, internet, home };
        for (path, text) in [
            ("mesh.private-key.pem", &*key),
            ("run/secrets/app.pem", &key),
            ("repositories", "https://github.com/acme/mesh-config\n"),
            ("etc/uplinker/repositories", "https://github.com/acme/mesh-config\n"),
        ] {
            let path = terminal.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        drop(BareRepo::with_files(terminal.path("srv/git/mesh.git"), "main", MESH));
        drop(BareRepo::with_files(terminal.path("src/my-config-repo"), "main", MESH));
        make_key(&terminal.path("deploy-key"));
        terminal
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    /// Prepares a line of a document, or says what runs it.
    fn line(&self, text: &str) -> Result<Line, &'static str> {
        if let Some((_, by)) = ELSEWHERE.iter().find(|(begin, _)| text.starts_with(begin)) {
            return Err(by);
        }
        let own = self.home.path().display();
        let mut text = text.replace("cargo run --release --", "uplinker");
        for folder in ["/srv/", "/etc/uplinker/", "/run/secrets/"] {
            text = text.replace(folder, &format!("{own}{folder}"));
        }
        let port = text.contains("uplinker serve").then(free_port);
        if let Some(port) = port {
            let own = format!("127.0.0.1:{port}");
            text = text.replace("127.0.0.1:8080", ":8080").replace(":8080", &own);
            if !text.contains("--listen") {
                text.push_str(&format!(" --listen {own}"));
            }
        }
        Ok(Line { text: text.replace("UPLINKER_TOKEN=... ", ""), port })
    }

    fn command(&self, line: &Line) -> Command {
        let programs = Path::new(env!("CARGO_BIN_EXE_uplinker")).parent().unwrap().display().to_string();
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
        let mut command = Command::new("bash");
        // It is the program itself that a signal has to reach.
        let exec = if line.port.is_some() { "exec " } else { "" };
        command.args(["-euc", &format!("{exec}{}", line.text)]);
        command.env_clear().current_dir(self.home.path()).stdin(Stdio::null());
        command.env("PATH", path).env("HOME", self.home.path()).env("UPLINKER_HELM", "off");
        command.env("LC_ALL", "C.UTF-8").envs(self.internet.environment());
        if !line.text.contains("--github-app-id") {
            command.env("UPLINKER_TOKEN", TOKEN);
        }
        command
    }

    fn run(&self, line: &Line) -> Output {
        self.command(line).output().unwrap()
    }

    /// Starts what serves, asks it how it is, and ends it. Its first pass comes within minutes, as its interval is long.
    fn serve(&self, line: &Line, port: u16) -> Output {
        let child = self.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let is_well = || {
            let answer = send(([127, 0, 0, 1], port).into(), "GET", "/healthz", &[], b"");
            answer.is_ok_and(|answer| answer.status == 200)
        };
        // Whatever comes, what was started ends with the test.
        let start = Instant::now();
        let mut was_well = is_well();
        while !was_well && start.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(20));
            was_well = is_well();
        }
        terminate(&child);
        let output = child.wait_with_output().unwrap();
        assert!(was_well, "{}: {}", line.text, String::from_utf8_lossy(&output.stderr));
        output
    }
}

fn of_feed(feed: &Feed) -> std::net::SocketAddr {
    feed.server().address()
}

fn forge(flavor: Flavor, repo: &str) -> GitHub {
    let forge = GitHub::start_as(flavor);
    forge.add(repo, |path| BareRepo::with_files(path, "main", MESH));
    forge.token(TOKEN, Token::fine_grained("robot"));
    forge.labels(repo, &LABELS);
    forge
}

/// Finds a port that no other test is given: they get theirs from above.
fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (20_000..30_000).find(is_free).expect("a free port")
}

fn terminate(child: &Child) {
    let done = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(done.success());
}

/// Lists the lines of the blocks for a shell, those that go on in the next joined.
fn lines(document: &str) -> Vec<String> {
    let text = documents::read(document);
    let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    let joined: Vec<String> = blocks.map(|block| block.replace("\\\n", "")).collect();
    let lines = joined.iter().flat_map(|block| block.lines()).map(|line| line.split(" # ").next().unwrap());
    lines
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_for_a_terminal_runs_as_it_stands() {
    let terminal = Terminal::new();
    let mut elsewhere = Vec::new();
    for document in documents::for_users() {
        // There something is to be taken back.
        if document == "docs/promotion.md" {
            let _ = terminal.github.merge("acme/mesh-config", 1, Merge::Commit, "ada", true);
        }
        for text in lines(&document) {
            let line = match terminal.line(&text) {
                Ok(line) => line,
                Err(by) => {
                    elsewhere.push(by);
                    continue;
                }
            };
            let output = match line.port {
                Some(port) => terminal.serve(&line, port),
                None => terminal.run(&line),
            };
            let said = String::from_utf8_lossy(&output.stderr);
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{document}: {text}: {}\n{said}\n{printed}", output.status);
        }
    }
    for (begin, by) in ELSEWHERE {
        assert!(elsewhere.contains(&by), "no document has `{begin}`");
    }
    assert_eq!(terminal.internet.unknown(), Vec::<String>::new());
    let pulls = terminal.github.pulls("acme/mesh-config");
    assert_eq!(pulls.len(), 2, "an upgrade, and its way back");
}
