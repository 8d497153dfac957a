//! What conditions that the tree does not decide leave open.
//!
//! In: what came of one template, once for each outcome. Out: the same, where a version that one outcome leaves out and
//! another one names is not known: a chart without a version would be the newest one.

use crate::deploy::value::{Scalar, Value, list_with};

/// Who knows such a version.
const WHO: &str = "a condition that the repository does not decide";
/// Keys that deployers have the version of a chart under.
const VERSIONS: [&str; 4] = ["targetRevision", "version", "tag", "semver"];

/// Marks in each of several values the versions that are left out there and named in another one.
pub fn undecided(outcomes: &mut [Value]) {
    let all = outcomes.to_vec();
    for own in outcomes.iter_mut().filter(|_| all.len() > 1) {
        if let Some(marked) = marked(own, &all.iter().collect::<Vec<_>>()) {
            *own = marked;
        }
    }
}

fn marked(own: &Value, others: &[&Value]) -> Option<Value> {
    match own {
        Value::Scalar(_) => None,
        Value::Map(map) => {
            let mut new: Option<Value> = None;
            for (key, value) in map.iter() {
                let below: Vec<&Value> = others.iter().filter_map(|other| other.entry(key)).collect();
                let value =
                    if VERSIONS.contains(&&**key) { version(value, &below) } else { marked(value, &below) };
                if let Some(value) = value {
                    new.get_or_insert_with(|| own.clone()).insert(key, value);
                }
            }
            for key in VERSIONS.into_iter().filter(|key| own.entry(key).is_none()) {
                let below: Vec<&Value> = others.iter().filter_map(|other| other.entry(key)).collect();
                if let Some(value) = version(&Value::made(""), &below) {
                    new.get_or_insert_with(|| own.clone()).insert(key, value);
                }
            }
            new
        }
        Value::List(items) => list_with(items, |at, item| {
            let below: Vec<&Value> = others.iter().filter_map(|other| other.items().get(at)).collect();
            marked(item, &below)
        }),
    }
}

fn version(own: &Value, others: &[&Value]) -> Option<Value> {
    let is_empty = |text: &Scalar| text.is_null() || text.text().trim().is_empty();
    own.as_scalar().filter(|text| is_empty(text))?;
    let named: Vec<&Scalar> =
        others.iter().filter_map(|other| other.as_scalar()).filter(|text| !is_empty(text)).collect();
    (!named.is_empty()).then(|| Value::Scalar(Scalar::unknown_of(WHO, named)))
}
