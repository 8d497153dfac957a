//! Charts of the tree before and after, by who has each rendered and with which values.
//!
//! In: what came of them, with Helm or without. Out: differences like those of roots. Of a text that Helm makes of another
//! one (a digest) or by chance nobody can say what it should be: it is no difference.

use std::collections::{BTreeMap, BTreeSet};

use super::{Compared, Named, Replaced, called, names};
use crate::{
    deploy::{
        chart::{ChartRelease, Layer},
        files::Files,
        object::Object,
        tree_chart::ChartOutcome,
        value::{Part, Scalar},
    },
    repo::RepoPath,
};

/// The fewest characters of a digest, which `trunc` may have cut.
const DIGEST: usize = 8;
/// Where charts put what is to start pods anew: a digest of a file, a text by chance.
const ANNOTATIONS: [&[&str]; 2] =
    [&["metadata", "annotations"], &["spec", "template", "metadata", "annotations"]];

/// What an object is known by.
const NAMES: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// What a release is known by: who asks, and for what.
type Key = Vec<String>;

// === impl Compared ===

impl Compared {
    /// Compares what came of charts of the tree.
    pub fn outcomes(
        &mut self,
        (was, is): (&[ChartOutcome], &[ChartOutcome]),
        files: (&dyn Files, &dyn Files),
        replaced: &Replaced,
        regenerated: &dyn Fn(&Object) -> bool,
    ) {
        for (old, new) in pairs(was, is, replaced) {
            // What Helm could not make before says nothing of what it is to make.
            if [old, new].iter().any(|outcome| outcome.is_cut_short()) || old.is_refused() {
                continue;
            }
            if !self.can_be_built(&old.release.file, &old.notes, &new.notes) {
                continue;
            }
            let mut by_file: BTreeMap<&RepoPath, [Vec<Object>; 2]> = BTreeMap::new();
            for (n, outcome) in [old, new].into_iter().enumerate() {
                for object in &outcome.objects {
                    by_file.entry(&object.file).or_default()[n].push(settled(object, outcome, replaced));
                }
            }
            let [brought, brings] = [old, new].map(|outcome| Named::of(&outcome.objects));
            let around = [(files.0, &brought), (files.1, &brings)];
            for (file, [was, is]) in by_file {
                // What has a name by chance has no fellow.
                let (was, is) = if old.has_chance { fellows(was, is, replaced) } else { (was, is) };
                self.objects(file, (was, is), around, replaced, regenerated);
            }
        }
    }
}

/// Finds for each outcome the one after: of the same values where there is one, else of the same object.
fn pairs<'o>(
    was: &'o [ChartOutcome],
    is: &'o [ChartOutcome],
    replaced: &Replaced,
) -> Vec<(&'o ChartOutcome, &'o ChartOutcome)> {
    let mut same: BTreeMap<Key, Vec<&ChartOutcome>> = BTreeMap::new();
    for outcome in is.iter().rev() {
        same.entry(key(&outcome.release, &Replaced::default())).or_default().push(outcome);
    }
    let mut alike =
        |outcome: &ChartOutcome| same.get_mut(&key(&outcome.release, replaced)).and_then(Vec::pop);
    let found: Vec<_> = was.iter().map(|outcome| (outcome, alike(outcome))).collect();
    let mut left: BTreeMap<[&str; 2], Vec<&ChartOutcome>> = BTreeMap::new();
    for outcome in same.into_values().flatten() {
        left.entry(asked_by(outcome)).or_default().push(outcome);
    }
    let mut any = |outcome: &'o ChartOutcome| left.get_mut(&asked_by(outcome)).and_then(Vec::pop);
    found.into_iter().filter_map(|(old, new)| Some((old, new.or_else(|| any(old))?))).collect()
}

fn key(release: &ChartRelease, replaced: &Replaced) -> Key {
    let files = release.layers.iter().filter_map(|layer| match layer {
        Layer::InChart { file, .. } => Some(file),
        _ => None,
    });
    let own = [&release.release].into_iter().chain(&release.namespace).chain(&release.kube_version);
    let texts = own.chain(files).chain(release.scalars()).map(|text| replaced.text(text));
    [release.file.to_string(), release.part.clone()].into_iter().chain(texts).collect()
}

fn asked_by(outcome: &ChartOutcome) -> [&str; 2] {
    [outcome.release.file.as_str(), &outcome.release.part]
}

/// Leaves of objects those that have one name before and after.
fn fellows(was: Vec<Object>, is: Vec<Object>, replaced: &Replaced) -> (Vec<Object>, Vec<Object>) {
    let now: BTreeSet<String> = is.iter().map(|object| called(object, &Replaced::default())).collect();
    let has_fellow = |object: &Object| names(object, replaced).iter().any(|name| now.contains(name));
    let was: Vec<Object> = was.into_iter().filter(has_fellow).collect();
    let then: BTreeSet<String> = was.iter().flat_map(|object| names(object, replaced)).collect();
    let is = is.into_iter().filter(|object| then.contains(&called(object, &Replaced::default())));
    (was, is.collect())
}

/// Takes out of an object what nobody can say what it should be: the data of Secrets, digests, annotations that neither stand
/// in the tree nor name a release.
fn settled(object: &Object, of: &ChartOutcome, replaced: &Replaced) -> Object {
    let mut object = object.clone();
    if object.kind() == "Secret" {
        ["data", "stringData"].into_iter().for_each(|key| drop(object.value.remove(key)));
    }
    let mut by_chance = |text: &Scalar| {
        let made = text.parts().iter().all(|part| matches!(part, Part::Made(_)));
        (made && !replaced.is_named_in(&text.text())).then(|| Scalar::made(""))
    };
    let own: Vec<String> = object.value.entries().map(|(key, _)| key.to_owned()).collect();
    let own = own.iter().filter(|key| of.has_chance && !NAMES.contains(&key.as_str()));
    let own: Vec<[&str; 1]> = own.map(|key| [key.as_str()]).collect();
    for path in ANNOTATIONS.into_iter().chain(own.iter().map(|path| path.as_slice())) {
        let part = path.iter().try_fold(&mut object.value, |value, key| value.entry_mut(key));
        if let Some(part) = part
            && let Some(new) = part.with_scalars(&mut by_chance)
        {
            *part = new;
        }
    }
    if let Some(new) = object.value.with_scalars(&mut without_digests) {
        object.value = new;
    }
    object
}

fn without_digests(scalar: &Scalar) -> Option<Scalar> {
    let part = |part: &Part| match part {
        Part::Made(text) => Part::Made(blanked(text).into()),
        other => other.clone(),
    };
    let new = Scalar::of(scalar.parts().iter().map(part), scalar.plain);
    (new.text() != scalar.text()).then_some(new)
}

fn blanked(text: &str) -> String {
    let is_sign = |c: char| !c.is_ascii_alphanumeric();
    let piece = |piece: &str| {
        let word = piece.trim_end_matches(is_sign);
        let from = if is_digest(word) { word.len() } else { 0 };
        piece.get(from..).unwrap_or_default().to_owned()
    };
    text.split_inclusive(is_sign).map(piece).collect()
}

fn is_digest(word: &str) -> bool {
    let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    word.len() >= DIGEST
        && word.bytes().all(is_hex)
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_alphabetic())
}
