//! Step 5, pins: what a text gives a chart of Linkerd's as a version that names no channel: `--version 1.16.11`.
//!
//! In: a text. Out: the bytes of each, with why it stays, where that is not for being of the edge channel. Such a number may be
//! of anything: it counts in a command or a mapping that names the chart itself, or in a mapping that names
//! Linkerd's own repository of charts.

use std::ops::Range;

use crate::{
    linkerd,
    pins::{
        Reason,
        origin::is_linkerds,
        version_text::{Expects, Judged, VersionText, judge},
    },
};

/// How Helm's command line gives a version.
const FLAG: &str = "--version";
/// The deepest mapping that is looked at.
const DEPTH: usize = 64;

/// A version that is no release of the edge channel's new scheme.
pub(super) type Number = (Range<usize>, Option<Reason>);

/// Finds all of a text, in its order.
pub(super) fn numbers(text: &str) -> Vec<Number> {
    let mut found = in_commands(text);
    found.extend(in_mappings(text));
    found.sort_by_key(|(span, _)| span.start);
    found.dedup_by_key(|(span, _)| span.start);
    found
}

/// Finds those of commands, which may go on over several lines.
fn in_commands(text: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let (mut start, mut end) = (0, 0);
    for line in text.split_inclusive('\n') {
        end += line.len();
        if line.trim_end().ends_with('\\') && end < text.len() {
            continue;
        }
        let command = text.get(start..end).unwrap_or_default();
        if command.contains(FLAG) && words(command).any(is_chart) {
            let flags = command.match_indices(FLAG).map(|(at, flag)| at + flag.len());
            found.extend(
                flags.filter_map(|at| number(command, at)).map(|(span, why)| (moved(span, start), why)),
            );
        }
        start = end;
    }
    found
}

/// What stands in one mapping, as far as it was read.
struct Mapping {
    depth: usize,
    is_chart_s: bool,
    versions: Vec<Number>,
}

/// Finds those of mappings of a line for each key, such as YAML's, or the arguments and constants of programs.
fn in_mappings(text: &str) -> Vec<Number> {
    let (mut open, mut found) = (Vec::<Mapping>::new(), Vec::new());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some((depth, key, behind)) = entry(line).filter(|(depth, ..)| *depth <= DEPTH) {
            let is_new = line.trim_start().starts_with("- ");
            while let Some(last) = open.pop_if(|last| last.depth > depth || is_new && last.depth == depth) {
                found.extend(last.versions.into_iter().filter(|_| last.is_chart_s));
            }
            if open.last().is_none_or(|last| last.depth < depth) {
                open.push(Mapping { depth, is_chart_s: false, versions: Vec::new() });
            }
            if let Some(mapping) = open.last_mut() {
                let value = line.get(behind..).unwrap_or_default();
                let first = words(value).next();
                mapping.is_chart_s |=
                    gives_chart(key) && first.is_some_and(is_chart) || first.is_some_and(is_linkerds);
                let version = number(line, behind).filter(|_| gives_version(key));
                mapping.versions.extend(version.map(|(span, why)| (moved(span, start), why)));
            }
        }
        start += line.len();
    }
    found.extend(open.into_iter().filter(|left| left.is_chart_s).flat_map(|left| left.versions));
    found
}

/// Reads the key of a line: how deep it stands, its name, and where what is behind it begins.
fn entry(line: &str) -> Option<(usize, &str, usize)> {
    let depth = line.len() - line.trim_start_matches([' ', '\t', '-']).len();
    let key = line.get(depth..)?.split([':', '=']).next()?;
    let sign = depth + key.len();
    // A program may say before a name what it is: `const version = ..`.
    let name = match line.get(sign..)?.starts_with('=') {
        true => key.split_whitespace().next_back()?,
        false => key.trim_end().trim_matches(['"', '\'']),
    };
    let is_name = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/'));
    is_name.then_some((depth, name, sign + 1))
}

/// Tells whether a key gives a chart's name.
fn gives_chart(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("chart") || key.ends_with("chartname") || key.ends_with("chart_name")
}

/// Tells whether a key gives the version of the chart beside it: that of an application, or of Kubernetes, is none.
fn gives_version(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let of = key.strip_suffix("version").map(|of| of.trim_end_matches(['_', '-']));
    key == "targetrevision"
        || of.is_some_and(|of| of.is_empty() || of.ends_with("chart") || of.contains("linkerd"))
}

/// Reads the version that follows on a place of a text.
fn number(text: &str, at: usize) -> Option<Number> {
    let rest = text.get(at..)?;
    let given = rest.trim_start_matches([' ', '\t', '=', '"', '\'', ',']);
    let word = words(given).next().filter(|word| given.starts_with(word))?;
    let exact = word.strip_prefix('v').unwrap_or(word);
    semver::Version::parse(exact).ok()?;
    let start = at + rest.len() - given.len() + word.len() - exact.len();
    match judge(exact, Expects::Chart) {
        // What names a release is found wherever it stands, but behind a letter.
        Judged::Version(VersionText { version: Some(_), .. }) if exact == word => None,
        Judged::Version(VersionText { stays, .. }) => Some((start..start + exact.len(), stays)),
        Judged::Reads(_) | Judged::Nothing => None,
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '=' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '\\')
    };
    text.split(ends).filter(|word| !word.is_empty())
}

/// Tells whether a word is the name of one of Linkerd's charts, alone or behind its repository's.
fn is_chart(word: &str) -> bool {
    linkerd::is_chart(word.rsplit('/').next().unwrap_or(word))
}

fn moved(span: Range<usize>, by: usize) -> Range<usize> {
    span.start + by..span.end + by
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, Option<Reason>)> {
        numbers(text).into_iter().map(|(span, why)| (&text[span], why)).collect()
    }

    #[test]
    fn a_command_gives_its_chart_a_version() {
        let of = |version| vec![(version, Some(Reason::Channel))];
        assert_eq!(
            found("helm install linkerd-crds linkerd/linkerd-crds -n linkerd --version 1.8.0\n"),
            of("1.8.0")
        );
        assert_eq!(
            found("\thelm upgrade \\\n\t  cp l5d/linkerd-control-plane \\\n\t  --version=v1.16.11"),
            of("1.16.11")
        );
        assert_eq!(
            found("helm_resource('x', 'l/linkerd-viz', flags=['--version', '30.12.11'])"),
            of("30.12.11")
        );
        assert_eq!(found("helm install x l/linkerd-crds --version 1.9.0-edge"), [("1.9.0-edge", None)]);
        assert_eq!(found("helm install x l/linkerd-crds --version v2026.8.2"), [("2026.8.2", None)]);
        for other in [
            "helm install linkerd-crds l/linkerd-crds --version 2026.8.2",
            "helm install linkerd-crds l/linkerd-crds --version $VERSION",
            "helm install linkerd-crds l/linkerd-crds --version '~1.8'",
            "helm install linkerd-crds l/linkerd-crds\nhelm install cert-manager j/cert-manager --version 1.16.1",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
    }

    #[test]
    fn a_mapping_gives_its_chart_a_version() {
        let text = "a:\n- chart: cert-manager\n  version: 1.16.1\n- version: 1.16.11\n  values:\n    chart: b\n    version: 1.0.0\n  \
                    chart: \"linkerd-control-plane\"\nname: linkerd-viz\nversion: 1.0.0\n";
        assert_eq!(found(text), [("1.16.11", Some(Reason::Channel))]);
        assert_eq!(found("chart: linkerd-crds\nappVersion: 1.0.0\ntargetRevision: '1.8.0'\n").len(), 1);
        assert_eq!(found("chart: linkerd-crds-extra\nversion: 1.0.0\n"), []);
        let program = "const (\n\tlinkerdRepo    = \"https://helm.linkerd.io/stable\"\n\tlinkerdVersion = \"1.12.3\"\n\tkubeVersion = \
                       \"1.30.0\"\n)\n";
        assert_eq!(found(program), [("1.12.3", Some(Reason::Channel))]);
        let program = "Chart(\n    \"crds\",\n    chart=\"linkerd-crds\",\n    version=\"1.8.0\",\n)\n";
        assert_eq!(found(program), [("1.8.0", Some(Reason::Channel))]);
        let of = |address: &str| found(&format!("chart:\n  repository: {address}\n  version: 2.7.0\n")).len();
        let addresses = ["https://helm.linkerd.io/stable", "'https://helm.linkerd.io/stable/'"];
        assert_eq!(addresses.map(of), [1, 1], "Flux's first HelmRelease need not name the chart");
        assert_eq!(of("https://helm.linkerd.io.example.com/stable"), 0);
    }
}
