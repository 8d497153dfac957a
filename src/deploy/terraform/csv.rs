//! `csvdecode`: a list of maps out of a text, in which each cell knows where it was written.
//!
//! Source: `CSVDecodeFunc` of go-cty, and Go's `encoding/csv`, whose rules these are: a row ends where a line does, one
//! without anything is none, quotes stand around a whole cell and twice inside of it, and all rows have as many cells.

use std::collections::BTreeSet;

use crate::deploy::value::{Cutter, Scalar, Value};

/// Reads the rows below the names of the columns; `None` where Terraform refuses the text.
pub(super) fn decoded(text: &Scalar) -> Option<Value> {
    let mut rows = rows(text)?.into_iter();
    let names: Vec<String> = rows.next()?.iter().map(|name| name.text().into_owned()).collect();
    if names.iter().collect::<BTreeSet<_>>().len() < names.len() {
        return None;
    }
    let map = |cells: Vec<Scalar>| {
        let is_whole = cells.len() == names.len();
        let entries = names.iter().zip(cells).map(|(name, cell)| (name.as_str(), Value::Scalar(cell)));
        is_whole.then(|| Value::map(entries))
    };
    rows.map(map).collect::<Option<_>>().map(Value::list)
}

fn rows(text: &Scalar) -> Option<Vec<Vec<Scalar>>> {
    let (whole, cutter) = (text.text(), Cutter::new(text));
    let (mut rows, mut row, mut at) = (Vec::new(), Vec::new(), 0);
    loop {
        let rest = whole.get(at..)?;
        if row.is_empty() {
            if rest.is_empty() {
                return Some(rows);
            }
            if let Some(length) = line_end(rest) {
                at += length;
                continue;
            }
        }
        let (cell, end) = cell(&cutter, &whole, at)?;
        row.push(cell.as_string());
        let rest = whole.get(end..)?;
        if rest.starts_with(',') {
            at = end + 1;
            continue;
        }
        at = end + if rest.is_empty() { 0 } else { line_end(rest)? };
        rows.push(std::mem::take(&mut row));
    }
}

/// Reads a cell; returns it with its end, the quote behind it included.
fn cell(cutter: &Cutter<'_>, whole: &str, from: usize) -> Option<(Scalar, usize)> {
    let rest = whole.get(from..)?;
    if !rest.starts_with('"') {
        let end = rest.find([',', '\n']).unwrap_or(rest.len());
        let is_last = rest.get(end..)?.starts_with('\n');
        let bare = rest.get(..end)?;
        let bare = if is_last { bare.strip_suffix('\r').unwrap_or(bare) } else { bare };
        let end = from + bare.len();
        return (!bare.contains('"')).then(|| (cutter.cut(from..end), end));
    }
    let (mut parts, mut from) = (Vec::new(), from + 1);
    loop {
        let quote = from + whole.get(from..)?.find('"')?;
        let is_doubled = whole.get(quote + 1..)?.starts_with('"');
        parts.extend_from_slice(cutter.cut(from..quote + usize::from(is_doubled)).parts());
        if !is_doubled {
            return Some((Scalar::of(parts, false), quote + 1));
        }
        from = quote + 2;
    }
}

/// Returns how long the end of a line is that a text begins with.
fn line_end(text: &str) -> Option<usize> {
    ["\n", "\r\n"].into_iter().find(|end| text.starts_with(end)).map(str::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::{files::Files as _, testing::files};

    fn shown(text: &str) -> Option<Vec<String>> {
        let row = |row: &Value| {
            let cells =
                row.entries().map(|(name, cell)| format!("{name}={}", cell.as_scalar().unwrap().text()));
            cells.collect::<Vec<_>>().join(" ")
        };
        decoded(&Scalar::made(text)).map(|rows| rows.items().iter().map(row).collect())
    }

    #[test]
    fn cells_are_read_as_terraform_reads_them() {
        let rows = |text: &str| shown(text).unwrap();
        assert_eq!(rows("a,b\n1,2\n\n3,\n"), ["a=1 b=2", "a=3 b="]);
        assert_eq!(rows("a,b\r\n1,2\r\n3,4"), ["a=1 b=2", "a=3 b=4"]);
        assert_eq!(rows("\"a\",b\n\"x, \"\"y\"\"\nz\", 2 \n"), ["a=x, \"y\"\nz b= 2 "]);
        assert_eq!(rows("a\n"), [""; 0]);
    }

    #[test]
    fn a_cell_of_many_quotes_is_put_together_once() {
        let tree = files(&[("a.csv", &format!("a\n\"{}\"\n", "\"\"".repeat(100_000)))]);
        let rows = decoded(&Scalar::file(&tree.file("a.csv").unwrap())).unwrap();
        assert_eq!(rows.items()[0].text(&["a"]).unwrap().len(), 100_000);
    }

    #[test]
    fn what_terraform_refuses_is_not_read() {
        for text in
            ["", "\n", "a,a\n1,2\n", "a,b\n1\n", "a,b\n1,2,3\n", "a\nx\"y\n", "a\n\"x\"y\n", "a\n\"x\n"]
        {
            assert_eq!(shown(text), None, "{text:?}");
        }
    }
}
