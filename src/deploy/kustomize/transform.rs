//! Transformers that set one thing in many objects: namespace, prefix and suffix, labels, annotations, replicas.

use super::{
    config::Section,
    fields::{Create, FieldSpec, KeyPath, at},
    gvk::Gvk,
    resource::{Resource, text_of},
};
use crate::deploy::value::{Scalar, Value};

/// Objects that keep their names.
const NAMED: [(&str, &str); 3] =
    [("", "CustomResourceDefinition"), ("apiregistration.k8s.io", "APIService"), ("", "Namespace")];

/// What a namespace is set in, of the subjects of a role binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subjects {
    /// Those called `default`.
    Default,
    /// All service accounts.
    ServiceAccounts,
    /// None.
    None,
}

/// A namespace and where it is set.
#[derive(Clone, Debug)]
pub(super) struct Namespace {
    pub namespace: Scalar,
    pub fields: Vec<FieldSpec>,
    /// Whether one that is written stays.
    pub unset_only: bool,
    pub subjects: Subjects,
}

// === impl Namespace ===

impl Namespace {
    /// Sets the namespace.
    pub fn apply(&self, resources: &mut [Resource]) {
        for resource in resources {
            resource.remember();
            let gvk = Gvk::of(&resource.value);
            let object = &mut resource.value;
            let mut set = |old: &Value| self.set(Some(old));
            if !gvk.is_cluster_scoped() {
                FieldSpec::made("metadata/namespace").change(object, &gvk, Create::Scalar, &mut set);
            }
            let binding = matches!(gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding");
            if binding {
                self.set_subjects(object);
            }
            for spec in &self.fields {
                let elsewhere = spec.path == "metadata/namespace"
                    || (spec.path == "metadata/name" && gvk.api_version() != "v1")
                    || (binding
                        && spec.path == "subjects/namespace"
                        && matches!(spec.gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding"));
                if !elsewhere {
                    spec.change(object, &gvk, Create::Scalar, &mut set);
                }
            }
        }
    }

    fn set(&self, old: Option<&Value>) -> Option<Value> {
        let old = old.and_then(Value::as_scalar);
        let written = old.is_some_and(|old| !old.is_null() && !old.text().is_empty());
        (!(self.unset_only && written)).then(|| Value::Scalar(self.namespace.clone().as_string()))
    }

    fn set_subjects(&self, object: &mut Value) {
        let wanted = |subject: &Value| match self.subjects {
            Subjects::Default => text_of(subject.get("name")) == "default",
            Subjects::ServiceAccounts => text_of(subject.get("kind")) == "ServiceAccount",
            Subjects::None => false,
        };
        if !object.list_at("subjects").iter().any(wanted) {
            return;
        }
        let Some(subjects) = object.entry_mut("subjects") else { return };
        for subject in subjects.make_list().iter_mut().filter(|subject| wanted(subject)) {
            if let Some(namespace) = self.set(subject.get("namespace")) {
                subject.insert("namespace", namespace);
            }
        }
    }
}

/// Which end of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Prefix,
    Suffix,
}

impl End {
    /// Returns the section of the configuration.
    pub fn section(self) -> Section {
        match self {
            Self::Prefix => Section::NamePrefix,
            Self::Suffix => Section::NameSuffix,
        }
    }
}

/// Puts a text before or behind names.
pub(super) fn affix(resources: &mut [Resource], end: End, affix: &Scalar, fields: &[FieldSpec]) {
    for resource in resources {
        let first = resource.first_id().gvk;
        if NAMED
            .iter()
            .any(|(group, kind)| first.kind == *kind && (group.is_empty() || first.group == *group))
        {
            continue;
        }
        let gvk = Gvk::of(&resource.value);
        for spec in fields.iter().filter(|spec| first.is_selected(&spec.gvk)) {
            if spec.path == "metadata/name" && !affix.text().is_empty() {
                let affixes = match end {
                    End::Prefix => &mut resource.prefixes,
                    End::Suffix => &mut resource.suffixes,
                };
                affixes.push((*affix.text()).into());
                resource.remember();
            }
            spec.change(&mut resource.value, &gvk, Create::Scalar, &mut |old| {
                let old = old.as_scalar()?;
                let (first, last) = match end {
                    End::Prefix => (affix, old),
                    End::Suffix => (old, affix),
                };
                let parts = first.parts().iter().chain(last.parts()).cloned();
                Some(Value::Scalar(Scalar::of(parts, old.plain)))
            });
        }
    }
}

/// Sets the entries of a mapping in the fields: labels, annotations.
pub(super) fn entries<'f>(
    resources: &mut [Resource],
    pairs: &Value,
    fields: impl Iterator<Item = &'f FieldSpec> + Clone,
) {
    let pairs: Vec<(&str, Value)> = pairs
        .entries()
        .filter_map(|(key, value)| Some((key, Value::Scalar(value.as_scalar()?.clone().as_string()))))
        .collect();
    if pairs.is_empty() {
        return;
    }
    for resource in resources {
        let gvk = Gvk::of(&resource.value);
        let before = resource.value.clone();
        for spec in fields.clone() {
            spec.change(&mut resource.value, &gvk, Create::Map, &mut |old| {
                matches!(old, Value::Map(_)).then(|| {
                    let mut map = old.clone();
                    pairs.iter().for_each(|(key, value)| map.insert(key, value.clone()));
                    map
                })
            });
        }
        resource.settle(&before);
        let mut places: Vec<KeyPath> =
            fields.clone().flat_map(|spec| spec.places(&resource.value, &gvk)).collect();
        places.sort();
        places.dedup();
        for (key, _) in &pairs {
            let with = |place: &KeyPath| place.iter().cloned().chain([(*key).into()]).collect::<KeyPath>();
            let made = places.iter().map(with).filter(|place| at(&before, place).is_none()).collect();
            resource.share(made);
        }
    }
}

/// Sets the replicas of the objects of a name; tells whether there are any.
pub(super) fn replicas<'f>(
    resources: &mut [Resource],
    name: &str,
    count: &Scalar,
    fields: impl Iterator<Item = &'f FieldSpec>,
) -> bool {
    let mut found = false;
    for spec in fields {
        for resource in resources.iter_mut() {
            if resource.ids().iter().any(|id| id.name == name && id.gvk.is_selected(&spec.gvk)) {
                found = true;
                let gvk = Gvk::of(&resource.value);
                let set = &mut |_: &Value| Some(Value::Scalar(count.clone().as_plain()));
                spec.change(&mut resource.value, &gvk, Create::Scalar, set);
            }
        }
    }
    found
}
