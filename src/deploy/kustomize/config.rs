//! Where transformers look: kustomize's built-in table, and what `configurations` and `crds` add to it.

use std::sync::LazyLock;

use super::{fields::FieldSpec, gvk::Gvk};
use crate::deploy::value::Value;

/// The table; its head says what a line means.
const BUILT_IN: &str = include_str!("../../../data/kustomize-fields.txt");

/// How deep the types of a CRD are followed.
const DEPTH: usize = 20;
/// Fields of the types of a file of `crds`, each as often as a type refers to it.
pub(super) const FIELDS: usize = 100_000;

/// What a list of fields is for, in the order of [`NAMES`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Section {
    NamePrefix,
    NameSuffix,
    Namespace,
    CommonLabels,
    Labels,
    TemplateLabels,
    CommonAnnotations,
    VarReference,
    Images,
    Replicas,
}

const NAMES: [&str; 10] = [
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "templateLabels",
    "commonAnnotations",
    "varReference",
    "images",
    "replicas",
];

/// The fields that are looked at beside the built-in ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Config {
    fields: [Vec<FieldSpec>; NAMES.len()],
    references: Vec<Reference>,
}

/// Fields that hold the name of an object of some kind.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub target: Gvk,
    pub referrers: Vec<FieldSpec>,
}

static DEFAULTS: LazyLock<Config> = LazyLock::new(|| Config::of_table(BUILT_IN));

// === impl Config ===

impl Config {
    /// Returns the fields of a section, the built-in ones first.
    pub fn fields(&self, section: Section) -> impl Iterator<Item = &FieldSpec> + Clone {
        let at = section as usize;
        DEFAULTS.fields[at].iter().chain(&self.fields[at])
    }

    /// Returns the fields that hold names, the built-in ones first.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        DEFAULTS.references.iter().chain(&self.references)
    }

    /// Adds what a file of `configurations` says.
    pub fn add_file(&mut self, value: &Value) {
        for (at, name) in NAMES.iter().enumerate() {
            for spec in value.list_at(name) {
                self.add(at, FieldSpec::of(spec));
            }
        }
        for entry in value.list_at("nameReference") {
            let referrers = entry.list_at("fieldSpecs").iter().map(FieldSpec::of).collect();
            self.add_reference(Reference { target: Gvk::of_fields(entry), referrers });
        }
    }

    /// Adds what the annotated schema of a CRD says (a file of `crds`); tells whether all of it was looked at.
    pub fn add_crds(&mut self, types: &Value) -> bool {
        let mut left = FIELDS;
        for (name, definition) in types.entries() {
            let properties = definition.path(&["Schema", "properties"]);
            let has = |key: &str| properties.is_some_and(|p| p.entry(key).is_some());
            if has("kind") && has("apiVersion") && has("metadata") {
                let kind = name.rsplit('.').next().unwrap_or_default().to_owned();
                let gvk = Gvk { kind, ..Gvk::default() };
                self.add_crd(types, name, &gvk, "", (DEPTH, &mut left));
            }
        }
        left > 0
    }

    /// Adds all that another has.
    pub fn merge(&mut self, other: &Self) {
        for (at, fields) in other.fields.iter().enumerate() {
            fields.iter().for_each(|spec| self.add(at, spec.clone()));
        }
        other.references.iter().for_each(|reference| self.add_reference(reference.clone()));
    }

    fn add_crd(
        &mut self,
        types: &Value,
        name: &str,
        gvk: &Gvk,
        path: &str,
        (depth, left): (usize, &mut usize),
    ) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let properties = types.get(name).and_then(|definition| definition.path(&["Schema", "properties"]));
        for (field, property) in properties.into_iter().flat_map(Value::entries) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                return;
            }
            let path = if path.is_empty() { field.to_owned() } else { format!("{path}/{field}") };
            let spec = |path: String| FieldSpec { gvk: gvk.clone(), path, create: false };
            let marks = [
                ("x-kubernetes-annotation", Section::CommonAnnotations),
                ("x-kubernetes-label-selector", Section::CommonLabels),
                ("x-kubernetes-identity", Section::NamePrefix),
            ];
            for (mark, section) in marks {
                if property.entry(mark).is_some() {
                    self.add(section as usize, spec(path.clone()));
                }
            }
            let text = |key: &str| property.text(&[key]).map(|text| text.into_owned());
            let reference =
                text("x-kubernetes-object-ref-api-version").zip(text("x-kubernetes-object-ref-kind"));
            if let Some((version, kind)) = reference {
                let key = text("x-kubernetes-object-ref-name-key").unwrap_or_else(|| "name".to_owned());
                let target = Gvk { version, kind, ..Gvk::default() };
                self.add_reference(Reference { target, referrers: vec![spec(format!("{path}/{key}"))] });
            }
            if let Some(name) = text("$ref") {
                self.add_crd(types, &name, gvk, &path, (depth, left));
            }
        }
    }

    fn add(&mut self, section: usize, spec: FieldSpec) {
        let mut known = DEFAULTS.fields[section].iter().chain(&self.fields[section]);
        if !known.any(|own| covers(own, &spec)) {
            self.fields[section].push(spec);
        }
    }

    fn add_reference(&mut self, new: Reference) {
        let Some(own) = self.references.iter_mut().find(|own| own.target == new.target) else {
            return self.references.push(new);
        };
        for spec in new.referrers {
            if !own.referrers.iter().any(|known| covers(known, &spec)) {
                own.referrers.push(spec);
            }
        }
    }

    fn of_table(table: &str) -> Self {
        let mut config = Self::default();
        let mut section = None;
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let gvk = |group: &str, version: &str, kind: &str| {
                let any = |text: &str| if text == "*" { String::new() } else { text.to_owned() };
                Gvk { group: any(group), version: any(version), kind: any(kind) }
            };
            let words: Vec<&str> = line.split_whitespace().collect();
            match *words.as_slice() {
                ["nameReference", group, version, kind] => {
                    section = None;
                    config
                        .references
                        .push(Reference { target: gvk(group, version, kind), referrers: Vec::new() });
                }
                [name] => section = NAMES.iter().position(|known| *known == name),
                [group, version, kind, path, ref create @ ..] => {
                    let create = !create.is_empty();
                    let spec = FieldSpec { gvk: gvk(group, version, kind), path: path.to_owned(), create };
                    match (section, config.references.last_mut()) {
                        (Some(section), _) => config.fields[section].push(spec),
                        (None, Some(reference)) => reference.referrers.push(spec),
                        (None, None) => {}
                    }
                }
                _ => {}
            }
        }
        config
    }
}

/// Adds field specifications that are not there yet, as kustomize tells them apart.
pub(super) fn add_all<'f>(fields: &mut Vec<FieldSpec>, more: impl Iterator<Item = &'f FieldSpec>) {
    for spec in more {
        if !fields.iter().any(|own| covers(own, spec)) {
            fields.push(spec.clone());
        }
    }
}

fn covers(own: &FieldSpec, other: &FieldSpec) -> bool {
    own.path == other.path && own.gvk.is_selected(&other.gvk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_whole() {
        let count = |section| Config::default().fields(section).count();
        assert_eq!(count(Section::NamePrefix), 1);
        assert_eq!(count(Section::CommonLabels), 22 + 10);
        assert_eq!(count(Section::Labels), 0);
        assert_eq!(count(Section::Replicas), 4);
        let names = Config::default();
        let secrets = names.references().find(|reference| reference.target.kind == "Secret").unwrap();
        assert!(secrets.referrers.iter().any(|spec| spec.gvk.kind == "Ingress" && !spec.create));
        let specs = BUILT_IN.lines().filter(|line| line.starts_with("  ")).count();
        let fields: usize = DEFAULTS.fields.iter().map(Vec::len).sum();
        let referrers: usize = DEFAULTS.references.iter().map(|reference| reference.referrers.len()).sum();
        assert_eq!(fields + referrers, specs);
    }
}
