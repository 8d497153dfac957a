//! What a Flux Kustomization substitutes after its build: `spec.postBuild`.
//!
//! As `github.com/fluxcd/pkg/kustomize/kustomize_varsub.go` does it: `substituteFrom` in order, then `substitute`; line
//! breaks of values go; each object is written as YAML, filled, and read again, so that what is filled in is typed anew.

use indexmap::IndexMap;

use super::envsubst::{self, BYTES, SubstituteError};
use crate::deploy::{
    cluster::{Cluster, Reference},
    files::Files,
    go_yaml,
    note::{About, Bound, Note},
    object::Object,
    typed::is_true,
    value::{Origin, Part, Scalar, Value, Via},
};

/// The label or annotation that keeps an object as it is.
const SUBSTITUTE: &str = "kustomize.toolkit.fluxcd.io/substitute";
/// Maps of one Kustomization that are laid over the others.
const SHADOWED: usize = 20;

/// Where objects have the version of a chart.
const VERSIONS: [(&str, &[&str]); 4] = [
    ("HelmRelease", &["spec", "chart", "spec", "version"]),
    ("HelmChart", &["spec", "version"]),
    ("OCIRepository", &["spec", "ref", "tag"]),
    ("OCIRepository", &["spec", "ref", "semver"]),
];

/// The variables of one Kustomization.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    known: IndexMap<String, Scalar>,
    /// Who may know others.
    outside: Vec<String>,
}

/// Returns what a Kustomization has its variables from, where it is in the tree.
pub fn variable_sources<'c>(kustomization: &Object, cluster: &Cluster<'c>) -> Vec<&'c Object> {
    let build = kustomization.value.path(&["spec", "postBuild"]);
    let from = build.into_iter().flat_map(|build| build.list_at("substituteFrom"));
    let found = from.filter_map(|from| match source(kustomization, from, cluster) {
        Source::Here(map) => Some(map),
        Source::Missing | Source::Elsewhere => None,
    });
    found.collect()
}

/// Tells whether a Kustomization has variables from a map that is not there, or that asks for variables itself.
pub fn waits_for_variables(kustomization: &Object, cluster: &Cluster<'_>) -> bool {
    let build = kustomization.value.path(&["spec", "postBuild"]);
    let mut from = build.into_iter().flat_map(|build| build.list_at("substituteFrom"));
    let asks = |map: &Object| map.value.scalars().iter().any(|text| text.text().contains("${"));
    from.any(|from| match source(kustomization, from, cluster) {
        Source::Here(map) => asks(map),
        Source::Missing => false,
        Source::Elsewhere => true,
    })
}

/// Where the variables come from that a Kustomization refers to.
enum Source<'c> {
    Here(&'c Object),
    /// From nowhere: it is optional, and the only one that is known is another cluster's.
    Missing,
    /// From what is not here: none is known, or another cluster's alone.
    Elsewhere,
}

fn source<'c>(kustomization: &Object, from: &Value, cluster: &Cluster<'c>) -> Source<'c> {
    let Some((kind, name)) = from.text(&["kind"]).zip(from.text(&["name"])) else { return Source::Elsewhere };
    let namespace = kustomization.namespace().map(|n| n.text().into_owned());
    let wanted = Reference {
        group: "",
        kind: &kind,
        name: &name,
        namespace: namespace.as_deref(),
        from: &kustomization.file,
    };
    let found = cluster.find_own(wanted, &kustomization.files());
    let is_optional = is_true(from, &["optional"]);
    match found {
        Some(map) if cluster.is_anothers(map, kustomization, is_whole) => match is_optional {
            true => Source::Missing,
            false => Source::Elsewhere,
        },
        found => found.map_or(Source::Elsewhere, Source::Here),
    }
}

/// Tells whether a Kustomization is no patch of one.
pub(super) fn is_whole(kustomization: &Object) -> bool {
    kustomization.value.path(&["spec", "sourceRef"]).is_some()
}

// === impl Variables ===

impl Variables {
    /// Reads the variables of a Kustomization; `None` where it substitutes nothing.
    pub fn of(kustomization: &Object, cluster: &Cluster<'_>) -> Option<Self> {
        let post_build = kustomization.value.path(&["spec", "postBuild"])?;
        let mut variables = Self::default();
        for from in post_build.list_at("substituteFrom") {
            variables.take_from(kustomization, from, cluster);
        }
        variables.take_own(post_build);
        let always = post_build.text(&["substituteStrategy"]).is_some_and(|s| s == "Always");
        (always || !variables.known.is_empty() || !variables.outside.is_empty()).then_some(variables)
    }

    /// Lays each map over all others once, so that what these are laid over comes up; without those that change nothing.
    pub fn shadowed(&self, kustomization: &Object, cluster: &Cluster<'_>) -> Vec<Self> {
        let build = kustomization.value.path(&["spec", "postBuild"]);
        let maps = build.into_iter().flat_map(|build| build.list_at("substituteFrom")).take(SHADOWED);
        let each = maps.map(|from| {
            let mut variables = self.clone();
            variables.take_from(kustomization, from, cluster);
            Self { outside: self.outside.clone(), ..variables }
        });
        each.filter(|variables| variables.known != self.known).collect()
    }

    /// The variables of a Kustomization that is not in the tree.
    pub fn elsewhere() -> Self {
        let outside = vec!["a Flux Kustomization that is not in this repository".to_owned()];
        Self { known: IndexMap::new(), outside }
    }

    /// Lists their names.
    pub fn into_names(self) -> impl Iterator<Item = String> {
        self.known.into_keys()
    }

    fn take_own(&mut self, post_build: &Value) {
        for (name, value) in post_build.get("substitute").into_iter().flat_map(Value::entries) {
            if let Some(value) = value.as_scalar() {
                self.known.insert(name.to_owned(), one_line(value));
            }
        }
    }

    fn take_from(&mut self, kustomization: &Object, from: &Value, cluster: &Cluster<'_>) {
        let Some((kind, name)) = from.text(&["kind"]).zip(from.text(&["name"])) else { return };
        let is_open = kind == "ConfigMap";
        // What is in `data` of a Secret is encoded.
        let data = if is_open { "data" } else { "stringData" };
        let is_plain = |map: &&Object| is_open || map.value.get("data").is_none();
        let map = match source(kustomization, from, cluster) {
            Source::Here(map) => Some(map).filter(is_plain),
            Source::Missing => return,
            Source::Elsewhere => None,
        };
        let who = format!("the {kind} `{name}`");
        let Some(map) = map else { return self.outside.push(who) };
        for (name, value) in map.value.get(data).into_iter().flat_map(Value::entries) {
            if let Some(value) = value.as_scalar() {
                let is_shown = is_open && !value.is_sealed();
                let value = if is_shown { one_line(value) } else { secret(value, &who) };
                self.known.insert(name.to_owned(), value);
            }
        }
    }

    /// Fills an object's variables; `None` where it has none. What Flux refuses stays as it is and is noted.
    pub fn fill(&self, object: &Object, files: &dyn Files, notes: &mut Vec<Note>) -> Option<Value> {
        let is_off = |s: Option<&Scalar>| s.is_some_and(|s| s.text() == "disabled");
        if is_off(object.label(SUBSTITUTE)) || is_off(object.annotation(SUBSTITUTE)) {
            return None;
        }
        if let Some(name) = self.known.keys().find(|name| !is_name(name)) {
            let why = format!("'{name}' var name is invalid");
            notes.push(Note::new(&object.file, About::Refused(why)));
            return None;
        }
        let mut open: Vec<String> = Vec::new();
        let touches = |text: &str| text.contains("${") || text.contains("$$");
        let mut is_long = false;
        let filled = go_yaml::rewritten(&object.value, files, &touches, &mut |text| {
            envsubst::fill(text, &mut |name, has_default| self.value(name, has_default, &mut open)).map_err(
                |error| {
                    is_long |= error == SubstituteError::Long;
                    error.to_string()
                },
            )
        });
        open.dedup();
        notes.extend(open.into_iter().map(|about| Note::new(&object.file, About::Condition(about))));
        filled.unwrap_or_else(|why| {
            let about = if is_long { About::Bound(Bound::Bytes(BYTES)) } else { About::Refused(why) };
            notes.push(Note::new(&object.file, about));
            None
        })
    }

    fn value(&self, name: &str, has_default: bool, open: &mut Vec<String>) -> Option<Scalar> {
        let known = self.known.get(name).cloned();
        if known.is_some() || self.outside.is_empty() {
            return known;
        }
        let who = format!("variable `{name}`, from {}", self.outside.join(" or "));
        if has_default {
            // The default counts unless that one sets it: it is in the model, and said.
            open.push(who);
            return None;
        }
        Some(Scalar::unknown(&who))
    }
}

/// Fills a version that only somebody else knows with where it stands: that is all that is known of it.
pub(super) fn note_versions(filled: &mut Value, written: &Object) {
    let asked = asked_versions(filled, written, &|_| true);
    asked.into_iter().for_each(|version| note_asked(filled, version));
}

/// Lists the versions that somebody else is asked for, with where each stands.
pub(super) fn asked_versions(
    filled: &Value,
    written: &Object,
    is_asked: &dyn Fn(&Scalar) -> bool,
) -> Vec<(&'static [&'static str], Scalar)> {
    let of_kind = VERSIONS.iter().filter(|(kind, _)| written.kind() == *kind);
    let asked = of_kind.filter_map(|(_, path)| {
        let asked = written.value.scalar(path).filter(|asked| is_asked(asked))?;
        Some((*path, filled.scalar(path)?.asked_by(asked)))
    });
    asked.filter(|(_, version)| version.unknown_to().is_some()).collect()
}

/// Puts the version of a chart where it stands.
pub(super) fn note_asked(value: &mut Value, (path, version): (&[&str], Scalar)) {
    let Some((key, above)) = path.split_last() else { return };
    let into = above.iter().try_fold(value, |value, key| value.entry_mut(key));
    if let Some(into) = into {
        into.insert(key, Value::Scalar(version));
    }
}

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// A variable's value out of a Secret: what cannot be a release is known to the Secret alone.
fn secret(value: &Scalar, who: &str) -> Scalar {
    // Such a text stays as it is written on every way: YAML never quotes it, and it is no mapping.
    let is_token = value.text().chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    match value.parts() {
        [Part::Written(at)] if is_token => {
            let at = Origin { via: Some(Via::Secret), ..at.clone() };
            Scalar::of([Part::Written(at)], false)
        }
        _ => Scalar::unknown(who),
    }
}

/// A variable's value: without line breaks.
fn one_line(value: &Scalar) -> Scalar {
    let mut line = value.clone();
    while let Some(at) = line.text().find('\n') {
        let end = line.text().len();
        line = line.cut(0..at).then(&line.cut(at + 1..end));
    }
    line.via(Via::Variable).as_string()
}
