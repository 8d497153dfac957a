//! Whose root a root is: deployers read folders out of many repositories, and a tree does not know its own address.
//!
//! In: the folders that objects of the tree name, each with the repository that it is asked of. Out: the repositories of
//! which such a folder is here. A folder's name says which tree is meant, the root's does not: `path: ./` is in every
//! repository. It is this tree's where its repository is one of which another folder is here, or where nothing is known.

use std::collections::{BTreeMap, BTreeSet};

/// What `flux bootstrap` calls the repository in which it puts itself (docs: flux bootstrap).
const BOOTSTRAPPED: &str = "flux-system";

/// The repositories of which a folder is in the tree, as deployers call them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Repositories(BTreeSet<String>);

/// Names the source that a Flux object refers to.
pub fn referred(kind: &str, name: &str) -> String {
    format!("{kind} {name}")
}

/// Brings an address to one form: `git@host:owner/name.git` is `https://host/owner/name`.
pub fn address(url: &str) -> String {
    let bare = url.split_once("://").map_or_else(|| url.replacen(':', "/", 1), |(_, rest)| rest.to_owned());
    let bare = bare.split_once('@').map_or(bare.as_str(), |(_, rest)| rest);
    bare.trim_end_matches('/').trim_end_matches(".git").to_lowercase()
}

// === impl Repositories ===

impl Repositories {
    /// Gathers them from the names of those of which a folder is here; `sources` are the addresses of what Flux calls by
    /// name, several where it names several alike.
    pub fn new(here: BTreeSet<String>, sources: &BTreeMap<String, BTreeSet<String>>) -> Self {
        let addresses: BTreeSet<&String> =
            here.iter().filter_map(|name| sources.get(name)).flatten().chain(&here).collect();
        let same = |(_, own): &(&String, &BTreeSet<String>)| own.iter().any(|one| addresses.contains(one));
        let names = sources.iter().filter(same).map(|(name, _)| name);
        Self(names.chain(addresses.iter().copied()).cloned().collect())
    }

    /// Tells whether the root of a repository may be the root of this tree.
    pub fn has_root_of(&self, repository: &str) -> bool {
        self.0.is_empty()
            || self.0.contains(repository)
            || repository == referred("GitRepository", BOOTSTRAPPED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_many_addresses() {
        for url in [
            "https://github.com/acme/fleet",
            "https://github.com/Acme/fleet.git",
            "ssh://git@github.com/acme/fleet/",
            "git@github.com:acme/fleet.git",
        ] {
            assert_eq!(address(url), "github.com/acme/fleet");
        }
    }

    #[test]
    fn a_root_is_here_where_its_repository_has_another_folder_here() {
        let set = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<_>>();
        let sources = [("a", "x/fleet"), ("b", "x/fleet"), ("c", "x/other")];
        let sources = sources.map(|(name, url)| (name.to_owned(), set(&[url]))).into();
        let here = Repositories::new(set(&["a"]), &sources);
        for (name, expected) in
            [("a", true), ("b", true), ("x/fleet", true), ("c", false), ("x/other", false), ("d", false)]
        {
            assert_eq!(here.has_root_of(name), expected, "{name}");
        }
        assert!(here.has_root_of("GitRepository flux-system"));
        assert!(Repositories::default().has_root_of("d"), "nothing is known");
        assert!(Repositories::new(set(&["x/fleet"]), &sources).has_root_of("b"), "known by Argo CD");
    }
}
