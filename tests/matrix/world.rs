//! The charts, Helm for the person who committed, another for the program, and values.

use std::{env, path::Path, sync::LazyLock};

use serde_json::{Value, json};
use uplinker::{
    helm::{Layer, Template},
    release::Catalog,
    render::{ByHelm, ChartId, Job, Renderer, Take},
};

use crate::matrix::cells::Values;
use crate::support::{charts::ChartRepository, helm::Bench, manifests::hours_ago};

/// What is committed.
pub const OLD: &str = "2026.6.3";
/// What it becomes.
pub const NEW: &str = "2026.8.3";
/// The chart that ended, and its last version.
pub const ENDED: (&str, &str) = ("linkerd-jaeger", "2025.9.4");

/// Charts and what renders them.
pub struct World {
    person: ByHelm<'static>,
    program: ByHelm<'static>,
    bench: &'static Bench,
    identity: (String, String),
}

/// The charts of `tests/charts`.
pub fn ours() -> &'static World {
    static WORLD: LazyLock<World> = LazyLock::new(|| World::of(ChartRepository::new()));
    &WORLD
}

/// Linkerd's own charts, where `UPLINKER_REAL_CHARTS` names them.
pub fn real() -> Option<&'static World> {
    static WORLD: LazyLock<Option<World>> = LazyLock::new(|| {
        let folder = env::var_os("UPLINKER_REAL_CHARTS")?;
        Some(World::of(ChartRepository::pulled(Path::new(&folder))))
    });
    WORLD.as_ref()
}

/// The version in which a chart is committed.
pub fn old_version(chart: &str) -> &'static str {
    if chart == ENDED.0 { ENDED.1 } else { OLD }
}

pub fn namespace(chart: &str) -> &str {
    match chart {
        "linkerd-crds" | "linkerd-control-plane" => "linkerd",
        "linkerd2-cni" => "linkerd-cni",
        extension => extension,
    }
}

// === impl World ===

impl World {
    fn of(charts: ChartRepository) -> Self {
        // It lives as long as the tests.
        let charts: &'static ChartRepository = Box::leak(Box::new(charts));
        let bench: &'static Bench = Box::leak(Box::new(Bench::new(&charts.url())));
        let made =
            rcgen::generate_simple_self_signed(["identity.linkerd.cluster.local".to_owned()]).expect("made");
        let identity = (made.cert.pem(), made.signing_key.serialize_pem());
        // The person's certificates are not those that the program's Helm invents.
        Self { person: bench.helm(), program: bench.helm(), bench, identity }
    }

    pub fn catalog(&self) -> &Catalog {
        &self.bench.catalog
    }

    /// Returns what renders for the program.
    pub fn renderer(&self) -> &dyn Renderer {
        &self.program
    }

    /// Returns what a person's Helm printed some hours ago.
    pub fn printed(&self, chart: &str, version: &str, values: &Value) -> String {
        let job = Job {
            chart: ChartId { name: chart.into(), version: version.into() },
            template: Template {
                values: vec![Layer(values.to_string().into())],
                kube_version: Some("1.33".into()),
                ..Template::of(chart, namespace(chart))
            },
            take: Take::First,
        };
        let text = self.person.render(&[job]).remove(0).unwrap_or_else(|e| panic!("{e}"));
        hours_ago(&text)
    }

    /// Returns the values that a person gives to a chart.
    pub fn values(&self, chart: &str, values: Values) -> Value {
        let (certificate, key) = &self.identity;
        let mut all = json!({});
        let mut lay = |over: Value| merge(&mut all, over);
        if chart == "linkerd-multicluster" {
            let link = |name: &str| json!({"link": {"ref": {"name": name}}});
            lay(json!({"controllers": [link("east"), link("west")]}));
        }
        if chart == "linkerd-control-plane" && values != Values::External {
            let tls = json!({"crtPEM": certificate, "keyPEM": key});
            lay(json!({"identityTrustAnchorsPEM": certificate, "identity": {"issuer": {"tls": tls}}}));
        }
        let outside = json!({"externalSecret": true, "caBundle": certificate});
        match (values, chart) {
            (Values::HighAvailability, "linkerd2-cni") => {
                lay(
                    json!({"priorityClassName": "system-node-critical", "repairController": {"enabled": true}}),
                );
            }
            (Values::HighAvailability, _) => lay(self.in_package(chart, "values-ha.yaml")),
            (Values::External, "linkerd-control-plane") => lay(json!({
                "proxyInjector": outside, "profileValidator": outside, "policyValidator": outside,
                "identity": {"externalCA": true, "issuer": {"scheme": "kubernetes.io/tls"}},
            })),
            (Values::External, "linkerd-viz") => lay(json!({"tap": outside, "tapInjector": outside})),
            (Values::External, _) => lay(json!({"webhook": outside})),
            (Values::OwnPrometheus, _) => lay(json!({
                "prometheus": {"enabled": false}, "prometheusUrl": "http://prometheus.monitoring:9090",
            })),
            (Values::Default, _) => {}
        }
        all
    }

    fn in_package(&self, chart: &str, file: &str) -> Value {
        let id = ChartId { name: chart.into(), version: old_version(chart).into() };
        let package = self.person.chart(&id).unwrap_or_else(|e| panic!("{e}"));
        serde_yaml::from_str(&package.files[file]).expect("values")
    }
}

fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}
