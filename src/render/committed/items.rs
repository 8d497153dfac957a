//! Step 7, render: objects that come into a `List`, and objects that leave it.
//!
//! In: the text, the items, what goes and what comes. Out: splices, in block style by lines, in flow style (as in JSON)
//! with the commas. What cannot be done so is `None`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{emit, graft::Graft};
use crate::{
    edit::{Splice, written_end},
    yaml::Node,
};

/// Takes items out; one at least must stay.
pub(super) fn removed(text: &str, list: Node<'_>, gone: &BTreeSet<usize>) -> Option<Vec<Splice>> {
    let items: Vec<Node<'_>> = list.items().collect();
    let first_kept = (0..items.len()).find(|n| !gone.contains(n))?;
    let lines = Graft::of(text);
    let span = |n: &usize| {
        let item = *items.get(*n)?;
        if !list.is_flow() {
            return Some(
                lines.line_start(lines.dash(item)?)?..lines.next_line(written_end(text, item, item)?),
            );
        }
        // With the comma behind it, or before it where another one stays there.
        match *n < first_kept {
            true => Some(item.span().start..items.get(n + 1)?.span().start),
            false => Some(items.get(n - 1)?.span().end..item.span().end),
        }
    };
    gone.iter().map(|n| Some(Splice { span: span(n)?, with: String::new() })).collect()
}

/// Puts an item beside another one.
pub(super) fn added(
    text: &str,
    list: Node<'_>,
    (beside, before): (usize, bool),
    new: &Value,
) -> Option<Splice> {
    let neighbour = list.items().nth(beside)?;
    let lines = Graft::of(text);
    if !list.is_flow() {
        let dash = lines.dash(neighbour)?;
        let column = lines.column(dash)?;
        let item = format!("{:column$}{}", "", emit::item(new, column));
        let at = match before {
            true => lines.line_start(dash)?,
            false => lines.next_line(written_end(text, neighbour, neighbour)?),
        };
        let open = !before && !text.get(..at)?.ends_with('\n');
        return Some(Splice {
            span: at..at,
            with: if open { format!("\n{item}") } else { format!("{item}\n") },
        });
    }
    let start = neighbour.span().start;
    let indent =
        lines.column(start).filter(|n| *n > 0 || text.get(..start).is_some_and(|t| t.ends_with('\n')));
    let (between, item) = match indent {
        Some(indent) => {
            let below = neighbour.entries().next().and_then(|(key, _)| lines.column(key.span().start));
            let step =
                below.and_then(|below| below.checked_sub(indent)).filter(|step| (1..=8).contains(step));
            let between = format!("\n{:indent$}", "");
            (between, emit::flow(new, indent, step.unwrap_or(2))?)
        }
        None => (" ".to_owned(), new.to_string()),
    };
    let (at, with) = match before {
        true => (start, format!("{item},{between}")),
        false => (neighbour.span().end, format!(",{between}{item}")),
    };
    Some(Splice { span: at..at, with })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{edit::spliced, yaml::Stream};
    use serde_json::json;

    /// Takes out, then puts `{k: new}` beside, and shows the text.
    fn changed(text: &str, gone: &[usize], beside: Option<(usize, bool)>) -> String {
        let stream = Stream::parse(text).unwrap();
        let list = stream.roots().next().unwrap().get("items").unwrap();
        let mut splices = removed(text, list, &gone.iter().copied().collect()).unwrap();
        splices.extend(beside.map(|beside| added(text, list, beside, &json!({"k": "new"})).unwrap()));
        splices.sort_by_key(|s| (s.span.start, s.span.end));
        let out = spliced(text, &splices).unwrap();
        Stream::parse(&out).unwrap();
        out
    }

    #[test]
    fn lines_of_a_block_come_and_go() {
        let text = "kind: List\nitems:\n# about a\n- k: a\n- k: b # why\n  l:\n  - x\n- k: c";
        assert_eq!(changed(text, &[1], None), "kind: List\nitems:\n# about a\n- k: a\n- k: c");
        assert_eq!(
            changed(text, &[0, 1], Some((2, false))),
            "kind: List\nitems:\n# about a\n- k: c\n- k: new"
        );
        assert_eq!(
            changed("items:\n  - k: a\nz: 1\n", &[], Some((0, true))),
            "items:\n  - k: new\n  - k: a\nz: 1\n"
        );
        let all = Stream::parse(text).unwrap();
        let list = all.roots().next().unwrap().get("items").unwrap();
        assert_eq!(removed(text, list, &[0, 1, 2].into()), None);
    }

    #[test]
    fn items_of_json_come_and_go_with_their_commas() {
        let text = "{\"items\": [{\"k\": \"a\"}, {\"k\": \"b\"}, {\"k\": \"c\"}]}";
        assert_eq!(changed(text, &[0, 1], None), "{\"items\": [{\"k\": \"c\"}]}");
        assert_eq!(
            changed(text, &[1, 2], Some((0, false))),
            "{\"items\": [{\"k\": \"a\"}, {\"k\":\"new\"}]}"
        );
        let text = "{\n    \"items\": [\n        {\n            \"k\": \"a\"\n        }\n    ]\n}\n";
        let wanted = "{\n    \"items\": [\n        {\n            \"k\": \"new\"\n        },\n        {\n            \"k\": \"a\"\n        }\n    ]\n}\n";
        assert_eq!(changed(text, &[], Some((0, true))), wanted);
    }
}
