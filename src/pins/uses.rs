//! Step 5, pins: how each chart of Linkerd is rendered.
//!
//! In: the files of a repository. Out: [`ChartUse`]s. One file a shape; what shapes share is `data` (YAML in memory),
//! `layers` (values), `fill` (variables) and `overlay` (kustomizations on the way). Nothing is contacted.

mod argo;
mod data;
mod fill;
mod flux;
mod kustomize;
mod layers;
mod overlay;
mod sets;
mod umbrella;

use super::{
    ChartUse, Reason, context::Context, object::Object, origin::Ours, place::Place, screen::is_kustomization,
};
use crate::repo::RepoPath;

/// Takes the uses of one file.
pub(super) fn of_file(context: &Context<'_>, place: Place<'_>, uses: &mut Vec<ChartUse>) {
    for object in Object::all(place) {
        match (object.group, object.kind) {
            ("helm.toolkit.fluxcd.io", "HelmRelease") => flux::helm_release(context, place, &object, uses),
            ("argoproj.io", "Application") => argo::application(context, place, &object, uses),
            ("argoproj.io", "ApplicationSet") => sets::application_set(context, place, &object, uses),
            (_, "HelmChartInflationGenerator") => kustomize::generator(context, place, &object, uses),
            _ => {}
        }
    }
    if is_kustomization(place.file.path.name())
        && let Some(root) = place.stream.roots().next()
    {
        kustomize::kustomization(context, place, root, uses);
    }
}

/// Adds what no object deploys, and brings all into one order.
pub(super) fn complete(context: &Context<'_>, mut uses: Vec<ChartUse>) -> Vec<ChartUse> {
    umbrella::undeployed(context, &mut uses);
    uses.sort_by(|a, b| {
        let key = |u: &ChartUse| (u.path.clone(), u.line, u.part.clone(), u.by.clone(), u.release.clone());
        key(a).cmp(&key(b))
    });
    uses
}

/// Tells whether the chart is one that the edge channel can have: others are never rendered.
fn is_rendered(ours: &Ours) -> bool {
    ours.stays != Some(Reason::Channel)
}

/// A use of which nothing but its place is known.
fn blank(path: &RepoPath, line: usize) -> ChartUse {
    ChartUse {
        path: path.clone(),
        line,
        part: String::new(),
        by: None,
        chart: String::new(),
        version: String::new(),
        release: String::new(),
        namespace: None,
        values: Vec::new(),
        parameters: Vec::new(),
        kube_version: None,
        api_versions: Vec::new(),
        include_crds: false,
        hooks: true,
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
