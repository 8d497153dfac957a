//! Step 8, verify: every value that a user sets is one that the chart has.
//!
//! In: the values after the change and the new chart's defaults. Out: a `warn` for each that the defaults do not know,
//! with what took its place, the nearest name beside it, or the one place where the chart has that name: no chart of
//! Linkerd has a values schema, so a wrong name is accepted in silence. A default of `{}` or `null`, or a selector, is
//! free-form and accepts anything.

use serde_json::{Map, Value};
use similar::get_close_matches;

use super::{CheckId, Checked, Finding, Verification, count, listed};
use crate::{
    linkerd::{is_free_form, reads_undeclared, replaced_value},
    render::Rendering,
};

pub(super) const ID: CheckId = CheckId::ValuesUnknown;

/// How many of one rendering are shown one by one.
const SHOWN: usize = 20;

/// How many are named that were unknown before.
const NAMED: usize = 5;

/// How near a name must be to be meant: one slip, not the same beginning.
const NEAR: f32 = 0.8;

/// A longer name is no key of a chart; comparing it would cost its square.
const LONGEST: usize = 64;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let mut seen = 0;
    let mut findings = Vec::new();
    for rendering in &input.rendered.done {
        let mut walk = Walk { rendering, path: Vec::new(), seen: 0, unknown: Vec::new() };
        if let (Value::Object(values), Value::Object(defaults)) =
            (&rendering.values_after, &rendering.defaults_after)
        {
            walk.mapping(values, defaults);
        }
        seen += walk.seen;
        let (new, old): (Vec<Unknown<'_>>, _) =
            walk.unknown.into_iter().partition(|unknown| unknown.was_known(rendering));
        let more = new.len().saturating_sub(SHOWN);
        findings.extend(new.iter().take(SHOWN).map(|unknown| finding(rendering, unknown)));
        if more > 0 {
            let reason = format!("{} more of {} that it no longer knows", count(more, "value"), rendering.to);
            let finding = Finding::warn(ID, reason).hint("compare them with the chart's values.yaml");
            findings.push(finding.at(&rendering.path, rendering.line));
        }
        findings.extend((!old.is_empty()).then(|| as_before(rendering, &old)));
    }
    Checked { looked_at: format!("{} that users set", count(seen, "value")), findings }
}

/// A key that the defaults do not have.
struct Unknown<'a> {
    path: String,
    key: &'a str,
    /// The keys that there are beside it.
    known: &'a Map<String, Value>,
}

// === impl Unknown ===

impl Unknown<'_> {
    /// Tells whether the chart knew it before the change.
    fn was_known(&self, rendering: &Rendering) -> bool {
        let defaults = &rendering.defaults_before;
        self.path.split('.').try_fold(defaults, |value, key| value.get(key)).is_some()
    }

    /// Returns the name that may be meant.
    fn meant(&self, rendering: &Rendering) -> Option<String> {
        let short = |name: &&str| name.len() <= LONGEST;
        let names: Vec<&str> = self.known.keys().map(String::as_str).filter(short).collect();
        let near = Some(self.key).filter(short).map(|key| get_close_matches(key, &names, 1, NEAR));
        let near = near.and_then(|near| near.first().map(|name| (*name).to_owned()));
        near.or_else(|| only_place(&rendering.defaults_after, &self.path))
    }
}

struct Walk<'a> {
    rendering: &'a Rendering,
    path: Vec<&'a str>,
    seen: usize,
    unknown: Vec<Unknown<'a>>,
}

// === impl Walk ===

impl<'a> Walk<'a> {
    fn mapping(&mut self, values: &'a Map<String, Value>, known: &'a Map<String, Value>) {
        for (key, value) in values {
            self.seen += 1;
            self.path.push(key);
            let path = self.path.join(".");
            match (value, known.get(key)) {
                (Value::Object(values), Some(Value::Object(known)))
                    if !known.is_empty() && !is_free_form(&path) =>
                {
                    self.mapping(values, known);
                }
                (_, Some(_)) => {}
                (_, None) if reads_undeclared(&self.rendering.to.name, &path) => {}
                // A `null` removes a default, here one that is gone.
                (Value::Null, None) => {}
                (_, None) => self.unknown.push(Unknown { path, key, known }),
            }
            self.path.pop();
        }
    }
}

fn finding(rendering: &Rendering, unknown: &Unknown<'_>) -> Finding {
    let path = &unknown.path;
    let hint = match replaced_value(&rendering.to.name, path) {
        Some(hint) => hint.to_owned(),
        None => match unknown.meant(rendering) {
            Some(name) => format!("did you mean `{name}`? Otherwise remove it"),
            None => "remove it, or see the chart's values.yaml for what took its place".to_owned(),
        },
    };
    let reason = format!(
        "`{}` is a value that {} no longer knows, so it has no effect",
        shortened(path),
        rendering.to
    );
    Finding::warn(ID, reason).at(&rendering.path, rendering.line).hint(hint)
}

/// Says of values which the chart did not know before either that they have no effect: nothing changes for them.
fn as_before(rendering: &Rendering, unknown: &[Unknown<'_>]) -> Finding {
    let name = |unknown: &Unknown<'_>| match unknown.meant(rendering) {
        Some(meant) => format!("`{}` (did you mean `{meant}`?)", shortened(&unknown.path)),
        None => format!("`{}`", shortened(&unknown.path)),
    };
    let names = listed(unknown.iter().map(name), NAMED);
    let (to, from) = (&rendering.to, &rendering.from.version);
    let reason = match unknown.len() {
        1 => format!("{names} is a value that {to} does not know, nor did {from}: it has no effect"),
        _ => format!("{names} are values that {to} does not know, nor did {from}: they have no effect"),
    };
    Finding::info(ID, reason).at(&rendering.path, rendering.line)
}

/// Finds the one place that the chart has for a key, where the path names it with levels too few or too many.
fn only_place(defaults: &Value, path: &str) -> Option<String> {
    fn walk<'v>(value: &'v Value, key: &str, path: &mut Vec<&'v str>, found: &mut Vec<String>) {
        for (name, value) in value.as_object().into_iter().flatten() {
            path.push(name);
            if name == key {
                found.push(path.join("."));
            }
            walk(value, key, path, found);
            path.pop();
        }
    }
    let split = |path| str::rsplit_once(path, '.').unwrap_or(("", path));
    let (above, key) = split(path);
    let mut found = Vec::new();
    walk(defaults, key, &mut Vec::new(), &mut found);
    let known = found.pop().filter(|_| found.is_empty())?;
    let (mapping, _) = split(&known);
    (is_within(mapping, above) || is_within(above, mapping)).then_some(known)
}

/// Tells whether a path lies in a mapping, or is it.
fn is_within(path: &str, mapping: &str) -> bool {
    let below = path.strip_prefix(mapping);
    mapping.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn shortened(path: &str) -> String {
    match path.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", path.get(..end).unwrap_or_default()),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};
    use serde_json::json;

    fn between(values: Value, before: Value, after: Value) -> Vec<Finding> {
        let case = rendered("", "").with_rendering(|r| {
            r.to.name = "linkerd-control-plane".into();
            r.values_after = values;
            r.defaults_after = after;
            r.defaults_before = before;
        });
        case.check(ID)
    }

    /// The chart before knew all that is set.
    fn found(values: Value, defaults: Value) -> Vec<Finding> {
        between(values.clone(), values, defaults)
    }

    #[test]
    fn what_was_unknown_before_is_said_once_and_needs_nobody() {
        let defaults = json!({"proxy": {"logLevel": "y"}});
        let values = json!({"proxy": {"logLevle": "x"}, "nothing": 2, "gone": 3});
        let before = json!({"proxy": {"logLevel": "y"}, "gone": 1});
        let found = between(values, before, defaults);
        assert_eq!(severities(&found), [Warn, Info]);
        assert!(found[0].reason.starts_with("`gone` is a value that linkerd-control-plane"));
        assert_eq!(
            found[1].reason,
            "`proxy.logLevle` (did you mean `logLevel`?), `nothing` are values that linkerd-control-plane 2026.8.3 does \
             not know, nor did 2026.8.2: they have no effect"
        );
    }

    #[test]
    fn a_name_that_the_chart_does_not_know_is_found_with_the_nearest() {
        let found = found(json!({"proxy": {"logLevle": "x"}, "old": 2}), json!({"proxy": {"logLevel": "y"}}));
        assert_eq!(severities(&found), [Warn, Warn]);
        let proxy = found.iter().find(|f| f.reason.starts_with("`proxy.logLevle`")).unwrap();
        assert!(proxy.hint.as_ref().unwrap().contains("`logLevel`"), "{proxy:?}");
        assert!(found.iter().any(|f| f.reason.contains("`old` is a value that linkerd-control-plane")
            && f.reason.contains("no longer knows")));
    }

    #[test]
    fn what_took_its_place_goes_before_what_sounds_like_it() {
        let defaults = json!({"controllerImage": "x", "proxy": {"nativeSidecar": true, "image": {"name": "y"}},
            "a": {"twice": 1}, "b": {"twice": 1}});
        let hint = |values: Value| found(values, defaults.clone()).remove(0).hint.unwrap();
        assert!(hint(json!({"controlPlaneTracing": true})).contains("`controller.tracing.enabled`"));
        assert!(
            hint(json!({"proxyInit": {"image": {}}})).starts_with("remove it"),
            "not even its parent is there"
        );
        assert_eq!(
            hint(json!({"nativeSidecar": false})),
            "did you mean `proxy.nativeSidecar`? Otherwise remove it"
        );
        let elsewhere =
            found(json!({"grafana": {"on": 1}}), json!({"grafana": {"x": 1}, "prometheus": {"on": 1}}));
        assert!(elsewhere[0].hint.as_ref().unwrap().starts_with("remove it"), "of something else");
        assert!(hint(json!({"twice": 1})).starts_with("remove it"), "two places are a guess");
        assert!(hint(json!({"controlPlane": 1})).starts_with("remove it"), "the same beginning is not near");
    }

    #[test]
    fn what_the_charts_own_high_availability_values_set_passes() {
        let ha = json!({"controllerResources": {"cpu": {"request": "100m"}}, "highAvailability": true,
            "nodeSelector": {"pool": "infra"}});
        assert_eq!(found(ha, json!({"nodeSelector": {"kubernetes.io/os": "linux"}})), []);
    }

    #[test]
    fn known_free_form_and_undeclared_values_pass() {
        let defaults = json!({"podLabels": {}, "resources": null, "a": {"b": 1}});
        let values = json!({"podLabels": {"x": "y"}, "resources": {"cpu": 1}, "a": {"b": {"deeper": 1}},
            "heartbeatSchedule": "0 0 * * *", "global": {"x": 1}, "gone": null});
        assert_eq!(found(values, defaults), []);
    }

    #[test]
    fn a_flood_is_counted() {
        let many: Map<String, Value> = (0..50_000).map(|n| (format!("key{n}"), json!(1))).collect();
        let found = found(Value::Object(many), json!({"known": 1}));
        assert_eq!(found.len(), SHOWN + 1);
        assert!(found.iter().any(|f| f.reason.starts_with("49980 values more")));
    }
}
