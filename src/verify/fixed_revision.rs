//! Step 8, verify: what deploys the repository at a commit, a tag, or another branch.
//!
//! In: the moving pins, and who applies their files. Out: an `info` for each that a merge does not reach, since nothing is
//! applied there until its revision is moved, and then all of it at once.

use std::collections::{BTreeMap, BTreeSet};

use super::{CheckId, Checked, Finding, PRINTED, Verification, count};
use crate::{
    pins::{Applier, PinKind, Revision},
    repo::RepoPath,
    yaml::{Node, Stream, position},
};

pub(super) const ID: CheckId = CheckId::FixedRevision;

/// The group of Fleet's objects.
const FLEET: &str = "fleet.cattle.io/";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let all = &input.inventory.facts.appliers;
    let appliers = input.moving().filter_map(|(pin, _)| all.get(&pin.path)).flatten();
    let appliers: BTreeMap<(&RepoPath, usize), &Applier> =
        appliers.map(|applier| ((&applier.path, applier.line), applier)).collect();
    let findings = appliers.values().filter_map(|applier| {
        finding(&applier.name, applier.revision.as_ref()?, input.base)
            .map(|found| found.at(&applier.path, Some(applier.line)))
    });
    let findings = findings.chain(of_fleet(input)).collect();
    Checked { looked_at: format!("the revisions of {}", count(appliers.len(), "root")), findings }
}

/// Says of who deploys something at a revision that a merge does not move it; `None` where it does.
fn finding(name: &str, revision: &Revision, base: &str) -> Option<Finding> {
    let (revision, hint) = match revision {
        Revision::Fixed(name) => (name, "move that revision once this is merged".to_owned()),
        Revision::Branch(name) if is_moved(name, base) => return None,
        Revision::Branch(name) => (name, format!("merge `{base}` into `{name}` once this is merged")),
    };
    let reason = format!(
        "`{name}` is deployed at `{revision}`, which this merge does not move: it gets the change with a later one"
    );
    Some(Finding::info(ID, reason).hint(hint))
}

/// Finds the GitRepos of Fleet's that bring what moves, and are not moved by this merge.
fn of_fleet(input: &Verification<'_>) -> Vec<Finding> {
    // Every small file is read for it.
    if !input.inventory.pins().any(|pin| pin.kind == PinKind::Fleet) {
        return Vec::new();
    }
    let moving: BTreeSet<&RepoPath> = input.moving().map(|(pin, _)| &pin.path).collect();
    let mut found = Vec::new();
    for (entry, text) in input.before.mentioning(&[FLEET], PRINTED) {
        let Ok(stream) = Stream::parse(&text) else { continue };
        let of_object = |object| {
            let (revision, at) = revision(object)?;
            let name = object.text(&["metadata", "name"]).unwrap_or_default();
            let brings = moving.iter().any(|path| lies_in(path, object));
            let finding = finding(name, &revision, input.base).filter(|_| brings)?;
            Some(finding.at(&entry.path, position(&text, at).0))
        };
        found.extend(stream.roots().filter_map(of_object));
    }
    found
}

/// Reads what of its repository a GitRepo brings, and the first byte of that; `None` where it does not say it, or the object is
/// another one.
fn revision(object: Node<'_>) -> Option<(Revision, usize)> {
    let is_repo = object.text(&["kind"]) == Some("GitRepo")
        && object.text(&["apiVersion"]).is_some_and(|version| version.starts_with(FLEET));
    let said = |key: &str| {
        let node = object.path(&["spec", key]).filter(|_| is_repo)?;
        let text = node.as_str().filter(|text| !text.is_empty())?;
        Some((text.to_owned(), node.span().start))
    };
    // It counts before the branch.
    let fixed = said("revision").map(|(text, at)| (Revision::Fixed(text), at));
    fixed.or_else(|| said("branch").map(|(text, at)| (Revision::Branch(text), at)))
}

/// Tells whether a file lies in one of the folders that a GitRepo names.
fn lies_in(path: &RepoPath, repo: Node<'_>) -> bool {
    let folders = repo.path(&["spec", "paths"]).into_iter().flat_map(Node::items).filter_map(Node::as_str);
    let mut globs = folders.filter_map(|folder| {
        let folder = folder.trim_start_matches("./").trim_matches('/');
        globset::Glob::new(&format!("{folder}/**")).ok()
    });
    globs.any(|glob| glob.compile_matcher().is_match(path.as_str()))
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

    #[test]
    fn fleet_brings_a_revision_of_the_folders_that_it_names() {
        let of = |spec: &str| {
            let repo = format!(
                "apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nmetadata: {{name: mesh}}\nspec: {{{spec}}}\n"
            );
            let case = Case::default()
                .pins(|b| b.pin("cp/fleet.yaml", PinKind::Fleet, "2026.8.2").of("linkerd-control-plane"));
            case.file("gitrepo.yaml", &repo).check(ID)
        };
        let found = of("revision: v1.2.3, branch: main, paths: [./cp/]");
        assert_eq!(severities(&found), [Info]);
        assert!(found[0].reason.starts_with("`mesh` is deployed at `v1.2.3`"), "{}", found[0].reason);
        assert_eq!(found[0].place.as_ref().unwrap().line, Some(4));
        assert_eq!(severities(&of("branch: release, paths: ['c*']")), [Info]);
        for moved in ["branch: main, paths: [cp]", "paths: [cp]", "revision: v1.2.3, paths: [ns, cp-2]"] {
            assert_eq!(of(moved), [], "{moved}");
        }
    }
}
