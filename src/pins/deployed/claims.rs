//! Step 5, pins: the places where what is deployed was written, before it is known what stands around them.
//!
//! In: scalars that something deployed reads, with what reads them. Out: each place once, by file and position.
//! A base that a hundred clusters read is read a hundred times, so places are gathered first and looked at afterwards.

use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use super::{
    beyond::{Beyond, NotFollowed},
    charts::Charted,
    claim::{Claim, Release, claims, not_followed},
    dependencies::Dependencies,
    foreign::{At, Foreigns, readings},
    guarded::Guarded,
    uses::Uses,
};
use crate::{
    deploy::{
        ChartRelease, Object, Part, Scalar, Value,
        go_template::unfollowed,
        json_patch::Guard,
        tree_chart::{Evaluations, Rendered},
        umbrella,
        value::Via,
    },
    linkerd::EdgeVersion,
    pins::{
        Deployment, Form, PinKind, Reason, Skipped, Versioned,
        found::{Spec, opaque},
        release_names::tokens,
        under::Under,
        version_text::{Expects, Judged, VersionText, judge},
    },
    repo::RepoPath,
};

/// Places that are gathered before those that are alike become one.
const LOOSE: usize = 4096;

/// Texts that are compared one with the other in turn, each of which the whole is looked through for; people compare one or two.
const COMPARED: usize = 16;

/// Every place once.
pub(super) struct Places {
    /// The places, ordered by file and position.
    pub claims: Vec<Claim>,
    /// Which of them have to agree.
    pub guarded: Guarded,
    /// Those that what is not Linkerd's reads, but for mirrors.
    pub foreign: Vec<(RepoPath, Range<usize>)>,
}

/// All places, and what is compared with them.
#[derive(Default)]
pub(in crate::pins) struct Claims {
    claims: Vec<Claim>,
    guards: Vec<Guard>,
    /// What is read by what is not Linkerd's.
    pub(super) foreign: Foreigns,
    /// Who is handed releases that come out again in a way that is not followed.
    not_followed: BTreeSet<String>,
    /// The files whose templates are refused, for releases.
    unmade: BTreeSet<RepoPath>,
    /// Where releases stand that plugins are told.
    pub told: BTreeSet<At>,
    /// Files of values that charts which are not Linkerd's read.
    others_values: BTreeSet<RepoPath>,
    /// Labels that ask for restarts in templates that have the annotation, by file and last byte.
    annotated: BTreeSet<At>,
    /// The aliases by which versions were read, by file and first byte, among other places where they are named.
    pub(super) aliases: BTreeSet<At>,
    /// The releases that are known as somebody applies them.
    applied: BTreeSet<Release>,
    /// Where versions of charts stand that a build lays others over.
    laid_over: BTreeSet<At>,
    /// Linkerd's charts as they are deployed.
    pub deployments: Vec<Deployment>,
    /// What was evaluated of charts of the tree.
    pub charts: Charted,
    /// The folders of charts of the tree that are deployed and take others in.
    umbrellas: BTreeSet<String>,
    /// What these take in.
    pub(super) dependencies: Dependencies,
    /// Charts of the tree that the model itself does not find deployed.
    pub local: Vec<ChartRelease>,
    /// Objects that the model itself does not find deployed.
    pub objects: Vec<Object>,
    /// Those that there would be with variables that others are laid over.
    pub shadowed: Vec<Object>,
    /// How charts are rendered.
    pub uses: Uses,
    /// Charts of the tree that their deployers take anew by version alone.
    pub versioned: BTreeSet<Versioned>,
    /// What was not followed.
    pub beyond: Beyond,
    /// How many of the claims are known to differ.
    settled: usize,
}

// === impl Claims ===

impl Claims {
    /// Takes a scalar that is a version, where it was written.
    pub fn take(&mut self, scalar: &Scalar, spec: &Spec) {
        let named = scalar.origins().flat_map(readings);
        self.aliases.extend(named.map(|reading| (reading.source.path.clone(), reading.at)));
        let found = claims(scalar, spec);
        if let Some(who) = scalar.unknown_to().filter(|_| !found.is_empty()) {
            self.not_followed.insert(who.to_owned());
        }
        self.claims.extend(found);
        self.settle_many();
    }

    /// Takes a chart that names no version, and so takes new ones by itself: what names it is all that stands there.
    pub fn take_floating(&mut self, chart: &Scalar, spec: &Spec) {
        if let Some(at) = chart.origins().next_back() {
            let mut claim = Claim::new(at, spec.clone(), opaque(0, Reason::Range));
            claim.span = at.span.end..at.span.end;
            self.claims.push(claim);
        }
    }

    /// Takes the releases of a text that somebody reads in a way that is not followed.
    pub fn take_not_followed(&mut self, scalar: &Scalar) {
        let spec = Spec::platform(PinKind::Other, Expects::Either);
        self.claims.extend(scalar.origins().chain(scalar.handed()).flat_map(|at| not_followed(at, &spec)));
    }

    /// Takes those that say themselves that they are releases, of a text that may be about anything.
    pub fn take_releases(&mut self, scalar: &Scalar) {
        let spec = Spec::platform(PinKind::Other, Expects::Either);
        let all = scalar.origins().chain(scalar.handed()).filter(|at| !tokens(at.text()).is_empty());
        self.claims.extend(all.flat_map(|at| not_followed(at, &spec)));
    }

    /// Takes the releases of a text that a plugin is told, which brings them back each time that it runs.
    pub fn take_told(&mut self, scalar: &Scalar) {
        let before = self.claims.len();
        self.take_not_followed(scalar);
        let places = self.claims.iter().skip(before).map(|claim| (claim.path.clone(), claim.span.start));
        self.told.extend(places);
    }

    /// Takes what came of a chart of the tree.
    pub fn take_rendered(&mut self, release: &ChartRelease, rendered: &Rendered) {
        self.charts.take(release, rendered);
        rendered.elsewhere.iter().for_each(|text| self.take_not_followed(text));
    }

    /// Takes a chart of the tree that is deployed, with what it depends on.
    pub fn take_umbrella(&mut self, release: &ChartRelease, all: &umbrella::Dependencies) {
        self.umbrellas.extend(release.folder());
        self.dependencies.take(all);
    }

    /// Takes the releases that are handed to those who know parts of a text.
    pub fn take_handed(&mut self, scalar: &Scalar) {
        let Some(who) = scalar.unknown_to() else { return };
        let spec = Spec::platform(PinKind::Other, Expects::Either);
        let before = self.claims.len();
        // Out of a range comes none of the releases that it names.
        let handed = scalar.handed().filter(|at| at.via != Some(Via::FromRange));
        self.claims.extend(handed.flat_map(|at| not_followed(at, &spec)));
        if self.claims.len() > before {
            self.not_followed.insert(who.to_owned());
        }
    }

    /// Takes the releases of what the templates in a file are refused for.
    pub fn take_unmade(&mut self, path: &RepoPath, scalar: &Scalar) {
        let before = self.claims.len();
        self.take_not_followed(scalar);
        if self.claims.len() > before {
            self.unmade.insert(path.clone());
        }
    }

    /// Takes a pod template that asks for restarts by a label and has no annotation: its place is known by the label's.
    pub fn take_absent(&mut self, label: &Scalar, spec: &Spec) {
        if let Some(at) = label.origins().next_back() {
            let text = VersionText { span: 0..0, form: Form::Absent, version: None, stays: None };
            let mut claim = Claim::new(at, spec.clone(), text);
            claim.span = at.span.end..at.span.end;
            self.claims.push(claim);
        }
    }

    /// Notes that a pod template, as it is deployed, has the annotation that a label asks for.
    pub fn annotated(&mut self, label: &Scalar) {
        self.annotated.extend(label.origins().map(|at| (at.source.path.clone(), at.span.end)));
    }

    /// Notes a file that stands in the values of another chart.
    pub fn take_others_values(&mut self, values: &Value, own: &RepoPath) {
        let files = values.scalars().into_iter().filter_map(|text| Some(&text.origins().next()?.source.path));
        self.others_values.extend(files.filter(|path| *path != own).cloned());
    }

    /// Takes what is only compared with a version: it moves with it, since kustomize fails where they differ, and Flux waits.
    pub fn guards(&mut self, guards: &[Guard]) {
        let is_version = |guard: &&Guard| {
            let text = guard.guard.text();
            [Expects::Chart, Expects::Edge].into_iter().any(|expects| {
                matches!(judge(&text, expects), Judged::Version(VersionText { form, .. }) if form != Form::Opaque)
            })
        };
        self.guards.extend(guards.iter().filter(is_version).filter(|guard| agrees(guard)).cloned());
    }

    /// Adds what another has gathered of objects as their files have them.
    pub fn append_written(&mut self, mut other: Self) {
        other.annotated.clear();
        other.claims.iter_mut().for_each(|claim| claim.written = true);
        self.append(other);
    }

    /// Adds what another has gathered of a release: with variables that are left open it is what nobody applies, where
    /// somebody is known to.
    pub fn append_release(&mut self, mut other: Self, release: &ChartRelease) {
        let name = Some(release.release.text()).filter(|name| !name.is_empty());
        // A source has no release, and is known by its chart.
        let id = (release.file.clone(), name.unwrap_or_else(|| release.chart.text()).into_owned());
        if release.is_supposed || release.version.as_ref().is_some_and(|v| v.text().contains("${")) {
            other.claims.iter_mut().for_each(|claim| claim.open = Some(id.clone()));
        } else {
            self.applied.insert(id);
        }
        self.append(other);
    }

    /// Adds what another has gathered of what is switched off: nobody renders that.
    pub fn append_off(&mut self, mut other: Self) {
        other.claims.iter_mut().for_each(|claim| claim.is_off = true);
        // What its charts came to is not what those who deploy them get.
        other.charts.made = Evaluations::default();
        other.charts.outcomes.clear();
        self.append_written(Self { uses: Uses::default(), versioned: BTreeSet::new(), ..other });
    }

    /// Adds what another has gathered of a file of values, whoever reads it.
    pub fn append_of_file(&mut self, mut other: Self) {
        for claim in &mut other.claims {
            claim.of_file = true;
            if claim.spec.kind == PinKind::HelmValues && claim.spec.under.is_empty() {
                claim.spec.under.push(Under::Unnamed);
            }
        }
        self.append(other);
    }

    /// Adds what another has gathered of texts that their deployer does not look at.
    pub fn append_without_effect(&mut self, mut other: Self) {
        other.claims.iter_mut().for_each(|claim| {
            let own = claim.spec.stays.filter(|reason| *reason != Reason::NotFollowed);
            claim.spec.stays = own.or(Some(Reason::NoEffect));
        });
        self.append(other);
    }

    /// Adds what another has gathered of charts of which it is not known whether anybody gets them. Whose versions these are is.
    pub fn append_not_followed(&mut self, other: Self) {
        let of_charts = other.claims.into_iter().filter(|claim| claim.spec.chart.is_some());
        self.claims.extend(of_charts.map(|mut claim| {
            claim.spec.stays = Some(Reason::NotFollowed);
            claim
        }));
    }

    /// Adds what another has gathered of patches that mean no object.
    pub fn append_unmatched(&mut self, mut other: Self) {
        other.claims.iter_mut().for_each(|claim| claim.unmatched = true);
        self.append_without_effect(other);
    }

    /// Notes which values are laid over by others, so that they are not in what their layers come to.
    pub fn cover(&mut self, layered: &Value) {
        let mut there: HashMap<&RepoPath, Vec<&Range<usize>>> = HashMap::new();
        for at in layered.scalars().into_iter().flat_map(Scalar::origins) {
            there.entry(&at.source.path).or_default().push(&at.span);
        }
        for claim in &mut self.claims {
            // Of what is made of a part of a text the whole is claimed.
            let meets = |span: &&Range<usize>| span.start < claim.span.end && claim.span.start < span.end;
            if !there.get(&claim.path).is_some_and(|spans| spans.iter().any(meets)) {
                claim.spec.under.iter_mut().for_each(Under::cover);
            }
        }
    }

    /// Adds what another has gathered of values that others are laid over.
    pub fn append_overlaid(&mut self, mut other: Self) {
        other.claims.iter_mut().for_each(|claim| claim.spec.stays = Some(Reason::NoEffect));
        self.append(other);
    }

    /// Adds variables, values, and versions of Applications that every build says otherwise: they move with the others. What other
    /// objects say of charts, patches say by themselves.
    pub fn append_covered(&mut self, other: Self) {
        use PinKind::{ArgoApplication, ArgoApplicationset, ArgoGenerator, HelmValues, Variable};
        let is_given = |claim: &Claim| {
            let kind = claim.spec.kind;
            matches!(kind, Variable | HelmValues | ArgoApplication | ArgoApplicationset | ArgoGenerator)
        };
        let claims = other.claims.into_iter().filter(|claim| is_given(claim) && claim.text.version.is_some());
        self.append_off(Self { claims: claims.collect(), ..Self::default() });
    }

    /// Notes where the versions stand that another has gathered of releases which patches are laid over.
    pub fn note_laid_over(&mut self, other: &Self) {
        use PinKind::{FluxHelmChart, FluxHelmRelease, FluxOciRepository};
        let is_version =
            |claim: &&Claim| matches!(claim.spec.kind, FluxHelmRelease | FluxHelmChart | FluxOciRepository);
        let versions = other.claims.iter().filter(is_version);
        self.laid_over.extend(versions.map(|claim| (claim.path.clone(), claim.span.start)));
    }

    /// Adds variables that others are laid over: where nothing else reads them, nothing does.
    pub fn append_shadowed(&mut self, other: Self) {
        let variables = other.claims.into_iter().filter(|claim| claim.spec.kind == PinKind::Variable);
        self.claims.extend(variables.map(|mut claim| {
            claim.spec.stays = Some(Reason::NoEffect);
            claim
        }));
    }

    /// Adds what another has gathered.
    pub fn append(&mut self, other: Self) {
        self.claims.extend(other.claims);
        self.guards.extend(other.guards);
        self.foreign.append(other.foreign);
        self.not_followed.extend(other.not_followed);
        self.unmade.extend(other.unmade);
        self.told.extend(other.told);
        self.others_values.extend(other.others_values);
        self.annotated.extend(other.annotated);
        self.aliases.extend(other.aliases);
        self.applied.extend(other.applied);
        self.laid_over.extend(other.laid_over);
        self.deployments.extend(other.deployments);
        self.charts.append(other.charts);
        self.umbrellas.extend(other.umbrellas);
        self.dependencies.append(other.dependencies);
        self.local.extend(other.local);
        self.objects.extend(other.objects);
        self.shadowed.extend(other.shadowed);
        self.uses.append(other.uses);
        self.versioned.extend(other.versioned);
        self.beyond.append(other.beyond);
        self.settle_many();
    }

    /// Names the templates that releases are handed to and that are not followed.
    pub fn not_followed(&self) -> Vec<Skipped> {
        self.beyond.not_followed(&|what| match what {
            NotFollowed::Expression(text) => self.not_followed.contains(&unfollowed(text)),
            NotFollowed::Template(path) => self.unmade.contains(path),
        })
    }

    /// Returns every place once.
    pub(super) fn into_places(mut self) -> Places {
        self.settle();
        let guarded = self.take_guards();
        // A base is completed by those that take it in.
        let annotated = std::mem::take(&mut self.annotated);
        let is_complete = |c: &Claim| c.written && annotated.contains(&(c.path.clone(), c.span.end));
        self.claims.retain(|claim| claim.text.form != Form::Absent || !is_complete(claim));
        let mut claims = std::mem::take(&mut self.claims);
        // What a chart of somebody else's reads is in no values file that nobody is known to read.
        let is_others = |c: &Claim| c.of_file && c.spec.kind == PinKind::HelmValues;
        for claim in claims.iter_mut().filter(|c| is_others(c) && self.others_values.contains(&c.path)) {
            claim.spec = Spec::platform(PinKind::Other, Expects::Either).staying(Some(Reason::NotFollowed));
        }
        for claim in &mut claims {
            claim.is_off |= claim.open.as_ref().is_some_and(|release| self.applied.contains(release));
            // What a patch says and no build keeps runs nowhere.
            claim.is_off |= claim.written && self.laid_over.contains(&(claim.path.clone(), claim.span.start));
        }
        claims.retain(|claim| !claim.is_filled());
        // Whoever deploys a chart with other values in the place of its own reads none of these.
        let is_left = |claim: &Claim| {
            claim.of_file
                && claim.path.name() == "values.yaml"
                && self.umbrellas.contains(claim.path.folder())
        };
        for claim in claims.iter_mut().filter(|claim| is_left(claim)) {
            claim.spec.under.iter_mut().for_each(Under::cover);
        }
        for claim in claims.iter_mut().filter(|claim| !claim.of_file) {
            claim.spec.under.retain(|under| *under != Under::Unnamed);
        }
        for claim in claims.iter_mut().filter(|claim| !claim.span.is_empty()) {
            claim.spec.follow_workloads();
            if let Some(named) = self.foreign.at(&claim.path, &claim.span) {
                claim.foreign = claim.spec.stays.is_none().then_some(named);
                claim.spec.stays.get_or_insert(Reason::Shared);
            }
        }
        Places { claims, guarded, foreign: self.foreign.silent() }
    }

    /// Takes what is compared with places that something reads.
    fn take_guards(&mut self) -> Guarded {
        let mut guarded = Guarded::default();
        let mut open = std::mem::take(&mut self.guards);
        // A guard may be compared with a text that only guards another one.
        for _ in 0..COMPARED {
            let read: Vec<_> = open.iter().map(|guard| self.read_at(&guard.value)).collect();
            let (before, mut left) = (open.len(), Vec::new());
            for (guard, read) in open.into_iter().zip(read) {
                let Some((spec, at, is_off)) = read else {
                    left.push(guard);
                    continue;
                };
                let expects = release_of(&guard.guard).map_or(spec.expects, |(expects, _)| expects);
                let mut own = Self::default();
                own.take(&guard.guard, &Spec { expects, ..spec });
                for claim in &own.claims {
                    guarded.note((claim.path.clone(), claim.span.start), at.clone());
                }
                match is_off {
                    true => self.append_off(own),
                    false => self.append(own),
                }
            }
            if left.len() == before {
                break;
            }
            self.settle();
            open = left;
        }
        guarded
    }

    /// Says what reads the places in which a scalar was written, where the first of them begins, and whether it is of nothing
    /// but what is switched off.
    fn read_at(&self, value: &Scalar) -> Option<(Spec, At, bool)> {
        value.parts().iter().find_map(|part| {
            let Part::Written(at) = part else { return None };
            let path = &at.source.path;
            let before =
                |c: &Claim| c.path.cmp(path).then_with(|| c.span.start.cmp(&at.span.start)) == Ordering::Less;
            let from = self.claims.get(self.claims.partition_point(before)..)?;
            let claim = from.first()?;
            let inside = claim.path == *path && claim.span.start < at.span.end;
            let expects = if claim.text.form == Form::Edge { Expects::Edge } else { Expects::Chart };
            let spec = || Spec { expects, ..claim.spec.clone() };
            let is_here = |other: &&Claim| other.path == *path && other.span.start == claim.span.start;
            let is_off = || from.iter().take_while(is_here).all(|claim| claim.is_off);
            inside.then(|| (spec(), (claim.path.clone(), claim.span.start), is_off()))
        })
    }

    fn settle_many(&mut self) {
        if self.claims.len() >= 2 * self.settled + LOOSE {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.claims.sort_by(Claim::order);
        self.claims.dedup_by(|b, a| {
            let is_said = b.is_said(a);
            if is_said {
                a.join(b);
            }
            is_said
        });
        self.settled = self.claims.len();
    }
}

/// Tells whether a text agrees with what it is compared with, as far as both are releases.
pub fn agrees(guard: &Guard) -> bool {
    let both = release_of(&guard.guard).zip(release_of(&guard.value));
    both.is_none_or(|((_, guard), (_, value))| guard == value)
}

/// Reads a text that is a release, under whichever of its names.
fn release_of(text: &Scalar) -> Option<(Expects, EdgeVersion)> {
    let text = text.text();
    let tag = text.parse::<EdgeVersion>().ok().map(|version| (Expects::Edge, version));
    tag.or_else(|| Some((Expects::Chart, EdgeVersion::from_chart(&text)?)))
}
