//! A chart that helm-controller renders for a HelmRelease.
//!
//! Sources: helm-controller's `api/v2/helmrelease_types.go` and `internal/release/name.go`;
//! `github.com/fluxcd/pkg/chartutil/values.go` for the values.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::{
    APIS, ARTIFACT, envsubst,
    kustomization::added,
    own,
    sources::{Reader, Sourced},
    substitute::{Variables, asked_versions, note_asked},
};
use crate::{
    deploy::{
        build::Build,
        chart::{ChartRelease, Layer, Parameter, ParameterKind, Repository, layered, merged},
        cluster::{Cluster, Reference},
        files::Files,
        kustomize::{self, HASH},
        note::{About, Note},
        object::Object,
        typed::is_true,
        value::{Scalar, Value, Via},
    },
    repo::RepoPath,
};

/// The longest name of a Helm release, and how much of it Flux keeps in front of a digest.
const NAME: (usize, usize) = (53, 40);

/// Reads a HelmRelease; `None` where it names no chart.
pub fn helm_release(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Option<ChartRelease> {
    let spec = object.value.get("spec")?;
    let reader = Reader { object, cluster, files };
    let sourced = match spec.get("chartRef") {
        Some(reference) => reader.referenced(reference)?,
        None => reader.chart(spec.path(&["chart", "spec"])?)?,
    };
    Some(released(&reader, sourced))
}

/// Reads what a part of a HelmRelease says, one that names no chart: it is laid over one that is not known here. The
/// name of that one stands for its chart's.
pub fn part(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Option<ChartRelease> {
    let template = object.value.path(&["spec", "chart", "spec"]);
    let of = |key: &str| template.and_then(|t| t.scalar(&[key])).filter(|s| !s.text().is_empty());
    let repository = Repository::Unknown("the object that this is a part of".to_owned());
    let sourced = Sourced::new(of("chart").or(object.name())?.clone(), repository);
    let sourced = Sourced { version: of("version").cloned(), is_part: true, ..sourced };
    Some(released(&Reader { object, cluster, files }, sourced))
}

fn released(reader: &Reader<'_>, sourced: Sourced) -> ChartRelease {
    let Reader { object, cluster, files } = *reader;
    let none = Value::empty();
    let spec = object.value.get("spec").unwrap_or(&none);
    let Sourced { chart, repository, version, filter, beside, is_part, mut layers, replacing, renewal } =
        sourced;
    let mut notes = Vec::new();
    let own_namespace = object.namespace().cloned();
    let target = spec.scalar(&["targetNamespace"]).filter(|n| !n.text().is_empty());
    let secret = values(object, cluster, files, &mut layers);
    if !spec.list_at("postRenderers").is_empty() {
        notes.push(Note::new(&object.file, About::Afterwards { who: "Flux", keys: vec!["postRenderers"] }));
    }
    let crds = spec.text(&["upgrade", "crds"]).unwrap_or_default().to_ascii_lowercase();
    ChartRelease {
        by: object.by.clone(),
        version,
        filter,
        beside,
        is_part,
        release: release_name(object, spec, target),
        namespace: target.cloned().or(own_namespace),
        layers,
        secret,
        replacing,
        renewal,
        apis: APIS.to_vec(),
        include_crds: matches!(&*crds, "create" | "createreplace"),
        ignores_schema: is_true(spec, &["upgrade", "disableSchemaValidation"]),
        notes,
        ..ChartRelease::new(&object.file, chart, repository)
    }
}

/// Returns the HelmReleases that one waits for, itself or with who makes it, by `name` or `namespace/name`.
pub fn depends_on(object: &Object) -> Vec<String> {
    let all = object.value.get("spec").map_or(&[][..], |spec| spec.list_at("dependsOn"));
    let one = |on: &Value| {
        let name = on.text(&["name"])?;
        Some(on.text(&["namespace"]).map_or_else(|| name.to_string(), |space| format!("{space}/{name}")))
    };
    all.iter().filter_map(one).chain(object.waits_for.iter().cloned()).collect()
}

/// Reads what a HelmRelease does to the objects of its chart, which are not known here.
pub fn post_rendered(object: &Object, files: &dyn Files) -> Build {
    let mut all = Build::default();
    for renderer in object.value.get("spec").map_or(&[][..], |spec| spec.list_at("postRenderers")) {
        let Some(options) = renderer.get("kustomize") else { continue };
        let Build { strays, images, .. } = laid_over(files, &object.file, &Value::empty(), options);
        all.strays.extend(strays);
        all.images.extend(images);
    }
    all
}

/// Reads what patches and images, as Flux writes them, say of objects that are not known; `own` is a kustomization that has
/// more.
pub fn laid_over(files: &dyn Files, file: &RepoPath, own: &Value, options: &Value) -> Build {
    kustomize::build_over(files, file, &added(files, file.folder(), own, options))
}

/// Fills a HelmRelease, or the source of a chart, that nobody in the tree applies: whoever does may substitute variables. `None`
/// where it has none. Its version is a place of its own then, unless `handed_on` names one of its variables.
pub fn unapplied(object: &Object, files: &dyn Files, handed_on: Option<&BTreeSet<String>>) -> Option<Object> {
    let is_applied = object.by.as_ref().is_some_and(|by| !kustomize::is_kustomization(by.name()));
    if is_applied {
        return None;
    }
    let filled = Variables::elsewhere().fill(object, files, &mut Vec::new())?;
    let is_handed_on = |asked: &Scalar| {
        handed_on.is_none_or(|given| envsubst::names(asked).iter().any(|name| given.contains(name)))
    };
    let asked = asked_versions(&filled, object, &|asked| !is_handed_on(asked));
    // Of a source the rest is as it is written.
    let value = match object.kind() == "HelmRelease" {
        true => filled,
        false if asked.is_empty() => return None,
        false => object.value.clone(),
    };
    let mut filled = Object { value, ..object.clone() };
    asked.into_iter().for_each(|version| note_asked(&mut filled.value, version));
    Some(filled)
}

/// Reads the chart of a HelmChart or an OCIRepository, whoever asks for it; `None` where it names none.
pub fn chart_source(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Option<ChartRelease> {
    let Sourced { chart, repository, version, filter, beside, is_part, layers, replacing, renewal } =
        Reader { object, cluster, files }.source()?;
    let by = object.by.clone();
    let bare = ChartRelease::new(&object.file, chart, repository);
    Some(ChartRelease { by, version, filter, beside, is_part, layers, replacing, renewal, ..bare })
}

/// Tells whether a HelmRelease may have its chart from a folder of a Git repository.
pub fn is_of_tree(object: &Object) -> bool {
    let kind = |path: &[&str]| object.value.text(path);
    kind(&["spec", "chart", "spec", "sourceRef", "kind"]).as_deref() == Some("GitRepository")
        || kind(&["spec", "chartRef", "kind"]).is_some_and(|kind| matches!(&*kind, "HelmChart" | ARTIFACT))
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
/// goes into a mapping that only they have wins over them. (Flux lays it into that very mapping.) Returns what Secrets say.
fn values(object: &Object, cluster: &Cluster<'_>, files: &dyn Files, layers: &mut Vec<Layer>) -> Vec<Layer> {
    let mut secret = Vec::new();
    let spec = object.value.get("spec");
    let mut own = spec.and_then(|s| s.get("values")).cloned().unwrap_or_else(Value::empty);
    let from = spec.map_or(&[][..], |s| s.list_at("valuesFrom"));
    let mut current = Value::empty();
    for reference in from {
        let Some(layer) = referenced(object, reference, cluster, files, &mut secret) else { continue };
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
    secret
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

/// Returns what a HelmRelease has its values and its chart's version from, where it is in the tree.
pub fn value_sources<'c>(release: &Object, cluster: &Cluster<'c>) -> Vec<&'c Object> {
    let Some(spec) = release.value.get("spec") else { return Vec::new() };
    let maps = spec.list_at("valuesFrom").iter().map(|from| ("", from));
    let chart = spec.get("chartRef").map(|chart| (super::SOURCES, chart));
    maps.chain(chart).filter_map(|(group, from)| value_source(release, group, from, cluster)).collect()
}

/// Returns those of its values that a HelmRelease goes on without.
pub fn optional_sources<'c>(release: &Object, cluster: &Cluster<'c>) -> Vec<&'c Object> {
    let from = release.value.get("spec").map_or(&[][..], |spec| spec.list_at("valuesFrom"));
    let optional = from.iter().filter(|from| is_optional(from));
    optional.filter_map(|from| value_source(release, "", from, cluster)).collect()
}

fn value_source<'c>(
    release: &Object,
    group: &str,
    from: &Value,
    cluster: &Cluster<'c>,
) -> Option<&'c Object> {
    let own = release.namespace().and_then(Scalar::known);
    let said = from.text(&["namespace"]).filter(|_| group == super::SOURCES);
    let wanted = Reference {
        group,
        kind: &from.text(&["kind"])?,
        name: &from.text(&["name"])?,
        namespace: said.as_deref().or(own.as_deref()),
        from: &release.file,
    };
    own::find(release, wanted, cluster)
}

fn is_optional(from: &Value) -> bool {
    is_true(from, &["optional"])
}

/// Reads one entry of `valuesFrom`; `None` where Flux goes on without it.
fn referenced(
    object: &Object,
    from: &Value,
    cluster: &Cluster<'_>,
    files: &dyn Files,
    secret: &mut Vec<Layer>,
) -> Option<Layer> {
    let kind = from.text(&["kind"])?;
    let name = from.text(&["name"])?;
    let named = from.scalar(&["valuesKey"]).filter(|key| !key.text().is_empty());
    let key = named.map_or("values.yaml".into(), Scalar::text);
    let target = from.scalar(&["targetPath"]).filter(|t| !t.text().is_empty());
    let is_literal = is_true(from, &["literal"]);
    let optional = is_optional(from);
    let namespace = object.namespace().and_then(Scalar::known);
    let space = namespace.as_ref().map(|n| format!("{n}/")).unwrap_or_default();
    let what = format!("{kind} {space}{name}, key {key}");
    let outside = |why: &str| {
        Some(Layer::Outside { who: format!("{what}{why}"), target: target.cloned(), optional, text: None })
    };
    let layer = |text: &Scalar| match target {
        Some(target) => {
            let text = text.via(Via::Values).read_by(named.unwrap_or(target));
            Layer::Set(single(target, &text, is_literal))
        }
        None => Layer::text(text, files, &what),
    };
    let wanted = Reference {
        group: "",
        kind: &kind,
        name: &name,
        namespace: namespace.as_deref(),
        from: &object.file,
    };
    if kind != "ConfigMap" {
        // What is in `data` of a Secret is encoded.
        let plain =
            own::find(object, wanted, cluster).and_then(|map| map.value.scalar(&["stringData", &key]));
        secret.extend(plain.filter(|text| !text.is_sealed()).map(layer));
        return outside("");
    }
    // Where no `nameReference` says so, or none that is here, one that kustomize generates is meant all the same.
    let hashed = format!("{name}-{HASH}");
    let map = own::find(object, wanted, cluster)
        .or_else(|| own::find(object, Reference { name: &hashed, ..wanted }, cluster));
    let Some(map) = map else { return outside(", which is not in this repository") };
    match map.value.scalar(&["data", &key]) {
        Some(text) if text.is_sealed() => outside(", which SOPS encrypts"),
        Some(text) => Some(layer(text)),
        None if optional => None,
        None => outside(", which the ConfigMap does not have"),
    }
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
