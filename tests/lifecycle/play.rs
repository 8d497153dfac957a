//! What every test here does: run the program, look at what it asked for, and at what is there afterwards.

use std::collections::BTreeMap;

use serde_json::Value;

use super::FORGE;
use crate::support::{
    controls::Entry,
    flavor::Flavor,
    github::{Level, Pull, Status, Token},
    process::{Done, Run},
    repo::{ADA, BareRepo, put},
    scene::{DATA_PLANE, PLATFORM, REPO, Scene, TOKEN},
};

// Named by its path since `tests/forges.rs` names this file by its own.
#[path = "requests.rs"]
mod requests;

pub use requests::*;

/// Whether the forge is another one than GitHub: for what GitHub alone has, or says in words of its own.
pub fn is_elsewhere() -> bool {
    !FORGE.is_github()
}

/// How many targets are many, on GitHub: what grows with their number is the same elsewhere.
pub const TARGETS: usize = if FORGE.is_github() { 30 } else { 6 };

/// The name of the last of [`clusters`] with so many.
pub fn last() -> String {
    format!("c{}", TARGETS - 1)
}

/// The time, in seconds since 1970.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// The label of a pull request whose charts were not rendered.
pub const ATTENTION: &str = "linkerd: attention";

fn chart(name: &str, version: &str, more: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: {name}\n  namespace: linkerd\n\
         spec:\n{more}  chart:\n    spec:\n      chart: {name}\n      version: {version} # moved by pull request\n\
         \x20     sourceRef: {{kind: HelmRepository, name: linkerd-edge, namespace: flux-system}}\n"
    )
}

const SOURCE: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata:\n  name: linkerd-edge\n  \
                      namespace: flux-system\nspec:\n  interval: 1h\n  url: https://helm.linkerd.io/edge\n";

fn deployment(release: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  selector:\n    \
         matchLabels: {{app: web}}\n  template:\n    metadata:\n      labels: {{app: web}}\n      annotations:\n        \
         config.linkerd.io/proxy-version: {release}\n    spec:\n      containers: [{{name: web, image: shop/web:1}}]\n"
    )
}

/// The files of a cluster at a release, below a folder.
pub fn cluster(folder: &str, number: u32) -> Vec<(String, String)> {
    let version = format!("2026.8.{number}");
    vec![
        (format!("{folder}control-plane.yaml"), {
            chart("linkerd-control-plane", &version, "  dependsOn:\n    - name: linkerd-crds\n")
        }),
        (format!("{folder}crds.yaml"), chart("linkerd-crds", &version, "")),
        (format!("{folder}sources.yaml"), SOURCE.to_owned()),
        (format!("{folder}web.yaml"), deployment(&format!("edge-26.8.{number}"))),
    ]
}

/// Clusters `c0`, `c1` and so on, each a target of its own, whose proxies are left alone.
pub fn clusters(number: usize) -> Play {
    let mut files: Vec<_> = (0..number).flat_map(|n| cluster(&format!("c{n}/"), 2)).collect();
    let targets: String = (0..number).map(|n| format!("  - name: c{n}\n    paths: [c{n}]\n")).collect();
    let config = format!("version: 1\ndataPlane:\n  pins: ignore\ntargets:\n{targets}");
    files.push(("uplinker.yaml".to_owned(), config));
    Play::with(&files)
}

pub type Files = BTreeMap<String, Vec<u8>>;

/// Replaces a text in some files; each must have it.
pub fn replaced(files: &Files, paths: &[&str], from: &str, to: &str) -> Files {
    let mut files = files.clone();
    for path in paths {
        let text = String::from_utf8(files[*path].clone()).unwrap();
        assert!(text.contains(from), "{path} lacks {from}:\n{text}");
        files.insert((*path).to_owned(), text.replace(from, to).into_bytes());
    }
    files
}

/// The files of the platform stage.
pub const CHARTS: [&str; 2] = ["control-plane.yaml", "crds.yaml"];

/// A scene and how it is looked at.
pub struct Play {
    pub scene: Scene,
}

/// One run of the program.
pub struct Pass {
    pub done: Done,
    /// What it asked the host, with commit ids replaced.
    pub asked: Vec<String>,
    pub entries: Vec<Entry>,
    /// What it asked the feeds.
    pub feeds: Vec<String>,
}

/// A pull request that is expected to be there.
pub struct Expected<'a> {
    pub number: u64,
    pub branch: &'a str,
    pub base: &'a str,
    pub title: &'a str,
    pub target: &'a str,
    pub release: &'a str,
    /// The whole tree.
    pub files: &'a Files,
    pub parents: &'a [git2::Oid],
}

/// Takes out of a plan what a run does not make again where the open pull request would become what it is.
fn without_kept(mut plan: Value, run: &Value) -> Value {
    let of = |row: &Value| (row["target"].clone(), row["stage"].clone());
    let rows = || run["pull_requests"].as_array().unwrap().iter();
    let kept: Vec<_> =
        rows().filter(|row| row["content"].is_null() && row["branch"].is_string()).map(of).collect();
    for list in ["findings", "changes"] {
        plan[list].as_array_mut().unwrap().retain(|row| !kept.contains(&of(row)));
    }
    for row in plan["pull_requests"].as_array_mut().unwrap().iter_mut().filter(|row| kept.contains(&of(row)))
    {
        (row["body"], row["content"]) = (Value::Null, Value::Null);
    }
    plan
}

// === impl Play ===

impl Play {
    /// A cluster at edge-26.8.2; edge-26.8.3 is out.
    pub fn new() -> Self {
        Self::with(&cluster("", 2))
    }

    /// The same with a configuration.
    pub fn configured(config: &str) -> Self {
        let mut files = cluster("", 2);
        files.push(("uplinker.yaml".to_owned(), config.to_owned()));
        Self::with(&files)
    }

    /// A repository with files.
    pub fn with(files: &[(String, String)]) -> Self {
        let mut files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
        files.push(("docs/notes.md", "Nothing about versions.\n"));
        Self { scene: Scene::on(FORGE, |path| BareRepo::with_files(path, "main", &files)) }
    }

    /// The usual scene, after the first run has opened its pull request.
    pub fn opened() -> Self {
        Self::new().begun()
    }

    /// Lets the first run open its pull request.
    pub fn begun(self) -> Self {
        self.run().exits(0).prints(&["opened http://"]);
        self
    }

    /// One run.
    pub fn run(&self) -> Pass {
        self.pass(self.scene.run())
    }

    /// One run of the given command.
    pub fn pass(&self, run: Run) -> Pass {
        self.scene.requests();
        self.scene.feed.controls().log.take();
        let done = run.done();
        let entries = self.scene.github.controls().log.take();
        let asked: Vec<String> = entries.iter().map(|e| without_ids(&e.line())).collect();
        let feeds = self.scene.feed.controls().log.take().iter().map(Entry::line).collect();
        Pass { done: done.never_says(TOKEN), asked, entries, feeds }
    }

    /// Everything on the host that a run could change.
    pub fn world(&self) -> String {
        let mut statuses: Vec<Status> = Vec::new();
        let pulls = self.scene.github.pulls(REPO);
        self.scene.github.settings(REPO, |repo| statuses.clone_from(&repo.statuses));
        format!("{:#?}\n{pulls:#?}\n{statuses:#?}", self.scene.repo.refs())
    }

    /// A second run changes nothing, and a plan decides the same, writes nothing and says whether there is anything.
    pub fn settles(&self, code: i32) {
        let before = self.world();
        let writes = self.scene.github.controls().writes.count();
        let again = self.pass(self.scene.run().args(["--format", "json"])).exits(code);
        assert_eq!(self.scene.github.controls().writes.count(), writes, "{}\n{:#?}", again.done, again.asked);
        assert!(!again.asked.iter().any(|line| line.contains("receive-pack")), "{:#?}", again.asked);
        assert_eq!(self.world(), before);
        self.plans_like(&again.done, code);
        assert_eq!(self.world(), before);
    }

    /// A plan decides as the run did; it also says what a run does not make again.
    pub fn plans_like(&self, run: &Done, code: i32) {
        let plan = self.pass(self.scene.command("plan").args(["--format", "json", "--exit-code"]));
        let reads = |line: &&String| {
            line.starts_with("GET ") || line.ends_with("/git-upload-pack") || line.ends_with("/graphql")
        };
        assert!(plan.asked.iter().all(|line| reads(&line)), "{:#?}", plan.asked);
        assert!(!plan.asked.iter().any(|line| line.contains("receive-pack")), "{:#?}", plan.asked);
        if !run.stdout.is_empty() {
            let (run, planned) = (run.json(), without_kept(plan.done.json(), &run.json()));
            for key in [
                "repository",
                "base",
                "base_commit",
                "decision",
                "pins",
                "skipped",
                "findings",
                "changes",
                "pull_requests",
            ] {
                assert_eq!(planned[key], run[key], "`{key}` differs");
            }
        }
        let pulls = plan.done.json()["pull_requests"].clone();
        let proposes = pulls.as_array().unwrap().iter().any(|p| !p["branch"].is_null());
        let expected = match (code, proposes) {
            (0 | 1, true) => 10,
            (1, false) => 0,
            (code, _) => code,
        };
        plan.exits(expected);
    }

    /// Looks at everything of a pull request of ours that is open.
    pub fn expect(&self, expected: &Expected<'_>) -> Pull {
        let (pull, repo) = (self.scene.github.pull(REPO, expected.number), &self.scene.repo);
        assert!(pull.open && pull.merged_at.is_none(), "{pull:#?}");
        assert_eq!((pull.title.as_str(), pull.base_ref.as_str()), (expected.title, expected.base));
        assert_eq!(
            (pull.head_ref.as_str(), Some(pull.head_sha)),
            (expected.branch, repo.tip(expected.branch))
        );
        assert_same_files(&repo.files(expected.branch), expected.files);
        assert_eq!(repo.parents(expected.branch), expected.parents);

        let marker = marker(&pull);
        let message = repo.message(expected.branch);
        let trailer = |key: &str| trailers(&message, key);
        assert_eq!(trailer("Linkerd-Version"), [expected.release]);
        assert_eq!(trailer("Uplinker-Tree"), [repo.tree_id(expected.branch).to_string()]);
        assert_eq!(trailer("Uplinker-Plan"), [marker["fingerprint"].as_str().unwrap()]);
        let stage = expected.branch.rsplit('/').next().unwrap();
        assert_eq!(
            (&marker["target"], &marker["stage"], &marker["release"], &marker["head"]),
            (
                &Value::from(expected.target),
                &Value::from(stage),
                &Value::from(expected.release),
                &Value::from(pull.head_sha.to_string())
            )
        );
        for flag in ["closing", "declined", "person"] {
            assert!(marker.get(flag).is_none(), "{marker}");
        }
        pull
    }

    /// The platform's pull request of the usual scene: from edge-26.8.2 to another, on a base with these files.
    pub fn expect_platform(&self, number: u64, release: u32, base: &Files, parents: &[git2::Oid]) -> Pull {
        let files = replaced(base, &CHARTS, "2026.8.2", &format!("2026.8.{release}"));
        self.expect(&Expected {
            number,
            branch: PLATFORM,
            base: "main",
            title: &format!("Linkerd edge-26.8.2 → edge-26.8.{release} (default, platform)"),
            target: "default",
            release: &format!("edge-26.8.{release}"),
            files: &files,
            parents,
        })
    }

    /// The data plane's pull request of the usual scene, from edge-26.8.2 to edge-26.8.3.
    pub fn expect_data_plane(&self, number: u64) -> Pull {
        let files = replaced(&self.files("main"), &["web.yaml"], "edge-26.8.2", "edge-26.8.3");
        self.expect(&Expected {
            number,
            branch: DATA_PLANE,
            base: "main",
            title: "Linkerd edge-26.8.2 → edge-26.8.3 (default, data-plane)",
            target: "default",
            release: "edge-26.8.3",
            files: &files,
            parents: &[self.tip("main")],
        })
    }

    pub fn files(&self, rev: &str) -> Files {
        self.scene.repo.files(rev)
    }

    pub fn tip(&self, branch: &str) -> git2::Oid {
        self.scene.repo.tip(branch).unwrap_or_else(|| panic!("no branch {branch}"))
    }

    pub fn pull(&self, number: u64) -> Pull {
        self.scene.github.pull(REPO, number)
    }

    pub fn body(&self, number: u64) -> String {
        self.pull(number).body.unwrap_or_default()
    }

    /// The states of the statuses of a branch's tip, oldest first.
    pub fn statuses(&self, branch: &str) -> Vec<(String, String)> {
        let all = self.scene.github.statuses(REPO, self.tip(branch));
        all.into_iter().map(|s| (s.context, s.state)).collect()
    }

    /// A person commits to a branch.
    pub fn commit(&self, branch: &str, path: &str, text: &str) -> git2::Oid {
        self.scene.repo.commit(branch, &ADA, "By hand", &[put(path, text)])
    }

    /// A person replaces a text in a file of a branch.
    pub fn replace(&self, branch: &str, path: &str, from: &str, to: &str) -> git2::Oid {
        let files = replaced(&self.files(branch), &[path], from, to);
        self.commit(branch, path, std::str::from_utf8(&files[path]).unwrap())
    }

    /// Somebody sets a status on the tip of a branch, a minute ago.
    pub fn says(&self, branch: &str, context: &str, state: &str) {
        self.says_of(self.tip(branch), context, state, 1);
    }

    /// The same on a commit, so many minutes ago.
    pub fn says_of(&self, commit: git2::Oid, context: &str, state: &str, minutes: i64) {
        self.scene.github.settings(REPO, |repo| {
            repo.statuses.push(Status {
                id: 7,
                sha: commit.to_string(),
                state: state.to_owned(),
                context: context.to_owned(),
                description: Some("reconciliation succeeded".to_owned()),
                target_url: None,
                creator: "flux".to_owned(),
                at: now() - 60 * minutes,
            });
        });
    }

    /// The token may read what is said of commits.
    pub fn reads_gates(&self) {
        let token = Token::actions().having("checks", Level::Read).having("deployments", Level::Read);
        self.scene.github.token(TOKEN, token);
    }

    /// A release comes out.
    pub fn publish(&self, number: u32) {
        let day = format!("2026-08-{}T09:00:00Z", 12 + number);
        self.scene.feed.publish(crate::support::feed::release(&format!("edge-26.8.{number}"), &day));
    }
}

// === impl Pass ===

impl Pass {
    /// Asserts what was asked of the host, exactly; each part is one or more lines, as GitHub is asked.
    pub fn asks(self, parts: &[&str]) -> Self {
        let signs = FORGE == Flavor::Signing;
        let parts =
            parts.iter().map(|part| if signs { part.replace(PUSH, SIGNED_PUSH) } else { (*part).to_owned() });
        let parts: Vec<String> = parts.collect();
        let lines = parts.iter().flat_map(|part| part.lines());
        let mut lines: Vec<String> = lines.flat_map(|line| FORGE.lines(line)).collect();
        let mut asked = self.asked.clone();
        if !FORGE.is_github() {
            // Where a title is written, a forge that has drafts by their title is asked for it once more.
            [&mut lines, &mut asked].into_iter().for_each(Vec::dedup);
            asked.iter_mut().for_each(|line| *line = FORGE.without_numbers(line));
        }
        assert_eq!(asked, lines, "asked:\n{asked:#?}\n{}", self.done);
        self
    }

    pub fn exits(mut self, code: i32) -> Self {
        self.done = self.done.exits(code);
        self
    }

    pub fn prints(mut self, texts: &[&str]) -> Self {
        let texts: Vec<String> = texts.iter().map(|text| FORGE.words(text)).collect();
        self.done = self.done.prints(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        self
    }

    pub fn complains(mut self, texts: &[&str]) -> Self {
        let texts: Vec<String> = texts.iter().map(|text| FORGE.words(text)).collect();
        self.done = self.done.complains(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        self
    }

    /// A run that found nothing new: within the budget, over all servers.
    pub fn stays_warm(self) -> Self {
        let all = self.asked.len() + self.feeds.len();
        assert!(all <= 4, "{all} requests: {:#?} {:#?}", self.asked, self.feeds);
        let reads = |line: &String| line.starts_with("GET ") && !line.contains("receive-pack");
        assert!(self.asked.iter().all(reads), "{:#?}", self.asked);
        self
    }

    /// The bodies sent with one kind of request.
    pub fn sent(&self, line: &str) -> Vec<Value> {
        let line = FORGE.lines(line).pop().unwrap_or_default();
        let hits = self.entries.iter().filter(|e| without_ids(&e.line()) == line);
        hits.map(|e| FORGE.sent(&e.line(), e.body.clone().unwrap_or_default())).collect()
    }
}

/// The marker of a pull request.
pub fn marker(pull: &Pull) -> Value {
    let body = pull.body.as_deref().unwrap_or_default();
    let line = body.trim_end().lines().last().unwrap_or_default().to_owned();
    let json = line.strip_prefix("<!-- uplinker:v1 ").and_then(|l| l.strip_suffix(" -->"));
    serde_json::from_str(json.unwrap_or_else(|| panic!("no marker ends the body:\n{body}"))).unwrap()
}

/// The values of a trailer.
pub fn trailers(message: &str, key: &str) -> Vec<String> {
    let start = format!("{key}: ");
    message.lines().filter_map(|line| line.strip_prefix(&start)).map(str::to_owned).collect()
}

/// Replaces object ids.
pub fn without_ids(text: &str) -> String {
    crate::support::process::scrub(text, &[])
}

pub fn assert_same_files(seen: &Files, expected: &Files) {
    let text = |files: &Files| -> BTreeMap<String, String> {
        files.iter().map(|(p, b)| (p.clone(), String::from_utf8_lossy(b).into_owned())).collect()
    };
    assert_eq!(text(seen), text(expected));
}

pub fn success() -> Vec<(String, String)> {
    vec![("uplinker/verify".to_owned(), "success".to_owned())]
}

pub fn failure() -> Vec<(String, String)> {
    vec![("uplinker/verify".to_owned(), "failure".to_owned())]
}
