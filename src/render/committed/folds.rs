//! Step 7, render: a text that is written over several lines, changed where it changes.
//!
//! In: the scalar, its new value. Out: splices that leave all folds, escapes and indentation around them as they are written,
//! read back before they are believed; `None` where the scalar has to be written anew.

use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::{
    edit::{Splice, spliced},
    yaml::{Node, SourceMap, Stream, Style},
};

/// Texts with more words are not compared.
const WORDS: usize = 20_000;

/// Changes a scalar that is written over several lines.
pub(super) fn kept(text: &str, node: Node<'_>, new: &str) -> Option<Vec<Splice>> {
    let (old, style) = (node.as_str()?, node.style()?);
    let source = text.get(node.span())?.trim_end();
    // A literal text has its lines already, and is written line by line.
    if style == Style::Literal || !source.contains('\n') {
        return None;
    }
    let map = SourceMap::of(text, node)?;
    let line = source.lines().skip(1).find(|line| !line.trim().is_empty())?;
    let indent = line.get(..line.len() - line.trim_start().len())?;
    let (before, after) = (words(old), words(new));
    if before.len().max(after.len()) > WORDS {
        return None;
    }
    let starts: Vec<usize> =
        before.iter().scan(0, |at, word| Some(std::mem::replace(at, *at + word.len()))).collect();
    let place = |word: usize| {
        let at = starts.get(word).copied().unwrap_or(old.len());
        Some(map.in_file(at..at)?.start)
    };
    let mut splices = Vec::new();
    for change in capture_diff_slices(Algorithm::Myers, &before, &after) {
        let (tag, from, to) = change.as_tag_tuple();
        if tag != DiffTag::Equal {
            let with = written(&after.get(to)?.concat(), style, indent);
            splices.push(Splice { span: place(from.start)?..place(from.end)?, with });
        }
    }
    reads_as(text, node, &splices, new).then_some(splices)
}

/// Cuts a text into words and the blanks between them.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| c.is_whitespace() != first.is_whitespace()).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        words.push(word);
        rest = behind;
    }
    words
}

/// Writes a part of a text in a style.
fn written(part: &str, style: Style, indent: &str) -> String {
    match style {
        Style::DoubleQuoted => {
            // JSON's escapes are YAML's.
            let quoted = serde_json::Value::from(part).to_string();
            quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
        }
        Style::SingleQuoted => part.replace('\'', "''").replace('\n', &format!("\n\n{indent}")),
        _ => part.replace('\n', &format!("\n\n{indent}")),
    }
}

/// Tells whether the lines of a scalar read as a text, once they are changed.
fn reads_as(text: &str, node: Node<'_>, splices: &[Splice], new: &str) -> bool {
    let begin = node.key().unwrap_or(node).span().start;
    let start = text.get(..begin).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let shifted = splices.iter().map(|splice| {
        let span = splice.span.start.checked_sub(start)?..splice.span.end.checked_sub(start)?;
        Some(Splice { span, with: splice.with.clone() })
    });
    let read = || {
        let lines = spliced(text.get(start..node.span().end)?, &shifted.collect::<Option<Vec<_>>>()?)?;
        let stream = Stream::parse(&lines).ok()?;
        let at = node.span().start - start;
        let mut waiting: Vec<Node<'_>> = stream.roots().collect();
        while let Some(found) = waiting.pop() {
            if found.span().start == at && found.as_str() == Some(new) {
                return Some(());
            }
            waiting.extend(found.items().chain(found.entries().map(|(_, below)| below)));
        }
        None
    };
    read().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces one text by another in the value under `v`, and shows what became of it.
    fn changed(text: &str, from: &str, to: &str) -> Option<String> {
        let stream = Stream::parse(text).unwrap();
        let root = stream.roots().next().unwrap();
        let node = root.path(&["a", "v"]).or_else(|| root.get("a").unwrap().item(0)).unwrap();
        let new = node.as_str().unwrap().replace(from, to);
        spliced(text, &kept(text, node, &new)?)
    }

    #[test]
    fn folds_stay_where_they_are() {
        let plain = "a:\n  v: one two\n    three edge-26.6.3\n    four\n  w: 1\n";
        assert_eq!(changed(plain, "26.6", "26.8").unwrap(), plain.replace("26.6", "26.8"));
        let item = "a:\n- one two\n  three edge-26.6.3\n- w\n";
        assert_eq!(changed(item, "26.6", "26.8").unwrap(), item.replace("26.6", "26.8"));
        let single = "a:\n  v: 'one: it''s\n\n    two: edge-26.6.3\n\n    three: x\n    y\n\n    '\n";
        assert_eq!(changed(single, "26.6", "26.8").unwrap(), single.replace("26.6", "26.8"));
        assert_eq!(
            changed(single, "three", "new: isn't\nthree").unwrap(),
            single.replace("    three", "    new: isn''t\n\n    three")
        );
        let folded = "a:\n  v: >-\n    one two\n    three edge-26.6.3\n\n    four\n  w: 1\n";
        assert_eq!(changed(folded, "26.6", "26.8").unwrap(), folded.replace("26.6", "26.8"));
    }

    #[test]
    fn escapes_and_broken_lines_stay_too() {
        let text = "a:\n  v: \"one:\\n  two: \\\"x\\\"\\nlinkerdVersion: edge-26.6.3\\n\\\n    three:\\\n    \\ four\\n  five:\\n\\\n    \\    six: 1\\n\"\n  w: 1\n";
        assert_eq!(changed(text, "26.6", "26.8").unwrap(), text.replace("26.6", "26.8"));
        let more = changed(text, "three:", "new:\n  - \"y\"\nthree:").unwrap();
        assert_eq!(more, text.replace("    three:", "    new:\\n  - \\\"y\\\"\\nthree:"));
        let less = changed(text, "  five:\n    six: 1\n", "").unwrap();
        assert!(less.contains("three:\\\n    \\ four\\n"), "{less}");
    }

    #[test]
    fn what_stands_on_one_line_or_reads_otherwise_is_left_to_others() {
        assert_eq!(changed("a: {v: one two}\n", "one", "1"), None);
        assert_eq!(changed("a:\n  v: |\n    one\n    two\n", "one", "1"), None);
        assert_eq!(changed("a:\n  v: one\n    two\n", "two", "x: y"), None, "no text any more");
        let blanks = changed("a:\n  v: 'one\n    two'\n", "two", " two").unwrap();
        assert_eq!(blanks, "a:\n  v: 'one  two'\n", "two blanks are no fold any more");
    }
}
