//! Step 8, verify: every changed file that was YAML or JSON still is.
//!
//! In: the change set. Out: a `block` for a file that no longer parses, or that has another number of documents.
//! A file that did not parse before (a text with a marker line) is not asked to.

use super::{CheckId, Checked, Finding, Verification, count};
use crate::{
    repo::{FileChange, RepoPath},
    yaml::Stream,
};

pub(super) const ID: CheckId = CheckId::Parses;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let files: Vec<&FileChange> =
        input.changes.files.iter().filter(|f| documents(&f.path, &f.before).is_some()).collect();
    let findings = files.iter().filter_map(|file| finding(file)).collect();
    Checked { looked_at: format!("the syntax of {}", count(files.len(), "changed file")), findings }
}

fn finding(file: &FileChange) -> Option<Finding> {
    let after = file.after.as_ref()?;
    let reason = match (documents(&file.path, &file.before), documents(&file.path, after)) {
        (old, new) if old == new || (file.rendered && new.is_some()) => return None,
        (_, None) => "the file parsed before the change and does not after it".to_owned(),
        (old, new) => {
            format!("the file had {} documents and now has {}", old.unwrap_or(0), new.unwrap_or(0))
        }
    };
    let hint = "this is a defect of uplinker; do not merge, and report it";
    Some(Finding::block(ID, reason).at(&file.path, None).hint(hint))
}

/// Counts the documents of a text; `None` where it is not what its name says. YAML takes almost any line of text for a
/// scalar, so only names that deployers read as YAML are asked.
fn documents(path: &RepoPath, content: &[u8]) -> Option<usize> {
    let name = path.name().to_ascii_lowercase();
    let text = std::str::from_utf8(content).ok()?;
    if name.ends_with(".json") {
        return serde_json::from_str::<serde::de::IgnoredAny>(text.trim_start_matches('\u{feff}'))
            .ok()
            .map(|_| 1);
    }
    if [".tf", ".tofu", ".tfvars", ".hcl"].iter().any(|end| name.ends_with(end)) {
        return hcl_edit::parser::parse_body(text).ok().map(|_| 1);
    }
    let is_yaml = [".yaml", ".yml", ".lock"].iter().any(|end| name.ends_with(end)) || name == "kustomization";
    is_yaml.then(|| Stream::parse(text).ok()).flatten().map(|stream| stream.documents.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::testing::*;

    fn after(file: &'static str, before: &str, after: &'static str) -> Vec<Finding> {
        Case::default()
            .file(file, before)
            .pins(|b| b.chart(file, "linkerd-crds", "2026.8.2"))
            .tamper(move |changes| changes.files[0].after = Some(after.into()))
            .check(ID)
    }

    #[test]
    fn what_parses_before_and_after_passes() {
        assert_eq!(after("a.yaml", "v: 2026.8.2\n---\nb: 1\n", "v: 2026.8.3\n---\nb: 1\n"), []);
        assert_eq!(after("a.json", "{\"v\": \"2026.8.2\"}", "{\"v\": \"2026.8.3\"}"), []);
    }

    #[test]
    fn broken_yaml_and_json_are_found() {
        assert_eq!(after("a.yaml", "v: [2026.8.2]\n", "v: [2026.8.3\n").len(), 1);
        assert_eq!(after("a.json", "{\"v\": \"2026.8.2\"}", "{\"v\": 2026.8.3}").len(), 1);
        assert_eq!(after("a.tf", "v = \"2026.8.2\"\n", "v = \"2026.8.3\n").len(), 1);
    }

    #[test]
    fn a_lost_document_is_found() {
        let found = after("a.yaml", "v: 2026.8.2\n---\nb: 1\n", "v: 2026.8.3\n");
        assert!(found[0].reason.contains("2 documents and now has 1"), "{found:?}");
    }

    #[test]
    fn what_never_parsed_is_not_asked_to() {
        assert_eq!(after("a.yaml", "v: [2026.8.2\n", "v: [2026.8.3\n"), [], "a template with a marker line");
        assert_eq!(after("versions.mk", "V = [2026.8.2\n", "V = [2026.8.3\n"), []);
    }
}
