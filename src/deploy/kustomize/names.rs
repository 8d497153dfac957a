//! Names that objects call each other by, after prefixes, suffixes and hashes have changed them.

use std::sync::Arc;

use super::{
    config::Config,
    fields::{Create, FieldSpec},
    gvk::Gvk,
    resource::{Id, Resource, by_looks, is_text, text_of},
};
use crate::deploy::value::{Scalar, Value};

/// What stands for the hash of a generated object's content: it moves with the content, which is not what is asked of a name.
pub const HASH: &str = "contenthash";

/// Returns a name without what stands for the hash behind it.
pub fn without_hash(name: &str) -> &str {
    name.strip_suffix(HASH).and_then(|name| name.strip_suffix('-')).unwrap_or(name)
}

/// Why kustomize does not write the names of now into an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReferenceError {
    #[error("it names a service account whose namespace is empty, or no text")]
    BlankNamespace,
    #[error("it refers to an object without naming it")]
    Nameless,
    #[error("several objects are what it may refer to")]
    Several,
}

/// Adds the hash to the names of generated objects.
pub(super) fn hash(resources: &mut [Resource]) {
    for resource in resources.iter_mut().filter(|resource| resource.hashed) {
        resource.remember();
        if let Some(name) = resource.value.scalar(&["metadata", "name"]).cloned() {
            let hashed = name.then(&Scalar::made(&format!("-{HASH}")));
            resource.set_metadata("name", Some(&hashed));
        }
    }
}

/// One that may be called by a name.
struct Candidate {
    at: usize,
    /// What it was known by, with group and version of now.
    previous: Vec<Id>,
    now: Id,
    name: Scalar,
    namespace: Option<Scalar>,
    /// As it is written.
    written: String,
}

/// Writes the names of now where objects name others by what they were called before; returns the objects that kustomize
/// refuses to look at.
pub(super) fn refer(resources: &mut [Resource], config: &Config) -> Vec<(Id, ReferenceError)> {
    let candidates: Vec<Candidate> = resources
        .iter()
        .enumerate()
        .filter_map(|(at, resource)| {
            let mut previous = resource.ids();
            let now = previous.pop()?;
            let scalar = |key: &str| resource.value.scalar(&["metadata", key]).cloned();
            let written = resource.namespace();
            Some(Candidate {
                at,
                previous,
                now,
                name: scalar("name")?,
                namespace: scalar("namespace"),
                written,
            })
        })
        .collect();
    let affixes: Vec<_> = resources.iter().map(|r| (r.prefixes.clone(), r.suffixes.clone())).collect();
    let means =
        |candidate: &Candidate, target: &Gvk| candidate.previous.iter().any(|id| id.gvk.is_selected(target));
    let groups: Vec<(&[FieldSpec], Vec<&Candidate>)> = config
        .references()
        .map(|of| (&*of.referrers, candidates.iter().filter(|c| means(c, &of.target)).collect()))
        .collect();
    let (all, mut refused) = (&candidates, Vec::new());
    for (at, resource) in resources.iter_mut().enumerate() {
        let first = resource.first_id().gvk;
        let gvk = Gvk::default();
        let referrer = Referrer::of(resource);
        let mut failed = referrer.is_blank.then_some(ReferenceError::BlankNamespace);
        for (referrers, candidates) in &groups {
            let referrers: Vec<&FieldSpec> =
                referrers.iter().filter(|spec| first.is_selected(&spec.gvk)).collect();
            if referrers.is_empty() {
                continue;
            }
            let near: Vec<_> =
                candidates.iter().copied().filter(|candidate| referrer.may_mean(candidate)).collect();
            for spec in referrers {
                let found =
                    Candidates { near: &near, all, affixes: &affixes, own: at, referrer: &referrer, spec };
                // The kind was looked at already, and it is the first one that counts.
                let anywhere = FieldSpec { gvk: Gvk::default(), ..spec.clone() };
                anywhere.change(&mut resource.value, &gvk, Create::Nothing, &mut |old| {
                    found.renamed(old).unwrap_or_else(|error| {
                        failed.get_or_insert(error);
                        None
                    })
                });
            }
        }
        refused.extend(failed.map(|error| (resource.id(), error)));
    }
    refused
}

// === impl Candidate ===

impl Candidate {
    fn first_namespace(&self) -> &str {
        &self.previous.first().unwrap_or(&self.now).namespace
    }
}

/// The one that names others.
struct Referrer {
    id: Id,
    cluster: bool,
    /// The namespaces of the service accounts that a role binding means.
    accounts: Vec<String>,
    /// Whether one of them is no text.
    is_blank: bool,
    role: Option<Gvk>,
}

impl Referrer {
    fn of(resource: &Resource) -> Self {
        let id = resource.id();
        let subjects = if id.gvk.kind == "RoleBinding" { resource.value.list_at("subjects") } else { &[] };
        let is_account = |subject: &&Value| text_of(subject.get("kind")) == "ServiceAccount";
        let namespaces: Vec<&Value> =
            subjects.iter().filter(is_account).filter_map(|subject| subject.entry("namespace")).collect();
        let accounts = namespaces.iter().map(|namespace| text_of(Some(namespace))).collect();
        let is_blank = !namespaces.iter().all(|namespace| namespace.as_scalar().is_some_and(is_text));
        let text = |key: &str| resource.value.text(&["roleRef", key]).map(|text| text.into_owned());
        let role =
            text("apiGroup").zip(text("kind")).map(|(group, kind)| Gvk { group, kind, ..Gvk::default() });
        Self { cluster: id.gvk.is_cluster_scoped(), id, accounts, is_blank, role }
    }

    fn may_mean(&self, candidate: &Candidate) -> bool {
        self.cluster
            || candidate.now.gvk.is_cluster_scoped()
            || candidate.now.namespace == self.id.namespace
            || self.accounts.contains(&candidate.written)
    }
}

type Affixes = (Vec<Arc<str>>, Vec<Arc<str>>);

/// The candidates for one field of one object.
struct Candidates<'a> {
    near: &'a [&'a Candidate],
    /// Those for any field of any object.
    all: &'a [Candidate],
    affixes: &'a [Affixes],
    own: usize,
    referrer: &'a Referrer,
    spec: &'a FieldSpec,
}

impl Candidates<'_> {
    fn renamed(&self, old: &Value) -> Result<Option<Value>, ReferenceError> {
        match old {
            Value::Scalar(scalar) => self.scalar(scalar),
            Value::Map(_) => self.mapping(old),
            Value::List(items) => {
                let mut new: Option<Vec<Value>> = None;
                for (at, item) in items.iter().enumerate() {
                    let item = match item {
                        Value::Scalar(scalar) => self.scalar(scalar)?,
                        Value::Map(_) => self.mapping(item)?,
                        Value::List(_) => None,
                    };
                    if let Some(item) = item {
                        new.get_or_insert_with(|| items.to_vec())[at] = item;
                    }
                }
                Ok(new.map(Value::list))
            }
        }
    }

    fn scalar(&self, old: &Scalar) -> Result<Option<Value>, ReferenceError> {
        if old.is_null() {
            return Ok(None);
        }
        let same = |a: &Candidate, b: &Candidate| a.now.name == b.now.name;
        let candidate = self.select(&old.text(), self.near.to_vec(), &same)?;
        let renamed = candidate.filter(|candidate| candidate.now.name != old.text());
        Ok(renamed.map(|candidate| Value::Scalar(named(&candidate.name, old))))
    }

    /// Renames in a mapping of `name` and `namespace`.
    fn mapping(&self, old: &Value) -> Result<Option<Value>, ReferenceError> {
        let name = old.entry("name").ok_or(ReferenceError::Nameless)?;
        let Some(name) = name.as_scalar() else { return Ok(None) };
        let mut near = self.near.to_vec();
        if let Some(namespace) = old.entry("namespace") {
            let namespace = text_of(Some(namespace));
            // Where anything was in that namespace first, whatever it is, only what was there is meant.
            let was_there = |candidate: &Candidate| candidate.first_namespace() == namespace;
            if self.all.iter().any(|candidate| was_there(candidate) && self.referrer.may_mean(candidate)) {
                near.retain(|candidate| was_there(candidate));
            } else {
                near.retain(|candidate| candidate.now.namespace == namespace);
            }
        }
        let same = |a: &Candidate, b: &Candidate| a.now.name == b.now.name && a.written == b.written;
        let candidate = self.select(&name.text(), near, &same)?;
        let is_news = |found: &&Candidate| found.now.name != name.text() || !found.written.is_empty();
        let Some(candidate) = candidate.filter(is_news) else { return Ok(None) };
        let mut new = old.clone();
        new.insert("name", Value::Scalar(named(&candidate.name, name)));
        if let Some(namespace) = candidate.namespace.as_ref().filter(|_| !candidate.written.is_empty()) {
            new.insert("namespace", Value::Scalar(namespace.clone()));
        }
        Ok(Some(new))
    }

    fn select<'c>(
        &self,
        name: &str,
        near: Vec<&'c Candidate>,
        same: &dyn Fn(&Candidate, &Candidate) -> bool,
    ) -> Result<Option<&'c Candidate>, ReferenceError> {
        let role = self.referrer.role.as_ref().filter(|_| self.spec.path.ends_with("roleRef/name"));
        let mut near = near;
        near.retain(|candidate| {
            candidate.previous.iter().any(|id| id.name == name)
                && role.is_none_or(|role| candidate.previous.iter().any(|id| id.gvk.is_selected(role)))
                && (self.referrer.cluster
                    || candidate.now.gvk.is_cluster_scoped()
                    || candidate.now.gvk.kind == "ServiceAccount"
                    || candidate.now.namespace == self.referrer.id.namespace)
        });
        if let [one] = near.as_slice() {
            return Ok(Some(one));
        }
        near.retain(|candidate| self.same_affixes(candidate, true));
        if near.len() > 1 {
            near.retain(|candidate| self.same_affixes(candidate, false));
        }
        let Some(first) = near.first().copied() else { return Ok(None) };
        if near.iter().all(|candidate| same(first, candidate)) {
            Ok(Some(first))
        } else {
            Err(ReferenceError::Several)
        }
    }

    /// Tells whether both went through the same prefixes and suffixes at last.
    fn same_affixes(&self, candidate: &Candidate, empty_too: bool) -> bool {
        let (own, other) = (&self.affixes[self.own], &self.affixes[candidate.at]);
        let same = |a: &[Arc<str>], b: &[Arc<str>]| {
            if a.is_empty() || b.is_empty() {
                return empty_too || a.len() == b.len();
            }
            a.ends_with(b) || b.ends_with(a)
        };
        same(&own.0, &other.0) && same(&own.1, &other.1)
    }
}

fn named(new: &Scalar, old: &Scalar) -> Scalar {
    if old.plain { by_looks(new.clone()) } else { new.clone().as_string() }
}
