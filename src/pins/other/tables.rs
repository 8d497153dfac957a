//! Step 5, pins: tables of Markdown with a column that a name of releases heads, `| Kubernetes | Linkerd |`, or with a row of
//! which a key says whose version it has, as terraform-docs writes them: `| linkerd_version | string | "2.14.10" |`. Where the
//! title of the text names Linkerd, or a row beside has the address of Linkerd's own charts, the key need not.
//!
//! In: a text. Out: the numbers in such a column, or in such a row, that count as Linkerd's releases do.

use std::collections::HashSet;

use super::{
    mapping::{is_stem_linkerds, stem},
    names::{as_name, is_of_release},
    number::{Number, gives_linkerds, lines, may_be_linkerd, moved, number},
    prose::in_cell,
    speaks::speaks,
    spelling::spelled,
};
use crate::pins::origin::is_linkerds;

/// What parts cells.
const BAR: char = '|';
/// What may stand around a number that a cell has and nothing else.
const AROUND: [char; 6] = [' ', '\t', '`', '"', '\'', '*'];
/// The longest row that is read.
const ROW: usize = 1 << 12;
/// How the title of a text begins.
const TITLE: &str = "# ";
/// How a key ends that gives the version of a chart.
const OF_CHART: &str = "chart_version";
/// How one ends that may give that of Helm itself, and behind a part of Linkerd gives its chart's.
const OF_HELM: &str = "_helm_version";
/// How one ends that gives the address of a chart's repository.
const REPOSITORY: &str = "repository";

/// Finds all of a text.
pub(super) fn in_tables(text: &str) -> Vec<Number> {
    let (mut found, mut above, mut columns) = (Vec::new(), "", Vec::new());
    let is_read = text.contains(BAR);
    let title = text.lines().take_while(|_| is_read).find(|line| line.starts_with(TITLE));
    let is_titled_so = title.is_some_and(speaks);
    let at_home = if is_read { stems_at_home(text) } else { HashSet::new() };
    let is_its = |stem: &str| is_titled_so && is_stem_linkerds(stem) || at_home.contains(stem);
    for (start, line) in lines(text).take_while(|_| is_read) {
        if !line.contains(BAR) || line.len() > ROW {
            columns.clear();
        } else if is_rule(line) {
            columns = cells(above).map(|(cell, _)| is_headed(cell)).collect();
        } else {
            let own = cells(line).zip(&columns).filter(|(_, is_linkerds)| **is_linkerds);
            let numbers = own.flat_map(|((cell, at), _)| {
                in_cell(cell).into_iter().map(move |(span, why)| (moved(span, at), why))
            });
            let all = numbers.chain(in_row(line, &is_its));
            found.extend(all.map(|(span, why)| (moved(span, start), why)));
        }
        above = line;
    }
    found
}

/// Lists what keys say beside that they give the repository of a chart which is Linkerd's own: `viz` of `viz_chart_repository`.
fn stems_at_home(text: &str) -> HashSet<String> {
    let rows = text.lines().filter(|line| line.contains(BAR) && line.len() <= ROW);
    let at_home = rows.filter(|row| cells(row).any(|(cell, _)| is_linkerds(cell.trim_matches(AROUND))));
    let stem_of = |cell: &str| key(cell).strip_suffix(REPOSITORY).map(stem);
    at_home.filter_map(|row| cells(row).find_map(|(cell, _)| stem_of(cell))).collect()
}

/// Tells whether a line parts the head of a table from its rows.
fn is_rule(line: &str) -> bool {
    line.contains('-') && line.trim().chars().all(|c| matches!(c, BAR | '-' | ':' | ' '))
}

/// Tells whether the head of a column is a name of releases, such as `Linkerd version`.
fn is_headed(cell: &str) -> bool {
    is_of_release(&as_name(cell))
}

/// Reads the number of a row that stands alone in a cell behind one which says that it is a version of Linkerd's.
fn in_row(row: &str, is_its: &dyn Fn(&str) -> bool) -> Option<Number> {
    let mut counts: Option<fn(&str) -> bool> = None;
    for (cell, at) in cells(row) {
        counts = counting(cell, is_its).or(counts);
        let plain = cell.trim_matches(AROUND);
        let found = counts.zip(number(plain, 0)).filter(|(_, (span, _))| span.end == plain.len());
        if let Some((counts, (span, why))) = found {
            let start = at + cell.len() - cell.trim_start_matches(AROUND).len();
            let is_counted = plain.get(span.clone()).is_some_and(counts);
            return is_counted.then(|| (moved(span, start), why));
        }
    }
    None
}

/// Tells which numbers count as versions of Linkerd's behind a cell that is a key or a description of them.
fn counting(cell: &str, is_its: &dyn Fn(&str) -> bool) -> Option<fn(&str) -> bool> {
    let key = key(cell);
    let of_chart = || key.ends_with(OF_CHART).then(|| stem(&key));
    let of_helm = || key.strip_suffix(OF_HELM).map(str::to_owned);
    if gives_linkerds(&key) || of_chart().or_else(of_helm).is_some_and(|stem| is_its(&stem)) {
        return Some(|_| true);
    }
    (key.ends_with("version") && is_of_release(&key)).then_some(may_be_linkerd)
}

/// Returns the key that a cell is, or that the text of its link is.
fn key(cell: &str) -> String {
    let linked = cell.split_once("](").and_then(|(before, _)| before.rsplit_once('['));
    spelled(&as_name(linked.map_or(cell, |(_, text)| text))).to_ascii_lowercase()
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

    #[test]
    fn a_row_has_the_version_that_its_key_gives() {
        for row in [
            "| <a name=\"input_linkerd_version\"></a> [linkerd\\_version](#input\\_linkerd\\_version) | Version | `string` | `\"1.16.11\"` | no |",
            "| <a name=\"a\"></a> [chart\\_version](#a) | The linkerd chart version | `string` | `\"1.16.11\"` | no |",
            "| linkerd_chart_version | string | 1.16.11 | 1.29.1 |",
            "| Version of | a |\n| Linkerd version: | 1.16.11 |",
        ] {
            assert_eq!(found(row), [("1.16.11", Some(Reason::Channel))], "{row}");
        }
        assert_eq!(found("| linkerd_edge_version | 26.6.3 |"), [("26.6.3", None)]);
        for other in [
            "| linkerd_edge_version | 1.16.11 |",
            "| linkerd_await_version | 2.14.10 |",
            "| kube_version | For Linkerd | 1.29.1 |",
            "| linkerd | Prometheus | 2.48.1 |",
            "| linkerd_version | since 1.16.11 |",
            "| linkerd_version |",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
    }

    #[test]
    fn a_key_need_not_name_what_a_text_is_about() {
        let rows = "| [chart\\_version](#a) | The chart | `\"2.14.10\"` |\n| viz_chart_version | The chart | 30.12.11 |\n\
                    | cert_manager_chart_version | The chart | 1.13.0 |\n| kube_version | | 1.29.1 |\n";
        let both = [("2.14.10", Some(Reason::Channel)), ("30.12.11", Some(Reason::Channel))];
        for title in ["# Install [Linkerd](https://acme.example)", "# terraform-helm-linkerd"] {
            assert_eq!(found(&format!("{title}\n\n{rows}")), both, "{title}");
        }
        assert_eq!(found(&format!("# Traefik\n\n{rows}\n## Linkerd\n")), []);
        let helm = "| control\\_plane\\_helm\\_version | 1.16.11 |\n| helm\\_version | 3.16.1 |\n| kube\\_helm\\_version | 1.29.1 |\n";
        assert_eq!(found(&format!("# Linkerd\n\n{helm}")), [("1.16.11", Some(Reason::Channel))]);
        assert_eq!(
            found("# Linkerd\n\n| [crds\\_helm\\_vesion](#a) | Crds helm version | `\"1.8.0\"` |\n"),
            [("1.8.0", Some(Reason::Channel))]
        );
    }

    #[test]
    fn a_key_need_not_name_what_the_address_beside_it_does() {
        let of = |rows: &str| {
            let versions =
                "| [chart\\_version](#a) | The chart | `\"2.14.10\"` |\n| viz_chart_version | | 30.12.11 |\n";
            found(&format!("{versions}{rows}")).len()
        };
        assert_eq!(of("| [chart\\_repository](#b) | | `\"https://helm.linkerd.io/stable\"` |"), 1);
        assert_eq!(of("| repository | https://helm.linkerd.io/stable |"), 1);
        assert_eq!(of("| viz_chart_repository | https://helm.linkerd.io/stable |"), 1);
        for other in [
            "| chart_repository | https://charts.acme.example |",
            "| mesh_repository | https://helm.linkerd.io/stable |",
            "| chart_repository | as https://helm.linkerd.io/stable has it |",
            "| chart | https://helm.linkerd.io/stable |",
        ] {
            assert_eq!(of(other), 0, "{other}");
        }
    }
}
