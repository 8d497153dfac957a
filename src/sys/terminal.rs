//! The terminal: data to standard output, everything else to standard error, colour and progress only where a
//! person looks.
//!
//! In: texts that are safe to print (the caller escapes repository content). Nothing here decides what is said.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Arc, Mutex, PoisonError},
};

use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use super::{
    env::{Environment, NO_COLOR, TERM},
    secrets::{Token, without_userinfo},
};

/// How much is told on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors alone.
    Quiet,
    /// What a person should know.
    Normal,
    /// The steps.
    Verbose,
    /// The details of the steps.
    Debug,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The form of what is told on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line, for what collects logs.
    Json,
}

/// So many tokens are kept out of texts, the operator's own among them, which come first.
const TOKENS: usize = 512;

/// What is never forgotten of them.
const FIRST: usize = 8;

/// The two streams of the process.
pub struct Terminal {
    verbosity: Verbosity,
    log: LogFormat,
    terminal_out: bool,
    color_out: bool,
    color_err: bool,
    progress: bool,
    /// The length of the progress line that stands on the terminal.
    line: Mutex<usize>,
    filter: Filter,
}

/// What every text passes before it is shown.
#[derive(Clone, Default)]
struct Filter {
    /// The tokens that no stream may show.
    tokens: Arc<Mutex<Vec<Token>>>,
    /// Whether a GitHub Actions runner reads along, to which some lines are commands.
    runner: bool,
}

/// Standard error for the log, filtered.
struct LogWriter(Filter);

// === impl Terminal ===

impl Terminal {
    /// Looks at the process's streams.
    pub fn of_process(
        verbosity: Verbosity,
        log: LogFormat,
        color: ColorChoice,
        environment: &Environment,
    ) -> Self {
        let (no_color, dumb) = (environment.get(NO_COLOR).is_some(), environment.get(TERM) == Some("dumb"));
        let colored = |terminal: bool| match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !no_color && !dumb,
        };
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        let for_people = log == LogFormat::Text;
        Self {
            verbosity,
            log,
            terminal_out: out,
            color_out: colored(out),
            color_err: for_people && colored(err),
            progress: for_people && err && !dumb && verbosity == Verbosity::Normal,
            line: Mutex::new(0),
            filter: Filter { runner: environment.in_actions(), ..Filter::default() },
        }
    }

    /// Keeps a token out of everything that is written from now on.
    pub fn hide(&self, token: &Token) {
        let mut tokens = self.filter.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.iter().all(|known| known.expose() != token.expose()) {
            tokens.push(token.clone());
        }
        // A daemon with an App has a new one for each installation every hour; those of days ago have ended.
        if tokens.len() > TOKENS {
            tokens.remove(FIRST);
        }
    }

    /// Returns a text as it may be shown elsewhere too, such as in the summary of a step.
    pub fn filtered(&self, text: &str) -> String {
        self.filter.pass(text)
    }

    /// Tells whether standard output is a terminal.
    pub fn is_terminal_out(&self) -> bool {
        self.terminal_out
    }

    /// Tells whether standard output takes colours.
    pub fn color_out(&self) -> bool {
        self.color_out
    }

    /// Tells whether standard error takes colours.
    pub fn color_err(&self) -> bool {
        self.color_err
    }

    /// Returns how much is told.
    pub fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// Writes data. A reader that has left (`| head`) is no error.
    pub fn data(&self, text: &str) -> io::Result<()> {
        self.clear();
        let mut out = io::stdout().lock();
        match out.write_all(self.filter.pass(text).as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done,
        }
    }

    /// Tells whether results and errors alone are wanted.
    pub fn is_quiet(&self) -> bool {
        self.verbosity == Verbosity::Quiet
    }

    /// Tells whether what is told are events for what collects logs, and no text for people.
    pub fn logs_json(&self) -> bool {
        self.log == LogFormat::Json
    }

    /// Writes lines for the person, unless quiet.
    pub fn note(&self, text: &str) {
        match self.log {
            LogFormat::Json => tracing::info!("{text}"),
            LogFormat::Text if self.verbosity > Verbosity::Quiet => self.error(text),
            LogFormat::Text => {}
        }
    }

    /// Writes lines for the person, however quiet.
    pub fn error(&self, text: &str) {
        if self.logs_json() {
            tracing::error!("{text}");
            return;
        }
        self.clear();
        // Nothing can be told where standard error is gone.
        let _ = writeln!(io::stderr().lock(), "{}", self.filter.pass(text));
    }

    /// Shows what is being done, on one line that the next one replaces; nothing where no person looks.
    pub fn progress(&self, doing: &str) {
        if !self.progress {
            return;
        }
        let shown: String = self.filter.pass(doing).chars().filter(|c| !c.is_control()).take(78).collect();
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let width = shown.chars().count();
        let _ = write!(io::stderr().lock(), "\r{shown}{}", " ".repeat(line.saturating_sub(width)));
        let _ = io::stderr().lock().flush();
        *line = width;
    }

    /// Removes the progress line.
    pub fn clear(&self) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if *line > 0 {
            let _ = write!(io::stderr().lock(), "\r{}\r", " ".repeat(*line));
            *line = 0;
        }
    }

    /// Sends the program's own events to standard error, as far as `-v` asks for them; as JSON also what is noted. Events of
    /// libraries stay out: they may carry headers.
    pub fn install_log(&self) {
        let level = match (self.verbosity, self.log) {
            (Verbosity::Debug, _) => tracing::Level::DEBUG,
            (Verbosity::Verbose, _) | (Verbosity::Normal, LogFormat::Json) => tracing::Level::INFO,
            (Verbosity::Quiet, _) | (Verbosity::Normal, LogFormat::Text) => tracing::Level::WARN,
        };
        let filter = self.filter.clone();
        let events = tracing_subscriber::fmt::layer()
            .with_writer(move || LogWriter(filter.clone()))
            .with_ansi(self.color_err)
            .with_target(false);
        let only_ours = tracing_subscriber::registry().with(Targets::new().with_target("uplinker", level));
        // A second call, as tests make it, finds the first log in place and leaves it.
        let _ = match self.log {
            LogFormat::Text => only_ours.with(events.without_time()).try_init(),
            LogFormat::Json => {
                only_ours.with(events.json().flatten_event(true).with_span_list(false)).try_init()
            }
        };
    }
}

// === impl Filter, LogWriter ===

impl Filter {
    /// Returns the text without tokens, without what stands before `@` in a URL, and without commands for a runner.
    fn pass(&self, text: &str) -> String {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let text = tokens.iter().fold(without_userinfo(text), |text, token| token.redact(&text).into_owned());
        if self.runner { without_commands(&text) } else { text }
    }
}

/// A runner takes `::name::` at the start of a line, and `##[name]` anywhere, for a command: text of a repository in a
/// report could set outputs, mask words of the log, or make errors up.
fn without_commands(text: &str) -> String {
    let line = |line: &str| {
        let rest = line.trim_start();
        let indent = line.len() - rest.len();
        match rest.strip_prefix("::") {
            Some(rest) => format!("{}: :{rest}", line.get(..indent).unwrap_or_default()),
            None => line.to_owned(),
        }
    };
    text.split_inclusive('\n').map(line).collect::<String>().replace("##[", "## [")
}

impl Write for LogWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        // The log writes each event whole, so a token is never split over two calls.
        io::stderr().lock().write_all(self.0.pass(&String::from_utf8_lossy(event)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_credentials_are_cut() {
        let filter = Filter::default();
        filter.tokens.lock().unwrap().push(Token::new("gh_s3cret", "x").unwrap());
        assert_eq!(filter.pass("see https://u:p@h/x with gh_s3cret"), "see https://***@h/x with ***");
        assert_eq!(filter.pass("  ::a::b ##[c]"), "  ::a::b ##[c]");
    }

    #[test]
    fn a_runner_is_given_no_command() {
        let filter = Filter { runner: true, ..Filter::default() };
        let text = "pins\n  ::set-output name=url::x.yaml:3\n\u{a0}::error::y\nz ##[add-mask]a::b\n";
        let safe = "pins\n  : :set-output name=url::x.yaml:3\n\u{a0}: :error::y\nz ## [add-mask]a::b\n";
        assert_eq!(filter.pass(text), safe);
    }
}
