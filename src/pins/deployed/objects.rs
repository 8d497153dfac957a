//! Step 5, pins: what is deployed as objects.
//!
//! In: objects as they reach the cluster. Out: claims of the annotations that Linkerd's injector reads.

use super::{claim::Claims, release::opted_out};
use crate::{
    deploy::{Cluster, Object, cluster::Reference},
    linkerd::{INJECT, PROXY_VERSION},
    pins::{Reason, annotation},
};

/// Keys that are walked.
const DEPTH: usize = 64;

/// Takes the annotations of an object that the injector reads.
pub(in crate::pins) fn take_object(object: &Object, cluster: &Cluster<'_>, claims: &mut Claims) {
    let kind = object.kind();
    let home = object.namespace().and_then(|namespace| {
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
                claims.take(version, &annotation::spec().staying(stays));
            }
        }
        if path.len() < DEPTH {
            let items = value.items().iter().map(|item| ("[]", item));
            let below = value.entries().chain(items);
            todo.extend(below.map(|(key, value)| ([path.as_slice(), &[key]].concat(), value)));
        }
    }
}
