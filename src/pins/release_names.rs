//! Step 5, pins: the names of releases in free text.
//!
//! In: a line, or a whole text. Out: the names that stand alone in it: of edge releases and of ranges of them, and of
//! Linkerd's other channels. Knows no shape.

use std::ops::Range;

use super::Form;
use crate::linkerd::EdgeVersion;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock::on_processor;

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
        let taken = on_processor() - begun;
        assert!(taken.as_secs() < 10, "{taken:?}");
    }
}
