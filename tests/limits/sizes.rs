//! Contents of any size.

use proptest::prelude::*;
use uplinker::{
    explain::{
        Basis, Content, Dialect, FoundOut, Marker, Search, Ticks,
        body::{self, Frame},
        content::*,
    },
    pins::{Reason, Stage},
    verify::{CheckId, Stretch},
};

use super::shape;
use crate::hostile_texts::page;

/// How often each list's entry is repeated, and what every text from outside is.
#[derive(Clone, Debug)]
struct Size {
    counts: [usize; 12],
    text: String,
    data_plane: bool,
}

fn size() -> impl Strategy<Value = Size> {
    let count = prop_oneof![Just(0_usize), Just(1), Just(3), 4..60_usize, Just(400)];
    let word = prop_oneof![
        Just("x"),
        Just("#"),
        Just("@"),
        Just("é"),
        Just("🚀"),
        Just("|"),
        Just("`"),
        Just("a "),
        Just("\u{202e}"),
        Just("0a"),
        Just("</details>"),
        Just("```\n"),
        Just("https://linkerd.io/x/"),
    ];
    let length = prop_oneof![1..8_usize, Just(40), Just(299), Just(900)];
    (proptest::array::uniform12(count), word, length, any::<bool>())
        .prop_map(|(counts, word, length, data_plane)| Size { counts, text: word.repeat(length), data_plane })
}

fn repeated<T: Clone>(list: &[T], n: usize) -> Vec<T> {
    list.iter().cycle().take(if list.is_empty() { 0 } else { n }).cloned().collect()
}

fn content(size: &Size) -> Content {
    let mut content = page::filled_with(&size.text);
    let [rows, places, findings, stays, charts, objects, fields, releases, items, notices, order, workloads] =
        size.counts;
    content.stage = if size.data_plane { Stage::DataPlane } else { Stage::Platform };
    content.rows = repeated(&content.rows, rows);
    content.rows.iter_mut().for_each(|r| r.places = repeated(&r.places, places));
    for list in [&mut content.blocks, &mut content.warnings, &mut content.infos] {
        *list = repeated(list, findings);
    }
    content.stays = repeated(&content.stays, stays.min(30));
    let cluster = &mut content.cluster;
    if let Some(chart) = cluster.charts.first_mut() {
        let fields: Vec<Field> = repeated(&chart.objects_changed[0].fields, fields.min(90));
        chart.objects_changed[0].fields = fields;
        chart.objects_changed = repeated(&chart.objects_changed, objects.min(30));
        chart.added = repeated(&chart.added, objects);
    }
    cluster.charts = repeated(&cluster.charts, charts.min(6));
    cluster.images = repeated(&cluster.images, charts);
    cluster.restarts[0].workloads = repeated(&cluster.restarts[0].workloads, workloads);
    cluster.missing = repeated(&cluster.missing, charts);
    cluster.certificates.retained = repeated(&cluster.certificates.retained, charts);
    let upstream = &mut content.upstream;
    upstream.releases[0].items = repeated(&upstream.releases[0].items, items);
    upstream.releases = repeated(&upstream.releases, releases.min(30));
    upstream.breaking = repeated(&upstream.breaking, items);
    upstream.notices = repeated(&upstream.notices, notices);
    content.next.order = repeated(&content.next.order, order);
    content.next.one_way = repeated(&content.next.one_way, notices);
    content.next.workloads = repeated(&content.next.workloads, workloads);
    content
}

fn composed(text: &str) -> String {
    let target = "t".repeat(64);
    let id = Some("0123456789abcdef".repeat(4));
    let sign = Marker {
        fingerprint: "f".repeat(64),
        target: target.clone(),
        stage: "data-plane".into(),
        release: page::release(),
        undoes: None,
        inputs: "i".repeat(64),
        head: id.clone(),
        base: id.clone(),
        text: id.clone(),
        status: id.clone(),
        extras: id,
        person: true,
        closing: true,
        declined: true,
        routine: true,
        basis: Some(basis()),
    };
    let frame = Frame {
        dialect: &Dialect::COMMON,
        target: &target,
        stage: Stage::DataPlane,
        release: page::release(),
        undoes: None,
        person: false,
        newer: None,
        keeps_history: true,
        retry: true,
    };
    body::compose(text, &frame, &Ticks::default(), &sign).expect("renders")
}

/// As large as one is kept.
fn basis() -> Basis {
    let search = |n: u64| Search { words: vec!["-".repeat(37)], ceiling: u64::MAX - n };
    let stretch = Stretch { since: Some(jiff::Timestamp::MIN), until: Some(jiff::Timestamp::MAX) };
    let (inputs, plan) = ("b".repeat(64), "p".repeat(64));
    let found = FoundOut {
        pin: usize::MAX,
        stays: Some(Reason::NeedsWorkflowsScope),
        version: Some(page::release()),
    };
    let pins = vec![found; 12];
    let basis = Basis { inputs, stretch, searches: (0..8).map(search).collect(), plan, pins, blocked: true };
    assert!(basis.is_sound());
    basis
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_content_fits_and_stays_whole(size in size()) {
        let content = content(&size);
        let text = body::text(&content, &Dialect::COMMON).expect("renders");
        let body = composed(&text);
        shape::assert_body(&body);
        prop_assert_eq!(shape::left_out(&text) > 0, text.replace(" more characters", "").replace("more to check", "").contains(" more"));
    }

    #[test]
    fn any_room_is_kept(size in size(), room in 12_000..300_000_usize) {
        let text = body::within(&content(&size), room, &Dialect::COMMON).expect("renders");
        prop_assert!(text.len() <= room, "{} of {room}", text.len());
        shape::assert_whole(&text);
    }
}

#[test]
fn a_content_that_fits_leaves_nothing_out() {
    let content = page::filled_with("word");
    let text = body::text(&content, &Dialect::COMMON).expect("renders");
    assert_eq!(shape::left_out(&text), 0);
    assert_eq!(text, body::whole(&content, &Dialect::COMMON).expect("renders"));
}

#[test]
fn the_whole_text_has_every_entry() {
    let mut content = page::filled_with("word");
    let numbered = |n: usize| Statement {
        check: CheckId::Order,
        place: None,
        reason: format!("reason-{n}-{}", "long ".repeat(200)),
        hint: None,
    };
    content.warnings = (0..2_000).map(numbered).collect();
    let (text, whole) = (
        body::text(&content, &Dialect::COMMON).expect("renders"),
        body::whole(&content, &Dialect::COMMON).expect("renders"),
    );
    let shown = |text: &str| (0..2_000).filter(|n| text.contains(&format!("reason-{n}-"))).count();
    assert_eq!(shown(&whole), 2_000);
    assert_eq!(shown(&text) + shape::counted(&text), 2_000, "{text}");
    assert!(whole.contains(&"long ".repeat(199)) && !whole.contains("Left out to fit"));
    shape::assert_whole(&whole);
}
