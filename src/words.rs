//! How text counts things, and lists them.
//!
//! In: numbers, names. Out: words. Pure.

use std::fmt::Display;

/// Counts a thing: `1 file`, `2 files`.
pub fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Names so many of a list, and counts the others: `a, b and 3 more`.
pub fn listed<N: Display>(names: impl IntoIterator<Item = N>, most: usize) -> String {
    let mut names = names.into_iter();
    let first: Vec<String> = names.by_ref().take(most).map(|name| name.to_string()).collect();
    match names.count() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_is_counted() {
        assert_eq!(
            (listed(["a", "b"], 2), listed(["a", "b", "c"], 2)),
            ("a, b".into(), "a, b and 1 more".into())
        );
        assert_eq!(
            (listed([""; 0], 2), count(1, "pin"), count(0, "pin")),
            ("".into(), "1 pin".into(), "0 pins".into())
        );
    }
}
