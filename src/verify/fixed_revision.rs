//! Step 8, verify: what deploys the repository at a commit, a tag, or another branch.
//!
//! In: the moving pins, and who applies their files. Out: an `info` for each that a merge does not reach, since nothing is
//! applied there until its revision is moved, and then all of it at once. Proxies that a merge reaches beside a control plane that
//! it does not are a `warn`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{CheckId, Checked, Finding, PRINTED, Verification, count};
use crate::{
    deploy::{Object, Scalar, Source, TreeFiles, fleet::GitRepo, read},
    linkerd::CONTROL_PLANE,
    pins::{Applier, Pin, PinKind, Revision, Stage},
    repo::RepoPath,
    yaml::{Ceilings, position},
};

pub(super) const ID: CheckId = CheckId::FixedRevision;

/// What a file with an object of Fleet's has in it.
const FLEET: &str = "fleet.cattle.io/";
/// What proxies wait for.
const BEFORE: &str = "the control plane has to run the release before its proxies do";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let all = &input.inventory.facts.appliers;
    let appliers = input.moving().filter_map(|(pin, _)| all.get(&pin.path)).flatten();
    let appliers: BTreeMap<(&RepoPath, usize), &Applier> =
        appliers.map(|applier| ((&applier.path, applier.line), applier)).collect();
    let findings = appliers.values().filter_map(|applier| {
        finding(&applier.name, applier.revision.as_ref()?, input.base)
            .map(|found| found.at(&applier.path, Some(applier.line)))
    });
    let findings = findings.chain(of_fleet(input)).chain(of_planes(input)).collect();
    Checked { looked_at: format!("the revisions of {}", count(appliers.len(), "root")), findings }
}

/// Warns of proxies that this merge moves where no merge moves their control plane: it is deployed at another revision alone.
fn of_planes(input: &Verification<'_>) -> Vec<Finding> {
    let appliers = |pin: &Pin| input.inventory.facts.appliers.get(&pin.path).map_or(&[][..], Vec::as_slice);
    let proxies = || input.moving().map(|(pin, _)| pin).filter(|pin| pin.stage == Stage::DataPlane);
    let mut found = BTreeMap::new();
    let planes =
        input.inventory.pins().filter(|pin| pin.stage == Stage::Platform && pin.is_of(CONTROL_PLANE));
    for plane in planes {
        let stays = |by: &&Applier| by.revision.as_ref().is_some_and(|at| left_at(at, input.base).is_some());
        let all = appliers(plane);
        for applier in all.iter().filter(|_| all.iter().all(|by| stays(&by))) {
            let goes_ahead = |proxy: &Pin| {
                let is_there = proxy.installations.iter().any(|name| plane.installations.contains(name));
                is_there && appliers(proxy).iter().all(|by| by.revision != applier.revision)
            };
            let at = applier.revision.as_ref().and_then(|at| left_at(at, input.base));
            if let Some((revision, hint)) = at.filter(|_| proxies().any(goes_ahead)) {
                let reason = format!(
                    "`{}` deploys the control plane of these proxies at `{revision}`, which a merge does not move: they go ahead of it",
                    applier.name
                );
                let warning = Finding::warn(ID, reason).hint(format!("{hint} first: {BEFORE}"));
                found.insert((&applier.path, applier.line), warning.at(&applier.path, Some(applier.line)));
            }
        }
    }
    found.into_values().collect()
}

/// Says where a revision stands that a merge does not move, and what does; `None` where the merge moves it.
fn left_at<'r>(revision: &'r Revision, base: &str) -> Option<(&'r str, String)> {
    match revision {
        Revision::Fixed(name) => Some((name, "move that revision".to_owned())),
        Revision::Branch(name) if is_moved(name, base) => None,
        Revision::Branch(name) => Some((name, format!("merge `{base}` into `{name}`"))),
    }
}

/// Says of who deploys something at a revision that a merge does not move it; `None` where it does.
fn finding(name: &str, revision: &Revision, base: &str) -> Option<Finding> {
    let (revision, hint) = left_at(revision, base)?;
    let hint = format!("{hint} once this is merged");
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
    fn proxies_that_a_merge_reaches_before_their_control_plane_are_warned_of() {
        let by = |name: &str, revision: Option<&str>| Applier {
            name: name.to_owned(),
            namespace: None,
            path: path(&format!("{name}.yaml")),
            line: 3,
            flux: true,
            prunes: false,
            replaces: false,
            waits: false,
            revision: revision.map(|name| Revision::Branch(name.to_owned())),
        };
        let warned = |plane: &[Option<&str>], proxies: Option<&str>, of: &str| {
            let plane = plane.iter().map(|at| by("mesh", *at)).collect();
            let all = [(path("cp.yaml"), plane), (path("ns.yaml"), vec![by("shop", proxies)])];
            let case = Case::default().data_plane().pins(|b| {
                let plane = b.chart("cp.yaml", "linkerd-control-plane", "2026.8.3").serves(&[of]);
                plane
                    .proxy("ns.yaml", "edge-26.8.2")
                    .serves(&["a"])
                    .facts(|facts| facts.appliers = all.into())
            });
            let found = case.check(ID).into_iter().filter(|found| found.severity == Warn);
            found.map(|found| found.reason).collect::<Vec<_>>()
        };
        let found = warned(&[Some("prod")], None, "a");
        assert!(found.len() == 1 && found[0].starts_with("`mesh` deploys the control plane"), "{found:?}");
        assert_eq!(warned(&[Some("main")], None, "a"), [""; 0], "the merge moves it");
        assert_eq!(warned(&[Some("prod")], Some("prod"), "a"), [""; 0], "both are moved at once");
        assert_eq!(
            warned(&[Some("prod"), None], None, "a"),
            [""; 0],
            "one of these clusters has it by the merge"
        );
        assert_eq!(warned(&[Some("prod")], None, "b"), [""; 0], "it is another cluster's");
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
