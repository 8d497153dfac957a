//! Tables: aligned for a terminal, and for Markdown.

use super::escape::for_terminal;

/// A table; the cells of text are escaped here, those of Markdown by the caller, who knows code from prose.
#[derive(Debug)]
pub(super) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

// === impl Table ===

impl Table {
    pub(super) fn new(head: impl Into<Vec<&'static str>>) -> Self {
        Self { head: head.into(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.rows.push(cells.into());
    }

    /// Returns the table in columns, without spaces at line ends.
    pub(super) fn text(&self, color: bool) -> String {
        let head: Vec<String> = self.head.iter().map(|h| h.to_uppercase()).collect();
        let shown =
            |row: &Vec<String>| -> Vec<String> { row.iter().map(|c| for_terminal(c).into_owned()).collect() };
        let rows: Vec<Vec<String>> = self.rows.iter().map(shown).collect();
        let cells = |n: usize| rows.iter().chain([&head]).filter_map(move |r| r.get(n));
        let width = |n: usize| cells(n).map(|c| c.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let padded: Vec<String> = row.iter().zip(&widths).map(|(c, w)| format!("{c:w$}")).collect();
            padded.join("  ").trim_end().to_owned()
        };
        let top = line(&head);
        let mut out = if color { format!("\u{1b}[1m{top}\u{1b}[0m\n") } else { format!("{top}\n") };
        for row in &rows {
            out.push_str(&line(row));
            out.push('\n');
        }
        out
    }

    /// Returns the table in Markdown.
    pub(super) fn markdown(&self) -> String {
        let mut out = format!("| {} |\n|{}\n", self.head.join(" | "), "---|".repeat(self.head.len()));
        for row in &self.rows {
            out.push_str(&format!("| {} |\n", row.join(" | ")));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_characters() {
        let mut table = Table::new(["a", "long"]);
        table.row(["é\u{1b}".to_owned(), "x".to_owned()]);
        table.row(["y".to_owned(), String::new()]);
        assert_eq!(table.text(false), "A        LONG\né\\u{1b}  x\ny\n");
        assert_eq!(table.markdown(), "| a | long |\n|---|---|\n| é\u{1b} | x |\n| y |  |\n");
    }
}
