//! The corpus: each folder has a file before and after, and the edits between them.
//!
//! `edits.json` gives each edit's route (keys, positions, and `{"text": [..]}` for the text inside a scalar),
//! line, column and length as a person counts them in `before.*`. A refused case has no `after.*`.

use std::{fs, path::Path};

use serde::Deserialize;
use uplinker::{
    edit::{EditError, Refusal, Replacement, insert, replace_all},
    pins::Site,
    yaml::{Embedded, Node, Route, Step, Stream},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    edits: Vec<Edit>,
    insert: Option<Insertion>,
    /// The refusal in kebab case.
    refused: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    document: usize,
    route: Option<Vec<Part>>,
    line: usize,
    column: usize,
    length: usize,
    old: String,
    new: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Insertion {
    document: usize,
    route: Vec<Part>,
    key: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Key(String),
    Index(usize),
    Text { text: Vec<Part>, document: usize },
}

fn route(document: usize, parts: &[Part]) -> Route {
    let step = |part: &Part| match part {
        Part::Key(key) => Step::Key(key.clone()),
        Part::Index(index) => Step::Index(*index),
        Part::Text { text, document } => Step::Text(Box::new(route(*document, text))),
    };
    Route { document, steps: parts.iter().map(step).collect() }
}

/// Finds the byte at a line and column, both from 1, by walking characters.
fn byte_at(text: &str, line: usize, column: usize) -> usize {
    let start = text.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>();
    let start = start + if start == 0 && text.starts_with('\u{feff}') { 3 } else { 0 };
    start + text[start..].chars().take(column - 1).map(char::len_utf8).sum::<usize>()
}

fn replacement(text: &str, edit: &Edit) -> Replacement {
    let start = byte_at(text, edit.line, edit.column);
    let site = Site {
        span: start..start + edit.length,
        line: edit.line,
        column: edit.column,
        document: edit.document,
        route: edit.route.as_deref().map(|parts| route(edit.document, parts)),
    };
    Replacement { site, old: edit.old.clone(), new: edit.new.clone() }
}

fn name(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Changed { .. } => "changed",
        Refusal::NoSuchPlace { .. } => "no-such-place",
        Refusal::DuplicateKey { .. } => "duplicate-key",
        Refusal::Alias { .. } => "alias",
        Refusal::Template => "template",
        Refusal::Encrypted => "encrypted",
        Refusal::Syntax(_) => "syntax",
        Refusal::Written(_) => "written",
        Refusal::Present { .. } => "present",
        Refusal::Shared { .. } => "shared",
        Refusal::NotProven(_) => "not-proven",
        other => panic!("no name for {other:?}"),
    }
}

fn read(folder: &Path, stem: &str) -> Option<String> {
    let mut files = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
    let file = files.find(|f| f.file_stem().is_some_and(|s| s == stem))?;
    Some(String::from_utf8(fs::read(file).unwrap()).unwrap())
}

fn run(text: &str, case: &Case) -> Result<String, EditError> {
    match &case.insert {
        Some(i) => insert(text, &route(i.document, &i.route), &i.key, &i.value),
        None => replace_all(text, &case.edits.iter().map(|e| replacement(text, e)).collect::<Vec<_>>()),
    }
}

/// Reads the whole value on a route, through the texts inside scalars.
fn value(file: &str, stream: &Stream, route: &Route) -> String {
    let node: Node<'_> = stream.find(route).unwrap();
    match route.steps.iter().find_map(|s| if let Step::Text(inner) = s { Some(inner) } else { None }) {
        None => node.as_str().unwrap().to_owned(),
        Some(inner) => {
            let embedded = Embedded::parse(file, node).unwrap().unwrap();
            value(&embedded.text, &embedded.stream, inner)
        }
    }
}

/// Where the edits stand in the edited text: each is as far behind as the ones before it have grown.
fn sites_after(before: &str, after: &str, case: &Case) -> Vec<Replacement> {
    let mut from = 0;
    let mut edits: Vec<_> = case.edits.iter().map(|e| replacement(before, e)).collect();
    edits.sort_by_key(|e| e.site.span.start);
    for edit in &mut edits {
        let start = from + after[from..].find(&edit.new).expect("the new value is not in the file");
        from = start + edit.new.len();
        edit.site.span = start..from;
        edit.old.clone_from(&edit.new);
    }
    edits
}

fn check(folder: &Path) -> Result<(), String> {
    let case = serde_json::from_str::<Case>(&read(folder, "edits").unwrap());
    let case = case.map_err(|e| format!("edits.json: {e}"))?;
    let before = read(folder, "before").unwrap();
    let after = read(folder, "after");
    let result = run(&before, &case);
    match (&case.refused, after, result) {
        (Some(why), None, Err(error)) if name(&error.refusal) == why => {
            let place = case.edits.first().map_or((error.line, error.column), |e| (e.line, e.column));
            let whole = (0, 0);
            let own = matches!(error.refusal, Refusal::Template | Refusal::Syntax(_));
            if (error.line, error.column) != place && (error.line, error.column) != whole && !own {
                return Err(format!("refused at another place: {error}"));
            }
            Ok(())
        }
        (None, Some(after), Ok(got)) if got == after => {
            if let Some(i) = &case.insert {
                let mut inserted = route(i.document, &i.route);
                push_key(&mut inserted, &i.key);
                let stream = Stream::parse(&got).unwrap();
                assert_eq!(value(&got, &stream, &inserted), i.value);
                let again = run(&got, &case).map_err(|e| name(&e.refusal).to_owned());
                return if again == Err("present".into()) { Ok(()) } else { Err("inserted twice".into()) };
            }
            let escaped = case.edits.iter().any(|e| !after.contains(&e.new));
            let again = if escaped {
                Ok(after.clone())
            } else {
                replace_all(&after, &sites_after(&before, &after, &case))
            };
            match again {
                Ok(again) if again == after => Ok(()),
                Ok(again) => Err(format!("a second run changes it:\n{again}")),
                Err(error) => Err(format!("a second run fails: {error}")),
            }
        }
        (_, after, result) => Err(format!("expected {:?} {after:?}\n     got {result:?}", case.refused)),
    }
}

fn push_key(route: &mut Route, key: &str) {
    match route.steps.last_mut() {
        Some(Step::Text(inner)) => push_key(inner, key),
        _ => route.steps.push(Step::Key(key.to_owned())),
    }
}

#[test]
fn every_file_of_the_corpus_is_edited_as_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edit/corpus");
    let mut folders: Vec<_> =
        fs::read_dir(root).unwrap().map(|f| f.unwrap().path()).filter(|f| f.is_dir()).collect();
    folders.sort();
    assert!(folders.len() >= 60, "the corpus has shrunk to {}", folders.len());
    let failed: Vec<_> = folders
        .iter()
        .filter_map(|f| check(f).err().map(|why| format!("{}: {why}", f.file_name().unwrap().display())))
        .collect();
    assert!(failed.is_empty(), "{} of {} wrong\n{}", failed.len(), folders.len(), failed.join("\n"));
}

/// A list of 5,000 pins over 35,000 lines, with `pad` behind each value.
fn large(version: &str) -> String {
    let mut text = String::from("charts:\n");
    for n in 0..5_000 {
        text.push_str(&format!(
            "  # chart {n}\n  - name: chart-{n}\n    spec:\n      version: {version} # pin {n}\n      on: [a, 'b']\n    text: |\n      line {n}\n"
        ));
    }
    text
}

#[test]
fn five_thousand_pins_in_35_000_lines() {
    let before = large("2026.8.2");
    let stream = Stream::parse(&before).unwrap();
    let charts = stream.roots().next().unwrap().get("charts").unwrap();
    let edit = |node: Node<'_>| {
        let node = node.path(&["spec", "version"]).unwrap();
        let (line, column) = uplinker::yaml::position(&before, node.span().start);
        let site = Site { span: node.span(), line, column, document: 0, route: Some(node.route()) };
        Replacement { site, old: "2026.8.2".into(), new: "2026.8.3".into() }
    };
    let edits: Vec<_> = charts.items().map(edit).collect();
    assert_eq!(edits.len(), 5_000);
    let start = std::time::Instant::now();
    let after = replace_all(&before, &edits).unwrap();
    let took = start.elapsed();
    assert!(after == large("2026.8.3"));
    // Quadratic lookups took minutes here; a slow machine under load takes a few seconds.
    assert!(took.as_secs() < 30, "took {took:?}");
    let one = replace_all(&before, &edits[4_999..]).unwrap();
    let at = edits[4_999].site.span.clone();
    assert!(one[..at.start] == before[..at.start] && one[at.end..] == before[at.end..]);
    assert_eq!(&one[at], "2026.8.3");
}
