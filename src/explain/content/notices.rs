//! Step 9, explain: what is known of the releases on the way, and whether it touches this repository.
//!
//! In: notices of the knowledge, and what the repository has. Out: [`Told`] notices, and how many touch nothing here.
//! What cannot be told is shown with its condition. Pure.

use std::{cell::OnceCell, collections::BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Material, listed, word_of};
use crate::{
    linkerd::{CRDS, EdgeVersion, Notice, Touches},
    repo::{Entry, RepoPath},
};

/// The largest file in which objects are looked for.
const CEILING: u64 = 4 << 20;
/// How many places are named.
const NAMED: usize = 3;

/// A notice that touches this repository, or may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Told {
    /// The release.
    pub release: String,
    /// The sort: `breaking`, `one-way`, `requirement`, `default`.
    pub kind: String,
    /// The change.
    pub text: String,
    /// Whom it touches.
    pub condition: Option<String>,
    /// Where it was said.
    pub source: String,
    /// What of it this repository has; `None` where that cannot be told.
    pub evidence: Option<String>,
}

/// Whether a notice touches.
enum Touch {
    Yes(String),
    No,
    Unknown,
}

/// Says which notices between two releases touch, breaking ones first, and how many do not.
pub(super) fn of(material: &Material<'_>, from: EdgeVersion) -> (Vec<Told>, usize) {
    let repository = Repository { material, from, files: OnceCell::new() };
    let (mut told, mut untouched) = (Vec::new(), 0);
    for notice in material.catalog.notices_between(from, material.plan.to) {
        match repository.touched(notice) {
            Touch::No => untouched += 1,
            Touch::Yes(evidence) => told.push((notice.kind, tell(notice, Some(evidence)))),
            Touch::Unknown => told.push((notice.kind, tell(notice, None))),
        }
    }
    told.sort_by_key(|(kind, _)| *kind);
    (told.into_iter().map(|(_, told)| told).collect(), untouched)
}

fn tell(notice: &Notice, evidence: Option<String>) -> Told {
    Told {
        release: notice.release.to_string(),
        kind: word_of(&notice.kind),
        text: notice.text.clone(),
        condition: notice.condition.clone(),
        source: notice.source.clone(),
        evidence,
    }
}

/// What a repository has, looked up where a notice asks.
struct Repository<'a> {
    material: &'a Material<'a>,
    /// The oldest release that is left.
    from: EdgeVersion,
    /// Files with objects, read when the first notice asks for a kind.
    files: OnceCell<Vec<(&'a Entry, String)>>,
}

// === impl Repository ===

impl<'a> Repository<'a> {
    fn touched(&self, notice: &Notice) -> Touch {
        match (&notice.touches, &notice.condition) {
            (Some(touches), _) => self.any(touches),
            (None, None) => Touch::Yes("this concerns every installation".to_owned()),
            (None, Some(_)) => Touch::Unknown,
        }
    }

    fn any(&self, touches: &Touches) -> Touch {
        let charts = touches.charts.iter().map(|chart| self.chart(chart));
        let kinds = touches.kinds.iter().map(|kind| self.kind(kind));
        let objects = touches.objects.iter().map(|name| self.object(name));
        let values = touches.values.iter().map(|value| self.value(value, true));
        let unset = touches.unset.iter().map(|value| self.value(value, false));
        let mut answer = Touch::No;
        for touch in charts.chain(values).chain(unset).chain(objects).chain(kinds) {
            match touch {
                Touch::Yes(_) => return touch,
                Touch::Unknown => answer = Touch::Unknown,
                Touch::No => {}
            }
        }
        answer
    }

    fn chart(&self, chart: &str) -> Touch {
        let Material { inventory, rendered, .. } = self.material;
        let pin = inventory.pins().find(|pin| pin.is_of(chart)).map(super::place);
        let rendering = || rendered.done.iter().find(|r| r.from.name == chart).map(|r| r.path.to_string());
        match pin.or_else(rendering) {
            Some(place) => Touch::Yes(format!("{chart} at {place}")),
            None => Touch::No,
        }
    }

    /// Looks for an object among those that the charts make now.
    fn object(&self, name: &str) -> Touch {
        let done = &self.material.rendered.done;
        let has = done.iter().find(|r| r.before.objects.iter().any(|o| o.key.name == name));
        match has {
            Some(rendering) => Touch::Yes(format!("{} makes {name}", rendering.from.name)),
            None if done.iter().any(|r| r.from.name == CRDS) => Touch::No,
            None => Touch::Unknown,
        }
    }

    fn value(&self, value: &str, set: bool) -> Touch {
        let Some((chart, path)) = value.split_once(':') else { return Touch::Unknown };
        let mut of_chart = self.material.rendered.done.iter().filter(|r| r.to.name == chart).peekable();
        if of_chart.peek().is_none() {
            return if matches!(self.chart(chart), Touch::No) { Touch::No } else { Touch::Unknown };
        }
        let is_set = |values: &Value| path.split('.').try_fold(values, |value, key| value.get(key)).is_some();
        match of_chart.find(|r| is_set(&r.values_after) == set) {
            Some(rendering) => {
                let how = if set { "is set" } else { "is not set" };
                Touch::Yes(format!("{path} {how} at {}:{}", rendering.path, rendering.line))
            }
            None => Touch::No,
        }
    }

    /// Looks for objects of a kind in the repository's files.
    fn kind(&self, kind: &str) -> Touch {
        let Some((group, kind)) = kind.rsplit_once('/') else { return Touch::Unknown };
        let found: BTreeSet<&RepoPath> = self
            .files()
            .iter()
            .filter(|(_, text)| has_object(text, group, kind))
            .map(|(entry, _)| &entry.path)
            .collect();
        match found.is_empty() {
            true => Touch::No,
            false => Touch::Yes(format!("{kind} in {}", listed(found, NAMED))),
        }
    }

    /// The files that may have an object that a notice asks for. A file is looked for by one word: Linkerd's groups stand
    /// nowhere else, and of another's group the kind is the rarer word.
    fn files(&self) -> &[(&'a Entry, String)] {
        self.files.get_or_init(|| {
            let Material { plan, catalog, tree, .. } = *self.material;
            let notices = catalog.notices_between(self.from, plan.to);
            let kinds = notices.flat_map(|notice| &notice.touches).flat_map(|touches| &touches.kinds);
            let words = kinds.filter_map(|kind| kind.rsplit_once('/'));
            let words = words.map(|(group, kind)| if group.ends_with("linkerd.io") { group } else { kind });
            let words: BTreeSet<&str> = words.collect();
            tree.mentioning(&Vec::from_iter(words), CEILING)
        })
    }
}

fn has_object(text: &str, group: &str, kind: &str) -> bool {
    if !text.contains(kind) || !text.contains(group) {
        return false;
    }
    let value_of = |line: &str, key: &str| {
        let line = line.trim().trim_start_matches("- ").trim_start_matches(['{', ' ']);
        let rest = line
            .trim_start_matches('"')
            .strip_prefix(key)?
            .trim_start_matches('"')
            .trim()
            .strip_prefix(':')?;
        let value = rest.trim().trim_matches(['"', '\'', ',']);
        Some(value.split([' ', '"', '\'', ',']).next().unwrap_or_default().to_owned())
    };
    let is_kind = |line: &str| value_of(line, "kind").is_some_and(|value| value == kind);
    let of_group = |line: &str| {
        value_of(line, "apiVersion")
            .is_some_and(|v| v.rsplit_once('/').is_some_and(|(found, _)| found == group))
    };
    text.split("\n---").any(|document| document.lines().any(is_kind) && document.lines().any(of_group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_by_group_and_kind() {
        let profile = "apiVersion: linkerd.io/v1alpha2\nkind: ServiceProfile\nmetadata: {name: a}\n";
        assert!(has_object(profile, "linkerd.io", "ServiceProfile"));
        assert!(!has_object(profile, "policy.linkerd.io", "Server"));
        let longer = "apiVersion: policy.linkerd.io/v1beta1\nkind: ServerAuthorization\n";
        assert!(!has_object(longer, "policy.linkerd.io", "Server"));
        let apart =
            "apiVersion: policy.linkerd.io/v1beta1\nkind: X\n---\napiVersion: other/v1\nkind: Server\n";
        assert!(!has_object(apart, "policy.linkerd.io", "Server"));
        let json = "{\n \"apiVersion\": \"linkerd.io/v1alpha2\",\n \"kind\": \"ServiceProfile\"\n}\n";
        assert!(has_object(json, "linkerd.io", "ServiceProfile"));
    }
}
