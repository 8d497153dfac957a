//! Step 7, render: the way of all committed manifests through the module.
//!
//! In: a request and something that renders. Out: file changes, renderings, and what could not be made again; or the proof
//! of what is there.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Committed, Drift, Regenerate, Regenerated,
    claimed::settled,
    finish::{Finished, finish},
    make::make,
    named::named,
    own::{Own, own},
    prove::is_printed,
    recognise,
    work::{Attempt, Work},
};
use crate::{
    render::{Cause, NotRendered, Object, Renderer},
    repo::RepoPath,
};

/// What a proof of everything found.
#[derive(Clone, Debug, Default)]
pub struct Proofs {
    /// The sets, each with the release that it names or that gives it.
    pub sets: Vec<Committed>,
    /// The differences, by path and line.
    pub drifts: Vec<Drift>,
    /// What could not be proven.
    pub missing: Vec<NotRendered>,
    /// Objects in the same files that no chart gives.
    pub own: Vec<Own>,
}

/// Makes committed manifests again in the versions that they are to have.
pub fn regenerate(request: &Regenerate<'_>, renderer: &dyn Renderer) -> Regenerated {
    let sets = named(request, renderer, &BTreeMap::new());
    let request = &Regenerate { committed: &sets, ..*request };
    let mut done = Finished::default();
    let mut missing = Vec::new();
    let mut settled = settled(request, renderer, true);
    let mut left = std::mem::take(&mut settled.none);
    let owned = own(&settled);
    for (set, work) in std::mem::take(&mut settled.works) {
        let work = match work {
            Ok(work) if is_somebodys(&work) => {
                left.extend(set.files.iter().map(|file| settled.left(set, &file.path)));
                continue;
            }
            Ok(work) => work,
            Err(failure) => {
                missing.extend(set.not_rendered(failure.into()));
                continue;
            }
        };
        left.extend(files_without(&work).map(|path| settled.left(set, path)));
        match make(request, &work) {
            Ok((written, mut rendering)) => match done.take(request, set, written) {
                Ok(()) => {
                    rendering.notes.extend(Own::note(&owned, set));
                    done.renderings.push(rendering);
                }
                Err(reason) => {
                    let hint = "render it by hand, and report this as a bug";
                    missing.extend(set.not_rendered(Cause::new(reason, hint).into()));
                }
            },
            Err(refusal) => missing.extend(set.not_rendered(refusal)),
        }
    }
    Regenerated { left, ..finish(request, done, missing) }
}

/// Compares committed manifests with what their versions and values give.
pub fn prove_all(request: &Regenerate<'_>, renderer: &dyn Renderer) -> Proofs {
    let sets = named(request, renderer, &BTreeMap::new());
    let request = &Regenerate { committed: &sets, ..*request };
    let mut proofs = Proofs::default();
    let settled = settled(request, renderer, false);
    proofs.own = own(&settled);
    for (set, work) in settled.works {
        match work {
            Ok(work) if is_somebodys(&work) => {}
            Ok(work) => {
                proofs.drifts.extend(work.best.into_iter().flat_map(|best| best.drifts));
                proofs.sets.push(set.clone());
            }
            Err(failure) => {
                proofs.missing.extend(set.not_rendered(failure.into()));
                proofs.sets.push(set.clone());
            }
        }
    }
    proofs.drifts.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    proofs
}

/// Tells whether a chart gives nothing of a set: commands of the CLI have made it, or somebody's objects have copied marks.
fn is_somebodys(work: &Work<'_>) -> bool {
    work.best.as_ref().is_some_and(|best| match work.set.cli {
        true => best.placed.all().next().is_none(),
        false => is_copied(work, best),
    })
}

/// Tells whether the chart gives nothing that is like any object with its marks: of the kind and name, whatever namespace it is
/// in and whatever was put around its name. What was printed from a template lacks its values.
fn is_copied(work: &Work<'_>, best: &Attempt) -> bool {
    let is_like = |object: &Object| {
        let mut given = best.old.objects.iter().map(|given| &given.key);
        given.any(|key| key.kind == object.key.kind && object.key.name.contains(key.name.as_str()))
    };
    let mut marked = work.set.files.iter().flat_map(recognise::own);
    !marked.any(|(_, object)| is_printed(&work.from, object) || is_like(object))
}

/// Lists the files of a set in which nothing is the chart's.
fn files_without<'w>(work: &'w Work<'_>) -> impl Iterator<Item = &'w RepoPath> {
    let with: BTreeSet<&RepoPath> =
        work.best.iter().flat_map(|best| best.placed.all()).map(|(file, _)| &file.path).collect();
    work.set.files.iter().map(|file| &file.path).filter(move |path| !with.contains(path))
}
