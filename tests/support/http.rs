//! A small HTTP/1.1 server on loopback, shared by every server of the tests.
//!
//! In: a [`Handler`] and its [`Controls`]. Out: a listener on a free port that ends with the value. It reads whole
//! requests (also chunked ones), then lets the controls decide what becomes of the handler's answer.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use super::controls::{Controls, Fault, Verdict};
use wire::{bad, read_body, read_head, write_part, write_response, write_slowly};

pub use wire::{read_request, write_request};

mod wire;

/// A request, with its body read to the end.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub method: String,
    /// The path as sent, percent-encoding and all.
    pub path: String,
    /// What follows the `?`; empty when there is none.
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Who the handler took the client for; for the log alone.
    pub user: Option<String>,
}

/// What a server does with a request.
pub trait Handler: Send + Sync + 'static {
    /// Answers a request.
    fn handle(&self, request: &Request) -> Response;
    /// Tells whether the request would change something, so that writes can be counted.
    fn is_write(&self, _request: &Request) -> bool {
        false
    }
}

/// Changes a request into the one that it stands for, before anybody sees it.
pub type Takes = Box<dyn Fn(&mut Request) + Send + Sync>;

/// A listening server; it stops when it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    handler: Arc<dyn Handler>,
    controls: Arc<Controls>,
    takes: Takes,
    /// The connections that are open, each with its thread.
    open: Mutex<BTreeMap<u64, (TcpStream, JoinHandle<()>)>>,
}

// === impl Request ===

impl Request {
    /// Returns the first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Returns path and query as they were sent.
    pub fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    /// Returns the decoded value of a query parameter.
    pub fn query_value(&self, name: &str) -> Option<String> {
        url::form_urlencoded::parse(self.query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Returns the user and the secret of the `Authorization` header, whatever its scheme.
    pub fn credentials(&self) -> Option<(String, String)> {
        let (scheme, value) = self.header("authorization")?.split_once(' ')?;
        if scheme.eq_ignore_ascii_case("basic") {
            let text = String::from_utf8(base64(value.trim())?).ok()?;
            let (user, secret) = text.split_once(':')?;
            return Some((user.to_owned(), secret.to_owned()));
        }
        Some((String::new(), value.trim().to_owned()))
    }
}

// === impl Response ===

impl Response {
    /// An answer with a status and a text.
    pub fn text(status: u16, text: impl Into<String>) -> Self {
        Self { status, body: text.into().into_bytes(), ..Self::default() }.with("Content-Type", "text/plain")
    }

    /// An answer in JSON.
    pub fn json(status: u16, value: &serde_json::Value) -> Self {
        Self { status, body: value.to_string().into_bytes(), ..Self::default() }
            .with("Content-Type", "application/json; charset=utf-8")
    }

    /// The same with one more header.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Returns the first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Reads the body as text.
    pub fn as_text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Reads the body as JSON; `null` when it is none.
    pub fn as_json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

// === impl Server ===

impl Server {
    /// Listens on a free port of 127.0.0.1.
    pub fn start(handler: Arc<dyn Handler>, controls: Arc<Controls>) -> Self {
        Self::start_taking(handler, controls, Box::new(|_| {}))
    }

    /// The same, where requests stand for others.
    pub fn start_taking(handler: Arc<dyn Handler>, controls: Arc<Controls>, takes: Takes) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("the address of a bound listener");
        let shared =
            Shared { stop: AtomicBool::new(false), handler, controls, takes, open: Mutex::default() };
        let shared = Arc::new(shared);
        let acceptor = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.accept(&listener)
        });
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// Returns `127.0.0.1:port`.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns `http://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the acceptor out of `accept`.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        let open = std::mem::take(&mut *self.shared.open.lock().expect("no poison"));
        for (socket, _) in open.values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        for (_, worker) in open.into_values() {
            let _ = worker.join();
        }
    }
}

// === impl Shared ===

impl Shared {
    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for number in 0.. {
            let Ok((socket, _)) = listener.accept() else { return };
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            let Ok(copy) = socket.try_clone() else { continue };
            // Held until the thread is noted: it takes itself out.
            let mut open = self.open.lock().expect("no poison");
            let shared = Arc::clone(&self);
            let worker = std::thread::spawn(move || {
                // A client that goes away is a part of many tests.
                let _ = shared.converse(&socket);
                let _ = socket.shutdown(Shutdown::Both);
                shared.open.lock().expect("no poison").remove(&number);
            });
            open.insert(number, (copy, worker));
        }
    }

    fn converse(&self, socket: &TcpStream) -> io::Result<()> {
        socket.set_nodelay(true)?;
        let mut reader = BufReader::new(socket);
        while !self.stop.load(Ordering::SeqCst) {
            let Some((mut request, framing)) = read_head(&mut reader)? else { return Ok(()) };
            (self.takes)(&mut request);
            let close = request.header("connection").is_some_and(|v| v.eq_ignore_ascii_case("close"));
            let verdict = self.controls.rules.judge(&request);
            if request.header("expect").is_some_and(|v| v.eq_ignore_ascii_case("100-continue")) {
                (&mut &*socket).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            if let Some(Fault::CutUpload(bytes)) = verdict.fault {
                let mut part = vec![0; bytes];
                let _ = reader.read_exact(&mut part);
                self.controls.log.add(&request, None, bytes);
                return Ok(());
            }
            request.body = read_body(&mut reader, &framing)?;
            if !self.answer(socket, &request, verdict)? || close {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Answers one request; `false` when the connection is to be closed.
    fn answer(&self, socket: &TcpStream, request: &Request, verdict: Verdict) -> io::Result<bool> {
        for callback in &verdict.callbacks {
            callback(request);
        }
        let fault = match verdict.fault {
            Some(Fault::DropBefore) => {
                self.controls.log.add(request, None, request.body.len());
                return Ok(false);
            }
            Some(Fault::Hang) => {
                self.controls.log.add(request, None, request.body.len());
                wait_for_the_end(socket);
                return Ok(false);
            }
            Some(Fault::Answer(response)) => {
                self.controls.log.add(request, Some(&response), request.body.len());
                return write_response(socket, request, &response).map(|()| true);
            }
            other => other,
        };
        let response = if self.handler.is_write(request) {
            self.controls.writes.around(|| self.handler.handle(request))
        } else {
            Some(self.handler.handle(request))
        };
        self.controls.log.add(request, response.as_ref(), request.body.len());
        let Some(response) = response else { return Ok(false) };
        match fault {
            None => write_response(socket, request, &response).map(|()| true),
            Some(Fault::AnswerAfter(other)) => write_response(socket, request, &other).map(|()| true),
            Some(Fault::CutAnswer(bytes)) => {
                write_part(socket, request, &response, bytes)?;
                Ok(false)
            }
            Some(Fault::Silent(bytes)) => {
                write_part(socket, request, &response, bytes)?;
                wait_for_the_end(socket);
                Ok(false)
            }
            Some(Fault::Slow { bytes, pause }) => {
                write_slowly(socket, request, &response, bytes, pause, &self.stop)?;
                Ok(true)
            }
            // The others were dealt with before.
            Some(_) => Ok(false),
        }
    }
}

/// Returns when the client hangs up or the server is dropped, which shuts the socket down. What the client sends
/// until then gets no answer: it may have enough for its next request.
fn wait_for_the_end(mut socket: &TcpStream) {
    let _ = io::copy(&mut socket, &mut io::sink());
}

/// Decodes standard base64; `None` when it is none.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(((bits >> count) & 0xff) as u8);
        }
    }
    Some(out)
}

/// Sends one request on a connection of its own and reads the answer to its end.
pub fn send(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Response> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(Duration::from_secs(20)))?;
    let own =
        [("Host", &*address.to_string()), ("Connection", "close")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    let given = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: own.into_iter().chain(given).collect(),
        body: body.to_vec(),
    };
    write_request(&mut socket, &request)?;
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server hung up without an answer"));
    }
    let status = line.split_whitespace().nth(1).and_then(|s| s.parse().ok());
    let mut response =
        Response { status: status.ok_or_else(|| bad("no status line"))?, ..Response::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        response.headers.push((name.to_owned(), value.trim().to_owned()));
    }
    if let Some(length) = response.header("content-length").and_then(|v| v.parse::<usize>().ok())
        && method != "HEAD"
    {
        response.body.resize(length, 0);
        reader.read_exact(&mut response.body)?;
    }
    Ok(response)
}
