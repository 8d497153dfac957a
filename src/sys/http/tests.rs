//! The client against a server on loopback: conditional requests, limits, retries, redirects, secrets.

use wiremock::{
    Mock, Request, ResponseTemplate,
    matchers::{method, path},
};

use super::{
    loopback::{Loopback, ok},
    *,
};

const SHORT: Duration = Duration::from_millis(300);

/// The client with its cache against the server.
struct Fixture(Loopback);

impl Fixture {
    fn new() -> Self {
        Self(Loopback::new())
    }

    fn on(&self, at: &str, times: u64, answer: ResponseTemplate) {
        self.0.on(Mock::given(method("GET")).and(path(at)), times, answer);
    }

    fn get(&self, at: &str) -> Result<Fetched, HttpError> {
        let cache = Cache::open(self.0.folder.path()).unwrap();
        self.0.http.get(&request(&self.0.url(at)), Some(&cache))
    }

    fn requests(&self) -> Vec<Request> {
        self.0.requests()
    }
}

fn request(url: &Url) -> FeedRequest<'_> {
    FeedRequest { url, accept: "application/json", token: None, limit: 1000, timeout: SHORT }
}

#[test]
fn an_unchanged_feed_is_answered_from_the_cache() {
    let f = Fixture::new();
    let first = ok("{}").insert_header("last-modified", "Thu, 20 Aug 2026");
    f.0.feed(|| Mock::given(path("/feed")), first);
    assert!(!f.get("/feed").unwrap().unchanged);
    let second = f.get("/feed").unwrap();
    assert!(second.unchanged && second.body == b"{}");
    let asked = &f.requests()[1].headers;
    assert_eq!(asked["if-none-match"], "\"v1\"");
    assert_eq!(asked["if-modified-since"], "Thu, 20 Aug 2026");

    std::fs::remove_dir_all(f.0.folder.path()).unwrap();
    assert!(!f.get("/feed").unwrap().unchanged, "a deleted cache is only slower");
    assert_eq!(f.requests().len(), 3);
}

#[test]
fn a_damaged_cache_entry_is_fetched_anew() {
    let f = Fixture::new();
    f.on("/feed", 9, ok("{}").insert_header("etag", "\"v1\""));
    f.get("/feed").unwrap();
    for entry in std::fs::read_dir(f.0.folder.path()).unwrap() {
        std::fs::write(entry.unwrap().path(), "{\"format\":1").unwrap();
    }
    assert_eq!(f.get("/feed").unwrap().body, b"{}");
    assert!(!f.requests()[1].headers.contains_key("if-none-match"));
}

#[test]
fn a_failing_server_is_asked_once_more() {
    let f = Fixture::new();
    f.on("/flaky", 1, ResponseTemplate::new(502));
    f.on("/flaky", 1, ok("{}"));
    assert_eq!(f.get("/flaky").unwrap().body, b"{}");
    f.on("/down", 9, ResponseTemplate::new(503));
    let error = f.get("/down").unwrap_err();
    assert!(error.is_temporary() && error.to_string().contains("503"), "{error}");
    assert_eq!(f.requests().len(), 4);
}

#[test]
fn a_short_pause_is_waited_for_and_a_long_one_is_not() {
    let f = Fixture::new();
    f.on("/short", 1, ResponseTemplate::new(429).insert_header("retry-after", "1"));
    f.on("/short", 1, ok("{}"));
    let before = std::time::Instant::now();
    f.get("/short").unwrap();
    assert!(before.elapsed() >= Duration::from_secs(1));

    f.on("/long", 9, ResponseTemplate::new(429).insert_header("retry-after", "3600"));
    f.on("/github", 9, ResponseTemplate::new(403).insert_header("x-ratelimit-remaining", "0"));
    assert!(f.get("/long").unwrap_err().to_string().contains("3600 s"));
    assert!(f.get("/github").unwrap_err().is_temporary());
    assert_eq!(f.requests().len(), 4, "neither is asked again");
}

#[test]
fn a_refusal_is_final_and_says_what_to_look_at() {
    let f = Fixture::new();
    f.on("/secret", 9, ResponseTemplate::new(401));
    f.on("/gone", 9, ResponseTemplate::new(404));
    let error = f.get("/secret").unwrap_err();
    assert!(!error.is_temporary() && error.to_string().contains("token"), "{error}");
    assert!(f.get("/gone").unwrap_err().to_string().contains("check the address"));
    assert_eq!(f.requests().len(), 2);
}

#[test]
fn size_and_time_are_bounded() {
    let f = Fixture::new();
    f.on("/large", 9, ok(&"x".repeat(1001)));
    f.on("/full", 9, ok(&"x".repeat(1000)));
    f.on("/slow", 9, ok("{}").set_delay(Duration::from_secs(5)));
    assert!(matches!(f.get("/large"), Err(HttpError::TooLarge { limit: 1000, .. })));
    assert_eq!(f.get("/full").unwrap().body.len(), 1000);
    let before = std::time::Instant::now();
    assert!(matches!(f.get("/slow"), Err(HttpError::Timeout { .. })));
    assert!(before.elapsed() < Duration::from_secs(3));
}

#[test]
fn a_body_without_end_stops_at_the_ceiling() {
    let server = Raw::start(|stream| {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let _ = std::io::Write::write_all(stream, head.as_bytes());
        while std::io::Write::write_all(stream, b"10\r\n0123456789abcdef\r\n").is_ok() {}
    });
    let http = Http::new(None).unwrap();
    let error = http.get(&request(&server.url), None).unwrap_err();
    assert!(matches!(error, HttpError::TooLarge { .. }), "{error}");
}

#[test]
fn a_body_that_breaks_off_is_an_error_and_is_not_cached() {
    let server = Raw::start(|stream| {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\nETag: \"v\"\r\n\r\nentries:\n";
        let _ = std::io::Write::write_all(stream, answer.as_bytes());
    });
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path()).unwrap();
    let error = Http::new(None).unwrap().get(&request(&server.url), Some(&cache)).unwrap_err();
    assert!(error.is_temporary(), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_web_page_is_recognised_by_its_content() {
    let f = Fixture::new();
    let page =
        ok("\u{feff}\n <!DOCTYPE html><title>Log in</title>").insert_header("content-type", "text/yaml");
    f.on("/feed", 9, page);
    let error = f.get("/feed").unwrap_err();
    assert!(error.to_string().ends_with("got an HTML page; is this behind a login?"), "{error}");
}

#[test]
fn a_token_goes_to_its_own_host_only() {
    let (first, second) = (Fixture::new(), Fixture::new());
    second.on("/there", 9, ok("{}"));
    let away = ResponseTemplate::new(302).insert_header("location", second.0.url("/there").as_str());
    first.on("/here", 9, away);
    let token = SecretString::from("hunter2");
    let url = first.0.url("/here");
    let asked = FeedRequest { token: Some(&token), ..request(&url) };
    assert_eq!(first.0.http.get(&asked, None).unwrap().body, b"{}");
    assert_eq!(first.requests()[0].headers["authorization"], "Bearer hunter2");
    assert!(!second.requests()[0].headers.contains_key("authorization"));
    assert!(!format!("{asked:?}").contains("hunter2"));
}

#[test]
fn a_token_is_not_sent_in_plain_text_over_a_network() {
    let keeps = |text| keeps_secrets(&Url::parse(text).unwrap());
    assert!(keeps("https://api.github.com/") && keeps("http://127.0.0.1:8080/") && keeps("http://[::1]/"));
    assert!(!keeps("http://mirror.example.com/") && !keeps("http://127.0.0.1.example.com/"));
    // An address of this machine that is not its loopback.
    let f = Fixture::new();
    f.on("/here", 9, ok("{}"));
    let mut url = f.0.url("/here");
    url.set_host(Some("0.0.0.0")).unwrap();
    let token = SecretString::from("hunter2");
    let asked = FeedRequest { token: Some(&token), ..request(&url) };
    assert_eq!(f.0.http.get(&asked, None).unwrap().body, b"{}");
    assert!(!f.requests()[0].headers.contains_key("authorization"));
}

#[test]
fn redirects_end() {
    let f = Fixture::new();
    f.on("/loop", 99, ResponseTemplate::new(302).insert_header("location", "/loop"));
    let error = f.get("/loop").unwrap_err();
    assert!(
        matches!(error, HttpError::Redirect { .. }) && error.to_string().contains("too often"),
        "{error}"
    );
    assert!(f.requests().len() <= REDIRECTS + 2);
}

#[test]
fn a_redirect_does_not_leave_https() {
    let url = |text| Url::parse(text).unwrap();
    let chain = [url("https://example.com/"), url("https://cdn.example.com/")];
    assert!(is_downgrade(&url("http://cdn.example.com/x"), &chain));
    assert!(!is_downgrade(&url("https://cdn.example.com/x"), &chain));
    assert!(!is_downgrade(&url("http://127.0.0.1/x"), &[url("http://127.0.0.1/")]));
}

#[test]
fn errors_show_no_credentials() {
    let url = Url::parse("http://me:hunter2@127.0.0.1:1/feed?sig=hunter2").unwrap();
    let error = Http::new(None).unwrap().get(&request(&url), None).unwrap_err();
    assert!(error.is_temporary());
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
}

#[test]
fn files_are_read_and_other_schemes_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a feed.yaml");
    std::fs::write(&file, "entries: {}").unwrap();
    let http = Http::new(None).unwrap();
    let url = Url::from_file_path(&file).unwrap();
    assert_eq!(http.get(&request(&url), None).unwrap().body, b"entries: {}");
    let ftp = Url::parse("ftp://example.com/x").unwrap();
    assert!(matches!(http.get(&request(&ftp), None), Err(HttpError::Scheme { .. })));
    let missing = Url::from_file_path(folder.path().join("none")).unwrap();
    assert!(http.get(&request(&missing), None).unwrap_err().to_string().contains("none"));
}

#[test]
fn the_next_page_is_found_in_the_link_header() {
    let link = "<https://api.example.com/r?page=1>; rel=\"prev\", </r?page=3>; rel=\"next\"";
    assert_eq!(next_link(link), Some("/r?page=3"));
    assert_eq!(next_link("<https://api.example.com/r?page=1>; rel=\"last\""), None);
    assert_eq!(next_link("rubbish"), None);
}

/// A server that writes bytes which no HTTP library would.
struct Raw {
    url: Url,
}

impl Raw {
    fn start(answer: fn(&mut std::net::TcpStream)) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/feed", listener.local_addr().unwrap())).unwrap();
        std::thread::spawn(move || {
            // The first attempt and its retry.
            for stream in listener.incoming().take(2) {
                let Ok(mut stream) = stream else { return };
                let _ = std::io::Read::read(&mut stream, &mut [0; 2048]);
                answer(&mut stream);
            }
        });
        Self { url }
    }
}
