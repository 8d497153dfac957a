//! The daemon's HTTP side, on axum.
//!
//! In: requests of probes, of a Prometheus, of people and of forges, none of them trusted. Out: answers from what the board
//! knows; nothing here asks anything of the outside. Everything is bounded: connections, heads, bodies, time.

use std::{
    fmt, io,
    net::{SocketAddr, TcpListener as StdListener},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::{Semaphore, watch},
    task::JoinHandle,
};

use super::{
    board::Board,
    metrics, page,
    readiness::unready,
    webhook::{self, Hooks, Verdict},
};
use crate::{
    report::EventsReport,
    sys::{clock::Clock, http::Traffic},
};

/// The most connections at once; who comes later waits.
const CONNECTIONS: usize = 128;
/// The longest that a client may take to send the head of a request, also of a further one on the same connection.
const HEAD: Duration = Duration::from_secs(10);
/// The largest head of a request, in bytes.
const HEAD_BYTES: usize = 64 << 10;
/// The longest that an answer may take, the request's body included.
const ANSWER: Duration = Duration::from_secs(20);
/// The longest that requests which are going on may take once the daemon stops.
const FAREWELL: Duration = Duration::from_secs(10);
/// The longest that a connection lasts: a client that does not take its answers is not to keep a seat.
const CONNECTION: Duration = Duration::from_secs(10 * 60);
/// The threads that answer; the passes have their own.
const THREADS: usize = 2;

/// What is shown, and where it comes from.
#[derive(Clone)]
pub struct Site {
    /// What is known.
    pub board: Arc<Board>,
    /// What was counted of our own requests.
    pub traffic: Traffic,
    /// The door for webhooks, where there is a secret.
    pub hooks: Option<Arc<Hooks>>,
}

/// An address that is listened on.
pub struct Listener {
    listener: StdListener,
    address: SocketAddr,
}

/// The site while it is served; it ends in order by [`Served::end`].
#[must_use = "it is to be ended"]
pub struct Served {
    runtime: Runtime,
    stop: watch::Sender<()>,
    accepting: JoinHandle<()>,
}

// === impl Listener ===

impl Listener {
    /// Listens; nothing is answered yet.
    pub fn bind(addresses: &[SocketAddr]) -> io::Result<Self> {
        let listener = StdListener::bind(addresses)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Returns the address, with the port that was chosen where none was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins to answer.
    pub fn serve(self, site: Site) -> io::Result<Served> {
        let runtime =
            Builder::new_multi_thread().worker_threads(THREADS).thread_name("http").enable_all().build()?;
        let inside = runtime.enter();
        let listener = TcpListener::from_std(self.listener)?;
        drop(inside);
        let (stop, stopped) = watch::channel(());
        let accepting = runtime.spawn(accept(listener, router(site), stopped));
        Ok(Served { runtime, stop, accepting })
    }
}

// === impl Served ===

impl Served {
    /// Takes no further connection, and waits a while for the requests that are going on.
    pub fn end(self) {
        drop(self.stop);
        // What it was waiting for has ended, or takes too long: there is nothing to be done about it.
        let _ = self.runtime.block_on(self.accepting);
        self.runtime.shutdown_background();
    }
}

async fn accept(listener: TcpListener, router: Router, mut stopped: watch::Receiver<()>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES);
    loop {
        let seat = tokio::select! {
            seat = Arc::clone(&room).acquire_owned() => seat,
            _ = stopped.changed() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => break,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, or the client is gone again.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        let connection = graceful.watch(server.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // A client that goes away, sends no HTTP, or takes too long is its own affair.
            let _ = tokio::time::timeout(CONNECTION, connection).await;
            drop(seat);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(FAREWELL, graceful.shutdown()).await;
}

fn router(site: Site) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/webhook", post(webhook))
        .route("/", get(index))
        .route("/targets/{id}/{target}", get(target))
        .route("/events.atom", get(events))
        .route(
            "/style.css",
            get(|| async { ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], page::STYLE) }),
        )
        .route("/api/v1/repositories", get(repositories))
        .route("/api/v1/repositories/{id}", get(repository))
        .route("/api/v1/events", get(api_events))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(DefaultBodyLimit::max(webhook::LARGEST))
        .layer(middleware::from_fn(guarded))
        .with_state(Arc::new(site))
}

/// What holds for every answer: it comes in time, it is kept nowhere, and no browser makes anything else of it.
async fn guarded(request: Request, next: Next) -> Response {
    let mut response = match tokio::time::timeout(ANSWER, next.run(request)).await {
        Ok(response) => response,
        Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// No script, no frame, no form, nothing from elsewhere.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

async fn readyz(State(site): State<Arc<Site>>) -> (StatusCode, String) {
    match unready(&site.board.lock(), Clock::System.now()) {
        None => (StatusCode::OK, "ready\n".to_owned()),
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
    }
}

async fn metrics(State(site): State<Arc<Site>>) -> Response {
    let deliveries = site.hooks.as_ref().map(|hooks| hooks.counts()).unwrap_or_default();
    let text = metrics::render(&site.board.lock(), &site.traffic.hosts(), &deliveries, Clock::System.now());
    shown(metrics::CONTENT_TYPE, text)
}

async fn index(State(site): State<Arc<Site>>) -> Response {
    shown("text/html; charset=utf-8", page::index(&site.board.lock(), Clock::System.now()))
}

async fn target(State(site): State<Arc<Site>>, Path((id, target)): Path<(String, String)>) -> Response {
    match page::target(&site.board.lock(), &id, &target, Clock::System.now()) {
        Some(page) => shown("text/html; charset=utf-8", page),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn events(State(site): State<Arc<Site>>) -> Response {
    shown("application/atom+xml; charset=utf-8", page::events(&site.board.lock()))
}

/// A page that does not render is a defect of the program; what it lacks stands in the log.
fn shown(kind: &'static str, page: Result<String, impl fmt::Display>) -> Response {
    match page {
        Ok(page) => ([(header::CONTENT_TYPE, kind)], page).into_response(),
        Err(error) => {
            tracing::error!("cannot write a page: {error:#}; please report this");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

async fn repositories(State(site): State<Arc<Site>>) -> Response {
    let facts = site.board.lock();
    let report = facts.report(unready(&facts, Clock::System.now()).is_none());
    drop(facts);
    json(report.json())
}

async fn repository(State(site): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    let report = site.board.lock().repository(&id);
    report.map_or_else(|| StatusCode::NOT_FOUND.into_response(), |report| json(report.json()))
}

async fn api_events(State(site): State<Arc<Site>>) -> Response {
    let events = site.board.lock().events.iter().rev().cloned().collect();
    json(EventsReport { events }.json())
}

fn json(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// An answer has no words: who may know more looks at the metrics and the log.
async fn webhook(State(site): State<Arc<Site>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let Some(hooks) = &site.hooks else { return StatusCode::NOT_FOUND };
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let verdict = hooks.take(header, &body);
    tracing::debug!(?verdict, "a delivery");
    match verdict {
        Verdict::Taken => StatusCode::ACCEPTED,
        Verdict::Ignored => StatusCode::NO_CONTENT,
        Verdict::Repeated => StatusCode::CONFLICT,
        Verdict::Unknown => StatusCode::NOT_FOUND,
        Verdict::Unproven => StatusCode::UNAUTHORIZED,
        Verdict::Malformed => StatusCode::BAD_REQUEST,
    }
}
