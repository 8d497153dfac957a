//! Step 7, render: the values that the ConfigMap `linkerd-config` holds as text.
//!
//! In: a rendering and what is committed. Out: the committed text where it says the same as the chart's in other words, and
//! that text with a new version's changes in it. Below an umbrella chart Helm prints `global: {}` and defaults of `null`;
//! the Linkerd CLI prints every field that its program knows. Kubernetes sees text, Linkerd sees values: nobody changed
//! anything.

use serde_json::{Map, Value};

use super::{
    field::{Field, differing, same},
    graft::graft,
    placed::Placed,
    retain::{Put, put},
};
use crate::{
    edit::spliced,
    render::{Manifest, Object, ObjectKey, value},
    yaml::Stream,
};

/// Values that are committed in other words than the chart's.
pub(super) struct Embedded {
    object: ObjectKey,
    field: Field,
    committed: String,
    rendered: Value,
}

/// Finds the values in a rendering.
fn of(manifest: &Manifest) -> Option<(&Object, &str)> {
    let config = |o: &&Object| o.key.kind == "ConfigMap" && o.key.name == "linkerd-config";
    let object = manifest.objects.iter().find(config)?;
    Some((object, object.text(&["data", "values"])?))
}

/// Reads values as Linkerd does: a null is nothing, and so is a `global` without anything in it.
fn read(text: &str) -> Option<Value> {
    let mut all = value::read(text).ok()?;
    if all.get("global").and_then(Value::as_object).is_some_and(Map::is_empty) {
        all.as_object_mut()?.shift_remove("global");
    }
    Some(all)
}

/// Lists the values in which the committed ones differ from the chart's; `None` where one of them is no values.
pub(super) fn changed(committed: &str, rendered: &str) -> Option<Vec<Field>> {
    Some(differing(&read(committed)?, &read(rendered)?))
}

// === impl Embedded ===

impl Embedded {
    /// Finds the committed values where they mean what the chart's do and are written otherwise.
    pub(super) fn find(rendered: &Manifest, placed: &Placed) -> Option<Self> {
        let (object, text) = of(rendered)?;
        let committed = placed.get(&object.key)?.1.text(&["data", "values"])?;
        let meant = committed != text && same(&read(committed)?, &read(text)?);
        meant.then_some(())?;
        let field = Field::default().key("data").key("values");
        Some(Self {
            object: object.key.clone(),
            field,
            committed: committed.to_owned(),
            rendered: value::read(text).ok()?,
        })
    }

    /// Puts the committed words into a rendering of the same version.
    pub(super) fn kept(&self, old: &Manifest) -> Option<Manifest> {
        self.written(old, &self.committed)
    }

    /// Puts the committed words into a rendering of another version, with what that version changes.
    pub(super) fn moved(&self, new: &Manifest) -> Option<Manifest> {
        let (_, text) = of(new)?;
        let mut wanted = value::read(text).ok()?;
        let stream = Stream::parse(self.committed.as_str()).ok()?;
        let root = stream.roots().next()?;
        keep(&mut wanted, &value::read(&self.committed).ok()?, &self.rendered);
        let after = spliced(&self.committed, &graft(&self.committed, root, &wanted)?)?;
        same(&value::read(&after).ok()?, &wanted).then(|| self.written(new, &after))?
    }

    fn written(&self, manifest: &Manifest, text: &str) -> Option<Manifest> {
        let value = Value::String(text.to_owned());
        put(manifest, &[Put { object: &self.object, field: &self.field, value: &value }])
    }
}

/// Keeps what is committed and never was the chart's.
fn keep(wanted: &mut Value, committed: &Value, rendered: &Value) {
    let (Some(wanted), Some(committed)) = (wanted.as_object_mut(), committed.as_object()) else { return };
    for (key, value) in committed {
        let given = rendered.get(key);
        match wanted.get_mut(key) {
            Some(below) => keep(below, value, given.unwrap_or(&Value::Null)),
            None if given.is_none() => drop(wanted.insert(key.clone(), value.clone())),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "a: 1\nlinkerdVersion: edge-26.6.3\nproxy:\n  image: x\n";

    fn config(values: &str) -> Manifest {
        let lines = values.lines().map(|line| format!("    {line}\n")).collect::<String>();
        let head = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: linkerd-config}\ndata:\n  values: |\n";
        Manifest::parse(format!("{head}{lines}")).unwrap()
    }

    #[test]
    fn other_words_for_the_same_values_stay_and_take_what_a_release_changes() {
        let committed = "a: 1\nglobal: {}\nlinkerdVersion: edge-26.6.3\nproxy:\n  cores: null\n  image: x\n";
        let embedded = Embedded {
            object: config(OLD).objects[0].key.clone(),
            field: Field::default().key("data").key("values"),
            committed: committed.to_owned(),
            rendered: value::read(OLD).unwrap(),
        };
        assert_eq!(changed(committed, OLD).unwrap(), []);
        assert_eq!(embedded.kept(&config(OLD)).unwrap().text, config(committed).text);
        let new = "a: 1\nlinkerdVersion: edge-26.8.3\nproxy:\n  image: x\n  more: true\n";
        let wanted = "a: 1\nglobal: {}\nlinkerdVersion: edge-26.8.3\nproxy:\n  cores: null\n  image: x\n  more: true\n";
        assert_eq!(embedded.moved(&config(new)).unwrap().text, config(wanted).text);
    }

    #[test]
    fn another_value_is_a_difference_by_its_name() {
        let found = changed("a: 2\nproxy: {image: x}\nlinkerdVersion: edge-26.6.3\n", OLD).unwrap();
        assert_eq!(found.iter().map(Field::to_string).collect::<Vec<_>>(), ["a"]);
        assert!(changed("a: [", OLD).is_none());
    }
}
