//! Step 10, propose: the forges that there are.
//!
//! In: a name or a host. Out: a [`Kind`], which each forge gives as data. A forge is a folder and a row here.

use super::{gitea, github, gitlab, kind::Kind, webhook::Webhook};
use crate::{
    repo::Refusals,
    sys::env::{VARIABLES, Variable},
};

/// All forges with an API.
pub const KINDS: &[&Kind] = &[&github::KIND, &gitlab::KIND, &gitea::KIND, &gitea::FORGEJO];

/// Finds a forge by its name.
pub fn named(name: &str) -> Option<&'static Kind> {
    KINDS.iter().copied().find(|kind| kind.name == name)
}

/// Finds the forge that is known to be at a host, with the root of its API.
pub fn at(host: &str) -> Option<(&'static Kind, &'static str)> {
    let api = |kind: &'static Kind| kind.hosts.iter().find(|(known, _)| *known == host);
    KINDS.iter().find_map(|kind| Some((*kind, api(kind)?.1)))
}

/// Returns their names as people type them, for a sentence.
pub fn names() -> String {
    KINDS.iter().map(|kind| format!("`{}`", kind.name)).collect::<Vec<_>>().join(", ")
}

/// Returns the sentences by which refusals are known, of all forges.
pub fn refusals() -> Vec<&'static Refusals> {
    KINDS.iter().map(|kind| kind.refusals).collect()
}

/// Returns the ways in which news are delivered, of all forges.
pub fn webhooks() -> Vec<&'static Webhook> {
    KINDS.iter().map(|kind| kind.webhook).collect()
}

/// Returns every variable that is read, in the order of the reference page: the program's own, and those of jobs.
pub fn variables() -> Vec<Variable> {
    let mut all = VARIABLES.to_vec();
    for variable in KINDS.iter().flat_map(|kind| kind.runner.variables()) {
        if all.iter().all(|known| known.name != variable.name) {
            all.push(variable);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::Dialect;

    #[test]
    fn names_and_hosts_are_unique_and_every_limit_leaves_room() {
        let names: std::collections::BTreeSet<_> = KINDS.iter().map(|kind| kind.name).collect();
        let hosts: Vec<_> = KINDS.iter().flat_map(|kind| kind.hosts).collect();
        let single: std::collections::BTreeSet<_> = hosts.iter().map(|(host, _)| host).collect();
        assert_eq!((names.len(), single.len()), (KINDS.len(), hosts.len()));
        for Kind { dialect, below, .. } in KINDS {
            assert!(dialect.title >= Dialect::COMMON.title && dialect.body >= Dialect::COMMON.body);
            assert!(dialect.status >= Dialect::COMMON.status && below.starts_with('/'));
        }
    }
}
