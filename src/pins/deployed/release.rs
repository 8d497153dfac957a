//! Step 5, pins: what is deployed of a chart: its version, and the releases in its values.
//!
//! In: charts as any deployer has them rendered. Out: claims. Which keys hold a version is `linkerd`'s to say.

use super::{charts, claim::Claims};
use crate::{
    deploy::{ChartRelease, Layer, Scalar, Value},
    linkerd::{self, INJECT, PROXY_VERSION, ValueLine},
    pins::{PinKind, Reason, annotation, context::Context, found::Spec, origin::Ours, version_text::Expects},
};

/// Mappings in mappings that are walked; people write far fewer.
const DEPTH: usize = 64;

/// Takes a chart's version, and the releases in its values.
pub(in crate::pins) fn take_release(
    context: &Context<'_>,
    release: &ChartRelease,
    kind: PinKind,
    claims: &mut Claims,
) {
    let Some(chart) = known(&release.chart) else { return };
    if matches!(kind, PinKind::Terraform | PinKind::Helmfile | PinKind::Fleet) {
        claims.local.extend(charts::beside(context, release, &chart));
    }
    let ours = Ours::of(release, &context.options.mirrors);
    let spec = |ours: &Ours| ours.fill(Spec::platform(kind, Expects::Chart));
    match (&ours, &release.version) {
        (Some(ours), Some(version)) => claims.take(version, &spec(ours)),
        (Some(ours), None) => claims.take_floating(&release.chart, &spec(ours)),
        (None, Some(version)) => claims.take_foreign(version),
        (None, None) => {}
    }
    for layer in &release.layers {
        match layer {
            Layer::Values(values) => {
                ours.iter().for_each(|ours| take_values(values, ours, claims));
                annotations(values, DEPTH, claims);
            }
            Layer::Set(set) => {
                let value = ours.as_ref().zip(known(&set.name));
                let value = value.and_then(|(ours, name)| Some((ours, linkerd::value(&ours.chart, &name)?)));
                if let Some((ours, value)) = value {
                    claims.take(&set.value, &value_spec(ours, &value));
                }
            }
            Layer::InChart { .. } | Layer::Outside { .. } => {}
        }
    }
}

fn known(scalar: &Scalar) -> Option<String> {
    scalar.unknown_to().is_none().then(|| scalar.text().into_owned())
}

fn take_values(values: &Value, ours: &Ours, claims: &mut Claims) {
    for value in linkerd::values(&ours.chart) {
        let keys: Vec<&str> = value.path.split('.').collect();
        let Some(scalar) = values.scalar(&keys) else { continue };
        // A tag beside a digest is not what runs.
        let digest = keys.split_last().and_then(|(_, image)| values.text(&[image, &["digest"]].concat()));
        let digest = digest.filter(|d| !d.is_empty()).map(|_| Reason::Digest);
        claims.take(scalar, &value_spec(ours, value).staying(digest));
    }
}

fn value_spec(ours: &Ours, value: &linkerd::Value) -> Spec {
    let own = matches!(value.line, ValueLine::Own(_)).then_some(Reason::OwnVersion);
    let dead = value.dead_since.map(|_| Reason::NoEffect);
    let spec = Spec::platform(PinKind::HelmValues, Expects::Edge).of_chart(&ours.chart);
    spec.staying(own.or(dead)).staying(ours.stays)
}

/// Takes the annotations of pods in values of any chart.
fn annotations(values: &Value, depth: usize, claims: &mut Claims) {
    let Some(depth) = depth.checked_sub(1) else { return };
    if let Some(version) = values.scalar(&[PROXY_VERSION]) {
        claims.take(version, &annotation::spec().staying(opted_out(values)));
    }
    for (_, value) in values.entries() {
        annotations(value, depth, claims);
    }
    for item in values.items() {
        annotations(item, depth, claims);
    }
}

/// Says whether the annotations of a pod keep it out of the mesh.
pub(super) fn opted_out(annotations: &Value) -> Option<Reason> {
    (annotations.text(&[INJECT]).as_deref() == Some("disabled")).then_some(Reason::OptedOut)
}
