//! Step 7, render: every chart that a change touches, rendered as its deployer has it, before and after.
//!
//! In: the uses of two scans. Out: [`Renderings`]. Each distinct chart with its values is rendered once; what the chart
//! makes up by itself is made the same on both sides. What cannot be rendered is named with its reason and never fails
//! the rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use semver::{Version, VersionReq};
use serde_json::Value;

use super::{
    Cause, Chart, ChartId, Job, Manifest, NotRendered, RenderError, Renderer, Rendering, Renderings, Take,
    inputs::Inputs, kubernetes, normalize::normalize, value,
};
use crate::{helm::Template, linkerd::default_namespace, pins::ChartUse, release::Catalog, repo::RepoPath};

/// One side of a use, ready to be rendered.
struct Side {
    chart: Arc<Chart>,
    inputs: Inputs,
    /// The position of its job.
    job: usize,
}

/// A use that differs.
struct Changed<'a> {
    before: &'a ChartUse,
    after: &'a ChartUse,
}

/// The Kubernetes that both sides of a use are rendered for.
struct Cluster {
    /// What the target says.
    said: Option<String>,
    /// What the charts accept.
    assumed: Option<String>,
}

/// The distinct jobs, in the order of their first use.
#[derive(Default)]
struct Jobs {
    list: Vec<Job>,
    given: Vec<BTreeSet<String>>,
    known: BTreeMap<Job, usize>,
}

/// Renders the uses that differ between two scans, before and after, where one of their files is covered.
///
/// `kubernetes` is the version of the target's cluster; without it the oldest that both charts accept is assumed.
pub fn render_uses(
    before: &[ChartUse],
    after: &[ChartUse],
    covers: &dyn Fn(&RepoPath) -> bool,
    catalog: &Catalog,
    kubernetes: Option<&Version>,
    renderer: &dyn Renderer,
) -> Renderings {
    let changed: Vec<Changed<'_>> =
        changed(before, after).into_iter().filter(|c| c.after.files().any(covers)).collect();
    let mut renderings = Renderings::default();
    if changed.is_empty() {
        return renderings;
    }
    match renderer.helm() {
        Ok(version) => renderings.helm = Some(version),
        Err(error) => {
            let cause = Cause::from(error);
            renderings.missing = changed.iter().map(|c| c.missing(cause.clone())).collect();
            return renderings;
        }
    }
    let mut jobs = Jobs::default();
    let mut ready = Vec::new();
    for change in changed {
        let sides = change.ids(catalog).and_then(|(from, to)| {
            let bring = |id| renderer.chart(&id).map_err(Cause::from);
            let (from, to) = (bring(from)?, bring(to)?);
            let cluster = Cluster {
                said: kubernetes.map(ToString::to_string),
                assumed: kubernetes::oldest([&*from, &*to]),
            };
            let old = jobs.side(change.before, from, &cluster)?;
            Ok((old, jobs.side(change.after, to, &cluster)?))
        });
        match sides {
            Ok((old, new)) => ready.push((change, old, new)),
            Err(cause) => renderings.missing.push(change.missing(cause)),
        }
    }
    let manifests = jobs.render(catalog, renderer);
    let manifest = |side: &Side| match manifests.get(side.job) {
        Some(done) => done.clone(),
        None => Err(Cause::new("the rendering is missing", "report this as a bug")),
    };
    for (change, old, new) in &ready {
        let alike = ready.iter().filter(|(other, ..)| change.looks_like(other)).count() > 1;
        let before = manifest(old);
        let was_fine = before.is_ok();
        match before.and_then(|before| Ok((before, manifest(new)?))) {
            Ok((before, after)) => {
                let mut done = change.rendering(old, new, before, after);
                let name = format!("For the Helm release `{}`.", change.after.release);
                done.notes.extend(alike.then_some(name));
                renderings.done.push(done);
            }
            Err(cause) => {
                // Values that are not in the tree may be what the new version asks for.
                let refused = was_fine && cause.by_helm().is_some() && !new.inputs.lacks_values();
                renderings.missing.push(NotRendered { refused, ..change.missing(cause) });
            }
        }
    }
    renderings.done.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    renderings.missing.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    renderings
}

/// Pairs the uses of both scans and keeps those that differ. What several have alike may differ between them afterwards,
/// so that one use is a pair with each that any of them has. Those of the same are paired in their order; a use without
/// a counterpart was made or removed by hand and is no part of an upgrade.
fn changed<'a>(before: &'a [ChartUse], after: &'a [ChartUse]) -> Vec<Changed<'a>> {
    type Name<'a> = (&'a RepoPath, &'a str, &'a str, &'a str);
    let name = |u: &'a ChartUse| -> Name<'a> { (&u.path, &u.part, &u.chart, &u.release) };
    let mut old: BTreeMap<Name<'a>, Vec<&ChartUse>> = BTreeMap::new();
    before.iter().for_each(|u| old.entry(name(u)).or_default().push(u));
    let mut seen: BTreeMap<(Name<'a>, &BTreeSet<RepoPath>), usize> = BTreeMap::new();
    let mut found = Vec::new();
    for after in after {
        let named = old.get(&name(after)).map_or(&[][..], Vec::as_slice);
        let number = seen.entry((name(after), &after.by)).or_default();
        let same = named.iter().filter(|before| before.by == after.by).nth(*number);
        *number += 1;
        match same {
            Some(before) => found.push(Changed { before, after }),
            None => {
                let shared = named.iter().filter(|before| !before.by.is_disjoint(&after.by));
                found.extend(shared.map(|before| Changed { before, after }));
            }
        }
    }
    found.retain(Changed::differs);
    found
}

/// Says which chart of the index a version means: an exact one, or for a range the newest that is in it.
fn chart_id(found: &ChartUse, catalog: &Catalog) -> Result<ChartId, Cause> {
    let written = found.version.trim();
    let plain = written.trim_start_matches(['=', 'v', ' ']);
    let name = found.chart.clone();
    if Version::parse(plain).is_ok() {
        return Ok(ChartId { name, version: plain.to_owned() });
    }
    // Helm parts bounds by spaces as well as by commas.
    let tilde = written.replace("~>", "~").replace("~ ", "~");
    let bounds: Vec<&str> = tilde.split([' ', ',']).filter(|bound| !bound.is_empty()).collect();
    let range = VersionReq::parse(&bounds.join(", ")).ok();
    let charts = catalog.releases.values().filter_map(|release| release.charts.get(&found.chart));
    let versions = charts.filter_map(|chart| Version::parse(&chart.version).ok());
    let newest = range.and_then(|range| versions.filter(|version| range.matches(version)).max());
    newest.map(|version| ChartId { name, version: version.to_string() }).ok_or_else(|| {
        Cause::new(
            format!("`{written}` does not say which version of {} is rendered", found.chart),
            "write an exact version",
        )
    })
}

// === impl Changed ===

impl Changed<'_> {
    /// Where it stands and what is noted of it makes no other rendering.
    fn differs(&self) -> bool {
        let plain = |found: &ChartUse| {
            let (by, sources, installed) = Default::default();
            ChartUse { line: 0, by, sources, installed, notes: Vec::new(), ..found.clone() }
        };
        plain(self.before) != plain(self.after)
    }

    /// Tells whether a reader could not tell the two apart by their place.
    fn looks_like(&self, other: &Self) -> bool {
        let place =
            |found: &ChartUse| (found.line, found.chart.clone(), found.path.clone(), found.by.clone());
        place(self.after) == place(other.after)
    }

    /// Says who has it so, where one of them wrote any of it.
    fn by(&self) -> Option<String> {
        let ChartUse { by, sources, .. } = self.after;
        let first = by.iter().find(|by| sources.contains(*by))?;
        Some(match by.len() - 1 {
            0 => format!("As {first} has it."),
            1 => format!("As {first} and one other have it."),
            others => format!("As {first} and {others} others have it."),
        })
    }

    fn ids(&self, catalog: &Catalog) -> Result<(ChartId, ChartId), Cause> {
        Ok((chart_id(self.before, catalog)?, chart_id(self.after, catalog)?))
    }

    fn missing(&self, cause: Cause) -> NotRendered {
        NotRendered {
            path: self.after.path.clone(),
            line: Some(self.after.line),
            files: Vec::new(),
            chart: self.after.chart.clone(),
            refused: false,
            cause,
        }
    }

    fn rendering(&self, old: &Side, new: &Side, before: Arc<Manifest>, after: Arc<Manifest>) -> Rendering {
        let mut notes = self.after.notes.clone();
        notes.extend(both(&old.inputs.notes, &new.inputs.notes));
        notes.extend(self.by());
        Rendering {
            path: self.after.path.clone(),
            line: self.after.line,
            committed: false,
            installed: self.after.installed.clone(),
            from: old.chart.id.clone(),
            to: new.chart.id.clone(),
            namespace: namespace(self.after),
            before,
            after,
            values_before: old.inputs.values.clone(),
            values_after: new.inputs.values.clone(),
            defaults_before: defaults(&old.chart),
            defaults_after: defaults(&new.chart),
            stand_ins: both(&old.inputs.stand_ins, &new.inputs.stand_ins),
            notes,
            places: Default::default(),
            difference: Default::default(),
        }
    }
}

/// Returns the entries of both, each once.
fn both<T: Clone + PartialEq>(old: &[T], new: &[T]) -> Vec<T> {
    old.iter().chain(new.iter().filter(|one| !old.contains(one))).cloned().collect()
}

fn defaults(chart: &Chart) -> Value {
    value::read(chart.defaults()).unwrap_or_default()
}

/// Tells whether a template, or a value that may be used as one, can read the release's name.
fn reads_release(chart: &Chart, inputs: &Inputs) -> bool {
    let other = |text: &str| {
        text.match_indices(".Release").any(|(at, word)| {
            let rest = text.get(at + word.len()..).unwrap_or_default();
            ![".Namespace", ".Service", ".Revision", ".IsInstall", ".IsUpgrade"]
                .iter()
                .any(|p| rest.starts_with(p))
        })
    };
    chart.files.values().any(|text| other(text))
        || inputs.layers.iter().any(|layer| other(&layer.0))
        || inputs.settings.iter().any(|setting| other(&setting.value))
}

/// Returns the namespace, or the one that Linkerd's own instructions name for the chart.
fn namespace(found: &ChartUse) -> String {
    found.namespace.clone().unwrap_or_else(|| default_namespace(&found.chart).to_owned())
}

// === impl Jobs ===

impl Jobs {
    fn side(&mut self, found: &ChartUse, chart: Arc<Chart>, cluster: &Cluster) -> Result<Side, Cause> {
        let mut inputs = Inputs::of(found, &chart)?;
        let said = found.kube_version.as_ref().or(cluster.said.as_ref());
        if let Some(assumed) = cluster.assumed.as_ref().filter(|_| said.is_none()) {
            inputs.notes.push(kubernetes::note(assumed));
        }
        // Fleets differ in the release's name alone, and Linkerd's charts do not read it.
        let release = if reads_release(&chart, &inputs) { &found.release } else { &found.chart };
        let job = Job {
            chart: chart.id.clone(),
            template: Template {
                release: release.clone(),
                namespace: namespace(found),
                values: inputs.layers.clone(),
                settings: inputs.settings.clone(),
                kube_version: said.or(cluster.assumed.as_ref()).cloned(),
                api_versions: found.api_versions.clone(),
                include_crds: found.include_crds,
                hooks: found.hooks,
            },
            take: Take::First,
        };
        let next = self.list.len();
        let job = *self.known.entry(job).or_insert_with_key(|job| {
            self.list.push(job.clone());
            self.given.push(inputs.given());
            next
        });
        Ok(Side { chart, inputs, job })
    }

    /// Renders every job once.
    fn render(&self, catalog: &Catalog, renderer: &dyn Renderer) -> Vec<Result<Arc<Manifest>, Cause>> {
        let texts = renderer.render(&self.list).into_iter();
        let clock = &catalog.knowledge.clock_fields;
        let read = |((text, given), job): ((Result<Arc<str>, RenderError>, _), &Job)| {
            let text = text?;
            let manifest = Manifest::parse(text).and_then(|manifest| normalize(manifest, given, clock));
            manifest.map(Arc::new).map_err(|error| {
                Cause::new(
                    format!("what Helm made of {} cannot be read: {error}", job.chart),
                    "look at what `helm template` prints with these values",
                )
            })
        };
        texts.zip(&self.given).zip(&self.list).map(read).collect()
    }
}

#[cfg(test)]
#[path = "uses_tests.rs"]
mod tests;
