//! Step 5, pins: what is deployed as objects.
//!
//! In: objects as they reach the cluster. Out: claims of the annotations that Linkerd's injector reads.

use super::{
    claim::Claims,
    pods::{Injection, asks, injection, opted_out, take_asking},
};
use crate::{
    deploy::{Cluster, Object},
    linkerd::PROXY_VERSION,
    pins::{
        Reason,
        annotation::{self, Effect},
    },
};

/// Keys that are walked.
const DEPTH: usize = 64;

/// Takes the annotations of an object that the injector reads, and those that nobody reads; with `restarts` also the
/// pod templates that ask for restarts and have no annotation yet.
pub(in crate::pins) fn take_object(
    object: &Object,
    cluster: &Cluster<'_>,
    restarts: bool,
    claims: &mut Claims,
) {
    let kind = object.kind();
    let namespace = match &*kind {
        "Namespace" => object.name(),
        _ => object.namespace(),
    };
    let home = namespace.map_or(Injection::Open, |name| injection(&name.text(), &object.file, cluster));
    let mut todo = vec![(Vec::<&str>::new(), &object.value)];
    while let Some((path, value)) = todo.pop() {
        let annotations = || [path.as_slice(), &["annotations"]].concat();
        if restarts && asks(value, "labels") && annotation::effect(&kind, &annotations()) == Effect::Pod {
            take_asking(value, ("labels", "annotations"), home, claims);
        }
        if let Some(version) = value.scalar(&[PROXY_VERSION]) {
            let stays = match annotation::effect(&kind, &path) {
                Effect::None => Some(Reason::NoEffect),
                Effect::Namespace | Effect::Pod => opted_out(value, home),
            };
            claims.take(version, &annotation::spec().staying(stays));
        }
        if path.len() < DEPTH {
            // Values and patches are for other objects.
            let own = |key: &str| path.first() != Some(&"spec") || !OTHERS.contains(&key);
            let below = value.entries().filter(|(key, _)| own(key));
            todo.extend(below.map(|(key, value)| ([path.as_slice(), &[key]].concat(), value)));
            todo.extend(value.items().iter().map(|item| ([path.as_slice(), &["[]"]].concat(), item)));
        }
    }
}

/// Fields of a deployer's object that say something of other objects.
const OTHERS: [&str; 5] = ["values", "valuesObject", "postRenderers", "patches", "generators"];
