//! The objects that one cluster gets, found by what other objects call them.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Range,
};

use super::{object::Object, value::Scalar};
use crate::repo::RepoPath;

/// Clusters whose objects are tried for one that asks.
const VARIANTS: usize = 100;
/// The kind of objects that others find by labels: they have another name in each cluster.
const CHOSEN: &str = "ResourceSetInputProvider";

/// Group, kind, namespace and name.
type Called = [String; 4];

/// Objects by kind and name.
#[derive(Default)]
pub struct Cluster<'a> {
    objects: HashMap<(String, String), Vec<Named<'a>>>,
    /// The same by the folder of their file.
    folders: HashMap<&'a str, Vec<&'a Object>>,
    /// Objects of which one is taken where none of these fits as well.
    outer: Option<&'a Cluster<'a>>,
}

/// An object with what it is told from others of its kind and name by: a fleet has thousands of these.
struct Named<'a> {
    object: &'a Object,
    group: Cow<'a, str>,
    namespace: Option<Cow<'a, str>>,
}

/// What an object calls another one.
#[derive(Clone, Copy, Debug)]
pub struct Reference<'r> {
    /// The API group.
    pub group: &'r str,
    /// The kind.
    pub kind: &'r str,
    /// The name.
    pub name: &'r str,
    /// The namespace, where it is known.
    pub namespace: Option<&'r str>,
    /// The file of the object that asks: of several that are meant alike, the nearest is taken.
    pub from: &'r RepoPath,
}

// === impl Named ===

impl<'a> Named<'a> {
    fn new(object: &'a Object) -> Self {
        Self { object, group: object.group(), namespace: object.namespace().map(Scalar::text) }
    }

    /// Tells whether an object is another one that no cluster has beside this one.
    fn is_namesake(&self, other: &Self) -> bool {
        let is_alike = self.group == other.group && self.namespace == other.namespace;
        is_alike && (self.object.file != other.object.file || is_made_apart(self.object, other.object))
    }
}

// === impl Cluster ===

impl<'a> Cluster<'a> {
    /// Takes in objects; those without a name are nobody's.
    pub fn new(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut cluster = Self::default();
        for object in objects {
            let Some(name) = object.name() else { continue };
            let key = (object.kind().into_owned(), name.text().into_owned());
            cluster.objects.entry(key).or_default().push(Named::new(object));
            let by =
                object.by.as_ref().map(RepoPath::folder).filter(|folder| *folder != object.file.folder());
            for folder in by.into_iter().chain([object.file.folder()]) {
                cluster.folders.entry(folder).or_default().push(object);
            }
        }
        // The sort is stable: of those of one file the first stays so.
        cluster
            .objects
            .values_mut()
            .for_each(|named| named.sort_by(|a, b| a.object.file.cmp(&b.object.file)));
        cluster
    }

    /// Takes in objects that come before those of another.
    pub fn within(objects: impl IntoIterator<Item = &'a Object>, outer: &'a Cluster<'a>) -> Self {
        Self { outer: Some(outer), ..Self::new(objects) }
    }

    /// Finds an object: of the namespace, then one whose namespace is not said, then the nearest file.
    pub fn find(&self, wanted: Reference<'_>) -> Option<&'a Object> {
        self.fitting(wanted).map(|(_, object)| object)
    }

    /// Finds the object that fits best of these, or of those around them where one fits better.
    fn fitting(&self, wanted: Reference<'_>) -> Option<(u8, &'a Object)> {
        let (own, outer) = (self.best(wanted), self.outer.and_then(|outer| outer.fitting(wanted)));
        match (own, outer) {
            (Some((own, _)), Some(found @ (outer, _))) if outer < own => Some(found),
            (own, outer) => own.or(outer),
        }
    }

    /// Finds the object that fits best, and how well its namespace does, less being better.
    fn best(&self, wanted: Reference<'_>) -> Option<(u8, &'a Object)> {
        let named = self.objects.get(&(wanted.kind.to_owned(), wanted.name.to_owned()))?;
        let place = |named: &Named<'_>| {
            let is_known = named.object.namespace().is_some_and(|name| name.unknown_to().is_none());
            match (named.namespace.as_deref().filter(|_| is_known), wanted.namespace) {
                (Some(said), Some(wanted)) => (said == wanted).then_some(0),
                _ => Some(1),
            }
        };
        [0, 1].into_iter().find_map(|rank| {
            let fits = |named: &Named<'_>| named.group == wanted.group && place(named) == Some(rank);
            let found = nearest(named, wanted.from, |named| &named.object.file, fits)?;
            Some((rank, found.object))
        })
    }

    /// Tells whether an object is of these themselves, rather than of those around them.
    pub fn has_itself(&self, object: &Object) -> bool {
        self.named(object).any(|own| std::ptr::eq(own.object, object))
    }

    /// Lists the objects of the same kind, namespace and name in other files, or that others make of the same one: no cluster
    /// has two of them.
    pub fn namesakes<'s>(&'s self, of: &'s Object) -> impl Iterator<Item = &'a Object> + 's {
        let own = Named::new(of);
        let all = std::iter::successors(Some(self), |cluster| cluster.outer);
        let named = all.flat_map(|cluster| cluster.named(of));
        named.filter(move |other| other.is_namesake(&own)).map(|named| named.object)
    }

    /// Tells whether an object that was found for one which asks for it is another cluster's: it is not built with that one, and
    /// wherever it is, it lies nearer to a namesake of that one, which is in another cluster then. What is not `whole`, a patch, is
    /// none.
    pub fn is_anothers(&self, found: &'a Object, of: &Object, whole: impl Fn(&Object) -> bool) -> bool {
        let is_nearer_another = |found: &Object| {
            let own = shared_folders(of, found);
            self.namesakes(of).any(|other| whole(other) && shared_folders(other, found) > own)
        };
        !self.has_itself(found) && is_nearer_another(found) && self.namesakes(found).all(is_nearer_another)
    }

    /// Lists the objects of a file.
    pub fn of_file<'s>(&'s self, path: &'s RepoPath) -> impl Iterator<Item = &'a Object> + 's {
        self.of_folder(path.folder()).into_iter().filter(move |object| object.file == *path)
    }

    /// Lists what clusters have in the place of objects that were found: no cluster has two of one name, so that each folder
    /// with one is another cluster's, and what is in it goes with it. Of these the ones count that folders tell to be of the
    /// cluster of the object that asks, which may be all. Empty where nobody has anything else.
    pub fn variants(&self, found: &[&'a Object], asks: &[&RepoPath]) -> Vec<Vec<&'a Object>> {
        let others = found.iter().filter(|object| !self.has_itself(object));
        let named = others.map(|object| {
            let all: Vec<&Object> = self.namesakes(object).chain([*object]).collect();
            meant(&all, asks)
        });
        let is_around = !found.iter().any(|object| self.has_itself(object));
        let rivals = if is_around { self.rivals(found) } else { BTreeSet::new() };
        let (own, open): (Vec<_>, Vec<_>) =
            named.chain([most_alike(&rivals, asks)]).partition(|folders| folders.len() == 1);
        let own: BTreeSet<&str> = own.into_iter().flatten().collect();
        let open: BTreeSet<&str> = open.into_iter().flatten().collect();
        let left = most_alike(&(&own | &open), asks).into_iter().filter(|folder| !own.contains(folder));
        // What folders tell is the cluster's in any case.
        let with = |folder: Option<&'a str>| self.of_folders(own.iter().copied().chain(folder));
        let all: Vec<_> = left.take(VARIANTS).map(|folder| with(Some(folder))).collect();
        match all.is_empty() && !own.is_empty() {
            true => vec![with(None)],
            false => all,
        }
    }

    /// Keeps, of objects that were found by labels, those of one cluster: of these themselves where some are, else of the one
    /// whose folder shares most names with those of the files that ask, which may be all.
    pub fn of_one(&self, found: Vec<&'a Object>, asks: &[&RepoPath]) -> Vec<&'a Object> {
        let around = std::iter::successors(Some(self), |cluster| cluster.outer);
        let itself = around.filter(|cluster| cluster.outer.is_some()).find_map(|cluster| {
            let own = found.iter().copied().filter(|object| cluster.has_itself(object));
            let own: BTreeSet<&str> = own.map(place).collect();
            (!own.is_empty()).then_some(own)
        });
        let own = itself.unwrap_or_else(|| most_alike(&self.rivals(&found), asks).into_iter().collect());
        let names: HashMap<Called, &RepoPath> =
            own.iter().flat_map(|folder| self.called_in(folder)).collect();
        let is_anothers = |folder: &str| {
            let mut called = self.called_in(folder).into_iter();
            called.any(|(name, file)| names.get(&name).is_some_and(|own| *own != file))
        };
        let folders: BTreeSet<&str> =
            found.iter().copied().map(place).filter(|folder| !own.contains(folder)).collect();
        let anothers: BTreeSet<&str> = folders.into_iter().filter(|folder| is_anothers(folder)).collect();
        found.into_iter().filter(|object| !anothers.contains(place(object))).collect()
    }

    /// Lists the folders of objects that are found by labels, which are of several clusters: no cluster has two objects of one
    /// name, and something in each of these folders is called as something in another one.
    fn rivals(&self, found: &[&'a Object]) -> BTreeSet<&'a str> {
        let chosen = found.iter().copied().filter(|object| object.kind() == CHOSEN);
        let folders: BTreeSet<&str> = chosen.map(place).collect();
        let mut rivals = BTreeSet::new();
        if folders.len() < 2 {
            return rivals;
        }
        let mut met: HashMap<Called, (&str, &RepoPath)> = HashMap::new();
        for folder in folders {
            for (name, file) in self.called_in(folder) {
                let (other, of) = *met.entry(name).or_insert((folder, file));
                if other != folder && of != file {
                    rivals.extend([other, folder]);
                }
            }
        }
        rivals
    }

    /// Lists what the objects of a folder are called, with their files. One without a namespace may be deployed into several.
    fn called_in(&self, folder: &str) -> Vec<(Called, &'a RepoPath)> {
        let called = |object: &'a Object| {
            let namespace = object.namespace().and_then(Scalar::known)?.into_owned();
            let name = object.name().and_then(Scalar::known)?.into_owned();
            Some(([object.group().into_owned(), object.kind().into_owned(), namespace, name], &object.file))
        };
        self.of_folder(folder).into_iter().filter_map(called).collect()
    }

    /// Finds the one that is meant where clusters have objects of one name; of several that may be, the nearest.
    pub fn find_own(&self, wanted: Reference<'_>, asks: &[&RepoPath]) -> Option<&'a Object> {
        self.find_all(wanted, asks).into_iter().next()
    }

    /// Finds all that is meant where clusters have objects of one name: the one of these themselves, else those whose folders
    /// share most names with those of the files that ask.
    pub fn find_all(&self, wanted: Reference<'_>, asks: &[&RepoPath]) -> Vec<&'a Object> {
        let Some(found) = self.find(wanted) else { return Vec::new() };
        if self.has_itself(found) {
            return vec![found];
        }
        let own: BTreeSet<&str> = asks.iter().flat_map(|path| path.folder().split('/')).collect();
        let alike = |object: &Object| {
            let is_in = |part: &&&str| {
                object.known_by().any(|path| path.folder().split('/').any(|own| own == **part))
            };
            own.iter().filter(is_in).count()
        };
        let all = std::iter::once(found).chain(self.namesakes(found));
        let all: Vec<(usize, &Object)> = all.map(|object| (alike(object), object)).collect();
        let most = all.iter().map(|(alike, _)| *alike).max();
        all.into_iter().filter(|(alike, _)| Some(*alike) == most).map(|(_, object)| object).collect()
    }

    fn of_folder(&self, folder: &str) -> Vec<&'a Object> {
        let all = std::iter::successors(Some(self), |cluster| cluster.outer);
        all.filter_map(|cluster| cluster.folders.get(folder)).flatten().copied().collect()
    }

    fn of_folders(&self, folders: impl Iterator<Item = &'a str>) -> Vec<&'a Object> {
        let mut known: HashSet<*const Object> = HashSet::new();
        let all = folders.flat_map(|folder| self.of_folder(folder));
        all.filter(|object| known.insert(std::ptr::from_ref(*object))).collect()
    }

    /// Lists those of these themselves that are called as an object.
    fn named(&self, object: &Object) -> impl Iterator<Item = &Named<'a>> {
        let name = object.name().map(|name| name.text().into_owned()).unwrap_or_default();
        let named = self.objects.get(&(object.kind().into_owned(), name));
        named.into_iter().flatten()
    }

    /// Returns all objects of a kind, ordered by file.
    pub fn all(&self, group: &str, kind: &str) -> Vec<&'a Object> {
        let of_kind = self.objects.iter().filter(|((k, _), _)| k == kind).flat_map(|(_, objects)| objects);
        let mut found: Vec<&Object> =
            of_kind.filter(|named| named.group == group).map(|named| named.object).collect();
        found.extend(self.outer.into_iter().flat_map(|outer| outer.all(group, kind)));
        found.sort_by(|a, b| {
            let key = |o: &Object| (o.file.clone(), o.name().map(|n| n.text().into_owned()));
            key(a).cmp(&key(b))
        });
        found.dedup_by(|a, b| a.value == b.value);
        found
    }
}

/// Counts the folders that the files by which two objects are known share.
fn shared_folders(one: &Object, other: &Object) -> usize {
    let shared = one.known_by().flat_map(|path| other.known_by().map(|other| path.shared_folders(other)));
    shared.max().unwrap_or(0)
}

/// Returns the folder by which the cluster of an object is known: of the file that took it in, or of its own.
fn place(object: &Object) -> &str {
    object.by.as_ref().unwrap_or(&object.file).folder()
}

/// Returns, of objects of which no cluster has two, the folders that may be of the cluster of the one that asks: those of their
/// files that share most names with those of the files that ask; where these do not tell, those of what took them in. Empty where
/// all are in one.
fn meant<'o>(all: &[&'o Object], asks: &[&RepoPath]) -> Vec<&'o str> {
    let own: BTreeSet<&str> = all.iter().map(|object| object.file.folder()).collect();
    let best = most_alike(&own, asks);
    if best.len() == 1 && own.len() > 1 {
        return best;
    }
    let left = all.iter().copied().filter(|object| best.binary_search(&object.file.folder()).is_ok());
    match takers(left).filter(|folders| folders.len() > 1) {
        Some(folders) => most_alike(&folders, asks),
        None if own.len() > 1 => best,
        None => Vec::new(),
    }
}

/// Returns the folders by which the clusters of objects are known; `None` where one has those of several files, so that it says of
/// none whose it is.
fn takers<'o>(objects: impl Iterator<Item = &'o Object>) -> Option<BTreeSet<&'o str>> {
    let mut files: BTreeMap<&str, &RepoPath> = BTreeMap::new();
    for object in objects {
        if files.insert(place(object), &object.file).is_some_and(|other| *other != object.file) {
            return None;
        }
    }
    Some(files.into_keys().collect())
}

/// Returns the folders that share most names with those of the files that ask.
fn most_alike<'f>(folders: &BTreeSet<&'f str>, asks: &[&RepoPath]) -> Vec<&'f str> {
    let own: BTreeSet<&str> = asks.iter().flat_map(|path| path.folder().split('/')).collect();
    let alike = |folder: &str| folder.split('/').filter(|part| own.contains(part)).count();
    let most = folders.iter().map(|folder| alike(folder)).max();
    folders.iter().copied().filter(|folder| Some(alike(folder)) == most).collect()
}

/// Whether two were made by different objects.
fn is_made_apart(one: &Object, other: &Object) -> bool {
    matches!((&one.by, &other.by), (Some(one), Some(other)) if one != other)
}

/// Returns, of items that are ordered by path, the one that fits and shares most folders with a path; the first of
/// equals.
pub fn nearest<'s, T>(
    items: &'s [T],
    to: &RepoPath,
    path: impl Fn(&T) -> &RepoPath,
    fits: impl Fn(&T) -> bool,
) -> Option<&'s T> {
    let text = to.as_str();
    // Those below one folder are neighbours, and those below the folder above it lie around them.
    let folders = text.rmatch_indices('/').filter_map(|(at, _)| text.get(..=at)).chain([""]);
    let mut asked: Option<Range<usize>> = None;
    for folder in folders {
        let first = items.partition_point(|item| path(item).as_str() < folder);
        let below = |item: &T| path(item).as_str().starts_with(folder);
        let end = first + items.get(first..)?.partition_point(below);
        let inner = asked.unwrap_or(first..first);
        let mut outer = (first..inner.start).chain(inner.end..end).filter_map(|n| items.get(n));
        if let Some(found) = outer.find(|item| fits(item)) {
            return Some(found);
        }
        asked = Some(first..end);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::{files::Files as _, testing::files};

    #[test]
    fn what_is_around_is_found_however_far_out_it_is() {
        let tree =
            files(&[("a.yaml", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a, namespace: n}\n")]);
        let path = RepoPath::new("a.yaml").unwrap();
        let object = Object::all(&tree.documents("a.yaml").unwrap()[0], &path).remove(0);
        let outermost = Cluster::new([&object]);
        let middle = Cluster::within([], &outermost);
        let inner = Cluster::within([], &middle);
        let wanted = Reference { group: "", kind: "ConfigMap", name: "a", namespace: Some("n"), from: &path };
        assert_eq!(inner.find(wanted), Some(&object));
        assert_eq!(inner.find(Reference { namespace: Some("other"), ..wanted }), None);
    }

    #[test]
    fn of_maps_of_one_name_a_cluster_has_those_that_its_folder_takes_in() {
        let path = |text: &str| RepoPath::new(text).unwrap();
        let made = |(name, file, by): (&str, &str, &str)| {
            let text = format!("kind: ConfigMap\napiVersion: v1\nmetadata: {{name: {name}, namespace: n}}\n");
            let mut object = Object::of_file(&files(&[(file, text.as_str())]), &path(file)).remove(0);
            object.by = RepoPath::new(by);
            object
        };
        let told = |maps: &[(&str, &str, &str)], asks: &str| {
            let all: Vec<Object> = maps.iter().copied().map(made).collect();
            let mut found: Vec<&Object> = all.iter().collect();
            found.dedup_by_key(|map| map.name().map(|name| name.text().into_owned()));
            let outer = Cluster::new(&all);
            let variants = Cluster::within([], &outer).variants(&found, &[&path(asks)]).into_iter();
            let files = |own: Vec<&Object>| own.iter().map(|map| map.file.to_string()).collect::<Vec<_>>();
            variants.map(files).collect::<Vec<_>>()
        };
        let [x, y, z] = ["rings/x.d/r.yaml", "rings/y.d/r.yaml", "rings/z.d/r.yaml"];
        let rings = [("ring", x, "clusters/a/k.yaml"), ("ring", y, "clusters/b/k.yaml")];
        assert_eq!(told(&rings, "clusters/b/mesh.yaml"), [[y]]);
        assert_eq!(told(&rings, "infra/mesh.yaml"), [[x], [y]], "nothing tells");
        let left = ("ring", z, "");
        assert_eq!(told(&[rings[0], rings[1], left], "clusters/b/mesh.yaml"), [[y]], "nobody takes it in");
        let [a, b] = ["clusters/a/v/v.yaml", "clusters/b/v/v.yaml"];
        let own = [("own", a, "sync/k.yaml"), ("own", b, "sync/k.yaml")];
        assert_eq!(told(&[rings, own].concat(), "clusters/b/mesh.yaml"), [[y, b]], "each tells by itself");
        let beside = [(x, "clusters/k.yaml"), (y, "clusters/l.yaml"), (z, "clusters/c/k.yaml")];
        let beside = beside.map(|(file, by)| ("ring", file, by));
        assert_eq!(told(&beside, "clusters/k.yaml"), [[x], [y], [z]], "one folder takes in two");
    }

    #[test]
    fn the_nearest_is_the_first_that_shares_most_folders() {
        let path = |text: &str| RepoPath::new(text).unwrap();
        let mut items =
            ["a.yaml", "a/b-c/x.yaml", "a/b/c/x.yaml", "a/b/x.yaml", "a/b/y.yaml", "z/x.yaml"].map(path);
        items.sort();
        let find = |to: &str, not: &str| {
            nearest(&items, &path(to), |item| item, |item| item.as_str() != not).map(RepoPath::as_str)
        };
        assert_eq!(find("a/b/q.yaml", ""), Some("a/b/c/x.yaml"));
        assert_eq!(find("a/b/q.yaml", "a/b/c/x.yaml"), Some("a/b/x.yaml"));
        assert_eq!(find("a/b/d/e/q.yaml", "a/b/c/x.yaml"), Some("a/b/x.yaml"));
        assert_eq!(find("a/q/q.yaml", ""), Some("a/b-c/x.yaml"));
        assert_eq!(find("q/q.yaml", ""), Some("a.yaml"));
        assert_eq!(find("z/q.yaml", "z/x.yaml"), Some("a.yaml"));
        let none = nearest(&items, &path("a/q.yaml"), |item| item, |_| false);
        assert_eq!(none, None);
    }
}
