//! The layout keeps its promises: import directions, file sizes, and paths named in the documents.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use uplinker::propose::forge::{kind::Kind, kinds::KINDS};

pub mod circles;

struct Rule {
    may_import: Vec<String>,
    adapters: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads the import table of ARCHITECTURE.md.
fn rules() -> BTreeMap<String, Rule> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let table = text.split("| folder | imports | adapters |").nth(1).expect("the import table is there");
    let list = |cell: &str| cell.split(',').map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect();
    let rows = table.lines().skip(2).take_while(|l| l.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let folder = cells[0].trim().trim_matches('`').to_owned();
        (folder, Rule { may_import: list(cells[1]), adapters: list(cells[2]) })
    })
    .collect()
}

fn sources() -> Vec<PathBuf> {
    files("src")
}

/// Lists the files of Rust below a folder.
fn files(folder: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let mut out = Vec::new();
    walk(&root().join(folder), &mut out);
    out.sort();
    out
}

/// Returns the modules named after `crate::` in the code of a file, its tests left out.
fn imports(text: &str) -> Vec<String> {
    let code: String =
        product(text).lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => found.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()),
            Some(list) => found.extend(top_level_names(list)),
        }
    }
    found
}

fn top_level_names(list: &str) -> Vec<String> {
    let mut depth = 0;
    let mut names = vec![String::new()];
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(String::new()),
            c if depth == 0 => names.last_mut().unwrap().push(c),
            _ => {}
        }
    }
    let first = |n: &String| n.trim().split("::").next().unwrap_or_default().trim().to_owned();
    names.iter().map(first).filter(|n| !n.is_empty() && n != "self").collect()
}

/// Cuts the test module at the end of a file.
fn product(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

/// Tells whether a file of `src/` holds tests alone.
fn is_test(path: &Path) -> bool {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    stem == "testing" || stem.ends_with("tests") || path.components().any(|c| c.as_os_str() == "tests")
}

#[test]
fn steps_import_exactly_what_the_architecture_says() {
    let mut unused = rules();
    let rules = rules();
    let mut wrong = Vec::new();
    for path in sources().iter().filter(|path| !is_test(path)) {
        let relative = path.strip_prefix(root().join("src")).unwrap();
        let folder = match relative.components().count() {
            1 => relative.file_stem().unwrap().to_str().unwrap(),
            _ => relative.components().next().unwrap().as_os_str().to_str().unwrap(),
        };
        if matches!(folder, "lib" | "main") {
            continue;
        }
        let rule = rules.get(folder).unwrap_or_else(|| panic!("ARCHITECTURE.md does not name `{folder}`"));
        let named = |a: &String| {
            relative.components().any(|c| Path::new(&c).with_extension("").as_os_str() == a.as_str())
        };
        for module in imports(&fs::read_to_string(path).unwrap()) {
            let left = unused.get_mut(folder).unwrap();
            left.may_import.retain(|name| *name != module);
            let adapter = module == "sys" && rule.adapters.iter().any(named);
            if adapter {
                left.adapters.retain(|name| !named(name));
            }
            if module != folder && !adapter && !rule.may_import.contains(&module) {
                wrong.push(format!("{} imports crate::{module}", relative.display()));
            }
        }
    }
    let unused = unused.iter().flat_map(|(folder, rule)| {
        let edges = rule.may_import.iter().map(move |module| format!("{folder} does not import {module}"));
        edges.chain(rule.adapters.iter().map(move |name| format!("{folder}: {name} does not import sys")))
    });
    wrong.extend(unused);
    assert!(wrong.is_empty(), "against the table in ARCHITECTURE.md:\n{}", wrong.join("\n"));
}

#[test]
fn no_files_need_each_other_in_a_circle() {
    let product = |path: &PathBuf| {
        let relative = path.strip_prefix(root().join("src")).unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(path).unwrap();
        let code = product(&text).lines().filter(|l| !l.trim_start().starts_with("//"));
        (relative, code.collect::<Vec<_>>().join("\n"))
    };
    let files = sources();
    let circles = circles::Sources::new(files.iter().filter(|path| !is_test(path)).map(product)).circles();
    assert!(circles.is_empty(), "a part of each belongs into a file of its own: {circles:?}");
}

#[test]
fn a_forge_is_known_in_its_folder_and_its_row_alone() {
    // The names of files, and of hosts that kustomize knows.
    let of_others = ["pins/rivals.rs", "pins/other/class.rs", "deploy/kustomize/target.rs"];
    // What GitHub is beside a forge: where releases are, and workflows run.
    let later: Vec<&Kind> = KINDS.iter().copied().filter(|kind| kind.name != "github").collect();
    let words: Vec<String> = later
        .iter()
        .flat_map(|kind| kind.hosts.iter().map(|(host, _)| *host).chain([kind.name, kind.dialect.forge]))
        .map(str::to_lowercase)
        .collect();
    let mut wrong = Vec::new();
    for path in sources().iter().filter(|path| !is_test(path)) {
        let relative = path.strip_prefix(root().join("src")).unwrap().to_str().unwrap();
        let own = later.iter().any(|kind| relative.starts_with(&format!("propose/forge/{}", kind.name)));
        let row = ["propose/forge/kinds.rs", "propose/forge/mod.rs"].contains(&relative);
        if own || row || of_others.contains(&relative) {
            continue;
        }
        let text = product(&fs::read_to_string(path).unwrap()).to_lowercase();
        let named = words.iter().filter(|word| text.contains(word.as_str()));
        wrong.extend(named.map(|word| format!("src/{relative} speaks of {word}")));
    }
    assert!(wrong.is_empty(), "what one forge does is its own, as data of its `Kind`:\n{}", wrong.join("\n"));
}

#[test]
fn no_file_is_too_long_to_read() {
    let long: Vec<String> = [sources(), files("tests")]
        .iter()
        .flatten()
        .filter(|p| p.file_stem().is_some_and(|s| s != "tests"))
        .map(|p| (p, product(&fs::read_to_string(p).unwrap()).lines().count()))
        .filter(|(_, lines)| *lines > 500)
        .map(|(p, lines)| format!("{}: {lines} lines", p.display()))
        .collect();
    assert!(long.is_empty(), "split by what they do:\n{}", long.join("\n"));
}

#[test]
fn every_source_file_says_what_it_is() {
    let silent: Vec<_> =
        sources().into_iter().filter(|p| !fs::read_to_string(p).unwrap().starts_with("//!")).collect();
    assert!(silent.is_empty(), "files without a `//!` paragraph: {silent:?}");
}

#[test]
fn paths_named_in_the_documents_exist() {
    let mut missing = Vec::new();
    for document in
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/security.md", "docs/configuration.md"]
    {
        let text = fs::read_to_string(root().join(document)).unwrap();
        for quoted in text.split('`').skip(1).step_by(2) {
            let path = quoted.trim();
            let ours =
                ["src/", "tests/", "benches/", "templates/", "docs/", "scripts/", "schema/", "examples/"];
            if ours.iter().any(|p| path.starts_with(p))
                && !path.contains(['*', ' ', '<'])
                && !root().join(path).exists()
            {
                missing.push(format!("{document}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "no such path:\n{}", missing.join("\n"));
}
