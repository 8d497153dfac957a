//! The program as the first process of a container: the kernel has no default action for the signals of that one.
#![cfg(target_os = "linux")]

use std::{
    fs,
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use crate::support::{process::Home, scene::TOKEN};

/// How a process gets to be the first of its own: as root, else as root of its own users.
const WAYS: [&[&str]; 2] = [&["--pid"], &["--user", "--map-root-user", "--pid"]];

/// The program, below the process that made room for it.
struct First(Child);

/// A server that says nothing, and the flags with which it is asked.
fn silent() -> (TcpListener, Vec<String>) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/index.yaml", server.local_addr().unwrap());
    let off = ["--versioncheck-url=off", "--releases-url=off", "--milestones-url=off"].map(str::to_owned);
    let flags = [format!("--charts-url={url}")].into_iter().chain(off).collect();
    (server, flags)
}

// === impl First ===

impl First {
    /// Starts it; `None` where this user may not.
    fn start(home: &Home, arguments: &[String]) -> Option<Self> {
        let unshare = |way: &&[&str]| {
            let mut command = Command::new("unshare");
            command.args(*way).args(["--fork", "--kill-child", "--"]).stdin(Stdio::null());
            command
        };
        let works =
            |way: &&&[&str]| unshare(way).arg("true").output().is_ok_and(|done| done.status.success());
        let way = WAYS.iter().find(works)?;
        let program = unshare(way)
            .arg(env!("CARGO_BIN_EXE_uplinker"))
            .args(arguments)
            .env("XDG_CACHE_HOME", home.cache())
            .env("UPLINKER_TOKEN", TOKEN)
            .env("UPLINKER_HELM", "off")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Some(Self(program.unwrap()))
    }

    fn signal(&self, name: &str) {
        let outside = self.0.id();
        let inside = fs::read_to_string(format!("/proc/{outside}/task/{outside}/children")).unwrap();
        let sent = Command::new("kill").arg(name).arg(inside.trim()).status();
        assert!(sent.unwrap().success());
    }

    fn code(mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

#[test]
fn a_signal_ends_a_command_that_waits() {
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        let (server, flags) = silent();
        let home = Home::new();
        let Some(first) = First::start(&home, &[vec!["releases".to_owned()], flags].concat()) else { return };
        let _waits = server.accept().unwrap();
        first.signal(signal);
        assert_eq!(first.code(), Some(code), "{signal}");
    }
}

#[test]
fn the_second_signal_ends_a_service_at_once() {
    let (server, flags) = silent();
    let home = Home::new();
    let folder = home.path().join("config");
    fs::create_dir(&folder).unwrap();
    let url = format!("file://{}", folder.display());
    let words =
        ["serve", "--listen", "127.0.0.1:0", "--forge", "directory:/nonexistent", &url].map(str::to_owned);
    let Some(first) = First::start(&home, &[words.to_vec(), flags].concat()) else { return };
    let _waits = server.accept().unwrap();
    first.signal("-TERM");
    std::thread::sleep(std::time::Duration::from_millis(300));
    first.signal("-TERM");
    assert_eq!(first.code(), Some(143));
}
