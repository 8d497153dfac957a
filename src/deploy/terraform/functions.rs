//! The functions that hand text on. What computes something new of it is not followed.

use std::collections::BTreeSet;

use hcl_edit::parser;

use super::{
    INSTANCES, csv, paths,
    scope::{Binding, Choice, Scope, boolean, made, member, number, open, rooted, truth},
    template::{BYTES, STEP},
    terragrunt::{self, way},
};
use crate::{
    deploy::{
        go_template::json,
        go_yaml, read,
        typed::{Typed, typed},
        value::{Part, Scalar, Value, Via},
    },
    repo::{Entry, RepoPath},
};

/// Lists in lists that are laid flat.
const NESTED: usize = 16;
/// Blanks that are put before lines.
const INDENT: usize = 256;
/// Items of a list that is made: of one more than instances are looked at it is said that the rest is not.
const ITEMS: usize = INSTANCES + 1;

/// Functions that give something whatever they are given.
const FORGIVING: [&str; 4] = ["try", "can", "coalesce", "fileexists"];

/// Calls a function; `None` where the tree does not say what it gives.
pub(super) fn call(scope: &Scope<'_>, name: &str, mut args: Vec<Value>, expand: bool) -> Option<Value> {
    if expand && let Some(Value::List(last)) = args.last().cloned() {
        args.pop();
        args.extend(last.iter().cloned());
    }
    // What is made of what nobody here knows may be anything.
    if scope.is_certain && !FORGIVING.contains(&name) && args.iter().any(|arg| scope.may_be_any(arg)) {
        return None;
    }
    if let Some(value) = folder(scope, name, &args) {
        return Some(value);
    }
    let first = args.first()?;
    match name {
        "read_terragrunt_config" => path(scope, first)
            .and_then(|path| terragrunt::read(scope, &path))
            .or_else(|| args.get(1).cloned()),
        "get_env" => args.get(1).filter(|_| !scope.is_certain).cloned(),
        "file" => Some(Value::Scalar(file(scope, first)?)),
        "templatefile" => template(scope, first, args.get(1)?, args.get(2)),
        "yamldecode" => parsed(scope, first),
        "jsondecode" => parsed(scope, first),
        "csvdecode" => rows(scope, first),
        "yamlencode" | "jsonencode" => text_of(scope, name, first),
        "merge" => Some(merged(&args)),
        // Before 1.3 it did what defaults of attributes do since.
        "defaults" => Some(defaulted(first, args.get(1)?)),
        "try" => args.iter().find(|arg| !is_open(arg) && !arg.is_null()).cloned(),
        "coalesce" => args.iter().find(|arg| !is_open(arg) && !arg.is_null() && !is_blank(arg)).cloned(),
        "lookup" => {
            let (key, default) = (args.get(1)?, args.get(2));
            scope.offer_keys(first, key);
            match (open(key), default) {
                (Some(who), Some(default)) => {
                    scope.offer(who, [Choice::Other].into_iter());
                    (scope.budget.chosen.get(who) == Some(&Choice::Other)).then(|| default.clone())
                }
                _ => member(first, &scope.text(key)?).or_else(|| default.cloned()),
            }
        }
        "fileexists" => Some(boolean(path(scope, first).is_some_and(|path| scope.files.has(path.as_str())))),
        "fileset" => fileset(scope, first, args.get(1)?),
        "tostring" | "tonumber" | "tobool" | "toset" | "tolist" | "tomap" | "sensitive" | "nonsensitive" => {
            Some(first.clone())
        }
        "abspath" | "pathexpand" => Some(first.clone()),
        "dirname" | "basename" => {
            let text = scope.text(first)?;
            let (folder, own) = text.rsplit_once('/').unwrap_or((".", &text));
            Some(Value::made(if name == "dirname" { folder } else { own }))
        }
        "can" => Some(boolean(!is_open(first))),
        "not" => Some(boolean(!truth(first)?)),
        "keys" => Some(Value::list(ordered(first).map(|(key, _)| Value::made(key)).collect())),
        "length" => length(first),
        "values" => Some(Value::list(ordered(first).map(|(_, value)| value.clone()).collect())),
        "zipmap" => zipped(scope, first, args.get(1)?),
        _ => list(scope, name, &args).or_else(|| text(scope, name, &args)),
    }
}

/// Functions of Terragrunt that name a folder, or a file above it.
fn folder(scope: &Scope<'_>, name: &str, args: &[Value]) -> Option<Value> {
    let own = &scope.module.folder;
    let config = || scope.module.config.as_deref();
    match name {
        "get_terragrunt_dir" | "get_original_terragrunt_dir" => Some(Value::made(&rooted(own))),
        "get_repo_root" => Some(Value::made(".")),
        "get_path_to_repo_root" => Some(Value::made(&way(own, "").unwrap_or_else(|| ".".to_owned()))),
        "get_path_from_repo_root" => Some(Value::made(&rooted(own))),
        "get_parent_terragrunt_dir" => Some(Value::made(&rooted(config()?))),
        "path_relative_to_include" => {
            Some(Value::made(&way(config()?, own).unwrap_or_else(|| ".".to_owned())))
        }
        "path_relative_from_include" => {
            Some(Value::made(&way(own, config()?).unwrap_or_else(|| ".".to_owned())))
        }
        "find_in_parent_folders" => {
            let name = args.first().map_or(Some(terragrunt::FILE.to_owned()), |name| scope.text(name))?;
            let found = terragrunt::above(scope.files, own, &name);
            found.map(|path| Value::made(path.as_str())).or_else(|| args.get(1).cloned())
        }
        _ => None,
    }
}

/// Functions of lists.
fn list(scope: &Scope<'_>, name: &str, args: &[Value]) -> Option<Value> {
    let first = args.first()?;
    match name {
        "concat" => Some(Value::list(args.iter().flat_map(Value::items).cloned().collect())),
        "setunion" => {
            let all = Value::list(args.iter().flat_map(Value::items).cloned().collect());
            list(scope, "distinct", &[all])
        }
        "slice" => {
            let at = |n: usize| usize::try_from(number(args.get(n)?)?).ok();
            Some(Value::list(first.items().get(at(1)?..at(2)?)?.to_vec()))
        }
        "range" => {
            let numbers: Vec<i64> = args.iter().map(number).collect::<Option<_>>()?;
            let (from, to) = match *numbers {
                [to] => (0, to),
                [from, to] => (from, to),
                _ => return None,
            };
            Some(Value::list((from..to).take(ITEMS).map(made).collect()))
        }
        "element" => {
            let index = scope.text(args.get(1)?)?.parse::<usize>().ok()?;
            first.items().get(index % first.items().len().max(1)).cloned()
        }
        "alltrue" | "anytrue" => {
            let Value::List(items) = first else { return None };
            let all = items.iter().map(truth).collect::<Option<Vec<_>>>()?;
            Some(boolean(if name == "alltrue" { all.iter().all(|own| *own) } else { all.contains(&true) }))
        }
        "one" => match first.items() {
            [only] => Some(only.clone()),
            _ => None,
        },
        "compact" => Some(Value::list(
            first.items().iter().filter(|item| !item.is_null() && !is_blank(item)).cloned().collect(),
        )),
        "flatten" => Some(Value::list(flattened(first, NESTED))),
        "reverse" => Some(Value::list(first.items().iter().rev().cloned().collect())),
        "sort" | "distinct" => {
            let mut items = first
                .items()
                .iter()
                .map(|item| Some((scope.text(&Value::Scalar(encoded(item)))?, item.clone())))
                .collect::<Option<Vec<_>>>()?;
            let mut seen = BTreeSet::new();
            items.retain(|(text, _)| name == "sort" || seen.insert(text.clone()));
            if name == "sort" {
                items.sort_by(|(a, _), (b, _)| a.cmp(b));
            }
            Some(Value::list(items.into_iter().map(|(_, item)| item).collect()))
        }
        "setproduct" => product(args),
        "coalescelist" => args.iter().find(|list| !list.items().is_empty()).cloned(),
        "index" => {
            let wanted = scope.text(args.get(1)?)?;
            let items = first.items().iter().map(|item| scope.text(item)).collect::<Option<Vec<_>>>()?;
            Some(Value::made(&items.iter().position(|item| *item == wanted)?.to_string()))
        }
        "contains" => {
            let wanted = args.get(1)?;
            let items = first.items().iter().map(|item| scope.text(item)).collect::<Option<Vec<_>>>()?;
            if let Some(who) = open(wanted) {
                match scope.selects {
                    true => scope.offer(who, items.into_iter().map(Choice::Is).chain([Choice::Other])),
                    // A condition names no environment by itself, but one may be none of those that something else names.
                    false => scope.compare(who),
                }
                return (scope.budget.chosen.get(who) == Some(&Choice::Other)).then(|| boolean(false));
            }
            Some(boolean(items.contains(&scope.text(wanted)?)))
        }
        _ => None,
    }
}

/// Puts each item of a list with each of the others; the last list's change first.
fn product(args: &[Value]) -> Option<Value> {
    let mut all: Vec<Vec<Value>> = vec![Vec::new()];
    for arg in args {
        let Value::List(items) = arg else { return None };
        let with = |head: &Vec<Value>| {
            let whole = |item: &Value| head.iter().chain([item]).cloned().collect();
            items.iter().map(whole).collect::<Vec<Vec<Value>>>()
        };
        all = all.iter().flat_map(with).take(ITEMS).collect();
    }
    Some(Value::list(all.into_iter().map(Value::list).collect()))
}

/// Functions of one text.
fn text(scope: &Scope<'_>, name: &str, args: &[Value]) -> Option<Value> {
    if name == "indent" {
        let (by, text) = (number(args.first()?)?, encoded(args.get(1)?));
        let padding = Scalar::made(&" ".repeat(usize::try_from(by).ok()?.min(INDENT)));
        let whole = text.text();
        let put = |text: Scalar, (at, _): (usize, &str)| text.splice(at + 1..at + 1, &padding);
        return Some(Value::Scalar(whole.rmatch_indices('\n').fold(text.clone(), put)));
    }
    let scalar = &encoded(args.first()?);
    let whole = scalar.text();
    let other = |n: usize| scope.text(args.get(n)?);
    let cut = |from: usize, to: usize| Some(Value::Scalar(scalar.cut(from..to)));
    match name {
        "format" => formatted(scalar, args.get(1..)?),
        "join" => {
            let mut items = args.get(1)?.items().iter().map(encoded);
            let first = items.next()?;
            Some(Value::Scalar(items.fold(first, |all, item| all.then(scalar).then(&item))))
        }
        "lower" | "upper" => {
            let changed = if name == "lower" { whole.to_lowercase() } else { whole.to_uppercase() };
            let same = || if changed == *whole { scalar.clone() } else { Scalar::made(&changed) };
            scalar.unknown_to().is_none().then(|| Value::Scalar(same()))
        }
        "trimprefix" => {
            let prefix = other(1)?;
            cut(if whole.starts_with(&prefix) { prefix.len() } else { 0 }, whole.len())
        }
        "trimsuffix" => {
            let suffix = other(1)?;
            cut(0, whole.strip_suffix(&*suffix).map_or(whole.len(), str::len))
        }
        "trimspace" | "chomp" => {
            let from = if name == "chomp" { 0 } else { whole.len() - whole.trim_start().len() };
            let end = if name == "chomp" { whole.trim_end_matches(['\r', '\n']) } else { whole.trim_end() };
            cut(from, end.len().max(from))
        }
        "replace" => {
            let (old, new) = (other(1)?, args.get(2)?.as_scalar()?);
            // Between slashes it is a regular expression.
            let plain = !(old.is_empty() || old.len() > 1 && old.starts_with('/') && old.ends_with('/'));
            let places: Vec<usize> = whole.match_indices(&*old).map(|(at, _)| at).filter(|_| plain).collect();
            let put = |text: Scalar, at: &usize| text.splice(*at..*at + old.len(), new);
            plain.then(|| Value::Scalar(places.iter().rev().fold(scalar.clone(), put)))
        }
        "split" => {
            let of = args.get(1)?.as_scalar()?;
            let text = of.text();
            let mut items = Vec::new();
            let mut from = 0;
            for (at, found) in text.match_indices(&*whole).filter(|_| !whole.is_empty()) {
                items.push(Value::Scalar(of.cut(from..at)));
                from = at + found.len();
            }
            items.push(Value::Scalar(of.cut(from..text.len())));
            Some(Value::list(items))
        }
        _ => None,
    }
}

/// Returns a text; what is none is YAML where it is handled as one.
fn encoded(value: &Value) -> Scalar {
    match value {
        Value::Scalar(text) => text.clone(),
        value => go_yaml::document(value),
    }
}

/// Counts the items of a list or a map that is known, or the letters of a text.
fn length(of: &Value) -> Option<Value> {
    let count = match of {
        Value::Scalar(text) => text.known()?.chars().count(),
        Value::List(items) => items.len(),
        Value::Map(_) => of.entries().count(),
    };
    Some(made(i64::try_from(count).ok()?))
}

/// `format` with `%s` and `%v` alone.
fn formatted(pattern: &Scalar, args: &[Value]) -> Option<Value> {
    let whole = pattern.text();
    let mut args = args.iter();
    let (mut out, mut from) = (Scalar::made(""), 0);
    for (at, _) in whole.match_indices('%') {
        if at < from {
            continue;
        }
        out = out.then(&pattern.cut(from..at));
        match whole.as_bytes().get(at + 1)? {
            b's' | b'v' => out = out.then(&encoded(args.next()?)),
            b'%' => out = out.then(&Scalar::made("%")),
            _ => return None,
        }
        from = at + 2;
    }
    Some(Value::Scalar(out.then(&pattern.cut(from..whole.len()))))
}

fn file(scope: &Scope<'_>, written: &Value) -> Option<Scalar> {
    let path = path(scope, written)?;
    Some(Scalar::file(&scope.files.file(path.as_str()).ok()?).via(Via::Values))
}

/// Returns the path that an argument means; of one that the tree does not say wholly, it notes what it may mean.
fn path(scope: &Scope<'_>, written: &Value) -> Option<RepoPath> {
    let Some(text) = scope.text(written) else {
        if let Some((who, found)) = paths::open(written.as_scalar()?, scope) {
            scope.offer(&who, found.into_iter().map(Choice::Is));
        }
        return None;
    };
    scope.resolved(&text)
}

/// Lists the files below a folder that a pattern names, by their paths from there.
fn fileset(scope: &Scope<'_>, folder: &Value, pattern: &Value) -> Option<Value> {
    let (folder, pattern) = (scope.text(folder)?, scope.text(pattern)?);
    let from = |base: &str| RepoPath::resolve_folder(base, &folder);
    let below = |folder: &String| scope.files.has_folder(folder);
    let folder = from("").filter(below).or_else(|| from(&scope.module.folder))?;
    let start = if folder.is_empty() { String::new() } else { format!("{}/", globset::escape(&folder)) };
    let found = scope.files.matching(&format!("{start}{pattern}"));
    let name = |entry: &&Entry| {
        entry.path.as_str().strip_prefix(&folder).map(|rest| rest.trim_start_matches('/').to_owned())
    };
    Some(Value::list(found.iter().filter_map(name).map(|name| Value::made(&name)).collect()))
}

/// Writes a map or a list as a text, whose parts know where they were written. A text alone is handed on as it is.
fn text_of(scope: &Scope<'_>, name: &str, value: &Value) -> Option<Value> {
    if value.as_scalar().is_some() {
        return Some(value.clone());
    }
    // What was read of a file is handed on as a whole, as the file's own text would be.
    let own = value.with_scalars(&mut |s| Some(s.via_instead(Via::Decoded, Via::Values)));
    let value = own.as_ref().unwrap_or(value);
    let text = if name == "yamlencode" { go_yaml::document(value) } else { json(value) };
    let bytes = text.text().len();
    scope.budget.take(bytes / STEP)?;
    if bytes > BYTES {
        scope.budget.is_long.set(true);
        return None;
    }
    Some(Value::Scalar(text))
}

fn parsed(scope: &Scope<'_>, text: &Value) -> Option<Value> {
    match text {
        Value::Scalar(known) if open(text).is_none() => {
            let decoded = known.via_instead(Via::Values, Via::Decoded);
            let read = || {
                let value = read::documents(&decoded, scope.files.ceilings()).ok()?.into_iter().next()?;
                Some(value.with_scalars(&mut worded).unwrap_or(value))
            };
            let [Part::Written(at)] = known.parts() else { return read() };
            if at.span != (0..at.source.text.len()) || at.via != Some(Via::Values) {
                return read();
            }
            let path = &at.source.path;
            if let Some(known) = scope.budget.parsed.borrow().get(path) {
                return known.clone();
            }
            let value = read();
            scope.budget.parsed.borrow_mut().insert(path.clone(), value.clone());
            value
        }
        _ => None,
    }
}

/// Reads the words of YAML 1.1 for booleans (go-cty-yaml `resolve.go`).
fn worded(text: &Scalar) -> Option<Scalar> {
    let Typed::Bool(is) = typed(text) else { return None };
    let word = if is { "true" } else { "false" };
    (text.text() != word).then(|| Scalar::made(word).as_plain())
}

fn rows(scope: &Scope<'_>, text: &Value) -> Option<Value> {
    let known = text.as_scalar().filter(|_| open(text).is_none())?;
    scope.budget.take(known.text().len() / STEP)?;
    csv::decoded(&known.via_instead(Via::Values, Via::Decoded))
}

/// Fills a template of a file, which knows nothing but what it is given, and `certain`, what is certain of that.
fn template(scope: &Scope<'_>, written: &Value, vars: &Value, certain: Option<&Value>) -> Option<Value> {
    let path = path(scope, written)?;
    let source = scope.files.file(path.as_str()).ok()?;
    if source.text.len() > BYTES {
        scope.budget.is_long.set(true);
        return None;
    }
    let template = parser::parse_template(&source.text).ok()?;
    let binding = |(name, value): (&str, &Value)| {
        let certain = certain.and_then(|all| member(all, name)).unwrap_or_else(|| value.clone());
        Binding { name: name.to_owned(), value: value.clone(), certain }
    };
    let bindings = vars.entries().map(binding).collect();
    Scope { source, bindings, via: Some(Via::Values), ..scope.clone() }.template(&template)
}

/// Lays maps over each other, the last over all.
pub(super) fn merged(args: &[Value]) -> Value {
    let mut out = Value::empty();
    for (key, value) in args.iter().flat_map(Value::entries) {
        out.insert(key, value.clone());
    }
    out
}

/// Returns the entries of a map by their keys: Terraform's maps have no other order.
pub(super) fn ordered(map: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let mut entries: Vec<(&str, &Value)> = map.entries().collect();
    entries.sort_by_key(|(key, _)| *key);
    entries.into_iter()
}

/// Makes a map of a list of keys and a list of values.
fn zipped(scope: &Scope<'_>, keys: &Value, values: &Value) -> Option<Value> {
    let mut out = Value::empty();
    for (key, value) in keys.items().iter().zip(values.items()) {
        out.insert(&scope.text(key)?, value.clone());
    }
    Some(out)
}

/// Fills in what is not there, or null, at every depth.
fn defaulted(value: &Value, defaults: &Value) -> Value {
    let mut out = value.clone();
    for (key, default) in defaults.entries().filter(|_| matches!(value, Value::Map(_))) {
        let filled = match value.entry(key).filter(|there| !there.is_null()) {
            Some(there) => defaulted(there, default),
            None => default.clone(),
        };
        out.insert(key, filled);
    }
    out
}

/// Returns the items of lists in lists.
fn flattened(value: &Value, depth: usize) -> Vec<Value> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let each = |item: &Value| match item {
        Value::List(_) => flattened(item, depth),
        item => vec![item.clone()],
    };
    value.items().iter().flat_map(each).collect()
}

/// Tells whether a value is a text without a letter.
pub(super) fn is_blank(value: &Value) -> bool {
    value.as_scalar().is_some_and(|scalar| scalar.known().is_some_and(|text| text.is_empty()))
}

/// Tells whether a value is one of which the tree says nothing.
pub(super) fn is_open(value: &Value) -> bool {
    open(value).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_cut_off_behind_what_is_looked_at() {
        let list = |items| Value::list(vec![Value::empty(); items]);
        let count = |args: &[Value]| product(args).map(|all| all.items().len());
        assert_eq!(count(&[list(2), list(3)]), Some(6));
        assert_eq!(count(&[list(2), list(0)]), Some(0));
        assert_eq!(count(&[list(1_000), list(1_000), list(2)]), Some(INSTANCES + 1));
        assert_eq!(count(&[list(2), Value::empty()]), None, "it is not known");
    }
}
