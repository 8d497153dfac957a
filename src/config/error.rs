//! Mistakes in a configuration file: every one of them, each with its place and its hint.

use std::{fmt, ops::Range};

use crate::{report::for_terminal, yaml};

/// Every mistake in one configuration file; its author can fix them all in one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    /// The file, or files where two compete.
    pub path: String,
    /// Its text, for showing the lines; empty where there is none to show.
    pub text: String,
    /// The mistakes, ordered by position.
    pub errors: Vec<ConfigError>,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The bytes that are wrong.
    pub span: Range<usize>,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The key, such as `policy.soak`; empty for the file as a whole.
    pub key: String,
    /// What is wrong.
    pub reason: String,
    /// What to write instead; empty where nothing can be said.
    pub hint: String,
}

/// The mistakes while they are collected.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<Mistake>);

#[derive(Debug)]
struct Mistake {
    span: Range<usize>,
    key: String,
    reason: String,
    hint: String,
}

// === impl Mistakes ===

impl Mistakes {
    /// Adds a mistake.
    pub(super) fn add(
        &mut self,
        span: Range<usize>,
        key: impl Into<String>,
        reason: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.0.push(Mistake { span, key: key.into(), reason: reason.into(), hint: hint.into() });
    }

    /// Orders the mistakes and gives each its line and column.
    pub(super) fn into_errors(mut self, path: &str, text: &str) -> ConfigErrors {
        self.0.sort_by_key(|m| m.span.start);
        let placed = |m: Mistake| {
            let (line, column) = yaml::position(text, m.span.start);
            ConfigError { line, column, span: m.span, key: m.key, reason: m.reason, hint: m.hint }
        };
        let errors = self.0.into_iter().map(placed).collect();
        ConfigErrors { path: path.to_owned(), text: text.to_owned(), errors }
    }
}

// === impl ConfigErrors ===

impl ConfigErrors {
    /// One mistake of the file as a whole, without a line to show.
    pub(super) fn of_file(path: &str, reason: impl Into<String>, hint: impl Into<String>) -> Self {
        let mut mistakes = Mistakes::default();
        mistakes.add(0..0, "", reason, hint);
        mistakes.into_errors(path, "")
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.errors.iter().enumerate() {
            if n > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}", self.path)?;
            if !self.text.is_empty() {
                write!(f, ":{}:{}", error.line, error.column)?;
            }
            // A quoted scalar may hold escapes, which must not reach a terminal or a log.
            write!(f, ": {}", for_terminal(&error.reason))?;
            if !error.hint.is_empty() {
                write!(f, "; {}", for_terminal(&error.hint))?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
