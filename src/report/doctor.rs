//! What a run will need, and whether it is there.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Format, Style,
    escape::{for_terminal, json as to_json},
    table::Table,
};
use crate::explain::markdown;

/// What `uplinker doctor` looked at.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DoctorReport {
    /// The repository's address, without credentials.
    pub repository: String,
    /// Whether nothing that was looked at would end a run.
    pub healthy: bool,
    /// What was looked at, in this order.
    pub checks: Vec<Check>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: Health,
    /// What was seen.
    pub message: String,
    /// What to do about it.
    pub hints: Vec<String>,
}

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It is fine.
    Ok,
    /// It shows only when it is tried.
    Unknown,
    /// Something is missing, and the rest goes on without it.
    Warning,
    /// A run would end with it.
    Failure,
}

/// `uplinker.doctor/v1`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'r> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'r DoctorReport,
}

// === impl DoctorReport ===

impl DoctorReport {
    /// Sums up what was looked at.
    pub fn new(repository: String, checks: Vec<Check>) -> Self {
        let healthy = checks.iter().all(|check| check.state != Health::Failure);
        Self { repository, healthy, checks }
    }

    /// Returns the report in the style's form.
    pub fn render(&self, style: Style) -> String {
        match style.format {
            Format::Text => self.text(style.color),
            Format::Json => to_json(&Document { schema: "uplinker.doctor/v1", report: self }),
            Format::Markdown => self.markdown(),
        }
    }

    fn text(&self, color: bool) -> String {
        let mut table = Table::new(["state", "check", "found"]);
        for check in &self.checks {
            table.row([check.state.name().to_owned(), check.name.clone(), check.message.clone()]);
        }
        let mut text = table.text(color);
        let hints = self.checks.iter().flat_map(|check| check.hints.iter().map(move |hint| (check, hint)));
        for (n, (check, hint)) in hints.enumerate() {
            let first = if n == 0 { "\n" } else { "" };
            text.push_str(&format!("{first}{}: {}\n", check.name, for_terminal(hint)));
        }
        text
    }

    fn markdown(&self) -> String {
        let mut table = Table::new(["state", "check", "found", "what to do"]);
        for check in &self.checks {
            let hints: Vec<_> = check.hints.iter().map(|hint| markdown::whole(hint)).collect();
            table.row([
                check.state.name().to_owned(),
                markdown::whole(&check.name),
                markdown::whole(&check.message),
                hints.join("; "),
            ]);
        }
        table.markdown()
    }
}

// === impl Health ===

impl Health {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}
