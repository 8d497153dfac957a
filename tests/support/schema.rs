//! JSON that the program prints, against the schema that it prints of it.
//!
//! Knows the keywords that those schemas have, and fails on any other: what it does not understand it does not pass.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use uplinker::{
    linkerd::EdgeVersion,
    report::{self, Document},
};

/// All documents with a schema, by their names.
pub const DOCUMENTS: [(&str, Document); 11] = [
    ("uplinker.pins/v1", Document::Pins),
    ("uplinker.plan/v1", Document::Plan),
    ("uplinker.run/v1", Document::Run),
    ("uplinker.verify/v1", Document::Verify),
    ("uplinker.releases/v1", Document::Releases),
    ("uplinker.status/v1", Document::Status),
    ("uplinker.doctor/v1", Document::Doctor),
    ("uplinker.repositories/v1", Document::Repositories),
    ("uplinker.service/v1", Document::Service),
    ("uplinker.service-repository/v1", Document::ServiceRepository),
    ("uplinker.service-events/v1", Document::ServiceEvents),
];

/// Returns what a schema has against a document; the document names its schema itself.
pub fn refusal(document: &Value) -> Option<String> {
    let name = document["schema"].as_str().unwrap_or_default();
    static SCHEMAS: LazyLock<Vec<(&str, Value)>> = LazyLock::new(|| {
        let read = |of| serde_json::from_str(&report::schema(of)).expect("a schema is JSON");
        DOCUMENTS.map(|(name, of)| (name, read(of))).into()
    });
    let Some((_, root)) = SCHEMAS.iter().find(|(known, _)| *known == name) else {
        return Some(format!("no schema is named `{name}`"));
    };
    check(root, root, document, name).err()
}

type Checked = Result<(), String>;

fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Checked {
    let schema = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(map) => map,
        _ => return Err(format!("{at}: nothing may be here")),
    };
    for (keyword, rule) in schema {
        let fine = |fine: bool| {
            if fine { Ok(()) } else { Err(format!("{at}: {value:.200} is not {keyword} {rule}")) }
        };
        let list = || rule.as_array().expect("a list");
        let passes = |rule: &&Value| check(root, rule, value, at).is_ok();
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" => {}
            // A number's form in Rust; its range has a keyword of its own.
            "format" => fine(rule.as_str().is_some_and(|form| form.contains("int")))?,
            "$ref" => {
                let place =
                    rule.as_str().and_then(|r| r.strip_prefix('#')).expect("a place in the same schema");
                check(root, root.pointer(place).expect("it is there"), value, at)?;
            }
            "type" => match rule {
                Value::Array(kinds) => fine(kinds.iter().any(|kind| is(value, kind)))?,
                kind => fine(is(value, kind))?,
            },
            "const" => fine(value == rule)?,
            "enum" => fine(list().contains(value))?,
            "anyOf" => {
                let tried: Vec<Checked> = list().iter().map(|rule| check(root, rule, value, at)).collect();
                if !tried.iter().any(Result::is_ok) {
                    // What went furthest says most.
                    let place = |error: &String| error.split(": ").next().map_or(0, str::len);
                    tried.into_iter().max_by_key(|t| t.as_ref().err().map_or(0, place)).unwrap_or(Ok(()))?;
                }
            }
            "oneOf" => fine(list().iter().filter(passes).count() == 1)?,
            "pattern" => fine(value.as_str().is_none_or(|text| matches(text, rule)))?,
            "minimum" => fine(value.as_f64().is_none_or(|n| Some(n) >= rule.as_f64()))?,
            "minItems" => {
                fine(value.as_array().is_none_or(|l| l.len() as u64 >= rule.as_u64().expect("a number")))?
            }
            "maxItems" => {
                fine(value.as_array().is_none_or(|l| l.len() as u64 <= rule.as_u64().expect("a number")))?
            }
            "required" => {
                let has = |name: &Value| value.get(name.as_str().expect("a name")).is_some();
                fine(!value.is_object() || list().iter().all(has))?;
            }
            "properties" => named(root, rule.as_object().expect("rules"), value, at)?,
            "additionalProperties" => others(root, schema, value, at)?,
            "items" => items(root, rule, value, schema.get("prefixItems"), at)?,
            "prefixItems" => {
                for (n, (rule, item)) in list().iter().zip(value.as_array().into_iter().flatten()).enumerate()
                {
                    check(root, rule, item, &format!("{at}/{n}"))?;
                }
            }
            other => panic!("a schema has the keyword `{other}`, of which this knows nothing"),
        }
    }
    Ok(())
}

fn named(root: &Value, rules: &Map<String, Value>, value: &Value, at: &str) -> Checked {
    let known = rules.iter().filter_map(|(name, rule)| Some((name, rule, value.get(name)?)));
    known.into_iter().try_for_each(|(name, rule, field)| check(root, rule, field, &format!("{at}/{name}")))
}

fn others(root: &Value, schema: &Map<String, Value>, value: &Value, at: &str) -> Checked {
    let known = |name: &String| schema.get("properties").is_some_and(|rules| rules.get(name).is_some());
    let others = value.as_object().into_iter().flatten().filter(|(name, _)| !known(name));
    let rule = &schema["additionalProperties"];
    others.into_iter().try_for_each(|(name, field)| check(root, rule, field, &format!("{at}/{name}")))
}

fn items(root: &Value, rule: &Value, value: &Value, before: Option<&Value>, at: &str) -> Checked {
    let first = before.and_then(Value::as_array).map_or(0, Vec::len);
    let mut items = value.as_array().into_iter().flatten().enumerate().skip(first);
    items.try_for_each(|(n, item)| check(root, rule, item, &format!("{at}/{n}")))
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str().expect("a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("a schema has the type `{other}`"),
    }
}

/// The patterns of these schemas, each by the rule that it spells.
fn matches(text: &str, pattern: &Value) -> bool {
    match pattern.as_str().expect("a pattern") {
        "^[0-9a-f]{40}$" => text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
        r"^edge-[0-9]{2}\.([1-9]|1[0-2])\.[0-9]+$" => text.parse::<EdgeVersion>().is_ok(),
        other => panic!("a schema has the pattern `{other}`"),
    }
}
