//! Step 8, verify: what the checks of rendered objects share: both sides of a rendering by key, who applies it.

use std::collections::BTreeMap;

use super::{Finding, Verification};
use crate::{
    pins::Applier,
    render::{Object, ObjectChange, ObjectDiff, ObjectKey, Rendering},
};

/// A rendering with its difference and its objects by key.
pub(super) struct Compared<'r> {
    pub(super) rendering: &'r Rendering,
    pub(super) diff: &'r ObjectDiff,
    pub(super) before: BTreeMap<&'r ObjectKey, &'r Object>,
    pub(super) after: BTreeMap<&'r ObjectKey, &'r Object>,
}

/// Compares every rendering.
pub(super) fn compared<'r>(input: &Verification<'r>) -> Vec<Compared<'r>> {
    let by_key = |objects: &'r [Object]| objects.iter().map(|o| (&o.key, o)).collect();
    let one = |rendering: &'r Rendering| Compared {
        rendering,
        diff: rendering.diff(),
        before: by_key(&rendering.before.objects),
        after: by_key(&rendering.after.objects),
    };
    input.rendered.done.iter().map(one).collect()
}

/// Says what the checks of rendered objects looked at.
pub(super) fn looked_at(what: &str, all: &[Compared<'_>]) -> String {
    match all.iter().map(|c| c.after.len().max(c.before.len())).sum::<usize>() {
        0 => "nothing: no chart was rendered".to_owned(),
        objects => format!("{what} among {}", super::count(objects, "rendered object")),
    }
}

/// Lists who applies the file of an object to the cluster, as far as the repository shows it.
pub(super) fn appliers<'i>(
    input: &Verification<'i>,
    rendering: &Rendering,
    key: &ObjectKey,
) -> &'i [Applier] {
    let (path, _) = rendering.place(key);
    input.inventory.facts.appliers.get(path).map_or(&[], Vec::as_slice)
}

// === impl Compared ===

impl<'r> Compared<'r> {
    /// Returns the objects that are in both and differ, with both sides.
    pub(super) fn changed(&self) -> impl Iterator<Item = (&ObjectChange, &'r Object, &'r Object)> {
        self.diff
            .changed
            .iter()
            .filter_map(|c| Some((c, *self.before.get(&c.key)?, *self.after.get(&c.key)?)))
    }

    /// Places a finding at an object.
    pub(super) fn at(&self, key: &ObjectKey, finding: Finding) -> Finding {
        let (path, line) = self.rendering.place(key);
        finding.at(path, line)
    }
}
