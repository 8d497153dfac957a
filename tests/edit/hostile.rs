//! Text that nobody would write: nothing panics, nothing loops, and what is edited is edited right.

use std::{fs, path::Path};

use crate::edit::other_parsers::pyyaml;
use proptest::prelude::*;
use uplinker::{
    edit::{Replacement, digest, insert, replace_all},
    pins::Site,
    yaml::{Embedded, Node, Shape, SourceMap, Step, Stream, encrypted, position},
};

/// Reads all that a text offers, and edits some of its scalars.
fn exercise(text: &str) {
    encrypted(text.as_bytes());
    let _ = digest(text, text);
    let Ok(stream) = Stream::parse(text) else { return };
    for document in &stream.documents {
        for node in document.nodes().take(60) {
            let span = node.span();
            assert!(text.get(span.clone()).is_some(), "{span:?} is no range of {text:?}");
            position(text, span.start);
            stream.comment_behind(text, span.end);
            let route = node.route();
            let _ = (node.get("x").map(Node::span), stream.find(&route).map(Node::span));
            stream.aliases_through(&route);
            edit(text, node);
            if node.is_mapping() {
                let _ = insert(text, &route, "k", "v");
            }
        }
    }
}

fn edit(text: &str, node: Node<'_>) {
    let Shape::Scalar(value, _) = node.shape() else { return };
    let span = SourceMap::of(text, node).and_then(|m| m.in_file(0..value.len()));
    let span = span.unwrap_or_else(|| node.span());
    let (line, column) = position(text, span.start);
    let mut route = node.route();
    let site = |route| Site {
        span: span.clone(),
        line,
        column,
        document: node.document().index,
        route: Some(route),
    };
    let one = Replacement { site: site(route.clone()), old: value.to_owned(), new: "edge-26.8.3".into() };
    if let Ok(after) = replace_all(text, &[one]) {
        let again = Stream::parse(&after).unwrap();
        assert_eq!(again.find(&route).and_then(|n| n.as_str()), Some("edge-26.8.3"), "{text:?}");
        same_for_others(text, &after);
    }
    if let Some(Ok(inner)) = Embedded::parse(text, node)
        && let Some(leaf) = inner.stream.roots().flat_map(|r| r.document().nodes()).last()
        && let Some(place) = inner.in_file(leaf.span())
    {
        let (old, new) = (text[place.clone()].to_owned(), "1.0".to_owned());
        route.steps.push(Step::Text(Box::new(leaf.route())));
        let site = Site { span: place, ..site(route) };
        let _ = replace_all(text, &[Replacement { site, old, new }]);
    }
}

/// Holds the edit against PyYAML, where that can read the text: one scalar differs, and only by its value.
fn same_for_others(before: &str, after: &str) {
    let Ok(old) = pyyaml(before) else { return };
    let new = pyyaml(after).unwrap_or_else(|e| panic!("{e}: {before:?} became {after:?}"));
    assert_eq!(old.len(), new.len(), "{before:?} became {after:?}");
    let differ: Vec<_> = old.iter().zip(&new).filter(|(a, b)| a != b).collect();
    let fair = match differ[..] {
        [] => before == after,
        [(a, b)] => a[0] == "ScalarEvent" && b[0] == "ScalarEvent" && a[1] == b[1],
        _ => false,
    };
    assert!(fair, "{differ:?}: {before:?} became {after:?}");
}

/// Texts of the corpus, as seeds.
fn seeds() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edit/corpus");
    let folders = fs::read_dir(root).unwrap().map(|f| f.unwrap().path()).filter(|f| f.is_dir());
    let files = folders.flat_map(|f| fs::read_dir(f).unwrap()).map(|f| f.unwrap().path());
    let mut files: Vec<_> = files.filter(|f| f.file_stem().is_some_and(|s| s == "before")).collect();
    files.sort();
    let small = |bytes: &Vec<u8>| bytes.len() < 2_000;
    files.iter().map(|f| fs::read(f).unwrap()).filter(small).collect()
}

/// What means something to YAML, and what is hard to count.
const PIECES: [&str; 28] = [
    ":",
    ": ",
    "\n",
    "\r\n",
    "\r",
    "- ",
    "? ",
    "|",
    ">-\n",
    "|2+\n ",
    "&a ",
    "*a",
    "<<: *a",
    "!!int ",
    "'",
    "\"",
    "\\u",
    "{",
    "}",
    "[",
    "]",
    ",",
    " #",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "\u{feff}",
    "🚀\u{85}",
];

fn mutated(mut bytes: Vec<u8>, changes: &[(usize, u8, usize)]) -> String {
    for (at, kind, which) in changes {
        let at = at % (bytes.len() + 1);
        let piece = PIECES[which % PIECES.len()].bytes();
        match kind % 4 {
            0 => drop(bytes.splice(at..at, piece)),
            1 => drop(bytes.splice(at..(at + which % 9).min(bytes.len()), piece)),
            2 => drop(bytes.drain(at..(at + 1 + which % 20).min(bytes.len()).max(at))),
            _ => bytes.extend_from_within(at..(at + which % 60).min(bytes.len()).max(at)),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    ProptestConfig { failure_persistence: None, cases, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        exercise(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_pieces_do_no_harm(picks in proptest::collection::vec((0..40_usize, "[a-z0-9 ]{0,4}"), 0..60)) {
        let text = picks.iter().map(|(n, word)| format!("{word}{}", PIECES.get(*n).unwrap_or(&"")));
        exercise(&text.collect::<String>());
    }

    #[test]
    fn damaged_files_do_no_harm(
        seed in any::<usize>(),
        changes in proptest::collection::vec(any::<(usize, u8, usize)>(), 1..6),
    ) {
        let seeds = seeds();
        exercise(&mutated(seeds[seed % seeds.len()].clone(), &changes));
    }
}

#[test]
fn deep_nesting_is_refused_and_not_fatal() {
    for text in ["[".repeat(100_000), "- ".repeat(50_000), "{a: ".repeat(50_000), "? ".repeat(50_000)] {
        assert!(Stream::parse(&text).is_err());
        exercise(&text);
    }
}

#[test]
fn an_alias_bomb_is_read_as_it_is_written_or_refused() {
    let bomb = |levels: usize| {
        let mut bomb = String::from("a0: &a0 [edge-26.8.2]\n");
        for n in 1..=levels {
            bomb.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", ")));
        }
        exercise(&bomb);
        Stream::parse(&bomb)
    };
    let stream = bomb(6).unwrap();
    let node = stream.roots().next().unwrap().get("a0").unwrap().item(0).unwrap();
    assert_eq!(stream.aliases_through(&node.route()).len(), 6 * 9);
    assert!(bomb(200).is_err());
}
