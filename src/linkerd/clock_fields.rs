//! Fields that a chart takes from the clock.
//!
//! Types only; the fields themselves are data, each with its source, since two renderings in one minute cannot show them.

use serde::{Deserialize, Serialize};

/// A field of a rendered object that depends on when it was rendered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClockField {
    /// The kind of the object.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The keys that lead to the field.
    pub field: Vec<String>,
    /// The template that asks the clock.
    pub source: String,
}
