//! Holds in plain words.
//!
//! In: a [`Hold`]. Out: one sentence without its full stop, which always says until when, or until what. Pure.

use std::fmt;

use jiff::{Timestamp, tz::TimeZone};

use super::{CheckState, Hold, HoldReason, Lack};
use crate::linkerd::EdgeVersion;

/// What ends the wait of proxies where no date does.
const SINCE: &str = "it is known since when it is on the base branch, or `dataPlane.after` is 0d";

/// What is told of a target that is no more.
const GONE: &str = "no pin has this target any more: what it had goes with another target, or is gone; what was declined or \
                    taken back under its name does not count under another";

/// Describes a hold: why, and until when or until what.
pub fn describe(hold: &Hold) -> String {
    let release = hold.release.map_or_else(|| "the release".to_owned(), |release| release.to_string());
    let until =
        |what: &str| hold.until.map_or_else(|| format!("until {what}"), |at| format!("until {}", time(at)));
    match &hold.reason {
        HoldReason::UpToDate => {
            format!("up to date at {release}; nothing to do until a newer release is out")
        }
        HoldReason::NothingMoves { reasons, floating } => nothing_moves(reasons, *floating),
        HoldReason::OtherChannel { pins } => of_channel(*pins),
        HoldReason::Floating { pins } => floating(*pins),
        HoldReason::Paused { reason } => {
            format!("paused ({reason}) until `paused` is taken out of the configuration")
        }
        HoldReason::Frozen { reason } => {
            format!("frozen ({reason}) {}", until("`freeze` is taken out of the configuration"))
        }
        HoldReason::Schedule => {
            format!("{release} waits, outside the schedule, {}", until("`policy.schedule` is corrected"))
        }
        HoldReason::Soak => {
            format!("{release} is younger than `policy.soak`; it waits {}", until("`policy.soak` is shorter"))
        }
        HoldReason::Promotion { target, lacks } => of_promotion(&release, target, lacks, hold.until),
        HoldReason::NoDate { missing } => {
            format!("{release} waits until its publish date is known, which `policy.soak` needs ({missing})")
        }
        HoldReason::NotReady { charts } => {
            format!("{release} waits until the chart index has {} for it", charts.join(", "))
        }
        HoldReason::IndexUnread { reason } => {
            format!("{release} waits until the chart index can be read ({reason})")
        }
        HoldReason::MirrorLacks { mirror, charts } => mirror_lacks(&release, mirror, charts),
        HoldReason::MirrorUnread { mirror, reason } => mirror_unread(&release, mirror, reason),
        HoldReason::NoneEligible { reason } => {
            format!(
                "no release is eligible until a newer one is out or the policy changes ({release}: {reason})"
            )
        }
        HoldReason::Downgrade { running } => {
            format!(
                "{release} is below {running}, which runs; nothing goes down, so this holds until `--to` is newer"
            )
        }
        HoldReason::UnknownRelease => format!("no feed names {release}; it waits until one does"),
        HoldReason::HopUnavailable { hop, reason } => {
            format!("{release} waits until the required stop {hop} can be taken ({reason})")
        }
        HoldReason::Serves { installation, running, stop } => serves(&release, installation, *running, *stop),
        HoldReason::After { target } => {
            format!(
                "{release} waits until target `{target}`, whose files this installation reads too, is there"
            )
        }
        HoldReason::WentBack { from, pull, undone } => of_way_back(&release, *from, (pull, *undone)),
        HoldReason::NoWayBack { reason } => format!("nothing is taken back until that is settled: {reason}"),
        HoldReason::Refused { reason } => refused(&release, reason),
        HoldReason::WayBackGone { reason } => way_back_gone(reason),
        HoldReason::ProxiesAhead { target, running } => proxies_ahead(target, *running),
        HoldReason::Gone => GONE.to_owned(),
        HoldReason::DataPlaneWait => {
            format!("the control plane's {release} is to prove itself first; proxies wait {}", until(SINCE))
        }
        HoldReason::ControlPlaneUnknown => {
            "proxies wait until the control plane's release is known; `dataPlane.controlPlane` can name it"
                .to_owned()
        }
        HoldReason::ControlPlaneWentBack { running } => behind(None, &went_back(*running), &release),
        HoldReason::ControlPlaneGoesBack { to } => going_back(*to),
        HoldReason::ControlPlaneSuspended { installation } => {
            behind(installation.as_deref(), ", which is suspended,", &release)
        }
        HoldReason::ControlPlaneBehind { running, installation } => {
            behind(installation.as_deref(), &now_at(*running), &release)
        }
    }
}

fn refused(release: &str, reason: &str) -> String {
    format!("{release} is not taken any more ({reason}) until that changes or a newer one is out")
}

fn mirror_lacks(release: &str, mirror: &str, charts: &[String]) -> String {
    format!("{release} waits until the mirror {mirror} has {} for it", charts.join(", "))
}

fn mirror_unread(release: &str, mirror: &str, reason: &str) -> String {
    format!("{release} waits until the mirror {mirror} can be asked ({reason})")
}

fn serves(release: &str, installation: &str, running: EdgeVersion, stop: EdgeVersion) -> String {
    format!(
        "{release} waits until `{installation}`, which files of this target serve too, has gone from {running} by the \
         required stop {stop}"
    )
}

fn way_back_gone(reason: &str) -> String {
    format!("what was to be taken back cannot be any more, until that is settled: {reason}")
}

fn proxies_ahead(target: &str, running: EdgeVersion) -> String {
    format!(
        "the control plane is not taken back until the proxies of `{target}`, which are pinned to {running}, are: none may \
         be ahead of it"
    )
}

fn going_back(to: EdgeVersion) -> String {
    format!("proxies wait until what takes the control plane back to {to} is merged or closed")
}

fn went_back(running: EdgeVersion) -> String {
    format!(", which went back to {running},")
}

fn now_at(running: Option<EdgeVersion>) -> String {
    running.map(|running| format!(", now at {running},")).unwrap_or_default()
}

fn behind(installation: Option<&str>, where_it_is: &str, release: &str) -> String {
    let of = installation.map(|name| format!(" of `{name}`")).unwrap_or_default();
    format!("proxies wait until the control plane{of}{where_it_is} is at {release}")
}

fn of_channel(pins: usize) -> String {
    match pins {
        1 => "the only pin is not on the edge channel; move it there by hand first".to_owned(),
        pins => format!("all {pins} pins are on another channel than edge; move them there by hand first"),
    }
}

fn nothing_moves(reasons: &[String], floating: usize) -> String {
    let by_themselves = match floating {
        0 => String::new(),
        1 => "; 1 takes new releases without a commit".to_owned(),
        pins => format!("; {pins} take new releases without a commit"),
    };
    let reasons = reasons.join(", ");
    format!(
        "every pin stays ({reasons}), as `uplinker pins` shows{by_themselves}; nothing to do until one may move"
    )
}

fn floating(pins: usize) -> String {
    let who = match pins {
        1 => "the only pin takes".to_owned(),
        pins => format!("all {pins} pins take"),
    };
    format!("{who} new releases without a commit (a range, or no version); nothing to do until one is exact")
}

fn of_way_back(release: &str, from: EdgeVersion, (pull, undone): (&str, bool)) -> String {
    let how = match undone {
        true => format!("{pull} took {from} back, where a box lets it come again"),
        false => format!("{from} was merged with {pull}, and the base branch went back from it"),
    };
    format!(
        "{release} waits until a release newer than {from} is out, or `--to {release}` asks for it: {how}"
    )
}

fn of_promotion(release: &str, target: &str, lacks: &Lack, until: Option<Timestamp>) -> String {
    match lacks {
        Lack::NotRun { running } => {
            let running = running.map_or_else(
                || "of which no release is known".to_owned(),
                |running| format!("now at {running}"),
            );
            format!("{release} waits until target `{target}`, {running}, has run it")
        }
        Lack::Soak { since } => {
            let until = until.map_or_else(|| "`after.soak` is shorter".to_owned(), time);
            format!("{release} waits until {until}: target `{target}` has run it since {}", time(*since))
        }
        Lack::Ahead { dated } => ahead(release, target, time(*dated), until),
        Lack::Untold { pin } => untold(release, target, pin),
        Lack::Gate { name, state, since } => {
            let says = if *state == CheckState::Failure { "failed" } else { "pending" };
            let since = time(*since);
            format!("{release} waits until `{name}` succeeds for target `{target}`: {says} since {since}")
        }
        Lack::Silent { glob, since } => {
            let overdue = match until {
                Some(until) => format!("expected until {}", time(until)),
                None => "which is overdue: see `gates` in docs/promotion.md".to_owned(),
            };
            format!(
                "{release} waits until `{glob}` says something of target `{target}`, which has run it since {}; {overdue}",
                time(*since)
            )
        }
        Lack::Unread { reason } => {
            format!("{release} waits until the gates of target `{target}` can be read ({reason})")
        }
    }
}

fn ahead(release: &str, target: &str, dated: String, until: Option<Timestamp>) -> String {
    let until = until.map_or_else(|| "`after.soak` is shorter".to_owned(), time);
    format!(
        "{release} waits until {until}: the commit with which target `{target}` got it is dated {dated}, which is still to \
         come, so that one clock is wrong"
    )
}

fn untold(release: &str, target: &str, pin: &str) -> String {
    format!(
        "{release} waits until it is known what target `{target}` runs: its control plane takes releases without a commit, \
         by {pin}; pin it to one"
    )
}

/// Describes a hold of the data-plane stage, where what is up to date waits for the control plane alone.
pub fn describe_proxies(hold: &Hold) -> String {
    match (&hold.reason, hold.release) {
        (HoldReason::UpToDate, Some(release)) => {
            format!(
                "level with the control plane at {release}; proxies move once its own move is on the base branch"
            )
        }
        _ => describe(hold),
    }
}

/// Shows an instant to the minute, rounded up so that it is not early.
pub(super) fn time(at: Timestamp) -> String {
    let second = at.as_second();
    let up = Timestamp::from_second(second + (60 - second.rem_euclid(60)) % 60).unwrap_or(at);
    up.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M UTC").to_string()
}

// === impl Hold ===

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&describe(self))
    }
}
