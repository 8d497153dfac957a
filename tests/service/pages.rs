//! The pages, as a parser of HTML sees them: they say what `uplinker status` says, and nothing of a repository or a forge is
//! more than text in them.

use html5ever::{ParseOpts, parse_document, tendril::TendrilSink as _};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

use super::daemon::{Daemon, over, until};
use crate::support::{
    mesh::{MESH, mesh_and},
    scene::{PLATFORM, REPO, Scene, TOKEN},
    schema::refusal,
};

/// A page and what is in it.
struct Page {
    /// Every element with its attributes, in the order of the page.
    elements: Vec<(String, Vec<(String, String)>)>,
    /// All that is to be read.
    text: String,
}

// === impl Page ===

impl Page {
    /// Reads a page that a browser reads without a guess.
    fn read(html: &str) -> Self {
        let dom = parse_document(RcDom::default(), ParseOpts::default()).one(html);
        assert!(dom.errors.borrow().is_empty(), "{:?}\n{html}", dom.errors.borrow());
        let mut page = Self { elements: Vec::new(), text: String::new() };
        page.walk(&dom.document);
        page
    }

    fn walk(&mut self, node: &Handle) {
        match &node.data {
            NodeData::Text { contents } => self.text.push_str(&contents.borrow()),
            NodeData::Element { name, attrs, .. } => {
                let pair =
                    |attr: &html5ever::Attribute| (attr.name.local.to_string(), attr.value.to_string());
                self.elements.push((name.local.to_string(), attrs.borrow().iter().map(pair).collect()));
            }
            _ => {}
        }
        node.children.borrow().iter().for_each(|child| self.walk(child));
    }

    fn links(&self) -> Vec<&str> {
        let hrefs =
            self.elements.iter().filter(|(name, _)| name == "a").flat_map(|(_, attributes)| attributes);
        hrefs.filter(|(name, _)| name == "href").map(|(_, value)| value.as_str()).collect()
    }

    /// Asserts that it runs nothing, loads nothing from elsewhere, and leads to no address but these.
    fn is_harmless(&self, origin: &str) {
        const KNOWN: [&str; 29] = [
            "html", "head", "meta", "title", "link", "body", "header", "main", "footer", "h1", "h2", "p",
            "span", "strong", "time", "a", "table", "thead", "tbody", "tr", "th", "td", "br", "code", "ul",
            "li", "em", "small", "div",
        ];
        for (name, attributes) in &self.elements {
            assert!(KNOWN.contains(&name.as_str()), "<{name}>");
            for (attribute, value) in attributes {
                assert!(
                    !attribute.starts_with("on") && attribute != "style" && attribute != "src",
                    "{attribute}"
                );
                if attribute == "href" {
                    assert!(value.starts_with('/') || value.starts_with(origin), "{value}");
                }
            }
        }
    }
}

fn page(daemon: &Daemon, path: &str) -> Page {
    let answer = daemon.get(path);
    assert_eq!(answer.status, 200, "{path}");
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    Page::read(&answer.as_text())
}

/// The address of a target's page.
fn target_of(daemon: &Daemon, n: usize) -> String {
    let links = page(daemon, "/").links().into_iter().map(str::to_owned).collect::<Vec<_>>();
    links.into_iter().filter(|link| link.starts_with("/targets/")).nth(n).expect("a target")
}

#[test]
fn the_pages_say_what_status_says() {
    let scene = Scene::new(MESH);
    let daemon = Daemon::settled(&scene);
    let status = scene.command("status").args(["--format", "json"]).done().exits(0).json();
    let told = json(&daemon, "/api/v1/repositories");
    assert_eq!(told["repositories"][0]["status"]["targets"], status["targets"]);
    assert_eq!(told["ready"], true);
    let origin = scene.github.server().url();
    let first = page(&daemon, "/");
    first.is_harmless(&origin);
    let pull = format!("{origin}/{REPO}/pull/1");
    assert!(first.links().contains(&pull.as_str()), "{:?}", first.links());
    for words in ["edge-26.8.2", "1 release, 7 days", "newest release: edge-26.8.3", "default"] {
        assert!(first.text.contains(words), "{words}\n{}", first.text);
    }
    let target = page(&daemon, &target_of(&daemon, 0));
    target.is_harmless(&origin);
    for words in ["linkerd/crds.yaml:", "flux-helm-release", "2026.8.2", "opened: Linkerd"] {
        assert!(target.text.contains(words), "{words}\n{}", target.text);
    }
    for gone in ["/targets/0/default", "/targets/%2e%2e/x", "/api/v1/repositories/0"] {
        assert_eq!(daemon.get(gone).status, 404, "{gone}");
    }
    let style = daemon.get("/style.css").as_text();
    assert!(style.contains("prefers-color-scheme: dark") && style.contains("max-width: 48rem"));
    daemon.running.terminate();
    let _ = daemon.running.done().exits(0);
}

fn json(daemon: &Daemon, path: &str) -> serde_json::Value {
    let answer = daemon.get(path);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{path}");
    let value = answer.as_json();
    assert_eq!(refusal(&value), None, "{path}");
    assert!(!answer.as_text().contains(TOKEN));
    value
}

#[test]
fn the_feed_is_atom_and_the_api_fits_its_schemas() {
    let scene = Scene::new(MESH);
    let daemon = Daemon::start(over(&scene, &[REPO, "acme/gone"]));
    until("both passes", || daemon.passes("success") + daemon.passes("failed") == 2);
    let all = json(&daemon, "/api/v1/repositories");
    let rows = all["repositories"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows[1]["pass"]["failure"].is_string() && rows[1]["status"].is_null(), "{rows:#?}");
    let one = json(&daemon, &format!("/api/v1/repositories/{}", rows[0]["id"].as_str().unwrap()));
    assert!(one["pins"].as_array().unwrap().len() >= 3);
    let events = json(&daemon, "/api/v1/events");
    let kinds: std::collections::BTreeSet<&str> =
        events["events"].as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["failing", "opened"].into());
    let feed = daemon.get("/events.atom").as_text();
    let feed = roxmltree::Document::parse(&feed).unwrap();
    let root = feed.root_element();
    assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2005/Atom"));
    let child = |node: roxmltree::Node<'_, '_>, name: &str| -> String {
        node.children()
            .find(|c| c.has_tag_name(("http://www.w3.org/2005/Atom", name)))
            .unwrap()
            .text()
            .unwrap()
            .to_owned()
    };
    let entries: Vec<_> =
        root.children().filter(|c| c.has_tag_name(("http://www.w3.org/2005/Atom", "entry"))).collect();
    assert_eq!(entries.len(), 2);
    let ids: std::collections::BTreeSet<String> = entries.iter().map(|entry| child(*entry, "id")).collect();
    assert!(ids.len() == 2 && ids.iter().all(|id| id.starts_with("urn:uplinker:event:")));
    for node in entries.iter().chain([&root]) {
        let time = child(*node, "updated");
        assert!(time.ends_with('Z') && time.contains('T'), "{time}");
    }
    let first = page(&daemon, "/");
    assert!(first.text.contains("last pass failed: "), "{}", first.text);
}

#[test]
fn what_a_repository_or_a_forge_says_is_text() {
    const EVIL: &str = "</td></title><script>alert(1)</script><img src=x onerror=y>\"'>{{ 7*7 }}&amp;";
    let config = format!(
        "version: 1\npullRequest: {{title: '{}'}}\n",
        EVIL.replace('\'', "''").replace("{{ 7*7 }}", "")
    );
    let paused = serde_json::json!({"version": 1, "paused": format!("{EVIL}\u{202e}\u{1b}[2J")}).to_string();
    let path = "linkerd/<script>alert(2)</script> \"onmouseover='z'.yaml";
    let crds = MESH[1].1;
    let scene = Scene::new(&mesh_and(&[("uplinker.yaml", &config), (path, crds)]));
    scene.github.repo("acme/paused", &mesh_and(&[("uplinker.yaml", &paused)]));
    scene
        .github
        .repo("acme/wrong", &mesh_and(&[("uplinker.yaml", &format!("\"{}\": 1\n", EVIL.replace('"', "")))]));
    let daemon = Daemon::start(over(&scene, &[REPO, "acme/paused", "acme/wrong"]));
    until("all passes", || daemon.passes("success") + daemon.passes("failed") == 3);
    let origin = scene.github.server().url();
    let first = page(&daemon, "/");
    first.is_harmless(&origin);
    assert!(first.text.contains(&format!("paused ({EVIL}\\u{{202e}}\\u{{1b}}[2J)")), "{}", first.text);
    let mut seen = String::new();
    for n in 0..2 {
        let target = page(&daemon, &target_of(&daemon, n));
        target.is_harmless(&origin);
        seen.push_str(&target.text);
    }
    assert!(seen.contains(path), "{seen}");
    assert!(seen.contains("<script>alert(1)</script><img src=x onerror=y>"), "the title\n{seen}");
    let feed = daemon.get("/events.atom").as_text();
    let feed = roxmltree::Document::parse(&feed).unwrap();
    assert!(feed.descendants().all(|node| node.tag_name().name() != "script"));
    let _ = json(&daemon, "/api/v1/repositories");
    assert!(scene.repo.tip(PLATFORM).is_some());
}
