//! Step 5, pins: texts that have to agree with a version: what `op: test` compares it with, what a lock has of it.
//!
//! In: where both stand. Out: the pins of either that stay where somebody keeps the other: what moves one of them alone is
//! refused by the deployer.

use std::collections::BTreeMap;

use super::foreign::At;
use crate::pins::{Line, Pin, Reason};

/// Places that have to agree, two by two.
#[derive(Default)]
pub(super) struct Guarded(Vec<(At, At)>);

// === impl Guarded ===

impl Guarded {
    /// Notes that two places have to agree.
    pub fn note(&mut self, guard: At, value: At) {
        self.0.push((guard, value));
    }

    /// Leaves pins where those are that they have to agree with. What cannot be edited blocks by itself.
    pub fn keep(&self, pins: &mut [Pin]) {
        if self.0.is_empty() {
            return;
        }
        let place = |pin: &Pin| (pin.path.clone(), pin.site.span.start);
        let kept = |pin: &Pin| -> Option<(At, (Reason, Line))> {
            let reason = pin.stays.filter(|reason| matches!(reason, Reason::Held | Reason::ManagedByFlux))?;
            let line = pin.kept_by.clone().unwrap_or_else(|| (pin.path.clone(), pin.site.line));
            Some((place(pin), (reason, line)))
        };
        let mut kept: BTreeMap<At, (Reason, Line)> = pins.iter().filter_map(kept).collect();
        let mut agree: BTreeMap<&At, Vec<&At>> = BTreeMap::new();
        for (guard, value) in &self.0 {
            agree.entry(guard).or_default().push(value);
            agree.entry(value).or_default().push(guard);
        }
        // What is compared with one may be compared with another again.
        let mut todo: Vec<At> = kept.keys().cloned().collect();
        while let Some(at) = todo.pop() {
            let Some(why) = kept.get(&at).cloned() else { continue };
            for with in agree.get(&at).into_iter().flatten() {
                if !kept.contains_key(*with) {
                    kept.insert((*with).clone(), why.clone());
                    todo.push((*with).clone());
                }
            }
        }
        for pin in pins.iter_mut().filter(|pin| pin.stays.is_none()) {
            if let Some((reason, line)) = kept.get(&place(pin)) {
                (pin.stays, pin.kept_by) = (Some(*reason), Some(line.clone()));
            }
        }
    }

    /// Says of what is locked which ranges it has to stay in, and of a version that has to agree with it too where it is locked.
    pub fn note_ranges(&self, pins: &mut [Pin]) {
        if self.0.is_empty() {
            return;
        }
        let place = |pin: &Pin| (pin.path.clone(), pin.site.span.start);
        let line = |pin: &Pin| (pin.path.clone(), pin.site.line);
        let ranges = pins.iter().filter(|pin| pin.stays == Some(Reason::Range));
        let ranges: BTreeMap<At, Line> = ranges.map(|pin| (place(pin), line(pin))).collect();
        let mut within: BTreeMap<&At, Vec<&Line>> = BTreeMap::new();
        for (guard, value) in self.0.iter().filter(|(_, value)| ranges.contains_key(value)) {
            within.entry(guard).or_default().extend(ranges.get(value));
        }
        let locks = pins.iter().map(|pin| (place(pin), line(pin)));
        let locks: BTreeMap<At, Line> = locks.filter(|(at, _)| within.contains_key(at)).collect();
        let mut beside: BTreeMap<&At, Vec<&Line>> = BTreeMap::new();
        for (guard, value) in self.0.iter().filter(|(_, value)| !ranges.contains_key(value)) {
            beside.entry(value).or_default().extend(locks.get(guard));
        }
        for pin in pins {
            let at = place(pin);
            for line in within.get(&at).into_iter().chain(beside.get(&at)).flatten() {
                if !pin.read_at.contains(line) {
                    pin.read_at.push((*line).clone());
                }
            }
        }
    }
}
