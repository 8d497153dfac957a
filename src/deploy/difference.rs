//! What an edit changes in what the roots of a tree come to, beyond the texts that it was to replace.
//!
//! In: the files before and after, the roots, and the texts that were replaced, by the bytes where they stood. Out: every
//! object or chart that is not what it was with those texts replaced, and what can no longer be built. Roots are compared
//! one by one, as each lies in the tree; what comes out of one is looked at where it is a root itself. Charts of the tree are
//! compared as those who deploy them have them rendered.

mod identity;
mod named;
mod outcomes;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
};

use super::{
    chart::ChartRelease,
    files::Files,
    installation::{Made, ROOTS, Top, candidates},
    note::{About, Bound, Note},
    object::Object,
    reads,
    value::{Origin, Part, Scalar, Value},
};
use crate::repo::RepoPath;
pub use identity::{Identity, KnownBy};
use named::Named;

/// Differences that are told; the first ones tell what is wrong.
const TOLD: usize = 20;
/// Bytes of a text that is shown.
const SHOWN: usize = 80;
/// Values in values.
const DEPTH: usize = 200;

/// The texts that an edit replaced.
#[derive(Clone, Debug, Default)]
pub struct Replaced {
    by_file: BTreeMap<RepoPath, Vec<(Range<usize>, String)>>,
    /// Old and new texts, for what a deployer made of them: an escape, a fold.
    texts: BTreeSet<(String, String)>,
    /// Entries that came, by key and text.
    added: BTreeSet<(String, String)>,
    /// Entries that went.
    removed: BTreeSet<(String, String)>,
}

/// Something that an edit changed and was not to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The file of the root.
    pub root: RepoPath,
    /// What of it: `Deployment shop/web`, or a chart.
    pub object: String,
    /// How it differs.
    pub what: What,
}

/// How something differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A field is another than it should be.
    Field {
        /// Its path in the object.
        field: String,
        /// What it should be, and what it is, where both may be shown: other texts may be secrets.
        texts: Option<(String, String)>,
    },
    /// It is no more.
    Gone,
    /// It was not there before.
    New,
    /// The deployer fails, and did not before.
    Fails(String),
    /// The same, unless it is given what is not in the tree.
    MayFail(String),
    /// It no longer reads this file, which is still there, nor another one in its place.
    Leaves(RepoPath),
    /// It finds no more what it reads by a name.
    Loses {
        /// What that is: `Secret web-2026.8.2`.
        was: String,
        /// What it would look for.
        is: String,
        /// Its own file.
        by: RepoPath,
    },
}

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// How many roots.
    pub roots: usize,
    /// How many objects and charts of them.
    pub objects: usize,
    /// How they differ.
    pub differences: Vec<Difference>,
    /// Those of them that clusters know by a release.
    pub identities: Vec<Identity>,
    /// What was left out of roots, by their files.
    pub beyond: BTreeSet<(RepoPath, Bound)>,
}

/// Compares what the roots in `entries` come to. `regenerated` says of an object that it was made again as a whole.
pub fn compare(
    before: &dyn Files,
    after: &dyn Files,
    entries: &[RepoPath],
    replaced: &Replaced,
    regenerated: &dyn Fn(&Object) -> bool,
) -> Compared {
    let mut compared = Compared::default();
    let found = |files: &dyn Files| candidates(files, entries, &BTreeSet::new());
    let (Some(old), Some(new)) = (found(before), found(after)) else {
        let bound = |path: &RepoPath| (path.clone(), Bound::Roots(ROOTS));
        compared.beyond.extend(entries.first().map(bound));
        return compared;
    };
    let mut later: HashMap<String, Vec<&Top>> = HashMap::new();
    new.iter().rev().for_each(|top| later.entry(key(top, &Replaced::default())).or_default().push(top));
    for top in &old {
        let root = top.file();
        let Some(now) = later.get_mut(&key(top, replaced)).and_then(Vec::pop) else {
            compared.tell(root, root.as_str(), What::Gone);
            continue;
        };
        compared.roots += 1;
        let (was, read) = reads::of_root(top, before);
        let (is, still_read) = reads::of_root(now, after);
        compared.left_out(root, &was);
        compared.left_out(root, &is);
        // What fails now differs in all that comes after the failure: that says no more.
        if !compared.can_be_built(root, &was.notes, &is.notes) {
            continue;
        }
        if let Some(left) = reads::left(&read, &still_read, after) {
            compared.tell(root, root.as_str(), What::Leaves(left));
        } else {
            let named = [Named::of(&was.objects), Named::of(&is.objects)];
            let (objects, [brought, brings]) = ((was.objects, is.objects), &named);
            compared.objects(root, objects, [(before, brought), (after, brings)], replaced, regenerated);
            compared.charts(root, &was.charts, &is.charts, replaced);
        }
    }
    compared
}

fn key(top: &Top, replaced: &Replaced) -> String {
    match top {
        Top::Overlay(path) => path.to_string(),
        Top::Bundle(bundle) => format!("{} {}", bundle.file, bundle.target.as_deref().unwrap_or_default()),
        Top::Object(object) => format!("{} {}", object.file, called(object, replaced)),
        Top::Apply(apply) => format!("{} {}", apply.file, apply.cluster.as_deref().unwrap_or_default()),
    }
}

/// Names an object as it will be called.
fn called(object: &Object, replaced: &Replaced) -> String {
    named(object, replaced, &object.name().map(|name| replaced.text(name)).unwrap_or_default())
}

/// Lists what an object may be called.
fn names(object: &Object, replaced: &Replaced) -> Vec<String> {
    let names = object.name().map_or_else(|| vec![String::new()], |name| replaced.may_be(name));
    names.iter().map(|name| named(object, replaced, name)).collect()
}

fn named(object: &Object, replaced: &Replaced, name: &str) -> String {
    let namespace = object.namespace().map(|namespace| replaced.text(namespace)).unwrap_or_default();
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{} {namespace}{slash}{name}", object.kind())
}

// === impl Replaced ===

impl Replaced {
    /// Notes that the bytes of a file have another text now.
    pub fn add(&mut self, path: &RepoPath, span: Range<usize>, old: &str, new: &str) {
        self.by_file.entry(path.clone()).or_default().push((span, new.to_owned()));
        self.texts.insert((old.to_owned(), new.to_owned()));
    }

    /// Notes that a file has an entry more.
    pub fn add_entry(&mut self, key: &str, text: &str) {
        self.added.insert((key.to_owned(), text.to_owned()));
    }

    /// Notes that a file has an entry less.
    pub fn remove_entry(&mut self, key: &str, text: &str) {
        self.removed.insert((key.to_owned(), text.to_owned()));
    }

    /// Returns what the text of a scalar should be now.
    fn text(&self, scalar: &Scalar) -> String {
        scalar.parts().iter().map(|part| self.part(part)).collect()
    }

    fn part<'p>(&self, part: &'p Part) -> Cow<'p, str> {
        let Part::Written(origin) = part else { return part.text().into() };
        let Some(edits) = self.by_file.get(&origin.source.path) else { return origin.text().into() };
        let mut text = origin.text().to_owned();
        let mut meets: Vec<_> = edits.iter().filter(|(span, _)| meets(span, origin)).collect();
        // From the end, so that what stands before keeps its place.
        meets.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        for (span, new) in meets {
            let (from, to) = (span.start.max(origin.span.start), span.end.min(origin.span.end));
            // Of a text that was cut, what was cut off at its ends is cut off now.
            let cut = new.get(from - span.start..new.len().saturating_sub(span.end - to)).unwrap_or_default();
            let at = from - origin.span.start..to - origin.span.start;
            if text.get(at.clone()).is_some() {
                text.replace_range(at, cut);
            }
        }
        text.into()
    }

    /// Lists what the text of a scalar may be now. Where a deployer had a hand in it, any old text in it may be a new one, and
    /// other signs may stand for its dots, as names have them.
    fn may_be(&self, scalar: &Scalar) -> Vec<String> {
        let wanted = self.text(scalar);
        if !scalar.parts().iter().any(|part| matches!(part, Part::Made(_))) {
            return vec![wanted];
        }
        let anew = |text: &str, sign: &str| {
            let with = |text: &str| text.replace('.', sign);
            let each = |text: String, (old, new): &(String, String)| text.replace(&with(old), &with(new));
            self.texts.iter().fold(text.to_owned(), each)
        };
        let (all, own) = (anew(&wanted, "."), scalar.text());
        let others = ["-", "_"].map(|sign| anew(&own, sign));
        [wanted, all].into_iter().chain(others).collect()
    }

    /// Tells whether a text is what it should be.
    fn fits(&self, was: &Scalar, is: &Scalar) -> bool {
        let found = is.text();
        self.text(was) == found || self.may_be(was).iter().any(|wanted| *wanted == found)
    }

    /// Says how a text differs; it is shown where it speaks of a release that was replaced.
    fn differs(&self, field: &str, was: &Scalar, is: &Scalar) -> What {
        let (wanted, found) = (self.text(was), is.text().into_owned());
        let speaks = |text: &str| text.len() <= SHOWN && self.is_named_in(text);
        let texts = (speaks(&wanted) && speaks(&found)).then_some((wanted, found));
        What::Field { field: field.to_owned(), texts }
    }

    /// Tells whether a text names a release that was replaced, or the new one.
    fn is_named_in(&self, text: &str) -> bool {
        self.texts.iter().any(|(old, new)| text.contains(old.as_str()) || text.contains(new.as_str()))
    }

    /// Finds the first field that is not what it should be.
    fn first(&self, was: &Value, is: &Value, field: &str, depth: usize) -> Option<What> {
        let depth = depth.checked_sub(1)?;
        match (was, is) {
            (Value::Scalar(a), Value::Scalar(b)) if self.fits(a, b) => None,
            (Value::Scalar(a), Value::Scalar(b)) => Some(self.differs(field, a, b)),
            (Value::List(a), Value::List(b)) if a.len() == b.len() => {
                let mut items = a.iter().zip(b.iter()).enumerate();
                items.find_map(|(n, (a, b))| self.first(a, b, &format!("{field}[{n}]"), depth))
            }
            (Value::Map(a), Value::Map(b)) => {
                let below = |name: &str| {
                    let dot = if field.is_empty() { "" } else { "." };
                    format!("{field}{dot}{name}")
                };
                let other = |name: &str| Some(What::Field { field: below(name), texts: None });
                let was = a.iter().find_map(|(name, value)| match b.get(name) {
                    Some(now) => self.first(value, now, &below(name), depth),
                    None if is_all_of(&self.removed, name, value) => None,
                    None => other(name),
                });
                let mut new = b.iter().filter(|(name, _)| !a.contains_key(*name));
                was.or_else(|| {
                    new.find(|(name, value)| !is_all_of(&self.added, name, value))
                        .and_then(|(name, _)| other(name))
                })
            }
            // Kustomize and Helm take a null for an empty mapping.
            (Value::Scalar(a), Value::Map(_)) if a.is_null() => self.first(&Value::empty(), is, field, depth),
            (Value::Map(_), Value::Scalar(b)) if b.is_null() => {
                self.first(was, &Value::empty(), field, depth)
            }
            _ => Some(What::Field { field: field.to_owned(), texts: None }),
        }
    }
}

/// Tells whether all of an entry is among some entries, and a mapping around it.
fn is_all_of(entries: &BTreeSet<(String, String)>, key: &str, value: &Value) -> bool {
    match value {
        Value::Scalar(scalar) => entries.contains(&(key.to_owned(), scalar.text().into_owned())),
        Value::Map(map) => {
            !map.is_empty()
                && map
                    .iter()
                    .all(|(key, value)| value.as_scalar().is_some() && is_all_of(entries, key, value))
        }
        Value::List(_) => false,
    }
}

fn meets(span: &Range<usize>, origin: &Origin) -> bool {
    span.start < origin.span.end && origin.span.start < span.end
}

// === impl Compared ===

impl Compared {
    fn tell(&mut self, root: &RepoPath, object: &str, what: What) {
        let difference = Difference { root: root.clone(), object: object.to_owned(), what };
        if self.differences.len() < TOLD && !self.differences.contains(&difference) {
            self.differences.push(difference);
        }
    }

    /// Notes the bounds that a root met.
    fn left_out(&mut self, root: &RepoPath, made: &Made) {
        let of_charts = made.charts.iter().flat_map(|chart| &chart.notes);
        self.beyond.extend(made.notes.iter().chain(of_charts).filter_map(|note| match note.about {
            About::Bound(bound) => Some((root.clone(), bound)),
            _ => None,
        }));
    }

    /// Tells whether nothing fails now that could be built before.
    fn can_be_built(&mut self, root: &RepoPath, was: &[Note], is: &[Note]) -> bool {
        let mut fails = false;
        // Inline patches have one name: one that fails already hides no other.
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for (what, _) in was.iter().filter_map(failure) {
            *known.entry(what).or_default() += 1;
        }
        for (what, how) in is.iter().filter_map(failure) {
            match known.get_mut(&what).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => {
                    fails |= matches!(how, What::Fails(_));
                    self.tell(root, &what, how);
                }
            }
        }
        !fails
    }

    fn objects(
        &mut self,
        root: &RepoPath,
        (was, is): (Vec<Object>, Vec<Object>),
        [(before, brought), (after, brings)]: [(&dyn Files, &Named); 2],
        replaced: &Replaced,
        regenerated: &dyn Fn(&Object) -> bool,
    ) {
        let mut now: BTreeMap<String, Vec<Object>> = BTreeMap::new();
        for object in is.into_iter().rev() {
            now.entry(called(&object, &Replaced::default())).or_default().push(object);
        }
        for object in was {
            let mut names = names(&object, replaced).into_iter();
            let other = names.clone().find_map(|name| Some((now.get_mut(&name)?.pop()?, name)));
            if regenerated(&object) {
                continue;
            }
            self.objects += 1;
            match other {
                None => self.tell(root, &names.next().unwrap_or_default(), What::Gone),
                Some((other, name)) => {
                    self.identity(root, [&object, &other], &name);
                    let what = replaced.first(&object.value, &other.value, "", DEPTH);
                    let what = what.or_else(|| {
                        // What is the same reads the same.
                        Replaced::default().first(&object.value, &other.value, "", DEPTH)?;
                        let left = reads::left_by((&object, before), (&other, after)).map(What::Leaves);
                        left.or_else(|| {
                            let (was, is) = named::lost([(&object, brought), (&other, brings)])?;
                            Some(What::Loses { was, is, by: object.file.clone() })
                        })
                    });
                    what.into_iter().for_each(|what| self.tell(root, &name, what));
                }
            }
        }
        let left = now.into_iter().flat_map(|(name, all)| all.into_iter().map(move |o| (name.clone(), o)));
        for (name, _) in left.filter(|(_, object)| !regenerated(object)) {
            self.tell(root, &name, What::New);
        }
    }

    fn charts(&mut self, root: &RepoPath, was: &[ChartRelease], is: &[ChartRelease], replaced: &Replaced) {
        if was.len() != is.len() {
            let what = What::Field { field: "their number".to_owned(), texts: None };
            return self.tell(root, "its charts", what);
        }
        for (old, new) in was.iter().zip(is) {
            self.objects += 1;
            let (a, b): (Vec<_>, Vec<_>) = (old.scalars().collect(), new.scalars().collect());
            let values = "its values";
            let wrong = a.iter().zip(&b).find(|(a, b)| !replaced.fits(a, b));
            let what = match wrong.map(|(a, b)| replaced.differs(values, a, b)) {
                None if a.len() != b.len() => Some(What::Field { field: values.to_owned(), texts: None }),
                what => what,
            };
            if let Some(what) = what {
                self.tell(root, &format!("chart {}", replaced.text(&old.chart)), what);
            }
        }
    }
}

/// Says of a note what fails, and how.
fn failure(note: &Note) -> Option<(String, What)> {
    match &note.about {
        About::Fails { what, why } | About::Unread { what, why } | About::Unmet { what, why } => {
            Some((what.clone(), What::Fails(why.clone())))
        }
        About::Doubted { what, why } => Some((what.clone(), What::MayFail(why.clone()))),
        About::Refused(why) => Some((note.path.to_string(), What::Fails(why.clone()))),
        About::Cycle(what) | About::NoTarget(what) | About::Twice(what) => {
            Some((what.clone(), What::Fails("it is not what kustomize takes".to_owned())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
