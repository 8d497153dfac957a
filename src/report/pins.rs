//! The pins and skips of a repository.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Outside, PinRow, PinsReport, RowReason, count,
    escape::{for_terminal, json as to_json},
    listed,
    table::Table,
    unread, word_of,
};
use crate::{
    explain::markdown,
    linkerd::EdgeVersion,
    pins::{Inventory, Pin, Skipped},
    plan::{Judged, NewText},
};

/// Installations that one cell names, and releases of one unread file.
const NAMED: usize = 3;

/// `uplinker.pins/v1`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'r> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'r PinsReport,
}

// === impl PinsReport ===

impl PinsReport {
    /// Makes the report. `target_of` names the target of a pin; `judged` are the moves of all targets to a release.
    pub fn new(
        inventory: &Inventory,
        target_of: impl Fn(&Pin) -> Option<String>,
        judged: Option<(EdgeVersion, &[Judged])>,
    ) -> Self {
        let by_pin: Option<HashMap<*const Pin, &Judged>> =
            judged.map(|(_, moves)| moves.iter().rev().map(|m| (Arc::as_ptr(&m.pin), m)).collect());
        // What a rendering alone finds out is judged by none, and goes with its stage.
        let judged_of = judged.into_iter().flat_map(|(_, moves)| moves);
        let proposed: HashSet<_> = judged_of.map(|m| (target_of(&m.pin), m.pin.stage)).collect();
        let row = |pin: &Arc<Pin>| {
            let target = target_of(pin);
            let judged = by_pin.as_ref().map(|moves| moves.get(&Arc::as_ptr(pin)));
            let (moves, new, reason) = match (&target, judged) {
                (None, _) => (
                    false,
                    None,
                    pin.stays.map(RowReason::Stays).or(Some(RowReason::Outside(Outside::NoTarget))),
                ),
                (Some(_), Some(None)) if !proposed.contains(&(target.clone(), pin.stage)) => {
                    let reason = pin.stays.map_or(RowReason::Outside(Outside::NotProposed), RowReason::Stays);
                    (false, None, Some(reason))
                }
                (Some(_), None | Some(None)) => (pin.stays.is_none(), None, pin.stays.map(RowReason::Stays)),
                (Some(_), Some(Some(judged))) => {
                    let new = match judged.becomes() {
                        Some(NewText::Fixed(text) | NewText::Rendered(text)) => Some(text.clone()),
                        Some(NewText::LockDigest | NewText::Gone) | None => None,
                    };
                    (judged.becomes().is_some(), new, judged.reason().map(RowReason::Stays))
                }
            };
            PinRow {
                path: pin.path.clone(),
                line: pin.site.line,
                column: pin.site.column,
                document: pin.site.document,
                kind: pin.kind,
                chart: pin.chart.clone(),
                also: also(pin),
                value: pin.value.clone(),
                version: pin.version,
                new,
                target,
                installations: pin.installations.iter().map(ToString::to_string).collect(),
                stage: pin.stage,
                moves,
                reason,
                kept_by: pin.kept_by.as_ref().filter(|_| !moves).map(|(path, line)| format!("{path}:{line}")),
            }
        };
        let pins = inventory.pins.iter().map(row).collect();
        Self { to: judged.map(|(to, _)| to), pins, skipped: inventory.skipped.clone() }
    }

    fn sum(&self) -> String {
        let (moving, files) = (self.pins.iter().filter(|p| p.moves).count(), self.files());
        let verb = match self.to {
            Some(to) => format!("{moving} would move to {to}"),
            None => format!("{moving} may move"),
        };
        let skipped = match self.skipped.len() {
            0 => String::new(),
            n => format!("; {} not read", count(n, "file")),
        };
        format!("{} in {}: {verb}{skipped}.", count(self.pins.len(), "pin"), count(files, "file"))
    }

    /// Tells whether more than one installation is named.
    fn has_several(&self) -> bool {
        let mut names = self.pins.iter().flat_map(|pin| &pin.installations);
        names.next().is_some_and(|first| names.any(|other| other != first))
    }

    fn files(&self) -> usize {
        self.pins.iter().map(|p| &p.path).collect::<BTreeSet<_>>().len()
    }
}

fn columns(installations: bool) -> Vec<&'static str> {
    let always = ["pin", "kind", "chart", "value", "new", "target", "stage"];
    always.into_iter().chain(installations.then_some("installations")).collect()
}

/// Returns the report as JSON.
pub(super) fn json(report: &PinsReport) -> String {
    to_json(&Document { schema: "uplinker.pins/v1", report })
}

/// Returns the report for a terminal.
pub(super) fn text(report: &PinsReport, color: bool) -> String {
    let mut out = String::new();
    if !report.pins.is_empty() {
        let several = report.has_several();
        let mut table = Table::new(columns(several));
        for pin in &report.pins {
            let mut row = vec![
                place(pin),
                word_of(&pin.kind),
                charts(pin).unwrap_or_else(|| "-".to_owned()),
                pin.value.clone(),
                becomes(pin),
                pin.target.clone().unwrap_or_else(|| "-".to_owned()),
                word_of(&pin.stage),
            ];
            row.extend(several.then(|| serves(pin).unwrap_or_else(|| "-".to_owned())));
            table.row(row);
        }
        out.push_str(&table.text(color));
        out.push('\n');
    }
    if !report.skipped.is_empty() {
        let (listed, rest) = unread(&report.skipped);
        out.push_str("Not read:\n");
        for line in listed.into_iter().map(skipped).chain(rest) {
            out.push_str(&format!("  {}\n", for_terminal(&line)));
        }
        out.push('\n');
    }
    out + &report.sum() + "\n"
}

/// Returns the report as Markdown.
pub(super) fn markdown(report: &PinsReport) -> String {
    let mut out = format!("{}\n", report.sum());
    if !report.pins.is_empty() {
        let several = report.has_several();
        let mut table = Table::new(columns(several));
        for pin in &report.pins {
            let mut row = vec![
                markdown::code(&place(pin)),
                word_of(&pin.kind),
                charts(pin).as_deref().map(markdown::whole).unwrap_or_default(),
                markdown::code(&pin.value),
                markdown::whole(&becomes(pin)),
                pin.target.as_deref().map(markdown::whole).unwrap_or_default(),
                word_of(&pin.stage),
            ];
            row.extend(several.then(|| serves(pin).as_deref().map(markdown::whole).unwrap_or_default()));
            table.row(row);
        }
        out.push_str(&format!("\n{}", table.markdown()));
    }
    if !report.skipped.is_empty() {
        out.push_str("\nNot read:\n\n");
        let (listed, rest) = unread(&report.skipped);
        for file in listed {
            let path = markdown::code(file.path.as_str());
            out.push_str(&format!("- {path}: {}\n", markdown::whole(&why(file))));
        }
        out.extend(rest.map(|rest| format!("- {rest}\n")));
    }
    out
}

fn place(pin: &PinRow) -> String {
    format!("{}:{}:{}", pin.path, pin.line, pin.column)
}

/// Says in one cell which installations a pin serves.
fn serves(pin: &PinRow) -> Option<String> {
    (!pin.installations.is_empty()).then(|| listed(&pin.installations, NAMED))
}

/// Names what reads a pin beside its chart: other charts, and proxies.
fn also(pin: &Pin) -> Vec<String> {
    let charts: BTreeSet<&str> = pin.charts().filter(|chart| pin.chart.as_deref() != Some(chart)).collect();
    let proxies = pin.of_proxies().map(|_| "proxies");
    charts.into_iter().chain(proxies).map(str::to_owned).collect()
}

/// Says in one cell what reads a pin.
fn charts(pin: &PinRow) -> Option<String> {
    let all: Vec<&str> = pin.chart.iter().chain(&pin.also).map(String::as_str).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Says in one cell what becomes of a pin.
fn becomes(pin: &PinRow) -> String {
    match (&pin.new, &pin.reason) {
        (Some(new), _) => new.clone(),
        (None, Some(reason)) => match &pin.kept_by {
            Some(place) => format!("stays: {reason} ({place})"),
            None => format!("stays: {reason}"),
        },
        (None, None) if pin.moves => "moves".to_owned(),
        (None, None) => "stays".to_owned(),
    }
}

/// Returns the releases that a file names, which people have to look at.
fn releases(file: &Skipped) -> Option<String> {
    let named: Vec<String> = file.versions.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if file.versions.len() > NAMED { " and others" } else { "" };
    (!named.is_empty()).then(|| format!("{}{more}", named.join(", ")))
}

fn skipped(file: &Skipped) -> String {
    format!("{}: {}", file.path, why(file))
}

fn why(file: &Skipped) -> String {
    let reason = word_of(&file.reason);
    let why = file.detail.as_ref().map_or(reason.clone(), |detail| format!("{reason}, {detail}"));
    match releases(file) {
        Some(releases) => format!("{why}; names {releases}"),
        None => why,
    }
}
