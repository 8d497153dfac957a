//! Where every target stands, and what comes next.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Format, Style, date,
    escape::{for_terminal, json as to_json},
    plural,
    table::Table,
};
use crate::{explain::markdown, linkerd::EdgeVersion, pins::Stage};

/// Where every target of a repository stands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatusReport {
    /// The repository's address, without credentials.
    pub repository: String,
    /// The base branch.
    pub base: String,
    /// Its tip.
    pub base_commit: String,
    /// The newest release that Linkerd does not advise against.
    pub newest: Option<EdgeVersion>,
    /// A row for each stage of each target.
    pub targets: Vec<StatusRow>,
    /// What could not be looked at, and why.
    pub notes: Vec<String>,
}

/// Where a stage of a target stands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatusRow {
    /// The target.
    pub target: String,
    /// The stage.
    pub stage: Stage,
    /// The release that all of it is at; where its pins differ, the oldest.
    pub release: Option<EdgeVersion>,
    /// Since when, by the history of the base branch.
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// How far that is behind the newest release.
    pub behind: Option<Behind>,
    /// The release that it goes to next.
    pub next: Option<EdgeVersion>,
    /// What that waits for, and until when; none where it is due.
    pub waits: Option<String>,
    /// When that ends, where it is known.
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
    /// The open pull request.
    pub pull_request: Option<OpenPull>,
}

/// How far a release is behind another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Behind {
    /// In releases.
    pub releases: usize,
    /// In days between the dates of the two, where both are known.
    pub days: Option<i64>,
}

/// A pull request that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenPull {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub url: String,
    /// The release that it goes to.
    pub release: Option<EdgeVersion>,
}

/// `uplinker.status/v1`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'r> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'r StatusReport,
}

const HEAD: [&str; 6] = ["target", "stage", "release", "since", "behind", "next"];

// === impl StatusReport ===

impl StatusReport {
    /// Returns the report in the style's form.
    pub fn render(&self, style: Style) -> String {
        match style.format {
            Format::Text => self.text(style.color),
            Format::Json => to_json(&Document { schema: "uplinker.status/v1", report: self }),
            Format::Markdown => self.markdown(),
        }
    }

    fn text(&self, color: bool) -> String {
        let mut table = Table::new(HEAD);
        self.targets.iter().for_each(|row| table.row(row.cells(false)));
        let notes = self.notes.iter().map(|note| format!("\nnote: {}\n", for_terminal(note)));
        table.text(color) + &notes.collect::<String>()
    }

    pub(super) fn markdown(&self) -> String {
        let mut table = Table::new(HEAD);
        self.targets.iter().for_each(|row| table.row(row.cells(true)));
        let notes = self.notes.iter().map(|note| format!("\n- note: {}\n", markdown::whole(note)));
        table.markdown() + &notes.collect::<String>()
    }
}

// === impl StatusRow ===

impl StatusRow {
    /// The cells of a table; in Markdown a pull request is a link.
    fn cells(&self, in_markdown: bool) -> [String; 6] {
        let shown = |text: String| if in_markdown { markdown::whole(&text) } else { text };
        let open = self.pull_request.as_ref().map(|pull| match in_markdown {
            true => format!("[#{}]({})", pull.number, pull.url),
            false => pull.url.clone(),
        });
        let due = || self.next.map(|next| format!("{next} is due"));
        let next = match (open, &self.waits) {
            (Some(open), None) => format!("{} in {open}", shown(self.release_of_pull())),
            (Some(open), Some(waits)) => format!("{}; {open} is open", shown(waits.clone())),
            (None, Some(waits)) => shown(waits.clone()),
            (None, None) => shown(due().unwrap_or_else(|| "-".to_owned())),
        };
        let or_dash = |text: Option<String>| shown(text.unwrap_or_else(|| "-".to_owned()));
        [
            shown(self.target.clone()),
            self.stage.name().to_owned(),
            or_dash(self.release.map(|release| release.to_string())),
            or_dash(self.since.map(date)),
            or_dash(self.behind.as_ref().map(Behind::words)),
            next,
        ]
    }

    fn release_of_pull(&self) -> String {
        let release = self.pull_request.as_ref().and_then(|pull| pull.release).or(self.next);
        release.map_or_else(|| "a change".to_owned(), |release| release.to_string())
    }
}

// === impl Behind ===

impl Behind {
    /// Returns it in words.
    pub fn words(&self) -> String {
        match (self.releases, self.days) {
            (0, _) => "current".to_owned(),
            (releases, None) => plural(releases, "release"),
            (releases, Some(days)) => {
                format!(
                    "{}, {}",
                    plural(releases, "release"),
                    plural(usize::try_from(days).unwrap_or_default(), "day")
                )
            }
        }
    }
}
