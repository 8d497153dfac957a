//! Required stops: taken first, replaced, or waited for.

use super::*;

#[test]
fn a_required_hop_comes_first_and_says_so() {
    let all = catalog([release("25.1.2", 600), release("25.7.6", 300), release("26.8.3", 1)]);
    let Decision::Target { version, hop_towards, .. } =
        decide(&Policy::default(), &all, &needs("25.1.2", "25.1.2"), now())
    else {
        panic!()
    };
    assert_eq!((version, hop_towards.unwrap().0), (edge("25.7.6"), edge("26.8.3")));
    assert_eq!(target(decide(&Policy::default(), &all, &needs("25.7.6", "25.7.6"), now())), "edge-26.8.3");
    let to = Policy { to: Some(edge("26.8.3")), ..Policy::default() };
    assert_eq!(target(decide(&to, &all, &needs("25.1.2", "25.1.2"), now())), "edge-25.7.6");
    let milestones = Policy { channel: Channel::Milestone, to: Some(edge("26.8.3")), ..Policy::default() };
    assert_eq!(target(decide(&milestones, &all, &needs("25.1.2", "25.1.2"), now())), "edge-25.7.6");
}

#[test]
fn a_hop_that_cannot_be_taken_is_replaced_or_held() {
    let mut all =
        catalog([against("25.7.6"), release("25.9.3", 300), release("25.5.1", 1), release("26.8.3", 1)]);
    let from = needs("25.1.2", "25.1.2");
    assert_eq!(target(decide(&Policy::default(), &all, &from, now())), "edge-25.9.3");
    all.releases.remove(&edge("25.9.3"));
    assert_eq!(target(decide(&Policy::default(), &all, &from, now())), "edge-25.5.1", "any of the stretch");
    all.releases.remove(&edge("25.5.1"));
    let held = hold(decide(&Policy::default(), &all, &from, now()));
    assert!(matches!(&held.reason, HoldReason::HopUnavailable { hop, reason }
        if *hop == edge("25.7.6") && reason.contains("advised against")));
    all.releases.remove(&edge("25.7.6"));
    assert!(hold(decide(&Policy::default(), &all, &from, now())).to_string().contains("no feed names it"));
}

#[test]
fn a_hop_never_takes_another_pin_down() {
    let all = catalog([release("25.7.6", 300), release("26.8.3", 1)]);
    let held = hold(decide(&Policy::default(), &all, &needs("25.1.2", "26.8.2"), now()));
    assert!(held.to_string().contains("a.yaml:7 needs it"), "{held}");
    assert!(held.to_string().contains("edge-26.8.2 and would go down"), "{held}");
}
