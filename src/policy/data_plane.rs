//! The decision for a target's data-plane stage: proxies follow the control plane, some time behind it.
//!
//! In: where the control plane is and since when, what the proxy pins name, the policy, the time. Out: a
//! [`Decision`]. Pure. Proxies never go ahead of the control plane: Linkerd supports the reverse only.

use jiff::{SignedDuration, Timestamp};

use super::{
    Before, Decision, Hold, HoldReason, Needs, Policy, Waits,
    quiet::{by_hand, by_schedule},
};
use crate::linkerd::EdgeVersion;

/// The control plane as the repository's base branch has it.
#[derive(Clone, Copy, Debug)]
pub struct ControlPlane<'a> {
    /// The release that it runs, from its pins or from `dataPlane.controlPlane`.
    pub release: Option<EdgeVersion>,
    /// When the change to that release reached the base branch.
    pub landed: Option<Timestamp>,
    /// `dataPlane.after`.
    pub after: SignedDuration,
    /// What the target itself has run, where its gates are asked.
    pub itself: Option<&'a Before>,
}

/// Decides for the proxy pins of one target. They go to the control plane's release, or to `--to` where that is
/// older; channel, range and soak have been applied when the control plane went there. A pin that is ahead
/// already does not keep the others back: it is judged, and stays, by itself.
pub fn data_plane(policy: &Policy, proxies: &Needs, plane: ControlPlane<'_>, now: Timestamp) -> Decision {
    let hold = |reason, release, until| Decision::Hold(Hold { reason, release, until });
    let Some(running) = plane.release else {
        return hold(HoldReason::ControlPlaneUnknown, policy.to, None);
    };
    let version = policy.to.map_or(running, |to| to.min(running));
    if let Some(lowest) = proxies.lowest.filter(|lowest| *lowest > version) {
        // Without `--to` proxies that are all ahead have nothing to follow.
        if policy.to.is_some_and(|to| to == version) {
            return hold(HoldReason::Downgrade { running: lowest }, Some(version), None);
        }
    }
    if !proxies.unnamed && proxies.lowest.is_none_or(|lowest| lowest >= version) {
        let suspended = proxies.suspended.clone().filter(|_| proxies.lowest.is_none());
        let own = Waits { running: Some(running), installation: None, is_suspended: false };
        let own = suspended.unwrap_or(own).reason();
        return match (proxies.waits.clone(), policy.to) {
            (Some(other), _) => hold(other.reason(), Some(version), None),
            (None, Some(to)) if to > running => hold(own, Some(to), None),
            (None, _) => hold(HoldReason::UpToDate, Some(version), None),
        };
    }
    if let Some((reason, until)) = by_hand(policy, now) {
        return hold(reason, Some(version), until);
    }
    if plane.after.is_positive() {
        let due = plane.landed.and_then(|landed| landed.checked_add(plane.after).ok());
        if due.is_none_or(|due| due > now) {
            return hold(HoldReason::DataPlaneWait, Some(version), due);
        }
    }
    if let Some(hold) = proxies.before.iter().find_map(|before| before.waits(version, now)) {
        return Decision::Hold(hold);
    }
    if let Some(itself) = plane.itself
        && (itself.untold.is_some() || itself.has_run(running).is_some())
        && let Some((lacks, until)) = itself.lack(running, now)
    {
        return hold(HoldReason::Promotion { target: itself.target.clone(), lacks }, Some(version), until);
    }
    match by_schedule(policy, now) {
        Some((reason, until)) => hold(reason, Some(version), until),
        None => {
            let promoted = proxies.before.iter().filter_map(|before| before.promoted(version)).collect();
            Decision::Target { version, hop_towards: None, promoted }
        }
    }
}
