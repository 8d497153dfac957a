//! Step 8, verify: what deploys the repository at a commit, a tag, or another branch.
//!
//! In: the moving pins, and who applies their files. Out: an `info` for each that a merge does not reach, since nothing is
//! applied there until its revision is moved, and then all of it at once.

use std::collections::BTreeMap;

use super::{CheckId, Checked, Finding, Verification, count};
use crate::{
    pins::{Applier, Revision},
    repo::RepoPath,
};

pub(super) const ID: CheckId = CheckId::FixedRevision;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let all = &input.inventory.facts.appliers;
    let appliers = input.moving().filter_map(|(pin, _)| all.get(&pin.path)).flatten();
    let appliers: BTreeMap<(&RepoPath, usize), &Applier> =
        appliers.map(|applier| ((&applier.path, applier.line), applier)).collect();
    let findings = appliers.values().filter_map(|applier| {
        let (revision, hint) = match applier.revision.as_ref()? {
            Revision::Fixed(name) => (name, "move that revision once this is merged".to_owned()),
            Revision::Branch(name) if is_moved(name, input.base) => return None,
            Revision::Branch(name) => (name, format!("merge `{}` into `{name}` once this is merged", input.base)),
        };
        let reason = format!(
            "`{}` is deployed at `{revision}`, which this merge does not move: it gets the change with a later one",
            applier.name
        );
        Some(Finding::info(ID, reason).at(&applier.path, Some(applier.line)).hint(hint))
    });
    let findings = findings.collect();
    Checked { looked_at: format!("the revisions of {}", count(appliers.len(), "root")), findings }
}

/// Tells whether a merge into the base moves a branch, as far as is known: a detached HEAD is of any.
fn is_moved(branch: &str, base: &str) -> bool {
    branch == base || base == "HEAD"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detached_head_is_of_any_branch() {
        assert!(is_moved("main", "main") && is_moved("main", "HEAD") && !is_moved("release", "main"));
    }
    use crate::{
        plan::testing::path,
        verify::{Severity::*, testing::*},
    };

    #[test]
    fn who_stays_at_a_tag_or_another_branch_is_named_once() {
        let applier = |name: &str, line: usize, revision: Option<Revision>| Applier {
            name: name.to_owned(),
            namespace: None,
            path: path("clusters.yaml"),
            line,
            flux: true,
            prunes: false,
            replaces: false,
            waits: false,
            revision,
        };
        let fixed = Revision::Fixed("v1.4.0".to_owned());
        let branch = |name: &str| Some(Revision::Branch(name.to_owned()));
        let all = vec![
            applier("dev", 1, None),
            applier("prod", 9, Some(fixed)),
            applier("test", 17, branch("main")),
            applier("stage", 25, branch("release")),
        ];
        let case = Case::default().pins(|b| {
            b.chart("a.yaml", "linkerd-crds", "2026.8.2")
                .chart("b.yaml", "linkerd-viz", "2026.8.2")
                .facts(|facts| facts.appliers = ["a.yaml", "b.yaml"].map(|at| (path(at), all.clone())).into())
        });
        let found = case.check(ID);
        assert_eq!(severities(&found), [Info, Info]);
        assert!(found[0].reason.starts_with("`prod` is deployed at `v1.4.0`"), "{}", found[0].reason);
        assert_eq!(found[0].place.as_ref().unwrap().line, Some(9));
        assert!(found[1].reason.starts_with("`stage` is deployed at `release`"), "{}", found[1].reason);
        assert_eq!(found[1].hint.as_deref(), Some("merge `main` into `release` once this is merged"));
    }
}
