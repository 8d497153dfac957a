//! The name that was probably meant.

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
    let plain = |text: &str| -> Vec<char> {
        // A name of any length would make the comparison quadratic in it.
        text.chars().take(64).filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
    };
    let wanted = plain(name);
    let limit = (wanted.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance, with a swap of neighbours counted as two.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (cell, r) in row.iter_mut().skip(1).zip(right) {
            let value = (diagonal + usize::from(l != r)).min(before + 1).min(*cell + 1);
            diagonal = std::mem::replace(cell, value);
            before = value;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(left.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(left: &str, right: &str) -> usize {
        distance(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>())
    }

    #[test]
    fn distances_count_single_changes() {
        assert_eq!(between("kitten", "sitting"), 3);
        assert_eq!(between("", "abc"), 3);
        assert_eq!(between("abc", ""), 3);
        assert_eq!(between("flaw", "lawn"), 2);
        assert_eq!(between("same", "same"), 0);
    }

    #[test]
    fn the_nearest_of_several_wins() {
        assert_eq!(nearest("targts", ["targets", "target"]), Some("targets"));
        assert_eq!(nearest("", ["a", "policy"]), Some("a"));
    }
}
