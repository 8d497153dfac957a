//! The usual scene of an end-to-end test: a host with one repository, a release feed, and the program's home.

use std::sync::Arc;

use super::{
    feed::{Feed, Published, release},
    flavor::Flavor,
    github::{GitHub, Pull, Token},
    helm::helm,
    process::{Home, Run},
    repo::BareRepo,
};

/// The repository of the scene.
pub const REPO: &str = "acme/config";
/// The token that the program is given.
pub const TOKEN: &str = "ghs_TheTokenThatNobodyMaySee0123456789";
/// The branch of the first pull request.
pub const PLATFORM: &str = "uplinker/default/platform";
/// The branch of the second.
pub const DATA_PLANE: &str = "uplinker/default/data-plane";

/// The labels of ours, which somebody has made before the usual scene begins.
pub const LABELS: [&str; 3] = ["linkerd: routine", "linkerd: attention", "linkerd: blocked"];

/// A scene; everything in it ends with it.
pub struct Scene {
    pub github: GitHub,
    pub feed: Feed,
    pub home: Home,
    pub repo: Arc<BareRepo>,
    /// Whether the program is given a Helm.
    pub renders: bool,
    /// Which forge the host is.
    pub flavor: Flavor,
}

/// The releases of a plain scene: the pins' own, one in between, and the newest.
pub fn releases() -> Vec<Published> {
    vec![
        release("edge-26.8.1", "2026-08-01T09:00:00Z"),
        release("edge-26.8.2", "2026-08-08T09:00:00Z"),
        release("edge-26.8.3", "2026-08-15T09:00:00Z"),
    ]
}

// === impl Scene ===

impl Scene {
    /// Sets the scene: one commit on `main`, three releases, a workflow's token.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::made(|path| BareRepo::with_files(path, "main", files))
    }

    /// Sets the scene over a repository that the caller makes.
    pub fn made(make: impl FnOnce(std::path::PathBuf) -> BareRepo) -> Self {
        Self::on(Flavor::GitHub, make)
    }

    /// The same on another forge.
    pub fn on(flavor: Flavor, make: impl FnOnce(std::path::PathBuf) -> BareRepo) -> Self {
        let github = GitHub::start_as(flavor);
        let repo = github.add(REPO, make);
        github.token(TOKEN, Token::actions());
        github.labels(REPO, &LABELS);
        Self { github, feed: Feed::start(&releases()), home: Home::new(), repo, renders: false, flavor }
    }

    /// Prepares a command on the scene's repository and feed.
    pub fn command(&self, name: &str) -> Run {
        let run = self.home.run([name, "--repo", &self.github.url(REPO)]);
        let run =
            run.args(self.feed.flags()).args(["--forge", self.flavor.name()]).env("UPLINKER_TOKEN", TOKEN);
        let run = if self.flavor == Flavor::Signing { run.env("UPLINKER_COMMITS", "api") } else { run };
        let run = match self.flavor {
            Flavor::DotCom => run.args(["--github-api-url", &self.github.api()]),
            _ => run,
        };
        if self.renders { run.env("UPLINKER_HELM", helm()) } else { run }
    }

    /// Prepares `run`, with the write counter holding the process.
    pub fn run(&self) -> Run {
        self.command("run").victim(self.github.controls().writes.victim())
    }

    /// Returns the only pull request.
    pub fn only_pull(&self) -> Pull {
        let pulls = self.github.pulls(REPO);
        assert_eq!(pulls.len(), 1, "{pulls:#?}");
        pulls.into_iter().next().expect("one")
    }

    /// Returns what was asked of the host since the last call, as `METHOD target`.
    pub fn requests(&self) -> Vec<String> {
        self.github.controls().log.take().iter().map(super::controls::Entry::line).collect()
    }
}

/// Takes the address of a scene's own servers out of a text, and the hash in a marker that covers them.
pub fn unaddressed(text: &str, address: &str) -> String {
    let hash = regex::Regex::new(r#""basis":\{"inputs":"[0-9a-f]{64}""#).unwrap();
    hash.replace(text, r#""basis":{"inputs":"[ID]""#).replace(address, "[HOST]")
}
