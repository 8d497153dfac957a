//! Step 9, explain: what the releases on the way bring.
//!
//! In: the catalog between the releases that are left and the one to go to. Out: an [`Upstream`]: changes by release,
//! breaking ones apart, each told once; advice with its condition and source; milestones; notices. All of it is
//! upstream's text, untrusted. Pure.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Material, Told, day, notices, unmarked};
use crate::{
    linkerd::EdgeVersion,
    release::{
        FeedState, Guidance, Release,
        notes::{self, Change, Weight},
    },
    verify::{CheckId, Finding, Severity},
};

/// What changed upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Upstream {
    /// The releases that are passed, oldest first, the new one last.
    pub releases: Vec<Passed>,
    /// Changes that break something, of all of them.
    pub breaking: Vec<Item>,
    /// How many others there are: features, fixes, and what is neither.
    pub others: usize,
    /// How many newer versions of dependencies.
    pub dependencies: usize,
    /// How much work that reaches no cluster.
    pub upkeep: usize,
    /// Releases of which no notes were read.
    pub without_notes: usize,
    /// Whether Linkerd advised on any of them, for or against.
    pub advised: bool,
    /// The milestone of the oldest release that is left.
    pub milestone_from: Option<String>,
    /// The milestone of the new one.
    pub milestone_to: Option<String>,
    /// Milestones that begin on the way.
    pub crossed: Vec<String>,
    /// What is known of these releases and touches this repository, or may.
    pub notices: Vec<Told>,
    /// How many notices touch nothing here.
    pub untouched: usize,
    /// Why notes and dates are not known, where their feed was not read.
    pub unread: Option<String>,
}

/// A release on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Passed {
    /// Its tag.
    pub version: String,
    /// The day on which it was published.
    pub published: Option<String>,
    /// Linkerd's advice on it; `None` where nothing was said.
    pub guidance: Option<String>,
    /// The condition or the reason.
    pub note: Option<String>,
    /// Where it was said.
    pub source: Option<String>,
    /// Features, then fixes, then what is neither, without what an older release has.
    pub items: Vec<Item>,
    /// How many newer versions of dependencies.
    pub dependencies: usize,
    /// How much work that reaches no cluster.
    pub upkeep: usize,
    /// Whether its notes were read.
    pub notes: bool,
}

/// An entry of release notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Item {
    /// The release.
    pub release: String,
    /// `breaking`, `feature`, `fix` or `other`.
    pub weight: Weight,
    /// What changed, as written.
    pub text: String,
    /// What it is about.
    pub scope: Option<String>,
    /// Its pull request in linkerd/linkerd2.
    pub pull: Option<u64>,
}

/// Tells whether this section says what a check found: advice on releases that it lists.
pub(super) fn tells(finding: &Finding, material: &Material<'_>) -> bool {
    let listed = material.catalog.get(material.plan.to).is_some() && !material.plan.from.is_empty();
    finding.check == CheckId::Guidance && finding.severity == Severity::Info && listed
}

// === impl Upstream ===

impl Upstream {
    /// Says what the releases bring.
    pub(super) fn of(material: &Material<'_>) -> Self {
        let Material { plan, catalog, .. } = *material;
        let Some(oldest) = plan.from.iter().min().copied().filter(|oldest| *oldest < plan.to) else {
            return Self::default();
        };
        let mut upstream = Self::default();
        let mut told: BTreeSet<(Option<u64>, String)> = BTreeSet::new();
        for release in catalog.between(oldest, plan.to) {
            upstream.pass(release, &mut told);
        }
        let name = |version| catalog.milestone_of(version).map(str::to_owned);
        (upstream.milestone_from, upstream.milestone_to) = (name(oldest), name(plan.to));
        upstream.crossed = crossed(material, oldest);
        (upstream.notices, upstream.untouched) = notices::of(material, oldest);
        // What is told as a notice, with what it touches here, is not told again.
        let told = |item: &Item| {
            let number = item.pull.map(|pull| format!("#{pull}"));
            number.is_some_and(|number| upstream.notices.iter().any(|n| n.source.ends_with(&number)))
        };
        let breaking = std::mem::take(&mut upstream.breaking);
        upstream.breaking = breaking.into_iter().filter(|item| !told(item)).collect();
        upstream.unread = match catalog.feed("releases") {
            Some(FeedState::Off) => Some("the list of releases is turned off".to_owned()),
            Some(FeedState::Failed(reason)) => Some(reason.clone()),
            Some(FeedState::Read) | None => None,
        };
        upstream
    }

    fn pass(&mut self, release: &Release, told: &mut BTreeSet<(Option<u64>, String)>) {
        let mut passed = passed(release);
        self.advised |= passed.guidance.is_some();
        self.without_notes += usize::from(!passed.notes);
        let changes = release.notes.as_deref().map(notes::changes).unwrap_or_default();
        // The same pull request, or the same words, in a later release is the same change.
        let new = changes.into_iter().filter(|c| told.insert(identity(c))).collect::<Vec<_>>();
        for change in new {
            match change.weight {
                Weight::Breaking => self.breaking.push(item(release.version, change)),
                Weight::Dependency => passed.dependencies += 1,
                Weight::Upkeep => passed.upkeep += 1,
                Weight::Feature | Weight::Fix | Weight::Other => {
                    passed.items.push(item(release.version, change));
                }
            }
        }
        passed.items.sort_by_key(|item| item.weight);
        self.others += passed.items.len();
        self.dependencies += passed.dependencies;
        self.upkeep += passed.upkeep;
        self.releases.push(passed);
    }
}

fn identity(change: &Change) -> (Option<u64>, String) {
    match change.pull {
        Some(pull) => (Some(pull), String::new()),
        None => (None, change.text.to_lowercase()),
    }
}

fn item(release: EdgeVersion, change: Change) -> Item {
    Item {
        release: release.to_string(),
        weight: change.weight,
        text: change.text,
        scope: change.scope,
        pull: change.pull,
    }
}

fn passed(release: &Release) -> Passed {
    let (guidance, note, source) = match &release.guidance {
        Guidance::Recommended { source, cautions } => (Some("recommended"), cautions.clone(), Some(source)),
        Guidance::NotRecommended { note, source, .. } => {
            (Some("not recommended"), Some(note.clone()), Some(source))
        }
        Guidance::Caution { note, source } => (Some("with a condition"), Some(note.clone()), Some(source)),
        Guidance::Unknown => (None, None, None),
    };
    Passed {
        version: release.version.to_string(),
        published: release.published.map(day),
        guidance: guidance.map(str::to_owned),
        note: note.map(|note| unmarked(&note)).filter(|note| !note.trim().is_empty()),
        source: source.cloned(),
        notes: release.notes.is_some(),
        ..Passed::default()
    }
}

fn crossed(material: &Material<'_>, oldest: EdgeVersion) -> Vec<String> {
    let begins = |m: &&crate::linkerd::Milestone| m.first > oldest && m.first <= material.plan.to;
    let milestones = material.catalog.knowledge.milestones.iter().filter(begins);
    milestones.map(|m| format!("{} with {}", m.name, m.first)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(version: &str, notes: &str) -> Release {
        Release { notes: Some(notes.to_owned()), ..Release::new(version.parse().unwrap()) }
    }

    #[test]
    fn a_change_is_told_once_and_breaking_ones_apart() {
        let mut upstream = Upstream::default();
        let mut told = BTreeSet::new();
        upstream.pass(
            &release(
                "edge-26.8.1",
                "* fix: b (#2)\n* feat: a (#1)\n* build(deps): bump x (#3)\n* ci: y (#4)\n",
            ),
            &mut told,
        );
        upstream.pass(&release("edge-26.8.2", "* feat: a again (#1)\n* fix!: c (#5)\n"), &mut told);
        upstream.pass(&Release::new("edge-26.8.3".parse().unwrap()), &mut told);
        let texts: Vec<&str> = upstream.releases[0].items.iter().map(|i| i.text.as_str()).collect();
        assert_eq!(texts, ["a", "b"], "features before fixes");
        assert!(upstream.releases[1].items.is_empty());
        assert_eq!((upstream.breaking.len(), upstream.breaking[0].release.as_str()), (1, "edge-26.8.2"));
        assert_eq!(
            (upstream.dependencies, upstream.upkeep, upstream.others, upstream.without_notes),
            (1, 1, 2, 1)
        );
        assert!(!upstream.advised);
    }
}
