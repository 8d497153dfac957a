//! Step 9, explain: how the objects of one chart differ, field by field.
//!
//! In: a rendering and its difference. Out: a [`ChartChange`]. Fields that only say the new release are counted and not
//! listed; values are shown as the renderer masks them. Pure.

use schemars::JsonSchema;
use serde::Serialize;

use super::count;
use crate::render::{FieldChange, ObjectChange, ObjectDiff, Rendering, is_version_only};

/// The objects of one chart, of several deployments where they change alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChartChange {
    /// The chart.
    pub chart: String,
    /// Its version before.
    pub from: String,
    /// Its version after.
    pub to: String,
    /// `path:line` of what deploys it.
    pub places: Vec<String>,
    /// Whether its output is committed.
    pub committed: bool,
    /// How many objects it makes after the change.
    pub objects: usize,
    /// How many differ.
    pub changed: usize,
    /// Objects that are new.
    pub added: Vec<String>,
    /// Objects that are gone.
    pub removed: Vec<String>,
    /// How many fields differ.
    pub fields: usize,
    /// How many of them only say the new release.
    pub version_fields: usize,
    /// What else there is, in short.
    pub beyond: String,
    /// Objects that differ in more than the version.
    pub objects_changed: Vec<Changed>,
}

/// How an object differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changed {
    /// The object.
    pub object: String,
    /// Its fields that say more than the new release.
    pub fields: Vec<Field>,
    /// How many others only say the new release.
    pub version_fields: usize,
    /// Lists whose items changed places.
    pub reordered: Vec<String>,
}

/// How a field differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Field {
    /// Where it is in the object.
    pub path: String,
    /// What was there, masked where it is secret.
    pub before: Option<String>,
    /// What is there.
    pub after: Option<String>,
}

/// Tells how a chart's objects differ; `topics` counts what its fields are about beyond the version.
pub(super) fn of(rendering: &Rendering, diff: &ObjectDiff, topics: &[(&'static str, usize)]) -> ChartChange {
    let objects_changed: Vec<Changed> = diff.changed.iter().filter_map(|c| changed(rendering, c)).collect();
    let fields = diff.fields().count();
    let beyond: usize = objects_changed.iter().map(|c| c.fields.len()).sum();
    ChartChange {
        chart: rendering.to.name.clone(),
        from: rendering.from.version.clone(),
        to: rendering.to.version.clone(),
        places: vec![format!("{}:{}", rendering.path, rendering.line)],
        committed: rendering.committed,
        objects: rendering.after.objects.len(),
        changed: diff.changed.len(),
        added: diff.added.iter().map(ToString::to_string).collect(),
        removed: diff.removed.iter().map(ToString::to_string).collect(),
        fields,
        version_fields: fields - beyond,
        beyond: summary(topics, beyond, objects_changed.iter().map(|c| c.reordered.len()).sum()),
        objects_changed,
    }
}

// === impl ChartChange ===

impl ChartChange {
    /// Tells whether nothing changes but the release that the objects name.
    pub(super) fn is_version_only(&self) -> bool {
        self.objects_changed.is_empty() && self.added.is_empty() && self.removed.is_empty()
    }

    /// Tells whether another deployment changes alike.
    fn is_like(&self, other: &Self) -> bool {
        let counts = |c: &Self| (c.objects, c.changed, c.fields, c.version_fields, c.committed);
        let chart = |c: &Self| [c.chart.clone(), c.from.clone(), c.to.clone()];
        counts(self) == counts(other)
            && chart(self) == chart(other)
            && (&self.added, &self.removed) == (&other.added, &other.removed)
            && self.objects_changed == other.objects_changed
    }
}

/// Puts charts that change alike together.
pub(super) fn together(all: Vec<ChartChange>) -> Vec<ChartChange> {
    let mut charts: Vec<ChartChange> = Vec::new();
    for one in all {
        match charts.iter_mut().find(|known| known.is_like(&one)) {
            Some(known) => known.places.extend(one.places),
            None => charts.push(one),
        }
    }
    charts
}

fn changed(rendering: &Rendering, change: &ObjectChange) -> Option<Changed> {
    let version_only = |field: &&FieldChange| is_version_only(field, &rendering.from, &rendering.to);
    let (version, beyond): (Vec<&FieldChange>, Vec<&FieldChange>) =
        change.fields.iter().partition(version_only);
    (!beyond.is_empty() || !change.reordered.is_empty()).then(|| Changed {
        object: change.key.to_string(),
        fields: beyond.into_iter().map(field).collect(),
        version_fields: version.len(),
        reordered: change.reordered.iter().map(ToString::to_string).collect(),
    })
}

fn field(change: &FieldChange) -> Field {
    let (before, after) = (change.shown_before(), change.shown_after());
    Field { path: change.path.to_string(), before, after }
}

fn summary(topics: &[(&'static str, usize)], fields: usize, reordered: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    if fields > 0 {
        let about: Vec<String> =
            topics.iter().filter(|(_, n)| *n > 0).map(|(topic, n)| format!("{n} {topic}")).collect();
        let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
        parts.push(format!("{}{about}", count(fields, "field")));
    }
    if reordered > 0 {
        parts.push(format!("{} in another order", count(reordered, "list")));
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::content::testing::{pod, rendering};

    #[test]
    fn version_fields_are_counted_and_others_listed() {
        let one = rendering(
            &(pod("a", "x/proxy:edge-26.8.2") + "---\n" + &pod("b", "x/init:v1")),
            &(pod("a", "x/proxy:edge-26.8.3") + "---\n" + &pod("b", "x/init:v2")),
        );
        let found = of(&one, one.diff(), &[("image", 1)]);
        assert_eq!((found.objects, found.changed, found.fields, found.version_fields), (2, 2, 2, 1));
        assert_eq!(found.objects_changed.len(), 1);
        assert_eq!(found.objects_changed[0].fields[0].after.as_deref(), Some("x/init:v2"));
        assert_eq!(found.beyond, "1 field (1 image)");
    }

    #[test]
    fn what_changes_alike_is_told_once() {
        let one = || {
            let one = rendering(&pod("a", "x/init:v1"), &pod("a", "x/init:v2"));
            of(&one, one.diff(), &[])
        };
        let other = {
            let one = rendering(&pod("a", "x/init:v1"), &pod("a", "x/init:v3"));
            of(&one, one.diff(), &[])
        };
        let found = together(vec![one(), other, one()]);
        assert_eq!(found.iter().map(|c| c.places.len()).collect::<Vec<_>>(), [2, 1]);
    }
}
