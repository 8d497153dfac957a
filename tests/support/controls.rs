//! What a test can do to a server: watch its requests, count its writes, step in between, and break things.
//!
//! Rules act on requests that match a method and a pattern; [`Writes`] acts on the n-th request that changes
//! something, whatever it is, so that a test needs no list of them.

use std::{
    process::Child,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{
    http::{Request, Response},
    record,
};

/// Everything that a test holds of a server.
#[derive(Default)]
pub struct Controls {
    pub rules: Rules,
    pub writes: Writes,
    pub log: Log,
}

/// A way to break a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The connection closes before anything is applied.
    DropBefore,
    /// Applied, and the connection closes without an answer.
    DropAfter,
    /// Only so many bytes of the body are read before the connection closes; nothing is applied.
    CutUpload(usize),
    /// Applied; so many bytes of the answer's body are sent before the connection closes.
    CutAnswer(usize),
    /// Applied; so many bytes of the answer's body are sent, then nothing for as long as the client waits.
    Silent(usize),
    /// Nothing is applied and nothing is sent for as long as the client waits.
    Hang,
    /// Applied; the answer's body comes in small parts.
    Slow { bytes: usize, pause: Duration },
    /// Another answer, with nothing applied.
    Answer(Response),
    /// Another answer, although the request was applied.
    AnswerAfter(Response),
}

/// A function that runs in the server's thread.
pub type Callback = Arc<dyn Fn(&Request) + Send + Sync>;

/// What the rules say of one request.
#[derive(Default)]
pub struct Verdict {
    pub callbacks: Vec<Callback>,
    pub fault: Option<Fault>,
}

/// The rules of a server, tried in the order in which they were added.
#[derive(Default)]
pub struct Rules(Mutex<Vec<Rule>>);

struct Rule {
    method: String,
    pattern: String,
    /// Matching requests to let pass first.
    skip: usize,
    /// How often it still acts.
    times: usize,
    act: Act,
}

enum Act {
    Call(Callback),
    Break(Fault),
}

/// What happens to the n-th write.
#[derive(Clone, Copy)]
pub enum WriteFault {
    /// The client is killed before the write is applied.
    KillBefore,
    /// The write is applied, then the client is killed, without an answer.
    KillAfter,
    /// The write is applied and the connection closes without an answer; the client lives.
    LoseAnswer,
    /// The connection closes before the write is applied; the client lives.
    DropBefore,
    /// The write is applied and the answer is a 502.
    BadGatewayAfter,
}

/// The process that a [`WriteFault`] kills.
#[derive(Clone, Default)]
pub struct Victim(Arc<Mutex<Option<Child>>>);

/// Counts the requests that change something, over Git and API together.
#[derive(Default)]
pub struct Writes {
    count: AtomicUsize,
    plans: Mutex<Vec<(usize, WriteFault)>>,
    victim: Victim,
}

/// The requests that a server has seen.
#[derive(Default)]
pub struct Log {
    entries: Mutex<Vec<Entry>>,
    /// Where requests are written for the contract check; set by the server that wants it.
    recorder: Mutex<Option<record::Recorder>>,
}

/// One request as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub method: String,
    /// Path and query.
    pub target: String,
    pub status: Option<u16>,
    /// Who the server took the client for.
    pub user: Option<String>,
    pub bytes_in: usize,
    pub bytes_out: usize,
    /// The request body, where it is JSON.
    pub body: Option<serde_json::Value>,
}

// === impl Rules ===

impl Rules {
    /// Runs a function before the next request that matches is handled.
    ///
    /// `pattern` is matched against path and query as a whole; `*` stands for any text.
    pub fn before(&self, method: &str, pattern: &str, callback: impl Fn(&Request) + Send + Sync + 'static) {
        self.add(method, pattern, 0, 1, Act::Call(Arc::new(callback)));
    }

    /// Runs a function before each request that matches is handled.
    pub fn before_each(
        &self,
        method: &str,
        pattern: &str,
        callback: impl Fn(&Request) + Send + Sync + 'static,
    ) {
        self.add(method, pattern, 0, usize::MAX, Act::Call(Arc::new(callback)));
    }

    /// Breaks the next request that matches.
    pub fn fault(&self, method: &str, pattern: &str, fault: Fault) {
        self.fault_nth(method, pattern, 0, 1, fault);
    }

    /// Breaks `times` requests that match, after letting `skip` of them pass.
    pub fn fault_nth(&self, method: &str, pattern: &str, skip: usize, times: usize, fault: Fault) {
        self.add(method, pattern, skip, times, Act::Break(fault));
    }

    /// Forgets all rules.
    pub fn clear(&self) {
        self.0.lock().expect("no poison").clear();
    }

    fn add(&self, method: &str, pattern: &str, skip: usize, times: usize, act: Act) {
        let rule = Rule { method: method.to_owned(), pattern: pattern.to_owned(), skip, times, act };
        self.0.lock().expect("no poison").push(rule);
    }

    /// Says what becomes of a request, and uses up the rules that act on it.
    pub fn judge(&self, request: &Request) -> Verdict {
        let target = request.target();
        let mut verdict = Verdict::default();
        for rule in self.0.lock().expect("no poison").iter_mut() {
            let hit =
                (rule.method == "*" || rule.method == request.method) && matches(&rule.pattern, &target);
            if !hit || rule.times == 0 {
                continue;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
                continue;
            }
            match &rule.act {
                Act::Call(callback) => verdict.callbacks.push(Arc::clone(callback)),
                Act::Break(_) if verdict.fault.is_some() => continue,
                Act::Break(fault) => verdict.fault = Some(fault.clone()),
            }
            rule.times = rule.times.saturating_sub(1);
        }
        verdict
    }
}

/// Matches a text against a pattern in which `*` stands for any text.
pub fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            rest.is_empty() || (0..=text.len()).any(|i| text.get(i..).is_some_and(|text| matches(rest, text)))
        }),
    }
}

// === impl Victim ===

impl Victim {
    /// Names the process.
    pub fn set(&self, child: Child) {
        *self.0.lock().expect("no poison") = Some(child);
    }

    /// Returns how the process ended, or `None` while it runs.
    pub fn ended(&self) -> std::io::Result<Option<std::process::ExitStatus>> {
        match self.0.lock().expect("no poison").as_mut() {
            Some(child) => child.try_wait(),
            None => Ok(None),
        }
    }

    /// Returns the process id; `None` when there is none or it has ended.
    pub fn pid(&self) -> Option<u32> {
        let mut child = self.0.lock().expect("no poison");
        let child = child.as_mut()?;
        matches!(child.try_wait(), Ok(None)).then(|| child.id())
    }

    /// Ends the process at once and waits until it is gone.
    pub fn kill(&self) {
        if let Some(child) = self.0.lock().expect("no poison").as_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

// === impl Writes ===

impl Writes {
    /// Plans what happens to the n-th write from now on, counted from 1.
    pub fn plan(&self, n: usize, fault: WriteFault) {
        let n = self.count() + n;
        self.plans.lock().expect("no poison").push((n, fault));
    }

    /// Returns how many writes have arrived.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Returns the cell that holds the process to be killed.
    pub fn victim(&self) -> &Victim {
        &self.victim
    }

    /// Forgets what was planned.
    pub fn clear(&self) {
        self.plans.lock().expect("no poison").clear();
    }

    /// Applies a write as planned; `None` when there is no answer.
    pub fn around(&self, apply: impl FnOnce() -> Response) -> Option<Response> {
        let n = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        let planned: Vec<WriteFault> = {
            let plans = self.plans.lock().expect("no poison");
            plans.iter().filter(|(at, _)| *at == n).map(|(_, fault)| *fault).collect()
        };
        for fault in &planned {
            match fault {
                WriteFault::KillBefore => {
                    self.victim.kill();
                    return None;
                }
                WriteFault::DropBefore => return None,
                _ => {}
            }
        }
        let mut response = Some(apply());
        for fault in &planned {
            match fault {
                WriteFault::KillAfter => {
                    self.victim.kill();
                    response = None;
                }
                WriteFault::LoseAnswer => response = None,
                WriteFault::BadGatewayAfter => response = Some(Response::text(502, "Bad Gateway")),
                WriteFault::KillBefore | WriteFault::DropBefore => {}
            }
        }
        response
    }
}

// === impl Log ===

impl Log {
    /// Writes every request from now on to the recorder as well.
    pub fn record_to(&self, recorder: record::Recorder) {
        *self.recorder.lock().expect("no poison") = Some(recorder);
    }

    /// Notes a request; `response` is `None` when none was sent.
    pub fn add(&self, request: &Request, response: Option<&Response>, bytes_in: usize) {
        let entry = Entry {
            method: request.method.clone(),
            target: request.target(),
            status: response.map(|r| r.status),
            user: response.and_then(|r| r.user.clone()),
            bytes_in,
            bytes_out: response.map_or(0, |r| r.body.len()),
            body: serde_json::from_slice(&request.body).ok(),
        };
        if let Some(recorder) = &*self.recorder.lock().expect("no poison") {
            recorder.write(request, response);
        }
        self.entries.lock().expect("no poison").push(entry);
    }

    /// Returns all requests so far, in the order in which they were answered.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().expect("no poison").clone()
    }

    /// Returns the requests so far and forgets them.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.entries.lock().expect("no poison"))
    }

    /// Returns `METHOD target` of every request so far.
    pub fn lines(&self) -> Vec<String> {
        self.entries().iter().map(Entry::line).collect()
    }

    /// Counts the requests of a method whose path and query match.
    pub fn count(&self, method: &str, pattern: &str) -> usize {
        let hit = |e: &&Entry| (method == "*" || e.method == method) && matches(pattern, &e.target);
        self.entries().iter().filter(hit).count()
    }
}

// === impl Entry ===

impl Entry {
    /// Returns `METHOD target`.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }
}
