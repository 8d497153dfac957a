//! A server on loopback and a client with a folder for its cache, for tests of what goes over HTTP.

use wiremock::{MockBuilder, MockServer, Request, Respond, ResponseTemplate, matchers::header_exists};

use super::{Http, Url};

/// The server, and a client that is driven from outside the server's runtime.
pub struct Loopback {
    runtime: tokio::runtime::Runtime,
    server: MockServer,
    pub http: Http,
    pub folder: tempfile::TempDir,
}

impl Loopback {
    pub fn new() -> Self {
        // The server answers from a thread of its own while the client's runtime blocks this one.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = runtime.block_on(MockServer::start());
        Self { runtime, server, http: Http::new(None).unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    /// Answers what matches, up to so many times.
    pub fn on(&self, requests: MockBuilder, times: u64, answer: impl Respond + 'static) {
        let mock = requests.respond_with(answer).up_to_n_times(times);
        self.runtime.block_on(mock.mount(&self.server));
    }

    /// Serves an answer with an `ETag`, and 304 to whoever holds it.
    pub fn feed(&self, requests: impl Fn() -> MockBuilder, answer: ResponseTemplate) {
        self.on(requests().and(header_exists("if-none-match")), u64::MAX, ResponseTemplate::new(304));
        self.on(requests(), u64::MAX, answer.insert_header("etag", "\"v1\""));
    }

    pub fn url(&self, at: &str) -> Url {
        Url::parse(&self.server.uri()).unwrap().join(at).unwrap()
    }

    pub fn requests(&self) -> Vec<Request> {
        self.runtime.block_on(self.server.received_requests()).unwrap()
    }
}

pub fn ok(body: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_string(body)
}
