//! Step 7, render: the proof that values are those of a committed manifest.
//!
//! In: the old version rendered with them, with the chart's inventions put back; what is committed. Out: the differences,
//! none where it is proven. What the one who rendered left out as a whole (`--no-hooks`, no `--include-crds`, Secrets with
//! private keys) is a form, and no difference.

use super::{
    Committed, CommittedFile, Drift,
    candidate::has_stand_in,
    embedded,
    field::{Field, differing},
    placed::Placed,
    recognise::{chart_version, marks},
    shown::sides,
};
use crate::{
    helm::key_material::has_private_key,
    render::{Chart, Manifest, Object, value},
    repo::RepoPath,
    yaml::{Stream, position},
};

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

/// Tells whether an object says that Helm made it of the set's own version: the chart gives it then with other values, and
/// it is nobody's to leave behind. What a command of the CLI made, has a label alone, or is of a kind that no values give is
/// somebody's own.
fn claims(set: &Committed, chart: &Chart, file: &CommittedFile, object: &Object) -> bool {
    if is_printed(chart, object) {
        return true;
    }
    marks(&file.manifest, object).is_some_and(|marks| {
        let version = marks.version.and_then(chart_version);
        let is_own = version.is_some() && version == set.version && may_give(chart, &object.key.kind);
        marks.certain && !marks.cli && object.source.is_none() && is_own
    })
}

/// Tells whether a file of the chart has an object of that kind, or of one that only its values tell.
fn may_give(chart: &Chart, kind: &str) -> bool {
    let is_it = |line: &str| {
        let named = line.trim().strip_prefix("kind:").map(|named| named.trim().trim_matches(['"', '\'']));
        named.is_some_and(|named| named == kind || named.contains("{{"))
    };
    chart.files.values().any(|text| text.lines().any(is_it))
}

/// Tells whether an object has the `# Source:` of a template that the chart has.
pub(super) fn is_printed(chart: &Chart, object: &Object) -> bool {
    let path = object.source.as_deref().and_then(|source| source.split_once("/templates/"));
    path.is_some_and(|(_, file)| chart.files.contains_key(&format!("templates/{file}")))
}

/// Compares the old version with what is committed.
pub(super) fn prove(
    set: &Committed,
    chart: &Chart,
    rendered: &Manifest,
    placed: &Placed,
    groups: Groups,
) -> Vec<Drift> {
    let mut found = Vec::new();
    for object in rendered.objects.iter().filter(|o| groups.hold(o)) {
        match placed.get(&object.key) {
            None if holds_key(rendered, object) => {}
            None => found.extend(drift(set, placed, object, None)),
            Some((file, committed)) => {
                let fields = differing(&committed.value, &object.value);
                for field in &fields {
                    match embedded_drifts(set, (file, committed), object, field) {
                        Some(inner) => found.extend(inner),
                        None => found.extend(drift(set, placed, object, Some(field))),
                    }
                }
            }
        }
    }
    found.extend(placed.others().filter(|(file, o)| claims(set, chart, file, o)).map(|(file, object)| {
        Drift {
            committed: Some("there".to_owned()),
            ..drift_at(set, file.path.clone(), file.manifest.line(object), object)
        }
    }));
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
    let secret = rendered.key.kind == "Secret";
    let there = || "there".to_owned();
    let (before, after) = match field {
        // An object that only one side has is shown by no value, and which side it is by what is there.
        None => (committed.map(|_| there()), committed.is_none().then(there)),
        Some(field) => {
            sides(committed.and_then(|(_, o)| field.find(&o.value)), field.find(&rendered.value), secret)
        }
    };
    let field = field.map(Field::to_string);
    Some(Drift { field, committed: before, rendered: after, ..drift_at(set, path, line, rendered) })
}

/// Names the values that differ inside the ConfigMap `linkerd-config`, rather than all of its text.
fn embedded_drifts(
    set: &Committed,
    (file, committed): (&CommittedFile, &Object),
    rendered: &Object,
    field: &Field,
) -> Option<Vec<Drift>> {
    let config = committed.key.kind == "ConfigMap" && committed.key.name == "linkerd-config";
    let text = |object: &Object| field.find(&object.value)?.as_str().map(str::to_owned);
    let (before, after) =
        (text(committed)?, text(rendered).filter(|_| config && field.to_string() == "data.values")?);
    let fields = embedded::changed(&before, &after)?;
    let stream = Stream::parse(before.as_str()).ok()?;
    let start = file.manifest.line_of(field.node(file.manifest.node(committed)?)?.span().start);
    let (old, new) = (value::read(&before).ok()?, value::read(&after).ok()?);
    let one = |inner: &Field| {
        let node = stream.roots().next().and_then(|root| inner.node(root));
        let line = start + node.map_or(0, |node| position(&before, node.span().start).0);
        let (before, after) = sides(inner.find(&old), inner.find(&new), false);
        Drift {
            field: Some(format!("{field}: {inner}")),
            committed: before,
            rendered: after,
            ..drift_at(set, file.path.clone(), line, committed)
        }
    };
    Some(fields.iter().map(one).collect())
}

fn drift_at(set: &Committed, path: RepoPath, line: usize, object: &Object) -> Drift {
    Drift {
        path,
        line,
        chart: format!("{} {}", set.chart, set.version.as_deref().unwrap_or("of unknown version")),
        object: object.key.clone(),
        field: None,
        committed: None,
        rendered: None,
    }
}
