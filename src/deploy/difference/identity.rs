//! What a cluster knows an object by: its name, and of a workload the labels of its pods.
//!
//! In: an object before and after. Out: whether a release that moves is among that. Another name is another object, and a
//! selector never changes.

use super::{Compared, Replaced, TOLD, called};
use crate::{deploy::object::Object, repo::RepoPath};

/// Kinds of which each release may well have its own: they do not change, or nothing hangs on them but what names them.
const MADE_ANEW: [&str; 4] = ["ConfigMap", "Job", "Pod", "Secret"];
/// Kinds whose `spec.selector` the API server lets nobody change.
const SELECTING: [&str; 4] = ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];

/// An object that a cluster knows by a release that moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The file of the root.
    pub root: RepoPath,
    /// What the object is called before.
    pub object: String,
    /// What it is known by.
    pub by: KnownBy,
}

/// By what a cluster knows an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownBy {
    /// Its name, which is this one after.
    Name(String),
    /// Its selector.
    Selector,
}

// === impl Compared ===

impl Compared {
    /// Notes whether an object, which is called so after, is another one to its cluster.
    pub(super) fn identity(&mut self, root: &RepoPath, [was, is]: [&Object; 2], now: &str) {
        let (object, kind) = (called(was, &Replaced::default()), was.kind());
        let by = match object != now {
            true if MADE_ANEW.contains(&&*kind) => return,
            true => KnownBy::Name(now.to_owned()),
            false if SELECTING.contains(&&*kind) && selector(was) != selector(is) => KnownBy::Selector,
            false => return,
        };
        let identity = Identity { root: root.clone(), object, by };
        if self.identities.len() < TOLD && !self.identities.contains(&identity) {
            self.identities.push(identity);
        }
    }
}

/// Lists the texts of a selector.
fn selector(object: &Object) -> Vec<String> {
    let selector = object.value.path(&["spec", "selector"]);
    let texts = selector.into_iter().flat_map(|selector| selector.scalars());
    texts.map(|text| text.text().into_owned()).collect()
}
