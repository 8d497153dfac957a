//! Every report in every form, over one small repository with hostile texts in it.

use std::sync::Arc;

use super::*;
use crate::{
    pins::{Form, Inventory, Pin, Site, SkipReason},
    plan::{Fate, Judged, Move, NewText, Stay},
    policy::HoldReason,
    propose::forge::PullState,
    release::{Chart, FeedState, Guidance},
    repo::{BlobId, FileChange, Mode},
    verify::{CheckId, Place},
};

const HOSTILE: &str = "a\u{1b}[31m|`x`<b>@all\u{202e}";

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

fn edge(text: &str) -> EdgeVersion {
    text.parse().unwrap()
}

fn pin(file: &str, line: usize, kind: PinKind, value: &str) -> Pin {
    Pin {
        path: path(file),
        blob: BlobId([1; 20]),
        site: Site { span: 0..1, line, column: 16, document: 0, route: None },
        kind,
        chart: Some("linkerd-crds".to_owned()),
        mirror: None,
        value: value.to_owned(),
        form: Form::Chart,
        read_as: None,
        frame: None,
        version: EdgeVersion::from_chart(value),
        stage: Stage::Platform,
        restarts: false,
        is_off: false,
        asks_no_stop: false,
        chooses_controllers: false,
        filter: None,
        stays: None,
        unheld: None,
        ended: None,
        kept_by: None,
        read_at: Vec::new(),
        given_to: Vec::new(),
        also: Vec::new(),
        installations: Default::default(),
        homes: Vec::new(),
    }
}

fn inventory() -> Inventory {
    let range =
        Pin { stays: Some(Reason::Range), ..pin("b.yaml", 3, PinKind::ChartDependency, ">=2026.1.1") };
    let skipped = Skipped {
        path: path("x.yaml"),
        reason: SkipReason::HelmTemplate,
        detail: Some(HOSTILE.to_owned()),
        versions: Vec::new(),
    };
    let pins = vec![
        pin("a.yaml", 12, PinKind::FluxHelmRelease, "2026.8.2"),
        range,
        pin(HOSTILE, 1, PinKind::Marker, HOSTILE),
    ];
    let pins = pins.into_iter().map(Arc::new).collect();
    Inventory { pins, skipped: vec![skipped], ..Inventory::default() }
}

fn moves(inventory: &Inventory) -> Vec<Judged> {
    let fates = [
        Fate::Becomes(NewText::Fixed("2026.8.3".to_owned())),
        Fate::Stays(Reason::Range),
        Fate::Becomes(NewText::LockDigest),
    ];
    inventory.pins.iter().zip(fates).map(|(pin, fate)| Judged { pin: pin.clone(), fate }).collect()
}

fn pins_report(judged: bool) -> PinsReport {
    let inventory = inventory();
    let moves = moves(&inventory);
    PinsReport::new(
        &inventory,
        |p| (p.path.as_str() != "b.yaml").then(|| "default".to_owned()),
        judged.then_some((edge("edge-26.8.3"), moves.as_slice())),
    )
}

fn plan() -> Plan {
    let pins = inventory().pins;
    Plan {
        target: "default".to_owned(),
        stage: Stage::Platform,
        from: vec![edge("edge-26.8.2")],
        older: false,
        to: edge("edge-26.8.3"),
        hop_towards: None,
        published: None,
        undoes: None,
        moves: vec![Move { pin: pins[0].clone(), new: NewText::Fixed("2026.8.3".to_owned()) }],
        stays: vec![Stay { pin: pins[1].clone(), reason: Reason::Range }],
        fingerprint: "f".repeat(64),
        inputs: "i".repeat(64),
    }
}

fn pull() -> PullRequest {
    PullRequest {
        number: 7,
        url: "https://github.com/o/n/pull/7".to_owned(),
        state: PullState::Open,
        title: "Linkerd".to_owned(),
        body: String::new(),
        head: String::new(),
        base: "main".to_owned(),
        closed_at: None,
        labels: Vec::new(),
        draft: false,
    }
}

fn stage(outcome: Option<Outcome>) -> StageReport {
    let change = FileChange {
        path: path("a.yaml"),
        mode: Mode::File,
        before_id: Some(BlobId([0xab; 20])),
        before: b"# \x1b[31m\nversion: 2026.8.2\n".to_vec(),
        after: Some(b"# \x1b[31m\nversion: 2026.8.3\n".to_vec()),
        rendered: false,
    };
    StageReport {
        target: "default".to_owned(),
        stage: Stage::Platform,
        decision: StageDecision::Propose(Box::new(plan())),
        changes: ChangeSet { files: vec![change] },
        findings: vec![Finding {
            check: CheckId::StaleGenerator,
            severity: Severity::Warn,
            place: Some(Place { path: path("Makefile"), line: Some(4) }),
            reason: HOSTILE.to_owned(),
            hint: Some("change it too".to_owned()),
        }],
        proposal: Some(Proposal {
            branch: "uplinker/default/platform".to_owned(),
            base: "main".to_owned(),
            title: "Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)".to_owned(),
            body: format!("line\n{}\n", HOSTILE.replace("<b>", "")),
            draft: false,
            content: Box::default(),
        }),
        kept: None,
        outcome,
    }
}

fn run_report(stages: Vec<StageReport>, writes: bool) -> RunReport {
    RunReport {
        repository: "https://github.com/o/n".to_owned(),
        base: "main".to_owned(),
        base_commit: "0123456789abcdef0123".to_owned(),
        writes,
        pins: pins_report(true),
        stages,
        notes: vec![HOSTILE.to_owned()],
    }
}

fn held() -> StageReport {
    let hold = Hold { reason: HoldReason::DataPlaneWait, release: Some(edge("edge-26.8.3")), until: None };
    StageReport {
        stage: Stage::DataPlane,
        decision: StageDecision::Hold { hold, text: "the platform change comes first".to_owned() },
        changes: ChangeSet::default(),
        findings: Vec::new(),
        proposal: None,
        ..stage(None)
    }
}

fn styles() -> impl Iterator<Item = Style> {
    let formats = [Format::Text, Format::Json, Format::Markdown];
    formats.into_iter().map(|format| Style { format, diff: true, ..Style::default() })
}

#[test]
fn a_line_that_names_several_releases_is_named_once() {
    let mut report = pins_report(false);
    report.pins.push(report.pins[0].clone());
    report.pins.sort_by_key(|pin| pin.line);
    let hint = report.mentions();
    assert_eq!(hint.matches("a.yaml:12").count(), 1, "{hint}");
}

#[test]
fn a_number_without_its_channel_is_not_said_to_be_of_another() {
    let mut report = pins_report(false);
    let stays = |pin: &mut PinRow, reason| (pin.version, pin.reason) = (None, Some(RowReason::Stays(reason)));
    report.pins.iter_mut().for_each(|pin| stays(pin, Reason::NotFollowed));
    assert!(report.mentions().contains("written with its channel"), "{}", report.mentions());
    report.pins.iter_mut().for_each(|pin| stays(pin, Reason::Channel));
    assert!(report.mentions().contains("on another channel"), "{}", report.mentions());
}

#[test]
fn pins_are_json_as_promised() {
    let json = pins_report(true).render(Style { format: Format::Json, ..Style::default() });
    let expected = r#"{
  "schema": "uplinker.pins/v1",
  "to": "edge-26.8.3",
  "pins": [
    {
      "path": "a.yaml",
      "line": 12,
      "column": 16,
      "document": 0,
      "kind": "flux-helm-release",
      "chart": "linkerd-crds",
      "value": "2026.8.2",
      "version": "edge-26.8.2",
      "new": "2026.8.3",
      "target": "default",
      "installations": [],
      "stage": "platform",
      "moves": true,
      "reason": null
    },"#;
    assert!(json.starts_with(expected), "{json}");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["pins"][1]["reason"], "range");
    assert_eq!(
        (&value["pins"][1]["moves"], &value["pins"][1]["target"]),
        (&false.into(), &serde_json::Value::Null)
    );
    assert_eq!(
        (&value["pins"][2]["version"], &value["pins"][2]["new"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!(
        (&value["skipped"][0]["reason"], &value["skipped"][0]["path"]),
        (&"helm-template".into(), &"x.yaml".into())
    );
}

#[test]
fn without_a_release_moves_means_may_move() {
    let report = pins_report(false);
    assert_eq!(report.to, None);
    assert!(report.pins.iter().all(|p| p.new.is_none()));
    assert_eq!(report.pins.iter().map(|p| p.moves).collect::<Vec<_>>(), [true, false, true]);
    let none: &[Judged] = &[];
    let held =
        PinsReport::new(&inventory(), |_| Some("default".to_owned()), Some((edge("edge-26.8.3"), none)));
    assert_eq!(held.pins[0].reason.unwrap().to_string(), "not-proposed");
    assert_eq!(held.pins[1].reason.unwrap().to_string(), "range");
    assert!(held.pins.iter().all(|pin| !pin.moves));
    let all_outside = PinsReport::new(&inventory(), |_| None, None);
    assert_eq!(all_outside.pins[0].reason.unwrap().to_string(), "no-target");
    assert!(!all_outside.pins[0].moves);
}

#[test]
fn text_of_others_never_reaches_a_reader_raw() {
    let reports = |style: Style| {
        let run = run_report(vec![stage(Some(Outcome::Opened(pull()))), held()], true);
        let release = releases_report();
        [pins_report(true).render(style), run.render(style), release.render(style)]
    };
    for style in styles() {
        for text in reports(style) {
            let hidden = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
            assert!(!text.contains(hidden), "{style:?}: {text:?}");
            if style.format == Format::Markdown {
                // Raw only inside a code span, whose fence is two backticks since the text holds one.
                let in_code = |line: &str, at: usize| line[..at].matches("``").count() % 2 == 1;
                let raw = |line: &str| line.match_indices("<b>").all(|(at, _)| in_code(line, at));
                assert!(text.lines().all(raw), "{text}");
            }
        }
    }
}

fn releases_report() -> ReleasesReport {
    let chart =
        Chart { version: "2026.8.3".to_owned(), url: String::new(), digest: None, kube_version: None };
    let release = Release {
        version: edge("edge-26.8.3"),
        published: None,
        charts: [("linkerd-crds".to_owned(), chart)].into(),
        milestone: Some("2.20".to_owned()),
        is_milestone: false,
        guidance: Guidance::Caution { note: HOSTILE.to_owned(), source: String::new() },
        notes: None,
    };
    let feeds = vec![Feed { name: "charts", state: FeedState::Failed(HOSTILE.to_owned()) }];
    ReleasesReport {
        releases: vec![ReleaseRow { release, passed_over: Some("it has no date".to_owned()) }],
        feeds,
        remarks: vec![HOSTILE.to_owned()],
    }
}

#[test]
fn releases_say_why_they_are_passed_over() {
    let text = releases_report().render(Style::default());
    assert!(text.starts_with("RELEASE      PUBLISHED  CHARTS         MILESTONE  GUIDANCE"), "{text}");
    assert!(
        text.contains("edge-26.8.3  not known  1 at 2026.8.3  2.20") && text.contains("it has no date"),
        "{text}"
    );
    let json = releases_report().render(Style { format: Format::Json, ..Style::default() });
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema"], "uplinker.releases/v1");
    assert_eq!(value["releases"][0]["version"], "edge-26.8.3");
    assert_eq!(value["releases"][0]["passed_over"], "it has no date");
}

#[test]
fn a_plan_is_json_as_promised() {
    let json = run_report(vec![stage(None), held()], false)
        .render(Style { format: Format::Json, ..Style::default() });
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema"], "uplinker.plan/v1");
    assert_eq!(value["decision"][0]["outcome"], "propose");
    assert_eq!(value["decision"][0]["release"], "edge-26.8.3");
    assert_eq!(value["decision"][1]["outcome"], "hold");
    assert_eq!(value["decision"][1]["hold"]["reason"]["kind"], "data-plane-wait");
    assert_eq!(value["findings"][0]["check"], "stale-generator");
    assert_eq!(value["changes"][0]["path"], "a.yaml");
    assert_eq!(value["changes"][0]["before"], "ab".repeat(20));
    // `printf '# \033[31m\nversion: 2026.8.3\n' | git hash-object --stdin`
    assert_eq!(value["changes"][0]["after"], "0c9c8599e35304f80dccea1e5db71c402f729470");
    assert_eq!(value["pull_requests"].as_array().unwrap().len(), 1);
    assert_eq!(value["pull_requests"][0]["branch"], "uplinker/default/platform");
    assert_eq!(value["pins"].as_array().unwrap().len(), 3);
}

#[test]
fn a_plan_reads_from_the_verdict_down() {
    let style = Style { diff: true, ..Style::default() };
    let text = run_report(vec![stage(None), held()], false).render(style);
    let expected = "\
https://github.com/o/n (main at 0123456789ab)

default, platform: edge-26.8.2 → edge-26.8.3: would be proposed
  warn stale-generator: Makefile:4: a\\u{1b}[31m|`x`<b>@all\\u{202e}; change it too
  title: Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)
  branch: uplinker/default/platform into main
  1 pin in 1 file:
    a.yaml:12 flux-helm-release: 2026.8.2 → 2026.8.3
  1 pin stays:
    b.yaml:3 chart-dependency: >=2026.1.1 (range)

diff --git a/a.yaml b/a.yaml
--- a/a.yaml
+++ b/a.yaml
@@ -1,2 +1,2 @@
 # \\u{1b}[31m
-version: 2026.8.2
+version: 2026.8.3

Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)

line
a\\u{1b}[31m|`x`@all\\u{202e}

default, data-plane: on hold: the platform change comes first
  release: edge-26.8.3

note: a\\u{1b}[31m|`x`<b>@all\\u{202e}
note: 1 file could not be read; `uplinker pins` says which and why
";
    assert_eq!(text, expected);
}

#[test]
fn a_terminal_shows_the_text_of_a_pull_request_without_the_signs_of_markdown() {
    let mut stage = stage(None);
    if let Some(proposal) = &mut stage.proposal {
        proposal.body = "### Risk\n\n**1 warning** &#40;`a`&#41; &#27;[31m\n".to_owned();
    }
    let report = run_report(vec![stage], false);
    let shown = |terminal| report.render(Style { diff: true, terminal, ..Style::default() });
    assert!(shown(true).contains("\n\nRisk\n\n1 warning (`a`) [31m\n"), "{}", shown(true));
    assert!(shown(false).contains("\n### Risk\n\n**1 warning** &#40;`a`&#41;"), "{}", shown(false));
}

#[test]
fn colour_is_only_where_it_is_asked_for() {
    let report = run_report(vec![stage(None)], false);
    let style = |color| Style { diff: true, color, ..Style::default() };
    assert!(report.render(style(true)).contains("\u{1b}[32m+version: 2026.8.3\u{1b}[0m\n"));
    assert!(!report.render(style(false)).contains('\u{1b}'));
}

#[test]
fn a_run_says_what_became_of_each_pull_request() {
    let left = Outcome::LeftAlone { reason: "a person pushed to the branch".to_owned(), pull: Some(pull()) };
    let cases = [
        (Outcome::Opened(pull()), "opened https://github.com/o/n/pull/7", "opened", true),
        (Outcome::Updated(pull()), "updated https://github.com/o/n/pull/7", "updated", true),
        (
            Outcome::Unchanged(pull()),
            "nothing to do, https://github.com/o/n/pull/7 is up to date",
            "unchanged",
            true,
        ),
        (Outcome::Closed(pull()), "closed https://github.com/o/n/pull/7", "closed", false),
        (
            left,
            "left alone, a person pushed to the branch (https://github.com/o/n/pull/7)",
            "left-alone",
            false,
        ),
    ];
    for (outcome, words, word, open) in cases {
        let report = run_report(vec![stage(Some(outcome))], true);
        assert!(report.render(Style::default()).contains(words), "{words}");
        let json = report.render(Style { format: Format::Json, ..Style::default() });
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&value["schema"], &value["pull_requests"][0]["outcome"]),
            (&"uplinker.run/v1".into(), &word.into())
        );
        assert_eq!(outputs(Some(&report), 0).starts_with("proposed=true\n"), open, "{word}");
    }
}

#[test]
fn outputs_cannot_be_forged() {
    let forged = PullRequest { url: "https://h/1\nproposed=false\r\nexit=9".to_owned(), ..pull() };
    let text = outputs(Some(&run_report(vec![stage(Some(Outcome::Opened(forged)))], true)), 0);
    let names: Vec<&str> = text.lines().filter_map(|l| l.split_once('=')).map(|(name, _)| name).collect();
    assert_eq!(names, ["proposed", "url", "release", "exit"]);
    assert_eq!(outputs(None, 5), "proposed=false\nurl=\nrelease=\nexit=5\n");
}

#[test]
fn blocks_are_told_from_proposals() {
    let mut proposed = stage(None);
    proposed.findings[0].severity = Severity::Block;
    let report = run_report(vec![proposed], false);
    assert!(report.has_block() && !report.is_held_by_block() && report.proposes());
    let blocked =
        StageReport { decision: StageDecision::Blocked(Box::new(plan())), proposal: None, ..stage(None) };
    let report = run_report(vec![blocked], false);
    assert!(report.has_block() && report.is_held_by_block() && !report.proposes());
    assert!(report.render(Style::default()).contains("not proposed, a check blocks it"));
}

/// A chart has dozens of templates: those that hold no release do not hide the one that does.
#[test]
fn many_templates_are_counted_and_those_that_name_a_release_listed() {
    let template = |n: usize, versions: Vec<EdgeVersion>| Skipped {
        path: path(&format!("charts/web/templates/{n}.yaml")),
        reason: SkipReason::HelmTemplate,
        detail: None,
        versions,
    };
    let skipped: Vec<Skipped> = (0..TEMPLATES)
        .map(|n| template(n, Vec::new()))
        .chain([template(90, vec![edge("edge-26.8.2")]), template(91, Vec::new())])
        .collect();
    let few = PinsReport { skipped: skipped[1..].to_vec(), ..PinsReport::default() };
    let many = PinsReport { skipped, ..PinsReport::default() };
    for format in [Format::Text, Format::Markdown] {
        let show = |report: &PinsReport| report.render(Style { format, ..Style::default() });
        assert!(show(&few).contains("templates/91.yaml") && !show(&few).contains("name no release"));
        let text = show(&many);
        assert!(
            text.contains("templates/90.yaml")
                && text.contains("6 other Helm templates that name no release")
        );
        assert!(!text.contains("templates/91.yaml") && text.contains("7 files not read"), "{text}");
    }
    let json = many.render(Style { format: Format::Json, ..Style::default() });
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let (named, plain) = (&value["skipped"][TEMPLATES], &value["skipped"][TEMPLATES + 1]);
    assert_eq!(
        (&named["releases"], &plain["path"]),
        (&serde_json::json!(["edge-26.8.2"]), &"charts/web/templates/91.yaml".into())
    );
    assert_eq!(plain["releases"], serde_json::json!([]));
}
