//! Step 5, pins: whether a file of values that nobody in the tree names goes with a chart whose version is not followed.
//!
//! In: pins. Out: the version that such a value waits for: its images would run ahead of their chart.

use super::{Form, Line, Pin, PinKind, Reason};

/// Versions of charts that are read in a way that is not followed.
pub(super) struct Lost<'p> {
    /// Those of charts that move.
    moving: Vec<&'p Pin>,
    versions: Vec<&'p Pin>,
}

// === impl Lost ===

impl<'p> Lost<'p> {
    /// Finds them.
    pub fn of(pins: &'p [Pin]) -> Self {
        let is_lost = |pin: &&Pin| {
            pin.kind == PinKind::Other && pin.form == Form::Chart && pin.stays == Some(Reason::NotFollowed)
        };
        let moves = |pin: &&Pin| pin.form == Form::Chart && pin.stays.is_none();
        Self { moving: pins.iter().filter(moves).collect(), versions: pins.iter().filter(is_lost).collect() }
    }

    /// Returns the nearest one to a value, where no version of its chart that moves is as near.
    pub fn near(&self, value: &Pin) -> Option<Line> {
        let nearest = self.versions.iter().max_by_key(|pin| shared(pin, value))?;
        let chart = value.chart.as_deref()?;
        let moving = self.moving.iter().filter(|pin| pin.is_of(chart)).map(|pin| shared(pin, value)).max();
        let is_nearer = moving.is_none_or(|moving| moving < shared(nearest, value));
        is_nearer.then(|| (nearest.path.clone(), nearest.site.line))
    }
}

/// Counts the folders in which both lie.
fn shared(a: &Pin, b: &Pin) -> usize {
    let (a, b) = (a.path.folder().split('/'), b.path.folder().split('/'));
    a.zip(b).take_while(|(a, b)| a == b).count()
}
