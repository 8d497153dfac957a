//! Whose root a root is: deployers read folders out of many repositories, and a tree does not know its own address.
//!
//! In: the folders that objects of the tree name, each with the repository that it is asked of. Out: the repositories of
//! which such a folder is here. A folder's name says which tree is meant, the root's does not: `path: ./` is in every
//! repository. It is this tree's where its repository is one of which another folder is here. Where no folder is, the one
//! whose root is asked for may be this tree: not one of several, and no artifact of a registry, whose root is mostly all of it.

use std::collections::{BTreeMap, BTreeSet};

/// What `flux bootstrap` calls the repository in which it puts itself (docs: flux bootstrap).
const BOOTSTRAPPED: &str = "flux-system";
/// The source that Flux has an artifact of a registry from.
const ARTIFACT: &str = "OCIRepository";

/// The repositories of which a folder is in the tree, as deployers call them; `None` where nothing says which these are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Repositories(Option<BTreeSet<String>>);

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
    /// Gathers them from the names of those of which a folder is here, and of those whose root is asked for; `sources` are the
    /// addresses of what Flux calls by name, several where it names several alike.
    pub fn new(
        mut here: BTreeSet<String>,
        roots: &BTreeSet<String>,
        sources: &BTreeMap<String, BTreeSet<String>>,
    ) -> Self {
        here.extend(roots.iter().filter(|name| is_bootstrapped(name)).cloned());
        let may_be = roots.iter().filter(|name| !is_artifact(name)).map(|name| called(name, sources));
        if here.is_empty() && may_be.collect::<BTreeSet<_>>().len() <= 1 {
            return Self(None);
        }
        let addresses: BTreeSet<&String> =
            here.iter().filter_map(|name| sources.get(name)).flatten().chain(&here).collect();
        let same = |(_, own): &(&String, &BTreeSet<String>)| own.iter().any(|one| addresses.contains(one));
        let names = sources.iter().filter(same).map(|(name, _)| name);
        Self(Some(names.chain(addresses.iter().copied()).cloned().collect()))
    }

    /// Tells whether the root of a repository may be the root of this tree.
    pub fn has_root_of(&self, repository: &str) -> bool {
        let is_known = match &self.0 {
            Some(names) => names.contains(repository),
            None => !is_artifact(repository),
        };
        is_known || is_bootstrapped(repository)
    }
}

/// Tells whether it is the source from which Flux has itself: `flux bootstrap` makes the one, flux-operator either.
fn is_bootstrapped(name: &str) -> bool {
    ["GitRepository", ARTIFACT].iter().any(|kind| name == referred(kind, BOOTSTRAPPED))
}

fn is_artifact(name: &str) -> bool {
    name.split_once(' ').is_some_and(|(kind, _)| kind == ARTIFACT)
}

/// Returns the address of what has exactly one.
fn called<'a>(name: &'a str, sources: &'a BTreeMap<String, BTreeSet<String>>) -> &'a str {
    let addresses = sources.get(name).filter(|addresses| addresses.len() == 1);
    addresses.and_then(BTreeSet::first).map_or(name, String::as_str)
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
        let here = Repositories::new(set(&["a"]), &set(&[]), &sources);
        for (name, expected) in
            [("a", true), ("b", true), ("x/fleet", true), ("c", false), ("x/other", false), ("d", false)]
        {
            assert_eq!(here.has_root_of(name), expected, "{name}");
        }
        assert!(here.has_root_of("GitRepository flux-system"));
        assert!(Repositories::default().has_root_of("d"), "nothing is known");
        assert!(
            Repositories::new(set(&["x/fleet"]), &set(&[]), &sources).has_root_of("b"),
            "known by Argo CD"
        );
    }

    #[test]
    fn of_several_roots_none_is_this_one() {
        let set = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<_>>();
        let sources =
            [("GitRepository a", "x/a"), ("GitRepository b", "x/b"), ("GitRepository flux-system", "x/a")];
        let sources = sources.map(|(name, url)| (name.to_owned(), set(&[url]))).into();
        let is_here =
            |roots: &[&str], name: &str| Repositories::new(set(&[]), &set(roots), &sources).has_root_of(name);
        assert!(is_here(&["GitRepository a", "x/a"], "x/a"), "one of two names");
        assert!(is_here(&["GitRepository a", "OCIRepository c"], "GitRepository a"));
        for other in ["GitRepository a", "GitRepository b", "OCIRepository c"] {
            assert!(!is_here(&["GitRepository a", "GitRepository b"], other), "{other}");
        }
        assert!(!is_here(&["OCIRepository c"], "OCIRepository c"), "an artifact");
        let own = ["GitRepository flux-system", "GitRepository b"];
        assert!(is_here(&own, own[0]) && is_here(&own, "x/a") && !is_here(&own, own[1]));
        assert!(is_here(&["OCIRepository flux-system"], "OCIRepository flux-system"));
    }
}
