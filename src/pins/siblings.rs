//! Step 5, pins: values beside those that are read, such as elements that a condition leaves out, and those that are read of a
//! cluster whose Secret somebody else writes.
//!
//! In: pins with names of their own, the texts they stand in. Out: by which names a release is told in a file, where its line
//! does not speak of Linkerd.

use std::collections::{BTreeMap, BTreeSet};

use super::{Pin, PinKind, other::is_of_anything};
use crate::{deploy::Files, repo::RepoPath};

/// What a cluster has that Argo CD's templates ask for.
const OF_CLUSTERS: [&str; 2] = ["annotations", "labels"];

/// The names by which releases are read, by the file they stand in and by files that are read like it.
#[derive(Default)]
pub(super) struct Siblings {
    names: BTreeMap<String, BTreeSet<String>>,
    /// The annotations and labels of clusters: any file may be what their Secrets are written by.
    asked: BTreeSet<String>,
}

// === impl Siblings ===

impl Siblings {
    /// Gathers them from pins that a generator or whoever wrote the repository has named: what a deployer calls `version` has
    /// the chart's name beside it.
    pub fn of(files: &dyn Files, pins: &[Pin]) -> Self {
        let mut siblings = Self::default();
        let named = |pin: &&Pin| matches!(pin.kind, PinKind::ArgoGenerator | PinKind::Variable);
        for pin in pins.iter().filter(named) {
            let Ok(source) = files.file(pin.path.as_str()) else { continue };
            let before = source.text.get(..pin.site.span.start).unwrap_or_default();
            let Some(name) = name_before(before) else { continue };
            for set in sets(&pin.path) {
                siblings.names.entry(set).or_default().insert(name.to_owned());
            }
        }
        let untold = pins.iter().filter(|pin| pin.is_untold());
        // What is called `version` in any other file may be the version of anything.
        let asked = untold.flat_map(|pin| asked(&pin.value)).filter(|name| !is_of_anything(name));
        siblings.asked.extend(asked.map(str::to_owned));
        siblings
    }

    /// Returns the names by which releases are read in a file, or in one like it: sets that many files have in common.
    pub fn names(&self, path: &RepoPath) -> Vec<&BTreeSet<String>> {
        let own = sets(path).into_iter().filter_map(|set| self.names.get(&set));
        own.chain((!self.asked.is_empty()).then_some(&self.asked)).collect()
    }
}

/// Names a file, and the sets that generators take it from: files of its kind in its folder, and its namesakes in the
/// folders beside.
fn sets(path: &RepoPath) -> [String; 3] {
    let (folder, name) = (path.folder(), path.name());
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
    [path.as_str().to_owned(), format!("{folder}/*.{ending}"), format!("{above}/*/{name}")]
}

/// Lists the annotations and labels that the code of a template asks for.
fn asked(code: &str) -> impl Iterator<Item = &str> {
    let behind = OF_CLUSTERS.into_iter().flat_map(move |part| code.split(part).skip(1));
    behind.filter_map(|rest| {
        let name = rest.trim_start_matches([')', '.', ' ', '"', '`']);
        let name = name.get(..name.find(|c| !is_name(c)).unwrap_or(name.len()))?;
        (!name.is_empty()).then_some(name)
    })
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Returns the name that the text behind is given to: `version` of `  - version: "`.
pub(super) fn name_before(text: &str) -> Option<&str> {
    let quoted = text.trim_end_matches(['"', '\'']);
    let bare = quoted.trim_end_matches([' ', '\t']);
    // Make gives a name with `:=`, `?=` and the like too.
    let with_sign = bare.strip_suffix('=').map(|given| given.trim_end_matches([':', '?', '+']));
    let given = with_sign.or_else(|| bare.strip_suffix(':').filter(|_| text.len() > bare.len()))?;
    let name = given.trim_end_matches([' ', '\t']).trim_end_matches(['"', '\'']);
    let name = name.get(name.trim_end_matches(is_name).len()..)?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_value_is_its_name() {
        for text in [
            "  - version: \"",
            "a = 1\nversion = \"",
            "{\"x\": 1, \"version\":\"",
            "version='",
            "{ version = \"",
            "version ?= ",
        ] {
            assert_eq!(name_before(text), Some("version"), "{text}");
        }
        for text in ["ghcr.io/acme/calendar:", "- ", "helm --version ", ": ", ""] {
            assert_eq!(name_before(text), None, "{text}");
        }
    }

    #[test]
    fn code_asks_for_annotations_and_labels() {
        for code in [
            "{{metadata.annotations.mesh-version}}",
            "{{ .metadata.labels.mesh-version | trim }}",
            "{{ index .metadata.annotations \"mesh-version\" }}",
            "{{ (get .metadata \"annotations\").mesh-version }}",
        ] {
            assert_eq!(asked(code).collect::<Vec<_>>(), ["mesh-version"], "{code}");
        }
        for code in ["{{ .values.version }}", "{{ .metadata.annotations }}", "{{ len .metadata.labels }}"] {
            assert_eq!(asked(code).count(), 0, "{code}");
        }
    }

    #[test]
    fn files_of_a_folder_and_namesakes_beside_are_of_one_set() {
        let shared = |a: &str, b: &str| {
            let of = |path: &str| sets(&RepoPath::new(path).unwrap());
            of(a).iter().any(|set| of(b).contains(set))
        };
        assert!(shared("clusters/a/config.json", "clusters/b/config.json"));
        assert!(shared("clusters/a.yaml", "clusters/b.yaml"));
        assert!(!shared("clusters/a.yaml", "clusters/b.json"));
        assert!(!shared("clusters/a/config.json", "apps/a/config.json"));
    }
}
