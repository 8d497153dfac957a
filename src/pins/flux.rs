//! Step 5, pins: shapes `flux-helm-release`, `flux-helm-chart` and `flux-oci-repository`.
//!
//! In: Flux objects, and patches in their form. Out: pins. A release is tied to its source by kind, name and
//! namespace; a release without a chart is a patch and is known by the release that it patches.

use std::collections::BTreeSet;

use super::{
    Deployment, PinKind, Reason,
    context::{Context, NamedChart, Reference, oci_chart},
    found::{Found, Spec},
    index::clean_folder,
    kustomize,
    object::Object,
    origin::{Origin, Ours},
    place::Place,
    values::{self, ReadBy},
    variable,
    version_text::Expects,
};
use crate::{repo::RepoPath, yaml::Node};

/// Takes the pins of a Flux object.
pub(super) fn object(context: &Context<'_>, place: Place<'_>, object: &Object<'_>, found: &mut Found) {
    let Some(spec) = object.node.get("spec") else { return };
    let namespaces = context.namespaces(&place.file.path, object);
    match (object.group, object.kind) {
        ("helm.toolkit.fluxcd.io", "HelmRelease") => {
            helm_release(context, place, object, spec, &namespaces, found);
        }
        ("source.toolkit.fluxcd.io", "HelmChart") => helm_chart(context, place, spec, &namespaces, found),
        ("source.toolkit.fluxcd.io", "OCIRepository") => oci_repository(context, place, object, spec, found),
        ("kustomize.toolkit.fluxcd.io", "Kustomization") => {
            let target = spec.text(&["targetNamespace"]).map(str::to_owned).into_iter().collect();
            kustomize::images(place, spec, found);
            kustomize::patches(context, place, spec, &target, found);
        }
        _ => {}
    }
}

fn helm_release(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    spec: Node<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let template = spec.path(&["chart", "spec"]);
    let version = template.and_then(|t| t.get("version"));
    let text = version.and_then(Node::as_str).unwrap_or_default();
    let named = release_chart(context, place, object, spec, namespaces);
    let read_by = named.as_ref().map_or(ReadBy::Other, |named| ReadBy::judge(context, named, text));
    if let ReadBy::Ours(ours) = &read_by {
        if let Some(version) = version {
            found.scalar(
                place,
                version,
                &ours.fill(Spec::platform(PinKind::FluxHelmRelease, Expects::Chart)),
            );
        }
        let full = template.is_some_and(|t| t.get("chart").is_some()) || spec.get("chartRef").is_some();
        if full {
            found.deployments.push(deployment(place, object, spec, ours, namespaces));
        }
    }
    let target: BTreeSet<String> = match spec.text(&["targetNamespace"]) {
        Some(target) => BTreeSet::from([target.to_owned()]),
        None => namespaces.clone(),
    };
    if let Some(values) = spec.get("values") {
        values::walk(context, place, values, &read_by, &target, found);
    }
    let files = template.and_then(|t| t.get("valuesFiles")).into_iter().flat_map(Node::items);
    if matches!(read_by, ReadBy::Umbrella(_)) {
        for file in files.filter_map(Node::as_str) {
            values::file(context, &clean_folder(file), &read_by, &target, found);
        }
    }
    for from in spec.get("valuesFrom").into_iter().flat_map(Node::items) {
        variable::values_from(context, from, &read_by, namespaces, found);
    }
    for renderer in spec.get("postRenderers").into_iter().flat_map(Node::items) {
        if let Some(node) = renderer.get("kustomize") {
            kustomize::images(place, node, found);
            kustomize::patches(context, place, node, &target, found);
        }
    }
}

/// Says which chart a release deploys.
fn release_chart(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    spec: Node<'_>,
    namespaces: &BTreeSet<String>,
) -> Option<NamedChart> {
    let path = &place.file.path;
    let unknown = |chart: &str| NamedChart { chart: chart.to_owned(), origin: Origin::Unknown };
    if let Some(to) = spec.get("chartRef").and_then(|node| reference(path, node, namespaces)) {
        // A source that is made elsewhere is known by its name alone.
        let by_name = || crate::linkerd::is_chart(to.name).then(|| unknown(to.name));
        return context.referenced_chart(&to).or_else(by_name);
    }
    let template = spec.path(&["chart", "spec"]);
    let chart = template.and_then(|t| t.text(&["chart"]));
    let source = template.and_then(|t| t.get("sourceRef"));
    match (chart, source.and_then(|node| reference(path, node, namespaces))) {
        (Some(chart), Some(to)) => Some(NamedChart { chart: chart.to_owned(), origin: context.origin(&to) }),
        _ => {
            let patched = context.patched_chart(path, "HelmRelease", object.name?, namespaces);
            // A patch may name the chart itself without its source.
            patched.or_else(|| chart.map(unknown))
        }
    }
}

fn reference<'a>(from: &'a RepoPath, node: Node<'a>, own: &'a BTreeSet<String>) -> Option<Reference<'a>> {
    let (kind, name) = (node.text(&["kind"])?, node.text(&["name"])?);
    Some(Reference { from, kind, name, namespace: node.text(&["namespace"]), own })
}

fn deployment(
    place: Place<'_>,
    object: &Object<'_>,
    spec: Node<'_>,
    ours: &Ours,
    namespaces: &BTreeSet<String>,
) -> Deployment {
    let on = |node: Node<'_>| {
        let name = node.text(&["name"])?;
        Some(node.text(&["namespace"]).map_or(name.to_owned(), |n| format!("{n}/{name}")))
    };
    let depends_on = spec.get("dependsOn").into_iter().flat_map(Node::items).filter_map(on).collect();
    Deployment {
        path: place.file.path.clone(),
        line: place.file.position(object.node.span().start).0,
        chart: ours.chart.clone(),
        name: object.name.unwrap_or_default().to_owned(),
        namespace: namespaces.first().filter(|_| namespaces.len() == 1).cloned(),
        depends_on: Some(depends_on),
        sync_wave: None,
    }
}

fn helm_chart(
    context: &Context<'_>,
    place: Place<'_>,
    spec: Node<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let Some((chart, version)) = spec.text(&["chart"]).zip(spec.get("version")) else { return };
    let kind = spec.text(&["sourceRef", "kind"]).unwrap_or("HelmRepository");
    let name = spec.text(&["sourceRef", "name"]).unwrap_or_default();
    let to = Reference { from: &place.file.path, kind, name, namespace: None, own: namespaces };
    let origin = context.origin(&to);
    let text = version.as_str().unwrap_or_default();
    if let Some(ours) = Ours::judge(chart, &origin, text, &context.options.mirrors) {
        found.scalar(place, version, &ours.fill(Spec::platform(PinKind::FluxHelmChart, Expects::Chart)));
    }
}

fn oci_repository(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    spec: Node<'_>,
    found: &mut Found,
) {
    let named = spec.text(&["url"]).and_then(oci_chart).or_else(|| {
        let own = &context.namespaces(&place.file.path, object);
        let (from, kind) = (&place.file.path, "OCIRepository");
        context.referenced_chart(&Reference { from, kind, name: object.name?, namespace: None, own })
    });
    let Some((named, reference)) = named.zip(spec.get("ref")) else { return };
    let digest = reference.text(&["digest"]).filter(|d| !d.is_empty()).map(|_| Reason::Digest);
    for key in ["tag", "semver", "digest"] {
        let Some(node) = reference.get(key) else { continue };
        let text = node.as_str().unwrap_or_default();
        let version = if key == "digest" { "" } else { text };
        let judged = Ours::judge(&named.chart, &named.origin, version, &context.options.mirrors);
        if let Some(ours) = judged {
            // Flux reads the digest first, then the constraint, then the tag.
            let shadowed = (key == "tag" && reference.get("semver").is_some()).then_some(Reason::NoEffect);
            let spec = Spec::platform(PinKind::FluxOciRepository, Expects::Chart);
            found.scalar(place, node, &ours.fill(spec.staying(digest).staying(shadowed)));
        }
    }
}
