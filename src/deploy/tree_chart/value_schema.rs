//! Which values a chart takes: its `values.schema.json`, as far as that asks something of releases.
//!
//! In: the schemas of a chart and of those inside of it, and the values that these are given. Out: the releases that one of
//! them refuses, for sure or unless values that the tree does not have lie over them, or switch that chart off. What asks
//! nothing of a single text (`required`, `not`, `if`) refuses none, and neither does what lies elsewhere (`$ref`). Source:
//! helm's `pkg/chart/common/util/jsonschema.go` (`ValidateAgainstSchema`).

use regex::Regex;

use super::{
    is_release,
    package::{Inner, Package},
    switches,
};
use crate::deploy::{
    expression::expression,
    files::Files,
    json_patch::pointed,
    note::{About, Bound, Note},
    umbrella::is_on,
    value::{Scalar, Value},
};

/// Parts of the schemas of one chart, and of values before them, that are looked at.
const STEPS: usize = 200_000;
/// Parts that a pattern counts for.
const PATTERN: usize = 2_000;
/// Schemas in schemas.
const DEPTH: usize = 64;
/// Releases of one chart that are told.
const TOLD: usize = 20;

/// Where a release stands among values, and its text.
type Refused = (String, String);

/// Notes the releases among the values of a chart that its schemas refuse. Where values are laid over it from outside,
/// `over_it` is what lies over these.
pub(super) fn refused(
    package: &Package,
    (values, over_it): (&Value, Option<&Value>),
    files: &dyn Files,
) -> Vec<Note> {
    if package.schemas.is_empty() {
        return Vec::new();
    }
    let whole = switches::whole(package, values, files);
    let certain = over_it.unwrap_or(&whole);
    let is_decided = |dependency: &Value, values: &Value| is_decided(dependency, values, over_it.is_some());
    let (mut notes, mut left) = (Vec::new(), STEPS);
    for schema in &package.schemas {
        let mut reader = Reader { whole: &schema.of, left };
        let mut refused = |(at, own): (String, &Value)| reader.refused(&schema.of, own, &at, DEPTH);
        let all = given(package, &whole, &schema.place, &is_on).map(&mut refused).unwrap_or_default();
        let sure = given(package, certain, &schema.place, &is_decided).filter(|_| !all.is_empty());
        let sure = sure.map(&mut refused).unwrap_or_default();
        left = reader.left;
        for one in all.into_iter().take(TOLD) {
            let is_sure = sure.contains(&one);
            let (at, text) = one;
            let what = format!("{}, value {}", package.name, at.trim_start_matches('.'));
            let why = format!("{} takes no `{text}` there", schema.path);
            let about = if is_sure { About::Unmet { what, why } } else { About::Doubted { what, why } };
            let note = Note::new(&schema.path, about);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes.extend((left == 0).then(|| Note::new(&package.path, About::Bound(Bound::Steps(STEPS)))));
    notes
}

/// Returns the values of the chart at a place of the package, with where they stand; `None` where `is_taken` says of a
/// dependency and the values around it that it, or one that it is in, is not taken.
fn given<'v>(
    package: &Package,
    whole: &'v Value,
    place: &str,
    is_taken: &dyn Fn(&Value, &Value) -> bool,
) -> Option<(String, &'v Value)> {
    let is_around = |inner: &&Inner| place == inner.place || place.starts_with(&format!("{}/", inner.place));
    let mut around: Vec<&Inner> = package.inner.iter().filter(is_around).collect();
    around.sort_by_key(|inner| inner.place.len());
    around.into_iter().try_fold((String::new(), whole), |(at, values), inner| {
        let own = values.get(&inner.key).filter(|_| is_taken(&inner.dependency, values))?;
        Some((format!("{at}.{}", inner.key), own))
    })
}

/// Tells whether the tree knows all that switches a dependency on or off; where values are `open`, others may lie under them.
fn is_decided(dependency: &Value, values: &Value, open: bool) -> bool {
    let conditions = dependency.text(&["condition"]).unwrap_or_default();
    let conditions = conditions.split(',').map(str::trim).filter(|path| !path.is_empty()).map(str::to_owned);
    let tags = dependency.list_at("tags").iter().filter_map(Value::as_scalar);
    let mut switches = conditions.chain(tags.map(|tag| format!("tags.{}", tag.text())));
    switches.all(|path| {
        let led = path.split('.').try_fold(values, |at, key| match at {
            Value::Scalar(_) => Some(at),
            _ => at.get(key),
        });
        led.and_then(Value::as_scalar).map_or(!open, |text| text.unknown_to().is_none())
    })
}

/// Reads one schema.
struct Reader<'s> {
    whole: &'s Value,
    /// Steps that are left.
    left: usize,
}

// === impl Reader ===

impl<'s> Reader<'s> {
    /// Lists the releases in a value that a part of the schema refuses.
    fn refused(&mut self, schema: &'s Value, value: &Value, at: &str, depth: usize) -> Vec<Refused> {
        let steps = 1 + value.entries().count() + value.items().len();
        let (Some(depth), Some(())) = (depth.checked_sub(1), self.spend(steps)) else { return Vec::new() };
        let whole = self.whole;
        // In old schemas nothing counts beside it.
        if let Some(to) = schema.text(&["$ref"]) {
            let led = to.strip_prefix('#').and_then(|to| pointed(whole, to));
            return led.map(|led| self.refused(led, value, at, depth)).unwrap_or_default();
        }
        let mut found = Vec::new();
        for part in schema.list_at("allOf") {
            found.extend(self.refused(part, value, at, depth));
        }
        for key in ["anyOf", "oneOf"] {
            let parts = schema.list_at(key).iter();
            let each: Vec<Vec<Refused>> = parts.map(|part| self.refused(part, value, at, depth)).collect();
            if each.iter().all(|refused| !refused.is_empty()) {
                found.extend(each.into_iter().next().unwrap_or_default());
            }
        }
        match value {
            Value::Scalar(text) if self.refuses(schema, text) => {
                found.push((at.to_owned(), text.text().into_owned()));
            }
            Value::Scalar(_) => {}
            Value::Map(_) => found.extend(self.refused_below(schema, value, at, depth)),
            Value::List(items) => {
                for (n, item) in items.iter().enumerate() {
                    if let Some(part) = of_item(schema, n) {
                        found.extend(self.refused(part, item, &format!("{at}[{n}]"), depth));
                    }
                }
            }
        }
        found
    }

    /// Lists the releases under the keys of a mapping that are refused there.
    fn refused_below(&mut self, schema: &'s Value, value: &Value, at: &str, depth: usize) -> Vec<Refused> {
        let patterns = schema.get("patternProperties").into_iter().flat_map(Value::entries);
        let patterns: Vec<(Option<Regex>, &'s Value)> =
            patterns.map(|(pattern, part)| (self.pattern(pattern), part)).collect();
        let is_known = patterns.iter().all(|(pattern, _)| pattern.is_some());
        let mut found = Vec::new();
        for (key, below) in value.entries() {
            let fits = |own: &Regex| own.is_match(key);
            let fitting = patterns.iter().filter(|(pattern, _)| pattern.as_ref().is_some_and(fits));
            let mut parts: Vec<&'s Value> = schema.path(&["properties", key]).into_iter().collect();
            parts.extend(fitting.map(|(_, part)| *part));
            if parts.is_empty() && is_known {
                parts.extend(schema.get("additionalProperties"));
            }
            for part in parts {
                found.extend(self.refused(part, below, &format!("{at}.{key}"), depth));
            }
        }
        found
    }

    /// Tells whether a part of the schema takes no such text, of one that names a release.
    fn refuses(&mut self, schema: &Value, text: &Scalar) -> bool {
        let Some(text) = text.known().filter(|text| is_release(text)) else { return false };
        let is_other = |own: &Value| own.as_scalar().is_none_or(|own| own.text() != text);
        let listed = schema.list_at("enum");
        let length = text.chars().count();
        let limit = |key: &str| schema.text(&[key]).and_then(|limit| limit.parse::<usize>().ok());
        let pattern = schema.text(&["pattern"]).and_then(|pattern| self.pattern(&pattern));
        !listed.is_empty() && listed.iter().all(is_other)
            || schema.get("const").is_some_and(is_other)
            || limit("minLength").is_some_and(|least| length < least)
            || limit("maxLength").is_some_and(|most| length > most)
            || pattern.is_some_and(|pattern| !pattern.is_match(&text))
    }

    /// Compiles a pattern; `None` for one that is not known here, or that there are no steps left for.
    fn pattern(&mut self, text: &str) -> Option<Regex> {
        self.spend(PATTERN)?;
        expression(text)
    }

    /// Spends steps; `None` where there are not so many left.
    fn spend(&mut self, steps: usize) -> Option<()> {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or_default();
        left.map(|_| ())
    }
}

/// Returns what a schema says of an item of a list.
fn of_item(schema: &Value, n: usize) -> Option<&Value> {
    let first = schema.list_at("prefixItems");
    match schema.get("items") {
        _ if n < first.len() => first.get(n),
        Some(Value::List(items)) => items.get(n),
        of_all => of_all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deploy::read, yaml::Ceilings};

    /// Says what a schema refuses of values.
    fn refused(schema: &str, values: &str) -> String {
        let [schema, values] =
            [schema, values].map(|text| read::mapping(&Scalar::made(text), &Ceilings::default()).unwrap());
        let found = Reader { whole: &schema, left: STEPS }.refused(&schema, &values, "", DEPTH);
        found.into_iter().map(|(at, text)| format!("{at}={text}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_asked_of_a_release_is_found_wherever_the_schema_says_it() {
        let values = "{a: {v: edge-26.8.2, w: text}, l: [2026.8.2, {v: 2026.8.3}]}";
        let of_v = |asked: &str| format!("{{properties: {{a: {{properties: {{v: {asked}}}}}}}}}");
        for asked in [
            "{enum: [edge-26.8.1, edge-26.8.3]}",
            "{const: edge-26.8.1}",
            "{pattern: '^edge-26[.]7'}",
            "{maxLength: 10}",
            "{minLength: 12}",
            "{allOf: [{type: string}, {const: a}]}",
            "{anyOf: [{const: a}, {enum: [b]}]}",
        ] {
            assert_eq!(refused(&of_v(asked), values), ".a.v=edge-26.8.2", "{asked}");
        }
        for asked in [
            "{enum: [edge-26.8.1, edge-26.8.2]}",
            "{const: edge-26.8.2}",
            "{pattern: '26[.]8'}",
            "{pattern: '(?!edge)'}",
            "{minLength: 11, maxLength: 11}",
            "{oneOf: [{const: a}, {type: string}]}",
            "{not: {const: edge-26.8.2}}",
            "{$ref: 'https://example.com/a.json', const: a}",
            "false",
        ] {
            assert_eq!(refused(&of_v(asked), values), "", "{asked}");
        }
        assert_eq!(refused("{properties: {a: {properties: {w: {const: a}}}}}", values), "", "no release");
        let others = "{properties: {a: {patternProperties: {'^w': {}}, additionalProperties: {const: a}}}}";
        assert_eq!(refused(others, values), ".a.v=edge-26.8.2");
        let named = "{properties: {a: {patternProperties: {'^v$': {const: a}}}}}";
        assert_eq!(refused(named, values), ".a.v=edge-26.8.2");
        let listed = "{properties: {l: {items: {const: a, properties: {v: {const: a}}}}}}";
        assert_eq!(refused(listed, values), ".l[0]=2026.8.2 .l[1].v=2026.8.3");
        let first = "{properties: {l: {prefixItems: [{const: a}]}}}";
        assert_eq!(refused(first, values), ".l[0]=2026.8.2");
        let led = "{$defs: {v: {const: a}}, properties: {a: {properties: {v: {$ref: '#/$defs/v'}}}}}";
        assert_eq!(refused(led, values), ".a.v=edge-26.8.2");
    }

    #[test]
    fn hostile_schemas_end() {
        let values = "{a: {a: {a: edge-26.8.2}}}";
        assert_eq!(refused("{allOf: [{$ref: '#'}, {$ref: '#'}]}", values), "");
        assert_eq!(refused("{additionalProperties: {$ref: '#'}, $ref: '#'}", values), "");
    }
}
