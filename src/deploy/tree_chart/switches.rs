//! Switches in values: whether what a chart leaves out would read a version, once it is switched on.
//!
//! In: the values that a chart is rendered with, and which texts nothing reads. Out: the same values with the switches around
//! those turned on.

use super::package::{Package, own_values};
use crate::deploy::{
    chart::{coalesced, merged},
    files::Files,
    value::{Scalar, Value},
};

/// Keys that a part of a chart is switched on by.
const SWITCHES: [&str; 6] = ["enabled", "enable", "create", "install", "deploy", "deployed"];
/// Mappings in mappings that are walked.
const DEPTH: usize = 64;

/// Returns `values` with what `whole`, the charts' own among them, switches off around texts that are not read.
pub(super) fn on(values: &Value, whole: &Value, is_unread: &dyn Fn(&Scalar) -> bool) -> Option<Value> {
    turned(whole, is_unread, DEPTH)?.over.map(|over| merged(values, &over))
}

/// Lays values over what a chart and those in it have of their own, each under its key.
pub(super) fn whole(package: &Package, values: &Value, files: &dyn Files) -> Value {
    let own = |place: &str, given: &Value| coalesced(&own_values(package, files, place), given, &|_| false);
    let mut whole = own("", values);
    // Outer ones come before those in them.
    let mut inner: Vec<_> = package.inner.iter().collect();
    inner.sort_by_key(|inner| inner.place.len());
    for chart in &inner {
        let around = inner.iter().filter(|outer| chart.place.starts_with(&format!("{}/", outer.place)));
        let mut at = &mut whole;
        for key in around.map(|outer| &outer.key).chain([&chart.key]) {
            at = at.make_map().entry(key.as_str().into()).or_insert_with(Value::empty);
        }
        *at = own(&chart.place, at);
    }
    whole
}

/// What is not read in a value.
struct Unread {
    /// What is to be laid over the value.
    over: Option<Value>,
}

/// Says what is to be laid over a value; `None` where all in it is read.
fn turned(value: &Value, is_unread: &dyn Fn(&Scalar) -> bool, depth: usize) -> Option<Unread> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Scalar(text) => is_unread(text).then_some(Unread { over: None }),
        Value::List(items) => {
            let each: Vec<_> = items.iter().map(|item| turned(item, is_unread, depth)).collect();
            let is_any = each.iter().any(Option::is_some);
            let is_turned = each.iter().flatten().any(|item| item.over.is_some());
            // One list takes the place of another.
            let item = |(item, unread): (&Value, Option<Unread>)| match unread.and_then(|unread| unread.over)
            {
                Some(over @ Value::Map(_)) => merged(item, &over),
                Some(over) => over,
                None => item.clone(),
            };
            let over = is_turned.then(|| Value::list(items.iter().zip(each).map(item).collect()));
            is_any.then_some(Unread { over })
        }
        Value::Map(_) => {
            let mut over = Value::empty();
            let mut is_any = false;
            for (key, below) in value.entries() {
                let Some(below) = turned(below, is_unread, depth) else { continue };
                is_any = true;
                below.over.into_iter().for_each(|below| over.insert(key, below));
            }
            let is_off =
                |key: &&str| value.scalar(&[key]).is_some_and(|text| text.plain && text.text() == "false");
            for key in SWITCHES.into_iter().filter(is_off).filter(|_| is_any) {
                over.insert(key, Value::Scalar(Scalar::made("true").as_plain()));
            }
            let over = Some(over).filter(|over| over.entries().next().is_some());
            is_any.then_some(Unread { over })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deploy::read, yaml::Ceilings};

    #[test]
    fn switches_around_what_is_not_read_are_turned_on() {
        let yaml = |text: &str| read::mapping(&Scalar::made(text), &Ceilings::default()).unwrap();
        let whole = yaml(
            "a: {enabled: false, b: {create: false, v: x}}\nc: {enabled: false, v: y}\nd: {enabled: 'false', v: x}\nl: [x, {enabled: false, v: x}]\n",
        );
        let on = |text: &str| on(&yaml("z: 1\n"), &whole, &|own| own.text() == text);
        let all = on("x").unwrap();
        let flag = |keys: &[&str]| all.text(keys).map(|text| text.into_owned());
        assert_eq!(flag(&["a", "enabled"]).as_deref(), Some("true"));
        assert_eq!(flag(&["a", "b", "create"]).as_deref(), Some("true"));
        assert_eq!((flag(&["c", "enabled"]), flag(&["d", "enabled"])), (None, None));
        let listed: Vec<_> = all.list_at("l").iter().map(|item| item.text(&["enabled"])).collect();
        assert_eq!(listed, [None, Some("true".into())]);
        assert_eq!(flag(&["z"]).as_deref(), Some("1"));
        assert_eq!(on("none"), None);
    }
}
