//! Step 5, pins: what is deployed as objects.
//!
//! In: objects as they reach the cluster. Out: claims of the annotations that Linkerd's injector reads.

use super::{claim::Claims, values::opted_out};
use crate::{
    deploy::{Cluster, Object, cluster::Reference},
    linkerd::{INJECT, PROXY_VERSION},
    pins::{
        Reason,
        annotation::{self, Effect},
    },
    repo::RepoPath,
};

/// Keys that are walked.
const DEPTH: usize = 64;

/// Takes the annotations of an object that the injector reads, and those that nobody reads.
pub(in crate::pins) fn take_object(object: &Object, cluster: &Cluster<'_>, claims: &mut Claims) {
    let kind = object.kind();
    let namespace = match &*kind {
        "Namespace" => object.name(),
        _ => object.namespace(),
    };
    let home = namespace.is_some_and(|name| is_out(&name.text(), &object.file, cluster));
    let mut todo = vec![(Vec::<&str>::new(), &object.value)];
    while let Some((path, value)) = todo.pop() {
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

/// Tells whether the namespace of an object is opted out of injection.
pub(super) fn is_out(name: &str, from: &RepoPath, cluster: &Cluster<'_>) -> bool {
    let wanted = Reference { group: "", kind: "Namespace", name, namespace: None, from };
    let inject = cluster.find(wanted).and_then(|namespace| namespace.annotation(INJECT));
    inject.is_some_and(|inject| inject.text() == "disabled")
}
