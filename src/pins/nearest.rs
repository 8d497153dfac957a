//! Step 5, pins: whether a file of values that nobody in the tree names goes with a chart that stays.
//!
//! In: pins. Out: the version that such a value waits for: its images would run ahead of their chart.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use super::{Form, Pin, PinKind, Reason};

/// The version that a value waits for, with why its values stay.
type Nearest<'p> = Option<(Reason, &'p Pin)>;

/// Versions of charts, of those too that are read in a way that is not followed.
pub(super) struct Versions<'p> {
    /// Those of charts that move.
    moving: Vec<&'p Pin>,
    /// Those that stay, and why their values do.
    staying: Vec<(&'p Pin, Reason)>,
    /// Charts that are committed as Helm renders them, by installation.
    rendered: HashSet<(&'p str, &'p str)>,
    /// Charts of which a deployer reads a version, by installation.
    deployed: HashSet<(&'p str, &'p str)>,
    /// What was found for a folder and a chart: thousands of values look from one place.
    found: RefCell<HashMap<(String, String), Nearest<'p>>>,
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
        let (mut rendered, mut deployed) = (HashSet::new(), HashSet::new());
        for pin in pins {
            let of = match pin.kind {
                PinKind::RenderedManifest if pin.is_off || pin.stays.is_some_and(Reason::reads_nothing) => {
                    continue;
                }
                PinKind::RenderedManifest => &mut rendered,
                PinKind::HelmValues | PinKind::KustomizeImage | PinKind::Other => continue,
                _ => &mut deployed,
            };
            of.extend(pin.charts().flat_map(|chart| served(pin).map(move |name| (chart, name))));
        }
        Self { moving, staying, rendered, deployed, found: RefCell::default() }
    }

    /// Returns the nearest one that stays to a value, where no version of its chart that moves is nearer: for either of two that
    /// are as near it may be meant.
    pub fn near(&self, value: &Pin) -> Nearest<'p> {
        let chart = value.chart.as_deref()?;
        let from = (value.path.folder().to_owned(), chart.to_owned());
        *self.found.borrow_mut().entry(from).or_insert_with(|| self.find(value, chart))
    }

    /// Tells whether a value goes with a text that no deployer reads, and all that it serves have its chart as Helm rendered
    /// it: whoever runs the text renders that anew, and nothing runs by the value itself.
    pub fn is_of_rendering(&self, value: &Pin) -> bool {
        let is_text = self.near(value).is_some_and(|(_, nearest)| nearest.kind == PinKind::Other);
        let is_rendered = |at: &(&str, &str)| self.rendered.contains(at) && !self.deployed.contains(at);
        is_text && value.charts().all(|chart| served(value).all(|name| is_rendered(&(chart, name))))
    }

    fn find(&self, value: &Pin, chart: &str) -> Nearest<'p> {
        let shared = |pin: &Pin| pin.path.shared_folders(&value.path);
        let moving = self.moving.iter().filter(|pin| pin.is_of(chart)).map(|pin| shared(pin)).max();
        // One that is not followed may be of any chart.
        let counts = |pin: &Pin| match pin.is_of(chart) {
            true => moving.is_none_or(|moving| moving <= shared(pin)),
            false => pin.kind == PinKind::Other && moving.is_none_or(|moving| moving < shared(pin)),
        };
        let staying = self.staying.iter().filter(|(pin, _)| counts(pin));
        let (nearest, reason) = staying.max_by_key(|(pin, _)| shared(pin))?;
        Some((*reason, *nearest))
    }
}

/// Lists the installations that a pin serves; where the repository tells none, that without a name.
fn served(pin: &Pin) -> impl Iterator<Item = &str> {
    let nameless = pin.installations.is_empty().then_some("");
    pin.installations.iter().map(|name| &**name).chain(nameless)
}
