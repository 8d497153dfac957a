//! A daemon on a scene, and how to ask it.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use crate::support::{
    http::{Response, send},
    process::{Run, Running},
    scene::{REPO, Scene, TOKEN},
};

/// The longest that a test waits for the daemon to get somewhere.
pub const LIMIT: Duration = Duration::from_secs(60);

/// A daemon that listens on loopback.
pub struct Daemon {
    pub running: Running,
    pub address: SocketAddr,
}

/// Prepares the daemon over the scene's repository; its first passes are spread over six seconds.
pub fn prepared(scene: &Scene) -> Run {
    over(scene, &[REPO])
}

/// Prepares it over several.
pub fn over(scene: &Scene, names: &[&str]) -> Run {
    let urls: Vec<String> = names.iter().map(|name| scene.github.url(name)).collect();
    let run = scene.home.run(["serve", "--interval", "1m", "--listen", "127.0.0.1:0", "--forge", "github"]);
    run.args(urls).args(scene.feed.flags()).env("UPLINKER_TOKEN", TOKEN)
}

/// Waits until something is so.
pub fn until(what: &str, so: impl Fn() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < LIMIT, "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

// === impl Daemon ===

impl Daemon {
    /// Starts it, and waits until it listens.
    pub fn start(run: Run) -> Self {
        let running = run.start();
        let address = running.address();
        Self { running, address }
    }

    /// Starts it over the scene's repository, and waits for the first pass.
    pub fn settled(scene: &Scene) -> Self {
        let daemon = Self::start(prepared(scene));
        until("the first pass", || daemon.passes("success") == 1);
        daemon
    }

    /// Asks for a page.
    pub fn get(&self, path: &str) -> Response {
        self.ask("GET", path, &[], b"")
    }

    /// Asks with any method.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        send(self.address, method, path, headers, body).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// The value of a metric; `None` where it is not there.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let text = self.get("/metrics").as_text();
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// The passes that ended so.
    pub fn passes(&self, result: &str) -> u64 {
        self.metric(&format!("uplinker_passes_total{{result=\"{result}\"}}")).unwrap_or_default() as u64
    }
}
