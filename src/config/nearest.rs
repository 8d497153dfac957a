//! The name that was probably meant.

use strsim::levenshtein;

/// Returns the candidate that is nearest to a name, `None` where none is near enough to be meant.
///
/// Case, `-` and `_` do not count: `pull_request` is `pullRequest`.
///
/// ```
/// use uplinker::config::nearest;
/// assert_eq!(nearest("polcy", ["policy", "paused"]), Some("policy"));
/// assert_eq!(nearest("pull_request", ["pullRequest"]), Some("pullRequest"));
/// assert_eq!(nearest("zzz", ["policy"]), None);
/// ```
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let plain = |text: &str| -> String {
        // A name of any length would make the comparison quadratic in it.
        text.chars().take(64).filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
    };
    let wanted = plain(name);
    let limit = (wanted.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_of_several_wins() {
        assert_eq!(nearest("targts", ["targets", "target"]), Some("targets"));
        assert_eq!(nearest("", ["a", "policy"]), Some("a"));
    }
}
