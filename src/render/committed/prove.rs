//! Step 5, render: the proof that values are those of a committed manifest.
//!
//! In: the old version rendered with them, with the chart's inventions put back; what is committed. Out: the differences,
//! none where it is proven. Whole groups that the one who rendered left out (`--no-hooks`, no `--include-crds`) are a
//! form, and no difference.

use serde_json::Value;

use super::{
    Committed, Drift,
    field::{Field, differing},
    placed::Placed,
    recognise::marks,
};
use crate::render::{Manifest, Object};

/// The longest text of a value that is shown.
const SHOWN: usize = 60;

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

/// Compares the old version with what is committed.
pub(super) fn prove(set: &Committed, rendered: &Manifest, placed: &Placed, groups: Groups) -> Vec<Drift> {
    let mut found = Vec::new();
    for object in rendered.objects.iter().filter(|o| groups.hold(o)) {
        match placed.get(&object.key) {
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
            let at = |start| crate::yaml::position(&file.manifest.text, start).0;
            (file.path.clone(), node.map_or_else(|| file.manifest.line(object), |n| at(n.span().start)))
        }
        None => (set.path()?.clone(), set.line()),
    };
    let show = |object: &Object| field.and_then(|f| f.find(&object.value)).map(|v| shown(object, v));
    // An object that only one side has is shown by no value, and which side it is by what is there.
    let whole = field.is_none();
    let there = || "there".to_owned();
    let before = committed.and_then(|(_, o)| if whole { Some(there()) } else { show(o) });
    let after = if whole { committed.is_none().then(there) } else { show(rendered) };
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

/// Shows a value in a sentence: shortened, and without what is secret.
fn shown(object: &Object, value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if object.key.kind == "Secret" || text.contains("PRIVATE KEY") {
        return "(hidden)".to_owned();
    }
    let line = text.split(char::is_control).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &line[..end]),
        None => format!("{line:?}"),
    }
}
