//! Holds in words.

use super::*;

#[test]
fn every_hold_says_until_when_or_until_what() {
    let text = || "why".to_owned();
    let before = |lacks| HoldReason::Promotion { target: text(), lacks };
    let reasons = [
        HoldReason::UpToDate,
        HoldReason::Floating { pins: 2 },
        HoldReason::NothingMoves { reasons: vec![text()], floating: 0 },
        HoldReason::Paused { reason: text() },
        HoldReason::Frozen { reason: text() },
        HoldReason::Schedule,
        HoldReason::Soak,
        before(Lack::NotRun { running: None }),
        before(Lack::NotRun { running: Some(edge("26.8.2")) }),
        before(Lack::Soak { since: now() }),
        before(Lack::Ahead { dated: now() }),
        before(Lack::Untold { pin: text() }),
        before(Lack::Gate { name: text(), state: CheckState::Failure, since: now() }),
        before(Lack::Gate { name: text(), state: CheckState::Pending, since: now() }),
        before(Lack::Silent { glob: text(), since: now() }),
        before(Lack::Unread { reason: text() }),
        HoldReason::NoDate { missing: text() },
        HoldReason::NotReady { charts: vec![text()] },
        HoldReason::IndexUnread { reason: text() },
        HoldReason::MirrorLacks { mirror: text(), charts: vec![text()] },
        HoldReason::MirrorUnread { mirror: text(), reason: text() },
        HoldReason::NoneEligible { reason: text() },
        HoldReason::Downgrade { running: edge("26.8.2") },
        HoldReason::UnknownRelease,
        HoldReason::HopUnavailable { hop: edge("25.7.6"), reason: text() },
        HoldReason::WentBack { from: edge("26.8.3"), pull: "#7".to_owned(), undone: false },
        HoldReason::WentBack { from: edge("26.8.3"), pull: "#8".to_owned(), undone: true },
        HoldReason::NoWayBack { reason: text() },
        HoldReason::Refused { reason: text() },
        HoldReason::WayBackGone { reason: text() },
        HoldReason::ProxiesAhead { target: text(), running: edge("26.8.2") },
        HoldReason::ControlPlaneGoesBack { to: edge("26.8.2") },
        HoldReason::DataPlaneWait,
        HoldReason::ControlPlaneUnknown,
        HoldReason::ControlPlaneWentBack { running: edge("26.8.2") },
        HoldReason::ControlPlaneBehind { running: Some(edge("26.8.2")), installation: None },
        HoldReason::ControlPlaneBehind { running: None, installation: Some("dev".into()) },
        HoldReason::ControlPlaneSuspended { installation: Some("dev".into()) },
    ];
    for reason in reasons {
        for (release, until) in [(None, None), (Some(edge("26.8.3")), Some(now()))] {
            let hold = Hold { reason: reason.clone(), release, until };
            let text = describe(&hold);
            assert!(text.contains("until ") && !text.ends_with('.'), "{text}");
        }
    }
}
