//! Step 5, pins: whether a file of values that nobody in the tree names goes with a chart that stays.
//!
//! In: pins. Out: the version that such a value waits for: its images would run ahead of their chart.

use std::{cell::RefCell, collections::HashMap};

use super::{Form, Line, Pin, PinKind, Reason};

/// The version that a value waits for, with why its values stay.
type Nearest = Option<(Reason, Line)>;

/// Versions of charts, of those too that are read in a way that is not followed.
pub(super) struct Versions<'p> {
    /// Those of charts that move.
    moving: Vec<&'p Pin>,
    /// Those that stay, and why their values do.
    staying: Vec<(&'p Pin, Reason)>,
    /// What was found for a folder and a chart: thousands of values look from one place.
    found: RefCell<HashMap<(String, String), Nearest>>,
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
        let staying = staying.into_iter().filter_map(stays).collect();
        Self { moving, staying, found: RefCell::default() }
    }

    /// Returns the nearest one that stays to a value, where no version of its chart that moves is nearer: for either of two that
    /// are as near it may be meant.
    pub fn near(&self, value: &Pin) -> Nearest {
        let chart = value.chart.as_deref()?;
        let from = (value.path.folder().to_owned(), chart.to_owned());
        self.found.borrow_mut().entry(from).or_insert_with(|| self.find(value, chart)).clone()
    }

    fn find(&self, value: &Pin, chart: &str) -> Nearest {
        let shared = |pin: &Pin| pin.path.shared_folders(&value.path);
        let moving = self.moving.iter().filter(|pin| pin.is_of(chart)).map(|pin| shared(pin)).max();
        // One that is not followed may be of any chart.
        let counts = |pin: &Pin| match pin.is_of(chart) {
            true => moving.is_none_or(|moving| moving <= shared(pin)),
            false => pin.kind == PinKind::Other && moving.is_none_or(|moving| moving < shared(pin)),
        };
        let staying = self.staying.iter().filter(|(pin, _)| counts(pin));
        let (nearest, reason) = staying.max_by_key(|(pin, _)| shared(pin))?;
        Some((*reason, (nearest.path.clone(), nearest.site.line)))
    }
}
