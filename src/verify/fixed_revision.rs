//! Step 8, verify: what deploys the repository at a commit, a tag, or another branch.
//!
//! In: the moving pins, and who applies their files. Out: an `info` for each that a merge does not reach, since nothing is
//! applied there until its revision is moved, and then all of it at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{CheckId, Checked, Finding, PRINTED, Verification, count};
use crate::{
    deploy::{Object, Scalar, Source, TreeFiles, fleet::GitRepo, read},
    pins::{Applier, PinKind, Revision},
    repo::RepoPath,
    yaml::{Ceilings, position},
};

pub(super) const ID: CheckId = CheckId::FixedRevision;

/// What a file with an object of Fleet's has in it.
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
    let moving: BTreeSet<&str> = input.moving().map(|(pin, _)| pin.path.folder()).collect();
    let ceilings = Ceilings::default();
    let files = TreeFiles::new(input.before, ceilings).of(input.inventory.facts.repositories.clone());
    let mut found = Vec::new();
    for (entry, text) in input.before.mentioning(&[FLEET], PRINTED) {
        let source = Arc::new(Source { path: entry.path.clone(), blob: entry.id, text: text.into() });
        let Ok(documents) = read::documents(&Scalar::file(&source), &ceilings) else { continue };
        let objects = documents.iter().flat_map(|document| Object::all(document, &entry.path));
        let repos = objects.filter_map(|object| GitRepo::of(&files, &object));
        let bringing = repos.filter(|repo| moving.iter().any(|folder| repo.around(folder).is_some()));
        found.extend(bringing.filter_map(|repo| of_repo(&repo, input.base)));
    }
    found
}

/// Says it of a GitRepo; `None` where it does not say what it brings.
fn of_repo(repo: &GitRepo, base: &str) -> Option<Finding> {
    let fixed = repo.revision.as_ref().map(|text| (text, Revision::Fixed(text.text().into_owned())));
    let branch = repo.branch.as_ref().map(|text| (text, Revision::Branch(text.text().into_owned())));
    let (text, revision) = fixed.or(branch)?;
    let line = text.origins().next().map(|at| position(&at.source.text, at.span.start).0);
    Some(finding(&repo.name, &revision, base)?.at(&repo.file, line))
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
    fn fleet_brings_a_revision_of_its_folders() {
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
        for brought in [
            "branch: release, paths: ['c*']",
            "branch: release, bundles: [{base: cp}]",
            "branch: release, repo: 'https://git.test/mesh'",
        ] {
            assert_eq!(severities(&of(brought)), [Info], "{brought}");
        }
        for moved in [
            "branch: main, paths: [cp]",
            "paths: [cp]",
            "revision: v1.2.3, paths: [ns, cp-2]",
            "revision: v1.2.3, paths: [cp], bundles: [{base: ns}]",
        ] {
            assert_eq!(of(moved), [], "{moved}");
        }
    }
}
