//! Step 5, pins: what a piece of text says about a version.
//!
//! In: the text of a scalar, or a line. Out: whether it names a release exactly, floats, reads a variable, or is
//! none of that; and the release names in free text. Knows no shape.

use std::ops::Range;

use super::{Form, Reason};
use crate::linkerd::EdgeVersion;

/// From here on years are no longer told from charts of the stable channel: its extensions counted `30.12.11`.
pub(super) const YEARS: u16 = 30;

/// Which scheme the place expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expects {
    /// A chart version or constraint.
    Chart,
    /// An exact version of a chart of the edge channel from before these were those of its releases.
    OldChart,
    /// An image tag.
    Edge,
    /// Either; text that is neither is no version at all.
    Either,
}

/// What the text says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// A version, exact or not.
    Version(VersionText),
    /// It reads Flux substitution variables.
    Reads(Vec<VariableRead>),
    /// Nothing that concerns a version.
    Nothing,
}

/// A version in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VersionText {
    /// The bytes of the text that name the version.
    pub span: Range<usize>,
    /// How it names it.
    pub form: Form,
    /// The release, where it is one.
    pub version: Option<EdgeVersion>,
    /// Why it stays.
    pub stays: Option<Reason>,
}

/// `${name}` or `${name:=default}` in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VariableRead {
    /// The variable.
    pub name: String,
    /// The bytes of the default, where there is one.
    pub default: Option<Range<usize>>,
}

/// A release name in free text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Its bytes.
    pub span: Range<usize>,
    /// How it names the release.
    pub form: Form,
    /// The release.
    pub version: EdgeVersion,
}

/// How the releases of Linkerd's other channels begin.
pub(super) const CHANNELS: [&str; 3] = ["stable-", "enterprise-", PREVIEW];
/// How tags of all of them do.
pub(super) const TAGS: [&str; 4] = ["edge-", CHANNELS[0], CHANNELS[1], PREVIEW];
/// How the previews of Buoyant's distribution do, which count by year and month.
const PREVIEW: &str = "preview-";

/// The longest word that is looked at: `edge-26.8.2` with much around it.
const LONGEST: usize = 64;

/// What a range has of a release at most: the year and the month.
const MONTHS: usize = "26.12.".len();

/// What the name of a file goes on with behind the release in it.
const EXTENSIONS: [&str; 11] =
    [".tgz", ".tar.gz", ".tar.xz", ".tar", ".zip", ".apk", ".deb", ".rpm", ".exe", ".yaml", ".yml"];

/// The most variables of one text; a version reads one, or one for each of its numbers.
const READS: usize = 16;

/// Judges the text of a scalar.
pub(super) fn judge(text: &str, expects: Expects) -> Judged {
    let trimmed = text.trim();
    if trimmed.is_empty() || has_code(trimmed) {
        return Judged::Nothing;
    }
    let reads = variable_reads(text);
    if !reads.is_empty() {
        return Judged::Reads(reads);
    }
    // A variable of kustomize's: what fills it is read where it is filled.
    if trimmed.starts_with("$(") && trimmed.ends_with(')') {
        return Judged::Nothing;
    }
    let start = text.len() - text.trim_start().len();
    let whole = start..start + trimmed.len();
    let found = match expects {
        Expects::Chart => Some(chart_version(trimmed, start)),
        Expects::OldChart => {
            Some(VersionText { span: whole.clone(), form: Form::Chart, version: None, stays: None })
        }
        Expects::Edge => Some(tag(trimmed, start)),
        Expects::Either if trimmed.parse::<EdgeVersion>().is_ok() => Some(tag(trimmed, start)),
        Expects::Either => EdgeVersion::from_chart(trimmed).is_some().then(|| chart_version(trimmed, start)),
    };
    found.map_or(Judged::Nothing, |mut found| {
        if found.form == Form::Opaque {
            found.span = whole;
        }
        Judged::Version(found)
    })
}

/// Tells whether a text has code of a templating tool in it: `{{ version }}`, `(@= data.values.version @)` of ytt's,
/// `<path:secret/mesh#version>` of argocd-vault-plugin's; or is a variable of a shell's, `$VERSION`.
pub(super) fn has_code(text: &str) -> bool {
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_variable = |name: &str| !name.is_empty() && name.chars().all(is_in_name);
    text.contains("{{")
        || text.contains("(@") && text.contains("@)")
        || text.contains("<path:")
        || text.trim().strip_prefix('$').is_some_and(is_variable)
}

/// Finds the release names in a line or a whole text: `edge-26.8.2` and `2026.8.2`, each standing alone, in the name of a file,
/// or behind the `v` of a version.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for start in memchr::memmem::find_iter(bytes, b"edge-").chain(memchr::memmem::find_iter(bytes, b"20")) {
        let end = release_end(text, start);
        let Some((before, word)) = text.get(..start).zip(text.get(start..end)) else { continue };
        let glued = before.as_bytes().last();
        let read = match word.parse::<EdgeVersion>() {
            Ok(version) if glued == Some(&b'-') => {
                may_stand_before(before.strip_suffix('-').unwrap_or_default())
                    .then_some((Form::Edge, version))
            }
            Ok(version) => (!is_in_name(before)).then_some((Form::Edge, version)),
            // A chart package is called `linkerd-viz-2026.8.2`: only digits and dots glue here.
            Err(_) => {
                let before = before.strip_suffix('v').unwrap_or(before);
                let is_name = before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
                let version = EdgeVersion::from_chart(word).filter(|_| !is_name);
                version.map(|version| (Form::Chart, version))
            }
        };
        found.extend(read.map(|(form, version)| Token { span: start..end, form, version }));
    }
    found.sort_by_key(|t| t.span.start);
    found
}

/// Finds the releases of other channels in a line: `stable-2.14.10`, `enterprise-2.18.1`, `preview-25.1.2`, each standing alone.
pub(super) fn of_other_channels(line: &str) -> impl Iterator<Item = Range<usize>> {
    let all = CHANNELS.into_iter().flat_map(move |channel| line.match_indices(channel));
    all.filter_map(move |(start, channel)| {
        let end = release_end(line, start);
        let mut numbers = line.get(start + channel.len()..end)?.split(['.', '-']);
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let may_begin = |part: &str| part == "2" || channel == PREVIEW && part.len() == 2 && is_number(part);
        let is_release = numbers.next().is_some_and(may_begin) && numbers.next().is_some_and(is_number);
        let before = line.get(..start)?;
        let stands = match before.strip_suffix('-') {
            Some(before) => may_stand_before(before),
            None => !is_in_name(before),
        };
        (is_release && stands).then_some(start..end)
    })
}

/// Finds what names many releases of the edge channel in a line, by its tags or by its charts: `edge-26.8.x`, `2026.*`; a month
/// names those of it by itself: `edge-26.8`.
pub(super) fn edge_ranges(line: &str) -> impl Iterator<Item = Range<usize>> {
    let all = [TAGS[0], "20"].into_iter().flat_map(move |begin| line.match_indices(begin));
    all.filter_map(move |(start, begin)| {
        let (before, rest) = (line.get(..start)?, line.get(start + begin.len()..)?);
        let is_number = |b: &u8| b.is_ascii_digit() || *b == b'.';
        let length = rest.as_bytes().iter().take(MONTHS).take_while(|b| is_number(b)).count();
        let (numbers, behind) = rest.split_at_checked(length)?;
        // What a range leaves open is the month or the number.
        let (numbers, behind) = match behind.strip_prefix(['x', 'X', '*']) {
            Some(behind) => (numbers.strip_suffix('.')?, behind),
            None => month(rest, numbers).filter(|_| begin == TAGS[0])?,
        };
        let open = if numbers.contains('.') { "1" } else { "12.1" };
        let first = format!("{begin}{numbers}.{open}");
        let is_release = first.parse::<EdgeVersion>().is_ok() || EdgeVersion::from_chart(&first).is_some();
        let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let stands = match before.strip_suffix('-') {
            Some(before) => begin == TAGS[0] && may_stand_before(before),
            None => !is_in_name(before.trim_end_matches('v')) && !before.ends_with('.'),
        };
        (is_release && stands && !behind.starts_with(goes_on)).then(|| start..line.len() - behind.len())
    })
}

/// Parts a text that begins with numbers behind a month, where no number of a release follows.
fn month<'t>(text: &'t str, numbers: &str) -> Option<(&'t str, &'t str)> {
    let (month, behind) = text.split_at_checked(numbers.trim_end_matches('.').len())?;
    let is_number = behind.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit());
    (month.contains('.') && !is_number).then_some((month, behind))
}

/// Tells whether a dash and a release may follow on a text: a folder of the CLI is called `linkerd-edge-26.8.2`, a shell
/// writes the default of a variable as `${VERSION:-edge-26.8.2}` or `${VERSION-edge-26.8.2}`; any other word before the dash
/// makes a name of another, but for the number of the version that it was on the way to: `2.3-edge-19.5.2`.
pub(super) fn may_stand_before(before: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let start = before.trim_end_matches(is_name);
    let named = ["linkerd", "linkerd2", "linkerd2-cli"].iter().any(|name| before.ends_with(name));
    let whole = start.strip_suffix("2.").map(|whole| whole.strip_suffix('v').unwrap_or(whole));
    let is_number = before.ends_with(|c: char| c.is_ascii_digit());
    let ours = named
        || is_number && whole.is_some_and(|whole| !whole.ends_with(|c| is_name(c) || matches!(c, '.' | '-')));
    ours || start.ends_with("${") || !before.ends_with(|c| is_name(c) || matches!(c, '.' | '-'))
}

/// Tells whether what follows on a text is the rest of a name; Markdown stresses with underscores.
pub(super) fn is_in_name(before: &str) -> bool {
    before.trim_end_matches('_').ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// Returns the releases that a text names, each once, oldest first.
pub(super) fn releases(text: &str) -> Vec<EdgeVersion> {
    let mut found: Vec<EdgeVersion> = tokens(text).into_iter().map(|t| t.version).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Finds where the name of a release ends: the CLI's file is called `linkerd2-cli-edge-26.8.2-linux-amd64`.
fn release_end(text: &str, start: usize) -> usize {
    let end = token_end(text.as_bytes(), start);
    let is_cli = text.get(..start).is_some_and(|before| before.ends_with("linkerd2-cli-"));
    let word = text.get(start..end).filter(|_| is_cli).unwrap_or_default();
    let is_platform =
        |(at, _): &(usize, &str)| word.as_bytes().get(at + 1).is_some_and(u8::is_ascii_alphabetic);
    word.match_indices('-').find(is_platform).map_or(end, |(length, _)| start + length)
}

/// Finds where a word of letters, digits, dots and dashes ends; a full stop at its end is punctuation, an underscore stresses
/// it, and a plus says "or newer". A word that is longer than any release's name ends behind [`LONGEST`] and names none.
fn token_end(bytes: &[u8], start: usize) -> usize {
    let inside = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'+');
    let rest = bytes.get(start..).unwrap_or_default();
    let length = rest.iter().take(LONGEST + 1).take_while(|b| inside(b)).count();
    if length > LONGEST {
        return start;
    }
    let word = rest.get(..length).unwrap_or_default();
    let stops = word.iter().rev().take_while(|b| matches!(b, b'.' | b'-' | b'_' | b'+')).count();
    let word = word.get(..length - stops).unwrap_or_default();
    // `linkerd-viz-2026.8.2.tgz`: the name of a package ends in its version.
    start + word.len() - extension(word)
}

/// Returns how long the extension of a file's name is.
pub(super) fn extension(name: &[u8]) -> usize {
    let found = EXTENSIONS.iter().find(|extension| name.ends_with(extension.as_bytes()));
    found.map_or(0, |extension| extension.len())
}

/// Judges a chart's version or constraint.
fn chart_version(text: &str, start: usize) -> VersionText {
    let opaque = |stays| VersionText {
        span: start..start + text.len(),
        form: Form::Opaque,
        version: None,
        stays: Some(stays),
    };
    let exact = text.strip_prefix('=').map_or(text, str::trim_start);
    // Helm takes `v2026.8.2` for `2026.8.2` (Masterminds/semver).
    let exact = exact.strip_prefix('v').filter(|_| is_v_version(exact)).unwrap_or(exact);
    if is_range(exact) {
        return opaque(Reason::Range);
    }
    if exact.starts_with("sha256:") {
        return opaque(Reason::Digest);
    }
    let from = start + (text.len() - exact.len());
    let span = from..from + exact.len();
    if let Some(version) = EdgeVersion::from_chart(exact) {
        return VersionText { span, form: Form::Chart, version: Some(version), stays: None };
    }
    match semver::Version::parse(exact) {
        // Before edge-24.3.1 the edge charts counted by themselves: `1.18.11-edge`, or `21.12.3`.
        Ok(v) if (v.pre.as_str() == "edge" && v.major < 100) || (18..=22).contains(&v.major) => {
            VersionText { span, form: Form::Chart, version: None, stays: None }
        }
        Ok(_) => opaque(Reason::Channel),
        Err(_) if exact.parse::<EdgeVersion>().is_ok() => opaque(Reason::Uneditable),
        Err(_) => opaque(Reason::Channel),
    }
}

/// Judges an image tag.
fn tag(text: &str, start: usize) -> VersionText {
    let span = start..start + text.len();
    if let Ok(version) = text.parse::<EdgeVersion>() {
        return VersionText { span, form: Form::Edge, version: Some(version), stays: None };
    }
    let stays = if text.contains("sha256:") { Reason::Digest } else { Reason::Channel };
    VersionText { span, form: Form::Opaque, version: None, stays: Some(stays) }
}

fn is_v_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|t| semver::Version::parse(t).is_ok())
}

/// Tells whether a constraint admits more than one version: operators, wildcards, or too few numbers.
fn is_range(text: &str) -> bool {
    let core = text.split(['-', '+']).next().unwrap_or(text);
    let parts: Vec<&str> = core.strip_prefix('v').unwrap_or(core).split('.').collect();
    let numeric = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let wild = |part: &&str| matches!(*part, "x" | "X" | "*");
    text.contains(['~', '^', '<', '>', '*', '|', ',', '!', ' '])
        || parts.iter().any(wild)
        || (parts.len() < 3 && parts.iter().all(numeric))
}

/// Finds Flux's `${name}`, `${name:=default}` and their relatives.
fn variable_reads(text: &str) -> Vec<VariableRead> {
    let mut reads = Vec::new();
    let mut close = 0;
    for start in memchr::memmem::find_iter(text.as_bytes(), b"${") {
        // Looked for once for all that it may close.
        if close <= start {
            close = text.get(start..).and_then(|t| t.find('}')).map_or(text.len(), |n| start + n);
        }
        if reads.len() == READS {
            break;
        }
        // `$${name}` is Flux's escape.
        if text.get(..start).is_some_and(|t| t.ends_with('$')) {
            continue;
        }
        let Some(inner) = text.get(start + 2..close) else { continue };
        let length = inner.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let (name, rest) = inner.split_at(length);
        if name.is_empty() {
            continue;
        }
        let operator = [":=", ":-", "=", "-"].into_iter().find(|o| rest.starts_with(o));
        let default = operator.map(|o| start + 2 + length + o.len()..start + 2 + inner.len());
        reads.push(VariableRead { name: name.to_owned(), default });
    }
    reads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::on_processor;

    fn stays(text: &str, expects: Expects) -> Option<Reason> {
        match judge(text, expects) {
            Judged::Version(v) => v.stays,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn exact_versions_move_and_partial_ones_are_ranges() {
        for exact in ["2026.8.2", "=2026.8.2", "1.18.11-edge", "30.12.1-edge", " 2026.8.2 "] {
            assert_eq!(stays(exact, Expects::Chart), None, "{exact}");
        }
        for range in [
            "~2026.8.0",
            "^2026.8.2",
            ">=2026.1.0 <2027.0.0",
            "2026.8",
            "2026",
            "2026.x",
            "2026.8.*",
            "*",
            "2026.8.2 || 2026.8.3",
            "2026.8.1 - 2026.8.3",
            "v2026.8",
            "1.x",
        ] {
            assert_eq!(stays(range, Expects::Chart), Some(Reason::Range), "{range}");
        }
        assert_eq!(stays("v2026.8.2", Expects::Chart), None);
        assert_eq!(stays("1.16.11", Expects::Chart), Some(Reason::Channel));
        assert_eq!(stays("2026.8.2-fork.1", Expects::Chart), Some(Reason::Channel));
        assert_eq!(stays("2026.8.2-edge", Expects::Chart), Some(Reason::Channel));
    }

    #[test]
    fn tags_of_other_channels_stay() {
        assert_eq!(stays("edge-26.8.2", Expects::Edge), None);
        assert_eq!(stays("stable-2.14.10", Expects::Edge), Some(Reason::Channel));
        assert_eq!(stays("edge-26.8.2-spark", Expects::Edge), Some(Reason::Channel));
        assert_eq!(stays("sha256:abc", Expects::Edge), Some(Reason::Digest));
        assert_eq!(judge("", Expects::Edge), Judged::Nothing);
        assert_eq!(judge("{{ .edge }}", Expects::Edge), Judged::Nothing);
        assert_eq!(judge("edge-(@= data.values.edge @)", Expects::Edge), Judged::Nothing);
        assert_eq!(judge("v1.2.1", Expects::Either), Judged::Nothing);
    }

    #[test]
    fn substitution_variables_are_read() {
        let Judged::Reads(reads) = judge("a-${l5d:=edge-26.8.2}${b}$${c}", Expects::Edge) else { panic!() };
        assert_eq!(reads.len(), 2);
        assert_eq!(reads[0], VariableRead { name: "l5d".to_owned(), default: Some(9..20) });
        assert_eq!(reads[1].default, None);
    }

    #[test]
    fn a_variable_of_kustomize_s_is_no_version() {
        assert_eq!(judge("$(VERSION)", Expects::Edge), Judged::Nothing);
        assert_ne!(judge("$(VERSION", Expects::Edge), Judged::Nothing);
    }

    #[test]
    fn release_names_stand_alone_in_text() {
        let found =
            |text: &str| tokens(text).iter().map(|t| text[t.span.clone()].to_owned()).collect::<Vec<_>>();
        assert_eq!(found("We run `edge-26.8.2`, chart 2026.8.2."), ["edge-26.8.2", "2026.8.2"]);
        assert_eq!(found("linkerd-viz-2026.8.2.tgz"), ["2026.8.2"]);
        assert_eq!(found("mv linkerd2-cli-edge-26.8.2-linux-amd64 b"), ["edge-26.8.2"]);
        let file = "linkerd-edge-26.8.2.yaml, tags/edge-26.8.3.tar.gz";
        assert_eq!(found(file), ["edge-26.8.2", "edge-26.8.3"]);
        assert_eq!(found("_edge-26.8.2 is **not**_ __edge-26.8.3__."), ["edge-26.8.2", "edge-26.8.3"]);
        assert_eq!(found("charts to v2026.8.2, linkerd-viz-v2026.8.3.tgz"), ["2026.8.2", "2026.8.3"]);
        assert_eq!(found("x_edge-26.8.2 dev2026.8.2 1.v2026.8.2 edge-26.8.2.example.com"), [""; 0]);
        assert_eq!(found("needs link-gen (edge-25.4.4+)"), ["edge-25.4.4"]);
        assert_eq!(found("rm ~/.linkerd2/bin/linkerd-edge-26.8.2 spark-edge-26.8.2"), ["edge-26.8.2"]);
        assert_eq!(found("Linkerd 2.3-edge-19.5.2 (v2.4-edge-19.8.1)"), ["edge-19.5.2", "edge-19.8.1"]);
        assert_eq!(found("1.3-edge-19.5.2 a2.3-edge-19.5.2 a-2.3-edge-19.5.2 1.2.3-edge-19.5.2"), [""; 0]);
        assert_eq!(
            found("${A:-edge-26.8.2} ${A_1-edge-26.8.3} $(x-edge-26.8.4)"),
            ["edge-26.8.2", "edge-26.8.3"]
        );
        assert_eq!(
            found("edge-26.8.2-spark edge-26.8.2+spark ledge-26.8.2 12026.8.2 2026.8.2.1 v2026.8.2x"),
            [""; 0]
        );
        assert_eq!(found(&format!("edge-26.8.2{} {}2026.8.2", ".".repeat(99), "0".repeat(99))), [""; 0]);
    }

    #[test]
    fn releases_of_other_channels_stand_alone_in_text() {
        let found = |line: &str| of_other_channels(line).next().map(|span| line[span].to_owned());
        for (line, name) in [
            ("image: gcr.io/linkerd-io/web:stable-2.8.1", "stable-2.8.1"),
            ("rm ~/.linkerd2/bin/linkerd-stable-2.10.0 > /dev/null", "stable-2.10.0"),
            ("  ref: stable-2.14.x", "stable-2.14.x"),
            ("We were on enterprise-2.18.1-1.", "enterprise-2.18.1-1"),
            ("BEL_VERSION=preview-25.1.2", "preview-25.1.2"),
            ("not unstable-2.1.0, stable-2.9.4", "stable-2.9.4"),
            ("archive/stable-2.14.10.tar.gz", "stable-2.14.10"),
            ("linkerd2-cli-stable-2.12.2-windows.exe", "stable-2.12.2"),
        ] {
            assert_eq!(found(line).as_deref(), Some(name), "{line}");
        }
        let others =
            "linkerd2-stable-chart stable-3.1.0 stable-2 x_stable-2.1.0 spark-stable-2.1.0 stable-25.1.2";
        assert_eq!(found(&format!("{others} preview-3.1.0 preview-2025.1.2")), None);
    }

    #[test]
    fn ranges_of_releases_stand_alone_in_text() {
        let found = |line: &str| edge_ranges(line).map(|span| line[span].to_owned()).collect::<Vec<_>>();
        assert_eq!(
            found("`edge-26.8.x`, edge-26.* or linkerd-edge-26.12.X."),
            ["edge-26.8.x", "edge-26.*", "edge-26.12.X"]
        );
        assert_eq!(found("version: 2026.8.x # was v2024.x"), ["2026.8.x", "2024.x"]);
        assert_eq!(
            found("since edge-25.11, edge-26.8+, or edge-26.12."),
            ["edge-25.11", "edge-26.8", "edge-26.12"]
        );
        let others =
            "edge-26.8.1 edge-26.11.10 edge-26 edge-26.13 edge-26.13.x edge-26.8.1.x edge-26x edge-26.8.xml";
        assert_eq!(found(others), [""; 0]);
        let others = "edge-26.8.x-spark edge-26.8-spark spark-edge-26.8.x spark-edge-26.8 edge-26.8_1";
        assert_eq!(found(&format!("{others} 12026.8.x 1.2026.x linkerd-2026.x 2026.8 2016.8.x")), [""; 0]);
    }

    #[test]
    fn a_text_of_beginnings_alone_takes_no_time() {
        let begun = on_processor();
        assert_eq!(tokens(&"20".repeat(1 << 20)), []);
        assert_eq!(of_other_channels(&"stable-2".repeat(1 << 18)).next(), None);
        assert_eq!(edge_ranges(&"20".repeat(1 << 20)).next(), None);
        assert_eq!(variable_reads(&"${a".repeat(1 << 20)).len(), READS);
        assert_eq!(variable_reads(&"${".repeat(1 << 20)), []);
        let taken = on_processor() - begun;
        assert!(taken.as_secs() < 10, "{taken:?}");
    }
}
