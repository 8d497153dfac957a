//! Step 7, render: what Helm is given for one use of a chart.
//!
//! In: a use, and the chart. Out: layers of values and single settings as Helm takes them, the user's values merged, and
//! which of them are stand-ins. A value from outside the tree gets the same text in every rendering.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Chart, value};
use crate::{
    helm::{Layer, Setting, SettingKind, key_material::has_private_key},
    linkerd::REQUIRED,
    pins::{ChartUse, Parameter, ValuesPart},
};

/// What stands for a value from outside the tree: a text that fits as a name too.
pub(super) const STAND_IN: &str = "uplinker-stand-in";

/// The same in a report.
const UNNAMED: &str = "any value";

/// What Helm is given.
#[derive(Clone, Debug, Default)]
pub(super) struct Inputs {
    /// `--values`.
    pub layers: Vec<Layer>,
    /// `--set` and its like.
    pub settings: Vec<Setting>,
    /// The user's values, merged.
    pub values: Value,
    /// What got a stand-in, for people.
    pub stand_ins: Vec<String>,
    /// What else is to be known.
    pub notes: Vec<String>,
}

/// Why a use cannot be rendered, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub reason: String,
    pub hint: String,
    /// Whether Helm itself refused, rather than something around it.
    pub by_helm: bool,
}

// === impl Inputs ===

impl Inputs {
    /// Collects what a use gives to a chart.
    pub fn of(found: &ChartUse, chart: &Chart) -> Result<Self, Fault> {
        let defaults = value::read(chart.defaults()).unwrap_or_default();
        let mut inputs = Self { values: Value::Object(Map::new()), ..Self::default() };
        for part in &found.values {
            inputs.part(part, chart, &defaults)?;
        }
        for parameter in &found.parameters {
            inputs.parameter(parameter);
        }
        inputs.required(&found.chart, &defaults);
        Ok(inputs)
    }

    /// Tells whether any value may be missing: a whole layer of them is not in the tree.
    pub fn lacks_values(&self) -> bool {
        self.stand_ins.iter().any(|text| text.starts_with(UNNAMED))
    }

    /// Returns the texts that the user gave: nothing that equals one is an invention of the chart.
    pub fn given(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        texts(&self.values, &mut found);
        found.extend(self.settings.iter().map(|s| s.value.trim().to_owned()));
        found.insert(STAND_IN.to_owned());
        found.remove("");
        found
    }

    fn part(&mut self, part: &ValuesPart, chart: &Chart, defaults: &Value) -> Result<(), Fault> {
        match part {
            ValuesPart::Text { text, path } => {
                let read = value::read(text).map_err(|error| Fault {
                    reason: format!("the values in {path} cannot be read: {error}."),
                    hint: "Correct the file.".to_owned(),
                    by_helm: false,
                })?;
                match read {
                    Value::Null => {}
                    Value::Object(_) => {
                        value::overlay(&mut self.values, &read);
                        self.layers.push(Layer(text.clone()));
                    }
                    _ => {
                        return Err(Fault {
                            reason: format!("the values in {path} are no mapping."),
                            hint: "Write them as keys and values.".to_owned(),
                            by_helm: false,
                        });
                    }
                }
            }
            ValuesPart::InChart { file, optional } => match chart.files.get(file) {
                Some(text) => self.layers.push(Layer(text.clone())),
                None if *optional => {}
                None => {
                    return Err(Fault {
                        reason: format!("the chart {} has no values file {file}.", chart.id),
                        hint: "Name a file that the chart has, or take the name out.".to_owned(),
                        by_helm: false,
                    });
                }
            },
            ValuesPart::Outside { what, target: None, .. } => self.note_stand_in(UNNAMED, what),
            ValuesPart::Outside { what, target: Some(target), .. } => self.stand_in(target, what, defaults),
        }
        Ok(())
    }

    /// Gives a stand-in where the chart takes a text; elsewhere its default is the better guess.
    fn stand_in(&mut self, target: &str, what: &str, defaults: &Value) {
        let Some(keys) = keys(target) else {
            let setting =
                Setting { name: target.to_owned(), value: STAND_IN.to_owned(), kind: SettingKind::Text };
            self.settings.push(setting);
            return self.note_stand_in(target, what);
        };
        let default = keys.iter().try_fold(defaults, |at, key| at.get(key));
        match default {
            None | Some(Value::String(_) | Value::Null) => {
                let layer = nested(&keys, Value::from(STAND_IN));
                value::overlay(&mut self.values, &layer);
                self.layers.push(Layer(format!("{layer}\n").into()));
                self.note_stand_in(target, what);
            }
            Some(_) => {
                self.notes.push(format!(
                    "`{target}` comes from outside ({what}); the chart's default stands for it."
                ));
            }
        }
    }

    fn parameter(&mut self, parameter: &Parameter) {
        let text = parameter.value.clone().unwrap_or_else(|| {
            self.note_stand_in(&parameter.name, "a file that is not in this repository");
            STAND_IN.to_owned()
        });
        let setting = setting(parameter, text.clone());
        if let Some(keys) = keys(&parameter.name) {
            let typed = match setting.kind {
                SettingKind::Typed => typed(&text),
                SettingKind::Text | SettingKind::File => Value::from(text),
            };
            value::overlay(&mut self.values, &nested(&keys, typed));
        }
        self.settings.push(setting);
    }

    /// Fills what the chart insists on and the tree does not say.
    fn required(&mut self, chart: &str, defaults: &Value) {
        let mut all = defaults.clone();
        value::overlay(&mut all, &self.values);
        let text = |path: &str| {
            let found = path.split('.').try_fold(&all, |at, key| at.get(key));
            found.map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).unwrap_or_default()
        };
        let needed = REQUIRED.iter().filter(|r| r.chart == chart && text(r.unless.0) != r.unless.1);
        let missing: Vec<&str> =
            needed.map(|r| r.path).filter(|path| matches!(text(path).as_str(), "" | "null")).collect();
        for path in missing {
            let keys: Vec<String> = path.split('.').map(str::to_owned).collect();
            let layer = nested(&keys, Value::from(STAND_IN));
            value::overlay(&mut self.values, &layer);
            self.layers.push(Layer(format!("{layer}\n").into()));
            self.note_stand_in(path, "not in this repository");
        }
    }

    fn note_stand_in(&mut self, target: &str, what: &str) {
        let text = format!("{target} ({what})");
        if !self.stand_ins.contains(&text) {
            self.stand_ins.push(text);
        }
    }
}

/// Gives a parameter of Argo CD to Helm. A text with a private key goes by a file: a command line is no secret on its
/// machine.
pub(super) fn setting(parameter: &Parameter, text: String) -> Setting {
    let kind = match (parameter.file || has_private_key(&text), parameter.text) {
        (true, _) => SettingKind::File,
        (false, true) => SettingKind::Text,
        (false, false) => SettingKind::Typed,
    };
    let value = if kind == SettingKind::File { text } else { escaped(&text) };
    Setting { name: parameter.name.clone(), value, kind }
}

/// Escapes a value as Argo CD does: a text in braces is a list and stays, in any other a comma is no separator.
fn escaped(text: &str) -> String {
    if text.starts_with('{') && text.ends_with('}') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        if c == ',' && before != '\\' {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// Types a value as Helm's `--set` does.
fn typed(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        "0" => Value::from(0),
        _ if text.starts_with('0') => Value::from(text),
        _ => text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from),
    }
}

/// Splits a path in Helm's syntax; `None` where it goes into a list.
fn keys(path: &str) -> Option<Vec<String>> {
    let (mut keys, mut key, mut escaped) = (Vec::new(), String::new(), false);
    for c in path.chars() {
        match c {
            _ if escaped => {
                key.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '.' => keys.push(std::mem::take(&mut key)),
            '[' | '{' | '=' | ',' => return None,
            c => key.push(c),
        }
    }
    keys.push(key);
    keys.iter().all(|k| !k.is_empty()).then_some(keys)
}

fn nested(keys: &[String], value: Value) -> Value {
    let lay = |value: Value, key: &String| Value::Object(Map::from_iter([(key.clone(), value)]));
    keys.iter().rev().fold(value, lay)
}

fn texts(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.values().for_each(|v| texts(v, found)),
        Value::Array(items) => items.iter().for_each(|v| texts(v, found)),
        Value::String(text) => drop(found.insert(text.trim().to_owned())),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_on_no_command_line() {
        let key = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIFxK8lq0bY3vJt1hQmZ2cW5uZ0Jkc2Zhc2Rm\n-----END EC PRIVATE KEY-----\n";
        for (value, kind) in [(key, SettingKind::File), ("a,b", SettingKind::Text)] {
            let name = "identity.issuer.tls.keyPEM".to_owned();
            let parameter = Parameter { name, value: Some(value.to_owned()), text: true, file: false };
            let found = setting(&parameter, value.to_owned());
            assert_eq!((found.kind, found.value.replace('\\', "")), (kind, value.to_owned()));
        }
    }

    #[test]
    fn commas_are_escaped_as_argo_does() {
        assert_eq!(escaped("a,b\\,c"), "a\\,b\\,c");
        assert_eq!(escaped("{a,b}"), "{a,b}");
    }

    #[test]
    fn single_values_are_typed_as_helm_does() {
        assert_eq!(typed("7"), Value::from(7));
        assert_eq!(typed("007"), Value::from("007"));
        assert_eq!(typed("true"), Value::from(true));
        assert_eq!(typed("1.5"), Value::from("1.5"));
    }
}
