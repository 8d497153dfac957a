//! Step 8, verify: no value keeps images old under a new chart.
//!
//! In: values that stay, and the rendered objects. Out: a `warn` for each value that names an older release than the
//! chart whose value it is moves to: the chart then installs without complaint and runs the old images; an `info` where it
//! was behind before. Where a rendering proves it, the images are named.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{CheckId, Checked, Finding, Severity, Verification, count};
use crate::{
    linkerd::EdgeVersion,
    pins::{ChartVersions, Form, Pin, PinKind, Reason},
    plan::edge_of,
    render::Rendering,
};

pub(super) const ID: CheckId = CheckId::ValuesStaleOverride;

/// What to do about it, also where nothing moves.
pub(super) const HINT: &str = "remove the value, or let it move with the chart";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let to = input.plan.to;
    let versions =
        ChartVersions::of(input.moving().map(|(pin, _)| pin).filter(|pin| pin.form == Form::Chart));
    let values: Vec<_> = input
        .staying()
        .filter(|(pin, _)| !pin.is_off && (is_value(pin) || is_laid_over(pin)))
        .filter(|(_, reason)| !matches!(reason, Reason::NoEffect | Reason::OwnVersion | Reason::Alias))
        .collect();
    let stale = values.iter().filter(|(pin, _)| edge_of(pin).is_some_and(|at| at < to));
    let mut findings: Vec<Finding> = stale
        .filter_map(|(pin, _)| {
            // What a chart reads as its own version chooses no image.
            let images = pin.readers().filter(|reader| reader.form == Form::Edge);
            let mut charts = images.filter_map(|reader| reader.chart);
            let read = charts.find(|chart| versions.going_with(pin, chart).next().is_some());
            let laid_over = || versions.given(pin).find_map(|version| version.chart.clone());
            let chart = read.or_else(|| is_laid_over(pin).then(laid_over).flatten())?;
            let value = &pin.value;
            let reason = format!("`{value}` keeps images at that release under {chart} {}", to.chart());
            Some(Finding::new(ID, weight(input, edge_of(pin)?), reason).at_pin(pin).hint(HINT))
        })
        .collect();
    findings.extend(input.rendered.done.iter().filter(|r| r.from != r.to).flat_map(|r| proven(input, r)));
    let rendered: usize = input.rendered.done.iter().map(|r| r.after.objects.len()).sum();
    let (values, objects) = (count(values.len(), "value"), count(rendered, "rendered object"));
    Checked { looked_at: format!("{values} that stay, and images in {objects}"), findings }
}

/// Tells whether a pin is a value of a chart, wherever that is written.
fn is_value(pin: &Pin) -> bool {
    match pin.kind {
        PinKind::HelmValues | PinKind::ArgoHelmParameter => true,
        PinKind::Variable | PinKind::ArgoGenerator => {
            pin.readers().any(|reader| reader.form == Form::Edge && reader.chart.is_some())
        }
        _ => false,
    }
}

/// Tells whether a pin is the tag of an image that is laid over a chart.
fn is_laid_over(pin: &Pin) -> bool {
    matches!(pin.kind, PinKind::KustomizeImage | PinKind::Image) && !pin.given_to.is_empty()
}

/// A value that kept images old before this change too was left so by somebody.
fn weight(input: &Verification<'_>, at: EdgeVersion) -> Severity {
    let before = input.plan.from.first().is_some_and(|oldest| at < *oldest);
    if before { Severity::Info } else { Severity::Warn }
}

/// Names the images of a rendering that stay at an older release, with the values that keep them there.
fn proven(input: &Verification<'_>, rendering: &Rendering) -> Vec<Finding> {
    let Some(to) = EdgeVersion::from_chart(&rendering.to.version) else { return Vec::new() };
    let mut old: BTreeMap<EdgeVersion, BTreeSet<&str>> = BTreeMap::new();
    for object in &rendering.after.objects {
        images(&object.value, &mut |image| {
            let tag = image.rsplit_once(':').and_then(|(_, tag)| tag.parse::<EdgeVersion>().ok());
            if let Some(tag) = tag.filter(|tag| *tag < to) {
                old.entry(tag).or_default().insert(image);
            }
        });
    }
    let each = old.iter().map(|(tag, images)| {
        let mut keys = Vec::new();
        keys_with(&rendering.values_after, &tag.to_string(), &mut Vec::new(), &mut keys);
        let why = match keys.as_slice() {
            [] => "which no value of yours explains".to_owned(),
            keys => format!("as {} says", keys.iter().take(3).cloned().collect::<Vec<_>>().join(", ")),
        };
        let images: Vec<&str> = images.iter().copied().take(3).collect();
        let reason =
            format!("under {} these images stay at {tag}: {}, {why}", rendering.to, images.join(", "));
        Finding::new(ID, weight(input, *tag), reason).at(&rendering.path, rendering.line).hint(HINT)
    });
    each.collect()
}

/// Shows every `image` of an object's containers.
fn images<'v>(value: &'v Value, see: &mut dyn FnMut(&'v str)) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| match value {
            Value::String(text) if key == "image" => see(text),
            value => images(value, see),
        }),
        Value::Array(items) => items.iter().for_each(|item| images(item, see)),
        _ => {}
    }
}

/// Collects the paths of values that name a release.
fn keys_with<'v>(value: &'v Value, release: &str, path: &mut Vec<&'v str>, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            path.push(key);
            keys_with(value, release, path, found);
            path.pop();
        }),
        Value::String(text) if text.rsplit(':').next() == Some(release) => {
            found.push(format!("`{}`", path.join(".")));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pins::Stage,
        plan::testing::path,
        verify::{Severity::*, testing::*},
    };

    fn value(chart: &'static str, at: &'static str, reason: Option<Reason>) -> Vec<Finding> {
        Case::default()
            .pins(|b| {
                let b = b.chart("cp.yaml", "linkerd-control-plane", "2026.8.2").value(
                    "values.yaml",
                    chart,
                    "linkerdVersion",
                    at,
                );
                match reason {
                    Some(reason) => b.stays(reason),
                    None => b,
                }
            })
            .check(ID)
    }

    #[test]
    fn a_held_value_under_a_moving_chart_is_found() {
        let found = value("linkerd-control-plane", "edge-26.8.2", Some(Reason::Held));
        assert_eq!(severities(&found), [Warn]);
        assert!(found[0].reason.contains("under linkerd-control-plane 2026.8.3"), "{found:?}");
        let before = value("linkerd-control-plane", "edge-26.8.1", Some(Reason::Held));
        assert_eq!(severities(&before), [Info], "it kept them old under the chart before too");
    }

    #[test]
    fn a_held_value_that_another_layer_is_laid_over_keeps_nothing_old() {
        let of = |is_off: bool| {
            let case = Case::default().pins(|b| {
                let b = b.chart("cp.yaml", "linkerd-control-plane", "2026.8.2");
                let b = b.value("values.yaml", "linkerd-control-plane", "linkerdVersion", "edge-26.8.2");
                b.stays(Reason::Held).with(|pin| pin.is_off = is_off)
            });
            severities(&case.check(ID))
        };
        assert_eq!((of(false), of(true)), (vec![Warn], vec![]));
    }

    #[test]
    fn a_value_that_stays_with_its_own_dependency_keeps_nothing_old_under_another() {
        let of = |line: usize| {
            let case = Case::default().pins(|b| {
                let b = b.chart("Chart.yaml", "linkerd-viz", "2026.8.1").stays(Reason::Held);
                let b = b.chart("Chart.yaml", "linkerd-viz", "2026.8.2");
                let b = b.value("values.yaml", "linkerd-viz", "linkerdVersion", "edge-26.8.1");
                b.stays(Reason::Held).with(|pin| pin.given_to = vec![(path("Chart.yaml"), line)])
            });
            severities(&case.check(ID))
        };
        assert_eq!((of(1), of(2)), (vec![], vec![Info]));
    }

    #[test]
    fn a_tag_that_is_laid_over_a_moving_chart_and_a_variable_of_its_values_are_found() {
        let of = |kind: PinKind, change: fn(&mut Pin)| {
            let case = Case::default().pins(|b| {
                let b = b.chart("cp.yaml", "linkerd-control-plane", "2026.8.2");
                b.pin("over.yaml", kind, "edge-26.8.2").stays(Reason::Held).with(change)
            });
            severities(&case.check(ID))
        };
        let laid_over: fn(&mut Pin) = |pin| {
            (pin.stage, pin.given_to) = (Stage::Platform, vec![(path("cp.yaml"), 1)]);
        };
        assert_eq!(of(PinKind::KustomizeImage, laid_over), [Warn]);
        assert_eq!(of(PinKind::Image, laid_over), [Warn]);
        assert_eq!(of(PinKind::KustomizeImage, |_| {}), [], "it is laid over nothing");
        assert_eq!(of(PinKind::Variable, |pin| pin.chart = Some("linkerd-control-plane".to_owned())), [Warn]);
        assert_eq!(of(PinKind::Variable, |_| {}), [], "no chart reads it");
    }

    #[test]
    fn a_rendering_proves_which_images_stay() {
        let deployment = |proxy: &str| {
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: x}}\nspec: {{template: {{spec: {{containers: [\
                 {{name: a, image: 'registry.example.com:5000/proxy:{proxy}'}}, {{name: b, image: 'prom:v2.55.1'}}]}}}}}}\n"
            )
        };
        let old = rendered(&deployment("edge-26.8.2"), &deployment("edge-26.8.2"));
        let old = old.with_rendering(|r| {
            r.values_after = serde_json::json!({"proxy": {"image": {"version": "edge-26.8.2"}}});
        });
        let found = old.check(ID);
        assert_eq!(severities(&found), [Warn]);
        let reason = "under linkerd-viz 2026.8.3 these images stay at edge-26.8.2: \
                      registry.example.com:5000/proxy:edge-26.8.2, as `proxy.image.version` says";
        assert_eq!(found[0].reason, reason);
        let new = rendered(&deployment("edge-26.8.2"), &deployment("edge-26.8.3"));
        assert_eq!(new.check(ID), []);
    }

    #[test]
    fn values_that_move_or_mean_nothing_are_quiet() {
        assert_eq!(value("linkerd-control-plane", "edge-26.8.2", None), []);
        assert_eq!(value("linkerd-control-plane", "edge-25.8.2", Some(Reason::NoEffect)), []);
        assert_eq!(value("linkerd-viz", "edge-26.8.2", Some(Reason::Held)), [], "its chart stays too");
        let version = value("linkerd-control-plane", "2026.8.2", Some(Reason::Held));
        assert_eq!(version, [], "it is the version of another one's chart, and no image's");
    }
}
