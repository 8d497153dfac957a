//! Step 6, verify: defaults of the charts that change under users who rely on them.
//!
//! In: both charts' defaults and the user's values. Out: a `warn` for each default that changes and that the user has not
//! set, an `info` for those that are gone and one for those that are new. Versions of images are the release itself and
//! are left out.

use serde_json::{Map, Value};

use super::{Checked, Finding, Verification, count};
use crate::{
    linkerd,
    render::{FieldChange, FieldPath, Rendering, Segment, names_release_only},
};

pub(super) const NAME: &str = "defaults-changed";

/// How many of one rendering are shown one by one.
const SHOWN: usize = 20;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let mut findings = Vec::new();
    let mut seen: Vec<(&_, &_)> = Vec::new();
    for rendering in &input.rendered.done {
        // Several releases of one chart have one set of defaults, and each its own values.
        let charts = (&rendering.from, &rendering.to);
        if !seen.contains(&charts) {
            seen.push(charts);
        }
        findings.extend(of_one(rendering));
    }
    Checked { looked_at: format!("defaults of {}", count(seen.len(), "chart")), findings }
}

fn of_one(rendering: &Rendering) -> Vec<Finding> {
    let mut walk =
        Walk { rendering, path: Vec::new(), changed: Vec::new(), gone: Vec::new(), added: Vec::new() };
    if let (Value::Object(before), Value::Object(after)) =
        (&rendering.defaults_before, &rendering.defaults_after)
    {
        walk.mappings(before, after, Some(&rendering.values_after));
    }
    let to = &rendering.to;
    let at = |finding: Finding| finding.at(&rendering.path, rendering.line);
    let mut found: Vec<Finding> = walk.changed.iter().take(SHOWN).map(|c| at(change(rendering, c))).collect();
    let more = walk.changed.len().saturating_sub(SHOWN);
    if more > 0 {
        let reason = format!("{} more of {to} change that you have not set", count(more, "default"));
        found.push(at(Finding::warn(NAME, reason).mend("compare the two values.yaml")));
    }
    if !walk.gone.is_empty() {
        let number = count(walk.gone.len(), "value");
        found.push(at(Finding::info(NAME, format!("{to} no longer has {number}: {}", names(&walk.gone)))));
    }
    if !walk.added.is_empty() {
        let number = count(walk.added.len(), "new value");
        found.push(at(Finding::info(NAME, format!("{to} has {number}: {}", names(&walk.added)))));
    }
    found
}

fn names(paths: &[String]) -> String {
    let more = paths.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names: Vec<String> = paths.iter().take(SHOWN).map(|path| format!("`{}`", shortened(path))).collect();
    format!("{}{more}", names.join(", "))
}

fn change(rendering: &Rendering, change: &FieldChange) -> Finding {
    let shown = |text: Option<String>| text.map(|text| shortened(&text)).unwrap_or_default();
    let (before, after) = (shown(change.shown_before()), shown(change.shown_after()));
    let reason = format!("{}: the default of `{}` goes from {before} to {after}", rendering.to, change.path);
    Finding::warn(NAME, reason).mend("set it, if you rely on the old one")
}

struct Walk<'a> {
    rendering: &'a Rendering,
    path: Vec<&'a str>,
    changed: Vec<FieldChange>,
    gone: Vec<String>,
    added: Vec<String>,
}

// === impl Walk ===

impl<'a> Walk<'a> {
    fn mappings(
        &mut self,
        before: &'a Map<String, Value>,
        after: &'a Map<String, Value>,
        user: Option<&'a Value>,
    ) {
        for (key, old) in before {
            self.path.push(key);
            self.values(old, after.get(key), user.and_then(|user| user.get(key)));
            self.path.pop();
        }
        for key in after.keys().filter(|key| !before.contains_key(*key)) {
            self.path.push(key);
            self.added.push(self.path.join("."));
            self.path.pop();
        }
    }

    fn values(&mut self, before: &'a Value, after: Option<&'a Value>, user: Option<&'a Value>) {
        match (before, after) {
            (_, Some(after)) if before == after => {}
            (Value::Object(old), Some(Value::Object(new))) => {
                // Helm lays mappings over each other, so what the user leaves out of one is still the default.
                if user.is_none_or(Value::is_object) {
                    self.mappings(old, new, user);
                }
            }
            _ if user.is_some() || self.is_version(before, after) => {}
            (_, None) => self.gone.push(self.path.join(".")),
            _ => {
                let path = FieldPath(self.path.iter().map(|key| Segment::Key((*key).to_owned())).collect());
                let (before, after) = (Some(before.clone()), after.cloned());
                self.changed.push(FieldChange { path, before, after, secret: false });
            }
        }
    }

    fn is_version(&self, before: &Value, after: Option<&Value>) -> bool {
        let Rendering { from, to, .. } = self.rendering;
        let moved = after.is_some_and(|after| names_release_only(before, after, from, to));
        moved || linkerd::value(&to.name, &self.path.join(".")).is_some()
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};
    use serde_json::json;

    fn found(before: Value, after: Value, values: Value) -> Vec<Finding> {
        let case = rendered("", "").with_rendering(|r| {
            r.defaults_before = before;
            r.defaults_after = after;
            r.values_after = values;
        });
        case.check(NAME)
    }

    #[test]
    fn a_default_that_changes_under_the_user_is_a_warning() {
        let found = found(
            json!({"proxy": {"nativeSidecar": false, "await": true}, "old": {"on": true}, "off": false}),
            json!({"proxy": {"nativeSidecar": true, "await": true, "new": 1}}),
            json!({"proxy": {"await": false}}),
        );
        assert_eq!(severities(&found), [Warn, Info, Info]);
        assert!(found[0].reason.ends_with("the default of `proxy.nativeSidecar` goes from false to true"));
        assert!(found[1].reason.ends_with("no longer has 2 values: `old`, `off`"), "{found:?}");
        assert!(found.iter().any(|f| f.reason.ends_with("has 1 new value: `proxy.new`")));
    }

    #[test]
    fn what_the_user_set_and_versions_pass() {
        let changed =
            found(json!({"a": {"b": 1, "c": 1}}), json!({"a": {"b": 2, "c": 1}}), json!({"a": {"b": 1}}));
        assert_eq!(changed, []);
        let versions = found(
            json!({"linkerdVersion": "edge-26.8.2", "namespaceMetadata": {"image": {"tag": "v0.1.11"}}}),
            json!({"linkerdVersion": "edge-26.8.3", "namespaceMetadata": {"image": {"tag": "v0.1.12"}}}),
            json!({}),
        );
        assert_eq!(versions, []);
        assert_eq!(found(json!({"a": 1}), json!({"a": 1}), json!({})), []);
    }
}
