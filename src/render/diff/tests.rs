//! Tests of the object diff: one a rule, and properties over generated objects.

use serde_json::json;

use super::*;

fn object(value: Value) -> Object {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let api_version = text("/apiVersion").unwrap_or_else(|| "v1".into());
    let key = ObjectKey {
        group: api_version.rsplit_once('/').map_or("", |(group, _)| group).to_owned(),
        kind: text("/kind").unwrap_or_else(|| "Thing".into()),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name").unwrap_or_else(|| "x".into()),
    };
    Object { key, api_version, value, document: 0, span: 0..0, source: None, item: None }
}

pub(super) fn named(kind: &str, name: &str, rest: Value) -> Object {
    let mut value = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
    value::overlay(&mut value, &rest);
    object(value)
}

fn between(kind: &str, before: Value, after: Value) -> ObjectDiff {
    diff(&[&named(kind, "x", before)], &[&named(kind, "x", after)])
}

/// The changed fields in words, then the lists whose order changed.
fn words(diff: &ObjectDiff) -> Vec<String> {
    let order =
        |change: &ObjectChange| change.reordered.iter().map(|p| format!("order of {p}")).collect::<Vec<_>>();
    let fields = diff.fields().map(|(_, field)| field.to_string());
    fields.chain(diff.changed.iter().flat_map(order)).collect()
}

fn pod(containers: Value) -> Value {
    json!({"spec": {"template": {"spec": {"containers": containers}}}})
}

#[test]
fn objects_are_matched_by_name_whatever_their_version_and_order() {
    let v1 = object(
        json!({"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}}),
    );
    let v2 =
        object(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}}));
    let (b, c, d) = (named("A", "b", json!({})), named("A", "c", json!({})), named("A", "d", json!({})));
    let found = diff(&[&v1, &b, &c], &[&d, &c, &v2]);
    assert_eq!(found.added, std::slice::from_ref(&d.key));
    assert_eq!(found.removed, std::slice::from_ref(&b.key));
    assert_eq!(words(&found), ["apiVersion: policy/v1beta1 -> policy/v1"]);
    assert_eq!(found.same, 1);
    assert_eq!(found, diff(&[&c, &v1, &b], &[&v2, &d, &c]));
}

#[test]
fn items_are_matched_by_merge_keys() {
    let before = pod(json!([
        {"name": "a", "image": "x:1", "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP", "name": "u"}],
         "env": [{"name": "E", "value": "1"}], "volumeMounts": [{"mountPath": "/var/run", "name": "v"}]},
    ]));
    let after = pod(json!([
        {"name": "new"},
        {"name": "a", "image": "x:2", "ports": [{"containerPort": 1, "protocol": "UDP", "name": "w"}, {"containerPort": 1}],
         "env": [{"name": "E", "value": "2"}], "volumeMounts": [{"mountPath": "/var/run", "name": "v", "readOnly": true}]},
    ]));
    let root = "spec.template.spec.containers[name=a]";
    let wanted = [
        format!("{root}.env[name=E].value: \"1\" -> \"2\""),
        format!("{root}.image: x:1 -> x:2"),
        format!("{root}.ports[containerPort=1,protocol=UDP].name: u -> w"),
        format!("{root}.volumeMounts[mountPath=/var/run].readOnly: added true"),
        "spec.template.spec.containers[name=new]: added {\"name\":\"new\"}".to_owned(),
    ];
    assert_eq!(words(&between("Deployment", before, after)), wanted);
}

#[test]
fn an_order_is_noted_only_where_it_counts() {
    let two = |first: &str, second: &str| json!([{"name": first}, {"name": second}]);
    let init = |list: Value| json!({"spec": {"initContainers": list}});
    let moved = between("Pod", init(two("a", "b")), init(two("b", "a")));
    assert_eq!(words(&moved), ["order of spec.initContainers"]);
    let volumes = |list: Value| json!({"spec": {"volumes": list}});
    assert!(between("Pod", volumes(two("a", "b")), volumes(two("b", "a"))).is_empty());
    let args = |list: Value| pod(json!([{"name": "a", "args": list}]));
    let path = "spec.template.spec.containers[name=a].args";
    let found = between("Deployment", args(json!(["x", "p", "z"])), args(json!(["z", "x", "p"])));
    assert_eq!(words(&found), [format!("order of {path}")]);
    let found = between("Deployment", args(json!(["x", "p", "z"])), args(json!(["x", "q", "z"])));
    assert_eq!(words(&found), [format!("{path}[1]: p -> q")]);
    let found = between("Deployment", args(json!(["-a", "-b"])), args(json!(["-a", "-new", "-b"])));
    assert_eq!(words(&found), [format!("{path}[1]: added -new")]);
}

#[test]
fn rules_are_matched_by_content_and_their_words_are_sets() {
    let rule =
        |resource: &str, verbs: &[&str]| json!({"apiGroups": [""], "resources": [resource], "verbs": verbs});
    let rules = |list: &[Value]| json!({"rules": list});
    let before = [rule("pods", &["get", "list"]), rule("nodes", &["get"])];
    let same = [rule("nodes", &["get"]), rule("pods", &["list", "get"])];
    assert!(between("ClusterRole", rules(&before), rules(&same)).is_empty());
    let inserted = [rule("jobs", &["get"]), rule("pods", &["get", "list"]), rule("nodes", &["get"])];
    assert_eq!(
        words(&between("ClusterRole", rules(&before), rules(&inserted))),
        ["rules[0]: added {\"apiGroups\":[\"\"],\"resources\":[\"jobs\"],\"verbs\":[\"get\"]}"]
    );
    let grown = [rule("nodes", &["get"]), rule("jobs", &["get"]), rule("pods", &["get", "watch", "list"])];
    let found = between("ClusterRole", rules(&before), rules(&grown));
    assert_eq!(words(&found)[0], "rules[2].verbs[=watch]: added watch", "{found:?}");
    assert_eq!(words(&found).len(), 2, "and the new rule");
}

#[test]
fn yaml_in_a_config_map_is_compared_as_values() {
    let map = |text: &str| json!({"data": {"values": text, "prometheus.yml": "a: [1]\n"}});
    let found = between(
        "ConfigMap",
        map("proxy:\n  image:\n    version: a\nx: 1\n"),
        map("x: 1\nproxy: {image: {version: b}}\n"),
    );
    assert_eq!(words(&found), ["data.values | proxy.image.version: a -> b"]);
    let comment = between("ConfigMap", map("a: 1\n"), map("a: 1 # same\n"));
    assert_eq!(words(&comment).len(), 1, "texts that differ are never the same");
    let prose = between("ConfigMap", map("one"), map("two"));
    assert_eq!(words(&prose), ["data.values: one -> two"]);
    let documents = between("ConfigMap", map("a: 1\n---\nb: 1\n"), map("a: 1\n---\nb: 2\n"));
    assert_eq!(words(&documents).len(), 1, "a second document is not overlooked");
}

#[test]
fn secrets_are_marked_and_masked_also_in_debug_output() {
    let secret = |text: &str| json!({"type": text, "data": {"k": text}, "stringData": {"s": text}});
    let found = between("Secret", secret("b25l"), secret("dHdv"));
    assert_eq!(
        words(&found),
        ["data.k: (hidden) -> (hidden)", "stringData.s: (hidden) -> (hidden)", "type: b25l -> dHdv"]
    );
    assert!(!format!("{:?}", found.changed[0].fields[0]).contains("dHdv"));
}

#[test]
fn lists_without_usable_keys_are_matched_by_content() {
    let env = |list: Value| json!({"spec": {"containers": [{"name": "a", "env": list}]}});
    let twice = json!([{"name": "E", "value": "1"}, {"name": "E", "value": "2"}]);
    let found = between(
        "Pod",
        env(twice.clone()),
        env(json!([{"name": "E", "value": "1"}, {"name": "E", "value": "3"}])),
    );
    assert_eq!(words(&found), ["spec.containers[name=a].env[1].value: \"2\" -> \"3\""]);
    let found = between("Pod", env(twice), env(json!(["x"])));
    assert_eq!(words(&found).len(), 3);
}

#[test]
fn a_deep_value_is_looked_at_once_and_not_once_a_level() {
    let nested = |last: u32| {
        let many: Vec<Value> = (0..50_000).map(Value::from).chain([json!(last)]).collect();
        (0..250).fold(
            json!(many),
            |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({"a": inner}) },
        )
    };
    let (before, after) = (json!({"spec": nested(1)}), json!({"spec": nested(2)}));
    let started = std::time::Instant::now();
    assert_eq!(between("Thing", before, after).fields().count(), 1);
    println!("{:?}", started.elapsed());
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

#[test]
fn hostile_lists_cost_no_more_than_their_length() {
    let started = std::time::Instant::now();
    let many =
        |from: usize| (from..from + 20_000).map(|n| json!({"verbs": [format!("v{n}")]})).collect::<Vec<_>>();
    let mut backwards = many(1);
    backwards.reverse();
    assert_eq!(
        between("ClusterRole", json!({"rules": many(0)}), json!({"rules": backwards})).fields().count(),
        2
    );
    let same = |n: usize| vec![json!("x"); n];
    let found = between("Thing", json!({"list": same(20_000)}), json!({"list": same(30_000)}));
    assert_eq!(found.fields().count(), 10_000);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
