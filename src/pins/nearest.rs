//! Step 5, pins: whether a file of values that nobody in the tree names goes with a chart that stays.
//!
//! In: pins. Out: the version that such a value waits for: its images would run ahead of their chart.

use super::{Form, Line, Pin, PinKind, Reason};

/// Versions of charts, of those too that are read in a way that is not followed.
pub(super) struct Versions<'p> {
    /// Those of charts that move.
    moving: Vec<&'p Pin>,
    /// Those that stay, and why their values do.
    staying: Vec<(&'p Pin, Reason)>,
}

// === impl Versions ===

impl<'p> Versions<'p> {
    /// Finds them.
    pub fn of(pins: &'p [Pin]) -> Self {
        let is_version = |pin: &&Pin| pin.form == Form::Chart && pin.kind != PinKind::ChartLock;
        let stays = |pin: &'p Pin| {
            let is_lost = pin.kind == PinKind::Other && pin.stays == Some(Reason::NotFollowed);
            let reason = if is_lost { Reason::ChartStays } else { pin.stays?.of_values()? };
            Some((pin, reason))
        };
        let (moving, staying) =
            pins.iter().filter(is_version).partition::<Vec<_>, _>(|pin| pin.stays.is_none());
        Self { moving, staying: staying.into_iter().filter_map(stays).collect() }
    }

    /// Returns the nearest one that stays to a value, where no version of its chart that moves is as near.
    pub fn near(&self, value: &Pin) -> Option<(Reason, Line)> {
        let chart = value.chart.as_deref()?;
        let shared = |pin: &Pin| pin.path.shared_folders(&value.path);
        // One that is not followed may be of any chart.
        let may_be = |pin: &Pin| pin.kind == PinKind::Other || pin.is_of(chart);
        let staying = self.staying.iter().filter(|(pin, _)| may_be(pin));
        let (nearest, reason) = staying.max_by_key(|(pin, _)| shared(pin))?;
        let moving = self.moving.iter().filter(|pin| pin.is_of(chart)).map(|pin| shared(pin)).max();
        let is_nearer = moving.is_none_or(|moving| moving < shared(nearest));
        is_nearer.then(|| (*reason, (nearest.path.clone(), nearest.site.line)))
    }
}
