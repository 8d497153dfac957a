//! Step 5, pins: what a piece of text says about a version.
//!
//! In: the text of a scalar. Out: whether it names a release exactly, floats, reads a variable, or is none of that. Knows
//! no shape.

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
    fn variables_that_only_begin_take_no_time() {
        let begun = on_processor();
        assert_eq!(variable_reads(&"${a".repeat(1 << 20)).len(), READS);
        assert_eq!(variable_reads(&"${".repeat(1 << 20)), []);
        let taken = on_processor() - begun;
        assert!(taken.as_secs() < 10, "{taken:?}");
    }
}
