//! Step 5, pins: shapes `argo-application`, `argo-applicationset` and `argo-helm-parameter`.
//!
//! In: Applications, ApplicationSets and patches of them. Out: pins at chart sources, Helm parameters and values. What
//! a template reads from its generators is the model's. A Git revision is no pin.

use std::collections::BTreeSet;

use super::{
    Deployment, PinKind, annotation,
    context::{Context, NamedChart, oci_chart},
    found::{Found, Spec},
    image,
    index::argo_sources,
    kustomize,
    object::Object,
    origin::{Origin, Ours},
    place::Place,
    template,
    values::{self, ReadBy},
    version_text::Expects,
};
use crate::{linkerd::PROXY_VERSION, repo::RepoPath, yaml::Node};

/// The annotation that orders Argo CD's syncs.
const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";

/// Takes the pins of an Application or ApplicationSet.
pub(super) fn object(context: &Context<'_>, place: Place<'_>, object: &Object<'_>, found: &mut Found) {
    let Some(spec) = object.node.get("spec") else { return };
    match object.kind {
        "Application" => {
            application(context, place, object, spec, PinKind::ArgoApplication, found);
            let wave = object.annotation(SYNC_WAVE);
            deployments(context, place, object, spec, wave, found);
        }
        "ApplicationSet" => application_set(context, place, object, spec, found),
        _ => {}
    }
}

fn application_set(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    spec: Node<'_>,
    found: &mut Found,
) {
    let kind = PinKind::ArgoApplicationset;
    if let Some(template) = spec.get("template") {
        let wave = template.text(&["metadata", "annotations", SYNC_WAVE]);
        if let Some(template) = template.get("spec") {
            application(context, place, object, template, kind, found);
            deployments(context, place, object, template, wave, found);
        }
    }
    if let Some(patch) = spec.get("templatePatch") {
        place.inside(patch, |inner| {
            for spec in inner.stream.roots().filter_map(|root| root.get("spec")) {
                application(context, inner, object, spec, kind, found);
            }
        });
    }
}

/// Takes the pins of an application's spec, or of a template's.
fn application(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    spec: Node<'_>,
    kind: PinKind,
    found: &mut Found,
) {
    let namespaces: BTreeSet<String> =
        spec.text(&["destination", "namespace"]).map(str::to_owned).into_iter().collect();
    for source in argo_sources(spec) {
        let named = source_chart(context, place, object, source);
        let revision = source.get("targetRevision");
        let version = revision.and_then(Node::as_str).unwrap_or_default();
        let read_by = match &named {
            Some(named) => ReadBy::judge(context, named, version),
            None => ReadBy::local(context, source.text(&["path"]).unwrap_or(".")),
        };
        if let (ReadBy::Ours(ours), Some(revision)) = (&read_by, revision) {
            found.scalar(place, revision, &ours.fill(Spec::platform(kind, Expects::Chart)));
        }
        helm(context, place, source, &read_by, &namespaces, found);
        kustomize_source(context, place, source, &namespaces, found);
    }
}

/// Says which chart a source names; an application patch is known by its name.
pub(super) fn source_chart(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    source: Node<'_>,
) -> Option<NamedChart> {
    let url = source.text(&["repoURL"]);
    match (source.text(&["chart"]), url) {
        (Some(chart), Some(url)) if !url.contains("{{") => {
            Some(NamedChart { chart: chart.to_owned(), origin: Origin::Address(url.to_owned()) })
        }
        (Some(chart), _) => Some(NamedChart { chart: chart.to_owned(), origin: Origin::Unknown }),
        (None, Some(url)) if url.starts_with("oci://") => oci_chart(url),
        (None, Some(_)) => None,
        (None, None) if source.text(&["path"]).is_some() => None,
        (None, None) if object.kind == "ApplicationSet" => {
            // A template's patch is for the chart of the template.
            let template = object.node.path(&["spec", "template", "spec"])?;
            let own = argo_sources(template).into_iter().find(|s| s.get("repoURL").is_some())?;
            source_chart(context, place, object, own)
        }
        (None, None) => {
            let name = object.name?;
            context.patched_chart(&place.file.path, object.kind, name, &BTreeSet::new())
        }
    }
}

/// Takes the Helm parameters and values of a source, for the chart that reads them.
pub(super) fn helm(
    context: &Context<'_>,
    place: Place<'_>,
    source: Node<'_>,
    read_by: &ReadBy<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let Some(helm) = source.get("helm") else { return };
    for parameter in helm.get("parameters").into_iter().flat_map(Node::items) {
        if let (Some(name), Some(value)) = (parameter.text(&["name"]), parameter.get("value"))
            && let Some(spec) = parameter_spec(context, read_by, name)
        {
            found.scalar(place, value, &spec);
        }
    }
    if let Some(object) = helm.get("valuesObject") {
        values::walk(context, place, object, read_by, namespaces, found);
    }
    if let Some(text) = helm.get("values") {
        place.inside(text, |inner| {
            for root in inner.stream.roots() {
                values::walk(context, inner, root, read_by, namespaces, found);
            }
        });
    }
    for written in helm.get("valueFiles").into_iter().flat_map(Node::items).filter_map(Node::as_str) {
        for path in value_files(context, source, written) {
            values::file(context, path.as_str(), read_by, namespaces, found);
        }
    }
}

/// Says what a Helm parameter holds.
pub(super) fn parameter_spec(context: &Context<'_>, read_by: &ReadBy<'_>, name: &str) -> Option<Spec> {
    // A dot that belongs to a key is escaped: `podAnnotations.config\.linkerd\.io/proxy-version`.
    if name.replace('\\', "").ends_with(PROXY_VERSION) {
        return Some(Spec { kind: PinKind::ArgoHelmParameter, ..annotation::spec() });
    }
    read_by.spec(context, name).map(|spec| Spec { kind: PinKind::ArgoHelmParameter, ..spec })
}

/// Finds the files that an entry of `valueFiles` stands for: beside the chart in the tree, or from the root of the
/// repository that another source names (`$values/...`), which can be this one.
fn value_files(context: &Context<'_>, source: Node<'_>, written: &str) -> Vec<RepoPath> {
    let (folder, reference) = match written.strip_prefix('$') {
        Some(rest) => ("", rest.split_once('/').map_or("", |(_, path)| path)),
        None => match (written.strip_prefix('/'), source.text(&["path"])) {
            (Some(absolute), _) => ("", absolute),
            (None, Some(folder)) => (folder, written),
            // A file inside the chart's package.
            (None, None) => return Vec::new(),
        },
    };
    let pattern = template::as_glob(reference);
    let Some(path) = RepoPath::resolve(&super::index::clean_folder(folder), &pattern) else {
        return Vec::new();
    };
    if path.as_str().contains('*') {
        return context.corpus.matching(path.as_str()).into_iter().map(|e| e.path.clone()).collect();
    }
    vec![path]
}

fn kustomize_source(
    context: &Context<'_>,
    place: Place<'_>,
    source: Node<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    let Some(node) = source.get("kustomize") else { return };
    for text in node.get("images").into_iter().flat_map(Node::items).filter(|i| i.as_str().is_some()) {
        image::reference(place, text, &Spec::platform(PinKind::KustomizeImage, Expects::Edge), found);
    }
    kustomize::common_annotations(context, place, node, namespaces, found);
    kustomize::patches(context, place, node, namespaces, found);
}

fn deployments(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    spec: Node<'_>,
    wave: Option<&str>,
    found: &mut Found,
) {
    for source in argo_sources(spec) {
        let version = source.text(&["targetRevision"]).unwrap_or_default();
        let named = source_chart(context, place, object, source);
        let ours = named.and_then(|n| Ours::judge(&n.chart, &n.origin, version, &context.options.mirrors));
        let line = place.file.position(object.node.span().start).0;
        found.deployments.extend(ours.map(|ours| Deployment {
            path: place.file.path.clone(),
            line,
            chart: ours.chart,
            name: object.name.unwrap_or_default().to_owned(),
            namespace: object.namespace.map(str::to_owned),
            depends_on: None,
            // Without the annotation an application is in wave 0.
            sync_wave: Some(wave.and_then(|w| w.trim().parse().ok()).unwrap_or(0)),
        }));
    }
}
