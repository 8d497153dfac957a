//! Step 8, verify: what may do more than before.
//!
//! In: roles and bindings before and after. Out: a `warn` for each subject that gains a permission, with what it
//! gains, and the dangerous of it by name: wildcards, Secrets, other ways to more power. A role that is added to one of
//! the cluster's own (`aggregate-to-...`) is a gain of whoever has that one; a role that gathers others is followed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    CheckId, Checked, Finding, Verification,
    rendered::{Compared, compared, looked_at},
};
use crate::render::{Object, ObjectKey};

pub(super) const ID: CheckId = CheckId::RbacGrowth;

const GROUP: &str = "rbac.authorization.k8s.io";
const WHOLE_CLUSTER: &str = "the whole cluster";

/// The most permissions that one role is unfolded into.
const CEILING: usize = 20_000;

/// How many gains of one subject are named before the rest is counted.
const NAMED: usize = 6;

/// The label by which a role's rules become those of one of the cluster's own roles.
const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to-";

/// The group of paths of the API server that are no resources: no group has a space in it.
const PATHS: &str = "a path";

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
        let source = || source(compared, subject, &gained);
        (!gained.is_empty()).then(|| Some(compared.at(source()?, finding(subject, place, &gained)))).flatten()
    });
    each.collect()
}

/// Finds the changed or new object that brings a gain: a role with it, else a binding of that subject.
fn source<'r>(compared: &Compared<'r>, subject: &str, gained: &[&Grant]) -> Option<&'r ObjectKey> {
    let touched = || {
        let keys = compared.diff.changed.iter().map(|change| &change.key).chain(&compared.diff.added);
        keys.filter(|key| key.group == GROUP).filter_map(|key| compared.after.get(key))
    };
    let gives = |role: &&&Object| grants(role).iter().any(|grant| gained.contains(&grant));
    let binds = |binding: &&&Object| {
        let subjects = binding.at(&["subjects"]).and_then(Value::as_array);
        subjects.into_iter().flatten().any(|one| name_of(one) == subject)
    };
    let found = touched().find(gives).or_else(|| touched().find(binds)).or_else(|| touched().next());
    found.map(|object| &object.key)
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
    Finding::warn(ID, reason).hint("check that you know what it needs this for")
}

fn words((group, resource, name): (&str, &str, &str), verbs: &[&str]) -> String {
    let group = if matches!(group, "" | PATHS) { String::new() } else { format!(" ({group})") };
    let name = if name.is_empty() { String::new() } else { format!(" named {name}") };
    format!("{} {resource}{group}{name}", verbs.join(", "))
}

/// Names what of it is dangerous, by Kubernetes' guide to RBAC.
fn dangers(gained: &[&Grant]) -> String {
    let any = |is: &dyn Fn(&Grant) -> bool| gained.iter().any(|grant| is(grant));
    let does = |grant: &Grant, verbs: &[&str]| grant.verb == "*" || verbs.contains(&grant.verb.as_str());
    let on = |grant: &Grant, group: &str, resources: &[&str]| {
        matches!(&grant.group, g if g == group || g == "*")
            && (grant.resource == "*" || resources.contains(&grant.resource.as_str()))
    };
    const WRITES: [&str; 3] = ["create", "update", "patch"];
    let mut found = Vec::new();
    if any(&|g| g.verb == "*" || g.resource == "*" || g.group == "*") {
        found.push("a wildcard");
    }
    if any(&|g| on(g, "", &["secrets"])) {
        found.push("access to Secrets");
    }
    let raises = |g: &Grant| {
        does(g, &["escalate", "bind", "impersonate"])
            || does(g, &WRITES)
                && (on(g, GROUP, &["roles", "clusterroles", "rolebindings", "clusterrolebindings"])
                    || on(g, "", &["serviceaccounts/token"])
                    || on(g, "certificates.k8s.io", &["certificatesigningrequests/approval"]))
    };
    if any(&raises) {
        found.push("a way to raise itself");
    }
    if any(&|g| does(g, &WRITES) && on(g, "", &["pods/exec", "pods/attach", "pods/ephemeralcontainers"]))
        || any(&|g| on(g, "", &["nodes/proxy"]))
    {
        found.push("a way into other pods");
    }
    let hooks = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    if any(&|g| does(g, &WRITES) && on(g, "admissionregistration.k8s.io", &hooks)) {
        found.push("control over admission");
    }
    if any(&|g| g.verb == UNREAD) {
        found.push("a role whose rules are not here");
    }
    if found.is_empty() { String::new() } else { format!(" (among it {})", found.join(", ")) }
}

/// The verb of a grant that stands for a role that is not unfolded.
const UNREAD: &str = "whatever is allowed by";

/// Collects what each subject may do.
fn subjects<'o>(objects: impl Iterator<Item = &'o Object>) -> Subjects {
    let mut roles: BTreeMap<(&str, &str, &str), Grants> = BTreeMap::new();
    let (mut bindings, mut gathering, mut out) = (Vec::new(), Vec::new(), Subjects::new());
    for object in objects.filter(|o| o.key.group == GROUP) {
        let (kind, name) = (object.key.kind.as_str(), object.key.name.as_str());
        match kind {
            "Role" | "ClusterRole" => {
                let grants = grants(object);
                for above in aggregated_to(object) {
                    let subject = format!("whoever has the ClusterRole {above}");
                    out.entry((subject, WHOLE_CLUSTER.to_owned())).or_default().extend(grants.clone());
                }
                gathering.extend(object.at(&["aggregationRule"]).map(|rule| (name, rule)));
                let namespace = object.key.namespace.as_deref().unwrap_or_default();
                roles.insert((kind, namespace, name), grants);
            }
            _ => bindings.push(object),
        }
    }
    // What else in the cluster matches the rule is not here; the rule itself stands for it.
    for (name, rule) in gathering {
        let all = unread(format!("roles that ClusterRole {name} gathers by {rule}"));
        roles.entry(("ClusterRole", "", name)).or_default().insert(all);
    }
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

/// Returns the cluster's own roles that a role's rules are added to.
fn aggregated_to(role: &Object) -> impl Iterator<Item = &str> {
    let labels = role.at(&["metadata", "labels"]).and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    let set = labels.filter(|(_, value)| value.as_str() == Some("true"));
    set.filter_map(|(name, _)| name.strip_prefix(AGGREGATE_TO))
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
            out.extend(paths.iter().map(|path| grant(PATHS, path, "")));
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
    let groups = match wanted.group.as_str() {
        // `*` is all groups of resources.
        PATHS => vec![wanted.group.clone()],
        group => vec![group.to_owned(), "*".to_owned()],
    };
    let mut resources = vec![wanted.resource.clone(), "*".to_owned()];
    match wanted.group.as_str() {
        PATHS => resources.extend(paths_above(&wanted.resource)),
        _ => resources.extend(wanted.resource.split_once('/').map(|(_, sub)| format!("*/{sub}"))),
    }
    groups.iter().any(|group| {
        resources.iter().any(|resource| {
            [&wanted.verb, "*"].into_iter().any(|verb| {
                [&wanted.name, ""].into_iter().any(|name| {
                    grants.contains(&Grant {
                        group: group.clone(),
                        resource: resource.clone(),
                        name: name.to_owned(),
                        verb: verb.to_owned(),
                    })
                })
            })
        })
    })
}

/// Returns the patterns that a path matches: `/a/*` and `/*` for `/a/b`.
fn paths_above(path: &str) -> impl Iterator<Item = String> + '_ {
    path.match_indices('/').map(|(at, _)| format!("{}*", path.get(..=at).unwrap_or_default()))
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
        let found = rendered(&before, &after).check(ID);
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
    fn other_ways_to_power_are_named() {
        let one = |rule: &str| gains(role(PODS), role(&format!("{PODS}, {rule}"))).remove(0);
        let rule = |group: &str, resource: &str, verb: &str| {
            one(&format!("{{apiGroups: ['{group}'], resources: [{resource}], verbs: [{verb}]}}"))
        };
        assert!(rule("", "serviceaccounts/token", "create").contains("a way to raise itself"));
        assert!(rule(GROUP, "clusterrolebindings", "patch").contains("a way to raise itself"));
        assert!(rule("", "pods/exec", "create").contains("a way into other pods"));
        let hooks = rule("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "update");
        assert!(hooks.contains("control over admission"));
        assert!(!rule(GROUP, "clusterroles", "get").contains("among it"));
    }

    #[test]
    fn what_becomes_a_part_of_the_clusters_own_roles_is_a_gain() {
        let label = |text: String| {
            text.replace("{name: r}", &format!("{{name: r, labels: {{{AGGREGATE_TO}edit: 'true'}}}}"))
        };
        let found = gains(role(PODS), label(role(PODS)));
        assert_eq!(found, ["whoever has the ClusterRole edit gains in the whole cluster: get, list pods"]);
        let gathers = |name: &str| {
            role("")
                + &format!("aggregationRule: {{clusterRoleSelectors: [{{matchLabels: {{a: {name}}}}}]}}\n")
        };
        assert_eq!(gains(gathers("x"), gathers("x")), [""; 0]);
        assert!(gains(gathers("x"), gathers("y"))[0].contains("roles that ClusterRole r gathers by"));
    }

    #[test]
    fn paths_of_the_api_server_are_no_resources() {
        let urls = |path: &str| format!("{{nonResourceURLs: ['{path}'], verbs: [get]}}");
        let secrets = "{apiGroups: [''], resources: [secrets], verbs: [get]}";
        assert_eq!(gains(role(&urls("*")), role(secrets)).len(), 1, "all paths are no Secrets");
        assert_eq!(gains(role(&urls("/metrics/*")), role(&urls("/metrics/a"))), [""; 0]);
        assert_eq!(
            gains(role(&urls("/metrics")), role(&urls("/logs"))),
            ["whoever is bound to ClusterRole r gains in the whole cluster: get /logs"]
        );
        let scale =
            |resource: &str| format!("{{apiGroups: [apps], resources: ['{resource}'], verbs: [update]}}");
        assert_eq!(gains(role(&scale("*/scale")), role(&scale("deployments/scale"))), [""; 0]);
    }

    #[test]
    fn a_role_that_is_not_here_is_not_taken_for_more_than_that() {
        let bound = binding("ClusterRoleBinding", "tap").replace("name: r}", "name: system:auth-delegator}");
        let found = gains(String::new(), bound);
        assert_eq!(
            found,
            ["ServiceAccount mesh/tap gains in the whole cluster: whatever is allowed by ClusterRole \
              system:auth-delegator (among it a role whose rules are not here)"]
        );
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
