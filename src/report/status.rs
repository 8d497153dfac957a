//! Where every target stands, and what comes next.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Format, Style, count, date,
    escape::{for_terminal, json as to_json},
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
    /// The merged ones, newest first, where they were asked for.
    pub history: Vec<MergedPull>,
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
    /// The number as the forge writes it, such as `#12`.
    pub reference: String,
    /// Its page.
    pub url: String,
    /// The release that it goes to.
    pub release: Option<EdgeVersion>,
}

/// A pull request that was merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MergedPull {
    /// Its number.
    pub number: u64,
    /// The number as the forge writes it, such as `#12`.
    pub reference: String,
    /// Its page.
    pub url: String,
    /// When.
    #[schemars(with = "Option<String>")]
    pub merged: Option<Timestamp>,
    /// The release that it went to.
    pub release: EdgeVersion,
    /// The release that it took back, where it did.
    pub undoes: Option<EdgeVersion>,
}

/// `uplinker.status/v1`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'r> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'r StatusReport,
}

const HEAD: [&str; 6] = ["target", "stage", "release", "since", "behind", "next"];
const MERGED: [&str; 5] = ["target", "stage", "merged", "release", "page"];

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
        let history = self.history(false).map(|table| format!("\n{}", table.text(color)));
        table.text(color) + &history.unwrap_or_default() + &notes.collect::<String>()
    }

    pub(super) fn markdown(&self) -> String {
        let mut table = Table::new(HEAD);
        self.targets.iter().for_each(|row| table.row(row.cells(true)));
        let notes = self.notes.iter().map(|note| format!("\n- note: {}\n", markdown::whole(note)));
        let history = self.history(true).map(|table| format!("\n{}", table.markdown()));
        table.markdown() + &history.unwrap_or_default() + &notes.collect::<String>()
    }

    /// Lists what was merged; none where nothing was asked for, or nothing is known.
    fn history(&self, in_markdown: bool) -> Option<Table> {
        let mut table = Table::new(MERGED);
        let mut any = false;
        for row in &self.targets {
            for pull in &row.history {
                any = true;
                table.row(pull.cells(row, in_markdown));
            }
        }
        any.then_some(table)
    }
}

// === impl MergedPull ===

impl MergedPull {
    fn cells(&self, row: &StatusRow, in_markdown: bool) -> [String; 5] {
        let shown = |text: String| if in_markdown { markdown::whole(&text) } else { text };
        let release = match self.undoes {
            Some(undone) => format!("{}, back from {undone}", self.release),
            None => self.release.to_string(),
        };
        let page = match in_markdown {
            true => format!("[{}]({})", self.reference, self.url),
            false => self.url.clone(),
        };
        let merged = self.merged.map_or_else(|| "-".to_owned(), date);
        [shown(row.target.clone()), row.stage.name().to_owned(), shown(merged), shown(release), page]
    }
}

// === impl StatusRow ===

impl StatusRow {
    /// The cells of a table; in Markdown a pull request is a link.
    fn cells(&self, in_markdown: bool) -> [String; 6] {
        let shown = |text: String| if in_markdown { markdown::whole(&text) } else { text };
        let open = self.pull_request.as_ref().map(|pull| match in_markdown {
            true => format!("[{}]({})", pull.reference, pull.url),
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
        // On a page a long last cell leaves the others no room, and nobody copies these.
        let in_one = |text: String| if in_markdown { text.replace('-', "\u{2011}") } else { text };
        [
            shown(self.target.clone()),
            in_one(self.stage.name().to_owned()),
            or_dash(self.release.map(|release| release.to_string())),
            self.since.map_or_else(|| or_dash(None), |since| in_one(date(since))),
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
            (releases, None) => count(releases, "release"),
            (releases, Some(days)) => {
                format!(
                    "{}, {}",
                    count(releases, "release"),
                    count(usize::try_from(days).unwrap_or_default(), "day")
                )
            }
        }
    }
}
