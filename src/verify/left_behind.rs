//! Step 8, verify: what is said of a pin that a plan leaves behind.
//!
//! In: a pin that stays, and why. Out: a `block` for one that cannot be edited; held ones are exempt and listed; what another
//! hand or another rule moves is named where a reviewer would miss it.

use super::{CheckId, Finding, Severity, Verification, required_hop};
use crate::{
    linkerd::{CONTROL_PLANE, EdgeVersion, OLD_CONTROL_PLANE, PROXY_VERSION, retired_chart},
    pins::{Form, Line, Pin, PinKind, Reason, TagFilter},
    plan::{Constraint, Ranges, edge_of},
};

const ID: CheckId = CheckId::VersionAgreement;

/// Says it; `None` where the pin is at the release, or stays for a reason that another check tells.
pub(super) fn left_behind(input: &Verification<'_>, pin: &Pin, reason: Reason) -> Option<Finding> {
    let (at, to) = (edge_of(pin), input.plan.to);
    if at == Some(to) {
        return None;
    }
    let found = |severity, text: String| Finding::new(ID, severity, text).at_pin(pin);
    let value = &pin.value;
    let finding = match reason {
        Reason::Uneditable if pin.form == Form::Absent => found(
            Severity::Warn,
            "pods ask for restarts here in a way that leaves no place for an annotation beside it".to_owned(),
        )
        .hint(format!("add `{PROXY_VERSION}: {to}` to their annotations by hand; later releases follow")),
        Reason::Held if pin.form == Form::Absent => {
            found(Severity::Info, "pods that ask for restarts are held by a comment".to_owned())
        }
        Reason::Uneditable
        | Reason::Shared
        | Reason::DuplicateKey
        | Reason::Encrypted
        | Reason::NeedsWorkflowsScope => {
            cannot_be_edited(input, pin, reason)
        }
        Reason::NotFollowed if pin.form == Form::Rendered => found(
            Severity::Warn,
            format!("`{value}` stays: pods here run an image of Linkerd, and its chart does not give them"),
        )
        .hint(format!("set the images here to {to} by hand, or remove what the chart has given up")),
        Reason::NotFollowed => not_followed(input, pin)?,
        Reason::Held => {
            let by = pin.kept_by.as_ref().map(|line| format!("the comment at {}", said(line)));
            let by = by.as_deref().unwrap_or("a comment");
            found(Severity::Info, format!("`{value}` is held by {by} and stays"))
        }
        Reason::Suspended => suspended(pin),
        // Only a hop, or a target that was ahead in part, leads here; a downgrade would be worse.
        Reason::UpToDate if !pin.is_off => found(
            Severity::Warn,
            format!("`{value}` is ahead of {to} and stays, since nothing is downgraded"),
        )
        .hint("let the pins of this target meet at a newer release, or make it two targets"),
        Reason::Digest => {
            found(Severity::Warn, format!("`{value}` is fixed by a digest and stays, whatever release it is"))
                .hint(format!("set the digest of {to} by hand, or remove it"))
        }
        Reason::Range if pin.form != Form::LockDigest && !pin.is_off => in_range(input, pin),
        Reason::ManagedByFlux => {
            let text = match &pin.kept_by {
                Some(line) => format!(
                    "`{value}` stays with its chart ({}), which is left to Flux's image automation",
                    said(line)
                ),
                None => format!("`{value}` is left to Flux's image automation"),
            };
            found(Severity::Info, text)
        }
        Reason::ChartStays => match pin.kept_by.clone().or_else(|| range_of(input, pin)) {
            Some(line) => {
                found(Severity::Info, format!("`{value}` stays with the version of its chart ({})", said(&line)))
            }
            None => found(
                Severity::Warn,
                format!("`{value}` stays: the version of its chart is not in this repository, and may be any"),
            )
            .hint(format!("set it to {to} by hand once the chart is there, or remove it: the chart has its own")),
        },
        Reason::ManualInjection => found(Severity::Warn, format!("`{value}` was injected by hand and stays"))
            .hint("make this manifest again with `linkerd inject --manual`"),
        Reason::RetiredChart if pin.is_of(OLD_CONTROL_PLANE) => found(
            Severity::Block,
            format!("`{value}` stays, and charts of {to} would be beside it: {}", retired(pin)),
        )
        .hint("move the control plane to linkerd-crds and linkerd-control-plane by hand first, or make it a target"),
        Reason::RetiredChart if pin.form != Form::LockDigest => {
            let severity = if retires(input, pin) { Severity::Warn } else { Severity::Info };
            found(severity, format!("`{value}` stays: {}", retired(pin)))
                .hint("plan its removal; it is not tested with later releases")
        }
        _ => return None,
    };
    Some(finding)
}

fn suspended(pin: &Pin) -> Finding {
    let found = |what: &str, hint: &'static str| {
        let text = format!("`{}` stays: {what} suspended", pin.value);
        Finding::info(ID, text).at_pin(pin).hint(hint)
    };
    match pin.is_of(CONTROL_PLANE) {
        true => found("the control plane is", "resume it first; its proxies wait until then"),
        false => found("the CRDs are", "resume them first"),
    }
}

/// Says of the version of a chart that it stays where the others do not.
fn not_followed(input: &Verification<'_>, pin: &Pin) -> Option<Finding> {
    let (chart, to) = (pin.chart.as_deref()?, input.plan.to);
    if pin.is_untold() {
        let text = format!(
            "which release `{}` is for {chart} is not known here: it reaches the chart in a way that is not followed",
            pin.value
        );
        let hint = format!("set it to {to} where it comes from, and hold this with `# uplinker: hold`");
        return Some(Finding::block(ID, text).at_pin(pin).hint(hint));
    }
    let (why, advice) = match pin.path.name() {
        "Chart.yaml" => {
            ("what is deployed is a copy of the chart in this repository", "take the chart in anew, at")
        }
        _ => ("it reaches the chart in a way that is not followed", "set it by hand to"),
    };
    let text = format!("`{}`, the version of {chart}, stays behind: {why}", pin.value);
    let at = edge_of(pin).filter(|_| required_hop::is_about(pin));
    let hint = |release: &str| format!("{advice} {release}, or hold it with `# uplinker: hold`");
    let hint = required_hop::by_stop(&input.catalog.knowledge, (at, to), hint);
    Some(Finding::block(ID, text).at_pin(pin).hint(hint))
}

fn cannot_be_edited(input: &Verification<'_>, pin: &Pin, reason: Reason) -> Finding {
    let (at, to) = (edge_of(pin), input.plan.to);
    let shared;
    let refuses = |filter: &TagFilter| reason == Reason::Uneditable && !filter.takes(&to.chart());
    let is_filtered = pin.filter.as_ref().is_some_and(refuses);
    let lock = || Ranges::lock_of(input.inventory, pin, to);
    let locked = (reason == Reason::Uneditable).then(lock).flatten().map(|at| {
        format!("{} has one version for it and for a range that does not take the release", said(&at))
    });
    let why = match reason {
        Reason::DuplicateKey => "its key is written twice",
        Reason::Encrypted => "its file is encrypted",
        Reason::NeedsWorkflowsScope => "the token may not write under .github/workflows",
        Reason::Shared => {
            let at = pin.kept_by.as_ref().map(|line| format!(" ({})", said(line))).unwrap_or_default();
            shared = format!("something that must not move with Linkerd reads it too{at}");
            &shared
        }
        _ if is_filtered => "the `semverFilter` beside it does not take the release",
        _ => locked.as_deref().unwrap_or("its shape cannot be edited safely"),
    };
    let hint = match reason {
        Reason::Shared => {
            format!("give Linkerd a value of its own, at {to}, or hold this one with `# uplinker: hold`")
        }
        Reason::Encrypted => {
            format!(
                "set it to {to} with `sops edit` in this branch: any other edit breaks the file's checksum"
            )
        }
        _ if is_filtered => "widen the `semverFilter`, or hold this with `# uplinker: hold`".to_owned(),
        _ if locked.is_some() => "widen the range, or hold this with `# uplinker: hold`".to_owned(),
        _ => format!("set it to {to} by hand in this branch, or hold it with `# uplinker: hold`"),
    };
    let text = match at {
        Some(_) => format!("`{}` stays behind: {why}", pin.value),
        None => format!("a pin here cannot be read, so whether it names {to} is not known: {why}"),
    };
    // What cannot be read may be right already.
    let severity = if at.is_some() { Severity::Block } else { Severity::Warn };
    Finding::new(ID, severity, text).at_pin(pin).hint(hint)
}

fn said((path, line): &Line) -> String {
    format!("{path}:{line}")
}

/// Returns the line of the range that keeps a value.
fn range_of(input: &Verification<'_>, pin: &Pin) -> Option<Line> {
    let range = Ranges::refusing(input.inventory, input.plan.to).of_values(pin)?;
    Some((range.path.clone(), range.site.line))
}

/// Says of a range, or of what it was locked to, whether it takes the release.
fn in_range(input: &Verification<'_>, pin: &Pin) -> Finding {
    let (value, to) = (&pin.value, input.plan.to);
    if pin.kind == PinKind::ChartLock || pin.stays != Some(Reason::Range) {
        let reason =
            format!("`{value}` is what a range was locked to, and stays: the range does not allow {to}");
        return Finding::new(ID, Severity::Info, reason).at_pin(pin);
    }
    if let Some(range) = Constraint::of(pin).ok().filter(|range| !range.allows(&to.chart())) {
        let reason =
            format!("`{value}` is a range that does not take {to}, and stays behind what moves here");
        let newest = input.catalog.releases.keys().rev().find(|known| range.allows(&known.chart()));
        let at = newest.copied().filter(|_| required_hop::is_about(pin));
        let filter = if pin.filter.is_some() { ", or its `semverFilter`," } else { "" };
        let hint =
            |release: &str| format!("widen the range{filter} to take {release}, or hold what runs with it");
        let hint = required_hop::by_stop(&input.catalog.knowledge, (at, to), hint);
        return Finding::warn(ID, reason).at_pin(pin).hint(hint);
    }
    let reason = format!("`{value}` is a range, and moves by itself or not at all");
    Finding::new(ID, Severity::Info, reason).at_pin(pin)
}

/// Tells whether it is with this change that the other pins go beyond the chart's last release.
fn retires(input: &Verification<'_>, pin: &Pin) -> bool {
    let last = pin.charts().find_map(|name| retired_chart(name)?.last?.parse::<EdgeVersion>().ok());
    let passes = |last| input.plan.to > last && input.plan.from.iter().any(|from| *from <= last);
    last.is_some_and(passes)
}

fn retired(pin: &Pin) -> String {
    let known = pin.charts().find_map(|name| Some((name, retired_chart(name)?)));
    known.map_or("its chart is no longer published".to_owned(), |(name, chart)| {
        format!("{name} is no longer published; {}", chart.instead)
    })
}
