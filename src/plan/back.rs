//! Step 6, plan: the plan of one target's stage that takes a change back.
//!
//! In: what the scan finds now, and what it found before the change. Out: a [`Plan`] in which each pin goes to the text that
//! it had. Pure.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Fate, Judged, NewText, Options, Plan, Target, Undone, edge_of, fingerprint};
use crate::{
    linkerd::EdgeVersion,
    pins::{Form, Inventory, Pin, PinKey, PinKind, Reason, Stage},
    release::Catalog,
};

/// What is to be taken back.
#[derive(Clone, Debug)]
pub struct Undoing<'a> {
    /// What the scan finds now, resolved.
    pub inventory: &'a Inventory,
    /// What it found before the change.
    pub earlier: &'a Inventory,
    /// What it found right after the change.
    pub then: &'a Inventory,
    /// Whose pins move.
    pub target: &'a Target,
    /// Which of its pins.
    pub stage: Stage,
    /// The release that it was at.
    pub to: EdgeVersion,
    /// The change.
    pub undone: Undone,
    /// What is known of releases.
    pub catalog: &'a Catalog,
    /// What the configuration says of moves.
    pub options: &'a Options,
}

/// Why a change cannot be taken back, or not any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWayBack {
    /// Its pins do not tell which release it is at.
    #[error("which release it is at is not known from its pins")]
    Unknown,
    /// The history that was read begins with the release.
    #[error("the history of the base branch does not tell what it was at before")]
    NoHistory,
    /// The change was a way back itself.
    #[error("it came down to {release} from {at}: there is nothing to take back")]
    CameDown {
        /// Where it is.
        release: EdgeVersion,
        /// Where it was before.
        at: EdgeVersion,
    },
    /// Every pin has the text that it had.
    #[error("no pin is found that had another text before")]
    NoPin,
    /// What came since is in the way.
    #[error("{0}")]
    Refused(String),
    /// Another change came since.
    #[error("it is not at {from} any more, but at {now}")]
    MovedOn {
        /// The release that was to be taken back.
        from: EdgeVersion,
        /// Where it is.
        now: EdgeVersion,
    },
}

/// Plans the way back; `None` where every pin has the text that it had.
pub fn back(undoing: Undoing<'_>) -> Option<Plan> {
    let Undoing { inventory, earlier, then, target, stage, to, undone, catalog, options } = undoing;
    let earlier: HashMap<PinKey<'_>, &Pin> = earlier.pins().map(|pin| (pin.key(), pin)).collect();
    let then: HashSet<PinKey<'_>> = then.pins().map(Pin::key).collect();
    let mine = |pin: &Pin| pin.stage == stage && pin.kind != PinKind::Other && target.has(pin);
    let judged = inventory.pins.iter().filter(|pin| mine(pin)).map(|pin| {
        let new = match earlier.get(&pin.key()) {
            // It came since, and stays.
            None if !then.contains(&pin.key()) => None,
            earlier => new_text(pin, earlier.copied()),
        };
        let stays = || Fate::Stays(pin.stays.unwrap_or(Reason::UpToDate));
        Judged { pin: pin.clone(), fate: new.map_or_else(stays, Fate::Becomes) }
    });
    let (moves, stays) = Judged::part(judged);
    if moves.is_empty() {
        return None;
    }
    let from: BTreeSet<EdgeVersion> = moves.iter().filter_map(|moved| edge_of(&moved.pin)).collect();
    let request =
        super::Request { inventory, target, stage, to, hop_towards: None, catalog, options, sources: &[] };
    Some(Plan {
        target: target.name.clone(),
        stage,
        from: from.into_iter().collect(),
        older: false,
        to,
        hop_towards: None,
        published: catalog.get(to).and_then(|release| release.published),
        fingerprint: fingerprint::back(&request, &moves, &undone),
        inputs: fingerprint::inputs(&request, &moves),
        undoes: Some(undone),
        moves,
        stays,
    })
}

fn new_text(pin: &Pin, earlier: Option<&Pin>) -> Option<NewText> {
    match earlier {
        // An object of a manifest that came with the release has nothing to go back to.
        None if pin.form == Form::Rendered || pin.form == Form::Absent => None,
        None => Some(NewText::Gone),
        Some(earlier) if earlier.form == pin.form && earlier.value == pin.value => None,
        Some(earlier) if earlier.form == Form::Absent => Some(NewText::Gone),
        Some(earlier) if earlier.form == Form::Rendered => Some(NewText::Rendered(earlier.value.clone())),
        Some(earlier) => Some(NewText::Fixed(earlier.value.clone())),
    }
}
