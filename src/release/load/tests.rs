//! The feeds on loopback and from files: what is asked for, what is merged, what a failure costs.

use wiremock::{
    Mock, MockBuilder, ResponseTemplate,
    matchers::{path, query_param, query_param_is_missing},
};

use url::Url;

use super::*;
use crate::{
    release::{Release, helm_index},
    sys::{
        cache::Stored,
        http::loopback::{Loopback, ok},
    },
};

const INDEX: &str = "\
apiVersion: v1
entries:
  linkerd-crds:
  - {version: 2026.8.3, urls: [linkerd-crds-2026.8.3.tgz]}
  - {version: 2026.8.2, urls: [linkerd-crds-2026.8.2.tgz]}
  linkerd-control-plane:
  - {version: 2026.8.2, appVersion: edge-26.8.2, kubeVersion: '>=1.31.0-0', urls: [cp-2026.8.2.tgz]}
  - {version: 1.18.4-edge, appVersion: edge-24.1.1, urls: [cp-1.18.4-edge.tgz]}
";

/// The feeds on a server.
struct Fixture(Loopback);

impl Fixture {
    fn new() -> Self {
        Self(Loopback::new())
    }

    fn on(&self, mock: MockBuilder, answer: ResponseTemplate) {
        self.0.on(mock, u64::MAX, answer);
    }

    /// Serves a feed that answers 304 to whoever holds it.
    fn feed(&self, at: &'static str, body: &str) {
        self.0.feed(|| Mock::given(path(at)), ok(body));
    }

    fn source(&self, at: &str) -> SourceSetting {
        SourceSetting::Url(self.0.url(at))
    }

    fn sources(&self) -> Sources {
        Sources {
            versioncheck: self.source("/version.json"),
            charts: self.source("/index.yaml"),
            releases: self.source("/releases"),
            milestones: SourceSetting::Off,
            mirrors: Vec::new(),
            registries: Default::default(),
            releases_token: None,
        }
    }

    fn load(&self, sources: &Sources, purpose: Purpose) -> Result<Catalog, ReleaseError> {
        let cache = Cache::open(&self.0.folder.path().join("cache")).unwrap();
        load(&self.0.http, Some(&cache), sources, purpose)
    }

    fn asked(&self) -> Vec<String> {
        self.0.requests().iter().map(|r| r.url[url::Position::BeforePath..].to_owned()).collect()
    }

    fn file(&self, name: &str, text: &str) -> SourceSetting {
        let path = self.0.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        SourceSetting::File(path)
    }
}

const RUN: Purpose = Purpose::Run { to: None };

fn published(versions: &[&str]) -> String {
    let entry =
        |v: &&str| format!(r#"{{"tag_name": "{v}", "published_at": "2026-08-21T10:00:00Z", "body": ""}}"#);
    format!("[{}]", versions.iter().map(entry).collect::<Vec<_>>().join(","))
}

fn off() -> Sources {
    let off = SourceSetting::Off;
    Sources {
        versioncheck: off.clone(),
        charts: off.clone(),
        releases: off.clone(),
        milestones: off,
        mirrors: Vec::new(),
        registries: Default::default(),
        releases_token: None,
    }
}

fn get<'a>(catalog: &'a Catalog, version: &str) -> &'a Release {
    catalog.get(version.parse().unwrap()).unwrap()
}

fn state<'a>(catalog: &'a Catalog, feed: &str) -> Option<&'a FeedState> {
    catalog.feed(feed)
}

#[test]
fn a_warm_run_asks_two_conditional_questions() {
    let f = Fixture::new();
    f.feed("/index.yaml", INDEX);
    f.feed("/releases", &published(&["edge-26.8.3", "edge-26.8.2"]));
    let cold = f.load(&f.sources(), RUN).unwrap();
    let warm = f.load(&f.sources(), RUN).unwrap();
    assert_eq!(f.asked(), ["/index.yaml", "/releases?per_page=100"].repeat(2));
    assert_eq!(format!("{cold:?}"), format!("{warm:?}"));

    // Damaged parsed forms are worked out again.
    for entry in std::fs::read_dir(f.0.folder.path().join("cache")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "derived") {
            std::fs::write(path, "{}").unwrap();
        }
    }
    assert_eq!(format!("{:?}", f.load(&f.sources(), RUN).unwrap()), format!("{cold:?}"));
}

#[test]
fn the_feeds_are_merged() {
    let f = Fixture::new();
    f.feed("/index.yaml", INDEX);
    f.feed("/releases", &published(&["edge-26.8.3", "edge-26.6.3", "edge-25.10.4"]));
    let catalog = f.load(&f.sources(), RUN).unwrap();
    let newest = get(&catalog, "edge-26.8.3");
    assert_eq!(newest.charts.keys().collect::<Vec<_>>(), ["linkerd-crds"]);
    assert!(newest.charts["linkerd-crds"].url.starts_with(f.0.url("/").as_str()));
    assert_eq!(newest.milestone.as_deref(), Some("2.20"));
    assert!(newest.published.is_some() && !newest.is_milestone && newest.guidance == Guidance::Unknown);
    assert!(get(&catalog, "edge-26.6.3").is_milestone);
    assert!(matches!(get(&catalog, "edge-25.10.4").guidance, Guidance::NotRecommended { .. }));
    assert_eq!(get(&catalog, "edge-26.8.2").published, None, "only the index knows it");
    let old = catalog.edge_of_chart("linkerd-control-plane", "1.18.4-edge");
    assert_eq!(old, Some("edge-24.1.1".parse().unwrap()));
    assert_eq!(catalog.between("edge-26.6.3".parse().unwrap(), "edge-26.8.3".parse().unwrap()).count(), 2);
}

#[test]
fn the_operators_facts_go_before_the_notes_and_the_notes_before_the_built_in_ones() {
    let f = Fixture::new();
    f.feed(
        "/releases",
        r#"[{"tag_name": "edge-25.10.4", "body": "Overall status: RECOMMENDED"},
        {"tag_name": "edge-25.10.5", "body": "Overall status: RECOMMENDED"}, {"tag_name": "edge-26.12.1"}]"#,
    );
    let text = "version: 1\nguidance: [{release: edge-25.10.5, verdict: caution, note: ours, source: us}]\n\
                milestones: [{name: '2.21', first: edge-26.12.1}]\n";
    let sources =
        Sources { releases: f.source("/releases"), milestones: f.file("facts.yaml", text), ..off() };
    let catalog = f.load(&sources, RUN).unwrap();
    assert!(matches!(get(&catalog, "edge-25.10.4").guidance, Guidance::Recommended { .. }));
    assert!(matches!(get(&catalog, "edge-25.10.5").guidance, Guidance::Caution { .. }));
    assert!(get(&catalog, "edge-26.12.1").is_milestone);

    let bad = Sources { milestones: f.file("facts.yaml", "version: 1\nmilestone: []\n"), ..sources };
    let catalog = f.load(&bad, RUN).unwrap();
    assert!(
        matches!(state(&catalog, "milestones"), Some(FeedState::Failed(why)) if why.contains("milestone"))
    );
    assert_eq!(catalog.milestone_of("edge-26.6.3".parse().unwrap()), Some("2.20"), "the built-in ones stay");
}

/// Serves GitHub's list in three pages, of which the first is new from time to time.
fn serve_pages(f: &Fixture, newest: &[&str]) {
    let next = |n: &str| format!("</releases?per_page=100&page={n}>; rel=\"next\"");
    let page = |n: &str| Mock::given(path("/releases")).and(query_param("page", n));
    let first = || Mock::given(path("/releases")).and(query_param_is_missing("page"));
    f.0.feed(first, ok(&published(newest)).insert_header("link", next("2").as_str()));
    f.on(page("2"), ok(&published(&["edge-25.4.1"])).insert_header("link", next("3").as_str()));
    f.on(page("3"), ok(&published(&["edge-24.1.1"])));
}

#[test]
fn pages_are_read_as_far_as_needed() {
    let f = Fixture::new();
    serve_pages(&f, &["edge-26.8.3"]);
    let sources = Sources { releases: f.source("/releases"), ..off() };
    let asked = |purpose| {
        let before = f.asked().len();
        let count = f.load(&sources, purpose).unwrap().releases.len();
        (count, f.asked()[before..].iter().map(|a| a["/releases?per_page=100".len()..].to_owned()).collect())
    };
    let pages = |pages: &[&str]| -> Vec<String> { pages.iter().map(|p| (*p).to_owned()).collect() };

    assert_eq!(asked(RUN), (2, pages(&["", "&page=2"])), "back to the stops of the required hop");
    assert_eq!(asked(RUN), (2, pages(&[""])), "what is behind a page that stands, stands");
    let to = Purpose::Run { to: Some("edge-24.2.1".parse().unwrap()) };
    assert_eq!(asked(to), (3, pages(&["", "&page=3"])));
    assert_eq!(asked(Purpose::Everything), (3, pages(&[""])));

    let near = Fixture::new();
    serve_pages(&near, &["edge-26.8.3", "edge-25.3.4"]);
    let sources = Sources { releases: near.source("/releases"), ..off() };
    assert_eq!(near.load(&sources, RUN).unwrap().releases.len(), 2);
    assert_eq!(near.asked().len(), 1, "the first page has the stops");
}

#[test]
fn pages_that_were_read_behind_another_first_page_are_asked_for_again() {
    let f = Fixture::new();
    let cache = Cache::open(&f.0.folder.path().join("cache")).unwrap();
    serve_pages(&f, &["edge-26.8.3"]);
    let sources = Sources { releases: f.source("/releases"), ..off() };
    f.load(&sources, Purpose::Everything).unwrap();
    // A run that needs the first page alone has meanwhile found it changed.
    let first = f.0.url("/releases?per_page=100");
    let mut stored = cache.load(first.as_str()).unwrap();
    stored = Stored::new(published(&["edge-26.8.4"]).into_bytes(), stored.headers);
    cache.store(first.as_str(), &stored);
    let before = f.asked().len();
    f.load(&sources, Purpose::Everything).unwrap();
    assert_eq!(f.asked()[before..].len(), 3, "{:?}", &f.asked()[before..]);
}

#[test]
fn what_was_read_before_a_page_failed_counts() {
    let f = Fixture::new();
    let link = "</releases?page=2>; rel=\"next\"";
    f.on(Mock::given(query_param("page", "2")), ResponseTemplate::new(404));
    f.on(Mock::given(path("/releases")), ok(&published(&["edge-26.8.3"])).insert_header("link", link));
    let catalog = f.load(&Sources { releases: f.source("/releases"), ..off() }, RUN).unwrap();
    assert!(get(&catalog, "edge-26.8.3").published.is_some());
    assert!(matches!(state(&catalog, "releases"), Some(FeedState::Failed(why)) if why.contains("404")));
}

#[test]
fn the_next_page_is_not_sought_on_another_host() {
    let (f, other) = (Fixture::new(), Fixture::new());
    let link = format!("<{}>; rel=\"next\"", other.0.url("/releases?page=2"));
    f.on(
        Mock::given(path("/releases")),
        ok(&published(&["edge-26.8.3"])).insert_header("link", link.as_str()),
    );
    let sources = Sources {
        releases: f.source("/releases"),
        releases_token: Some("hunter2".into()),
        charts: f.source("/index.yaml"),
        ..off()
    };
    assert_eq!(f.load(&sources, Purpose::Everything).unwrap().releases.len(), 1);
    assert_eq!(other.asked(), Vec::<String>::new());
    for request in f.0.requests() {
        assert_eq!(request.headers.contains_key("authorization"), request.url.path() == "/releases");
    }
}

#[test]
fn versioncheck_stands_in_for_the_list_of_releases() {
    let f = Fixture::new();
    f.feed("/version.json", r#"{"edge": "edge-26.8.4"}"#);
    f.on(Mock::given(path("/releases")), ResponseTemplate::new(401));
    f.feed("/index.yaml", INDEX);
    let catalog = f.load(&f.sources(), RUN).unwrap();
    assert_eq!(catalog.newest().unwrap().version.to_string(), "edge-26.8.4");
    assert!(matches!(state(&catalog, "releases"), Some(FeedState::Failed(why)) if why.contains("401")));
    assert_eq!(state(&catalog, "versioncheck"), Some(&FeedState::Read));

    let quiet = Sources { releases: SourceSetting::Off, ..f.sources() };
    let catalog = f.load(&quiet, RUN).unwrap();
    assert_eq!(state(&catalog, "releases"), Some(&FeedState::Off));
}

#[test]
fn an_index_in_a_file_is_enough_without_network() {
    let f = Fixture::new();
    let sources = Sources { charts: f.file("index.yaml", INDEX), ..off() };
    let catalog = load(&f.0.http, None, &sources, RUN).unwrap();
    assert_eq!(catalog.releases.len(), 3);
    assert_eq!(f.asked(), Vec::<String>::new());
    assert!(get(&catalog, "edge-26.8.3").charts["linkerd-crds"].url.starts_with("file:///"));
    assert_eq!(catalog.remarks.len(), 4, "each lacks its digest: {:?}", catalog.remarks);
}

#[test]
fn only_when_nothing_tells_a_release_is_it_an_error() {
    let f = Fixture::new();
    assert!(matches!(f.load(&off(), RUN), Err(ReleaseError::AllOff)));

    f.on(Mock::given(path("/index.yaml")), ok("<html>log in</html>"));
    f.on(Mock::given(path("/releases")), ok("{\"message\": \"Moved\"}"));
    let error = f.load(&f.sources(), RUN).unwrap_err();
    let text = error.reasons().join("\n");
    assert!(!error.is_temporary(), "{text}");
    for part in ["is this behind a login?", "list of releases", "version.json: the server answered 404"] {
        assert!(text.contains(part), "{text}");
    }

    let down = Sources { releases: "http://127.0.0.1:1/releases".parse().unwrap(), ..off() };
    assert!(f.load(&down, RUN).unwrap_err().is_temporary());
    let none = Sources { releases: f.file("releases.json", "[]"), ..off() };
    assert!(f.load(&none, RUN).unwrap_err().reasons()[0].contains("names no release"));
}

#[test]
fn a_large_index_is_read_in_time() {
    let mut text = String::from("apiVersion: v1\nentries:\n  linkerd-viz:\n");
    for (month, number) in (1..=12).flat_map(|month| (1..=200).map(move |number| (month, number))) {
        text.push_str(&format!(
            "  - apiVersion: v2\n    appVersion: edge-26.{month}.{number}\n    description: 'a chart of some \
             words, and \n      some more'\n    digest: {}\n    keywords:\n    - service-mesh\n    maintainers:\n    \
             - email: someone@example.com\n      name: Someone\n    urls:\n    - a-{month}-{number}.tgz\n    \
             version: 2026.{month}.{number}\n",
            "7dcbeb53".repeat(8)
        ));
    }
    let address = Url::parse("https://charts.example.com/index.yaml").unwrap();
    let before = std::time::Instant::now();
    let all = helm_index::read(text.as_bytes(), &address).unwrap();
    assert_eq!((all.packages.len(), all.remarks.len()), (2400, 0));
    assert!(before.elapsed() < std::time::Duration::from_secs(5), "{:?}", before.elapsed());
}

#[test]
fn a_feed_file_that_is_missing_is_named() {
    let f = Fixture::new();
    let sources = Sources { charts: SourceSetting::File("/nowhere/index.yaml".into()), ..off() };
    assert!(f.load(&sources, RUN).unwrap_err().reasons()[0].contains("/nowhere/index.yaml"));
}
