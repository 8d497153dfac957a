//! Step 8, verify: what the checks of rendered objects share: both sides of a rendering by key, who deploys it.

use std::collections::BTreeMap;

use super::{Finding, Verification};
use crate::{
    pins::Applier,
    render::{Object, ObjectChange, ObjectDiff, ObjectKey, Rendering},
    repo::RepoPath,
    yaml::{Node, Stream, position},
};

/// A rendering with its difference and its objects by key.
pub(super) struct Compared<'r> {
    pub(super) rendering: &'r Rendering,
    pub(super) diff: &'r ObjectDiff,
    pub(super) before: BTreeMap<&'r ObjectKey, &'r Object>,
    pub(super) after: BTreeMap<&'r ObjectKey, &'r Object>,
}

/// Who brings a rendering's objects to the cluster, as far as it decides what becomes of those that vanish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deployer {
    /// Flux through a HelmRelease: Helm itself, which honours `helm.sh/resource-policy` and runs hooks.
    FluxHelm,
    /// Argo CD, which applies what Helm prints, and treats Helm's hooks as its own.
    Argo,
    /// Whoever deploys an umbrella chart: Helm or Argo CD.
    Umbrella,
    /// Anything else, or not known: the objects are applied as they are.
    Applied,
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

/// Finds out who deploys a rendering.
pub(super) fn deployer(input: &Verification<'_>, rendering: &Rendering) -> Deployer {
    if rendering.committed {
        return Deployer::Applied;
    }
    if rendering.path.name() == "Chart.yaml" {
        return Deployer::Umbrella;
    }
    let kind = with_root(input, rendering, |root| {
        Some(match root.text(&["kind"])? {
            "HelmRelease" => Deployer::FluxHelm,
            "Application" | "ApplicationSet" => Deployer::Argo,
            _ => Deployer::Applied,
        })
    });
    kind.unwrap_or(Deployer::Applied)
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

/// Tells whether the Argo CD application of a rendering says that none of its objects is pruned.
pub(super) fn argo_never_prunes(input: &Verification<'_>, rendering: &Rendering) -> bool {
    let says = with_root(input, rendering, |root| {
        let policy = match root.text(&["kind"])? {
            "Application" => root.get("spec")?.get("syncPolicy")?,
            "ApplicationSet" => root.get("spec")?.get("template")?.get("spec")?.get("syncPolicy")?,
            _ => return None,
        };
        let options = policy.get("syncOptions").filter(|options| options.is_sequence())?;
        Some(options.items().any(|option| option.text(&[]) == Some("Prune=false")))
    });
    !rendering.committed && says == Some(true)
}

/// Looks at the object that has a rendering deployed.
fn with_root<T>(
    input: &Verification<'_>,
    rendering: &Rendering,
    look: impl Fn(Node<'_>) -> Option<T>,
) -> Option<T> {
    let text = text(input, &rendering.path)?;
    let stream = Stream::parse(&text).ok()?;
    let begun = |root: &Node<'_>| position(&text, root.span().start).0 <= rendering.line;
    look(stream.roots().filter(begun).last()?)
}

/// Reads a text file of the base commit.
pub(super) fn text(input: &Verification<'_>, path: &RepoPath) -> Option<String> {
    let entries = input.before.entries();
    let at = entries.binary_search_by(|entry| entry.path.cmp(path)).ok()?;
    String::from_utf8(input.before.read(entries.get(at)?.id).ok()?).ok()
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
