//! Renderings and manifests for the tests of the sections.

use std::sync::Arc;

use crate::{
    pins::Installed,
    render::{ChartId, Manifest, Rendering},
};

/// A rendering of linkerd-viz from 2026.8.2 to 2026.8.3 with these objects.
pub(super) fn rendering(before: &str, after: &str) -> Rendering {
    let id = |version: &str| ChartId { name: "linkerd-viz".into(), version: version.into() };
    let objects = |text: &str| Arc::new(Manifest::parse(text).expect("objects"));
    Rendering {
        path: crate::plan::testing::path("viz.yaml"),
        line: 1,
        committed: false,
        installed: [Installed::Helm].into(),
        from: id("2026.8.2"),
        to: id("2026.8.3"),
        namespace: "linkerd-viz".into(),
        before: objects(before),
        after: objects(after),
        values_before: serde_json::json!({}),
        values_after: serde_json::json!({}),
        defaults_before: serde_json::json!({}),
        defaults_after: serde_json::json!({}),
        stand_ins: Vec::new(),
        notes: Vec::new(),
        places: Default::default(),
        difference: Default::default(),
    }
}

/// A pod with one container.
pub(super) fn pod(name: &str, image: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: c, image: '{image}'}}]}}\n"
    )
}

/// A Deployment with these containers, as flow text.
pub(super) fn deployment(name: &str, replicas: u32, containers: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: n}}\nspec:\n  replicas: {replicas}\n  \
         template: {{spec: {{containers: {containers}}}}}\n"
    )
}
