//! Step 7, render: the list of files in a kustomization, kept in step with the files.
//!
//! In: a kustomization's text and the files that come and go. Out: its new text; only a list that names files one by one
//! is changed, and by splices.

use super::emit;
use crate::{
    edit::{Splice, spliced, written_end},
    repo::RepoPath,
    yaml::{Node, Stream},
};

/// A file that comes.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    /// Where it is.
    pub(super) path: RepoPath,
    /// The file beside which it belongs.
    pub(super) neighbour: RepoPath,
    /// Whether it belongs before that, rather than behind.
    pub(super) before: bool,
}

/// Files that come and go.
pub(super) struct Moves<'a> {
    /// New files, in their order.
    pub(super) added: &'a [Arrival],
    /// Files that are no more.
    pub(super) removed: &'a [RepoPath],
}

/// A new line of the list.
struct Line {
    /// The item beside which it goes.
    at: usize,
    before: bool,
    name: String,
}

/// Brings the list up to date; `None` where it does not concern the files, or cannot be edited so.
pub(super) fn follow(text: &str, folder: &str, moves: &Moves<'_>) -> Option<String> {
    let stream = Stream::parse(text).ok()?;
    let list =
        stream.roots().next()?.get("resources").filter(|list| list.is_sequence() && !list.is_alias())?;
    let items: Vec<Node<'_>> = list.items().collect();
    let paths: Vec<Option<RepoPath>> = items.iter().map(|item| resolved(folder, *item)).collect();
    let gone =
        |n: &usize| paths.get(*n).is_some_and(|p| p.as_ref().is_some_and(|p| moves.removed.contains(p)));
    let place = |path: &RepoPath| paths.iter().position(|p| p.as_ref() == Some(path));
    let mut added: Vec<Line> = Vec::new();
    for arrival in moves.added {
        let Some(at) = place(&arrival.neighbour) else { continue };
        let style = items.get(at).and_then(|n| n.as_str()).unwrap_or_default();
        let name = reference(folder, &arrival.path, style.starts_with("./"))?;
        added.push(Line { at, before: arrival.before, name });
    }
    if added.is_empty() && !(0..items.len()).any(|n| gone(&n)) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let new = |before: bool| {
            added.iter().filter(move |l| l.at == n && l.before == before).map(|l| l.name.clone())
        };
        names.extend(new(true));
        names.extend(item.as_str().filter(|_| !gone(&n)).map(str::to_owned));
        names.extend(new(false));
    }
    let new = match list.is_flow() || names.is_empty() {
        true => whole(text, list, &names)?,
        false => by_lines(text, &items, &gone, &added)?,
    };
    let read = Stream::parse(&new).ok()?;
    let read = read.roots().next()?.get("resources")?;
    let as_meant = read.items().filter_map(Node::as_str).eq(names.iter().map(String::as_str));
    as_meant.then_some(new)
}

/// Writes the list anew in one line.
fn whole(text: &str, list: Node<'_>, names: &[String]) -> Option<String> {
    let names: Vec<String> = names.iter().map(|name| emit::inline(&name.as_str().into())).collect();
    let with = format!("[{}]", names.join(", "));
    let span = match list.is_flow() {
        true => list.span(),
        false => {
            let key = list.key()?;
            let colon = key.span().end + text.get(key.span().end..)?.find(':')? + 1;
            let splice = Splice { span: colon..written_end(text, key, list)?, with: format!(" {with}") };
            return spliced(text, &[splice]);
        }
    };
    spliced(text, &[Splice { span, with }])
}

/// Removes and adds single lines.
fn by_lines(text: &str, items: &[Node<'_>], gone: &dyn Fn(&usize) -> bool, added: &[Line]) -> Option<String> {
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut splices = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let start = text.get(..item.span().start)?.rfind('\n').map_or(0, |n| n + 1);
        let lead = text.get(start..item.span().start)?;
        let new = |before: bool| -> String {
            let lines = added.iter().filter(|l| l.at == n && l.before == before);
            lines.map(|l| format!("{lead}{}{ending}", emit::inline(&l.name.as_str().into()))).collect()
        };
        let (above, below) = (new(true), new(false));
        if above.is_empty() && below.is_empty() && !gone(&n) {
            continue;
        }
        if lead.trim() != "-" {
            return None;
        }
        let line_end = text.get(item.span().end..)?.find('\n').map(|n| item.span().end + n + 1);
        let (end, open) = (line_end.unwrap_or(text.len()), if line_end.is_none() { ending } else { "" });
        if gone(&n) {
            splices.push(Splice { span: start..end, with: format!("{above}{below}") });
            continue;
        }
        splices.extend((!above.is_empty()).then_some(Splice { span: start..start, with: above }));
        splices
            .extend((!below.is_empty()).then(|| Splice { span: end..end, with: format!("{open}{below}") }));
    }
    spliced(text, &splices)
}

fn resolved(folder: &str, item: Node<'_>) -> Option<RepoPath> {
    RepoPath::resolve(folder, item.as_str()?)
}

/// Writes a path as seen from a folder above it.
fn reference(folder: &str, path: &RepoPath, dotted: bool) -> Option<String> {
    let rest = match folder {
        "" => path.as_str(),
        folder => path.as_str().strip_prefix(folder)?.strip_prefix('/')?,
    };
    Some(if dotted { format!("./{rest}") } else { rest.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::new(text).unwrap()
    }

    fn followed(text: &str, added: &[(&str, &str)], removed: &[&str]) -> Option<String> {
        let arrival = |(new, beside): &(&str, &str)| {
            let (before, beside) = beside.strip_prefix('<').map_or((false, *beside), |beside| (true, beside));
            Arrival { path: path(new), neighbour: path(beside), before }
        };
        let added: Vec<_> = added.iter().map(arrival).collect();
        let removed: Vec<_> = removed.iter().map(|r| path(r)).collect();
        follow(text, "a", &Moves { added: &added, removed: &removed })
    }

    #[test]
    fn lines_come_and_go_where_their_neighbours_are() {
        let text = "resources:\n  - ./x.yaml # first\n  - ./b/y.yaml\n  - ns.yaml\nnamespace: n\n";
        let wanted = "resources:\n  - ./x.yaml # first\n  - ./b/n.yaml\n  - ns.yaml\nnamespace: n\n";
        assert_eq!(followed(text, &[("a/b/n.yaml", "a/x.yaml")], &["a/b/y.yaml"]).unwrap(), wanted);
        assert_eq!(
            followed("resources: [x.yaml, y.yaml]\n", &[("a/z.yaml", "a/y.yaml")], &["a/x.yaml"]).unwrap(),
            "resources: [y.yaml, z.yaml]\n"
        );
        assert_eq!(
            followed("resources:\n- x.yaml", &[("a/z.yaml", "a/x.yaml")], &[]).unwrap(),
            "resources:\n- x.yaml\n- z.yaml\n"
        );
        assert_eq!(followed("resources:\n- x.yaml\n", &[], &["a/x.yaml"]).unwrap(), "resources: []\n");
    }

    #[test]
    fn a_list_of_other_things_stays() {
        assert_eq!(followed("resources:\n- ../base\n", &[("a/z.yaml", "a/y.yaml")], &["a/x.yaml"]), None);
        assert_eq!(followed("images: []\n", &[], &["a/x.yaml"]), None);
    }
}
