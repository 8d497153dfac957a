//! Step 7, render: a new rendering in the form of the committed one.
//!
//! In: the placed objects, old and new rendering with the committed values in them. Out: splices by file, new files, files
//! that go. An object that is Helm's text stays Helm's text; one that was laid out otherwise gets its changed fields only.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    CommittedFile, field::same, graft::graft, items, kustomization::Arrival, names::Layout, order,
    placed::Placed,
};
use crate::{
    edit::{Splice, spliced},
    render::{Manifest, Object, ObjectKey},
    repo::RepoPath,
};

/// What is to be written for one set.
#[derive(Default)]
pub(super) struct Written {
    /// The changes of files that are there.
    pub(super) edits: BTreeMap<RepoPath, FileEdit>,
    /// Texts of new files.
    pub(super) new: BTreeMap<RepoPath, String>,
    /// The new files in order, each with the file beside which it belongs.
    pub(super) added: Vec<Arrival>,
    /// Where each object is: its file, and its line before the change; of one that comes only its file.
    pub(super) places: BTreeMap<ObjectKey, (RepoPath, Option<usize>)>,
    /// What a reader must know.
    pub(super) notes: Vec<String>,
}

/// The changes of one file.
#[derive(Clone, Default)]
pub(super) struct FileEdit {
    /// What is replaced.
    pub(super) splices: Vec<Splice>,
    /// Objects that go.
    pub(super) dropped: BTreeSet<ObjectKey>,
    /// Objects that come or change, as they must read then.
    pub(super) expected: BTreeMap<ObjectKey, Value>,
}

/// Two renderings and what is committed.
pub(super) struct Writing<'a> {
    /// What is committed.
    pub(super) placed: &'a Placed,
    /// The old rendering.
    pub(super) old: &'a Manifest,
    /// The new one.
    pub(super) new: &'a Manifest,
    /// Tells whether an object is written at all.
    pub(super) wanted: &'a dyn Fn(&Object) -> bool,
    /// Tells whether an object holds changes by hand, so that no text of Helm's is that of all of it.
    pub(super) is_nobodys: &'a dyn Fn(&ObjectKey) -> bool,
    /// Tells whether a path is in use.
    pub(super) taken: &'a dyn Fn(&RepoPath) -> bool,
}

/// A file, an object of a `List` in it, and the items of that list that go.
type Leaving<'a> = (&'a CommittedFile, &'a Object, BTreeSet<usize>);

/// Where a new object goes.
enum Spot<'a> {
    Behind(&'a CommittedFile, &'a Object),
    Before(&'a CommittedFile, &'a Object),
}

/// How Helm's `# Source:` lines are committed.
enum Sources {
    Same,
    Without,
    Below(String),
}

// === impl Writing ===

impl Writing<'_> {
    /// Writes the new rendering; the object that cannot be written where there is one.
    pub(super) fn write(&self) -> Result<Written, ObjectKey> {
        let sources = self.sources();
        let mut written = Written::default();
        written.places.extend(self.placed.all().map(|(file, object)| {
            (object.key.clone(), (file.path.clone(), Some(file.manifest.line(object))))
        }));
        let committed = self.placed.all().map(|(file, object)| (&file.path, object));
        let wanted = self.new.objects.iter().filter(|o| (self.wanted)(o)).collect();
        let wanted = order::as_committed(committed, wanted);
        for object in &wanted {
            if let Some((file, committed)) = self.placed.get(&object.key) {
                self.change(&sources, file, committed, object, &mut written)?;
            }
        }
        self.drop_gone(&mut written)?;
        let layout = Layout::of(self.placed);
        for (n, object) in wanted.iter().enumerate() {
            if self.placed.get(&object.key).is_none() {
                self.add(&layout, &sources, (wanted.as_slice(), n), &mut written)?;
            }
        }
        Ok(written)
    }

    fn sources(&self) -> Sources {
        let mut pairs = self.placed.all().filter_map(|(_, committed)| {
            let rendered = self.old.get(&committed.key)?.source.as_deref()?;
            Some((committed.source.as_deref()?, rendered))
        });
        match pairs.next() {
            None => Sources::Without,
            Some((committed, rendered)) => match committed.strip_suffix(rendered) {
                Some(above) if !above.is_empty() => Sources::Below(above.to_owned()),
                _ => Sources::Same,
            },
        }
    }

    fn change(
        &self,
        sources: &Sources,
        file: &CommittedFile,
        committed: &Object,
        new: &Object,
        written: &mut Written,
    ) -> Result<(), ObjectKey> {
        let is_text =
            |text: &str| committed.item.is_none() && text == lines(file.manifest.document(committed));
        let old = self.old.get(&new.key).map(|old| sources.body(self.old.document(old)));
        let splices = match old.filter(|old| is_text(old)) {
            Some(old) => {
                let body = sources.body(self.new.document(new));
                match body == old {
                    true => Vec::new(),
                    false => vec![self.replaced(file, committed, new, &body)],
                }
            }
            None if same(&committed.value, &new.value) => Vec::new(),
            None => match grafted(file, committed, &new.value) {
                Some(splices) => splices,
                None if committed.item.is_some() || (self.is_nobodys)(&new.key) => {
                    return Err(new.key.clone());
                }
                None => {
                    written
                        .notes
                        .push(format!("{} is written anew as a whole: its layout is Helm's now.", new.key));
                    vec![whole(file, committed, new, sources.body(self.new.document(new)))]
                }
            },
        };
        if !splices.is_empty() {
            let edit = written.edits.entry(file.path.clone()).or_default();
            edit.splices.extend(splices);
            edit.expected.insert(new.key.clone(), new.value.clone());
        }
        Ok(())
    }

    /// Replaces Helm's text by Helm's text. How a document ends follows Helm too, but at the end of a file.
    fn replaced(&self, file: &CommittedFile, committed: &Object, new: &Object, body: &str) -> Splice {
        let document = file.manifest.document(committed);
        let end = committed.span.start + document.trim_end().len();
        match self.ends_as_helm(file, committed) && !is_last(self.new, new) {
            true => {
                let with = format!("{body}{}", tail(self.new.document(new)));
                Splice { span: committed.span.clone(), with: ended(&with, &file.manifest.text) }
            }
            false => Splice { span: committed.span.start..end, with: ended(body, &file.manifest.text) },
        }
    }

    /// Tells whether a document ends in its file as Helm ends it, and not for being the last.
    fn ends_as_helm(&self, file: &CommittedFile, committed: &Object) -> bool {
        !is_last(&file.manifest, committed) && self.is_parted_as_helm(file, committed)
    }

    /// Tells whether a document ends as Helm ends it before another one.
    fn is_parted_as_helm(&self, file: &CommittedFile, committed: &Object) -> bool {
        let end = |manifest: &Manifest, object: &Object| {
            let document = lf(manifest.document(object));
            let content = document.get(..content_end(&document)).unwrap_or_default().trim_end().len();
            document.get(content..).unwrap_or_default().to_owned()
        };
        let old = self.old.get(&committed.key).filter(|old| !is_last(self.old, old));
        old.is_some_and(|old| end(self.old, old) == end(&file.manifest, committed))
    }

    /// Returns what parts a document that comes beside another one from the next: as Helm has it where that one is as Helm
    /// has it, else as that one is parted.
    fn parting(&self, file: &CommittedFile, neighbour: &Object, object: &Object) -> String {
        let (is_last_now, is_last_then) = (is_last(&file.manifest, neighbour), is_last(self.new, object));
        match self.is_parted_as_helm(file, neighbour) {
            // The last one is gone, and what parted it is there still.
            true if is_last_now && is_last_then && self.placed.files.len() == 1 => String::new(),
            true if !is_last_now && !is_last_then => tail(self.new.document(object)).replacen('\n', "", 1),
            _ => parting(&file.manifest, neighbour),
        }
    }

    fn drop_gone(&self, written: &mut Written) -> Result<(), ObjectKey> {
        let mut lists: BTreeMap<(&RepoPath, usize), Leaving<'_>> = BTreeMap::new();
        for (file, object) in self.placed.all().filter(|(_, o)| self.new.get(&o.key).is_none()) {
            let edit = written.edits.entry(file.path.clone()).or_default();
            edit.dropped.insert(object.key.clone());
            match object.item {
                Some(item) => {
                    let leaving =
                        lists.entry((&file.path, object.document)).or_insert((file, object, BTreeSet::new()));
                    leaving.2.insert(item);
                }
                None => edit.splices.push(dropped(file, object)),
            }
        }
        for ((path, document), (file, object, gone)) in lists {
            let all = file.manifest.objects.iter().filter(|o| o.document == document).count();
            let list = file.manifest.list(object);
            let splices = match gone.len() == all {
                true => Some(vec![dropped(file, object)]),
                false => list.and_then(|list| items::removed(&file.manifest.text, list, &gone)),
            };
            let edit = written.edits.entry(path.clone()).or_default();
            edit.splices.extend(splices.ok_or_else(|| object.key.clone())?);
        }
        Ok(())
    }

    fn add(
        &self,
        layout: &Layout,
        sources: &Sources,
        (wanted, n): (&[&Object], usize),
        written: &mut Written,
    ) -> Result<(), ObjectKey> {
        let Some(object) = wanted.get(n) else { return Ok(()) };
        let body = sources.body(self.new.document(object));
        let refused = || object.key.clone();
        let around =
            |own: Option<&RepoPath>| self.spot(wanted, n, own, *layout == Layout::Files).ok_or_else(refused);
        let path = match layout {
            Layout::Files => None,
            _ => {
                let spot = around(None)?;
                let neighbour = spot.file().path.clone();
                let in_use = |path: &RepoPath| (self.taken)(path) || written.new.contains_key(path);
                let path = layout.path(object, neighbour.folder(), &in_use).ok_or_else(refused)?;
                Some((path, neighbour, matches!(spot, Spot::Before(..))))
            }
        };
        let there = path
            .as_ref()
            .map(|(path, ..)| path)
            .filter(|path| self.placed.files.iter().any(|f| f.path == **path));
        match (path.as_ref(), there) {
            (None, _) => self.insert(&around(None)?, &body, object, written).ok_or_else(refused)?,
            (_, Some(there)) => {
                self.insert(&around(Some(there))?, &body, object, written).ok_or_else(refused)?;
            }
            (Some((path, ..)), None) if (self.taken)(path) => return Err(refused()),
            (Some((path, neighbour, before)), None) => {
                let known = self.placed.files.iter().find(|f| f.path == *neighbour);
                let model = known.map_or("", |f| &f.manifest.text);
                let begins = if model.starts_with("---") { "---\n" } else { "" };
                written.places.insert(object.key.clone(), (path.clone(), None));
                match written.new.get_mut(path) {
                    Some(text) => text.push_str(&ended(&format!("---\n{body}\n"), model)),
                    None => {
                        let text = ended(&format!("{begins}{body}\n"), model);
                        written.new.insert(path.clone(), text);
                        let (path, neighbour) = (path.clone(), neighbour.clone());
                        written.added.push(Arrival { path, neighbour, before: *before });
                    }
                }
            }
        }
        Ok(())
    }

    /// Finds the place for a new object: behind the nearest one before it that is committed, in a certain file where one
    /// is given, among its kind where files are by kind.
    fn spot(&self, wanted: &[&Object], n: usize, own: Option<&RepoPath>, by_kind: bool) -> Option<Spot<'_>> {
        let place = |o: &&&Object| {
            let (file, object) = self.placed.get(&o.key)?;
            own.is_none_or(|own| file.path == *own).then_some((file, object))
        };
        let kind = wanted.get(n)?.key.kind.as_str();
        let of_kind = |o: &&&Object| o.key.kind == kind;
        let (before, behind) = (wanted.get(..n)?, wanted.get(n + 1..)?);
        let several = by_kind && self.placed.files.len() > 1;
        let among = before.iter().rev().filter(of_kind).find_map(|o| place(&o)).filter(|_| several);
        let nearest = || before.iter().rev().find_map(|o| place(&o));
        let first = || behind.iter().find_map(|o| place(&o)).map(|(file, o)| Spot::Before(file, o));
        among.or_else(nearest).map(|(file, o)| Spot::Behind(file, o)).or_else(first)
    }

    fn insert(&self, spot: &Spot<'_>, body: &str, object: &Object, written: &mut Written) -> Option<()> {
        let file = spot.file();
        let (at, with) = match spot {
            Spot::Behind(_, neighbour) | Spot::Before(_, neighbour) if neighbour.item.is_some() => {
                let place = (neighbour.item?, matches!(spot, Spot::Before(..)));
                let list = file.manifest.list(neighbour)?;
                let splice = items::added(&file.manifest.text, list, place, &object.value)?;
                (splice.span.start, splice.with)
            }
            Spot::Behind(_, neighbour) => {
                let text = &file.manifest.text;
                let at = neighbour.span.end;
                let open = text.get(..at).is_some_and(|t| !t.ends_with('\n'));
                (
                    at,
                    format!(
                        "{}---\n{body}\n{}",
                        if open { "\n" } else { "" },
                        self.parting(file, neighbour, object)
                    ),
                )
            }
            Spot::Before(_, neighbour) => {
                let document = file.manifest.stream.documents.get(neighbour.document);
                let parting = self.parting(file, neighbour, object);
                match document.and_then(|d| d.marker()) {
                    Some(marker) => (marker.start, format!("---\n{body}\n{parting}")),
                    None => (neighbour.span.start, format!("{body}\n{parting}---\n")),
                }
            }
        };
        let edit = written.edits.entry(file.path.clone()).or_default();
        edit.splices.push(Splice { span: at..at, with: ended(&with, &file.manifest.text) });
        edit.expected.insert(object.key.clone(), object.value.clone());
        written.places.insert(object.key.clone(), (file.path.clone(), None));
        Some(())
    }
}

// === impl Spot ===

impl Spot<'_> {
    fn file(&self) -> &CommittedFile {
        match self {
            Self::Behind(file, _) | Self::Before(file, _) => file,
        }
    }
}

// === impl Sources ===

impl Sources {
    /// Returns a rendered document as it is to be committed, without line breaks at its end.
    fn body(&self, document: &str) -> String {
        let text = lines(document);
        match (self, text.strip_prefix("# Source: ")) {
            (Self::Same, _) | (_, None) => text,
            (Self::Without, Some(rest)) => rest.split_once('\n').map_or("", |(_, body)| body).to_owned(),
            (Self::Below(above), Some(rest)) => format!("# Source: {above}{rest}"),
        }
    }
}

/// Returns the white space at the end of a document.
fn tail(document: &str) -> String {
    lf(&document[document.trim_end().len()..])
}

fn is_last(manifest: &Manifest, object: &Object) -> bool {
    object.span.end == manifest.text.len()
}

/// Takes a document out, with its `---` line.
fn dropped(file: &CommittedFile, object: &Object) -> Splice {
    let document = file.manifest.stream.documents.get(object.document);
    let start = document.and_then(|d| d.marker()).map_or(object.span.start, |marker| marker.start);
    Splice { span: start..object.span.end, with: String::new() }
}

/// Returns what parts a document from the next one: the blank line that Helm 4 leaves and Helm 3 does not, or what a
/// script puts there, which more than one document ends with.
fn parting(manifest: &Manifest, object: &Object) -> String {
    let end = |object: &Object| {
        let document = lf(manifest.document(object));
        document.get(content_end(&document)..).unwrap_or_default().to_owned()
    };
    let own = end(object);
    let is_usual = || manifest.objects.iter().any(|o| o.document != object.document && end(o) == own);
    match own.trim().is_empty() || is_usual() {
        true => own,
        false => String::new(),
    }
}

/// Returns where the lines begin that a document ends with and that say nothing.
fn content_end(document: &str) -> usize {
    let is_none = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let parting = document.split_inclusive('\n').rev().take_while(is_none).map(str::len);
    document.len() - parting.sum::<usize>()
}

/// Returns a text with line feeds only, without those at its end.
fn lines(text: &str) -> String {
    lf(text.trim_end())
}

fn lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Returns a text with the line breaks of another.
fn ended(text: &str, like: &str) -> String {
    if like.contains("\r\n") { text.replace('\n', "\r\n") } else { text.to_owned() }
}

/// Finds the splices that change fields of an object, and reads the result back.
fn grafted(file: &CommittedFile, committed: &Object, new: &Value) -> Option<Vec<Splice>> {
    let text = &file.manifest.text;
    let mut splices = graft(text, file.manifest.node(committed)?, new)?;
    for splice in &mut splices {
        splice.with = ended(&splice.with, text);
    }
    let within = |s: &Splice| {
        let start = s.span.start.checked_sub(committed.span.start)?;
        Some(Splice { span: start..s.span.end.checked_sub(committed.span.start)?, with: s.with.clone() })
    };
    let shifted: Vec<Splice> = splices.iter().map(within).collect::<Option<_>>()?;
    let document = spliced(file.manifest.document(committed), &shifted)?;
    let read = Manifest::parse(document).ok()?;
    let object = read.objects.get(committed.item.unwrap_or(0))?;
    same(&object.value, new).then_some(splices)
}

/// Replaces an object's text as a whole: JSON by JSON, anything else by Helm's text.
fn whole(file: &CommittedFile, committed: &Object, new: &Object, body: String) -> Splice {
    let text = &file.manifest.text;
    let document = file.manifest.document(committed);
    let json = document.trim_start().starts_with('{');
    let body = if json { serde_json::to_string_pretty(&new.value).unwrap_or(body) } else { body };
    let content = document.get(..content_end(document)).unwrap_or_default();
    let end = committed.span.start + content.trim_end().len();
    Splice { span: committed.span.start..end, with: ended(&body, text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_parted_as_the_others_are() {
        let parted = |by: &str| {
            let object = |n: usize| format!("apiVersion: v1\nkind: A\nmetadata: {{name: a{n}}}\n");
            let text = format!("{}{by}---\n{}{by}---\n{}", object(0), object(1), object(2));
            let manifest = Manifest::parse(text).unwrap();
            manifest.objects.iter().map(|object| parting(&manifest, object)).collect::<Vec<_>>()
        };
        for by in ["", "\n", "\n\n# ----\n", "# end\n"] {
            assert_eq!(parted(by), [by, by, ""], "{by:?}");
        }
        let text = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n# only here\n---\napiVersion: v1\nkind: B\nmetadata: {name: b}\n";
        let manifest = Manifest::parse(text).unwrap();
        assert_eq!(parting(&manifest, &manifest.objects[0]), "");
    }
}
