//! What every text must be, of whatever size.

use comrak::{Arena, Options, nodes::NodeValue, parse_document};
use uplinker::explain::{Dialect, Ticks, marker};

/// Asserts that a pull request's body fits and has its frame.
pub fn assert_body(body: &str) {
    // However GitHub counts: characters, UTF-16 units, or bytes.
    assert!(body.len() <= Dialect::COMMON.body, "{} bytes", body.len());
    assert_whole(body);
    let first = body.lines().next().unwrap_or_default();
    assert!(
        ["**Blocked: ", "**Attention: ", "**Routine: ", "**Not rendered: "]
            .iter()
            .any(|v| first.starts_with(v)),
        "{first}"
    );
    assert!(marker::read(body).is_some(), "the marker is gone");
    assert!(body.contains("- [ ] Skip `edge-") && body.contains("<!-- uplinker:rebase -->"), "a box is gone");
    assert_eq!(Ticks::read(body), Ticks::default());
    if first.starts_with("**Blocked") {
        let section = body.split("### Settle before merging").nth(1).expect("what blocks is gone");
        assert!(section.trim_start().starts_with("- **"), "{section:.200}");
    }
}

/// Asserts that Markdown is closed: folds, fences, tables, emphasis, code.
pub fn assert_whole(text: &str) {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.tasklist = true;
    options.extension.autolink = true;
    let arena = Arena::new();
    let root = parse_document(&arena, text, &options);
    let lines: Vec<&str> = text.lines().collect();
    let mut folds = 0_i32;
    for node in root.descendants() {
        let data = node.data.borrow();
        let line = data.sourcepos.start.line;
        match &data.value {
            NodeValue::HtmlBlock(html) => {
                for tag in html.literal.split('<').skip(1) {
                    let known =
                        ["details>", "details open>", "/details>", "summary>", "/summary>", "!-- uplinker:"];
                    let known = known.iter().chain(&["!-- /uplinker:"]).any(|k| tag.starts_with(k));
                    assert!(known, "line {line}: <{tag:.60}");
                    folds += i32::from(tag.starts_with("details")) - i32::from(tag.starts_with("/details"));
                    assert!((0..=1).contains(&folds), "line {line}: a fold is not closed");
                }
            }
            NodeValue::HtmlInline(html) => {
                assert!(html.starts_with("<!-- uplinker:"), "line {line}: {html:.60}");
            }
            NodeValue::CodeBlock(code) => assert!(code.closed, "line {line}: a fence is not closed"),
            NodeValue::Text(_) => {
                // A sign that is not an entity, and yet a word, has lost its other half.
                let at = data.sourcepos.start;
                let written = lines.get(at.line - 1).and_then(|l| l.get(at.column - 1..)).unwrap_or_default();
                let left = ["**", "`", "| ", "|-"].iter().find(|sign| written.starts_with(**sign));
                assert!(left.is_none(), "line {line}: {written:.200}");
            }
            NodeValue::Heading(heading) => {
                assert!(!heading.setext, "line {line}: a bare dash makes a heading")
            }
            _ => {}
        }
    }
    assert_eq!(folds, 0, "a fold is not closed");
}

/// Returns how many entries a text says that it leaves out.
pub fn left_out(text: &str) -> usize {
    let Some((_, rest)) = text.split_once("**Left out to fit here:** ") else { return 0 };
    rest.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Sums the numbers of the lines that say how much of their list is left out.
pub fn counted(text: &str) -> usize {
    let line = |line: &str| -> Option<usize> {
        let at = line.find(" more ").or_else(|| line.find(" more"))?;
        let before = line.get(..at)?.trim_end();
        before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    text.lines().filter(|l| l.contains("left out here")).filter_map(line).sum()
}
