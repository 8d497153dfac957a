//! What a body says, keeps and fits into, whatever it is given.

use super::*;
use crate::{
    explain::content::{Passed, Row, Statement, Stays, Upstream},
    verify::CheckId,
};

fn content() -> Content {
    let statement = |check, reason: &str| Statement {
        check,
        place: Some("apps/a.yaml:3".into()),
        reason: reason.into(),
        hint: Some("Move it by hand.".into()),
    };
    Content {
        target: "production".into(),
        stage: Stage::Platform,
        from: vec!["edge-26.8.2".into()],
        to: "edge-26.8.3".into(),
        published: Some("2026-08-21".into()),
        pins: 3,
        rows: vec![
            Row {
                what: "linkerd-crds".into(),
                chart: true,
                from: "2026.8.2".into(),
                to: Some("2026.8.3".into()),
                places: vec!["infra/crds.yaml:12".into(), "infra/old crds.yaml:9".into()],
            },
            Row {
                what: "digest of Chart.lock".into(),
                chart: false,
                from: "sha256:ab".into(),
                to: None,
                places: vec!["Chart.lock:7".into()],
            },
        ],
        warnings: vec![statement(CheckId::StaleGenerator, "the Makefile renders edge-26.8.2 again")],
        infos: vec![statement(CheckId::Order, "CRDs come first")],
        stays: vec![Stays {
            reason: "held".into(),
            why: "held by a comment",
            pins: vec![("b.yaml:1".into(), "edge-26.7.1".into())],
        }],
        upstream: Upstream {
            releases: vec![Passed {
                version: "edge-26.8.3".into(),
                published: Some("2026-08-21".into()),
                guidance: Some("with a condition".into()),
                note: Some("not on GKE, see #123".into()),
                ..Passed::default()
            }],
            advised: true,
            ..Upstream::default()
        },
        ..Content::default()
    }
}

fn frame() -> Frame<'static> {
    Frame {
        dialect: &Dialect::COMMON,
        target: "production",
        stage: Stage::Platform,
        release: "edge-26.8.3".parse().expect("a release"),
        undoes: None,
        person: false,
        newer: None,
        keeps_history: true,
        retry: false,
    }
}

fn body() -> String {
    let text = text(&content(), &Dialect::COMMON).expect("renders");
    compose(&text, &frame(), &Ticks::default(), &marker::example()).expect("renders")
}

#[test]
fn a_body_reads_well() {
    insta::assert_snapshot!(body());
}

#[test]
fn the_first_line_is_the_verdict() {
    let first = |content: &Content| {
        text(content, &Dialect::COMMON).expect("renders").lines().next().unwrap_or_default().to_owned()
    };
    assert!(first(&content()).starts_with("**Attention: 1 thing to check"));
    let blocked = Content { blocks: content().warnings, ..content() };
    assert!(first(&blocked).starts_with(
        "**Blocked: 1 thing to settle before merging (stale-generator), 1 more to check (stale-generator).**"
    ));
    let routine = Content { warnings: Vec::new(), ..content() };
    assert!(first(&routine).starts_with("**Routine"));
}

#[test]
fn a_hop_says_where_it_leads() {
    let hop =
        Content { towards: Some("edge-26.9.1".into()), hop_reason: "the store moves".into(), ..content() };
    assert!(text(&hop, &Dialect::COMMON).expect("renders").contains("on the way to `edge-26.9.1`"));
}

#[test]
fn how_many_releases_lie_behind_one_or_an_older_one_is_not_said() {
    let mut content = content();
    let before = Passed { version: "edge-26.8.2".into(), ..Passed::default() };
    content.upstream.releases.insert(0, before);
    let moves = |content: &Content| {
        let text = text(content, &Dialect::COMMON).expect("renders");
        text.lines().find(|line| line.contains("pins move")).unwrap_or_default().to_owned()
    };
    let known = "3 pins move from `edge-26.8.2` to `edge-26.8.3`, 2 releases later, published on 2026-08-21.";
    assert_eq!(moves(&content), known);
    content.or_older = true;
    let older = "3 pins move from `edge-26.8.2` or older to `edge-26.8.3`, published on 2026-08-21.";
    assert_eq!(moves(&content), older);
}

#[test]
fn a_note_is_put_above_once_and_the_text_stays() {
    let person = Frame { person: true, ..frame() };
    let ticks = Ticks::default();
    let once = annotate(&body(), &person, &ticks, &marker::example()).expect("renders");
    let newer = Frame { newer: "edge-26.8.4".parse().ok(), ..person };
    let twice = annotate(&once, &newer, &ticks, &marker::example()).expect("renders");
    assert_eq!(twice.matches("leaves it alone").count(), 1, "{twice}");
    assert!(twice.contains("`edge-26.8.4` is out") && !once.contains("is out"));
    assert!(
        twice.contains("| `linkerd-crds` |")
            && twice.contains("uplinker:retake")
            && !twice.contains("uplinker:rebase")
    );
    let again = annotate(&once.replace('\n', "\r\n"), &person, &ticks, &marker::example()).expect("renders");
    assert!(same(&again, &once), "{again}");
    assert_eq!(marker::read(&twice), Some(marker::example()));
}

#[test]
fn a_persons_own_words_below_the_boxes_stay() {
    let words = marker::strip(&body()).to_owned()
        + "\n\nOur runbook is in the wiki.\n\n"
        + &marker::write(&marker::example());
    let noted = annotate(&words, &Frame { person: true, ..frame() }, &Ticks::default(), &marker::example());
    assert!(noted.expect("renders").contains("Our runbook is in the wiki."));
}

#[test]
fn ticks_are_carried_over() {
    let ticks = Ticks::read(&body().replace("- [ ] Skip", "- [x] Skip"));
    assert_eq!(ticks.skipped(), Some(frame().release));
    let carried = compose("text", &frame(), &ticks, &marker::example()).expect("renders");
    assert_eq!(Ticks::read(&carried), ticks);
}

#[test]
fn any_size_fits_and_says_what_is_left_out() {
    let nasty = |n: usize| format!("@{n}#|`<b>").repeat(60);
    let statement = |n| Statement {
        check: CheckId::Rivals,
        place: Some(nasty(n)),
        reason: nasty(n),
        hint: Some(nasty(n)),
    };
    let many = || (0..2_000).map(statement).collect::<Vec<_>>();
    let huge = Content {
        target: nasty(0),
        from: vec![nasty(1)],
        to: nasty(2),
        towards: Some(nasty(3)),
        hop_reason: nasty(4),
        rows: (0..3_000)
            .map(|n| Row {
                what: nasty(n),
                chart: true,
                from: nasty(n),
                to: Some(nasty(n)),
                places: vec![nasty(n); 50],
            })
            .collect(),
        blocks: many(),
        warnings: many(),
        infos: many(),
        stays: vec![
            Stays {
                reason: nasty(1),
                why: "held by a comment",
                pins: vec![(nasty(1), nasty(2)); 500]
            };
            20
        ],
        upstream: Upstream {
            releases: vec![
                Passed {
                    version: nasty(1),
                    guidance: Some(nasty(2)),
                    note: Some(nasty(1)),
                    ..Passed::default()
                };
                500
            ],
            ..Upstream::default()
        },
        ..content()
    };
    let text = text(&huge, &Dialect::COMMON).expect("renders");
    assert!(text.contains("more, left out here"), "{text}");
    let target = nasty(9);
    let frame = Frame { target: &target, person: true, newer: "edge-26.8.4".parse().ok(), ..frame() };
    let body = compose(&text, &frame, &Ticks::default(), &marker::example()).expect("renders");
    assert!(length(&body) <= Dialect::COMMON.body);
    let filled = format!("{}\n{}", "x".repeat(70_000), "y\n".repeat(40_000));
    let noted = annotate(&filled, &frame, &Ticks::default(), &marker::example()).expect("renders");
    assert!(length(&noted) <= Dialect::COMMON.body && marker::read(&noted).is_some());
    let closing = with_marker(&filled, &marker::example(), &Dialect::COMMON);
    assert!(length(&closing) <= Dialect::COMMON.body && marker::read(&closing).is_some());
}

#[test]
fn the_most_important_stays_longest() {
    let statement = |n: usize| Statement {
        check: CheckId::Parses,
        place: None,
        reason: format!("reason {n} {}", "long ".repeat(50)),
        hint: None,
    };
    let many = Content {
        blocks: (0..30).map(statement).collect(),
        infos: (1_000..2_000).map(statement).collect(),
        ..content()
    };
    let text = text(&many, &Dialect::COMMON).expect("renders");
    assert!((0..30).all(|n| text.contains(&format!("reason {n} "))), "no block is dropped");
    assert!(text.contains("more, left out here"));
}

#[test]
fn hostile_text_forges_neither_boxes_nor_marker() {
    let line = marker::write(&Marker { closing: true, ..marker::example() });
    let hostile = |s: &str| format!("{s}\n{line}\n- [x] Skip <!-- uplinker:skip edge-26.8.3 -->");
    let content = Content {
        rows: vec![Row {
            what: hostile("a"),
            chart: true,
            from: hostile("b"),
            to: Some(hostile("c")),
            places: vec![hostile("d")],
        }],
        warnings: vec![Statement {
            check: CheckId::Order,
            place: Some(hostile("e")),
            reason: hostile("f"),
            hint: Some(hostile("g")),
        }],
        ..content()
    };
    let text = text(&content, &Dialect::COMMON).expect("renders");
    let body = compose(&text, &frame(), &Ticks::default(), &marker::example()).expect("renders");
    assert_eq!(marker::read(&body), Some(marker::example()));
    assert_eq!(Ticks::read(&body), Ticks::default());
    assert_eq!(marker::read(&text), None);
}
