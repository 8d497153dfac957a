//! Argo CD's build environment: `$ARGOCD_APP_NAME` and the like in paths, parameters and images.
//!
//! Source: `newEnv` of `reposerver/repository/repository.go`; names are found as Go's `os.Expand` finds them. What is
//! no name of it is empty.

use crate::deploy::value::{Part, Scalar, Value};

/// The environment of one source.
pub(super) struct Environment {
    known: Vec<(&'static str, Scalar)>,
}

// === impl Environment ===

impl Environment {
    /// The environment of a source of an Application.
    pub fn new(application: &Value, source: &Value) -> Self {
        let text =
            |value: &Value, keys: &[&str]| value.scalar(keys).cloned().unwrap_or_else(|| Scalar::made(""));
        let known = vec![
            ("ARGOCD_APP_NAME", text(application, &["metadata", "name"])),
            ("ARGOCD_APP_NAMESPACE", text(application, &["spec", "destination", "namespace"])),
            ("ARGOCD_APP_PROJECT_NAME", text(application, &["spec", "project"])),
            ("ARGOCD_APP_SOURCE_PATH", text(source, &["path"])),
            ("ARGOCD_APP_SOURCE_REPO_URL", text(source, &["repoURL"])),
            ("ARGOCD_APP_SOURCE_TARGET_REVISION", text(source, &["targetRevision"])),
        ];
        Self { known }
    }

    fn value(&self, name: &str) -> Scalar {
        let known = self.known.iter().find(|(known, _)| *known == name);
        match known {
            Some((_, value)) => value.clone(),
            None if name == "$" => Scalar::made("$"),
            None if name.starts_with("ARGOCD_APP_REVISION") => {
                Scalar::unknown(&format!("`${name}`, which only Argo CD knows"))
            }
            None => Scalar::made(""),
        }
    }

    /// Fills a text.
    pub fn fill(&self, text: &Scalar) -> Scalar {
        let whole = text.text();
        if !whole.contains('$') {
            return text.clone();
        }
        let mut parts: Vec<Part> = Vec::new();
        let mut from = 0;
        while let Some(found) = whole.get(from..).and_then(|rest| rest.find('$')) {
            let at = from + found;
            let behind = whole.get(at + 1..).unwrap_or_default();
            parts.extend_from_slice(text.cut(from..at).parts());
            let (name, width) = name_of(behind);
            match name {
                Some(name) => parts.extend_from_slice(self.value(name).parts()),
                // A `$` that no name follows stays; what is no name at all goes.
                None if width == 0 => parts.extend_from_slice(text.cut(at..at + 1).parts()),
                None => {}
            }
            from = at + 1 + width;
        }
        parts.extend_from_slice(text.cut(from..whole.len()).parts());
        Scalar::of(parts, text.plain)
    }
}

/// Reads the name behind a `$`: the name, and how many bytes it takes.
fn name_of(text: &str) -> (Option<&str>, usize) {
    let special = |c: char| matches!(c, '*' | '#' | '$' | '@' | '!' | '?' | '-' | '0'..='9');
    let Some(first) = text.chars().next() else { return (None, 0) };
    if first == '{' {
        return match text.find('}') {
            Some(1) => (None, 2),
            Some(end) => (text.get(1..end), end + 1),
            None => (None, 1),
        };
    }
    if special(first) {
        return (text.get(..1), 1);
    }
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    (text.get(..end).filter(|name| !name.is_empty()), end)
}
