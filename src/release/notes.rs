//! What a release changed, as its notes list it.
//!
//! In: the notes of one release, untrusted text. Out: [`Change`]s in the order of the notes, each with its weight. The
//! list that GitHub writes (`* fix(destination)!: text by @person in https://...`) and lists written by hand are read
//! alike; prose, contributors and comparisons are passed over. A title's `type(scope)!:` is a conventional commit's.

use schemars::JsonSchema;
use serde::Serialize;

use super::advice::visible_lines;

/// A title is cut here, at a character.
const LONGEST: usize = 300;
/// Notes with more entries than this are no list of changes.
const MOST: usize = 1_000;

/// One entry of a release's notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its title without type, author and address, untrusted text.
    pub text: String,
    /// How much it concerns who runs Linkerd.
    pub weight: Weight,
    /// What it is about, as its author wrote it: `destination` in `fix(destination): text`, `proxy` in `proxy: text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Its pull request in linkerd/linkerd2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull: Option<u64>,
}

/// How much a change concerns who runs Linkerd, the heaviest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ChangeWeight")]
pub enum Weight {
    /// Marked as breaking by its author.
    Breaking,
    /// A feature.
    Feature,
    /// A fix.
    Fix,
    /// Anything that is not one of the others.
    Other,
    /// Work that reaches no cluster: tests, documents, builds.
    Upkeep,
    /// A newer version of something that it is built from.
    Dependency,
}

/// Reads the entries of a release's notes.
pub fn changes(notes: &str) -> Vec<Change> {
    let mut found: Vec<Change> = Vec::new();
    let mut passed_over = false;
    for line in visible_lines(notes) {
        if line.starts_with('#') {
            let heading = line.trim_start_matches(['#', ' ']).to_ascii_lowercase();
            passed_over =
                ["new contributors", "caution", "overall status"].iter().any(|h| heading.starts_with(h));
        }
        let entry = ["* ", "- ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
        let change = entry.filter(|_| !passed_over && found.len() < MOST).and_then(change);
        // An entry may be listed under two headings.
        found.extend(change.filter(|c| !found.iter().any(|f| f.text == c.text && f.pull == c.pull)));
    }
    found
}

fn change(entry: &str) -> Option<Change> {
    let (title, pull) = without_reference(entry);
    let (title, author) = match title.rsplit_once(" by @") {
        Some((title, author)) if !author.trim().contains(' ') => (title, Some(author.trim())),
        _ => (title, None),
    };
    let title = title.trim().trim_matches('*').trim();
    if title.is_empty() || title.starts_with('@') || title.to_ascii_lowercase().starts_with("full changelog")
    {
        return None;
    }
    let commit = Conventional::parse(title);
    let text = commit.as_ref().map_or(title, |c| c.text);
    let weight = weight(title, commit.as_ref(), author);
    let scope = commit.and_then(|c| c.scope).map(str::to_owned);
    Some(Change { text: text.chars().take(LONGEST).collect(), weight, scope, pull })
}

/// Splits the pull request off: `in https://github.com/linkerd/linkerd2/pull/15473`, or `(#15473)`, at the end.
fn without_reference(entry: &str) -> (&str, Option<u64>) {
    let entry = entry.trim_end();
    if let Some((title, address)) = entry.rsplit_once(" in ") {
        let number =
            address.strip_prefix("https://github.com/linkerd/linkerd2/pull/").or(address.strip_prefix('#'));
        if let Some(pull) = number.and_then(|n| n.trim_end_matches('/').parse().ok()) {
            return (title, Some(pull));
        }
        if address.starts_with("https://") && !address.contains(' ') {
            return (title, None);
        }
    }
    let inner = entry.strip_suffix(')').and_then(|e| e.rsplit_once("(#"));
    match inner.and_then(|(title, number)| Some((title, number.parse().ok()?))) {
        Some((title, pull)) => (title, Some(pull)),
        None => (entry, None),
    }
}

/// The types of conventional commits, with the spellings in use. Another word before the colon is what the change is about.
const TYPES: [&str; 13] = [
    "build", "chore", "ci", "doc", "docs", "feat", "fix", "perf", "refactor", "revert", "style", "test",
    "tests",
];

/// A title such as `fix(destination)!: text`, or `proxy: text`.
struct Conventional<'t> {
    kind: &'t str,
    scope: Option<&'t str>,
    breaking: bool,
    text: &'t str,
}

impl<'t> Conventional<'t> {
    fn parse(title: &'t str) -> Option<Self> {
        let (head, text) = title.split_once(": ")?;
        let (head, breaking) = head.strip_suffix('!').map_or((head, false), |head| (head, true));
        let (kind, scope) = match head.strip_suffix(')').and_then(|h| h.split_once('(')) {
            Some((kind, scope)) => (kind, Some(scope)),
            None => (head, None),
        };
        let word =
            |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_/,. ".contains(&b));
        let sound = word(kind) && !kind.contains(' ') && scope.is_none_or(word) && !text.trim().is_empty();
        let is_type = TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known));
        let scope = if is_type { scope } else { Some(head) };
        sound.then_some(Self { kind, scope, breaking, text: text.trim() })
    }
}

fn weight(title: &str, commit: Option<&Conventional<'_>>, author: Option<&str>) -> Weight {
    let lower = title.to_ascii_lowercase();
    let says_so = ["breaking change", "**breaking**", "breaking:"].iter().any(|w| lower.contains(w));
    if commit.is_some_and(|c| c.breaking) || says_so {
        return Weight::Breaking;
    }
    let bot = author.is_some_and(|a| a.starts_with("dependabot") || a.starts_with("renovate"));
    let (kind, scope) = commit.map_or(("", ""), |c| (c.kind, c.scope.unwrap_or_default()));
    // A newer proxy is what users run, not a part of the build.
    let proxy = scope.starts_with("proxy");
    match kind {
        _ if proxy => Weight::Feature,
        _ if bot || scope.starts_with("deps") || lower.contains("bump ") && kind != "feat" => {
            Weight::Dependency
        }
        "feat" => Weight::Feature,
        "fix" | "perf" | "revert" => Weight::Fix,
        "test" | "tests" | "ci" | "docs" | "style" | "build" | "chore" | "refactor" => Weight::Upkeep,
        _ => Weight::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(notes: &str) -> Vec<(Weight, String, Option<u64>)> {
        changes(notes).into_iter().map(|c| (c.weight, c.text, c.pull)).collect()
    }

    #[test]
    fn the_list_that_github_writes_is_read() {
        let notes = "## What's Changed\n\
            * fix(destination)!: Refuse ports by @alpha in https://github.com/linkerd/linkerd2/pull/15473\n\
            * build(deps): bump a from 1 to 2 by @dependabot[bot] in https://github.com/linkerd/linkerd2/pull/2\n\
            * feat: Something new by @b in https://github.com/linkerd/linkerd2/pull/3\r\n\
            * proxy: v2.366.0 by @bot in https://github.com/linkerd/linkerd2/pull/4\n\
            * chore(ci): faster by @b in https://github.com/linkerd/linkerd2/pull/5\n\
            ## New Contributors\n\
            * @alpha made their first contribution in https://github.com/linkerd/linkerd2/pull/15473\n\n\
            **Full Changelog**: https://github.com/linkerd/linkerd2/compare/edge-26.6.4...edge-26.7.1\n";
        let wanted = [
            (Weight::Breaking, "Refuse ports", 15473),
            (Weight::Dependency, "bump a from 1 to 2", 2),
            (Weight::Feature, "Something new", 3),
            (Weight::Feature, "v2.366.0", 4),
            (Weight::Upkeep, "faster", 5),
        ];
        assert_eq!(read(notes), wanted.map(|(w, t, n)| (w, t.to_owned(), Some(n))));
        let scopes: Vec<Option<String>> = changes(notes).into_iter().map(|c| c.scope).collect();
        let wanted = [Some("destination"), Some("deps"), None, Some("proxy"), Some("ci")];
        assert_eq!(scopes, wanted.map(|scope| scope.map(str::to_owned)));
    }

    #[test]
    fn only_the_type_of_a_commit_is_left_out() {
        let read = |title: &str| {
            let change = changes(&format!("* {title}\n")).remove(0);
            (change.scope.unwrap_or_default(), change.text)
        };
        let pair = |scope: &str, text: &str| (scope.to_owned(), text.to_owned());
        assert_eq!(read("proxy: v2.362.0"), pair("proxy", "v2.362.0"));
        assert_eq!(read("multicluster(gateway)!: Drop it"), pair("multicluster(gateway)", "Drop it"));
        assert_eq!(read("Fix(policy): Match all"), pair("policy", "Match all"));
        assert_eq!(read("refactor: Simplify"), pair("", "Simplify"));
        assert_eq!(read("See the guide: it helps"), pair("", "See the guide: it helps"));
    }

    #[test]
    fn lists_by_hand_are_read_and_prose_is_not() {
        let notes = "This release is recommended.\n\n### Changes\n- **Breaking change**: one thing (#7)\n- another thing\n\n### Cautions\n- not a change\n\n```\n- code\n```\n<!-- \n- hidden\n-->\n";
        let wanted = [
            (Weight::Breaking, "one thing".to_owned(), Some(7)),
            (Weight::Other, "another thing".to_owned(), None),
        ];
        let found = read(notes);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((&found[0].0, found[0].2), (&wanted[0].0, wanted[0].2));
        assert_eq!(found[1], wanted[1]);
    }

    #[test]
    fn the_same_entry_twice_is_one_and_hostile_text_stays_text() {
        let notes = "* fix: a (#1)\n* fix: a (#1)\n* fix(x\u{202e}): b (#99999999999999999999999)\n* ![i](javascript:x) by @y in https://evil.example/pull/3\n";
        let found = changes(notes);
        assert_eq!(found.len(), 3);
        assert_eq!((found[1].pull, found[1].scope.as_deref()), (None, None));
        assert_eq!((found[2].text.as_str(), found[2].pull), ("![i](javascript:x)", None));
        let long = format!("* {}\n", "é".repeat(10_000)).repeat(3_000);
        assert_eq!(changes(&long).len(), 1);
        assert_eq!(changes(&long)[0].text.chars().count(), LONGEST);
    }
}
