//! Step 6, plan: where a pin stands, and what keeps it there.

use crate::{
    linkerd::EdgeVersion,
    pins::{Form, Line, Pin, PinKind, Reader, Reason, Stage},
};

/// The last release whose charts had versions of their own, written in the present scheme (L2 c2eb296df).
pub(super) const LAST_OF_OLD_CHARTS: &str = "edge-24.2.5";

/// Returns the release that a pin stands at for comparisons. An exact chart version of an old scheme that no index
/// explained counts as the last release before the present scheme: it is that or older.
pub fn edge_of(pin: &Pin) -> Option<EdgeVersion> {
    let unexplained = || old_chart(&pin.value).filter(|_| pin.form == Form::Chart);
    pin.version.or_else(unexplained)
}

/// Returns the last release of before charts had the versions of their releases, where that of a chart is from then.
pub fn old_chart(version: &str) -> Option<EdgeVersion> {
    let version = semver::Version::parse(version.trim_start_matches('v')).ok()?;
    LAST_OF_OLD_CHARTS.parse().ok().filter(|_| version.major < 100)
}

/// Returns the release that a pin stands at where something deploys it.
pub fn deployed_at(pin: &Pin) -> Option<EdgeVersion> {
    edge_of(pin).filter(|_| !pin.is_off)
}

/// Returns the release from which a pin takes a step that a required stop may lie on. What a stop protects, the definitions and
/// their owners, comes with a chart or with a version that installs one, and not with the image of a chart's values, nor with an
/// extension beside them.
pub fn steps_from(pin: &Pin) -> Option<EdgeVersion> {
    let is_image = |reader: &Reader| reader.form == Form::Edge && reader.chart.is_some();
    deployed_at(pin)
        .filter(|_| pin.stage == Stage::Platform && !pin.asks_no_stop)
        .filter(|_| !pin.readers().all(|reader| is_image(&reader)))
}

/// Tells whether a reason means that a pin should move and cannot be edited.
pub(super) fn obstructs(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Uneditable
            | Reason::Shared
            | Reason::DuplicateKey
            | Reason::Encrypted
            | Reason::NeedsWorkflowsScope
    )
}

/// Tells whether a pin should move and cannot be edited.
pub fn cannot_be_edited(pin: &Pin) -> bool {
    pin.stays.is_some_and(obstructs)
}

/// Tells whether a pin moves, or ought to: what cannot be edited somebody sets by hand, to the same release. What an encrypted
/// object of a committed manifest says of its release is nothing but a note, which stays.
pub(super) fn ought_to_move(pin: &Pin) -> bool {
    let is_note = pin.form == Form::Rendered && pin.stays == Some(Reason::Encrypted);
    pin.stays.is_none_or(obstructs) && !is_note
}

/// Tells whether a range of helmfile's is locked to what another pin says.
pub(super) fn is_locked_to(range: &Pin, locked: &Pin) -> bool {
    let at = |(path, line): &Line| *path == range.path && *line == range.site.line;
    matches!(locked.kind, PinKind::Helmfile | PinKind::Variable)
        && range.stays_by_itself() == Some(Reason::Range)
        && locked.charts().any(|chart| range.is_of(chart))
        && locked.read_at.iter().any(at)
}
