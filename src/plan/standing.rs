//! Step 6, plan: where a pin stands, and what keeps it there.

use crate::{
    linkerd::EdgeVersion,
    pins::{Form, Pin, Reason},
};

/// The last release whose charts had versions of their own, written in the present scheme (L2 c2eb296df).
pub(super) const LAST_OF_OLD_CHARTS: &str = "2024.2.5";

/// Returns the release that a pin stands at for comparisons. An exact chart version of an old scheme that no index
/// explained counts as the last release before the present scheme: it is that or older.
pub fn edge_of(pin: &Pin) -> Option<EdgeVersion> {
    let unexplained = || {
        let exact = semver::Version::parse(pin.value.trim_start_matches('v')).is_ok();
        if pin.form == Form::Chart && exact { EdgeVersion::from_chart(LAST_OF_OLD_CHARTS) } else { None }
    };
    pin.version.or_else(unexplained)
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
