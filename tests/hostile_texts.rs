//! Texts that mean harm, in every field of a pull request's body that comes from outside. The finished body is read
//! as GitHub reads Markdown: a hostile text must leave its structure as a plain word leaves it, with no mention, no
//! reference and no mark of ours anywhere.

mod corpus;
pub mod page;
mod reading;
mod whole;

use uplinker::{
    explain::{
        Dialect, Marker, Ticks,
        body::{self, Frame},
        marker,
    },
    pins::Stage,
    propose::forge::kinds,
};

fn finished(text: &str) -> (String, Marker) {
    finished_as(Stage::Platform, text)
}

fn finished_as(stage: Stage, text: &str) -> (String, Marker) {
    finished_on(&Dialect::COMMON, stage, text)
}

fn finished_on(dialect: &Dialect, stage: Stage, text: &str) -> (String, Marker) {
    // Names of targets are short by rule.
    let target: &str = &text.chars().take(99).collect::<String>();
    let short = text.chars().take(99).collect::<String>();
    let sign = Marker::new(target, stage, page::release(), &short, &short);
    let frame = Frame {
        dialect,
        target,
        stage,
        undoes: None,
        release: page::release(),
        person: false,
        newer: None,
        keeps_history: true,
        retry: true,
    };
    let content = uplinker::explain::Content { stage, ..page::filled_with(text) };
    let text = body::text(&content, dialect).expect("renders");
    (body::compose(&text, &frame, &Ticks::default(), &sign).expect("renders"), sign)
}

#[test]
fn the_corpus_is_large_and_has_no_text_twice() {
    let texts = corpus::texts();
    let distinct: std::collections::BTreeSet<&String> = texts.iter().collect();
    assert_eq!(distinct.len(), texts.len());
    assert!(texts.len() >= 100, "{}", texts.len());
}

#[test]
fn no_text_changes_what_a_body_is_made_of() {
    // What is longer than shown is counted at the end.
    let [short, long] = ["word", &"word".repeat(200)].map(|text| reading::structure(&finished(text).0));
    for (text, words) in corpus::texts().iter().map(|t| (t, reading::escaped(t))) {
        let expected = if text.chars().count() > 300 { &long } else { &short };
        let (body, _) = finished(text);
        let found = reading::structure(&body);
        let at = expected.iter().zip(&found).position(|(e, f)| e != f);
        assert!(
            &found == expected,
            "{words} changes part {at:?}: {:?} became {:?}\n{body}",
            at.map(|n| &expected[n]),
            at.map(|n| &found[n]),
        );
    }
}

#[test]
fn no_text_acts_in_a_body_of_the_data_plane() {
    let of = |text: &str| finished_as(Stage::DataPlane, text).0;
    let [short, long] = ["word", &"word".repeat(200)].map(|text| reading::structure(&of(text)));
    for text in corpus::texts() {
        let expected = if text.chars().count() > 300 { &long } else { &short };
        let (body, words) = (of(&text), reading::escaped(&text));
        assert_eq!(&reading::structure(&body), expected, "{words}\n{body}");
        let effects = reading::effects(&body);
        assert!(effects.is_empty(), "{words} has {effects:?}");
    }
}

#[test]
fn an_empty_text_makes_no_heading_of_the_line_above() {
    let (plain, _) = finished("word");
    let (body, _) = finished("");
    let kept = |body: &str| -> Vec<String> {
        let parts = reading::structure(body).into_iter();
        parts.filter(|p| ["heading", "html", "box", "link"].iter().any(|k| p.starts_with(k))).collect()
    };
    let release = |part: &String| !part.starts_with("link https://github.com");
    let (plain, body) = (kept(&plain), kept(&body));
    assert!(body.iter().filter(|p| release(p)).all(|p| plain.contains(p)), "{body:?}");
    assert_eq!(
        body.iter().filter(|p| p.starts_with("heading")).count(),
        plain.iter().filter(|p| p.starts_with("heading")).count()
    );
}

#[test]
fn no_text_mentions_refers_or_hides() {
    for text in corpus::texts() {
        let (body, _) = finished(&text);
        let effects = reading::effects(&body);
        assert!(effects.is_empty(), "{} has {effects:?}", reading::escaped(&text));
    }
}

#[test]
fn no_text_refers_or_commands_on_gitlab() {
    let gitlab = kinds::named("gitlab").expect("a forge").dialect;
    let of_gitlab = [
        "/close",
        "/merge\n/approve",
        "fine\n\n/label ~bug",
        "!1",
        "acme/mesh!12",
        "%3",
        "~bug",
        "~\"a b\"",
        "$4",
        "&5",
        "&#33;1",
        "[vulnerability:1]",
        "*iteration:\"a\"",
        "^alert#1",
    ];
    for text in of_gitlab {
        assert!(!reading::on_gitlab(text).is_empty(), "the reader sees {text}");
    }
    for text in corpus::texts().into_iter().chain(of_gitlab.map(str::to_owned)) {
        for stage in [Stage::Platform, Stage::DataPlane] {
            let (body, _) = finished_on(gitlab, stage, &text);
            let mut effects = reading::effects(&body);
            effects.extend(reading::on_gitlab(&body));
            assert!(effects.is_empty(), "{} has {effects:?}", reading::escaped(&text));
        }
    }
}

#[test]
fn no_text_forges_the_marker_or_ticks_a_box() {
    for text in corpus::texts() {
        let (body, sign) = finished(&text);
        let words = reading::escaped(&text);
        assert_eq!(marker::read(&body), Some(sign.clone()), "{words}");
        assert_eq!(Ticks::read(&body), Ticks::default(), "{words}");
        assert_eq!(marker::read(&body.replace('\n', "\r\n")), Some(sign), "{words}");
        assert!(body.chars().count() <= Dialect::COMMON.body, "{words}");
        // Without its last line, nothing in it passes for a marker.
        let (above, _) = body.trim_end().rsplit_once('\n').expect("several lines");
        assert_eq!(marker::read(above), None, "{words}");
    }
}

#[test]
fn the_reader_sees_each_effect_where_a_text_is_not_made_harmless() {
    let plain = reading::structure("before\n\nafter\n");
    for text in
        ["<b>x</b>", "![x](y)", "[x](//y)", "- [x] box", "https://example.org", "# head", "```\nx\n```"]
    {
        assert_ne!(reading::structure(&format!("before\n\n{text}\n\nafter\n")), plain, "{text}");
    }
    for text in [
        "@ada",
        "&#64;ada",
        "fixes #1",
        "GH-1",
        "a/b#2",
        ":tada:",
        "\u{202e}x",
        "a7c9f3e",
        "a/b@a7c9f3e",
        "<!-- uplinker:x -->",
    ] {
        assert!(!reading::effects(&format!("before {text}\n")).is_empty(), "{text}");
    }
}
