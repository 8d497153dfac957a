//! What keeps a single release from being taken: the policy's rules, its age, its charts.
//!
//! In: one release with policy, needs and time. Out: the reason, or none. Pure.

use jiff::Timestamp;

use super::{Absence, Absent, Channel, ChartNeed, Hold, HoldReason, Needs, Policy};
use crate::{
    linkerd::{EdgeVersion, retired_chart},
    release::{Catalog, FeedState, Guidance, Release},
};

/// The first release whose charts carry its own version, `YYYY.M.N`.
const OWN_CHART_VERSION: (u16, u8, u32) = (24, 3, 1);

/// All that a decision rests on.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    /// What the configuration allows.
    pub policy: &'a Policy,
    /// What there is.
    pub catalog: &'a Catalog,
    /// What the repository asks for.
    pub needs: &'a Needs,
    /// The time.
    pub now: Timestamp,
}

/// Returns the charts that the repository pins and the index lacks at the release's version, each with a word
/// on why where more is known. Nothing is demanded of an index that the operator has turned off; what comes from a
/// mirror is the mirror's to have.
pub fn missing_charts(catalog: &Catalog, version: EdgeVersion, needs: &[ChartNeed]) -> Vec<String> {
    if catalog.feed("charts") == Some(&FeedState::Off) {
        return Vec::new();
    }
    let charts = catalog.get(version).map(|release| &release.charts);
    let there = |need: &ChartNeed| {
        let chart = charts.and_then(|charts| charts.get(&need.chart));
        chart.is_some_and(|c| version.triple() < OWN_CHART_VERSION || c.version == version.chart())
    };
    let missing = needs.iter().filter(|need| need.mirror.is_none() && !there(need));
    missing.map(|need| with_fate(&need.chart)).collect()
}

fn with_fate(chart: &str) -> String {
    match retired_chart(chart) {
        Some(retired) => {
            let last = retired.last.map(|last| format!("; the last is {last}")).unwrap_or_default();
            format!("{chart} (no longer published{last}; {})", retired.instead)
        }
        None => chart.to_owned(),
    }
}

// === impl Question ===

impl Question<'_> {
    /// Says why the policy passes a release over.
    pub(super) fn passed_over(&self, release: &Release) -> Option<String> {
        self.left_out(release).or_else(|| match self.policy.channel {
            Channel::Recommended if !matches!(release.guidance, Guidance::Recommended { .. }) => {
                Some("not marked as recommended".to_owned())
            }
            Channel::Milestone if !release.is_milestone => {
                Some("not the first edge of a milestone".to_owned())
            }
            _ => None,
        })
    }

    /// Says why a release is never stopped at, not even as a required hop.
    pub(super) fn left_out(&self, release: &Release) -> Option<String> {
        let version = release.version;
        if self.policy.skip.contains(&version) {
            return Some("listed in `policy.skip`".to_owned());
        }
        if let Some(range) = &self.policy.range {
            let below = range.from.is_some_and(|from| version < from);
            let above = range.to.is_some_and(|to| version > to);
            if below || above {
                return Some(format!("{} `policy.range`", if below { "below" } else { "above" }));
            }
        }
        if let Some(reason) = self.needs.before.iter().find_map(|before| before.lacks(version)) {
            return Some(reason);
        }
        match &release.guidance {
            Guidance::NotRecommended { instead, note, source } => {
                Some(advised_against(instead, note, source))
            }
            _ => None,
        }
    }

    /// Says why an eligible release cannot be taken yet.
    pub(super) fn waits(&self, release: &Release) -> Option<Hold> {
        let hold = |reason, until| Some(Hold { reason, release: Some(release.version), until });
        let before = self.needs.before.iter().filter_map(|before| before.waits(release.version, self.now));
        if let Some(last) = before.max_by_key(|hold| (hold.until.is_none(), hold.until)) {
            return Some(last);
        }
        if self.policy.soak.is_positive() {
            let Some(published) = release.published else {
                return hold(HoldReason::NoDate { missing: self.missing_date() }, None);
            };
            // A sum beyond the calendar has no end that could be named, and is not old enough either.
            let until = published.checked_add(self.policy.soak).ok();
            if until.is_none_or(|until| until > self.now) {
                return hold(HoldReason::Soak, until);
            }
        }
        let charts = missing_charts(self.catalog, release.version, &self.needs.charts);
        if charts.is_empty() {
            return self.lacking_mirror(release.version).and_then(|reason| hold(reason, None));
        }
        match self.catalog.feed("charts") {
            Some(FeedState::Failed(reason)) => hold(HoldReason::IndexUnread { reason: reason.clone() }, None),
            _ => hold(HoldReason::NotReady { charts }, None),
        }
    }

    /// Says which mirror does not have a release, as far as mirrors were asked.
    fn lacking_mirror(&self, version: EdgeVersion) -> Option<HoldReason> {
        let absent = |absent: &&Absent| match &absent.absence {
            Absence::Of(release) => *release == version,
            Absence::Unread(_) => true,
        };
        let absent: Vec<&Absent> = self.needs.absent.iter().filter(absent).collect();
        let mirror = absent.first()?.need.mirror.clone()?;
        let of_it = absent.iter().filter(|absent| absent.need.mirror.as_ref() == Some(&mirror));
        let unread = of_it.clone().find_map(|absent| match &absent.absence {
            Absence::Unread(reason) => Some(reason.clone()),
            Absence::Of(_) => None,
        });
        let charts = || of_it.map(|absent| with_fate(&absent.need.chart)).collect();
        Some(match unread {
            Some(reason) => HoldReason::MirrorUnread { mirror, reason },
            None => HoldReason::MirrorLacks { charts: charts(), mirror },
        })
    }

    /// Names the feed that would give a release its date.
    fn missing_date(&self) -> String {
        match self.catalog.feed("releases") {
            Some(FeedState::Off) => "the feed `releases` is off".to_owned(),
            Some(FeedState::Failed(why)) => format!("the feed `releases` could not be read: {why}"),
            _ => "the feed `releases` gives none".to_owned(),
        }
    }
}

fn advised_against(instead: &[EdgeVersion], note: &str, source: &str) -> String {
    let mut text = format!("advised against ({source})");
    if !note.is_empty() {
        text.push_str(": ");
        text.push_str(note);
    }
    if !instead.is_empty() {
        let names: Vec<_> = instead.iter().map(ToString::to_string).collect();
        text.push_str(&format!("; instead: {}", names.join(", ")));
    }
    text
}
