//! A chart that helm-controller renders for a HelmRelease.
//!
//! Sources: helm-controller's `api/v2/helmrelease_types.go` and `internal/release/name.go`;
//! `github.com/fluxcd/pkg/chartutil/values.go` for the values.

use sha2::{Digest, Sha256};

use super::{
    sources::{Reader, Sourced},
    substitute::Variables,
};
use crate::deploy::{
    chart::{ChartRelease, Layer, Parameter, ParameterKind, layered, merged},
    cluster::{Cluster, Reference},
    files::Files,
    kustomize::{HASH, NAMES},
    note::{About, Note},
    object::Object,
    value::{Scalar, Value, Via},
};

/// The longest name of a Helm release, and how much of it Flux keeps in front of a digest.
const NAME: (usize, usize) = (53, 40);

/// Reads a HelmRelease; `None` where it names no chart.
pub fn helm_release(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Option<ChartRelease> {
    let spec = object.value.get("spec")?;
    let mut notes = Vec::new();
    let reader = Reader { object, cluster, files };
    let sourced = match spec.get("chartRef") {
        Some(reference) => reader.referenced(reference)?,
        None => reader.chart(spec.path(&["chart", "spec"])?)?,
    };
    let Sourced { chart, repository, version, mut layers, own_values } = sourced;
    let own_namespace = object.namespace().cloned();
    let target = spec.scalar(&["targetNamespace"]).filter(|n| !n.text().is_empty());
    values(object, cluster, files, &mut layers);
    if !spec.list_at("postRenderers").is_empty() {
        notes.push(Note::new(&object.file, About::Afterwards { who: "Flux", keys: vec!["postRenderers"] }));
    }
    let crds = spec.text(&["upgrade", "crds"]).unwrap_or_default().to_ascii_lowercase();
    Some(ChartRelease {
        by: object.by.clone(),
        version,
        release: release_name(object, spec, target),
        namespace: target.cloned().or(own_namespace),
        layers,
        own_values,
        include_crds: matches!(&*crds, "create" | "createreplace"),
        notes,
        ..ChartRelease::new(&object.file, chart, repository)
    })
}

/// Fills a HelmRelease that nobody in the tree applies: whoever does may substitute variables. `None` where it has none.
pub fn unapplied(object: &Object, files: &dyn Files) -> Option<Object> {
    let is_applied = object.by.as_ref().is_some_and(|by| !NAMES.contains(&by.name()));
    let value = Variables::elsewhere().fill(object, files, &mut Vec::new()).filter(|_| !is_applied)?;
    Some(Object { value, ..object.clone() })
}

/// Reads the chart of a HelmChart or an OCIRepository, whoever asks for it; `None` where it names none.
pub fn chart_source(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Option<ChartRelease> {
    let Sourced { chart, repository, version, layers, own_values } =
        Reader { object, cluster, files }.source()?;
    let by = object.by.clone();
    Some(ChartRelease {
        by,
        version,
        layers,
        own_values,
        ..ChartRelease::new(&object.file, chart, repository)
    })
}

/// Tells whether a HelmRelease may have its chart from a folder of a Git repository.
pub fn is_of_tree(object: &Object) -> bool {
    let kind = |path: &[&str]| object.value.text(path);
    kind(&["spec", "chart", "spec", "sourceRef", "kind"]).as_deref() == Some("GitRepository")
        || kind(&["spec", "chartRef", "kind"]).as_deref() == Some("HelmChart")
}

fn release_name(object: &Object, spec: &Value, target: Option<&Scalar>) -> Scalar {
    let own = object.name().cloned().unwrap_or_else(|| Scalar::made(""));
    let given = spec.scalar(&["releaseName"]).filter(|n| !n.text().is_empty());
    let name = match (given, target) {
        (Some(name), _) => name.clone(),
        (None, Some(target)) => target.then(&Scalar::made("-")).then(&own),
        (None, None) => own,
    };
    let text = name.text();
    let (longest, kept) = NAME;
    if text.len() <= longest || name.unknown_to().is_some() {
        return name;
    }
    let digest: String =
        Sha256::digest(text.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let end = (0..=kept).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    name.cut(0..end).then(&Scalar::made(&format!("-{digest}")))
}

/// Lays out `valuesFrom` and `values`: values win over what is taken from elsewhere, except that a single value which
/// goes into a mapping that only they have wins over them. (Flux lays it into that very mapping.)
fn values(object: &Object, cluster: &Cluster<'_>, files: &dyn Files, layers: &mut Vec<Layer>) {
    let spec = object.value.get("spec");
    let mut own = spec.and_then(|s| s.get("values")).cloned().unwrap_or_else(Value::empty);
    let from = spec.map_or(&[][..], |s| s.list_at("valuesFrom"));
    let mut current = Value::empty();
    for reference in from {
        let Some(layer) = referenced(object, reference, cluster, files) else { continue };
        let lay = |onto: &Value| layered(&[Layer::Values(onto.clone()), layer.clone()]).value;
        match &layer {
            Layer::Set(Parameter { name, .. }) | Layer::Outside { target: Some(name), .. } => {
                let shared = is_shared(&current, &own, &name.text());
                current = lay(&merged(&current, &own));
                if shared {
                    own = lay(&own);
                    if matches!(layer, Layer::Set(_)) {
                        continue;
                    }
                }
            }
            _ => current = lay(&current),
        }
        layers.push(layer);
    }
    if own != Value::empty() {
        layers.push(Layer::values(&own));
    }
}

/// Tells whether a path leads into a mapping or a list that the values alone have.
fn is_shared(current: &Value, own: &Value, path: &str) -> bool {
    let (mut current, mut own) = (Some(current), own);
    let mut rest = path;
    while let Some((key, sign, behind)) = key_of(rest) {
        let Some(next) = own.entry(&key) else { return false };
        let there = current.and_then(|c| c.entry(&key));
        match (sign, next) {
            // A list is never merged: that of the values is taken as it is, where its index is there.
            ('[', Value::List(items)) => {
                let index = behind.split(']').next().and_then(|n| n.parse::<usize>().ok());
                return index.is_some_and(|n| n < items.len());
            }
            ('.', Value::Map(_)) if !matches!(there, Some(Value::Map(_))) => return true,
            ('.', Value::Map(_)) => {}
            _ => return false,
        }
        current = there;
        own = next;
        rest = behind;
    }
    false
}

/// Cuts the first key off a path of Helm's, with the sign behind it; `None` for the last key.
fn key_of(path: &str) -> Option<(String, char, &str)> {
    let mut key = String::new();
    let mut chars = path.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => key.extend(chars.next().map(|(_, c)| c)),
            '.' | '[' => return Some((key, c, path.get(at + 1..)?)),
            c => key.push(c),
        }
    }
    None
}

/// Reads one entry of `valuesFrom`; `None` where Flux goes on without it.
fn referenced(object: &Object, from: &Value, cluster: &Cluster<'_>, files: &dyn Files) -> Option<Layer> {
    let kind = from.text(&["kind"])?;
    let name = from.text(&["name"])?;
    let key = from.text(&["valuesKey"]).filter(|k| !k.is_empty()).unwrap_or("values.yaml".into());
    let target = from.scalar(&["targetPath"]).filter(|t| !t.text().is_empty());
    let is = |key| from.text(&[key]).is_some_and(|text| text == "true");
    let optional = is("optional");
    let namespace = object.namespace().filter(|n| n.unknown_to().is_none()).map(|n| n.text().into_owned());
    let space = namespace.as_ref().map(|n| format!("{n}/")).unwrap_or_default();
    let what = format!("{kind} {space}{name}, key {key}");
    let outside =
        |why: &str| Some(Layer::Outside { who: format!("{what}{why}"), target: target.cloned(), optional });
    if kind != "ConfigMap" {
        return outside("");
    }
    let wanted = Reference {
        group: "",
        kind: "ConfigMap",
        name: &name,
        namespace: namespace.as_deref(),
        from: &object.file,
    };
    // Where no `nameReference` says so, or none that is here, one that kustomize generates is meant all the same.
    let hashed = format!("{name}-{HASH}");
    let map = cluster.find(wanted).or_else(|| cluster.find(Reference { name: &hashed, ..wanted }));
    let Some(map) = map else { return outside(", which is not in this repository") };
    if map.value.get("sops").is_some() {
        return outside(", which SOPS encrypts");
    }
    let Some(text) = map.value.scalar(&["data", &key]) else {
        return if optional { None } else { outside(", which the ConfigMap does not have") };
    };
    let Some(target) = target else { return Some(Layer::text(text, files, &what)) };
    Some(Layer::Set(single(target, &text.via(Via::Values), is("literal"))))
}

/// A single value: in quotes it is a text.
fn single(name: &Scalar, value: &Scalar, literal: bool) -> Parameter {
    let text = value.text();
    let in_quotes = |q: char| text.starts_with(q) && text.ends_with(q);
    let (value, kind) = if literal {
        (value.clone(), ParameterKind::Literal)
    } else if in_quotes('\'') || in_quotes('"') {
        let quote = |c| matches!(c, '\'' | '"');
        let start = text.len() - text.trim_start_matches(quote).len();
        let end = text.trim_end_matches(quote).len();
        (value.cut(start.min(end)..end), ParameterKind::Text)
    } else {
        (value.clone(), ParameterKind::Looks)
    };
    Parameter { name: name.clone(), value, kind }
}
