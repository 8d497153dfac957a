//! Step 5, render: the proof that values are those of a committed manifest.
//!
//! In: the old version rendered with them, with the chart's inventions put back; what is committed. Out: the differences,
//! none where it is proven. What the one who rendered left out as a whole (`--no-hooks`, no `--include-crds`, Secrets with
//! private keys) is a form, and no difference.

use super::{
    Committed, Drift,
    candidate::has_stand_in,
    field::{Field, differing},
    placed::Placed,
    recognise::marks,
    shown::shown,
};
use crate::render::{Manifest, Object, key_material::has_private_key};

/// Which groups of a rendering are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    hooks: bool,
    crds: bool,
}

// === impl Groups ===

impl Groups {
    /// Finds the groups of which nothing is committed.
    pub(super) fn of(rendered: &Manifest, placed: &Placed) -> Self {
        let present = |group: fn(&Object) -> bool| {
            let mut members = rendered.objects.iter().filter(|o| group(o)).peekable();
            members.peek().is_none() || members.any(|o| placed.get(&o.key).is_some())
        };
        Self { hooks: present(is_hook), crds: present(is_crd_file) }
    }

    /// Tells whether an object is in a group that is committed.
    pub(super) fn hold(self, object: &Object) -> bool {
        (self.hooks || !is_hook(object)) && (self.crds || !is_crd_file(object))
    }
}

fn is_hook(object: &Object) -> bool {
    object.annotation("helm.sh/hook").is_some()
}

/// Tells whether an object is from the chart's `crds/` folder.
fn is_crd_file(object: &Object) -> bool {
    object
        .source
        .as_deref()
        .is_some_and(|source| source.contains("/crds/") && !source.contains("/templates/"))
}

/// Tells whether an object is a Secret with a private key. Where such a one is not committed, its owner keeps it elsewhere:
/// nothing is wrong with that, and nothing here could give it back.
pub(super) fn holds_key(manifest: &Manifest, object: &Object) -> bool {
    let document = manifest.document(object);
    object.key.kind == "Secret" && (has_private_key(document) || has_stand_in(document))
}

/// Compares the old version with what is committed.
pub(super) fn prove(set: &Committed, rendered: &Manifest, placed: &Placed, groups: Groups) -> Vec<Drift> {
    let mut found = Vec::new();
    for object in rendered.objects.iter().filter(|o| groups.hold(o)) {
        match placed.get(&object.key) {
            None if holds_key(rendered, object) => {}
            None => found.extend(drift(set, placed, object, None)),
            Some((_, committed)) => {
                let fields = differing(&committed.value, &object.value);
                found.extend(fields.iter().filter_map(|field| drift(set, placed, object, Some(field))));
            }
        }
    }
    for (file, object) in placed.all().filter(|(_, o)| rendered.get(&o.key).is_none()) {
        if marks(&file.manifest, object).is_some_and(|m| m.certain) {
            found.extend(drift(set, placed, object, None));
        }
    }
    found.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    found
}

fn drift(set: &Committed, placed: &Placed, rendered: &Object, field: Option<&Field>) -> Option<Drift> {
    let committed = placed.get(&rendered.key);
    let (path, line) = match committed {
        Some((file, object)) => {
            let node = file.manifest.node(object).zip(field).and_then(|(root, field)| field.node(root));
            let at = node.map(|n| file.manifest.line_of(n.span().start));
            (file.path.clone(), at.unwrap_or_else(|| file.manifest.line(object)))
        }
        None => (set.path()?.clone(), set.line()),
    };
    let value = |object: Option<&Object>| field.and_then(|f| f.find(&object?.value).cloned());
    let values = (value(committed.map(|(_, object)| object)), value(Some(rendered)));
    let show = |one: &Option<_>, other: &Option<_>| {
        one.as_ref().map(|value| shown(value, other.as_ref(), rendered.key.kind == "Secret"))
    };
    // An object that only one side has is shown by no value, and which side it is by what is there.
    let whole = field.is_none();
    let there = || "there".to_owned();
    let before = if whole { committed.map(|_| there()) } else { show(&values.0, &values.1) };
    let after = if whole { committed.is_none().then(there) } else { show(&values.1, &values.0) };
    Some(Drift {
        path,
        line,
        chart: format!("{} {}", set.chart, set.version.as_deref().unwrap_or("of unknown version")),
        object: rendered.key.clone(),
        field: field.map(Field::to_string),
        committed: before,
        rendered: after,
    })
}
