//! Step 8, verify: what admission webhooks may hold up.
//!
//! In: webhook configurations before and after. Out: a `warn` where a webhook would begin to refuse requests when it is
//! down, or reaches further, or may take longer, or is gone; an `info` where it begins to let requests pass, or is
//! called for less.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    CheckId, Checked, Finding, Verification, listed,
    rendered::{Compared, compared, looked_at},
};
use crate::render::{Object, ObjectKey};

pub(super) const ID: CheckId = CheckId::WebhookFailurePolicy;

/// How many of one webhook's rules are named before the rest is counted.
const NAMED: usize = 5;

const CHECK_SERVICE: &str = "check that the service behind it is up and has several replicas";

/// The most combinations that the rules of one webhook are unfolded into.
const CEILING: usize = 20_000;

/// Operation, group, version, resource, scope.
type Reach = BTreeSet<[String; 5]>;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let all = compared(input);
    let findings = all.iter().flat_map(of_one).collect();
    Checked { looked_at: looked_at("admission webhooks", &all), findings }
}

fn of_one(compared: &Compared<'_>) -> Vec<Finding> {
    let configuration = |key: &ObjectKey| {
        matches!(key.kind.as_str(), "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration")
    };
    let changed = compared.changed().filter(|(change, ..)| configuration(&change.key));
    let at = |key: &'_ ObjectKey, found: Vec<Finding>| {
        found.into_iter().map(|finding| compared.at(key, finding)).collect::<Vec<_>>()
    };
    let mut found: Vec<Finding> =
        changed.flat_map(|(change, before, after)| at(&change.key, between(before, after))).collect();
    for key in compared.diff.added.iter().filter(|key| configuration(key)) {
        let hooks = compared.after.get(key).map(|object| webhooks(object)).unwrap_or_default();
        found
            .extend(at(key, hooks.into_iter().filter_map(|(name, hook)| brought(key, name, hook)).collect()));
    }
    for key in compared.diff.removed.iter().filter(|key| configuration(key)) {
        let hooks = compared.before.get(key).map(|object| webhooks(object)).unwrap_or_default();
        found.extend(at(key, hooks.into_keys().map(gone).collect()));
    }
    found
}

fn between(before: &Object, after: &Object) -> Vec<Finding> {
    let old = webhooks(before);
    let mut found = Vec::new();
    for (name, new) in webhooks(after) {
        match old.get(name) {
            Some(old) => found.extend(changes(name, old, new)),
            None => found.extend(brought(&after.key, name, new)),
        }
    }
    let new = webhooks(after);
    found.extend(old.into_keys().filter(|name| !new.contains_key(name)).map(gone));
    found
}

fn gone(name: &str) -> Finding {
    let reason = format!("the webhook {name} is gone: what it did to requests is no longer done");
    Finding::warn(ID, reason).hint("check that nothing relies on it; without an injector, pods get no proxy")
}

fn brought(key: &ObjectKey, name: &str, hook: &Value) -> Option<Finding> {
    let reason = format!("{key} brings the webhook {name}, which refuses requests while it is down");
    (policy(hook) == "Fail").then(|| Finding::warn(ID, reason).hint(CHECK_SERVICE))
}

fn changes(name: &str, old: &Value, new: &Value) -> Vec<Finding> {
    let mut found = Vec::new();
    match (policy(old), policy(new)) {
        ("Ignore", "Fail") => found.push(
            Finding::warn(
                ID,
                format!("{name} goes from Ignore to Fail: requests are refused while it is down"),
            )
            .hint(CHECK_SERVICE),
        ),
        ("Fail", "Ignore") => found.push(Finding::info(
            ID,
            format!("{name} goes from Fail to Ignore: requests pass unchecked while it is down"),
        )),
        _ => {}
    }
    found.extend(rules(name, old, new));
    for selector in ["namespaceSelector", "objectSelector", "matchConditions", "matchPolicy"] {
        if said(old, selector) != said(new, selector) {
            let reason = format!("{name} is called for other objects: its {selector} changes");
            found.push(Finding::warn(ID, reason).hint("compare which namespaces and objects it selects"));
        }
    }
    let seconds = |hook: &Value| hook.get("timeoutSeconds").and_then(Value::as_u64).unwrap_or(10);
    if seconds(new) > seconds(old) {
        let (old, new) = (seconds(old), seconds(new));
        let reason = format!("{name} may hold a request for {new} seconds instead of {old}");
        found.push(Finding::warn(ID, reason).hint("check that no other limit on the way is shorter"));
    }
    let again = |hook: &Value| hook.get("reinvocationPolicy").and_then(Value::as_str) == Some("IfNeeded");
    if again(new) && !again(old) {
        let reason =
            format!("{name} may now be called twice for one request, when a later webhook changes it");
        found.push(Finding::info(ID, reason));
    }
    found
}

/// Returns a selector; one that selects everything is the same as none.
fn said<'v>(hook: &'v Value, selector: &str) -> Option<&'v Value> {
    let is_default = |value: &Value| match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(|v| v.is_null() || v.as_array().is_some_and(Vec::is_empty)),
        Value::Array(items) => items.is_empty(),
        // In admissionregistration/v1.
        Value::String(text) => text == "Equivalent",
        Value::Bool(_) | Value::Number(_) => false,
    };
    hook.get(selector).filter(|value| !is_default(value))
}

fn rules(name: &str, old: &Value, new: &Value) -> Option<Finding> {
    let hint = "check that these requests may pass through it";
    let (Some(old), Some(new)) = (reach(old), reach(new)) else {
        let same = old.get("rules") == new.get("rules");
        let reason = format!("{name} has too many rules to compare, and they change");
        return (!same).then(|| Finding::warn(ID, reason).hint(hint));
    };
    let gained = beyond(&new, &old);
    if gained.is_empty() {
        let lost = beyond(&old, &new);
        let reason = format!("{name} is called for less: no longer for {}", listed(&lost, NAMED));
        return (!lost.is_empty()).then(|| Finding::info(ID, reason));
    }
    Some(Finding::warn(ID, format!("{name} is called for more: {}", listed(&gained, NAMED))).hint(hint))
}

/// Says what one reach has that another has not.
fn beyond(reach: &Reach, other: &Reach) -> Vec<String> {
    let more = reach.iter().filter(|wanted| !covers(other, wanted));
    let words = more.map(|[operation, group, version, resource, scope]| {
        let group = if group.is_empty() { String::new() } else { format!(" ({group}/{version})") };
        let scope = if scope == "*" { String::new() } else { format!(", {scope}") };
        format!("{operation} {resource}{group}{scope}")
    });
    words.collect()
}

fn webhooks(object: &Object) -> BTreeMap<&str, &Value> {
    let list = object.at(&["webhooks"]).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(|hook| Some((hook.get("name")?.as_str()?, hook))).collect()
}

/// In admissionregistration/v1 a webhook that does not say fails.
fn policy(hook: &Value) -> &str {
    hook.get("failurePolicy").and_then(Value::as_str).unwrap_or("Fail")
}

/// Unfolds a webhook's rules; `None` where they are too many.
fn reach(hook: &Value) -> Option<Reach> {
    let mut out = Reach::new();
    for rule in hook.get("rules").and_then(Value::as_array).map_or(&[][..], Vec::as_slice) {
        let list = |key: &str| -> Vec<&str> {
            let items = rule.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            items.iter().filter_map(Value::as_str).collect()
        };
        let lists = [list("operations"), list("apiGroups"), list("apiVersions"), list("resources")];
        let size = lists.iter().try_fold(1_usize, |all, list| all.checked_mul(list.len()))?;
        if out.len() + size > CEILING {
            return None;
        }
        let [operations, groups, versions, resources] = &lists;
        let scope = rule.get("scope").and_then(Value::as_str).unwrap_or("*");
        for &operation in operations {
            for &group in groups {
                for &version in versions {
                    let each = resources.iter().map(|r| [operation, group, version, *r, scope]);
                    out.extend(each.map(|rule| rule.map(str::to_owned)));
                }
            }
        }
    }
    Some(out)
}

/// Tells whether a reach has what is wanted, wildcards counted.
fn covers(reach: &Reach, wanted: &[String; 5]) -> bool {
    (0..32_u8).any(|stars| {
        let mut asked = wanted.clone();
        for (place, text) in asked.iter_mut().enumerate() {
            if stars & (1 << place) != 0 {
                *text = "*".to_owned();
            }
        }
        reach.contains(&asked)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn hook(rest: &str) -> String {
        format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n\
             metadata: {{name: injector}}\nwebhooks:\n- {{name: inject.l5d.io, {rest}}}\n"
        )
    }

    const BASE: &str = "failurePolicy: Ignore, rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], \
                        resources: [pods]}]";

    fn found(before: &str, after: &str) -> Vec<Finding> {
        rendered(&hook(before), &hook(after)).check(ID)
    }

    #[test]
    fn a_webhook_that_begins_to_fail_is_found() {
        assert_eq!(severities(&found(BASE, &BASE.replace("Ignore", "Fail"))), [Warn]);
        assert_eq!(
            severities(&found(BASE, &BASE.replace("failurePolicy: Ignore, ", ""))),
            [Warn],
            "by default"
        );
        assert_eq!(severities(&found(&BASE.replace("Ignore", "Fail"), BASE)), [Info]);
        let new = rendered("", &hook(&BASE.replace("Ignore", "Fail"))).check(ID);
        assert!(new[0].reason.contains("brings the webhook inject.l5d.io"));
    }

    #[test]
    fn a_wider_scope_is_named() {
        let services = found(BASE, &BASE.replace("[pods]", "[pods, services]"));
        assert!(services[0].reason.ends_with("is called for more: CREATE services"), "{services:?}");
        assert_eq!(severities(&found(BASE, &format!("{BASE}, timeoutSeconds: 20"))), [Warn]);
        assert_eq!(severities(&found(BASE, &format!("{BASE}, namespaceSelector: {{a: b}}"))), [Warn]);
        assert_eq!(severities(&found(BASE, &format!("{BASE}, reinvocationPolicy: IfNeeded"))), [Info]);
    }

    #[test]
    fn scope_removal_and_less_are_said() {
        let narrow = BASE.replace("resources: [pods]", "resources: [pods], scope: Namespaced");
        assert_eq!(severities(&found(&narrow, BASE)), [Warn], "cluster-wide objects too");
        let less = found(&BASE.replace("[CREATE]", "[CREATE, UPDATE]"), BASE);
        assert_eq!(severities(&less), [Info]);
        assert!(less[0].reason.ends_with("no longer for UPDATE pods"), "{less:?}");
        let gone = rendered(&hook(BASE), "").check(ID);
        assert_eq!(severities(&gone), [Warn]);
        assert!(gone[0].reason.starts_with("the webhook inject.l5d.io is gone"));
        let renamed = rendered(&hook(BASE), &hook(BASE).replace("inject.l5d.io", "other.l5d.io")).check(ID);
        assert_eq!(severities(&renamed), [Warn]);
    }

    #[test]
    fn what_selects_everything_is_the_same_as_nothing() {
        let said = "namespaceSelector: {}, objectSelector: {matchExpressions: []}, matchPolicy: Equivalent";
        assert_eq!(found(BASE, &format!("{BASE}, {said}")), []);
        assert_eq!(severities(&found(BASE, &format!("{BASE}, matchPolicy: Exact"))), [Warn]);
    }

    #[test]
    fn narrower_equal_and_unrelated_changes_pass() {
        assert_eq!(severities(&found(&BASE.replace("[pods]", "['*']"), BASE)), [Info]);
        assert_eq!(found(BASE, &format!("{BASE}, timeoutSeconds: 5")), []);
        assert_eq!(found(BASE, &format!("{BASE}, clientConfig: {{caBundle: x}}")), []);
        assert_eq!(rendered("", &hook(BASE)).check(ID), [], "a new one that lets requests pass");
    }
}
