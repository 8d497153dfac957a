//! A chart that the Helm controller of k3s and RKE2 installs.
//!
//! In: a `HelmChart` of `helm.cattle.io`, with the `HelmChartConfig` of its name. Source: `pkg/controllers/chart/chart.go`
//! of k3s-io/helm-controller.

use super::{
    chart::{ChartRelease, Installed, Layer, Parameter, ParameterKind, Repository, addressed},
    cluster::{Cluster, Reference},
    files::Files,
    object::Object,
    typed::{Typed, is_true, typed},
    value::{Part, Scalar, Value, Via},
};

/// The group of its objects.
pub const GROUP: &str = "helm.cattle.io";
/// The APIs of its Helm controller.
pub const APIS: [&str; 3] =
    ["helm.cattle.io/v1", "helm.cattle.io/v1/HelmChart", "helm.cattle.io/v1/HelmChartConfig"];

/// Reads a HelmChart; `None` where it names no chart.
pub fn helm_chart(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Option<ChartRelease> {
    let spec = object.value.get("spec")?;
    let own = |key: &str| spec.scalar(&[key]).filter(|s| !s.text().is_empty()).cloned();
    let name = object.name()?.clone();
    let config = config_of(object, cluster);
    let config = config.and_then(|config| config.value.get("spec").map(|spec| (config, spec)));
    let mut layers = values(object, spec, files);
    layers.extend(config.into_iter().flat_map(|(config, spec)| values(config, spec, files)));
    layers.extend(sets(spec));
    // The package itself may stand in the object, and goes before whatever names one (`chartSource`).
    let is_inside = own("chartContent").is_some();
    let chart = own("chart").or_else(|| is_inside.then(|| name.clone()))?;
    let (chart, repository, packaged) = match (addressed(&chart), own("repo")) {
        (Some(addressed), _) => addressed,
        (None, Some(repo)) => (chart, Repository::Address(repo), None),
        (None, None) => {
            let who = format!("the repository of the chart `{}`, which Helm knows there", chart.text());
            (chart, Repository::Unknown(who), None)
        }
    };
    let (repository, version, beside) = match is_inside {
        true => {
            let who = "the package in `chartContent`";
            let version = Scalar::unknown(who).asked_by(&chart);
            (Repository::Unknown(who.to_owned()), Some(version), own("version"))
        }
        false => (repository, packaged.or_else(|| own("version")), None),
    };
    Some(ChartRelease {
        by: object.by.clone(),
        version,
        beside: beside.into_iter().collect(),
        release: name,
        namespace: own("targetNamespace").or_else(|| object.namespace().cloned()),
        layers,
        apis: APIS.to_vec(),
        installed: installed(config.map(|(_, spec)| spec).into_iter().chain([spec])),
        ..ChartRelease::new(&object.file, chart, repository)
    })
}

/// Reads a HelmChartConfig whose HelmChart is not in the tree: one for a chart that k3s or RKE2 brings itself.
pub fn helm_chart_config(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Option<ChartRelease> {
    let spec = object.value.get("spec")?;
    let name = object.name()?.clone();
    if namesake(object, "HelmChart", cluster).is_some() {
        return None;
    }
    let repository = Repository::Unknown("the distribution, which brings this chart itself".to_owned());
    Some(ChartRelease {
        by: object.by.clone(),
        is_part: true,
        release: name.clone(),
        namespace: object.namespace().cloned(),
        layers: values(object, spec, files),
        ..ChartRelease::new(&object.file, name, repository)
    })
}

/// Tells whether k3s leaves a HelmChart as it is, since a file lies beside its own that says so (k3s-io/k3s,
/// `pkg/deploy/controller.go`).
pub fn is_skipped(object: &Object, files: &dyn Files) -> bool {
    object.is(GROUP, "HelmChart") && files.has(&format!("{}.skip", object.file))
}

/// Returns the HelmChartConfig of a HelmChart, where it is in the tree.
pub fn chart_config<'c>(object: &Object, cluster: &Cluster<'c>) -> Vec<&'c Object> {
    config_of(object, cluster).into_iter().collect()
}

/// Finds the HelmChartConfig of a HelmChart: not that of another cluster, where its own has none.
fn config_of<'c>(chart: &Object, cluster: &Cluster<'c>) -> Option<&'c Object> {
    let is_whole = |chart: &Object| chart.value.path(&["spec", "chart"]).is_some();
    let found = namesake(chart, "HelmChartConfig", cluster)?;
    (!cluster.is_anothers(found, chart, is_whole)).then_some(found)
}

/// Finds the object of another kind that has the same name.
fn namesake<'c>(object: &Object, kind: &str, cluster: &Cluster<'c>) -> Option<&'c Object> {
    let (name, namespace) = (object.name()?.text(), object.namespace().and_then(Scalar::known));
    let (name, namespace) = (&*name, namespace.as_deref());
    cluster.find(Reference { group: GROUP, kind, name, namespace, from: &object.file })
}

/// Says what becomes of a release that fails; the first that says it decides (`getJobAndRelatedResources`).
fn installed<'v>(mut specs: impl Iterator<Item = &'v Value>) -> Installed {
    let policy = specs.find_map(|spec| spec.text(&["failurePolicy"]).filter(|text| !text.is_empty()));
    match policy.as_deref() {
        Some("abort" | "retry") => Installed::Helm,
        _ => Installed::K3s,
    }
}

/// The values of a HelmChart or of its HelmChartConfig, in their order.
fn values(object: &Object, spec: &Value, files: &dyn Files) -> Vec<Layer> {
    let name = object.name().map(|n| n.text().into_owned()).unwrap_or_default();
    let mut layers = Vec::new();
    if let Some(text) = spec.scalar(&["valuesContent"]).filter(|t| !t.text().is_empty()) {
        layers.push(Layer::text(text, files, &format!("`valuesContent` of {} {name}", object.kind())));
    }
    layers.extend(spec.get("values").map(Layer::values));
    for secret in spec.list_at("valuesSecrets") {
        let name = secret.text(&["name"]).unwrap_or_default();
        let optional = is_true(secret, &["ignoreUpdates"]);
        for key in secret.list_at("keys").iter().filter_map(Value::as_scalar) {
            let who = format!("Secret {name}, key {}", key.text());
            layers.push(Layer::Outside { who, target: None, optional, text: None });
        }
    }
    layers
}

/// `set`: numbers and YAML's words are typed, all else is text.
fn sets(spec: &Value) -> Vec<Layer> {
    let mut entries: Vec<(&str, &Scalar)> = spec
        .get("set")
        .into_iter()
        .flat_map(Value::entries)
        .filter_map(|(k, v)| Some((k, v.as_scalar()?)))
        .collect();
    entries.sort_by_key(|(key, _)| *key);
    let is_typed = |value: &Scalar| {
        let word = matches!(&*value.text().to_ascii_lowercase(), "true" | "false" | "null");
        word || matches!(typed(value), Typed::Int(_))
    };
    let (looks, texts): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(_, value)| is_typed(value));
    let set = |(name, value): (&str, &Scalar), kind| {
        let value = value.via(Via::Values);
        let value = if kind == ParameterKind::Text { escaped(&value) } else { value };
        Layer::Set(Parameter { name: Scalar::made(name), value, kind })
    };
    let looks = looks.into_iter().map(|entry| set(entry, ParameterKind::Looks));
    looks.chain(texts.into_iter().map(|entry| set(entry, ParameterKind::Text))).collect()
}

/// Escapes commas that are not escaped yet.
fn escaped(value: &Scalar) -> Scalar {
    let text = value.text();
    let mut parts: Vec<Part> = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(',') {
        let before = text.get(..at).unwrap_or_default();
        let slashes = before.len() - before.trim_end_matches('\\').len();
        if slashes % 2 == 0 {
            parts.extend_from_slice(value.cut(from..at - slashes).parts());
            parts.push(Part::Made("\\".into()));
            from = at - slashes;
        }
    }
    parts.extend_from_slice(value.cut(from..text.len()).parts());
    Scalar::of(parts, value.plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::testing::files;

    fn released(chart: &str) -> ChartRelease {
        let config = "apiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\nmetadata: {name: mesh, namespace: kube-system}\nspec:\n  valuesContent: |\n    a: {v: 3}\n  values: {c: 1}\n";
        let tree = files(&[("c.yaml", chart), ("o.yaml", config)]);
        let all: Vec<Object> = ["c.yaml", "o.yaml"]
            .iter()
            .flat_map(|path| {
                let file = tree.file(path).unwrap();
                tree.documents(path)
                    .unwrap()
                    .iter()
                    .flat_map(|d| Object::all(d, &file.path))
                    .collect::<Vec<_>>()
            })
            .collect();
        helm_chart(&all[0], &Cluster::new(&all), &tree).unwrap()
    }

    const HEAD: &str = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: mesh, namespace: kube-system}\nspec:\n";

    #[test]
    fn values_are_laid_out_as_the_controller_mounts_them() {
        let spec = "  chart: linkerd-viz\n  repo: https://charts.example.com\n  version: 2026.8.2\n  targetNamespace: viz\n  valuesContent: |\n    a: {u: 1, v: 2}\n    c: 0\n  set: {a.z: 5, b: 'true', t: '1', u: 'x,y\\,z'}\n";
        let release = released(&format!("{HEAD}{spec}"));
        assert_eq!(
            (release.chart.text(), release.version.as_ref().unwrap().text()),
            ("linkerd-viz".into(), "2026.8.2".into())
        );
        assert_eq!(
            (release.release.text(), release.namespace.as_ref().unwrap().text()),
            ("mesh".into(), "viz".into())
        );
        let value = release.values().value;
        let text = |keys: &[&str]| typed(value.scalar(keys).unwrap());
        assert_eq!(
            (text(&["a", "u"]), text(&["a", "v"]), text(&["a", "z"])),
            (Typed::Int(1), Typed::Int(3), Typed::Int(5))
        );
        assert_eq!((text(&["b"]), text(&["c"])), (Typed::Bool(true), Typed::Int(1)));
        assert_eq!(
            (text(&["t"]), text(&["u"])),
            (Typed::Text("1".to_owned()), Typed::Text("x,y,z".to_owned()))
        );
    }

    #[test]
    fn a_package_in_the_object_goes_before_what_names_one() {
        let named = "  chart: linkerd-viz\n  repo: https://charts.example.com\n  version: 2026.8.2\n";
        let inside = released(&format!("{HEAD}{named}  chartContent: H4sI\n"));
        assert_eq!(inside.chart.text(), "linkerd-viz");
        assert!(matches!(inside.repository, Repository::Unknown(_)));
        assert!(inside.version.as_ref().is_some_and(|version| version.unknown_to().is_some()));
        assert_eq!(inside.beside.iter().map(Scalar::text).collect::<Vec<_>>(), ["2026.8.2"]);
        let alone = released(&format!("{HEAD}  chartContent: H4sI\n"));
        assert_eq!(alone.chart.text(), "mesh");
    }

    #[test]
    fn a_chart_may_name_its_registry_or_none() {
        let oci = released(&format!("{HEAD}  chart: oci://cr.example.com/charts/linkerd-crds\n"));
        assert_eq!(oci.chart.text(), "linkerd-crds");
        let package = "https://charts.example.com/edge/linkerd-viz-2026.8.2.tgz";
        let package = released(&format!("{HEAD}  chart: {package}\n  repo: https://ignored.example.com\n"));
        assert_eq!(package.version.as_ref().unwrap().text(), "2026.8.2");
        let Repository::Address(address) = &package.repository else { panic!("{:?}", package.repository) };
        assert_eq!(address.text(), "https://charts.example.com/edge");
        let bare = released(&format!("{HEAD}  chart: stable/linkerd\n"));
        assert!(matches!(bare.repository, Repository::Unknown(_)));
    }
}
