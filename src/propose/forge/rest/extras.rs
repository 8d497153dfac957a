//! Step 10, propose: what is asked for beside a pull request, where a forge takes all of a list or none of it.
//!
//! In: names, and how to ask. Out: one line for each that was refused; the rest is there.

use crate::propose::forge::{Extras, ForgeError};

/// Asks for one kind of them; returns one line for each that was refused.
pub(in crate::propose::forge) type Ask<'a> = &'a dyn Fn(&[String]) -> Result<Vec<String>, ForgeError>;

/// Asks for all that there is to ask for.
pub(in crate::propose::forge) fn add(
    extras: &Extras,
    labels: Ask<'_>,
    reviewers: Ask<'_>,
    assignees: Ask<'_>,
) -> Result<Vec<String>, ForgeError> {
    let parts = [(&extras.labels, labels), (&extras.reviewers, reviewers), (&extras.assignees, assignees)];
    let mut lines = Vec::new();
    for (names, ask) in parts.into_iter().filter(|(names, _)| !names.is_empty()) {
        lines.extend(ask(names)?);
    }
    Ok(lines)
}

/// Asks for all at once, and one by one where that was refused.
pub(in crate::propose::forge) fn each(
    names: &[String],
    ask: impl Fn(&[String]) -> Result<(), ForgeError>,
    line: impl Fn(&str, &str) -> String,
) -> Result<Vec<String>, ForgeError> {
    let first = match ask(names) {
        Ok(()) => return Ok(Vec::new()),
        Err(error) => why(error)?,
    };
    if let [one] = names {
        return Ok(vec![line(one, &first)]);
    }
    let mut lines = Vec::new();
    for name in names {
        if let Err(error) = ask(std::slice::from_ref(name)) {
            lines.push(line(name, &why(error)?));
        }
    }
    Ok(lines)
}

/// The reason of a refusal; an error where going on makes no sense.
pub(in crate::propose::forge) fn why(error: ForgeError) -> Result<String, ForgeError> {
    match error {
        ForgeError::Rejected { reason, .. } | ForgeError::Forbidden { reason, .. } => Ok(reason),
        error if error.is_refusal() => Ok(error.to_string()),
        error => Err(error),
    }
}
