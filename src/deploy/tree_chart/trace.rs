//! Where the texts that Helm printed were written: two renders that differ in the versions alone, laid side by side.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    candidate::{Candidates, versions},
    package::Package,
};
use crate::{
    deploy::{
        files::Files,
        note::{About, Note},
        read,
        value::{Origin, Part, Scalar, Source, UNKNOWN, Value, Via, list_with},
    },
    repo::RepoPath,
};

/// What stands before each piece of what `helm template` prints.
const SOURCE: &str = "---\n# Source: ";

/// What Helm printed of one template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Printed {
    /// Where the template lies in the chart.
    pub place: String,
    /// Its documents.
    pub documents: Vec<Value>,
}

/// Takes what Helm printed apart; what stands for the unknown in it is unknown again.
pub(super) fn printed(
    text: &str,
    files: &dyn Files,
    package: &Package,
    notes: &mut Vec<Note>,
) -> Vec<Printed> {
    let start = text.strip_prefix(SOURCE).map(|rest| (0, rest)).is_some();
    let body = if start {
        &text[SOURCE.len()..]
    } else {
        text.split_once(&format!("\n{SOURCE}")).map_or("", |(_, b)| b)
    };
    let mut found = Vec::new();
    for piece in body.split(&format!("\n{SOURCE}")) {
        let (place, text) = piece.split_once('\n').unwrap_or((piece, ""));
        // The first name is the chart's own.
        let place = place.split_once('/').map_or(place, |(_, place)| place).to_owned();
        match read::documents(&parts(text, package.source(&place)), files.ceilings()) {
            Ok(documents) => found.push(Printed { place, documents }),
            Err(error) => {
                let about = About::Unread { what: format!("what comes of {place}"), why: error.to_string() };
                notes.extend(package.source(&place).map(|source| Note::new(&source.path, about)));
            }
        }
    }
    found
}

/// A printed text, in which each scalar knows its line: a comment stands beside it there as in its template.
fn parts(text: &str, template: Option<&Arc<Source>>) -> Scalar {
    let whole = match template {
        Some(template) => {
            let (path, blob) = (template.path.clone(), template.blob);
            Scalar::file(&Arc::new(Source { path, blob, text: text.into() })).via(Via::Printed)
        }
        None => Scalar::made(text),
    };
    let unknown = Part::Unknown("whoever deploys the chart".into());
    let (mut parts, mut at) = (Vec::new(), 0);
    for (found, _) in text.match_indices(UNKNOWN) {
        parts.extend_from_slice(whole.cut(at..found).parts());
        parts.push(unknown.clone());
        at = found + UNKNOWN.len();
    }
    parts.extend_from_slice(whole.cut(at..text.len()).parts());
    Scalar::of(parts, false)
}

/// Leaves what Helm printed as a text that it made; what was traced stays where it was written.
pub(super) fn settled(document: &Value) -> Option<Value> {
    document.with_scalars(&mut |scalar| scalar.origins().any(is_printed).then(|| made(scalar)))
}

fn is_printed(at: &Origin) -> bool {
    at.via == Some(Via::Printed)
}

fn made(scalar: &Scalar) -> Scalar {
    let part = |part: &Part| match part {
        Part::Written(at) if is_printed(at) => Part::Made(at.text().into()),
        other => other.clone(),
    };
    Scalar::of(scalar.parts().iter().map(part), scalar.plain)
}

/// Two renders side by side.
pub(super) struct Comparison<'a> {
    pub candidates: &'a Candidates<'a>,
    pub changed: &'a BTreeSet<usize>,
    /// Whether all that differs is explained, or is no version.
    pub clean: bool,
}

// === impl Comparison ===

impl Comparison<'_> {
    /// Notes in `base` where its texts were written, as far as `probed` says it.
    pub fn all(&mut self, base: &mut [Printed], probed: &[Printed]) {
        let mut places: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for printed in probed {
            places.entry(&printed.place).or_default().extend(&printed.documents);
        }
        let mut own: BTreeMap<String, Vec<&mut Value>> = BTreeMap::new();
        for printed in base {
            own.entry(printed.place.clone()).or_default().extend(&mut printed.documents);
        }
        self.clean &= own.keys().all(|place| places.contains_key(&**place)) && own.len() == places.len();
        for (place, mut own) in own {
            let mut others = places.remove(&*place).unwrap_or_default();
            if own.len() != others.len() {
                self.clean = false;
                // What is there in one of them alone must not shift the others.
                own.retain(|document| others.iter().any(|other| identity(other) == identity(document)));
                others = own
                    .iter()
                    .filter_map(|d| others.iter().find(|o| identity(o) == identity(d)).copied())
                    .collect();
            }
            for (document, other) in own.into_iter().zip(others) {
                if let Some(traced) = self.value(document, other) {
                    *document = traced;
                }
            }
        }
    }

    fn value(&mut self, base: &Value, probed: &Value) -> Option<Value> {
        match (base, probed) {
            (Value::Scalar(base), Value::Scalar(probed)) => self.scalar(base, probed).map(Value::Scalar),
            (Value::Map(map), Value::Map(other)) => {
                let mut new: Option<Value> = None;
                if map.len() != other.len() {
                    self.clean = false;
                }
                for (key, value) in map.iter() {
                    let Some(other) = other.get(key) else {
                        self.clean = false;
                        continue;
                    };
                    if let Some(traced) = self.value(value, other) {
                        new.get_or_insert_with(|| base.clone()).insert(key, traced);
                    }
                }
                new
            }
            (Value::List(items), Value::List(others)) if items.len() == others.len() => {
                list_with(items, |at, item| self.value(item, others.get(at)?))
            }
            _ => {
                self.clean = false;
                None
            }
        }
    }

    fn scalar(&mut self, base: &Scalar, probed: &Scalar) -> Option<Scalar> {
        let (text, other) = (base.text(), probed.text());
        if text == other {
            return None;
        }
        match self.candidates.explain(&text, &other, self.changed) {
            Some(traced) => Some(traced.iter().fold(made(base), |scalar, piece| {
                scalar.splice(piece.bytes.clone(), &piece.written.read_by(base))
            })),
            None => {
                // A digest, a random text or a name may differ as it will: none of them is read as a version.
                self.clean &= versions(&text).is_empty();
                None
            }
        }
    }
}

/// What an object is called.
fn identity(document: &Value) -> [Option<Cow<'_, str>>; 4] {
    [&["apiVersion"][..], &["kind"], &["metadata", "name"], &["metadata", "namespace"]]
        .map(|keys| document.scalar(keys).map(Scalar::text))
}

/// Returns the file of the tree that a template lies in, or the one that stands for the chart.
pub(super) fn file_of(package: &Package, place: &str, chart: &RepoPath) -> RepoPath {
    package.source(place).map_or_else(|| chart.clone(), |source| source.path.clone())
}
