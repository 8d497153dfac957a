//! A release feed on loopback: version.json, the Helm index and GitHub's list of releases.
//!
//! All three are made from one list of [`Published`] releases; they answer conditional requests, and lag behind
//! each other as the real ones do when a release says so.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    charts::Package,
    controls::{Controls, Fault},
    http::{Handler, Request, Response, Server},
    record::Recorder,
};

/// The charts of a release of 2026.
pub const CHARTS: [&str; 5] =
    ["linkerd-crds", "linkerd-control-plane", "linkerd-viz", "linkerd-multicluster", "linkerd2-cni"];

const LAST_MODIFIED: &str = "Sat, 01 Aug 2026 12:00:00 GMT";

/// A release, and how far it has come out.
#[derive(Clone, Debug)]
pub struct Published {
    /// Such as `edge-26.8.3`.
    pub tag: String,
    /// GitHub's publish date; `None` when GitHub does not list the release.
    pub published: Option<String>,
    /// The charts that the index has.
    pub charts: Vec<String>,
    /// The text of the release.
    pub notes: String,
    pub prerelease: bool,
    /// Whether the index names the digests.
    pub digests: bool,
}

/// The feed, listening.
pub struct Feed {
    server: Server,
    content: Arc<Mutex<Content>>,
    controls: Arc<Controls>,
}

#[derive(Default)]
struct Content {
    releases: Vec<Published>,
    milestones: Option<Value>,
    /// The charts that can be fetched; of others there is an entry in the index and no package.
    packages: Vec<Package>,
}

struct Pages(Arc<Mutex<Content>>);

/// Makes a release that is out in every place; `published` is a date such as `2026-08-20T10:00:00Z`.
pub fn release(tag: &str, published: &str) -> Published {
    Published {
        tag: tag.to_owned(),
        published: Some(published.to_owned()),
        charts: CHARTS.map(str::to_owned).to_vec(),
        notes: format!("## What's Changed\n* Something in {tag} by @someone in #1\n"),
        prerelease: false,
        digests: true,
    }
}

// === impl Published ===

impl Published {
    /// The same with other charts in the index.
    pub fn charts(mut self, charts: &[&str]) -> Self {
        self.charts = charts.iter().map(|chart| (*chart).to_owned()).collect();
        self
    }

    /// The same with other notes.
    pub fn notes(mut self, notes: &str) -> Self {
        notes.clone_into(&mut self.notes);
        self
    }

    /// The same, not (yet) listed by GitHub.
    pub fn undated(mut self) -> Self {
        self.published = None;
        self
    }

    /// The same without digests in the index.
    pub fn without_digests(mut self) -> Self {
        self.digests = false;
        self
    }

    /// Returns the numbers of the tag.
    fn triple(&self) -> (u64, u64, u64) {
        let mut numbers = self.tag.trim_start_matches("edge-").split('.').filter_map(|n| n.parse().ok());
        let mut next = || numbers.next().unwrap_or_else(|| panic!("not an edge release: {}", self.tag));
        (next(), next(), next())
    }

    /// Returns the charts' version.
    pub fn chart_version(&self) -> String {
        let (year, month, number) = self.triple();
        format!("20{year}.{month}.{number}")
    }
}

// === impl Feed ===

impl Feed {
    /// Starts a feed with releases.
    pub fn start(releases: &[Published]) -> Self {
        let content = Content { releases: releases.to_vec(), ..Content::default() };
        let content = Arc::new(Mutex::new(content));
        let controls = Arc::new(Controls::default());
        controls.log.record_to(Recorder { forge: "github", prefix: "", below: "/repos/" });
        let server = Server::start(Arc::new(Pages(Arc::clone(&content))), Arc::clone(&controls));
        Self { server, content, controls }
    }

    /// Adds a release, or replaces the one with its tag.
    pub fn publish(&self, release: Published) {
        let mut content = self.content.lock().expect("no poison");
        content.releases.retain(|other| other.tag != release.tag);
        content.releases.push(release);
    }

    /// Serves packages, and names their digests in the index.
    pub fn serve_packages(&self, packages: &[Package]) {
        self.content.lock().expect("no poison").packages = packages.to_vec();
    }

    /// Sets the operator's own milestones.
    pub fn set_milestones(&self, milestones: Value) {
        self.content.lock().expect("no poison").milestones = Some(milestones);
    }

    /// Returns the flags that point the program here.
    pub fn flags(&self) -> Vec<String> {
        let mut flags = vec![
            format!("--versioncheck-url={}", self.versioncheck()),
            format!("--charts-url={}", self.charts()),
            format!("--releases-url={}", self.releases()),
        ];
        let own = self.content.lock().expect("no poison").milestones.is_some();
        flags.push(if own {
            format!("--milestones-url={}/milestones.json", self.server.url())
        } else {
            "--milestones-url=off".to_owned()
        });
        flags
    }

    /// Returns the address of version.json.
    pub fn versioncheck(&self) -> String {
        format!("{}/version.json", self.server.url())
    }

    /// Returns the address of the Helm index.
    pub fn charts(&self) -> String {
        format!("{}/edge/index.yaml", self.server.url())
    }

    /// Returns the address of the list of releases.
    pub fn releases(&self) -> String {
        format!("{}/repos/linkerd/linkerd2/releases", self.server.url())
    }

    /// Returns the server below, for raw requests.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the log and the faults.
    pub fn controls(&self) -> &Arc<Controls> {
        &self.controls
    }

    /// Answers every request of a pattern from now on with something broken.
    pub fn break_always(&self, pattern: &str, fault: Fault) {
        self.controls.rules.fault_nth("GET", pattern, 0, usize::MAX, fault);
    }
}

/// A proxy's sign-in page, where data was expected.
pub fn html() -> Fault {
    let page =
        "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please sign in.</body></html>\n";
    Fault::Answer(
        Response { status: 200, body: page.into(), ..Response::default() }.with("Content-Type", "text/html"),
    )
}

/// An answer of that many bytes.
pub fn huge(bytes: usize) -> Fault {
    let body = vec![b'x'; bytes];
    Fault::Answer(
        Response { status: 200, body, ..Response::default() }.with("Content-Type", "application/json"),
    )
}

/// An answer with that status.
pub fn failing(status: u16) -> Fault {
    Fault::Answer(Response::text(status, "The server is not well."))
}

// === impl Content ===

impl Content {
    fn sorted(&self) -> Vec<&Published> {
        let mut releases: Vec<&Published> = self.releases.iter().collect();
        releases.sort_by_key(|release| std::cmp::Reverse(release.triple()));
        releases
    }

    fn versioncheck(&self) -> String {
        let newest = self.sorted().first().map(|release| release.tag.clone());
        json!({"edge": newest.unwrap_or_default()}).to_string()
    }

    fn index(&self, html: &str) -> String {
        let mut text = String::from("apiVersion: v1\nentries:\n");
        let mut names: Vec<&String> = self.releases.iter().flat_map(|release| &release.charts).collect();
        names.sort();
        names.dedup();
        for chart in names {
            text.push_str(&format!("  {chart}:\n"));
            for release in self.sorted() {
                if release.charts.contains(chart) {
                    text.push_str(&self.entry(html, chart, release));
                }
            }
        }
        text.push_str("generated: \"2026-11-20T21:25:18.853Z\"\n");
        text
    }

    fn entry(&self, html: &str, chart: &str, release: &Published) -> String {
        let version = release.chart_version();
        let root = format!("{html}/edge/");
        let found = self.packages.iter().find(|package| package.name == chart && package.version == version);
        if let Some(package) = found.filter(|_| release.digests) {
            return package.entry(&format!("{root}{}", package.file()));
        }
        let mut text = String::from("  - apiVersion: v2\n");
        // The chart of the CRDs is packaged without it.
        if chart != "linkerd-crds" {
            text.push_str(&format!("    appVersion: {}\n", release.tag));
        }
        // The index is made anew from time to time, so `created` says nothing of the release.
        text.push_str("    created: \"2026-11-20T21:25:18.871141936Z\"\n");
        if release.digests {
            let digest = Sha256::digest(format!("{chart}-{version}"));
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            text.push_str(&format!("    digest: {hex}\n"));
        }
        text.push_str(&format!(
            "    kubeVersion: '>=1.31.0-0'\n    name: {chart}\n    type: application\n    urls:\n    \
             - {root}{chart}-{version}.tgz\n    version: {version}\n"
        ));
        text
    }

    fn page(&self, html: &str, request: &Request) -> Response {
        let asked = |name: &str| request.query_value(name).and_then(|v| v.parse::<usize>().ok());
        let (size, page) = (asked("per_page").unwrap_or(30).clamp(1, 100), asked("page").unwrap_or(1).max(1));
        let all: Vec<Value> =
            self.sorted().iter().filter_map(|release| release_json(html, release)).collect();
        let last = all.len().div_ceil(size).max(1);
        let part: Vec<Value> = all.into_iter().skip((page - 1) * size).take(size).collect();
        let response = Response::json(200, &Value::Array(part));
        if page >= last {
            return response;
        }
        let link = |to: usize, rel: &str| {
            format!("<{html}/repositories/74175805/releases?per_page={size}&page={to}>; rel=\"{rel}\"")
        };
        response.with("Link", format!("{}, {}", link(page + 1, "next"), link(last, "last")))
    }
}

fn release_json(html: &str, release: &Published) -> Option<Value> {
    let published = release.published.as_ref()?;
    Some(json!({
        "url": format!("{html}/repos/linkerd/linkerd2/releases/1"),
        "html_url": format!("https://github.com/linkerd/linkerd2/releases/tag/{}", release.tag),
        "id": 1,
        "node_id": "RE_1",
        "tag_name": release.tag,
        "target_commitish": "main",
        "name": release.tag,
        "draft": false,
        "prerelease": release.prerelease,
        "created_at": published,
        "published_at": published,
        "assets": [],
        "body": release.notes,
    }))
}

// === impl Pages ===

impl Handler for Pages {
    fn handle(&self, request: &Request) -> Response {
        let html = format!("http://{}", request.header("host").unwrap_or("127.0.0.1"));
        let content = self.0.lock().expect("no poison");
        let text = |kind: &str, text: String| {
            let response = Response { status: 200, body: text.into_bytes(), ..Response::default() };
            response.with("Content-Type", kind)
        };
        let response = match request.path.as_str() {
            "/version.json" => text("application/json", content.versioncheck()),
            "/edge/index.yaml" => text("text/yaml", content.index(&html)),
            "/repos/linkerd/linkerd2/releases" | "/repositories/74175805/releases" => {
                content.page(&html, request)
            }
            "/milestones.json" => match &content.milestones {
                Some(value) => Response::json(200, value),
                None => return Response::text(404, "Not Found"),
            },
            path => {
                let file = path.strip_prefix("/edge/").unwrap_or_default();
                let Some(package) = content.packages.iter().find(|package| package.file() == file) else {
                    return Response::text(404, "Not Found");
                };
                let body = package.bytes.clone();
                Response { status: 200, body, ..Response::default() }.with("Content-Type", "application/gzip")
            }
        };
        conditional(request, response)
    }
}

fn conditional(request: &Request, response: Response) -> Response {
    let digest = Sha256::digest(&response.body);
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let etag = format!("\"{hex}\"");
    let known = request.header("if-none-match").is_some_and(|tags| tags.split(", ").any(|tag| tag == etag));
    let mut response = response.with("ETag", etag).with("Last-Modified", LAST_MODIFIED);
    if known {
        response.status = 304;
        response.body.clear();
    }
    response
}
