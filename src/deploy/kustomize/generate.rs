//! ConfigMaps and Secrets that kustomize generates.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    builder::{Builder, Here},
    resource::{Behavior, Resource, text_of},
};
use crate::{
    deploy::{
        files::FileError,
        note::About,
        typed::is_true,
        value::{Map, Scalar, Value},
    },
    yaml::Stream,
};

/// What is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ConfigMap,
    Secret,
}

/// A key and its text.
type Pair = (String, Scalar);

// === impl Kind ===

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

/// Generates what an entry of `configMapGenerator` or `secretGenerator` says; `global` are the `generatorOptions`.
pub(super) fn generate(
    builder: &mut Builder<'_>,
    here: &Here,
    kind: Kind,
    entry: &Value,
    global: Option<&Value>,
) -> Option<Resource> {
    let what = || format!("the generator of the {} {}", kind.name(), text_of(entry.get("name")));
    let Some(name) = entry.scalar(&["name"]).filter(|name| !name.text().is_empty()) else {
        builder.note(here, About::Fails { what: what(), why: "it has no name".to_owned() });
        return None;
    };
    let mut metadata = Value::map([("name", Value::Scalar(name.clone().as_string()))]);
    if let Some(namespace) = entry.scalar(&["namespace"]) {
        metadata.insert("namespace", Value::Scalar(namespace.clone().as_string()));
    }
    for key in ["labels", "annotations"] {
        let pairs = options(entry.path(&["options", key]), global.and_then(|global| global.get(key)));
        if !pairs.is_empty() {
            metadata.insert(key, Value::Map(pairs));
        }
    }
    let mut value = Value::map([
        ("apiVersion", Value::made("v1")),
        ("kind", Value::made(kind.name())),
        ("metadata", metadata),
    ]);
    if kind == Kind::Secret {
        let of = entry.scalar(&["type"]).cloned().unwrap_or_else(|| Scalar::made("Opaque"));
        value.insert("type", Value::Scalar(of.as_string()));
    }
    let mut resource = Resource::new(&value, &here.path);
    fill(builder, here, kind, entry, &mut resource, &what);
    let flag = |key: &str| {
        let is_set = |options: Option<&Value>| options.is_some_and(|options| is_true(options, &[key]));
        is_set(entry.get("options")) || is_set(global)
    };
    if flag("immutable") {
        resource.value.insert("immutable", Value::Scalar(Scalar::made("true").as_plain()));
    }
    resource.generated = true;
    resource.hashed = !flag("disableNameSuffixHash");
    resource.behavior = match entry.text(&["behavior"]).as_deref() {
        Some("merge") => Behavior::Merge,
        Some("replace") => Behavior::Replace,
        _ => Behavior::Create,
    };
    Some(resource)
}

fn fill(
    builder: &mut Builder<'_>,
    here: &Here,
    kind: Kind,
    entry: &Value,
    resource: &mut Resource,
    what: &dyn Fn() -> String,
) {
    let mut pairs: Vec<Pair> = Vec::new();
    let one = entry.get("env").into_iter();
    for env in entry.list_at("envs").iter().chain(one) {
        if let Some(source) = builder.file(here, &text_of(Some(env))) {
            pairs.extend(env_lines(&Scalar::file(&source)));
        }
    }
    for literal in entry.list_at("literals").iter().filter_map(Value::as_scalar) {
        match literal_pair(literal) {
            Some(pair) => pairs.push(pair),
            None => builder.note(
                here,
                About::Fails { what: what(), why: format!("`{}` is no `key=value`", literal.text()) },
            ),
        }
    }
    let mut binary: Vec<Pair> = Vec::new();
    for source in entry.list_at("files") {
        let source = text_of(Some(source));
        let (key, path) = match source.split_once('=') {
            Some((key, path)) => (key, path),
            None => (source.rsplit('/').next().unwrap_or_default(), &*source),
        };
        match builder.try_file(here, path) {
            Ok(source) => pairs.push((key.to_owned(), Scalar::file(&source))),
            Err(FileError::NotUtf8) => {
                binary.push((key.to_owned(), Scalar::unknown("a file that is no text")))
            }
            Err(error) => builder.unread(here, path, &error),
        }
    }
    let mut data = Value::empty();
    for (key, text) in pairs {
        if data.entry(&key).is_some() {
            builder.note(here, About::Fails { what: what(), why: format!("the key `{key}` comes twice") });
        }
        let text = text.as_string();
        if kind == Kind::ConfigMap || text.unknown_to().is_some() {
            data.insert(&key, Value::Scalar(text));
            continue;
        }
        let encoded = Scalar::made(&STANDARD.encode(&*text.text()));
        data.insert(&key, Value::Scalar(encoded.clone()));
        resource.plain.push((key.into(), encoded, text));
    }
    let binary_key = if kind == Kind::ConfigMap { "binaryData" } else { "data" };
    if data.entries().next().is_some() {
        resource.value.insert("data", data);
    }
    for (key, text) in binary {
        let mut map = resource.value.get(binary_key).cloned().unwrap_or_else(Value::empty);
        map.insert(&key, Value::Scalar(text));
        resource.value.insert(binary_key, map);
    }
}

/// Lays the options of an entry over those of all.
fn options(own: Option<&Value>, global: Option<&Value>) -> Map {
    let mut merged = Value::empty();
    for (key, value) in global.into_iter().chain(own).flat_map(Value::entries) {
        if let Some(scalar) = value.as_scalar() {
            merged.insert(key, Value::Scalar(scalar.clone().as_string()));
        }
    }
    match merged {
        Value::Map(map) => map,
        _ => Map::default(),
    }
}

/// Puts a generated object among the others, where its behavior says.
pub(super) fn absorb(
    builder: &mut Builder<'_>,
    here: &Here,
    resources: &mut Vec<Resource>,
    mut new: Resource,
) {
    let id = new.id();
    let found = resources.iter().position(|resource| resource.ids().contains(&id));
    let what = || format!("the generator of the {} {}", id.gvk.kind, id.name);
    let (at, merged) = match (found, new.behavior) {
        (None, Behavior::Create) => return resources.push(new),
        (None, _) => {
            builder.note(here, About::NoTarget(what()));
            return resources.push(new);
        }
        (Some(_), Behavior::Create) => {
            builder.note(here, About::Twice(format!("{} {}", id.gvk.kind, id.name)));
            return resources.push(new);
        }
        (Some(at), Behavior::Merge) => (at, true),
        (Some(at), Behavior::Replace) => (at, false),
    };
    let old = &resources[at];
    let mut keep = |path: &[&str]| {
        let mut over = old.value.path(path).cloned().unwrap_or_else(Value::empty);
        let own = new.value.path(path).cloned();
        for (key, value) in own.iter().flat_map(Value::entries) {
            // Alike or not: what moves in one place moves in the other.
            let is_over = path == ["data"] && over.entry(key).is_some();
            builder.lays_over |= is_over;
            if !(builder.gives_way && is_over) {
                over.insert(key, value.clone());
            }
        }
        let Some((key, parents)) = path.split_last() else { return };
        let parent = parents.iter().try_fold(&mut new.value, |value, key| value.entry_mut(key));
        if let Some(parent) = parent.filter(|_| over.entries().next().is_some()) {
            parent.insert(key, over);
        }
    };
    keep(&["metadata", "labels"]);
    keep(&["metadata", "annotations"]);
    if merged {
        keep(&["data"]);
        keep(&["binaryData"]);
        let (mut first, mut second) = (std::mem::take(&mut new.plain), old.plain.clone());
        if builder.gives_way {
            std::mem::swap(&mut first, &mut second);
        }
        second.retain(|(key, ..)| first.iter().all(|(own, ..)| own != key));
        new.plain = [first, second].concat();
    }
    new.set_metadata("name", old.value.scalar(&["metadata", "name"]));
    new.set_metadata("namespace", old.value.scalar(&["metadata", "namespace"]));
    new.previous.clone_from(&old.previous);
    new.prefixes.clone_from(&old.prefixes);
    new.suffixes.clone_from(&old.suffixes);
    new.variables.clone_from(&old.variables);
    new.hashed &= old.hashed;
    new.behavior = old.behavior;
    resources[at] = new;
}

/// Gives a generated Secret its plain texts back, where nothing has changed their encoded form.
pub(super) fn decode(resource: &mut Resource) {
    for (key, encoded, plain) in std::mem::take(&mut resource.plain) {
        let now = resource.value.scalar(&["data", &key]);
        let hidden = resource.value.path(&["stringData", &key]).is_some();
        if now == Some(&encoded) && !hidden {
            let Some(data) = resource.value.entry_mut("data") else { continue };
            data.remove(&key);
            if data.entries().next().is_none() {
                resource.value.remove("data");
            }
            let mut texts = resource.value.get("stringData").cloned().unwrap_or_else(Value::empty);
            texts.insert(&key, Value::Scalar(plain));
            resource.value.insert("stringData", texts);
        }
    }
}

/// Reads `key=value` lines; comments and empty ones say nothing.
fn env_lines(text: &Scalar) -> Vec<Pair> {
    let whole = text.text();
    let mut at = 0;
    let mut pairs = Vec::new();
    for line in whole.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let content = line.strip_suffix('\n').unwrap_or(line);
        let content = content.strip_suffix('\r').unwrap_or(content);
        let trimmed =
            content.trim_start_matches(|c: char| c.is_whitespace() || (start == 0 && c == '\u{feff}'));
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let end = start + content.len();
        let key = trimmed.split('=').next().unwrap_or_default();
        let from = (end - trimmed.len() + key.len() + 1).min(end);
        pairs.push((key.to_owned(), text.cut(from..end)));
    }
    pairs
}

fn literal_pair(literal: &Scalar) -> Option<Pair> {
    let text = literal.text();
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty())?;
    let start = key.len() + 1;
    let quoted = |quote: char| value.len() >= 2 && value.starts_with(quote) && value.ends_with(quote);
    let inset = usize::from(quoted('"') || quoted('\''));
    Some((key.to_owned(), literal.cut(start + inset..text.len() - inset)))
}

/// Tells whether a text holds a document of its own rather than the name of a file.
pub(super) fn is_inline(text: &str) -> bool {
    text.contains('\n')
        || Stream::parse(text).is_ok_and(|stream| stream.roots().any(|root| root.is_mapping()))
}
