//! Step 8, verify: the change set is the plan's pins and nothing else.
//!
//! In: the change set. Out: a `block` for each byte that changed outside a pin. This is computed again from the
//! bytes, so that a defect of the editor cannot pass its own proof.

use std::collections::{BTreeMap, BTreeSet};

use regex::bytes::Regex;

use super::{CheckId, Checked, Finding, Verification, count};
use crate::{
    linkerd::PROXY_VERSION,
    pins::{Form, Pin},
    plan::NewText,
    repo::{FileChange, Mode, RepoPath},
};

pub(super) const ID: CheckId = CheckId::MinimalDiff;

const OURS: &str = "this is a defect of uplinker; do not merge, and report it";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let mut pins: BTreeMap<&RepoPath, Vec<(&Pin, &NewText)>> = BTreeMap::new();
    let spliced = input.moving().filter(|(_, new)| !matches!(new, NewText::Rendered(_)));
    spliced.for_each(|(pin, new)| pins.entry(&pin.path).or_default().push((pin, new)));
    let mut findings: Vec<Finding> = Vec::new();
    let mut changed: BTreeSet<&RepoPath> = BTreeSet::new();
    let rendered = input.changes.files.iter().filter(|f| f.rendered).count();
    for file in input.changes.files.iter().filter(|f| !f.rendered) {
        if !changed.insert(&file.path) {
            findings.push(defect(&file.path, None, "the file is changed twice"));
        }
        match pins.get(&file.path) {
            Some(pins) => findings.extend(file_findings(input, file, pins)),
            None => findings.push(defect(&file.path, None, "the file is changed and no pin of it moves")),
        }
    }
    for (path, pins) in pins.iter().filter(|(path, _)| !changed.contains(*path)) {
        let line = pins.first().map(|(pin, _)| pin.site.line);
        findings.push(defect(path, line, "a pin of the file was to move and the file is not changed"));
    }
    let looked_at = format!("every byte of {}", count(input.changes.files.len() - rendered, "edited file"));
    Checked { looked_at, findings }
}

fn defect(path: &RepoPath, line: Option<usize>, reason: &str) -> Finding {
    Finding::block(ID, reason).at(path, line).hint(OURS)
}

fn file_findings(input: &Verification<'_>, file: &FileChange, pins: &[(&Pin, &NewText)]) -> Option<Finding> {
    let flaw = |reason: &str| Some(defect(&file.path, None, reason));
    let entries = input.before.entries();
    let entry = entries.binary_search_by(|e| e.path.cmp(&file.path)).ok().and_then(|n| entries.get(n));
    let sound = entry.is_some_and(|e| {
        Some(e.id) == file.before_id
            && e.mode == file.mode
            && matches!(e.mode, Mode::File | Mode::Executable)
            && pins.iter().all(|(pin, _)| pin.blob == e.id)
    });
    if !sound {
        return flaw("the change was not made from the file of the base commit");
    }
    if input.before.read(entry?.id).ok().as_deref() != Some(file.before.as_slice()) {
        return flaw("the content that is replaced is not the file's");
    }
    let Some(after) = &file.after else { return flaw("the file is removed") };
    let at = first_stray_byte(&file.before, after, pins)?;
    let line = 1 + file
        .before
        .iter()
        .take(at.min(file.before.len().saturating_sub(1)))
        .filter(|b| **b == b'\n')
        .count();
    let reason = format!("the file changes outside its pins, near byte {at}");
    Some(defect(&file.path, Some(line), &reason))
}

/// Walks both texts: what lies between pins must be equal, each pin must hold its new text, in quotes or not, and each pin
/// that was not there must have come as an entry. Returns the byte of the old text from where that is not so.
fn first_stray_byte(before: &[u8], after: &[u8], pins: &[(&Pin, &NewText)]) -> Option<usize> {
    let (absent, there): (Vec<_>, Vec<_>) =
        pins.iter().copied().partition(|(pin, _)| pin.form == Form::Absent);
    // Two readers of one value are two pins with one span.
    let spans: BTreeMap<(usize, usize), &NewText> =
        there.iter().map(|(pin, new)| ((pin.site.span.start, pin.site.span.end), *new)).collect();
    let mut spans = spans.into_iter().peekable();
    let mut entries = Entries::of(&absent);
    let (mut old, mut rest) = (0, after);
    loop {
        let until = spans.peek().map_or(before.len(), |((start, _), _)| *start);
        let Some(kept) = before.get(old..until) else { return Some(until) };
        let same = same_bytes(kept, rest);
        if same == kept.len() {
            let behind = rest.get(same..).unwrap_or_default();
            match spans.peek() {
                None if behind.is_empty() && entries.left == 0 => return None,
                None => {}
                Some(((_, end), new)) => {
                    if let Some(behind) = strip_new(behind, new).filter(|_| before.get(..*end).is_some()) {
                        (old, rest) = (*end, behind);
                        spans.next();
                        continue;
                    }
                }
            }
        }
        match entries.strip(kept, rest, same) {
            Some((kept, behind)) => (old, rest) = (old + kept, behind),
            None => return Some(old + same),
        }
    }
}

fn same_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Entries that are to come, each with its key and the mapping that may come with it.
struct Entries {
    form: Option<Regex>,
    left: usize,
}

/// Bytes before an entry that may be the same as those behind it: its indentation, and the beginning of its key.
const SHARED: usize = 200;

// === impl Entries ===

impl Entries {
    fn of(absent: &[(&Pin, &NewText)]) -> Self {
        let form = absent.first().and_then(|(_, new)| match new {
            NewText::Fixed(text) => Regex::new(&format!(
                r#"^(?-u)(?:[\s,{{]|\\n)*(?:\\?"?(?:annotations|podAnnotations|commonAnnotations)\\?"?:[\s{{]*)?(?:\\n *)?\\?"?{}\\?"?:\s*\\?"?{}\\?"?"#,
                regex::escape(PROXY_VERSION),
                regex::escape(text)
            ))
            .ok(),
            _ => None,
        });
        Self { form, left: absent.len() }
    }

    /// Takes an entry out of a text that is like `kept` for `same` bytes; returns how much of `kept` stands before it, and
    /// what comes behind it.
    fn strip<'t>(&mut self, kept: &[u8], text: &'t [u8], same: usize) -> Option<(usize, &'t [u8])> {
        self.left = self.left.checked_sub(1)?;
        let form = self.form.as_ref()?;
        let found = |at: usize| Some((at, form.find(text.get(at..)?)?.range()));
        let (at, entry) = (same.saturating_sub(SHARED)..=same).rev().find_map(found)?;
        let entry = text.get(at..)?.get(entry)?;
        // What closes it, or parts it from the next: as much as makes the rest alike.
        let behind = text.get(at + entry.len()..)?;
        let closes = |b: &&u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b'}' | b',' | b'\\' | b'n');
        let most = behind.iter().take_while(closes).count().min(SHARED);
        let count = |text: &[u8], brace| text.iter().filter(|b| **b == brace).count();
        let is_whole = |n: &usize| count(&behind[..*n], b'}') == count(entry, b'{');
        let wanted = kept.get(at..)?;
        let closings: Vec<usize> = (0..=most).rev().filter(is_whole).collect();
        // A null that was written out is gone with it.
        let ways = [0].into_iter().chain(null_of(wanted));
        let ways = ways.flat_map(|gone| closings.iter().map(move |closing| (gone, *closing)));
        let (gone, closing) = match wanted {
            [] => (0, *closings.first()?),
            wanted => ways.max_by_key(|(gone, closing)| same_bytes(&wanted[*gone..], &behind[*closing..]))?,
        };
        Some((at + gone, &behind[closing..]))
    }
}

/// Returns how long a null is that a text begins with, with the spaces before it.
fn null_of(text: &[u8]) -> Option<usize> {
    let spaces = text.iter().take_while(|byte| **byte == b' ').count();
    let word = text.get(spaces..)?;
    let null = ["null", "Null", "NULL", "~"].into_iter().find(|null| word.starts_with(null.as_bytes()))?;
    Some(spaces + null.len())
}

fn strip_new<'t>(text: &'t [u8], new: &NewText) -> Option<&'t [u8]> {
    let NewText::Fixed(new) = new else { return strip_digest(text) };
    let quoted = |quote: &[u8]| text.strip_prefix(quote)?.strip_prefix(new.as_bytes())?.strip_prefix(quote);
    text.strip_prefix(new.as_bytes()).or_else(|| quoted(b"\"")).or_else(|| quoted(b"'"))
}

fn strip_digest(text: &[u8]) -> Option<&[u8]> {
    let (hex, rest) = text.strip_prefix(b"sha256:")?.split_at_checked(64)?;
    hex.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::testing::*;

    fn case() -> Case {
        Case::default().file("a.yaml", "crds: 2026.8.2 # keep\r\ncp:   '2026.8.2'\r\n").pins(|b| {
            b.chart("a.yaml", "linkerd-crds", "2026.8.2").chart("a.yaml", "linkerd-viz", "2026.8.2")
        })
    }

    fn after(text: &'static str) -> Case {
        case().tamper(move |changes| changes.files[0].after = Some(text.into()))
    }

    #[test]
    fn a_change_of_the_pins_alone_passes() {
        assert_eq!(case().check(ID), []);
        assert_eq!(after("crds: \"2026.8.3\" # keep\r\ncp:   '2026.8.3'\r\n").check(ID), [], "quotes");
    }

    #[test]
    fn any_other_byte_is_found() {
        for (text, line) in [
            ("crds: 2026.8.3 # kept\r\ncp:   '2026.8.3'\r\n", 1),
            ("crds: 2026.8.3 # keep\ncp:   '2026.8.3'\r\n", 1),
            ("crds: 2026.8.3 # keep\r\ncp: '2026.8.3'\r\n", 2),
            ("crds: 2026.8.3 # keep\r\ncp:   '2026.8.3'", 2),
            ("crds: 2026.8.3 # keep\r\ncp:   '2026.8.3'\r\n\r\n", 2),
            ("crds: 2026.8.3 # keep\r\ncp:   '2026.8.2'\r\n", 2),
            ("crds: '2026.8.3\" # keep\r\ncp:   '2026.8.3'\r\n", 1),
            ("", 1),
        ] {
            let found = after(text).check(ID);
            assert_eq!(severities(&found), [crate::verify::Severity::Block], "{text:?}");
            assert_eq!(found[0].place.as_ref().unwrap().line, Some(line), "{text:?}");
        }
    }

    /// Compares a text in which a label asks for an annotation with one that has it.
    fn with_entry(before: &str, after: &str) -> Option<usize> {
        let release = NewText::Fixed("edge-26.8.3".to_owned());
        let inventory = crate::plan::testing::Build::default()
            .proxy("a.yaml", "(none)")
            .with(|pin| (pin.form, pin.site.span) = (Form::Absent, 1..1))
            .inventory();
        first_stray_byte(before.as_bytes(), after.as_bytes(), &[(&inventory.pins[0], &release)])
    }

    #[test]
    fn an_entry_that_comes_is_taken_out_before_texts_are_compared() {
        let key = PROXY_VERSION;
        for (before, after) in [
            (
                "a:\n  labels:\n    x: y\n",
                format!("a:\n  labels:\n    x: y\n  annotations:\n    {key}: edge-26.8.3\n"),
            ),
            (
                "a:\r\n  l: y\r\n  app: z\r\n",
                format!("a:\r\n  l: y\r\n  annotations:\r\n    {key}: edge-26.8.3\r\n  app: z\r\n"),
            ),
            (
                "a:\n  annotations: null # none\n  b: c\n",
                format!("a:\n  annotations: {{{key}: edge-26.8.3}} # none\n  b: c\n"),
            ),
            ("a: {annotations: ~, b: c}\n", format!("a: {{annotations: {{{key}: edge-26.8.3}}, b: c}}\n")),
            ("a: {annotations: {}}\n", format!("a: {{annotations: {{{key}: edge-26.8.3}}}}\n")),
            ("a: {labels: {b: c}}", format!("a: {{labels: {{b: c}}, annotations: {{{key}: edge-26.8.3}}}}")),
            ("{\"a\": {}}", format!("{{\"a\": {{\"podAnnotations\": {{\"{key}\": \"edge-26.8.3\"}}}}}}")),
        ] {
            assert_eq!(with_entry(before, &after), None, "{after}");
            let others = [
                after.replace("edge-26.8.3", "edge-26.8.4"),
                after.replace(key, "config.linkerd.io/proxy-image"),
                after.replacen('a', "b", 1),
                format!("{after}#"),
                format!("{after}{}", after.get(before.len()..).unwrap_or_default()),
            ];
            for other in others {
                assert!(with_entry(before, &other).is_some(), "{other}");
            }
            assert!(with_entry(before, before).is_some(), "it has to come");
        }
    }

    #[test]
    fn files_are_exactly_those_of_the_plan() {
        let extra = case().tamper(|changes| {
            let mut other = changes.files[0].clone();
            other.path = crate::plan::testing::path("b.yaml");
            changes.files.push(other);
        });
        assert!(extra.check(ID)[0].reason.contains("no pin of it moves"));
        let missing = case().tamper(|changes| changes.files.clear());
        assert!(missing.check(ID)[0].reason.contains("is not changed"));
        let twice = case().tamper(|changes| changes.files.push(changes.files[0].clone()));
        assert!(twice.check(ID)[0].reason.contains("twice"));
        let removed = case().tamper(|changes| changes.files[0].after = None);
        assert!(removed.check(ID)[0].reason.contains("removed"));
    }

    #[test]
    fn the_change_must_be_made_from_the_base_commits_file() {
        let id = case().tamper(|changes| changes.files[0].before_id = None);
        let mode = case().tamper(|changes| changes.files[0].mode = Mode::Executable);
        let text = case().tamper(|changes| changes.files[0].before = b"other".to_vec());
        for case in [id, mode, text] {
            assert_eq!(case.check(ID).len(), 1);
        }
    }

    #[test]
    fn a_lock_digest_is_a_digest() {
        let digest = |digest: String| {
            let old = format!("sha256:{}", "0".repeat(64));
            let text = format!("version: 2026.8.2\ndigest: {old}\n");
            Case::default()
                .file("Chart.lock", &text)
                .pins(|b| {
                    let lock = crate::pins::PinKind::ChartLock;
                    b.pin("Chart.lock", lock, "2026.8.2").of("linkerd-crds").pin("Chart.lock", lock, &old)
                })
                .tamper(move |changes| {
                    changes.files[0].after =
                        Some(format!("version: 2026.8.3\ndigest: {digest}\n").into_bytes());
                })
                .check(ID)
        };
        assert_eq!(digest(format!("sha256:{}", "a1".repeat(32))), []);
        assert_eq!(digest(format!("sha256:{}", "a1".repeat(31))).len(), 1);
        assert_eq!(digest("2026.8.3".to_owned()).len(), 1);
    }
}
