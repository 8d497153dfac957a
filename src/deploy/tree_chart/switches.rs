//! Switches in values: whether what a chart leaves out would read a version, once it is switched on.
//!
//! In: the values that a chart is rendered with, and which texts nothing reads. Out: the same values with the switches around
//! those turned on.

use crate::deploy::{
    chart::merged,
    value::{Scalar, Value},
};

/// Keys that a part of a chart is switched on by.
const SWITCHES: [&str; 6] = ["enabled", "enable", "create", "install", "deploy", "deployed"];
/// Mappings in mappings that are walked.
const DEPTH: usize = 64;

/// Returns `values` with what `whole`, the chart's own among them, switches off around texts that are not read.
pub(super) fn on(values: &Value, whole: &Value, is_unread: &dyn Fn(&Scalar) -> bool) -> Option<Value> {
    let over = turned(whole, is_unread, DEPTH).filter(|over| over.entries().next().is_some())?;
    Some(merged(values, &over))
}

/// Returns what is to be laid over a value; `None` where all in it is read.
fn turned(value: &Value, is_unread: &dyn Fn(&Scalar) -> bool, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Scalar(text) => is_unread(text).then(Value::empty),
        Value::List(items) => {
            items.iter().any(|item| turned(item, is_unread, depth).is_some()).then(Value::empty)
        }
        Value::Map(_) => {
            let mut over = Value::empty();
            let mut is_any = false;
            for (key, below) in value.entries() {
                let Some(below) = turned(below, is_unread, depth) else { continue };
                is_any = true;
                if below.entries().next().is_some() {
                    over.insert(key, below);
                }
            }
            let is_off =
                |key: &&str| value.scalar(&[key]).is_some_and(|text| text.plain && text.text() == "false");
            for key in SWITCHES.into_iter().filter(is_off).filter(|_| is_any) {
                over.insert(key, Value::Scalar(Scalar::made("true").as_plain()));
            }
            is_any.then_some(over)
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
            "a: {enabled: false, b: {create: false, v: x}}\nc: {enabled: false, v: y}\nd: {enabled: 'false', v: x}\nl: [x]\n",
        );
        let on = |text: &str| on(&yaml("z: 1\n"), &whole, &|own| own.text() == text);
        let all = on("x").unwrap();
        let flag = |keys: &[&str]| all.text(keys).map(|text| text.into_owned());
        assert_eq!(flag(&["a", "enabled"]).as_deref(), Some("true"));
        assert_eq!(flag(&["a", "b", "create"]).as_deref(), Some("true"));
        assert_eq!((flag(&["c", "enabled"]), flag(&["d", "enabled"])), (None, None));
        assert_eq!(flag(&["z"]).as_deref(), Some("1"));
        assert_eq!(on("none"), None);
    }
}
