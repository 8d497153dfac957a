//! Step 8, verify: what a reviewer must know before merging.
//!
//! In: the tree before, the change set, the plan and the catalog. Out: [`Finding`]s. One file a check; a
//! check is pure, and says what it looked at. A finding's weight does not decide whether a proposal is made:
//! `onBlock` does, later in the flow.

mod apart;
pub mod at_rest;
mod certificate_expiry;
mod chart_digest;
mod chart_version;
mod check_id;
mod clock;
mod crd_removal;
mod crd_stored_version;
mod defaults_changed;
mod fixed_revision;
mod gateway_api;
mod guidance;
mod idempotent;
mod immutable_fields;
pub mod jobs;
mod kube_version;
mod left_behind;
mod minimal_diff;
mod mirror_unverified;
mod model_diff;
mod not_rendered;
mod order;
mod parses;
mod private_key;
mod prune;
mod rbac_growth;
mod rendered;
mod required_hop;
mod restored;
mod rivals;
mod skew;
mod skipped;
mod stale_comment;
mod stale_generator;
mod values_stale_override;
mod values_unknown;
mod vendored_chart;
mod version_agreement;
mod webhook_failure_policy;

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    linkerd::EdgeVersion,
    pins::{Inventory, Pin, Reader, Reason},
    plan::{ControlPlane, NewText, Options, Plan, Target, control_plane, deployed_at},
    release::Catalog,
    render::Renderings,
    repo::{ChangeSet, RepoPath, Tree},
    words::{count, listed},
};

pub use check_id::CheckId;
pub use clock::{Clock, Stretch};
pub use skew::proxies;

/// The largest file that is read where a check looks through the whole tree for what programs print: a bundle of definitions.
const PRINTED: u64 = 8 << 20;

/// What is verified, and all that the checks may look at.
#[derive(Clone, Copy)]
pub struct Verification<'a> {
    /// The base branch.
    pub base: &'a str,
    /// The base commit's content.
    pub before: &'a dyn Tree,
    /// What the scan found in it, [resolved](crate::plan::resolve).
    pub inventory: &'a Inventory,
    /// The plan.
    pub plan: &'a Plan,
    /// What was made of the plan.
    pub changes: &'a ChangeSet,
    /// What a scan finds after the change; `None` where it was not made, and the plan's word is taken.
    pub after: Option<&'a Inventory>,
    /// The plan's target.
    pub target: &'a Target,
    /// The target's `kubernetes`, as configured.
    pub kubernetes: Option<&'a semver::Version>,
    /// `dataPlane.controlPlane`, as configured.
    pub control_plane: Option<EdgeVersion>,
    /// What is known of releases.
    pub catalog: &'a Catalog,
    /// What the configuration says of moves.
    pub options: &'a Options,
    /// What the charts make of the change, as far as they were rendered.
    pub rendered: &'a Renderings,
    /// The time, for certificates.
    pub clock: &'a Clock,
}

/// What one check saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// The check.
    pub check: CheckId,
    /// What it looked at, one phrase.
    pub looked_at: String,
    /// What it found, the heaviest first.
    pub findings: Vec<Finding>,
}

/// A verifier's statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The check.
    pub check: CheckId,
    /// How much it weighs.
    pub severity: Severity,
    /// Where, where it has one place.
    pub place: Option<Place>,
    /// What is wrong, one sentence.
    pub reason: String,
    /// What to do, one sentence.
    pub hint: Option<String>,
}

/// The weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// To be read before merging.
    Warn,
    /// Must not be merged as it is.
    Block,
}

/// A place in the repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Place {
    /// The file.
    pub path: RepoPath,
    /// From 1, where known.
    pub line: Option<usize>,
}

/// What a check returns: the phrase that says what it looked at, and its findings.
struct Checked {
    looked_at: String,
    findings: Vec<Finding>,
}

type Check = fn(&Verification<'_>) -> Checked;

/// The checks by name, in the order in which they are shown.
const CHECKS: &[(CheckId, Check)] = &[
    (minimal_diff::ID, minimal_diff::check),
    (parses::ID, parses::check),
    (idempotent::ID, idempotent::check),
    (restored::ID, restored::check),
    (model_diff::ID, model_diff::check),
    (private_key::ID, private_key::check),
    (chart_digest::ID, chart_digest::check),
    (not_rendered::ID, not_rendered::check),
    (version_agreement::ID, version_agreement::check),
    (required_hop::ID, required_hop::check),
    (kube_version::ID, kube_version::check),
    (gateway_api::ID, gateway_api::check),
    (skew::ID, skew::check),
    (order::ID, order::check),
    (crd_removal::ID, crd_removal::check),
    (crd_stored_version::ID, crd_stored_version::check),
    (prune::ID, prune::check),
    (immutable_fields::ID, immutable_fields::check),
    (rbac_growth::ID, rbac_growth::check),
    (webhook_failure_policy::ID, webhook_failure_policy::check),
    (certificate_expiry::ID, certificate_expiry::check),
    (values_stale_override::ID, values_stale_override::check),
    (values_unknown::ID, values_unknown::check),
    (defaults_changed::ID, defaults_changed::check),
    (mirror_unverified::ID, mirror_unverified::check),
    (vendored_chart::ID, vendored_chart::check),
    (chart_version::ID, chart_version::check),
    (stale_generator::ID, stale_generator::check),
    (stale_comment::ID, stale_comment::check),
    (guidance::ID, guidance::check),
    (skipped::ID, skipped::check),
    (fixed_revision::ID, fixed_revision::check),
    (rivals::ID, rivals::check),
];

/// What only says something of a change that goes on to a release: one that goes back restores what stood there, in files
/// and versions that may differ.
const ONWARD: [CheckId; 4] = [minimal_diff::ID, idempotent::ID, version_agreement::ID, required_hop::ID];

/// Runs every check and returns what each looked at and found.
pub fn outcomes(input: &Verification<'_>) -> Vec<CheckResult> {
    let run = |(check, run): &(CheckId, Check)| {
        let Checked { looked_at, findings } = run(input);
        CheckResult { check: *check, looked_at, findings: united(findings) }
    };
    let goes_back = input.plan.undoes.is_some();
    CHECKS.iter().filter(|(check, _)| !goes_back || !ONWARD.contains(check)).map(run).collect()
}

/// How many places of one finding are named before the rest is counted.
const PLACES: usize = 2;

/// Says once what is true of several places: a fleet has its clusters written alike.
fn united(findings: Vec<Finding>) -> Vec<Finding> {
    type Said = (Severity, String, Option<String>);
    let mut by_words: Vec<(Finding, BTreeSet<Option<Place>>)> = Vec::new();
    let mut known: HashMap<Said, usize> = HashMap::new();
    for finding in findings {
        let said = (finding.severity, finding.reason.clone(), finding.hint.clone());
        let at = *known.entry(said).or_insert(by_words.len());
        match by_words.get_mut(at) {
            Some((_, places)) => drop(places.insert(finding.place)),
            None => by_words.push((finding.clone(), BTreeSet::from([finding.place]))),
        }
    }
    let one = |(finding, places): (Finding, BTreeSet<Option<Place>>)| {
        let mut places = places.into_iter().flatten();
        let first = places.next();
        let others: Vec<_> = places.collect();
        let also = match others.is_empty() {
            true => String::new(),
            false => format!(" (also at {})", listed(&others, PLACES)),
        };
        Finding { place: first, reason: finding.reason + &also, ..finding }
    };
    let mut findings: Vec<Finding> = by_words.into_iter().map(one).collect();
    findings.sort_by(|a, b| (b.severity, &a.place).cmp(&(a.severity, &b.place)));
    findings
}

/// Runs every check and returns the findings: the heaviest first, then in the order of the checks, then by place.
pub fn verify(input: &Verification<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = outcomes(input).into_iter().flat_map(|o| o.findings).collect();
    findings.sort_by_key(|f| std::cmp::Reverse(f.severity));
    findings
}

// === impl Verification ===

impl<'a> Verification<'a> {
    /// Returns the moving pins with the text that each gets.
    fn moving(&self) -> impl Iterator<Item = (&'a Pin, &'a NewText)> + use<'a> {
        self.plan.moving()
    }

    /// Returns the pins of the plan's stage that stay, each with its reason.
    fn staying(&self) -> impl Iterator<Item = (&'a Pin, Reason)> + use<'a> {
        self.plan.staying()
    }

    /// Returns the oldest release that is deployed of what moves, as far as something reads it that is asked for.
    fn oldest(&self, is_asked: impl Fn(&Reader) -> bool) -> Option<EdgeVersion> {
        let pins = self.moving().map(|(pin, _)| pin);
        pins.filter(|pin| pin.readers().any(|reader| is_asked(&reader))).filter_map(deployed_at).min()
    }

    /// Returns the inventory after the change: as scanned, else as the plan says it.
    fn projected(&self) -> Cow<'a, Inventory> {
        if let Some(after) = self.after {
            return Cow::Borrowed(after);
        }
        let mut inventory = self.inventory.clone();
        let texts = self.plan.texts();
        for pin in &mut inventory.pins {
            if let Some(NewText::Fixed(text)) = texts.get(&Arc::as_ptr(pin)) {
                let pin = Arc::make_mut(pin);
                pin.value.clone_from(text);
                pin.version = Some(self.plan.to);
            }
        }
        Cow::Owned(inventory)
    }

    /// Returns the control plane of the target, as an inventory of it shows.
    fn control_plane_in(&self, inventory: &Inventory) -> ControlPlane {
        control_plane(inventory, self.target, self.control_plane)
    }
}

// === impl Place ===

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.path),
            None => write!(f, "{}", self.path),
        }
    }
}

// === impl Finding ===

impl Finding {
    fn new(check: CheckId, severity: Severity, reason: impl Into<String>) -> Self {
        Self { check, severity, place: None, reason: reason.into(), hint: None }
    }

    fn block(check: CheckId, reason: impl Into<String>) -> Self {
        Self::new(check, Severity::Block, reason)
    }

    fn warn(check: CheckId, reason: impl Into<String>) -> Self {
        Self::new(check, Severity::Warn, reason)
    }

    fn info(check: CheckId, reason: impl Into<String>) -> Self {
        Self::new(check, Severity::Info, reason)
    }

    fn at(self, path: &RepoPath, line: impl Into<Option<usize>>) -> Self {
        Self { place: Some(Place { path: path.clone(), line: line.into() }), ..self }
    }

    fn at_pin(self, pin: &Pin) -> Self {
        self.at(&pin.path, pin.site.line)
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
