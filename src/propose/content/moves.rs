//! Step 8, propose: which pins move and which stay, grouped as a reader takes them in.
//!
//! In: the moves of a plan. Out: [`Row`]s and [`Stays`]. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{place, word};
use crate::{
    plan::{Move, NewText},
    scan::{Form, Inventory},
};

/// Pins that move alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// The chart, or the kind of the pin.
    pub what: String,
    /// The text as it stands.
    pub from: String,
    /// The text as it will be; `None` for a digest that is computed again.
    pub to: Option<String>,
    /// `path:line` of each.
    pub places: Vec<String>,
}

/// Pins that stay for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stays {
    /// The reason, in the words of the contract.
    pub reason: String,
    /// `path:line` and text of each.
    pub pins: Vec<(String, String)>,
}

pub(super) fn rows(moves: &[Move], inventory: &Inventory) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut known: BTreeMap<(String, String, Option<String>), usize> = BTreeMap::new();
    for (pin, new) in moves.iter().filter_map(|m| Some((inventory.pins.get(m.pin)?, m.new.as_ref()?))) {
        let what = match (&pin.chart, pin.form) {
            (Some(chart), Form::Chart | Form::LockDigest | Form::Rendered) => chart.clone(),
            _ => word(&pin.kind),
        };
        let to = match new {
            NewText::Fixed(text) | NewText::Rendered(text) => Some(text.clone()),
            NewText::LockDigest => None,
        };
        let key = (what.clone(), pin.value.clone(), to.clone());
        let index = *known.entry(key).or_insert(rows.len());
        match rows.get_mut(index) {
            Some(row) => row.places.push(place(pin)),
            None => rows.push(Row { what, from: pin.value.clone(), to, places: vec![place(pin)] }),
        }
    }
    rows
}

pub(super) fn stays(moves: &[Move], inventory: &Inventory) -> Vec<Stays> {
    let mut reasons: BTreeMap<crate::scan::Reason, Vec<(String, String)>> = BTreeMap::new();
    for (pin, reason) in moves.iter().filter_map(|m| Some((inventory.pins.get(m.pin)?, m.reason?))) {
        reasons.entry(reason).or_default().push((place(pin), pin.value.clone()));
    }
    reasons.into_iter().map(|(reason, pins)| Stays { reason: word(&reason), pins }).collect()
}
