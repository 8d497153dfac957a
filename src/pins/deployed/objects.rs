//! Step 5, pins: what is deployed as objects.
//!
//! In: objects as they reach the cluster. Out: claims of the annotations that Linkerd's injector reads.

use super::{
    claim::Claims,
    pods::{Injection, asks, injection, opted_out, take_asking},
};
use crate::{
    deploy::{Cluster, Object, Scalar, Value},
    linkerd::PROXY_VERSION,
    pins::{
        Home, Reason, ScanOptions,
        annotation::{self, Effect},
        image,
    },
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
    let kind = object.kind();
    let namespace = match &*kind {
        "Namespace" => object.name(),
        _ => object.namespace(),
    };
    let name = namespace.map(Scalar::text);
    let injected = name.as_deref().map_or(Injection::Open, |name| injection(name, &object.file, cluster));
    let home = |labels| options.homes.then(|| Home::new(name.as_deref(), labels));
    let mut todo = vec![(Vec::<&str>::new(), &object.value, None)];
    while let Some((path, value, labels)) = todo.pop() {
        let annotations = || [path.as_slice(), &["annotations"]].concat();
        if options.restarts
            && asks(value, "labels")
            && annotation::effect(&kind, &annotations()) == Effect::Pod
        {
            let spec = annotation::spec().at_home(home(value.get("labels")));
            take_asking(value, ("labels", "annotations"), injected, spec, claims);
        }
        if let Some(image) = value.scalar(&["image"]).filter(|image| image::pinned(&image.text()).is_none()) {
            claims.take_foreign(image);
        }
        revision(&kind, value).into_iter().for_each(|revision| claims.take_foreign(revision));
        if let Some(version) = value.scalar(&[PROXY_VERSION]) {
            let stays = match annotation::effect(&kind, &path) {
                Effect::None => Some(Reason::NoEffect),
                Effect::Namespace | Effect::Pod => opted_out(value, injected),
            };
            claims.take(version, &annotation::spec().at_home(home(labels)).staying(stays));
        }
        if path.len() < DEPTH {
            // Values and patches are for other objects.
            let own = |key: &str| path.first() != Some(&"spec") || !OTHERS.contains(&key);
            let below = value.entries().filter(|(key, _)| own(key));
            let labels = value.get("labels");
            todo.extend(below.map(|(key, value)| ([path.as_slice(), &[key]].concat(), value, labels)));
            todo.extend(value.items().iter().map(|item| ([path.as_slice(), &["[]"]].concat(), item, None)));
        }
    }
}

/// Returns what a Git repository is fetched at that is not Linkerd's own: by Flux, or as a source of Argo CD.
fn revision<'v>(kind: &str, value: &'v Value) -> Option<&'v Scalar> {
    let (url, revision) = match kind {
        "GitRepository" => (value.text(&["url"])?, value.scalar(&["ref", "tag"])?),
        "Application" if value.get("chart").is_none() => {
            (value.text(&["repoURL"])?, value.scalar(&["targetRevision"])?)
        }
        _ => return None,
    };
    (!url.starts_with("oci://") && !url.contains("linkerd/linkerd2")).then_some(revision)
}

/// Fields of a deployer's object that say something of other objects.
const OTHERS: [&str; 5] = ["values", "valuesObject", "postRenderers", "patches", "generators"];
