//! Step 8, verify: defaults of the charts that change under users who rely on them.
//!
//! In: both charts' defaults and the user's values. Out: a `warn` for each default that changes and that the user has not
//! set, with what is known of that change; an `info` for those of parts that are switched off, one for those that are
//! gone and one for those that are new. Versions of images are the release itself and are left out.

use serde_json::{Map, Value};

use super::{CheckId, Checked, Finding, Verification, count, listed};
use crate::{
    linkerd,
    render::{FieldChange, FieldPath, Rendering, Segment, names_release_only},
};

pub(super) const ID: CheckId = CheckId::DefaultsChanged;

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
        findings.extend(of_one(input, rendering));
    }
    Checked { looked_at: format!("defaults of {}", count(seen.len(), "chart")), findings }
}

fn of_one(input: &Verification<'_>, rendering: &Rendering) -> Vec<Finding> {
    let mut walk = Walk {
        rendering,
        path: Vec::new(),
        changed: Vec::new(),
        off: Vec::new(),
        gone: Vec::new(),
        added: Vec::new(),
    };
    if let (Value::Object(before), Value::Object(after)) =
        (&rendering.defaults_before, &rendering.defaults_after)
    {
        walk.mappings(before, after, Some(&rendering.values_after));
    }
    let to = &rendering.to;
    let at = |finding: Finding| finding.at(&rendering.path, rendering.line);
    let shown = walk.changed.iter().take(SHOWN);
    let mut found: Vec<Finding> = shown.map(|c| at(change(input, rendering, c))).collect();
    found.extend(ignored(rendering).map(at));
    let more = walk.changed.len().saturating_sub(SHOWN);
    if more > 0 {
        let reason = format!("{} more of {to} change that you have not set", count(more, "default"));
        found.push(at(Finding::warn(ID, reason).hint("compare the two values.yaml")));
    }
    if !walk.off.is_empty() {
        let number = count(walk.off.len(), "default");
        let verb = if walk.off.len() == 1 { "changes" } else { "change" };
        let reason = format!("{to}: {number} of what you have switched off {verb}: {}", names(&walk.off));
        found.push(at(Finding::info(ID, reason)));
    }
    if !walk.gone.is_empty() {
        let number = count(walk.gone.len(), "value");
        found.push(at(Finding::info(ID, format!("{to} no longer has {number}: {}", names(&walk.gone)))));
    }
    if !walk.added.is_empty() {
        let number = count(walk.added.len(), "new value");
        found.push(at(Finding::info(ID, format!("{to} has {number}: {}", names(&walk.added)))));
    }
    found
}

fn names(paths: &[String]) -> String {
    listed(paths.iter().map(|path| format!("`{}`", shortened(path))), SHOWN)
}

fn change(input: &Verification<'_>, rendering: &Rendering, change: &FieldChange) -> Finding {
    let shown = |text: Option<String>| text.map(|text| shortened(&text)).unwrap_or_default();
    let (before, after) = (shown(change.shown_before()), shown(change.shown_after()));
    let reason = format!("{}: the default of `{}` goes from {before} to {after}", rendering.to, change.path);
    let hint = "set it, if you rely on the old one";
    // What was published of this very default says more than its two values, on the way to it.
    let name = format!("{}:{}", rendering.to.name, change.path);
    let notices = input.catalog.knowledge.notices.iter().filter(|_| input.plan.undoes.is_none());
    let told = notices.into_iter().find(|n| n.touches.as_ref().is_some_and(|t| t.unset.contains(&name)));
    let hint =
        told.map_or(hint.to_owned(), |n| format!("{hint}: {}", uncapitalised(n.text.trim_end_matches('.'))));
    Finding::warn(ID, reason).hint(hint)
}

/// A sentence as a part of another.
fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Native sidecars do not wait before they exit (L2 _proxy.tpl): a value of the user's that a new default switches off.
fn ignored(rendering: &Rendering) -> Option<Finding> {
    let sidecar = ["proxy", "nativeSidecar"];
    let is_native = |values: &Value, defaults: &Value| {
        at(values, &sidecar).or_else(|| at(defaults, &sidecar)).and_then(Value::as_bool) == Some(true)
    };
    let was = is_native(&rendering.values_before, &rendering.defaults_before);
    let seconds = at(&rendering.values_after, &["proxy", "waitBeforeExitSeconds"]).and_then(Value::as_u64);
    let lost = !was && is_native(&rendering.values_after, &rendering.defaults_after);
    let reason = format!(
        "`proxy.waitBeforeExitSeconds` has no effect under {}, whose proxies are native sidecars",
        rendering.to
    );
    let hint = "remove it, or set `proxy.nativeSidecar: false`";
    (lost && seconds.is_some_and(|s| s > 0)).then(|| Finding::warn(ID, reason).hint(hint))
}

fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(*key))
}

struct Walk<'a> {
    rendering: &'a Rendering,
    path: Vec<&'a str>,
    changed: Vec<FieldChange>,
    /// Those that change in a part that is switched off.
    off: Vec<String>,
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
            (_, None) if linkerd::reads_undeclared(&self.rendering.to.name, &self.path.join(".")) => {}
            (_, Some(_)) if self.is_off() => self.off.push(self.path.join(".")),
            (_, None) => self.gone.push(self.path.join(".")),
            _ => {
                let path = FieldPath(self.path.iter().map(|key| Segment::Key((*key).to_owned())).collect());
                let (before, after) = (Some(before.clone()), after.cloned());
                self.changed.push(FieldChange { path, before, after, secret: false });
            }
        }
    }

    /// Tells whether a part around this value has `enabled: false`; not so of that word itself.
    fn is_off(&self) -> bool {
        let Rendering { values_after, defaults_after, .. } = self.rendering;
        let Some((key, parents)) = self.path.split_last() else { return false };
        let is_off = |length: usize| {
            let switch = [parents.get(..length).unwrap_or_default(), &["enabled"]].concat();
            at(values_after, &switch).or_else(|| at(defaults_after, &switch)) == Some(&Value::Bool(false))
        };
        *key != "enabled" && (1..=parents.len()).any(is_off)
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
        case.check(ID)
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
    fn what_is_published_of_a_default_is_said_with_it() {
        let case = rendered("", "").with_rendering(|r| {
            r.to.name = "linkerd-control-plane".into();
            r.defaults_before = json!({"proxy": {"nativeSidecar": false, "waitBeforeExitSeconds": 0}});
            r.defaults_after = json!({"proxy": {"nativeSidecar": true, "waitBeforeExitSeconds": 0}});
            r.values_after = json!({"proxy": {"waitBeforeExitSeconds": 10}});
        });
        let found = case.check(ID);
        assert_eq!(severities(&found), [Warn, Warn]);
        assert!(found[0].hint.as_ref().unwrap().contains("native sidecars by default"), "{found:?}");
        assert!(found[1].reason.starts_with("`proxy.waitBeforeExitSeconds` has no effect"));
        let back = rendered("", "").undoing("2026.8.3").with_rendering(|r| {
            r.to.name = "linkerd-control-plane".into();
            r.defaults_before = json!({"proxy": {"nativeSidecar": true}});
            r.defaults_after = json!({"proxy": {"nativeSidecar": false}});
        });
        let hint = back.check(ID).remove(0).hint.unwrap();
        assert_eq!(hint, "set it, if you rely on the old one", "it says where it leads, not whence");
    }

    #[test]
    fn a_part_that_is_switched_off_is_no_warning_and_switching_it_is() {
        let off = |on: bool| json!({"podMonitor": {"enabled": on, "proxy": {"interval": 5}}});
        let other = |on: bool| json!({"podMonitor": {"enabled": on, "proxy": {"interval": 9}}});
        let quiet = found(off(false), other(false), json!({}));
        assert_eq!(severities(&quiet), [Info]);
        assert!(
            quiet[0]
                .reason
                .ends_with("1 default of what you have switched off changes: `podMonitor.proxy.interval`")
        );
        let on = json!({"podMonitor": {"enabled": true}});
        assert_eq!(severities(&found(off(false), other(false), on)), [Warn], "the user switched it on");
        assert_eq!(severities(&found(off(true), other(false), json!({}))), [Warn, Info], "the switch itself");
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
