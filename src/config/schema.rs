//! The JSON Schema of the configuration, for editors; made from the table of keys.

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::keys::{self, Key, Shape, Text};

/// Where the schema is published.
const ID: &str = "https://raw.githubusercontent.com/uplinker/uplinker/main/schema/uplinker.schema.json";

/// Returns the schema as text that ends with a line break.
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(&schema()).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the schema.
pub fn schema() -> Schema {
    let mut root = section("");
    root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("$id".to_owned(), json!(ID));
    root.insert("title".to_owned(), json!("uplinker.yaml"));
    root.insert("description".to_owned(), json!("Configuration of uplinker for one repository."));
    Schema::from(root)
}

fn section(path: &str) -> Map<String, Value> {
    let ready = || keys::children(path);
    let properties: Map<String, Value> = ready().map(|k| (k.name().to_owned(), property(k))).collect();
    let required: Vec<&str> = ready().filter(|k| k.default == "required").map(Key::name).collect();
    let mut map = Map::new();
    map.insert("type".to_owned(), json!("object"));
    map.insert("additionalProperties".to_owned(), json!(false));
    map.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        map.insert("required".to_owned(), json!(required));
    }
    map
}

fn property(key: &Key) -> Value {
    let mut map = match key.shape {
        Shape::Section => section(key.path),
        Shape::Like(other) => section(other),
        Shape::Sections => list(Value::Object(section(&format!("{}[]", key.path)))),
        Shape::OneOrMore => {
            let one = Value::Object(section(key.path));
            object(json!({"oneOf": [one, list(one.clone())]}))
        }
        Shape::SectionsOr(word) => {
            let sections = list(Value::Object(section(&format!("{}[]", key.path))));
            object(json!({"oneOf": [{"const": word}, sections]}))
        }
        Shape::Format => object(json!({"const": 1})),
        Shape::Bool => object(json!({"type": "boolean"})),
        Shape::Word(words) => object(json!({"enum": words})),
        Shape::Text(text) => object(scalar(text)),
        Shape::Texts(text) => list(scalar(text)),
    };
    map.insert("description".to_owned(), json!(key.meaning));
    if !matches!(key.default, "" | "required") {
        map.insert("$comment".to_owned(), json!(format!("Default: {}.", key.default)));
    }
    Value::Object(map)
}

fn list(items: Value) -> Map<String, Value> {
    object(json!({"type": "array", "items": items}))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn scalar(text: Text) -> Value {
    let pattern = match text {
        Text::Duration => "^[0-9]+[mhdw]$",
        Text::Edge => "^edge-[0-9]{2}\\.([1-9]|1[0-2])\\.[0-9]+$",
        Text::Range => {
            "^(edge-[0-9]{2}(\\.([1-9]|1[0-2]))?\\.x|[<>]=?edge-[0-9.]+(\\s+[<>]=?edge-[0-9.]+)?)$"
        }
        Text::Name => "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        Text::Namespace => "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
        Text::Label => "^[^=\\s]+=[^=\\s]*$",
        Text::Author => "^[^<>]+<[^<>@]+@[^<>]+>$",
        Text::Kubernetes => return json!({"type": ["string", "number"]}),
        _ => return json!({"type": "string", "minLength": 1}),
    };
    json!({"type": "string", "pattern": pattern})
}
