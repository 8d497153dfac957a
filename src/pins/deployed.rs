//! Step 5, pins: pins of what the model says is deployed.
//!
//! In: charts and objects whose scalars know where they were written. Out: a pin where each release of Linkerd that they
//! read was written, in whatever file. Which keys hold a version is `linkerd`'s to say, what a version is
//! `version_text`'s.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{
    Form, Pin, PinKind, Reason, SkipReason, Skipped, annotation,
    context::Context,
    found::{Found, Spec},
    marker::{self, TextFile},
    origin::{self, Ours},
    other,
    place::Place,
    version_text::{Expects, Judged, VersionText, judge},
};
use crate::{
    deploy::{
        About, ChartRelease, Cluster, Files as _, Layer, Note, Object, Part, Scalar, TreeFiles, Value, argo,
        chart::Repository,
        cluster::Reference,
        fleet, flux, helmfile,
        json_patch::Guard,
        kustomize::{self, Build},
        terraform,
        value::Via,
    },
    linkerd::{self, INJECT, PROXY_VERSION, ValueLine},
    repo::{RepoPath, Tree},
    yaml::{Ceilings, Node},
};

/// Keys that are walked in values, and levels; people write far fewer.
const DEPTH: usize = 64;
/// Kustomizations that are built.
const BUILDS: usize = 1000;
/// Registered clusters that are asked for their labels.
const SECRETS: usize = 500;

/// Takes the pins of what Terraform deploys, and reports what its files name beside them.
pub(super) fn terraform(
    context: &Context<'_>,
    tree: &dyn Tree,
    named: &[RepoPath],
    found: &mut Found,
    skipped: &mut Vec<Skipped>,
) {
    if named.is_empty() {
        return;
    }
    let files = TreeFiles::new(tree, Ceilings::default());
    let deployed = terraform::terraform(&files);
    let mut pins = Found::default();
    for release in &deployed.charts {
        take_release(context, release, PinKind::Terraform, &mut pins);
    }
    for object in &deployed.objects {
        take_object(context, object, None, &mut pins);
    }
    report(&files, named, (&deployed.charts, &deployed.notes, SkipReason::Terraform), &pins, found, skipped);
    found.append_modelled(pins);
}

/// Takes the pins of what helmfile deploys, and reports what its files name beside them.
pub(super) fn helmfile(
    context: &Context<'_>,
    tree: &dyn Tree,
    named: &[RepoPath],
    found: &mut Found,
    skipped: &mut Vec<Skipped>,
) {
    if named.is_empty() {
        return;
    }
    let files = TreeFiles::new(tree, Ceilings::default());
    let deployed = helmfile::helmfile(&files);
    let mut pins = Found::default();
    for release in &deployed.charts {
        take_release(context, release, PinKind::Helmfile, &mut pins);
    }
    // A template that helmfile fills is read, whatever its name is.
    skipped.retain(|s| s.reason != SkipReason::HelmTemplate || !deployed.read.contains(&s.path));
    report(&files, named, (&deployed.charts, &deployed.notes, SkipReason::Helmfile), &pins, found, skipped);
    found.append_modelled(pins);
}

/// Reports what files name beside pins and beside the versions of other charts, and those files that cannot be read.
fn report(
    files: &TreeFiles<'_>,
    named: &[RepoPath],
    (charts, notes, reason): (&[ChartRelease], &[Note], SkipReason),
    pins: &Found,
    found: &mut Found,
    skipped: &mut Vec<Skipped>,
) {
    let unread: BTreeMap<&RepoPath, &Note> =
        notes.iter().filter(|n| matches!(n.about, About::Unread { .. })).map(|n| (&n.path, n)).collect();
    let versions: HashSet<_> = charts.iter().filter_map(|c| c.version.as_ref()).flat_map(places).collect();
    let is_version =
        |pin: &Pin| versions.contains(&(pin.path.clone(), pin.site.span.start, pin.site.span.end));
    for path in named {
        let Ok(source) = files.file(path.as_str()) else { continue };
        let file = TextFile { path, blob: source.blob, text: &source.text, sealed: false };
        let own: Vec<Pin> =
            pins.pins.iter().chain(&found.pins).filter(|p| p.path == *path).cloned().collect();
        match unread.get(path).map(|note| &note.about) {
            Some(About::Unread { what, why }) => skipped.push(Skipped {
                path: path.clone(),
                reason,
                detail: Some(format!("{what}: {why}")),
                versions: other::unmarked_releases(&source.text, &own),
            }),
            _ => found.pins.extend(
                other::pins(&file, &own, Reason::NotDeployed).into_iter().filter(|pin| !is_version(pin)),
            ),
        }
    }
}

/// Takes the pins of a bundle of Fleet's.
pub(super) fn fleet(context: &Context<'_>, place: Place<'_>, found: &mut Found) {
    let files = TreeFiles::new(context.corpus.tree(), Ceilings::default());
    let path = &place.file.path;
    let documents = files.documents(path.as_str());
    let mut pins = Found::default();
    for document in documents.iter().flat_map(|all| all.iter()) {
        for release in fleet::releases(&files, path, document) {
            take_release(context, &release, PinKind::Fleet, &mut pins);
        }
    }
    found.append_modelled(pins);
}

/// Takes the pins of what an ApplicationSet makes, in its own file and in those that its generators read.
pub(super) fn application_sets(context: &Context<'_>, place: Place<'_>, found: &mut Found) {
    let files = TreeFiles::new(context.corpus.tree(), Ceilings::default());
    let path = &place.file.path;
    let objects = |path: &RepoPath| -> Vec<Object> {
        let documents = files.documents(path.as_str());
        documents.iter().flat_map(|all| all.iter()).flat_map(|document| Object::all(document, path)).collect()
    };
    // Of the cluster only the Secrets that register clusters are asked for.
    let secrets: Vec<Object> = context
        .index
        .maps
        .iter()
        .filter(|map| map.cluster)
        .take(SECRETS)
        .flat_map(|map| objects(&map.path))
        .collect();
    let cluster = Cluster::new(&secrets);
    for set in objects(path).iter().filter(|object| object.is(argo::GROUP, "ApplicationSet")) {
        let mut pins = Found::default();
        let mut seen = HashSet::new();
        for application in argo::application_set(set, &files, &cluster, &mut Vec::new()) {
            for release in argo::application(&application, &files).charts {
                let new = release.scalars().any(|scalar| seen.insert(places(scalar)));
                if new {
                    take_release(context, &release, PinKind::ArgoApplicationset, &mut pins);
                }
            }
        }
        found.append_modelled(pins);
    }
}

/// Takes the pins of what kustomizations build that nobody takes in, as far as a file of theirs is named.
pub(super) fn kustomizations(context: &Context<'_>, named: &[RepoPath], found: &mut Found) {
    let mut tops = BTreeSet::new();
    for path in named {
        let above = context.layout.folders_above(path);
        tops.extend(above.into_iter().filter(|folder| {
            let own = context.index.kustomizations.get(*folder);
            own.is_some_and(|k| context.layout.folders_above(&k.path).len() <= 1)
        }));
    }
    let files = TreeFiles::new(context.corpus.tree(), Ceilings::default());
    let mut pins = Found::default();
    for folder in tops.into_iter().take(BUILDS) {
        take_build(context, &files, &kustomize::build(&files, folder), &mut pins);
    }
    found.append_modelled(pins);
}

fn take_build(context: &Context<'_>, files: &TreeFiles<'_>, build: &Build, found: &mut Found) {
    let cluster = Cluster::new(&build.objects);
    let mut own = Found::default();
    for object in &build.objects {
        match (&*object.group(), &*object.kind()) {
            ("helm.toolkit.fluxcd.io", "HelmRelease") => {
                let kind = match object.value.text(&["spec", "chartRef", "kind"]).as_deref() {
                    Some("OCIRepository") => PinKind::FluxOciRepository,
                    Some("HelmChart") => PinKind::FluxHelmChart,
                    _ => PinKind::FluxHelmRelease,
                };
                let release = flux::helm_release(object, &cluster, files);
                release.iter().for_each(|release| take_release(context, release, kind, &mut own));
            }
            (argo::GROUP, "Application") => {
                for release in argo::application(object, files).charts {
                    take_release(context, &release, PinKind::ArgoApplication, &mut own);
                }
            }
            _ => take_object(context, object, Some(&cluster), &mut own),
        }
    }
    for release in &build.charts {
        take_release(context, release, PinKind::KustomizeHelmChart, &mut own);
    }
    take_guards(context, &build.guards, &mut own);
    found.append(own);
}

/// What is only compared with a release moves with it: kustomize fails where they differ.
fn take_guards(context: &Context<'_>, guards: &[Guard], found: &mut Found) {
    for Guard { guard, value } in guards {
        let meant = places(value);
        let pin = found.pins.iter().find(|pin| {
            let inside = |(path, start, end): &(RepoPath, usize, usize)| {
                *path == pin.path && (*start..*end).contains(&pin.site.span.start)
            };
            meant.iter().any(inside)
        });
        let Some(pin) = pin else { continue };
        let expects = if pin.form == Form::Edge { Expects::Edge } else { Expects::Chart };
        let spec = Spec {
            kind: pin.kind,
            stage: pin.stage,
            expects,
            chart: pin.chart.clone(),
            mirror: pin.mirror.clone(),
            stays: pin.stays,
        };
        take(context, guard, &spec, found);
    }
}

/// Says where the parts of a scalar were written: file, first byte, end.
fn places(scalar: &Scalar) -> Vec<(RepoPath, usize, usize)> {
    let written = scalar.parts().iter().filter_map(|part| match part {
        Part::Written(at) => Some((at.source.path.clone(), at.span.start, at.span.end)),
        _ => None,
    });
    written.collect()
}

/// Takes a chart's version, and the releases in its values.
fn take_release(context: &Context<'_>, release: &ChartRelease, kind: PinKind, found: &mut Found) {
    let known = |scalar: &Scalar| scalar.unknown_to().is_none().then(|| scalar.text().into_owned());
    let Some(chart) = known(&release.chart) else { return };
    let origin = match &release.repository {
        Repository::Address(address) => {
            known(address).map_or(origin::Origin::Unknown, origin::Origin::Address)
        }
        Repository::Git(_) => origin::Origin::Local,
        Repository::Unknown(_) => origin::Origin::Unknown,
    };
    let version = release.version.as_ref().map(Scalar::text).unwrap_or_default();
    let ours = Ours::judge(&chart, &origin, &version, &context.options.mirrors);
    if let (Some(ours), Some(version)) = (&ours, &release.version) {
        take(context, version, &ours.fill(Spec::platform(kind, Expects::Chart)), found);
    }
    for layer in &release.layers {
        match layer {
            Layer::Values(values) => {
                ours.iter().for_each(|ours| take_values(context, values, ours, found));
                annotations(context, values, DEPTH, found);
            }
            Layer::Set(set) => {
                let value = ours.as_ref().zip(known(&set.name));
                let value = value.and_then(|(ours, name)| Some((ours, linkerd::value(&ours.chart, &name)?)));
                if let Some((ours, value)) = value {
                    take(context, &set.value, &value_spec(ours, &value), found);
                }
            }
            Layer::InChart { .. } | Layer::Outside { .. } => {}
        }
    }
}

fn take_values(context: &Context<'_>, values: &Value, ours: &Ours, found: &mut Found) {
    for value in linkerd::VALUES.iter().filter(|v| v.chart == ours.chart) {
        let keys: Vec<&str> = value.path.split('.').collect();
        let Some(scalar) = values.scalar(&keys) else { continue };
        // A tag beside a digest is not what runs.
        let digest = keys.split_last().and_then(|(_, image)| values.text(&[image, &["digest"]].concat()));
        let digest = digest.filter(|d| !d.is_empty()).map(|_| Reason::Digest);
        take(context, scalar, &value_spec(ours, value).staying(digest), found);
    }
}

fn value_spec(ours: &Ours, value: &linkerd::Value) -> Spec {
    let own = matches!(value.line, ValueLine::Own(_)).then_some(Reason::OwnVersion);
    let dead = value.dead_since.map(|_| Reason::NoEffect);
    let spec = Spec::platform(PinKind::HelmValues, Expects::Edge).of_chart(&ours.chart);
    spec.staying(own.or(dead)).staying(ours.stays)
}

/// Takes the annotations of pods in values of any chart.
fn annotations(context: &Context<'_>, values: &Value, depth: usize, found: &mut Found) {
    let Some(depth) = depth.checked_sub(1) else { return };
    if let Some(version) = values.scalar(&[PROXY_VERSION]) {
        take(context, version, &annotation::spec().staying(opted_out(values)), found);
    }
    for (_, value) in values.entries() {
        annotations(context, value, depth, found);
    }
    for item in values.items() {
        annotations(context, item, depth, found);
    }
}

fn opted_out(annotations: &Value) -> Option<Reason> {
    (annotations.text(&[INJECT]).as_deref() == Some("disabled")).then_some(Reason::OptedOut)
}

/// Takes the annotations of an object that the injector reads.
fn take_object(context: &Context<'_>, object: &Object, cluster: Option<&Cluster<'_>>, found: &mut Found) {
    let kind = object.kind();
    let home = cluster.zip(object.namespace()).and_then(|(cluster, namespace)| {
        let name = namespace.text();
        let wanted =
            Reference { group: "", kind: "Namespace", name: &name, namespace: None, from: &object.file };
        cluster.find(wanted)?.annotation(INJECT).map(|inject| inject.text() == "disabled")
    });
    let mut todo = vec![(Vec::<&str>::new(), &object.value)];
    while let Some((path, value)) = todo.pop() {
        if let Some(version) = value.scalar(&[PROXY_VERSION]) {
            // What nobody reads is listed where it is written, whatever is built of it.
            if annotation::effect(&kind, &path) != annotation::Effect::None {
                let asks = value.scalar(&[INJECT]).is_some();
                let stays = opted_out(value).or((!asks && home == Some(true)).then_some(Reason::OptedOut));
                take(context, version, &annotation::spec().staying(stays), found);
            }
        }
        if path.len() < DEPTH {
            let below = value.entries().map(|(key, value)| ([path.as_slice(), &[key]].concat(), value));
            todo.extend(below);
        }
    }
}

/// Takes a scalar that is a version, where it was written.
fn take(context: &Context<'_>, scalar: &Scalar, spec: &Spec, found: &mut Found) {
    if scalar.unknown_to().is_some() {
        return;
    }
    let text = scalar.text();
    let Judged::Version(judged) = judge(&text, spec.expects) else { return };
    let written = scalar.cut(judged.span.clone());
    let [Part::Written(at)] = written.parts() else {
        return in_parts(context, &written, spec, found);
    };
    let kind = match at.via {
        Some(Via::Variable) => PinKind::Variable,
        Some(Via::Generator) => PinKind::ArgoGenerator,
        Some(Via::Parameter) => PinKind::ArgoHelmParameter,
        Some(Via::Values) | None => spec.kind,
    };
    let judged = VersionText { span: 0..at.span.len(), ..judged };
    place(context, at, &Spec { kind, ..spec.clone() }, judged, found);
}

/// A version that is put together of several texts names a release, and none of them can be written anew by itself.
fn in_parts(context: &Context<'_>, written: &Scalar, spec: &Spec, found: &mut Found) {
    let digits = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    let part = written.parts().iter().find_map(|part| match part {
        Part::Written(at) if digits(at.text()) => Some(at),
        _ => None,
    });
    if let Some(at) = part {
        let spec = Spec { stays: Some(Reason::Uneditable), ..spec.clone() };
        place(context, at, &spec, super::found::opaque(at.span.len(), Reason::Uneditable), found);
    }
}

/// Makes the pin: in YAML with the way to its node, elsewhere by its bytes alone.
fn place(
    context: &Context<'_>,
    at: &crate::deploy::Origin,
    spec: &Spec,
    judged: VersionText,
    found: &mut Found,
) {
    let path = &at.source.path;
    if let Some(file) = yaml(context, path) {
        for root in file.stream.roots() {
            if in_yaml(Place::of(&file), root, at, spec, found) {
                return;
            }
        }
        return;
    }
    let text = &at.source.text;
    let (line, column) = crate::yaml::position(text, at.span.start);
    let held = marker::is_held(text, &at.span).then_some(Reason::Held);
    found.pins.push(Pin {
        path: path.clone(),
        blob: at.source.blob,
        site: super::Site { span: at.span.clone(), line, column, document: 0, route: None },
        kind: spec.kind,
        chart: spec.chart.clone(),
        mirror: spec.mirror.clone(),
        value: at.text().to_owned(),
        form: judged.form,
        version: judged.version,
        stage: spec.stage,
        stays: held.or(spec.stays).or(judged.stays),
        installations: Default::default(),
    });
}

fn yaml(context: &Context<'_>, path: &RepoPath) -> Option<std::sync::Arc<super::corpus::File>> {
    matches!(other::class(path), other::Class::Manifest).then(|| context.corpus.file(path.as_str()))?
}

/// Finds the scalar that holds the bytes, also in the text of another.
fn in_yaml(
    place: Place<'_>,
    root: Node<'_>,
    at: &crate::deploy::Origin,
    spec: &Spec,
    found: &mut Found,
) -> bool {
    for node in root.document().nodes().filter(|node| !node.is_alias() && !node.is_key()) {
        let Some(value) = node.as_str() else { continue };
        let starts = value.match_indices(at.text()).map(|(start, _)| start);
        for start in starts {
            let part = start..start + at.span.len();
            if place.locate(node, part.clone()).site.span == at.span {
                found.part(place, node, part, spec);
                return true;
            }
        }
        // A scalar alone is no text inside a text.
        if value.contains(": ") || value.contains('{') {
            let inside = place
                .inside(node, |inner| inner.stream.roots().any(|root| in_yaml(inner, root, at, spec, found)));
            if inside == Some(true) {
                return true;
            }
        }
    }
    false
}
