//! Step 5, pins: Kubernetes objects in a text.
//!
//! In: a parsed text. Out: [`Object`]s, those inside a `List` too, and where it is asked for those inside a template of
//! OpenShift's. Knows no kind but these.

use super::place::Place;
use crate::{deploy::openshift, yaml::Node};

/// One Kubernetes object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'a> {
    /// Its mapping.
    pub node: Node<'a>,
    /// `apiVersion`, without its version: `apps` of `apps/v1`.
    pub group: &'a str,
    /// `kind`.
    pub kind: &'a str,
    /// `metadata.name`, where it is written.
    pub name: Option<&'a str>,
}

/// Lists nest no deeper than this in any cluster.
const LISTS: usize = 8;

// === impl Object ===

impl<'a> Object<'a> {
    /// Reads a mapping as an object.
    pub fn of(node: Node<'a>) -> Option<Self> {
        let kind = node.text(&["kind"])?;
        let group = node.text(&["apiVersion"]).unwrap_or_default();
        let group = group.split_once('/').map_or("", |(group, _)| group);
        let name = node.text(&["metadata", "name"]);
        Some(Self { node, group, kind, name })
    }

    /// Returns all objects of a text.
    pub fn all(place: Place<'a>) -> Vec<Self> {
        let mut found = Vec::new();
        place.stream.roots().for_each(|root| collect(root, LISTS, &mut found));
        found
    }

    /// Returns the same with what templates have in their place, as it is written.
    pub fn processed(place: Place<'a>) -> Vec<Self> {
        let mut found = Vec::new();
        for object in Self::all(place) {
            match object.node.get("objects").filter(|_| openshift::is_template(object.group, object.kind)) {
                Some(inner) => inner.items().for_each(|item| collect(item, LISTS, &mut found)),
                None => found.push(object),
            }
        }
        found
    }

    /// Returns an annotation's value.
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        self.node.text(&["metadata", "annotations", key])
    }

    /// Tells whether the object is of that kind, in a group that ends so.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.kind == kind && self.group == group
    }
}

fn collect<'a>(node: Node<'a>, lists: usize, found: &mut Vec<Object<'a>>) {
    let Some(object) = Object::of(node) else {
        // A file of bare objects in a sequence is no manifest, but JSON tools write it.
        if node.is_sequence() && lists > 0 {
            node.items().for_each(|item| collect(item, lists - 1, found));
        }
        return;
    };
    match (object.kind.ends_with("List") && lists > 0, node.get("items")) {
        (true, Some(items)) if items.is_sequence() => {
            items.items().for_each(|item| collect(item, lists - 1, found));
        }
        _ => found.push(object),
    }
}
