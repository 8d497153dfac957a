//! Scalars that know where each part of their text was written.

use std::{borrow::Cow, cmp::Ordering, fmt, ops::Range, sync::Arc};

use crate::repo::{BlobId, RepoPath};

/// A file of the tree as text.
pub struct Source {
    /// Where it is.
    pub path: RepoPath,
    /// Its blob.
    pub blob: BlobId,
    /// Its text.
    pub text: Arc<str>,
}

/// The place in the tree where a piece of text was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub source: Arc<Source>,
    /// The bytes of it, as they stand there: without quotes, escapes not undone.
    pub span: Range<usize>,
    /// The way that it took, where it had a name of its own on that way.
    pub via: Option<Via>,
    /// The places by which others read it that name it there: an alias, a variable, an action of a template.
    pub read: Option<Arc<[Reading]>>,
}

/// A place that names a text which was written elsewhere.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The file.
    pub source: Arc<Source>,
    /// Its first byte there.
    pub at: usize,
}

/// A way on which a text is known by a name of its own, apart from the object that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Via {
    /// A variable: Flux substitution, a replacement's source, an input, a local, an environment's value.
    Variable,
    /// An element of a generator of applications.
    Generator,
    /// A layer of values of a chart.
    Values,
    /// A file that was read as a value: of a text picked out of it, it is a variable's.
    Decoded,
    /// A parameter of a chart (`helm.parameters`, `set`).
    Parameter,
    /// A variable that a Secret holds: a release in it has a place, and its text is shown to nobody.
    Secret,
    /// What Helm printed of a chart, of which it is not known yet where it was written.
    Printed,
    /// Code of a templating tool that is not evaluated here: what comes of it stands nowhere.
    Code,
    /// A range of tags, out of which somebody takes the newest.
    FromRange,
}

/// Places by which one text is read through others.
const READINGS: usize = 16;

// === impl Via ===

impl Via {
    /// Tells whether a text stands in values of a chart.
    pub const fn is_of_values(self) -> bool {
        matches!(self, Self::Values | Self::Decoded)
    }
}

// === impl Reading ===

impl Ord for Reading {
    fn cmp(&self, other: &Self) -> Ordering {
        let places = (&self.source.path, self.at).cmp(&(&other.source.path, other.at));
        // What is printed of a template is another text than the template.
        places.then_with(|| match Arc::ptr_eq(&self.source, &other.source) {
            true => Ordering::Equal,
            false => self.source.text.cmp(&other.source.text),
        })
    }
}

impl PartialEq for Reading {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Reading {}

impl PartialOrd for Reading {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Places that are kept of what is handed to somebody else.
const HANDED: usize = 100;

/// What stands in a text for a part that the tree does not say: a character that no text has.
pub const UNKNOWN: &str = "\u{f8f0}";

/// A piece of a scalar's text.
#[derive(Clone, PartialEq, Eq)]
pub enum Part {
    /// It stands in the tree as it is.
    Written(Origin),
    /// The deployer made it, or it stands in the tree in other bytes (an escape, a fold).
    Made(Arc<str>),
    /// The tree does not say it.
    Unknown(Unknown),
}

/// What the tree does not say.
#[derive(Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Who knows, for people.
    pub who: Arc<str>,
    /// Where in the tree that was written which is handed to the one who knows: a number in it may come out again.
    pub of: Arc<[Origin]>,
}

/// A scalar: its text in parts, and how it is typed.
#[derive(Clone, PartialEq, Eq)]
pub struct Scalar {
    parts: Parts,
    /// Whether it was written without quotes, so that its reader types it: `true` is a boolean then.
    pub plain: bool,
}

/// Most scalars have one part, which needs no list.
#[derive(Clone, PartialEq, Eq)]
enum Parts {
    One(Part),
    Many(Arc<[Part]>),
}

/// A text of which many pieces are cut: it knows where each part begins.
pub struct Cutter<'s> {
    scalar: &'s Scalar,
    starts: Vec<usize>,
}

// === impl Cutter ===

impl<'s> Cutter<'s> {
    /// Looks where the parts of a text begin.
    pub fn new(scalar: &'s Scalar) -> Self {
        let starts = scalar.parts().iter().scan(0, |end, part| {
            let start = *end;
            *end += part.len();
            Some(start)
        });
        Self { scalar, starts: starts.collect() }
    }

    /// Cuts as [`Scalar::cut`] does.
    pub fn cut(&self, range: Range<usize>) -> Scalar {
        let first = self.starts.partition_point(|start| *start <= range.start).saturating_sub(1);
        let at = self.starts.get(first).copied().unwrap_or_default();
        Scalar::of(cut(self.scalar.parts().get(first..).unwrap_or_default(), at, range), self.scalar.plain)
    }
}

/// Cuts bytes out of the text of parts of which the first one begins at `at`.
fn cut(parts: &[Part], mut at: usize, range: Range<usize>) -> Vec<Part> {
    let mut found = Vec::new();
    for part in parts.iter() {
        if at >= range.end {
            break;
        }
        let end = at + part.len();
        let (from, to) = (range.start.max(at), range.end.min(end));
        if from < to {
            found.push(part.cut(from - at..to - at));
        }
        at = end;
    }
    found
}

// === impl Origin ===

impl Origin {
    /// Returns the text as it stands in the file.
    pub fn text(&self) -> &str {
        self.source.text.get(self.span.clone()).unwrap_or_default()
    }

    fn cut(&self, range: Range<usize>) -> Self {
        let start = self.span.start;
        Self { span: start + range.start..start + range.end, ..self.clone() }
    }

    /// What stands in the place itself, as the default of a variable does, is not read from elsewhere.
    fn read_by(&self, place: &Self) -> Self {
        let before = self.read.as_deref().unwrap_or_default();
        let inside = place.span.start <= self.span.start && self.span.end <= place.span.end;
        let reading = Reading { source: place.source.clone(), at: place.span.start };
        if inside && self.source == place.source || before.len() >= READINGS || before.contains(&reading) {
            return self.clone();
        }
        Self { read: Some(before.iter().cloned().chain([reading]).collect()), ..self.clone() }
    }
}

// === impl Unknown ===

impl Unknown {
    /// What somebody makes of texts of the tree.
    pub fn of<'s>(who: &str, handed: impl IntoIterator<Item = &'s Scalar>) -> Self {
        let mut of: Vec<Origin> = Vec::new();
        let origins = handed.into_iter().flat_map(|text| text.parts()).flat_map(|part| match part {
            Part::Written(origin) => std::slice::from_ref(origin),
            Part::Unknown(unknown) => &unknown.of,
            Part::Made(_) => &[],
        });
        for origin in origins.filter(|at| at.text().bytes().any(|b| b.is_ascii_digit())) {
            if of.len() < HANDED && !of.contains(origin) {
                of.push(origin.clone());
            }
        }
        Self { who: who.into(), of: of.into() }
    }
}

impl From<&str> for Unknown {
    fn from(who: &str) -> Self {
        Self { who: who.into(), of: Arc::default() }
    }
}

impl fmt::Debug for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{self}>")
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.who)
    }
}

// === impl Part ===

impl Part {
    /// Returns the text; `UNKNOWN` for what the tree does not say.
    pub fn text(&self) -> &str {
        match self {
            Self::Written(origin) => origin.text(),
            Self::Made(text) => text,
            Self::Unknown(_) => UNKNOWN,
        }
    }

    fn len(&self) -> usize {
        self.text().len()
    }

    /// Cuts a part of its text; one that is not known cannot be cut.
    fn cut(&self, range: Range<usize>) -> Self {
        match self {
            Self::Written(origin) => Self::Written(origin.cut(range)),
            Self::Made(text) => Self::Made(text.get(range).unwrap_or_default().into()),
            Self::Unknown(_) => self.clone(),
        }
    }

    /// Joins two parts that stand side by side in one file.
    fn join(&self, next: &Self) -> Option<Self> {
        match (self, next) {
            (Self::Written(a), Self::Written(b))
                if Arc::ptr_eq(&a.source, &b.source)
                    && (a.via, &a.read) == (b.via, &b.read)
                    && a.span.end == b.span.start =>
            {
                Some(Self::Written(Origin { span: a.span.start..b.span.end, ..a.clone() }))
            }
            (Self::Made(a), Self::Made(b)) => Some(Self::Made(format!("{a}{b}").into())),
            _ => None,
        }
    }
}

// === impl Scalar ===

impl Scalar {
    /// A scalar of these parts; empty ones go, neighbours are joined.
    pub fn of(parts: impl IntoIterator<Item = Part>, plain: bool) -> Self {
        let mut joined: Vec<Part> = Vec::new();
        for part in parts {
            let both = joined.last().and_then(|last| last.join(&part));
            match (both, joined.last_mut()) {
                (Some(both), Some(last)) => *last = both,
                _ if part.len() == 0 => {}
                _ => joined.push(part),
            }
        }
        let one = if joined.len() > 1 { None } else { Some(joined.pop().unwrap_or(Part::Made("".into()))) };
        Self { parts: one.map_or_else(|| Parts::Many(joined.into()), Parts::One), plain }
    }

    /// A text that a deployer makes.
    pub fn made(text: &str) -> Self {
        Self { parts: Parts::One(Part::Made(text.into())), plain: false }
    }

    /// A text that the tree does not say.
    pub fn unknown(who: &str) -> Self {
        Self { parts: Parts::One(Part::Unknown(who.into())), plain: false }
    }

    /// The same of what somebody makes of texts of the tree.
    pub fn unknown_of<'s>(who: &str, handed: impl IntoIterator<Item = &'s Self>) -> Self {
        Self { parts: Parts::One(Part::Unknown(Unknown::of(who, handed))), plain: false }
    }

    /// The whole text of a file.
    pub fn file(source: &Arc<Source>) -> Self {
        let origin = Origin { source: source.clone(), span: 0..source.text.len(), via: None, read: None };
        Self { parts: Parts::One(Part::Written(origin)), plain: false }
    }

    /// Returns the parts in order.
    pub fn parts(&self) -> &[Part] {
        match &self.parts {
            Parts::One(part) => std::slice::from_ref(part),
            Parts::Many(parts) => parts,
        }
    }

    /// Returns the text, with `UNKNOWN` for each part that the tree does not say.
    pub fn text(&self) -> Cow<'_, str> {
        match self.parts() {
            [part] => part.text().into(),
            parts => parts.iter().map(Part::text).collect::<String>().into(),
        }
    }

    /// Says who knows the part of the text that the tree does not say.
    pub fn unknown_to(&self) -> Option<&str> {
        self.parts().iter().find_map(|part| match part {
            Part::Unknown(unknown) => Some(&*unknown.who),
            _ => None,
        })
    }

    /// Lists the places of what was handed to those who know parts of the text that the tree does not say.
    pub fn handed(&self) -> impl Iterator<Item = &Origin> {
        self.parts().iter().flat_map(|part| match part {
            Part::Unknown(unknown) => &*unknown.of,
            Part::Written(_) | Part::Made(_) => &[],
        })
    }

    /// Tells whether SOPS has encrypted it: of a file under SOPS, other values may be in plain text.
    pub fn is_sealed(&self) -> bool {
        self.text().starts_with("ENC[")
    }

    /// Returns the text, where the tree says all of it.
    pub fn known(&self) -> Option<Cow<'_, str>> {
        self.unknown_to().is_none().then(|| self.text())
    }

    /// Says who keeps a part of the text: it is not in the tree, or it is a secret.
    pub fn withheld_by(&self) -> Option<&str> {
        let secret = |at: &Origin| at.via == Some(Via::Secret);
        self.unknown_to().or_else(|| self.origins().any(secret).then_some("a Secret"))
    }

    /// Returns the text for people, with `UNKNOWN` for each part that is not known, or is a secret.
    pub fn shown(&self) -> String {
        let shown = |part: &Part| match part {
            Part::Written(at) if at.via == Some(Via::Secret) => UNKNOWN.to_owned(),
            part => part.text().to_owned(),
        };
        self.parts().iter().map(shown).collect()
    }

    /// Lists the places where the parts were written.
    pub fn origins(&self) -> impl DoubleEndedIterator<Item = &Origin> {
        self.parts().iter().filter_map(|part| match part {
            Part::Written(origin) => Some(origin),
            _ => None,
        })
    }

    /// Cuts bytes out of the text.
    pub fn cut(&self, range: Range<usize>) -> Self {
        Self::of(cut(self.parts(), 0, range), self.plain)
    }

    /// Puts a text behind this one.
    pub fn then(&self, next: &Self) -> Self {
        Self::of(self.parts().iter().chain(next.parts()).cloned(), self.plain)
    }

    /// Puts `new` in place of bytes of the text.
    pub fn splice(&self, range: Range<usize>, new: &Self) -> Self {
        let len = self.parts().iter().map(Part::len).sum();
        let (before, after) = (self.cut(0..range.start), self.cut(range.end..len));
        let parts = before.parts().iter().chain(new.parts()).chain(after.parts());
        Self::of(parts.cloned(), self.plain)
    }

    /// Notes the way that a text took, unless it has one already: the first name is the one that it was written under.
    pub fn via(&self, via: Via) -> Self {
        self.with_via(|own| own.or(Some(via)))
    }

    /// Takes one way for another.
    pub fn via_instead(&self, old: Via, new: Via) -> Self {
        self.with_via(|own| if own == Some(old) { Some(new) } else { own })
    }

    /// Takes what stands in values for what stands in a file of its own.
    pub fn not_of_values(&self) -> Self {
        self.with_via(|own| own.filter(|via| !via.is_of_values()))
    }

    fn with_via(&self, change: impl Fn(Option<Via>) -> Option<Via>) -> Self {
        let parts = self.parts().iter().map(|part| match part {
            Part::Written(origin) => Part::Written(Origin { via: change(origin.via), ..origin.clone() }),
            other => other.clone(),
        });
        Self::of(parts, self.plain)
    }

    /// Tells whether any of it was written elsewhere than where it is read.
    pub fn is_from_elsewhere(&self) -> bool {
        self.origins().any(|at| at.read.is_some() || at.via.is_some())
    }

    /// Notes the place by which a text is read that was written elsewhere.
    pub fn read_by(&self, place: &Self) -> Self {
        let Some(place) = place.origins().next() else { return self.clone() };
        let part = |part: &Part| match part {
            Part::Written(origin) => Part::Written(origin.read_by(place)),
            other => other.clone(),
        };
        Self::of(self.parts().iter().map(part), self.plain)
    }

    /// Types it by its reader, as a text that is not quoted.
    pub fn as_plain(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Keeps it a text, whatever it looks like.
    pub fn as_string(mut self) -> Self {
        self.plain = false;
        self
    }

    /// Tells whether this is a null: plain, and nothing or one of YAML's words for it.
    pub fn is_null(&self) -> bool {
        self.plain
            && self.unknown_to().is_none()
            && matches!(&*self.text(), "" | "~" | "null" | "Null" | "NULL")
    }
}

// === impl Source ===

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || (self.path == other.path && self.blob == other.blob)
    }
}

impl Eq for Source {}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written(o) => write!(f, "{:?}@{}:{}", o.text(), o.source.path, o.span.start),
            Self::Made(text) => write!(f, "{text:?}"),
            Self::Unknown(unknown) => write!(f, "{unknown:?}"),
        }
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parts()).finish()
    }
}
