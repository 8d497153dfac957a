//! Step 10, propose: who said no to a release.
//!
//! In: the pull requests of a branch as they were seen. Out: the one with which a person declined a release, or the word
//! that it must be known who closed one. Pure.

use super::observe::{Question, Seen};
use crate::{
    linkerd::EdgeVersion,
    propose::forge::{Closer, PullState},
};

/// A person's no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct No {
    /// The release that was declined.
    pub release: EdgeVersion,
    /// The pull request that says so.
    pub pull: u64,
}

/// Finds a person's no to a release or a newer one.
pub fn declined(wanted: EdgeVersion, pulls: &[Seen]) -> Result<Option<No>, Question> {
    let is_way_back = |seen: &&Seen| seen.marker.as_ref().is_some_and(|marker| marker.undoes.is_some());
    let closed = pulls.iter().filter(|p| p.pull.state == PullState::Closed);
    for closed in closed.filter(|seen| !is_way_back(seen)) {
        let release = match &closed.marker {
            Some(marker) => marker.release,
            // Somebody emptied the body: the title still tells.
            None if names(&closed.pull.title, wanted) => wanted,
            None => continue,
        };
        let no = match &closed.marker {
            _ if release < wanted => false,
            Some(marker) if marker.declined => true,
            Some(marker) if marker.closing => false,
            _ => match closed.closer.as_ref().ok_or(Question::Closer(closed.pull.number))? {
                Closer::Person(_) | Closer::Unknown => true,
                Closer::Bot(_) | Closer::BaseGone => false,
            },
        };
        if no {
            return Ok(Some(No { release, pull: closed.pull.number }));
        }
    }
    Ok(None)
}

fn names(title: &str, release: EdgeVersion) -> bool {
    let word = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    title.split(word).any(|w| w.trim_end_matches('.') == release.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_name_releases_as_words() {
        let named = |title: &str| names(title, "edge-26.8.3".parse().expect("a release"));
        assert!(
            named("Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)") && named("go to edge-26.8.3.")
        );
        assert!(!named("edge-26.8.31") && !named("edge-26.8.3-spark") && !named("my-edge-26.8.3"));
    }
}
