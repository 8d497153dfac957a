//! Step 7, render: what Helm is given for one use of a chart.
//!
//! In: a use, and the chart. Out: layers of values and single settings as Helm takes them, the user's values merged, and
//! which of them are stand-ins. A value from outside the tree gets the same text in every rendering.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Cause, Chart, StandIn, value};
use crate::{
    deploy::{self, Scalar, chart::merged, go_yaml, read},
    helm::{Layer, Setting, SettingKind, key_material::has_private_key},
    linkerd::REQUIRED,
    pins::{ChartUse, Parameter, ParameterKind, ValuesPart},
    yaml::Ceilings,
};

/// What stands for a value from outside the tree: a text that fits as a name too.
pub(super) const STAND_IN: &str = "uplinker-stand-in";

/// What Helm is given.
#[derive(Clone, Debug)]
pub(super) struct Inputs {
    /// `--values`.
    pub layers: Vec<Layer>,
    /// `--set` and its like.
    pub settings: Vec<Setting>,
    /// The user's values, merged.
    pub values: Value,
    /// The same as the deployers have them.
    laid: deploy::Value,
    /// What got a stand-in.
    pub stand_ins: Vec<StandIn>,
    /// What else is to be known.
    pub notes: Vec<String>,
}

// === impl Inputs ===

impl Inputs {
    /// Collects what a use gives to a chart.
    pub fn of(found: &ChartUse, chart: &Chart) -> Result<Self, Cause> {
        let defaults = value::read(chart.defaults()).unwrap_or_default();
        let mut inputs = Self {
            layers: Vec::new(),
            settings: Vec::new(),
            values: Value::Null,
            laid: deploy::Value::empty(),
            stand_ins: Vec::new(),
            notes: Vec::new(),
        };
        for part in &found.values {
            inputs.part(part, chart, &defaults)?;
        }
        for parameter in &found.parameters {
            // What Helm refuses it says itself.
            deployed(parameter).lay(&mut inputs.laid).ok();
            inputs.settings.push(setting(parameter));
        }
        inputs.required(&found.chart, &defaults);
        inputs.values = value::of_deployed(&inputs.laid);
        Ok(inputs)
    }

    /// Tells whether any value may be missing: a whole layer of them is not in the tree.
    pub fn lacks_values(&self) -> bool {
        self.stand_ins.iter().any(|one| one.target.is_none())
    }

    /// Returns the texts that the user gave: nothing that equals one is an invention of the chart.
    pub fn given(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        texts(&self.values, &mut found);
        found.insert(STAND_IN.to_owned());
        found.remove("");
        found
    }

    fn part(&mut self, part: &ValuesPart, chart: &Chart, defaults: &Value) -> Result<(), Cause> {
        match part {
            ValuesPart::Text { text, path } => {
                let read = read::mapping(&Scalar::made(text), &Ceilings::default()).map_err(|error| {
                    Cause::new(format!("the values in {path} cannot be read: {error}"), "correct the file")
                })?;
                let deploy::Value::Map(_) = read else {
                    let reason = format!("the values in {path} are no mapping");
                    return Err(Cause::new(reason, "write them as keys and values"));
                };
                self.laid = merged(&self.laid, &read);
                self.layers.push(Layer(text.clone()));
            }
            ValuesPart::InChart { file, optional } => match chart.files.get(file) {
                Some(text) => self.layers.push(Layer(text.clone())),
                None if *optional => {}
                None => {
                    return Err(Cause::new(
                        format!("the chart {} has no values file {file}", chart.id),
                        "name a file that the chart has, or take the name out",
                    ));
                }
            },
            ValuesPart::Outside { what, target: None, .. } => self.note_stand_in(None, what),
            ValuesPart::Outside { what, target: Some(target), .. } => self.stand_in(target, what, defaults),
        }
        Ok(())
    }

    /// Gives a stand-in where the chart takes a text; elsewhere its default is the better guess.
    fn stand_in(&mut self, target: &str, what: &str, defaults: &Value) {
        let mut alone = deploy::Value::empty();
        let is_laid = stand_in(target).lay(&mut alone).is_ok();
        match at(defaults, &alone).filter(|_| is_laid) {
            None | Some(Value::String(_) | Value::Null) => self.put(target, what),
            Some(_) => {
                self.notes.push(format!(
                    "`{target}` comes from outside ({what}); the chart's default stands for it."
                ));
            }
        }
    }

    /// Puts a stand-in at a path of Helm's.
    fn put(&mut self, target: &str, what: &str) {
        let parameter = stand_in(target);
        let mut alone = deploy::Value::empty();
        parameter.lay(&mut self.laid).ok();
        match parameter.lay(&mut alone) {
            Ok(()) if !target.contains('[') => {
                self.layers.push(Layer(go_yaml::document(&alone).text().into()));
            }
            // What goes into a list depends on what is there.
            _ => {
                let (name, value) = (target.to_owned(), STAND_IN.to_owned());
                self.settings.push(Setting { name, value, kind: SettingKind::Text });
            }
        }
        self.note_stand_in(Some(target), what);
    }

    /// Fills what the chart insists on and the tree does not say.
    fn required(&mut self, chart: &str, defaults: &Value) {
        let mut all = defaults.clone();
        value::overlay(&mut all, &value::of_deployed(&self.laid));
        let text = |path: &str| {
            let found = path.split('.').try_fold(&all, |at, key| at.get(key));
            found.map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).unwrap_or_default()
        };
        let needed = REQUIRED.iter().filter(|r| r.chart == chart && text(r.unless.0) != r.unless.1);
        let missing: Vec<&str> =
            needed.map(|r| r.path).filter(|path| matches!(text(path).as_str(), "" | "null")).collect();
        missing.into_iter().for_each(|path| self.put(path, "not in this repository"));
    }

    fn note_stand_in(&mut self, target: Option<&str>, what: &str) {
        let one = StandIn { target: target.map(str::to_owned), source: what.to_owned() };
        if !self.stand_ins.contains(&one) {
            self.stand_ins.push(one);
        }
    }
}

/// A stand-in at a path of Helm's.
fn stand_in(target: &str) -> deploy::Parameter {
    let (name, value) = (Scalar::made(target), Scalar::made(STAND_IN));
    deploy::Parameter { name, value, kind: ParameterKind::Text }
}

fn deployed(parameter: &Parameter) -> deploy::Parameter {
    let (name, value) = (Scalar::made(&parameter.name), Scalar::made(&parameter.value));
    deploy::Parameter { name, value, kind: parameter.kind }
}

/// Returns what is where another value has its only scalar.
fn at<'v>(value: &'v Value, alone: &deploy::Value) -> Option<&'v Value> {
    match alone {
        deploy::Value::Scalar(_) => Some(value),
        deploy::Value::List(items) => at(value.get(items.len().checked_sub(1)?)?, items.last()?),
        deploy::Value::Map(map) => map.iter().next().and_then(|(key, inner)| at(value.get(&**key)?, inner)),
    }
}

/// Gives a single value to Helm. A text with a private key goes by a file: a command line is no secret on its machine.
pub(super) fn setting(parameter: &Parameter) -> Setting {
    let Parameter { name, value, kind } = parameter.clone();
    let kind = match kind {
        ParameterKind::Looks => SettingKind::Typed,
        ParameterKind::Text => SettingKind::Text,
        ParameterKind::Literal => SettingKind::File,
    };
    // A file has no syntax in it.
    let mut alone = deploy::Value::empty();
    deployed(parameter).lay(&mut alone).ok();
    let key =
        alone.scalars().into_iter().map(|text| text.text().into_owned()).find(|text| has_private_key(text));
    match key.filter(|_| kind != SettingKind::File) {
        Some(value) => Setting { name, value, kind: SettingKind::File },
        None => Setting { name, value, kind },
    }
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
        let text = |value: &str| Parameter {
            name: "identity.issuer.tls.keyPEM".to_owned(),
            value: value.to_owned(),
            kind: ParameterKind::Text,
        };
        assert_eq!(setting(&text("a\\,b")).kind, SettingKind::Text);
        let found = setting(&text(&format!("a\\,b\n{key}")));
        assert_eq!((found.kind, found.value), (SettingKind::File, format!("a,b\n{key}")));
    }

    #[test]
    fn what_stands_at_a_path_of_helms_is_found() {
        let defaults = serde_json::json!({"a": {"b.c": [1, {"d": true}]}});
        let found = |target: &str| {
            let mut alone = deploy::Value::empty();
            stand_in(target).lay(&mut alone).unwrap();
            at(&defaults, &alone).cloned()
        };
        assert_eq!(found("a.b\\.c[1].d"), Some(Value::Bool(true)));
        assert_eq!((found("a.b"), found("a.b\\.c[2]")), (None, None));
    }
}
