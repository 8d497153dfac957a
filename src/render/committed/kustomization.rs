//! Step 5, render: the list of files in a kustomization, kept in step with the files.
//!
//! In: a kustomization's text and the files that come and go. Out: its new text; only a list that names files one by one
//! is changed, and by splices.

use super::emit;
use crate::{
    edit::{Splice, spliced, written_end},
    scan::RepoPath,
    yaml::{Node, Stream},
};

/// The names under which kustomize looks for its file.
pub(super) const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Files that come and go.
pub(super) struct Moves<'a> {
    /// New files, each with the file behind which it belongs.
    pub(super) added: &'a [(RepoPath, Option<RepoPath>)],
    /// Files that are no more.
    pub(super) removed: &'a [RepoPath],
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
    let mut added: Vec<(usize, String)> = Vec::new();
    for (path, behind) in moves.added {
        let known = behind.as_ref().and_then(place);
        let Some(at) = known.or_else(|| added.last().map(|(at, _)| *at).filter(|_| behind.is_some())) else {
            continue;
        };
        let style = items.get(at).and_then(|n| n.as_str()).unwrap_or_default();
        added.push((at, reference(folder, path, style.starts_with("./"))?));
    }
    if added.is_empty() && !(0..items.len()).any(|n| gone(&n)) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for (n, item) in items.iter().enumerate() {
        names.extend(item.as_str().filter(|_| !gone(&n)).map(str::to_owned));
        names.extend(added.iter().filter(|(at, _)| *at == n).map(|(_, name)| name.clone()));
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
fn by_lines(
    text: &str,
    items: &[Node<'_>],
    gone: &dyn Fn(&usize) -> bool,
    added: &[(usize, String)],
) -> Option<String> {
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut splices = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let start = text.get(..item.span().start)?.rfind('\n').map_or(0, |n| n + 1);
        let lead = text.get(start..item.span().start)?;
        let line_end = text.get(item.span().end..)?.find('\n').map(|n| item.span().end + n + 1);
        let new: Vec<String> = added
            .iter()
            .filter(|(at, _)| *at == n)
            .map(|(_, name)| format!("{lead}{}{ending}", emit::inline(&name.as_str().into())))
            .collect();
        if new.is_empty() && !gone(&n) {
            continue;
        }
        if lead.trim() != "-" {
            return None;
        }
        let (end, before) = (line_end.unwrap_or(text.len()), if line_end.is_none() { ending } else { "" });
        let span = if gone(&n) { start..end } else { end..end };
        let before = if gone(&n) { "" } else { before };
        splices.push(Splice { span, with: format!("{before}{}", new.concat()) });
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
        let added: Vec<_> = added.iter().map(|(a, b)| (path(a), Some(path(b)))).collect();
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
