//! Step 5, pins: tables of Markdown with a column that a name of releases heads: `| Kubernetes | Linkerd |`.
//!
//! In: a text. Out: the numbers in such a column that count as Linkerd's releases do.

use super::{
    names::is_of_release,
    number::{Number, moved, words},
    prose::in_cell,
};

/// What parts cells.
const BAR: char = '|';
/// The longest row that is read.
const LINE: usize = 1 << 12;

/// Finds all of a text.
pub(super) fn in_tables(text: &str) -> Vec<Number> {
    let (mut found, mut start) = (Vec::new(), 0);
    let (mut above, mut columns) = ("", Vec::new());
    let is_read = text.contains(BAR);
    for line in text.split_inclusive('\n').take_while(|_| is_read) {
        if !line.contains(BAR) || line.len() > LINE {
            columns.clear();
        } else if is_rule(line) {
            columns = cells(above).map(|(cell, _)| is_headed(cell)).collect();
        } else {
            let own = cells(line).zip(&columns).filter(|(_, is_linkerds)| **is_linkerds);
            let numbers = own.flat_map(|((cell, at), _)| {
                in_cell(cell).into_iter().map(move |(span, why)| (moved(span, at), why))
            });
            found.extend(numbers.map(|(span, why)| (moved(span, start), why)));
        }
        above = line;
        start += line.len();
    }
    found
}

/// Tells whether a line parts the head of a table from its rows.
fn is_rule(line: &str) -> bool {
    line.contains('-') && line.trim().chars().all(|c| matches!(c, BAR | '-' | ':' | ' '))
}

/// Tells whether the head of a column is a name of releases, such as `Linkerd version`.
fn is_headed(cell: &str) -> bool {
    let plain = words(cell).map(|word| word.trim_matches(['*', ':'])).collect::<Vec<_>>();
    is_of_release(&plain.join("_"))
}

/// Lists the cells of a row, and where each begins.
fn cells(row: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut start = 0;
    row.split(BAR).map(move |cell| {
        let at = start;
        start += cell.len() + BAR.len_utf8();
        (cell, at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins::Reason;

    fn found(text: &str) -> Vec<(&str, Option<Reason>)> {
        in_tables(text).into_iter().map(|(span, why)| (&text[span], why)).collect()
    }

    #[test]
    fn a_column_of_releases_has_their_numbers() {
        let rows = "|---|:-:|---|\n| a | 2.14.10 | 2.12.0 |\n| b | `26.6.3` (from 26.5.1) | 2.13.0 |\n| c | - | 2.14.0 |\n\n| 1 | 2.12.1 | 2 |\n";
        let both = [("2.14.10", Some(Reason::Channel)), ("26.6.3", None)];
        for head in
            ["| Cluster | Linkerd | Prometheus |", "| | **Linkerd version** | |", "|x|linkerd (edge)|y|"]
        {
            assert_eq!(found(&format!("{head}\n{rows}")), both, "{head}");
        }
        for head in ["| Linkerd | Version | Prometheus |", "| | Linkerd and Prometheus | |", "Linkerd", ""] {
            assert_eq!(found(&format!("{head}\n{rows}")), [], "{head}");
        }
        assert_eq!(found("| Linkerd |\n| 2.14.10 |\n"), [], "it has no head");
        assert_eq!(found("Linkerd | Helm\n--|--\n2.14.10 | 2.16.1\n"), [("2.14.10", Some(Reason::Channel))]);
    }
}
