//! Step 5, pins: names that stand for versions in a text, such as a variable of a script.
//!
//! In: a text. Out: the names that a line reads in the forms of shells, Make, Ruby, pipelines, templates, ytt and Pulumi, those
//! behind the word of a channel too; the name that a value is given to.

use std::collections::{BTreeMap, BTreeSet};

use super::speaks::speaks;
use crate::pins::{release_names::TAGS, siblings::name_before};

/// What stands around a name that is read.
const AROUND: [(&str, &str); 6] =
    [("{{", "}}"), ("<<", ">>"), ("${", "}"), ("#{", "}"), ("$(", ")"), (YTT, " ")];
/// What stands before a value that ytt's code reads.
pub(in crate::pins) const YTT: &str = "data.values.";
/// Under these keys a parameter has what it is unless somebody says otherwise: its name is the key above.
const DEFAULTS: [&str; 2] = ["default", "value"];
/// Lines above one that are looked at for that key.
const LINES: usize = 16;
/// Characters of one line that are looked back over for it.
const BACK: usize = 1 << 10;
/// Names of one line.
const NAMES: usize = 64;

/// Lists the names that some lines of a text read, by their numbers.
pub(super) fn names(text: &str, is_meant: impl Fn(usize) -> bool) -> BTreeSet<&str> {
    let lines = text.lines().enumerate().filter(|(before, _)| is_meant(before + 1));
    lines.flat_map(|(_, line)| of_line(line)).collect()
}

/// Lists the names that a text reads behind the word of a channel where it speaks of Linkerd, each with that word:
/// `linkerd2-cli-edge-${version}`, `"edge-" + version`.
pub(super) fn behind_channels(text: &str) -> BTreeMap<&str, &'static str> {
    let lines = text.lines().filter(|line| speaks(line));
    let tags = lines.flat_map(|line| TAGS.into_iter().map(move |tag| (line, tag)));
    let read = tags.flat_map(|(line, tag)| {
        let rests = line.match_indices(tag).take(NAMES).filter_map(move |(at, _)| line.get(at + tag.len()..));
        rests.filter_map(move |rest| Some((read_first(rest)?, tag)))
    });
    read.collect()
}

/// Returns the name that a text begins to read.
fn read_first(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(['$', '#', '{', '(', '<', '+', ' ', '"', '\'', '.', '-']);
    let signs = text.get(..text.len() - rest.len())?;
    last(rest).filter(|_| signs.contains(['$', '{', '<', '+']))
}

/// Lists the names that a line reads: `$VERSION`, `${VERSION}`, `$(VERSION)`, `${{ env.VERSION }}`, `<< parameters.version >>`.
fn of_line(line: &str) -> impl Iterator<Item = &str> {
    let enclosed = AROUND.into_iter().flat_map(move |(open, close)| {
        let inner = line.match_indices(open).filter_map(move |(at, _)| line.get(at + open.len()..));
        inner.take(NAMES).map(move |rest| rest.split(close).next().unwrap_or_default())
    });
    let bare = line.match_indices('$').take(NAMES).filter_map(move |(at, _)| line.get(at + 1..));
    let is_sign = |c: char| matches!(c, ' ' | '-' | '.' | '$');
    enclosed.map(move |inner| last(inner.trim_start_matches(is_sign))).chain(bare.map(last)).flatten()
}

/// Returns the last part of the path that a text begins with.
fn last(text: &str) -> Option<&str> {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let path = text.get(..text.find(|c| !is_inside(c)).unwrap_or(text.len()))?;
    path.rsplit('.').next().filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// Returns the name that the value at a place is given to. It may be asked for at each place of a line that has no end, and
/// looks no further back than it has to.
pub(super) fn given_to(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let name = name_before(before)?;
    if !DEFAULTS.contains(&name) {
        return Some(name);
    }
    let near = before.char_indices().rev().nth(BACK).map_or(0, |(start, _)| start);
    let line = before.get(near..)?.rsplit('\n').next()?;
    if let Some(open) = line.rfind('{') {
        return name_before(line.get(..open)?);
    }
    let above = before.strip_suffix(line)?.strip_suffix('\n')?;
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut outer =
        above.lines().rev().take(LINES).filter(|up| !up.trim().is_empty() && depth(up) < depth(line));
    let key = outer.next()?.trim().trim_start_matches("- ").strip_suffix(':')?;
    Some(key.trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_names_in_many_forms() {
        for line in [
            "helm upgrade x --version $v",
            "helm upgrade x --version \"${v:-2026.8.2}\"",
            "\thelm upgrade x --version $(v)",
            "run: helm upgrade x --version ${{ inputs.v }}",
            "version: << parameters.v >>",
            "version: {{ .Values.v | quote }}",
            "url \"https://helm.linkerd.io/edge/linkerd-crds-#{v}.tgz\"",
        ] {
            assert!(of_line(line).any(|name| name == "v"), "{line}: {:?}", of_line(line).collect::<Vec<_>>());
        }
        assert_eq!(of_line("a {b: c} $1 ${} $").count(), 0);
        assert_eq!(of_line(&"$".repeat(100_000)).count() + of_line(&"${".repeat(100_000)).count(), 0);
    }

    #[test]
    fn a_name_is_read_behind_a_channel() {
        for line in [
            "curl linkerd.io/edge-${v}/linkerd2-cli-edge-${v}-linux",
            "linkerd/releases/edge-$(v)",
            "linkerd: edge-{{ .Values.v }}",
            "linkerd = f'edge-{v}'",
            "url \"linkerd.io/edge-#{v}\"",
            "const linkerd = \"edge-\" + v",
            "echo linkerd edge-$v",
        ] {
            assert_eq!(behind_channels(line), BTreeMap::from([("v", "edge-")]), "{line}");
        }
        for line in
            ["acme edge-${v}", "linkerd edge-v", "linkerd \"edge-\" v", "linkerd edge-$1", "linkerd edge-"]
        {
            assert_eq!(behind_channels(line), BTreeMap::new(), "{line}");
        }
        assert_eq!(behind_channels(&format!("linkerd {}", "edge-".repeat(100_000))), BTreeMap::new());
    }

    #[test]
    fn a_default_is_given_to_the_key_above() {
        let of = |before: &str| given_to(before, before.len()).map(str::to_owned);
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(of("a=1\nexport VERSION=\""), name("VERSION"));
        assert_eq!(of("VERSION ?= "), name("VERSION"));
        assert_eq!(of("config:\n  chart:\n    type: string\n\n    default: "), name("chart"));
        assert_eq!(of("config:\n  \"mesh:chart\": {type: string, default: "), name("chart"));
        assert_eq!(of("config:\n  chart: {default: "), name("chart"));
        assert_eq!(of("default: "), None);
        assert_eq!(of("\ndefault: "), None);
    }

    #[test]
    fn names_of_a_line_without_an_end_are_found() {
        for (given, name) in
            [("a='1',", Some("a")), ("default='1',", None), ("a: {default: '1'},", Some("a"))]
        {
            let line = given.repeat(20_000);
            let all = line.match_indices('1').map(|(at, _)| given_to(&line, at));
            assert_eq!(all.filter(|found| *found == name).count(), 20_000, "{given}");
        }
    }
}
