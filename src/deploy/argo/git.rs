//! The elements of a Git generator: files and folders of this tree.
//!
//! Source: `applicationset/generators/git.go`; files are found by `git ls-files`, whose `*` crosses folders, folders by
//! Go's `path.Match`, whose `*` does not. Of another repository nothing is known: where nothing of this tree fits, the
//! element's parameters are with that one.

use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobMatcher};

use super::{
    ELEMENTS,
    element::{Element, flat, of_generator},
};
use crate::{
    deploy::{
        files::Files,
        go_template::Stop,
        note::{About, Bound},
        open_path::OpenPath,
        typed::is_true,
        value::{Scalar, UNKNOWN, Value},
    },
    repo::{Mode, RepoPath},
};

/// What the part of a path is called by which clusters are told apart, among labels.
const CHOSEN: &str = "path";

/// Lists the elements of a generator's body.
pub(super) fn elements(
    files: &dyn Files,
    body: &Value,
    go: bool,
    note: &mut dyn FnMut(About),
) -> Result<Vec<Element>, Stop> {
    let prefix = body.text(&["pathParamPrefix"]).map(|p| p.into_owned()).unwrap_or_default();
    let found = if !body.list_at("directories").is_empty() {
        folders(files, body, &|path| folder_parameters(path, go, &prefix))
    } else if !body.list_at("files").is_empty() {
        file_elements(files, body, go, &prefix, note)?
    } else {
        return Err(Stop::Refused("the Git generator names neither files nor directories".to_owned()));
    };
    if found.is_empty() {
        let url = body.text(&["repoURL"]).map(|u| u.into_owned()).unwrap_or_default();
        return Ok(vec![Element::unknown(&format!("the files of `{url}`"))]);
    }
    Ok(found)
}

/// The patterns of `files` or `directories`, those that take in and those that leave out.
fn patterns(items: &[Value], crossing: bool) -> (Vec<GlobMatcher>, Vec<GlobMatcher>) {
    let (out, taken): (Vec<&Value>, Vec<&Value>) = items.iter().partition(|item| is_true(item, &["exclude"]));
    let all = |items: Vec<&Value>| {
        let written = items.into_iter().filter_map(|item| item.scalar(&["path"]));
        written.filter_map(|path| pattern(&path.text(), crossing)).collect()
    };
    (all(taken), all(out))
}

fn pattern(text: &str, crossing: bool) -> Option<GlobMatcher> {
    // Neither of the two knows braces; a part that is not known may be anything.
    let text = text.trim_start_matches("./").replace('{', "\\{").replace('}', "\\}").replace(UNKNOWN, "*");
    let glob =
        |text: &str| GlobBuilder::new(text).literal_separator(!crossing).backslash_escape(true).build().ok();
    Some(glob(&text)?.compile_matcher())
}

fn file_elements(
    files: &dyn Files,
    body: &Value,
    go: bool,
    prefix: &str,
    note: &mut dyn FnMut(About),
) -> Result<Vec<Element>, Stop> {
    let (taken, out) = patterns(body.list_at("files"), true);
    let plain: Vec<String> = body
        .list_at("files")
        .iter()
        .filter_map(|item| item.scalar(&["path"]))
        .map(|path| format!("{}/", path.text().trim_start_matches("./").trim_end_matches('/')))
        .collect();
    let open: Vec<OpenPath> = body.list_at("files").iter().filter_map(open).collect();
    let mut found: Vec<Element> = Vec::new();
    for entry in files.below("") {
        let path = entry.path.as_str();
        let regular = matches!(entry.mode, Mode::File | Mode::Executable);
        // A path that is a folder means all that is below it.
        let fits = || taken.iter().any(|g| g.is_match(path)) || plain.iter().any(|p| path.starts_with(p));
        if !regular || !fits() || out.iter().any(|g| g.is_match(path)) {
            continue;
        }
        if found.len() > ELEMENTS {
            note(About::Bound(Bound::Elements(ELEMENTS)));
            break;
        }
        let before = found.len();
        match files.documents(path) {
            Ok(documents) => {
                // What is no mapping is a list of them; an empty file is one without parameters.
                let first = documents.first().cloned().unwrap_or_else(Value::empty);
                match &first {
                    Value::List(items) => {
                        found.extend(items.iter().map(|item| of_file(item, &entry.path, go, prefix)));
                    }
                    Value::Map(_) => found.push(of_file(&first, &entry.path, go, prefix)),
                    Value::Scalar(scalar) if scalar.is_null() => {
                        found.push(of_file(&Value::empty(), &entry.path, go, prefix));
                    }
                    Value::Scalar(_) => return Err(Stop::Refused(format!("unable to parse file: {path}"))),
                }
            }
            // Argo CD makes nothing at all then; the other files are looked at all the same.
            Err(error) => note(About::Unread { what: path.to_owned(), why: error.to_string() }),
        }
        let chosen = open.iter().find_map(|open| open.parts(path)).map(|parts| parts.join("-"));
        for element in found.iter_mut().skip(before) {
            element.chosen_by.extend(chosen.clone().map(|chosen| (CHOSEN.to_owned(), chosen)));
        }
    }
    Ok(found)
}

/// Reads a pattern of files of which the tree does not say a part: what stands for it there tells clusters apart.
fn open(item: &Value) -> Option<OpenPath> {
    let path = item.scalar(&["path"]).filter(|path| path.unknown_to().is_some())?;
    OpenPath::pattern(path.text().trim_start_matches("./"))
}

fn of_file(content: &Value, path: &RepoPath, go: bool, prefix: &str) -> Element {
    let folder = if path.folder().is_empty() { "." } else { path.folder() };
    let mut parameters = of_generator(content);
    if !go {
        parameters = flat(&parameters);
    }
    let named = [("filename", path.name().to_owned()), ("filenameNormalized", normalized(path.name()))];
    add_path(&mut parameters, folder, &named, go, prefix);
    Element { file: Some(path.clone()), ..Element::known(parameters) }
}

fn folder_parameters(path: &str, go: bool, prefix: &str) -> Element {
    let mut parameters = Value::empty();
    add_path(&mut parameters, path, &[], go, prefix);
    Element::known(parameters)
}

/// Adds what is said of the path itself.
fn add_path(parameters: &mut Value, folder: &str, named: &[(&str, String)], go: bool, prefix: &str) {
    let base = folder.rsplit('/').next().unwrap_or_default();
    let text = |t: &str| Value::Scalar(Scalar::made(t));
    let mut all = vec![("basename", base.to_owned()), ("basenameNormalized", normalized(base))];
    all.extend(named.iter().cloned());
    if go {
        let mut path = Value::map([("path", text(folder))]);
        all.iter().for_each(|(key, value)| path.insert(key, text(value)));
        path.insert("segments", Value::list(folder.split('/').map(text).collect()));
        if prefix.is_empty() {
            parameters.insert("path", path);
        } else {
            parameters.insert(prefix, Value::map([("path", path)]));
        }
        return;
    }
    let name = if prefix.is_empty() { "path".to_owned() } else { format!("{prefix}.path") };
    parameters.insert(&name, text(folder));
    all.iter().for_each(|(key, value)| parameters.insert(&format!("{name}.{key}"), text(value)));
    for (at, segment) in folder.split('/').enumerate().filter(|(_, s)| !s.is_empty()) {
        parameters.insert(&format!("{name}[{at}]"), text(segment));
    }
}

fn normalized(name: &str) -> String {
    crate::deploy::go_template::normalized(name)
}

/// Lists the folders of a tree that patterns name; hidden ones are not looked at.
fn folders(files: &dyn Files, body: &Value, make: &dyn Fn(&str) -> Element) -> Vec<Element> {
    let (taken, out) = patterns(body.list_at("directories"), false);
    let mut all: BTreeSet<Vec<&str>> = BTreeSet::new();
    let mut last = "";
    for entry in files.below("") {
        let folder = entry.path.folder();
        if folder == last {
            continue;
        }
        last = folder;
        let parts: Vec<&str> = folder.split('/').collect();
        let seen = parts.iter().position(|part| part.starts_with('.')).unwrap_or(parts.len());
        (1..=seen).for_each(|n| {
            all.insert(parts[..n].to_vec());
        });
    }
    let paths = all.into_iter().map(|parts| parts.join("/"));
    let wanted = paths.filter(|p| taken.iter().any(|g| g.is_match(p)) && !out.iter().any(|g| g.is_match(p)));
    wanted.take(ELEMENTS + 1).map(|path| make(&path)).collect()
}
