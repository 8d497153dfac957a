//! A build of the model held against one of kustomize, scalar by scalar.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value as Json;
use uplinker::deploy::{
    Build, Object, Value,
    kustomize::HASH,
    typed::{Typed, typed},
};

use crate::kustomize::tree::Tree;

/// Compares each folder of a tree that is built.
pub fn compare(tree: &Tree) -> Result<(), String> {
    for (folder, expected) in &tree.expected {
        let build = Tree::build(&tree.texts, folder);
        match expected {
            Some(expected) => same(&build, expected).map_err(|why| format!("{folder}: {why}"))?,
            None if build.notes.is_empty() => {
                return Err(format!("{folder}: kustomize fails, and no note says it"));
            }
            None => {}
        }
    }
    Ok(())
}

fn same(build: &Build, expected: &str) -> Result<(), String> {
    let documents = serde_yaml::Deserializer::from_str(expected);
    let mut wanted: Vec<Json> = documents.map(|d| serde::Deserialize::deserialize(d).unwrap()).collect();
    wanted.retain(|document: &Json| !document.is_null());
    let mut found: BTreeMap<String, Json> = BTreeMap::new();
    for object in &build.objects {
        let json = json(&object.value);
        if found.insert(identity(&json), json).is_some() {
            return Err(format!("{} is built twice", object.value.text(&["kind"]).unwrap_or_default()));
        }
    }
    let names: Vec<(String, String)> =
        wanted.iter().filter_map(|wanted| hashed(wanted, &build.objects)).collect();
    for mut wanted in wanted {
        rename(&mut wanted, &names);
        let id = identity(&wanted);
        let Some(found) = found.remove(&id) else {
            return Err(format!("{id} is not built; notes: {:?}", build.notes));
        };
        decode(&mut wanted, &found);
        differ(&wanted, &found, &id)?;
    }
    match found.keys().next() {
        Some(more) => Err(format!("{more} is built, and not by kustomize")),
        None if build.notes.is_empty() => Ok(()),
        None => Err(format!("kustomize builds it, and a note says otherwise: {:?}", build.notes)),
    }
}

/// The real name of a generated object beside the one with the stand-in.
fn hashed(wanted: &Json, built: &[Object]) -> Option<(String, String)> {
    let real = wanted.pointer("/metadata/name")?.as_str()?;
    let kind = wanted["kind"].as_str()?;
    let (stem, hash) = real.rsplit_once('-')?;
    let name = format!("{stem}-{HASH}");
    let known = built.iter().any(|o| o.kind() == kind && o.name().is_some_and(|n| n.text() == name));
    (known && hash.len() == 10).then(|| (real.to_owned(), name))
}

fn rename(value: &mut Json, names: &[(String, String)]) {
    match value {
        Json::String(text) => names.iter().for_each(|(real, name)| *text = text.replace(real, name)),
        Json::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        Json::Object(map) => map.values_mut().for_each(|value| rename(value, names)),
        _ => {}
    }
}

/// Moves the data of a Secret that the model has as plain text there too.
fn decode(wanted: &mut Json, found: &Json) {
    let Some(plain) = found.get("stringData").and_then(Json::as_object) else { return };
    let written = |wanted: &Json, key: &str| {
        wanted.pointer("/stringData").is_some_and(|texts| texts.get(key).is_some())
    };
    for key in plain.keys() {
        if written(wanted, key) {
            continue;
        }
        let encoded = wanted.get_mut("data").and_then(Json::as_object_mut).and_then(|data| data.remove(key));
        let Some(text) = encoded.as_ref().and_then(Json::as_str) else { continue };
        let text = String::from_utf8(STANDARD.decode(text.replace(['\n', ' '], "")).unwrap()).unwrap();
        let map = wanted.as_object_mut().unwrap();
        let texts = map.entry("stringData").or_insert_with(|| Json::Object(serde_json::Map::new()));
        texts[key] = Json::String(text);
    }
    if wanted.get("data").and_then(Json::as_object).is_some_and(serde_json::Map::is_empty) {
        wanted.as_object_mut().unwrap().remove("data");
    }
}

/// Names the first place where two differ.
fn differ(wanted: &Json, found: &Json, at: &str) -> Result<(), String> {
    let but = || Err(format!("{at}: kustomize has {wanted}, the model {found}"));
    match (wanted, found) {
        (Json::Object(a), Json::Object(b)) => {
            for (key, a) in a {
                let Some(b) = b.get(key) else { return Err(format!("{at}.{key}: is not in the model")) };
                differ(a, b, &format!("{at}.{key}"))?;
            }
            let more = b.keys().find(|key| !a.contains_key(*key));
            more.map_or(Ok(()), |key| Err(format!("{at}.{key}: is in the model alone: {}", b[key])))
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().try_for_each(|(n, (a, b))| differ(a, b, &format!("{at}[{n}]")))
        }
        (Json::Number(a), Json::Number(b)) if a.as_f64() == b.as_f64() => Ok(()),
        _ if wanted == found => Ok(()),
        _ => but(),
    }
}

fn identity(object: &Json) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
    format!(
        "{} {} {}/{}",
        text("/apiVersion"),
        text("/kind"),
        text("/metadata/namespace"),
        text("/metadata/name")
    )
}

/// What a value is in JSON.
pub fn json(value: &Value) -> Json {
    match value {
        Value::Map(_) => {
            Json::Object(value.entries().map(|(key, value)| (key.to_owned(), json(value))).collect())
        }
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
        Value::Scalar(scalar) => match typed(scalar) {
            Typed::Null => Json::Null,
            Typed::Bool(bool) => Json::Bool(bool),
            Typed::Int(int) => int.into(),
            Typed::Float(float) => serde_json::Number::from_f64(float).map_or(Json::Null, Json::Number),
            Typed::Text(text) => Json::String(text),
        },
    }
}
