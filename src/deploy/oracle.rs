//! What the deployers' own libraries make of many texts, beside what is made of them here.
//!
//! `tests/deploy/oracle.json` was made by Go's text/template with sprig v3.3, valyala/fasttemplate, the envsubst and
//! the merging of values of fluxcd/pkg, sigs.k8s.io/yaml and Helm's strvals.

use super::{
    cluster::Cluster,
    files::Files,
    flux::{self, envsubst},
    go_template::{Scope, Stop, Templates},
    go_yaml,
    object::Object,
    read,
    strvals::{self, Typing},
    testing::files,
    typed::{Typed, typed},
    value::{Scalar, Value},
};
use crate::yaml::Ceilings;

/// A text, and what comes of it; nothing where it is refused.
pub(super) struct Case {
    pub text: String,
    pub strict: bool,
    pub out: Option<String>,
}

/// Returns the cases of a kind, and their parameters.
pub(super) fn cases(kind: &str) -> (Vec<Case>, Value) {
    let all: serde_json::Value =
        serde_json::from_str(include_str!("../../tests/deploy/oracle.json")).unwrap();
    let text = |case: &serde_json::Value, key: &str| case[key].as_str().map(str::to_owned);
    let of_kind = all["cases"].as_array().unwrap().iter().filter(|case| case["kind"] == kind);
    let cases = of_kind.map(|case| Case {
        text: text(case, "text").unwrap(),
        strict: case["strict"] == true,
        out: text(case, "out"),
    });
    let parameters = Scalar::made(&all["parameters"][kind].to_string());
    (cases.collect(), read::mapping(&parameters, &Ceilings::default()).unwrap())
}

/// Fails with every case that is not as it should be; `None` is a text that is refused.
pub(super) fn compare(kind: &str, cases: &[Case], make: &mut dyn FnMut(&Case) -> Option<String>) {
    let mut wrong = Vec::new();
    for case in cases {
        let found = make(case);
        if found != case.out {
            wrong.push(format!("{:?}\n  expected {:?}\n  found    {:?}", case.text, case.out, found));
        }
    }
    assert!(cases.len() > 50, "{kind} has {} cases", cases.len());
    assert!(wrong.is_empty(), "{} of {} of {kind}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Scalar(scalar) => match typed(scalar) {
            Typed::Null => serde_json::Value::Null,
            Typed::Bool(is) => is.into(),
            Typed::Int(number) => number.into(),
            Typed::Float(number) => number.into(),
            Typed::Text(text) => text.into(),
        },
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(map) => map.iter().map(|(key, value)| (key.to_string(), json(value))).collect(),
    }
}

/// A JSON text whose keys are in order, so that equal ones are equal texts.
fn ordered(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(map) => {
            let mut all: Vec<_> = map.iter().map(|(k, v)| format!("{k:?}:{}", ordered(v))).collect();
            all.sort();
            format!("{{{}}}", all.join(","))
        }
        serde_json::Value::Array(items) => {
            format!("[{}]", items.iter().map(ordered).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

fn as_json(cases: Vec<Case>) -> Vec<Case> {
    let read = |out: String| ordered(&serde_json::from_str(&out).unwrap());
    cases.into_iter().map(|case| Case { out: case.out.map(read), ..case }).collect()
}

#[test]
fn go_templates_print_what_go_prints() {
    let (cases, dot) = cases("go");
    let mut templates = Templates::new("{{", "}}");
    compare("go", &cases, &mut |case| {
        let scope = Scope {
            dot: &dot,
            inputs: None,
            own: None,
            named: None,
            open: None,
            strict: case.strict,
            outcome: 0,
        };
        match templates.fill(&Scalar::made(&case.text), scope) {
            Ok(filled) => Some(filled.text.text().into_owned()),
            Err(Stop::Refused(_) | Stop::Missing(_)) => None,
            Err(Stop::Bound(bound)) => panic!("{bound:?}"),
        }
    });
}

#[test]
fn substitutions_give_what_flux_gives() {
    let (cases, variables) = cases("envsubst");
    compare("envsubst", &cases, &mut |case| {
        let mut value = |name: &str, _| variables.scalar(&[name]).cloned();
        let filled = envsubst::fill(&Scalar::made(&case.text), &mut value).ok()?;
        Some(filled.text().into_owned())
    });
}

#[test]
fn texts_are_written_as_go_yaml_writes_them() {
    let (cases, _) = cases("quote");
    compare("quote", &cases, &mut |case| {
        let value = Value::map([("a", Value::made(&case.text))]);
        Some(go_yaml::document(&value).text().into_owned())
    });
}

#[test]
fn objects_are_substituted_as_flux_does() {
    let (cases, variables) = cases("flux");
    let tree = files(&[]);
    compare("flux", &as_json(cases), &mut |case| {
        // Some are no YAML to this reader: which texts are read is not asked here.
        let Ok(value) = read::mapping(&Scalar::made(&case.text), tree.ceilings()) else {
            return case.out.clone();
        };
        let filled = go_yaml::rewritten(&value, &tree, &|text| text.contains('$'), &mut |text| {
            envsubst::fill(text, &mut |name, _| variables.scalar(&[name]).cloned()).map_err(|e| e.to_string())
        });
        let filled = filled.ok()?.unwrap_or(value);
        Some(ordered(&json(&filled)))
    });
}

#[test]
fn values_of_a_release_are_laid_out_as_flux_does() {
    let (cases, _) = cases("release");
    // What Flux refuses is no release; here its other values are read all the same.
    let cases: Vec<Case> = as_json(cases).into_iter().filter(|case| case.out.is_some()).collect();
    compare("release", &cases, &mut |case| {
        let given: serde_json::Value = serde_json::from_str(&case.text).unwrap();
        let refs = given["Refs"].as_array().unwrap();
        let mut tree = Vec::new();
        let mut from = Vec::new();
        for (at, reference) in refs.iter().enumerate() {
            let name = format!("m{at}");
            let map = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": "n"}, "data": {"k": reference["Data"]}});
            tree.push((format!("{name}.json"), map.to_string()));
            from.push(serde_json::json!({"kind": "ConfigMap", "name": name, "valuesKey": "k",
                "targetPath": reference["Target"]}));
        }
        let release = serde_json::json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": "r", "namespace": "n"}, "spec": {"valuesFrom": from, "values": given["Values"],
            "chartRef": {"kind": "OCIRepository", "name": "none"}}});
        tree.push(("r.json".to_owned(), release.to_string()));
        let named: Vec<(&str, &str)> =
            tree.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let tree = files(&named);
        let mut objects = Vec::new();
        for entry in tree.below("") {
            let documents = tree.documents(entry.path.as_str()).unwrap();
            objects.extend(documents.iter().flat_map(|d| Object::all(d, &entry.path)));
        }
        let release = objects.iter().find(|o| o.kind() == "HelmRelease").unwrap();
        let read = flux::helm_release(release, &Cluster::new(&objects), &tree).unwrap();
        let values = read.values();
        values.refused.is_empty().then(|| ordered(&json(&values.value)))
    });
}

#[test]
fn single_values_are_set_as_helm_sets_them() {
    for (kind, typing) in [("set", Typing::Looks), ("set-string", Typing::Text)] {
        let (cases, base) = cases(kind);
        compare(kind, &as_json(cases), &mut |case| {
            let mut values = base.clone();
            strvals::set(&mut values, &Scalar::made(&case.text), typing).ok()?;
            Some(ordered(&json(&values)))
        });
    }
}
