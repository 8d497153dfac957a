//! The configuration as written: texts with their places, every structural mistake noted.
//!
//! In: text. Out: [`Raw`]. Unknown and repeated keys, wrong types and keys that do not work yet are found here,
//! against the table of keys; what the texts mean is not looked at.

use std::{cell::RefCell, ops::Range};

use super::{
    error::Mistakes,
    locate::MAX_BYTES,
    section::{Section, Spanned, Word, Words, is_null},
};
use crate::yaml::{Ceilings, Node, Stream, YamlError};

/// The whole file as written.
#[derive(Debug, Default)]
pub(super) struct Raw {
    pub version: Word,
    pub base: Word,
    pub paused: Word,
    pub freeze: Vec<RawFreeze>,
    pub policy: RawPolicy,
    pub gates: RawGates,
    pub merge: RawMerge,
    pub targets: Option<Spanned<Vec<RawTarget>>>,
    /// `targets: auto`.
    pub targets_word: Word,
    pub data_plane_pins: Word,
    pub data_plane_after: Word,
    pub data_plane_restart: Word,
    pub waves: Vec<RawWave>,
    pub control_plane: Word,
    pub render: Vec<RawRender>,
    pub drift: Word,
    pub overview: Word,
    pub on_block: Word,
    pub labels: Words,
    pub reviewers: Words,
    pub assignees: Words,
    pub draft: Word,
    pub title: Word,
    pub author: Word,
    pub message: Word,
    pub sign_off: Word,
    pub prefix: Word,
    pub history: Word,
    pub update: Word,
    pub ignore: Words,
}

/// One period.
#[derive(Debug)]
pub(super) struct RawFreeze {
    pub span: Range<usize>,
    pub from: Word,
    pub to: Word,
    pub reason: Word,
}

/// `policy`, of the file or of a target.
#[derive(Debug, Default)]
pub(super) struct RawPolicy {
    pub channel: Word,
    pub soak: Word,
    pub range: Word,
    pub skip: Words,
    pub schedule: Word,
    pub timezone: Word,
}

/// One target.
#[derive(Debug)]
pub(super) struct RawTarget {
    pub span: Range<usize>,
    pub name: Word,
    pub paths: Words,
    pub exclude: Words,
    pub each: Word,
    pub labels: Words,
    pub kubernetes: Word,
    pub policy: RawPolicy,
    pub after: Vec<RawAfter>,
    pub gates: RawGates,
    pub merge: RawMerge,
}

/// `gates`, of the file or of a target.
#[derive(Debug, Default)]
pub(super) struct RawGates {
    pub active: Words,
    pub proposed: Words,
    pub timeout: Word,
    pub on_failure: Word,
}

/// `merge`, of the file or of a target.
#[derive(Debug, Default)]
pub(super) struct RawMerge {
    pub when: Word,
    pub after: Word,
}

/// A target that goes before another.
#[derive(Debug)]
pub(super) struct RawAfter {
    pub span: Range<usize>,
    pub target: Word,
    pub soak: Word,
}

/// One wave of proxies.
#[derive(Debug)]
pub(super) struct RawWave {
    pub span: Range<usize>,
    pub name: Word,
    pub paths: Words,
    pub namespaces: Words,
    pub labels: Words,
    pub soak: Word,
}

/// One rendered manifest.
#[derive(Debug)]
pub(super) struct RawRender {
    pub span: Range<usize>,
    pub chart: Word,
    pub namespace: Word,
    pub values: Words,
    pub output: Word,
}

/// Parses the text as YAML; a text that is none is one mistake.
pub(super) fn document(text: &str, mistakes: &mut Mistakes) -> Option<Stream> {
    let ceilings = Ceilings { bytes: MAX_BYTES, documents: 100, nodes: 50_000, depth: 32 };
    match Stream::parse_within(text, &ceilings) {
        Ok(stream) => Some(stream),
        Err(YamlError::Syntax { line, column, reason }) => {
            let at = offset(text, line, column);
            mistakes.add(at..at, "", format!("this is not YAML: {reason}"), "check indentation and quotes");
            None
        }
        Err(error @ YamlError::TooLarge { .. }) => {
            mistakes.add(0..0, "", format!("the file is too large: {error}"), "shorten it");
            None
        }
    }
}

/// Returns where a key such as `branch.prefix` is written; the beginning of the text where it is not.
pub(super) fn place_of(text: &str, key: &str) -> Range<usize> {
    let keys: Vec<&str> = key.split('.').collect();
    let stream = Stream::parse(text).ok();
    let node = stream.as_ref().and_then(|s| s.roots().next()).and_then(|root| root.path(&keys));
    node.map_or(0..0, Node::span)
}

fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = text.get(start..).unwrap_or_default();
    let within: usize =
        rest.chars().take(column.saturating_sub(1)).take_while(|c| *c != '\n').map(char::len_utf8).sum();
    start + within
}

// === impl Raw ===

impl Raw {
    /// Reads a parsed file.
    pub(super) fn read(text: &str, stream: &Stream, mistakes: &mut Mistakes) -> Self {
        if let Some(second) =
            stream.documents.get(1).map(|d| d.root().map_or(text.len()..text.len(), Node::span))
        {
            mistakes.add(
                second,
                "",
                "the file has more than one document",
                "keep one, without `---` below it",
            );
        }
        let root = stream.documents.first().and_then(|d| d.root()).filter(|root| !is_null(text, *root));
        if let Some(root) = root.filter(|root| !root.is_mapping()) {
            mistakes.add(root.span(), "", "the file must hold keys and values", "begin with `version: 1`");
            return Self::default();
        }
        let mistakes = RefCell::new(mistakes);
        let file = Section::open(text, root, "", &mistakes);
        let (data_plane, pull_request) = (file.section("dataPlane"), file.section("pullRequest"));
        let (commit, branch) = (file.section("commit"), file.section("branch"));
        Self {
            version: file.word("version"),
            base: file.word("base"),
            paused: file.word("paused"),
            freeze: file
                .sections("freeze")
                .map(|s| s.value)
                .unwrap_or_default()
                .iter()
                .map(RawFreeze::read)
                .collect(),
            policy: RawPolicy::read(&file.section("policy")),
            gates: RawGates::read(&file.section("gates")),
            merge: RawMerge::read(&file.section("merge")),
            targets: file
                .sections("targets")
                .map(|s| Spanned { span: s.span, value: s.value.iter().map(RawTarget::read).collect() }),
            targets_word: file.word("targets"),
            data_plane_pins: data_plane.word("pins"),
            data_plane_after: data_plane.word("after"),
            data_plane_restart: data_plane.word("restart"),
            waves: data_plane
                .sections("waves")
                .map(|s| s.value)
                .unwrap_or_default()
                .iter()
                .map(RawWave::read)
                .collect(),
            control_plane: data_plane.word("controlPlane"),
            render: file
                .sections("render")
                .map(|s| s.value)
                .unwrap_or_default()
                .iter()
                .map(RawRender::read)
                .collect(),
            drift: file.word("drift"),
            overview: file.word("overview"),
            on_block: file.word("onBlock"),
            labels: pull_request.words("labels"),
            reviewers: pull_request.words("reviewers"),
            assignees: pull_request.words("assignees"),
            draft: pull_request.word("draft"),
            title: pull_request.word("title"),
            author: commit.word("author"),
            message: commit.word("message"),
            sign_off: commit.word("signOff"),
            prefix: branch.word("prefix"),
            history: branch.word("history"),
            update: branch.word("update"),
            ignore: file.words("ignore"),
        }
    }
}

impl RawFreeze {
    fn read(section: &Section<'_, '_>) -> Self {
        Self {
            span: section.span(),
            from: section.word("from"),
            to: section.word("to"),
            reason: section.word("reason"),
        }
    }
}

impl RawPolicy {
    fn read(section: &Section<'_, '_>) -> Self {
        Self {
            channel: section.word("channel"),
            soak: section.word("soak"),
            range: section.word("range"),
            skip: section.words("skip"),
            schedule: section.word("schedule"),
            timezone: section.word("timezone"),
        }
    }
}

impl RawTarget {
    fn read(section: &Section<'_, '_>) -> Self {
        Self {
            span: section.span(),
            name: section.word("name"),
            paths: section.words("paths"),
            exclude: section.words("exclude"),
            each: section.word("each"),
            labels: section.words("labels"),
            kubernetes: section.word("kubernetes"),
            policy: RawPolicy::read(&section.section("policy")),
            after: section.one_or_more("after").iter().map(RawAfter::read).collect(),
            gates: RawGates::read(&section.section("gates")),
            merge: RawMerge::read(&section.section("merge")),
        }
    }
}

impl RawGates {
    fn read(section: &Section<'_, '_>) -> Self {
        let (active, proposed) = (section.words("active"), section.words("proposed"));
        let (timeout, on_failure) = (section.word("timeout"), section.word("onFailure"));
        Self { active, proposed, timeout, on_failure }
    }
}

impl RawMerge {
    fn read(section: &Section<'_, '_>) -> Self {
        Self { when: section.word("when"), after: section.word("after") }
    }
}

impl RawAfter {
    fn read(section: &Section<'_, '_>) -> Self {
        Self { span: section.span(), target: section.word("target"), soak: section.word("soak") }
    }
}

impl RawWave {
    fn read(section: &Section<'_, '_>) -> Self {
        Self {
            span: section.span(),
            name: section.word("name"),
            paths: section.words("paths"),
            namespaces: section.words("namespaces"),
            labels: section.words("labels"),
            soak: section.word("soak"),
        }
    }
}

impl RawRender {
    fn read(section: &Section<'_, '_>) -> Self {
        Self {
            span: section.span(),
            chart: section.word("chart"),
            namespace: section.word("namespace"),
            values: section.words("values"),
            output: section.word("output"),
        }
    }
}
