//! Step 9, explain: what a pull request says, as data.
//!
//! In: a plan with its inventory, findings, renderings and catalog. Out: a [`Content`], sorted and grouped, every text
//! still as it was found: nothing is escaped here. Nothing is claimed that was not computed. Pure.

mod certificates;
mod changes;
mod cluster;
mod images;
mod moves;
mod next;
mod notices;
mod upstream;
mod verdict;
mod workloads;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    pins::{Inventory, Pin, Stage},
    plan::{Plan, Target, Undone, WaveShare},
    policy::Promoted,
    release::Catalog,
    render::Renderings,
    repo::Tree,
    verify::{CheckId, Finding, Severity},
    words::{count, listed},
};

pub use certificates::{Certificates, Known, Replaced};
pub use changes::{Changed, ChartChange, Field};
pub use cluster::{Callout, Cluster, Missing, Restart, Restarts};
pub use images::ImageChange;
pub use moves::{Row, Stays};
pub use next::{Next, Skew, Step};
pub use notices::Told;
pub use upstream::{Item, Passed, Upstream};
pub use verdict::{Verdict, Weight};
pub use workloads::{Effect, Workload};

/// The characters of a commit's id that tell it from others.
const SHORT: usize = 12;

/// What a content is made from.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// What the scan found before the change, resolved.
    pub inventory: &'a Inventory,
    /// The plan's target.
    pub target: &'a Target,
    /// What the checks found.
    pub findings: &'a [Finding],
    /// What is known of releases.
    pub catalog: &'a Catalog,
    /// What let the release go on from the targets before.
    pub promoted: &'a [Promoted],
    /// What the charts make of the change.
    pub rendered: &'a Renderings,
    /// The base commit's content.
    pub tree: &'a dyn Tree,
    /// The configuration's file, where there is one.
    pub configuration: Option<&'a str>,
}

/// The data of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Content {
    /// The target's name.
    pub target: String,
    /// What moves.
    pub stage: Stage,
    /// The releases that are left, oldest first.
    pub from: Vec<String>,
    /// Whether the oldest of these is that or an older one: nobody knows how many releases lie behind it.
    pub or_older: bool,
    /// The release to go to.
    pub to: String,
    /// Where that is a hop: the release wanted in the end.
    pub towards: Option<String>,
    /// Why the hop comes first.
    pub hop_reason: String,
    /// The day on which the release was published.
    pub published: Option<String>,
    /// Where it has run before, where that was asked.
    pub promoted: Vec<RanBefore>,
    /// Which of the waves of its target it is, where proxies move in waves.
    pub wave: Option<Turn>,
    /// The change that it takes back, where it goes to an older release.
    pub undoes: Option<TakenBack>,
    /// How many pins move.
    pub pins: usize,
    /// The first line.
    pub verdict: Verdict,
    /// What moves.
    pub rows: Vec<Row>,
    /// Findings that block.
    pub blocks: Vec<Statement>,
    /// Findings to read first.
    pub warnings: Vec<Statement>,
    /// Other findings, but those that a section tells: [`Cluster::defaults`], [`Next::order_notes`] and more.
    pub infos: Vec<Statement>,
    /// Pins that stay.
    pub stays: Vec<Stays>,
    /// What changes in the cluster.
    pub cluster: Cluster,
    /// What changed upstream.
    pub upstream: Upstream,
    /// What happens next.
    pub next: Next,
    /// The configuration's file, where there is one.
    pub configuration: Option<String>,
}

/// A change that is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TakenBack {
    /// The release that it brought.
    pub release: String,
    /// The day on which it came.
    pub since: String,
    /// The commit with which it came, shortened.
    pub commit: String,
    /// What says that it does not work, and the day since when.
    pub failure: Option<(String, String)>,
}

/// A target that has run the release before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RanBefore {
    /// Its name.
    pub target: String,
    /// The day since when.
    pub since: String,
    /// The gates of it that are open.
    pub gates: Vec<String>,
}

/// A wave among those of its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Turn {
    /// Its name; none for what is in no wave, which comes last.
    pub name: Option<String>,
    /// The target.
    pub of: String,
    /// Its place, counted from 1.
    pub place: usize,
    /// How many waves there are.
    pub waves: usize,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Statement {
    /// The check.
    pub check: CheckId,
    /// `path:line`, where there is one place.
    pub place: Option<String>,
    /// What is wrong.
    pub reason: String,
    /// What to do.
    pub hint: Option<String>,
}

// === impl TakenBack ===

impl TakenBack {
    fn of(undone: &Undone) -> Self {
        let Undone { release, commit, since, failure } = undone;
        let failure = failure.as_ref().map(|check| (check.name.clone(), day(check.at)));
        let commit = commit.to_string().chars().take(SHORT).collect();
        Self { release: release.to_string(), since: day(*since), commit, failure }
    }
}

// === impl RanBefore ===

impl RanBefore {
    fn of(promoted: &Promoted) -> Self {
        let Promoted { target, since, gates } = promoted;
        Self { target: target.clone(), since: day(*since), gates: gates.clone() }
    }
}

// === impl Turn ===

impl Turn {
    fn of(share: &WaveShare) -> Self {
        let name = share.mine.and_then(|n| share.waves.get(n)).map(|wave| wave.name.clone());
        let waves = share.waves.len();
        Self { name, of: share.of.clone(), place: share.mine.map_or(waves, |n| n) + 1, waves }
    }
}

// === impl Content ===

impl Content {
    /// Gathers what a body says.
    pub fn of(material: &Material<'_>) -> Self {
        let Material { plan, findings, .. } = *material;
        let of = |severity| findings.iter().filter(move |f| f.severity == severity);
        let elsewhere = |f: &&Finding| {
            cluster::tells(f, material) || next::tells(f.check) || upstream::tells(f, material)
        };
        let mut content = Self {
            target: plan.target.clone(),
            stage: plan.stage,
            from: plan.from.iter().map(ToString::to_string).collect(),
            or_older: plan.older,
            to: plan.to.to_string(),
            towards: plan.hop_towards.map(|(to, _)| to.to_string()),
            hop_reason: plan.hop_towards.map(|(_, why)| why.to_owned()).unwrap_or_default(),
            published: plan.published.map(day),
            promoted: material.promoted.iter().map(RanBefore::of).collect(),
            wave: material.target.wave.as_ref().filter(|_| plan.stage == Stage::DataPlane).map(Turn::of),
            undoes: plan.undoes.as_ref().map(TakenBack::of),
            pins: plan.moves.len(),
            verdict: Verdict::default(),
            rows: moves::rows(plan),
            blocks: of(Severity::Block).map(statement).collect(),
            warnings: of(Severity::Warn).map(statement).collect(),
            infos: of(Severity::Info).filter(|f| !elsewhere(f)).map(statement).collect(),
            stays: moves::stays(plan),
            cluster: Cluster::of(material),
            upstream: Upstream::of(material),
            next: Next::of(material),
            configuration: material.configuration.map(str::to_owned),
        };
        content.cluster.tell_apart(content.blocks.iter().chain(&content.warnings));
        let one_way = content.upstream.notices.iter().filter(|n| n.kind == "one-way");
        content.next.one_way.extend(one_way.map(one_way_notice));
        content.verdict = verdict::of(&content);
        content
    }
}

fn one_way_notice(notice: &Told) -> String {
    let condition = match (&notice.evidence, &notice.condition) {
        (None, Some(condition)) => format!(" This matters {condition}."),
        _ => String::new(),
    };
    format!("{} ({}){condition}", notice.text, notice.release)
}

fn day(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

fn place(pin: &Pin) -> String {
    format!("{}:{}", pin.path, pin.site.line)
}

/// Returns the word that an entry of a closed list is in JSON, or its `kind` where it holds more, so that text and JSON
/// never differ.
pub(crate) fn word_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(Value::Object(fields)) => {
            fields.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

fn statement(finding: &Finding) -> Statement {
    let at = |p: &crate::verify::Place| match p.line {
        Some(line) => format!("{}:{line}", p.path),
        None => p.path.to_string(),
    };
    Statement {
        check: finding.check,
        place: finding.place.as_ref().map(at),
        reason: if finding.check == CheckId::Guidance {
            unmarked(&finding.reason)
        } else {
            finding.reason.clone()
        },
        hint: finding.hint.clone(),
    }
}

/// Upstream's words without their Markdown, which is not shown as such here: emphasis goes, of a link its text stays.
fn unmarked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let link =
            after.split_once("](").and_then(|(words, behind)| Some((words, behind.split_once(')')?.1)));
        match link.filter(|(words, _)| !words.contains(['[', ']'])) {
            Some((words, behind)) => {
                out.push_str(words);
                rest = behind;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out.replace("**", "").replace("__", "")
}

#[cfg(test)]
mod testing;
