//! Step 6, verify: what may do more than before.
//!
//! In: roles and bindings before and after. Out: a `warn` for each subject that gains a permission, with what it
//! gains, and the dangerous of it by name: wildcards, Secrets, and verbs with which a subject can raise itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    Checked, Finding, Verification,
    rendered::{Compared, compared, looked_at},
};
use crate::render::Object;

pub(super) const NAME: &str = "rbac-growth";

const GROUP: &str = "rbac.authorization.k8s.io";
const WHOLE_CLUSTER: &str = "the whole cluster";

/// The most permissions that one role is unfolded into.
const CEILING: usize = 20_000;

/// How many gains of one subject are named before the rest is counted.
const NAMED: usize = 6;

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Grant {
    group: String,
    /// A resource, or a path of the API server that is none.
    resource: String,
    /// One object's name; empty for any.
    name: String,
    verb: String,
}

/// What somebody may do somewhere.
type Grants = BTreeSet<Grant>;

/// By subject and namespace.
type Subjects = BTreeMap<(String, String), Grants>;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let all = compared(input);
    let findings = all.iter().flat_map(of_one).collect();
    Checked { looked_at: looked_at("roles and bindings", &all), findings }
}

fn of_one(compared: &Compared<'_>) -> Vec<Finding> {
    let mut touched = compared.diff.changed.iter().map(|c| &c.key).chain(&compared.diff.added);
    if !touched.any(|key| key.group == GROUP) {
        return Vec::new();
    }
    let before = subjects(compared.before.values().copied());
    let after = subjects(compared.after.values().copied());
    let each = after.iter().filter_map(|((subject, place), grants)| {
        let near = before.get(&(subject.clone(), place.clone()));
        let wide = before.get(&(subject.clone(), WHOLE_CLUSTER.to_owned()));
        let had = |grant: &Grant| [near, wide].into_iter().flatten().any(|grants| covers(grants, grant));
        let gained: Vec<&Grant> = grants.iter().filter(|grant| !had(grant)).collect();
        (!gained.is_empty()).then(|| compared.at(finding(subject, place, &gained)))
    });
    each.collect()
}

fn finding(subject: &str, place: &str, gained: &[&Grant]) -> Finding {
    let mut verbs: BTreeMap<(&str, &str, &str), Vec<&str>> = BTreeMap::new();
    for grant in gained {
        verbs.entry((&grant.group, &grant.resource, &grant.name)).or_default().push(&grant.verb);
    }
    let shown: Vec<String> = verbs.iter().take(NAMED).map(|(what, verbs)| words(*what, verbs)).collect();
    let more = match verbs.len().checked_sub(NAMED) {
        Some(more) if more > 0 => format!("; and {more} more"),
        _ => String::new(),
    };
    let reason = format!("{subject} gains in {place}: {}{more}{}", shown.join("; "), dangers(gained));
    Finding::warn(NAME, reason).mend("check that you know what it needs this for")
}

fn words((group, resource, name): (&str, &str, &str), verbs: &[&str]) -> String {
    let group = if group.is_empty() { String::new() } else { format!(" ({group})") };
    let name = if name.is_empty() { String::new() } else { format!(" named {name}") };
    format!("{} {resource}{group}{name}", verbs.join(", "))
}

/// Names what of it is dangerous, by Kubernetes' guide to RBAC.
fn dangers(gained: &[&Grant]) -> String {
    let any = |is: &dyn Fn(&Grant) -> bool| gained.iter().any(|grant| is(grant));
    let mut found = Vec::new();
    if any(&|g| g.verb == "*" || g.resource == "*" || g.group == "*") {
        found.push("a wildcard");
    }
    if any(&|g| g.group.is_empty() && g.resource == "secrets" || g.verb == UNREAD) {
        found.push("access to Secrets");
    }
    if any(&|g| matches!(g.verb.as_str(), "escalate" | "bind" | "impersonate")) {
        found.push("a way to raise itself");
    }
    if found.is_empty() { String::new() } else { format!(" (among it {})", found.join(", ")) }
}

/// The verb of a grant that stands for a role that is not unfolded.
const UNREAD: &str = "whatever is allowed by";

/// Collects what each subject may do.
fn subjects<'o>(objects: impl Iterator<Item = &'o Object>) -> Subjects {
    let mut roles: BTreeMap<(&str, &str, &str), Grants> = BTreeMap::new();
    let mut bindings = Vec::new();
    for object in objects.filter(|o| o.key.group == GROUP) {
        let (kind, name) = (object.key.kind.as_str(), object.key.name.as_str());
        match kind {
            "Role" | "ClusterRole" => {
                roles.insert(
                    (kind, object.key.namespace.as_deref().unwrap_or_default(), name),
                    grants(object),
                );
            }
            _ => bindings.push(object),
        }
    }
    let mut out = Subjects::new();
    let mut bound = BTreeSet::new();
    for binding in bindings {
        let namespace = binding.key.namespace.as_deref().unwrap_or_default();
        let place = match binding.key.kind.as_str() {
            "ClusterRoleBinding" => WHOLE_CLUSTER.to_owned(),
            _ => format!("namespace {namespace}"),
        };
        let kind = binding.text(&["roleRef", "kind"]).unwrap_or_default();
        let role = binding.text(&["roleRef", "name"]).unwrap_or_default();
        let key = (kind, if kind == "Role" { namespace } else { "" }, role);
        bound.insert(key);
        let elsewhere = || Grants::from([unread(format!("{kind} {role}"))]);
        let grants = roles.get(&key).cloned().unwrap_or_else(elsewhere);
        let list = binding.at(&["subjects"]).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for subject in list {
            out.entry((name_of(subject), place.clone())).or_default().extend(grants.iter().cloned());
        }
    }
    for ((kind, namespace, name), grants) in roles.into_iter().filter(|(key, _)| !bound.contains(key)) {
        let place = if kind == "Role" { format!("namespace {namespace}") } else { WHOLE_CLUSTER.to_owned() };
        out.entry((format!("whoever is bound to {kind} {name}"), place)).or_default().extend(grants);
    }
    out
}

fn name_of(subject: &Value) -> String {
    let text = |key: &str| subject.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("namespace") {
        "" => format!("{} {}", text("kind"), text("name")),
        namespace => format!("{} {namespace}/{}", text("kind"), text("name")),
    }
}

/// Unfolds a role; one that is too wide stands for itself, with all that it says.
fn grants(role: &Object) -> Grants {
    let mut out = Grants::new();
    let rules = role.at(&["rules"]).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for rule in rules {
        let list = |key: &str| -> Vec<String> {
            let items = rule.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let (verbs, groups, resources) = (list("verbs"), list("apiGroups"), list("resources"));
        let mut names = list("resourceNames");
        if names.is_empty() {
            names.push(String::new());
        }
        let paths = list("nonResourceURLs");
        let size = [verbs.len(), groups.len().max(1), (resources.len() + paths.len()).max(1), names.len()]
            .iter()
            .try_fold(out.len().max(1), |all, n| all.checked_mul(*n));
        if size.is_none_or(|size| size > CEILING) {
            return Grants::from([unread(format!("{}, {} long rules", role.key, rules.len()))]);
        }
        for verb in &verbs {
            let grant = |group: &str, resource: &str, name: &str| Grant {
                group: group.to_owned(),
                resource: resource.to_owned(),
                name: name.to_owned(),
                verb: verb.clone(),
            };
            out.extend(paths.iter().map(|path| grant("", path, "")));
            for group in &groups {
                let pairs = resources.iter().flat_map(|r| names.iter().map(move |n| (r, n)));
                out.extend(pairs.map(|(resource, name)| grant(group, resource, name)));
            }
        }
    }
    out
}

fn unread(role: String) -> Grant {
    Grant { group: String::new(), resource: role, name: String::new(), verb: UNREAD.to_owned() }
}

/// Tells whether grants allow what one more would, wildcards counted.
fn covers(grants: &Grants, wanted: &Grant) -> bool {
    let either = |text: &String| [text.clone(), "*".to_owned()];
    either(&wanted.group).into_iter().any(|group| {
        either(&wanted.resource).into_iter().any(|resource| {
            either(&wanted.verb).into_iter().any(|verb| {
                [wanted.name.clone(), String::new()].into_iter().any(|name| {
                    grants.contains(&Grant {
                        group: group.clone(),
                        resource: resource.clone(),
                        name,
                        verb: verb.clone(),
                    })
                })
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn role(rules: &str) -> String {
        format!("apiVersion: {GROUP}/v1\nkind: ClusterRole\nmetadata: {{name: r}}\nrules: [{rules}]\n")
    }

    fn binding(kind: &str, subject: &str) -> String {
        let place = if kind == "RoleBinding" { ", namespace: mesh" } else { "" };
        format!(
            "---\napiVersion: {GROUP}/v1\nkind: {kind}\nmetadata: {{name: b{place}}}\n\
             roleRef: {{kind: ClusterRole, name: r}}\n\
             subjects: [{{kind: ServiceAccount, name: {subject}, namespace: mesh}}]\n"
        )
    }

    const PODS: &str = "{apiGroups: [''], resources: [pods], verbs: [get, list]}";

    fn gains(before: String, after: String) -> Vec<String> {
        let found = rendered(&before, &after).check(NAME);
        assert!(found.iter().all(|f| f.severity == Warn));
        found.into_iter().map(|f| f.reason).collect()
    }

    #[test]
    fn new_verbs_resources_and_subjects_are_named_by_subject() {
        let bound = |rules: &str| role(rules) + &binding("ClusterRoleBinding", "tap");
        let jobs = "{apiGroups: [batch], resources: [jobs], verbs: [get, create]}";
        assert_eq!(
            gains(bound(PODS), bound(&format!("{PODS}, {jobs}"))),
            ["ServiceAccount mesh/tap gains in the whole cluster: create, get jobs (batch)"]
        );
        let other = role(PODS) + &binding("ClusterRoleBinding", "web");
        assert_eq!(
            gains(bound(PODS), other),
            ["ServiceAccount mesh/web gains in the whole cluster: get, list pods"]
        );
        let narrow = role(PODS) + &binding("RoleBinding", "tap");
        assert_eq!(gains(narrow, bound(PODS)).len(), 1, "from one namespace to all");
        assert_eq!(
            gains(role(PODS), role(jobs))[0],
            "whoever is bound to ClusterRole r gains in the whole cluster: create, get jobs (batch)"
        );
    }

    #[test]
    fn dangers_are_said_in_so_many_words() {
        let one = |rule: &str| gains(role(PODS), role(&format!("{PODS}, {rule}"))).remove(0);
        assert!(
            one("{apiGroups: [''], resources: [secrets], verbs: [get]}")
                .ends_with("(among it access to Secrets)")
        );
        assert!(one("{apiGroups: ['*'], resources: [x], verbs: [get]}").ends_with("(among it a wildcard)"));
        assert!(one("{apiGroups: [''], resources: [users], verbs: [impersonate]}").contains("raise itself"));
    }

    #[test]
    fn shrinking_reordering_and_what_a_wildcard_covered_pass() {
        let everything = "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}";
        assert_eq!(gains(role(everything), role(PODS)), [""; 0]);
        let turned = "{resources: [pods], apiGroups: [''], verbs: [list, get]}";
        assert_eq!(gains(role(PODS), role(turned)), [""; 0]);
        let wide = role(PODS) + &binding("ClusterRoleBinding", "tap");
        assert_eq!(gains(wide, role(PODS) + &binding("RoleBinding", "tap")), [""; 0]);
        let named = "{apiGroups: [''], resources: [pods], verbs: [get], resourceNames: [a]}";
        assert_eq!(gains(role(PODS), role(named)), [""; 0]);
        assert_eq!(gains(role(named), role(PODS)).len(), 1);
    }

    #[test]
    fn a_role_beyond_all_bounds_is_not_unfolded() {
        let many = (0..400).map(|n| format!("r{n}")).collect::<Vec<_>>().join(", ");
        let wide = format!("{{apiGroups: [{many}], resources: [{many}], verbs: [{many}]}}");
        assert!(
            gains(role(PODS), role(&wide))[0].contains("whatever is allowed by ClusterRole r, 1 long rules")
        );
    }
}
