//! Which files of `src/` need each other in a circle.
//!
//! An edge is a path in a `use`, or one in the code, from a file to the file that defines what is named; a name that a
//! module only hands on leads to where it comes from. A module and those below it are one thing in parts: edges between
//! them do not count.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

/// Hand-ons that are followed.
const HOPS: usize = 5;

type Module = Vec<String>;

/// Files by the module that they are, with their code.
pub struct Sources(BTreeMap<Module, String>);

// === impl Sources ===

impl Sources {
    /// Takes product code by its path below `src/`, comments and tests cut away.
    pub fn new(files: impl Iterator<Item = (String, String)>) -> Self {
        Self(files.map(|(path, code)| (module(&path), code)).collect())
    }

    /// Returns the circles: modules each of which needs the next, and the last the first.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let uses: BTreeMap<&Module, Vec<(Module, String)>> =
            self.0.iter().map(|(own, code)| (own, self.paths(own, code))).collect();
        let handed: BTreeMap<(&Module, &String), &Module> = uses
            .iter()
            .flat_map(|(own, paths)| paths.iter().map(move |(path, name)| ((*own, name), path)))
            .collect();
        let edges: BTreeMap<&Module, BTreeSet<&Module>> = uses
            .iter()
            .map(|(own, paths)| {
                let ends = paths.iter().filter_map(|(path, _)| self.definer(path, &handed, HOPS));
                (*own, ends.filter(|end| !end.starts_with(own) && !own.starts_with(end)).collect())
            })
            .collect();
        let reach: BTreeMap<&Module, BTreeSet<&Module>> =
            edges.keys().map(|from| (*from, reachable(from, &edges))).collect();
        let mut circles = BTreeSet::new();
        for (from, ends) in &reach {
            let circle: Vec<String> = ends
                .iter()
                .filter(|end| reach.get(*end).is_some_and(|back| back.contains(from)))
                .map(|member| member.join("::"))
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// Lists what a file names: whole paths, and the last name of each that it imports.
    fn paths(&self, own: &Module, code: &str) -> Vec<(Module, String)> {
        let import = Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?use ([^;]+);").unwrap();
        let path = Regex::new(r"\b(?:crate|super)(?:::\w+)+").unwrap();
        let renamed = Regex::new(r" as \w+").unwrap();
        let mut found = Vec::new();
        for tree in import.captures_iter(code) {
            let tree = renamed.replace_all(&tree[1], "");
            for path in flat(&tree.split_whitespace().collect::<String>(), &[]) {
                found.extend(
                    self.absolute(own, &path).map(|all| (all, path.last().cloned().unwrap_or_default())),
                );
            }
        }
        let rest = import.replace_all(code, "");
        for path in path.find_iter(&rest) {
            let path: Module = path.as_str().split("::").map(str::to_owned).collect();
            found.extend(self.absolute(own, &path).map(|all| (all, String::new())));
        }
        found
    }

    fn absolute(&self, own: &Module, path: &[String]) -> Option<Module> {
        let below = |base: &[String], rest: &[String]| [base, rest].concat();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some(below(own, &path[1..])),
            "super" => {
                let up = path.iter().take_while(|step| *step == "super").count();
                Some(below(own.get(..own.len().checked_sub(up)?)?, &path[up..]))
            }
            child => self.0.contains_key(&below(own, &[child.to_owned()])).then(|| below(own, path)),
        }
    }

    /// Returns the module whose file defines what a path names.
    fn definer<'a>(
        &'a self,
        path: &Module,
        handed: &BTreeMap<(&Module, &String), &'a Module>,
        hops: usize,
    ) -> Option<&'a Module> {
        let (module, rest) = (0..=path.len()).rev().find_map(|n| {
            let (module, _) = self.0.get_key_value(&path[..n])?;
            Some((module, &path[n..]))
        })?;
        let next = rest.first().and_then(|name| handed.get(&(module, name))).filter(|next| **next != path);
        match next.filter(|_| hops > 0) {
            Some(next) => self.definer(&[next.as_slice(), &rest[1..]].concat(), handed, hops - 1),
            None => Some(module),
        }
    }
}

fn module(path: &str) -> Module {
    let mut module: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// Spreads a tree of imports into its paths.
fn flat(tree: &str, before: &[String]) -> Vec<Module> {
    let path = |text: &str| -> Module {
        let steps = text.split("::").filter(|step| !step.is_empty() && *step != "self").map(str::to_owned);
        let own = text.starts_with("self::").then(|| "self".to_owned());
        [before, &own.into_iter().chain(steps).collect::<Module>()].concat()
    };
    let Some((head, rest)) = tree.split_once('{') else {
        return vec![path(tree)];
    };
    let head = path(head);
    let (mut depth, mut item, mut found) = (0, String::new(), Vec::new());
    for c in rest.strip_suffix('}').unwrap_or(rest).chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(flat(&std::mem::take(&mut item), &head));
                continue;
            }
            _ => {}
        }
        item.push(c);
    }
    if !item.is_empty() {
        found.extend(flat(&item, &head));
    }
    found
}

fn reachable<'m>(from: &Module, edges: &BTreeMap<&'m Module, BTreeSet<&'m Module>>) -> BTreeSet<&'m Module> {
    let mut seen = BTreeSet::new();
    let mut todo: Vec<&Module> = edges.get(from).into_iter().flatten().copied().collect();
    while let Some(module) = todo.pop() {
        if seen.insert(module) {
            todo.extend(edges.get(module).into_iter().flatten());
        }
    }
    seen
}

#[test]
fn a_circle_is_found_wherever_it_is_closed() {
    let circles = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(path, code)| ((*path).to_owned(), (*code).to_owned()));
        Sources::new(files).circles()
    };
    let handed = "mod a;\nmod b;\npub use a::A;\npub use b::B;\n";
    let closed = [("x/mod.rs", handed), ("x/a.rs", "use super::B;"), ("x/b.rs", "fn f() { super::a::g() }")];
    assert_eq!(circles(&closed), [["x::a", "x::b"]]);
    let apart =
        [("x/mod.rs", handed), ("x/a.rs", "use crate::{x::{B}, y::Y};"), ("x/b.rs", ""), ("y.rs", "")];
    assert!(circles(&apart).is_empty());
    let over =
        [("x/a.rs", "use crate::y::{self, Y};"), ("y.rs", "use crate::z;"), ("z.rs", "use crate::x::a::A;")];
    assert_eq!(circles(&over), [["x::a", "y", "z"]]);
}
