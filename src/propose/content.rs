//! Step 8, propose: what a pull request says, as data.
//!
//! In: a plan with its inventory, findings and catalog. Out: a [`Content`], sorted and grouped, every text still as
//! it was found: nothing is escaped here. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    plan::{Move, NewText, Plan},
    release::{Catalog, EdgeVersion, Guidance},
    scan::{Form, Inventory, Pin, Stage},
    verify::{Finding, Severity},
};

/// The data of a body.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Content {
    /// The target's name.
    pub target: String,
    /// `platform` or `data-plane`.
    pub stage: String,
    /// The releases that are left, oldest first.
    pub from: Vec<String>,
    /// The release to go to.
    pub to: String,
    /// Where that is a hop: the release wanted in the end.
    pub towards: Option<String>,
    /// Why the hop comes first.
    pub hop_reason: String,
    /// The day on which the release was published.
    pub published: Option<String>,
    /// How many pins move.
    pub pins: usize,
    /// What moves.
    pub rows: Vec<Row>,
    /// Findings that block.
    pub blocks: Vec<Statement>,
    /// Findings to read first.
    pub warnings: Vec<Statement>,
    /// Other findings.
    pub infos: Vec<Statement>,
    /// Pins that stay.
    pub stays: Vec<Stays>,
    /// The releases that are passed, oldest first, the new one last.
    pub releases: Vec<Passed>,
}

/// Pins that move alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The chart, or the kind of the pin.
    pub what: String,
    /// The text as it stands.
    pub from: String,
    /// The text as it will be; `None` for a digest that is computed again.
    pub to: Option<String>,
    /// `path:line` of each.
    pub places: Vec<String>,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// The check.
    pub check: String,
    /// `path:line`, where there is one place.
    pub place: Option<String>,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub mend: Option<String>,
}

/// Pins that stay for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stays {
    /// The reason, in the words of the contract.
    pub reason: String,
    /// `path:line` and text of each.
    pub pins: Vec<(String, String)>,
}

/// A release on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passed {
    /// Its tag.
    pub version: String,
    /// The day on which it was published.
    pub published: Option<String>,
    /// Linkerd's advice on it; `None` where nothing was said.
    pub guidance: Option<String>,
    /// The condition or the reason.
    pub note: Option<String>,
}

// === impl Content ===

impl Content {
    /// Gathers what a body says.
    pub fn of(plan: &Plan, inventory: &Inventory, findings: &[Finding], catalog: &Catalog) -> Self {
        let say = |severity| findings.iter().filter(move |f| f.severity == severity).map(statement).collect();
        Self {
            target: plan.target.clone(),
            stage: stage_word(plan.stage).to_owned(),
            from: plan.from.iter().map(ToString::to_string).collect(),
            to: plan.to.to_string(),
            towards: plan.hop_towards.map(|(to, _)| to.to_string()),
            hop_reason: plan.hop_towards.map(|(_, why)| why.to_owned()).unwrap_or_default(),
            published: plan.published.map(day),
            pins: plan.moves.len(),
            rows: rows(&plan.moves, inventory),
            blocks: say(Severity::Block),
            warnings: say(Severity::Warn),
            infos: say(Severity::Info),
            stays: stays(&plan.stays, inventory),
            releases: passed(&plan.from, plan.to, catalog),
        }
    }
}

/// Names a stage as branches, titles and markers do.
pub(super) fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Platform => "platform",
        Stage::DataPlane => "data-plane",
    }
}

fn day(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

fn place(pin: &Pin) -> String {
    format!("{}:{}", pin.path, pin.site.line)
}

fn kind(pin: &Pin) -> String {
    word(&pin.kind)
}

/// The word that a closed list has for JSON is the word for people too.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn rows(moves: &[Move], inventory: &Inventory) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut known: BTreeMap<(String, String, Option<String>), usize> = BTreeMap::new();
    for (pin, new) in moves.iter().filter_map(|m| Some((inventory.pins.get(m.pin)?, m.new.as_ref()?))) {
        let what = match (&pin.chart, pin.form) {
            (Some(chart), Form::Chart | Form::LockDigest) => chart.clone(),
            _ => kind(pin),
        };
        let to = match new {
            NewText::Fixed(text) | NewText::Rendered(text) => Some(text.clone()),
            NewText::LockDigest => None,
        };
        let key = (what.clone(), pin.value.clone(), to.clone());
        let index = *known.entry(key).or_insert(rows.len());
        match rows.get_mut(index) {
            Some(row) => row.places.push(place(pin)),
            None => rows.push(Row { what, from: pin.value.clone(), to, places: vec![place(pin)] }),
        }
    }
    rows
}

fn statement(finding: &Finding) -> Statement {
    let at = |p: &crate::verify::Place| match p.line {
        Some(line) => format!("{}:{line}", p.path),
        None => p.path.to_string(),
    };
    Statement {
        check: finding.check.to_owned(),
        place: finding.place.as_ref().map(at),
        reason: finding.reason.clone(),
        mend: finding.mend.clone(),
    }
}

fn stays(moves: &[Move], inventory: &Inventory) -> Vec<Stays> {
    let mut reasons: BTreeMap<crate::scan::Reason, Vec<(String, String)>> = BTreeMap::new();
    for (pin, reason) in moves.iter().filter_map(|m| Some((inventory.pins.get(m.pin)?, m.reason?))) {
        reasons.entry(reason).or_default().push((place(pin), pin.value.clone()));
    }
    reasons.into_iter().map(|(reason, pins)| Stays { reason: word(&reason), pins }).collect()
}

fn passed(from: &[EdgeVersion], to: EdgeVersion, catalog: &Catalog) -> Vec<Passed> {
    let Some(oldest) = from.iter().min().filter(|oldest| **oldest < to) else { return Vec::new() };
    let after = (std::ops::Bound::Excluded(*oldest), std::ops::Bound::Included(to));
    let tell = |release: &crate::release::Release| {
        let (guidance, note) = match &release.guidance {
            Guidance::Recommended { .. } => (Some("recommended"), None),
            Guidance::NotRecommended { note, .. } => (Some("not recommended"), Some(note.clone())),
            Guidance::Caution { note, .. } => (Some("with a condition"), Some(note.clone())),
            Guidance::Unknown => (None, None),
        };
        Passed {
            version: release.version.to_string(),
            published: release.published.map(day),
            guidance: guidance.map(str::to_owned),
            note,
        }
    };
    catalog.releases.range(after).map(|(_, release)| tell(release)).collect()
}
