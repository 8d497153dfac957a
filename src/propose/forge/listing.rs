//! Step 10, propose: which repositories are meant by patterns.
//!
//! In: patterns such as `acme/*`, and what a forge lists. Out: the addresses of the repositories that match and are not
//! archived. Pure.

use std::{collections::BTreeSet, fmt};

use globset::{GlobBuilder, GlobMatcher};

/// A pattern over the names of repositories, with their owner or their groups; letters of either case are the same. `*` is
/// within one part of a name, `**` goes over several.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The parts before the last one, up to the first that is no plain name.
    owner: String,
    parts: usize,
    matcher: GlobMatcher,
}

/// A repository as a forge lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name, with its owner or its groups.
    pub name: String,
    /// The address to clone from.
    pub address: String,
    /// Whether it can only be read.
    pub archived: bool,
}

// === impl Pattern ===

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.matcher.glob().glob())
    }
}

impl Pattern {
    /// Reads a pattern; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is no pattern of repositories; write OWNER/NAME, such as acme/* or acme/mesh-*")
        };
        let parts: Vec<&str> = text.split('/').collect();
        let Some((_, before)) = parts.split_last().filter(|(_, before)| !before.is_empty()) else {
            return Err(wrong());
        };
        if parts.iter().any(|part| part.is_empty()) {
            return Err(wrong());
        }
        let glob = GlobBuilder::new(text).literal_separator(true).case_insensitive(true).build();
        let matcher = glob.map_err(|e| format!("{}: {}", wrong(), e.kind()))?.compile_matcher();
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let owner: Vec<&str> = before.iter().copied().take_while(|part| part.bytes().all(plain)).collect();
        Ok(Self { owner: owner.join("/"), parts: parts.len(), matcher })
    }

    /// Returns the owner or the group that has all that can match; `None` where the pattern names none.
    pub fn owner(&self) -> Option<&str> {
        Some(self.owner.as_str()).filter(|owner| !owner.is_empty())
    }

    /// Tells whether it is about groups in groups.
    pub fn is_nested(&self) -> bool {
        self.parts > 2
    }
}

/// Returns whom to ask for what patterns mean, each once.
pub fn owners(patterns: &[Pattern]) -> BTreeSet<&str> {
    patterns.iter().filter_map(Pattern::owner).collect()
}

/// Returns the addresses of what matches any of the patterns, ordered.
pub fn matching(all: Vec<Listed>, patterns: &[Pattern]) -> Vec<String> {
    let is_meant =
        |one: &Listed| !one.archived && patterns.iter().any(|pattern| pattern.matcher.is_match(&one.name));
    let addresses: BTreeSet<String> = all.into_iter().filter(is_meant).map(|one| one.address).collect();
    addresses.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(pattern: &str) -> Option<String> {
        Pattern::parse(pattern).unwrap().owner().map(str::to_owned)
    }

    #[test]
    fn patterns_name_an_owner_and_a_repository() {
        let matches = |pattern: &str, name: &str| Pattern::parse(pattern).unwrap().matcher.is_match(name);
        assert!(
            matches("acme/*", "Acme/mesh") && matches("*/*", "a/b") && matches("acme/mesh-*", "acme/mesh-eu")
        );
        assert!(!matches("acme/*", "acme-labs/mesh") && !matches("acme/mesh-*", "acme/other"));
        for wrong in ["", "acme", "/x", "acme/", "a//c", "acme/[", "*"] {
            assert!(Pattern::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!((owner("acme/*").as_deref(), owner("*/*")), (Some("acme"), None));
    }

    #[test]
    fn a_pattern_goes_over_groups_in_groups_where_it_says_so() {
        let matches = |pattern: &str, name: &str| Pattern::parse(pattern).unwrap().matcher.is_match(name);
        assert!(matches("acme/**", "acme/config") && matches("acme/**", "acme/eu/mesh/config"));
        assert!(
            matches("acme/*/config", "acme/eu/config") && !matches("acme/*/config", "acme/eu/mesh/config")
        );
        assert!(!matches("acme/*", "acme/eu/config") && !matches("acme/**", "acme-labs/config"));
        for (pattern, asked) in [
            ("acme/**", "acme"),
            ("acme/eu/*", "acme/eu"),
            ("acme/e*/config", "acme"),
            ("acme/eu/**/c", "acme/eu"),
        ] {
            assert_eq!(owner(pattern).as_deref(), Some(asked), "{pattern}");
        }
        let nested = |pattern: &str| Pattern::parse(pattern).unwrap().is_nested();
        assert!(nested("acme/eu/*") && !nested("acme/*"));
    }

    #[test]
    fn what_is_archived_or_listed_twice_is_left_out() {
        let listed = |name: &str, archived| Listed {
            name: name.to_owned(),
            address: format!("https://h/{name}"),
            archived,
        };
        let all = vec![
            listed("acme/b", false),
            listed("acme/a", false),
            listed("acme/b", false),
            listed("acme/c", true),
        ];
        let patterns = ["acme/*", "acme/b"].map(|text| Pattern::parse(text).unwrap());
        assert_eq!(matching(all, &patterns), ["https://h/acme/a", "https://h/acme/b"]);
        assert_eq!(owners(&patterns).len(), 1);
    }
}
