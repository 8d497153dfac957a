//! Step 5, pins: what is deployed as objects.
//!
//! In: objects as they reach the cluster. Out: claims of the annotations that Linkerd's injector reads.

use super::{
    claims::Claims,
    foreign::By,
    pods::{Injection, asks, injection, opted_out, take_asking, told},
};
use crate::{
    deploy::{Cluster, Object, Scalar, Value, flux, kinds, kyverno},
    linkerd,
    pins::{
        Home, Reason, ScanOptions,
        annotation::{self, Effect},
        image,
    },
    repo::RepoPath,
};

/// Keys that are walked.
const DEPTH: usize = 64;

/// Takes the annotations of an object that the injector reads, and those that nobody reads; where that is asked for also
/// the pod templates that ask for restarts and have no annotation yet.
pub(in crate::pins) fn take_object(
    object: &Object,
    cluster: &Cluster<'_>,
    options: &ScanOptions,
    claims: &mut Claims,
) {
    let (group, kind) = (object.group(), object.kind());
    let namespace = match &*kind {
        "Namespace" => object.name(),
        _ => object.namespace(),
    };
    let name = namespace.map(Scalar::text);
    let from: Vec<&RepoPath> = [&object.file].into_iter().chain(&object.by).collect();
    let injected = name.as_deref().map_or(Injection::Open, |name| injection(name, &from, cluster));
    let home = |labels| options.homes.then(|| Home::new(name.as_deref(), labels));
    take_expressions(object, claims);
    let mut todo = vec![(Vec::<&str>::new(), &object.value, None)];
    while let Some((path, value, labels)) = todo.pop() {
        let annotations = || [path.as_slice(), &["annotations"]].concat();
        if options.restarts
            && asks(value, "labels")
            && annotation::effect(&group, &kind, &annotations()) == Effect::Pod
        {
            let spec = annotation::spec().at_home(home(value.get("labels")));
            take_asking(value, ("labels", "annotations"), injected, spec, claims);
        }
        if let Some(image) = value.scalar(&["image"]).filter(|image| image::pinned(&image.text()).is_none()) {
            claims.foreign.take(image, By::Container);
        }
        take_revision(&kind, &path, value, claims);
        for (version, spec) in annotation::versions(value) {
            if is_open(&group, &kind, &path) || kyverno::is_pattern(&group, &path, &version.text()) {
                claims.take_not_followed(version);
                continue;
            }
            let stays = match annotation::effect(&group, &kind, &path) {
                Effect::None => Some(Reason::NoEffect),
                Effect::Namespace if told(labels, None) == Injection::Shut => Some(Reason::OptedOut),
                Effect::Namespace | Effect::Pod => opted_out(value, injected),
            };
            claims.take(version, &spec.at_home(home(labels)).staying(stays));
        }
        if path.len() < DEPTH {
            // Values and patches are for other objects.
            let is_others = |key: &str| OTHERS.contains(&key) || key == "resources" && kind == "ResourceSet";
            let own = |key: &str| path.first() != Some(&"spec") || !is_others(key);
            let below = value.entries().filter(|(key, _)| own(key));
            let labels = value.get("labels");
            todo.extend(below.map(|(key, value)| ([path.as_slice(), &[key]].concat(), value, labels)));
            todo.extend(value.items().iter().map(|item| ([path.as_slice(), &["[]"]].concat(), item, None)));
        }
    }
}

/// Takes the releases of expressions about Linkerd by which Flux waits. Whatever is held against such a text as a whole goes with
/// it, and what is made of others is not followed.
fn take_expressions(object: &Object, claims: &mut Claims) {
    let all = flux::expressions(object);
    let speaks = |text: &&Scalar| text.text().contains("inkerd");
    if !all.is_empty() && object.value.scalars().iter().any(speaks) {
        all.into_iter().for_each(|text| claims.take_not_followed(text));
    }
}

/// Tells whether an operator may put on others what stands in the spec of its own kind, as an override of Karmada's does: what
/// is called annotations or labels says itself what it is.
fn is_open(group: &str, kind: &str, path: &[&str]) -> bool {
    let is_told = |key: &&str| {
        let key = key.to_ascii_lowercase();
        ["annotations", "labels"].iter().any(|end| key.ends_with(end))
    };
    let is_operator_s = group.contains('.') && !group.ends_with(".k8s.io");
    let is_known = kinds::leads(group, kind) || kinds::asks(group, kind);
    is_operator_s && !is_known && path.first() == Some(&"spec") && !path.last().is_some_and(is_told)
}

/// Takes what a Git repository is fetched at that is not Linkerd's own: by Flux, or as a source of Argo CD.
fn take_revision(kind: &str, path: &[&str], value: &Value, claims: &mut Claims) {
    let (url, revision) = match kind {
        // What stands beside its spec, for anchors, is nobody's.
        _ if path.first() != Some(&"spec") => return,
        "GitRepository" => (value.text(&["url"]), value.scalar(&["ref", "tag"])),
        "Application" if value.get("chart").is_none() => {
            (value.text(&["repoURL"]), value.scalar(&["targetRevision"]))
        }
        _ => return,
    };
    let (Some(url), Some(revision)) = (url, revision) else { return };
    if url.starts_with("oci://") || url.contains("linkerd/linkerd2") {
        return;
    }
    // A mirror of Linkerd's sources has the folders of its charts.
    let path = value.text(&["path"]).unwrap_or_default();
    let names_chart = path.split('/').any(linkerd::is_chart) || url.contains("linkerd2");
    match names_chart {
        true => claims.foreign.take(revision, By::Mirror),
        false => claims.foreign.take(revision, By::Other),
    }
}

/// Fields of a deployer's object that say something of other objects.
const OTHERS: [&str; 5] = ["values", "valuesObject", "postRenderers", "patches", "generators"];
