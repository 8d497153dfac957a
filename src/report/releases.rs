//! The catalog, with the reason why each release is passed over.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ReleaseRow, ReleasesReport, date,
    escape::{for_terminal, json as to_json},
    table::Table,
};
use crate::{
    explain::markdown,
    release::{Feed, FeedState, Guidance},
};

/// `uplinker.releases/v1`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'r> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'r ReleasesReport,
}

const HEAD: [&str; 6] = ["release", "published", "charts", "milestone", "guidance", "passed over"];

/// Returns the report as JSON.
pub(super) fn json(report: &ReleasesReport) -> String {
    to_json(&Document { schema: "uplinker.releases/v1", report })
}

/// Returns the report for a terminal.
pub(super) fn text(report: &ReleasesReport, color: bool) -> String {
    let mut table = Table::new(HEAD);
    for row in &report.releases {
        table.row(cells(row));
    }
    let feeds = report.feeds.iter().map(|f| format!("{}\n", for_terminal(&feed(f))));
    let remarks = report.remarks.iter().map(|r| format!("note: {}\n", for_terminal(r)));
    table.text(color) + "\n" + &feeds.chain(remarks).collect::<String>()
}

/// Returns the report as Markdown.
pub(super) fn markdown(report: &ReleasesReport) -> String {
    let mut table = Table::new(HEAD);
    for row in &report.releases {
        table.row(cells(row).map(|c| markdown::whole(&c)));
    }
    let feeds = report.feeds.iter().map(|f| format!("- {}\n", markdown::whole(&feed(f))));
    let remarks = report.remarks.iter().map(|r| format!("- note: {}\n", markdown::whole(r)));
    table.markdown() + "\n" + &feeds.chain(remarks).collect::<String>()
}

fn cells(row: &ReleaseRow) -> [String; 6] {
    let release = &row.release;
    let first = if release.is_milestone { " (first)" } else { "" };
    [
        release.version.to_string(),
        release.published.map_or("not known".to_owned(), date),
        charts(row),
        release.milestone.as_ref().map_or("-".to_owned(), |m| format!("{m}{first}")),
        guidance(&release.guidance),
        row.passed_over.clone().unwrap_or_else(|| "-".to_owned()),
    ]
}

/// Names the version of the charts where it is one; where each has its own, as before 2024, JSON has them.
fn charts(row: &ReleaseRow) -> String {
    let charts = &row.release.charts;
    let common = row.release.version.chart();
    match charts.len() {
        0 => "none".to_owned(),
        count if charts.values().all(|c| c.version == common) => format!("{count} at {common}"),
        count => format!("{count}, each at its own"),
    }
}

fn guidance(guidance: &Guidance) -> String {
    match guidance {
        Guidance::Recommended { .. } => "recommended".to_owned(),
        Guidance::NotRecommended { instead, .. } if instead.is_empty() => "not recommended".to_owned(),
        Guidance::NotRecommended { instead, .. } => {
            let instead: Vec<String> = instead.iter().map(ToString::to_string).collect();
            format!("not recommended, use {}", instead.join(" or "))
        }
        Guidance::Caution { note, .. } => format!("caution: {note}"),
        Guidance::Unknown => "unknown".to_owned(),
    }
}

fn feed(feed: &Feed) -> String {
    match &feed.state {
        FeedState::Read => format!("feed {}: read", feed.name),
        FeedState::Off => format!("feed {}: off", feed.name),
        FeedState::Failed(reason) => format!("feed {}: failed: {reason}", feed.name),
    }
}
