//! Step 5, pins: which files are worth parsing, judged by their bytes.
//!
//! In: a tree. Out: [`Hit`]s, and what can be skipped without a look inside. Every blob is read once and dropped, but for
//! some that are read next; a blob over the ceiling is known by its header and never loaded.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, OnceLock, PoisonError},
};

use aho_corasick::packed::Searcher;
use memchr::memmem::Finder;

use super::{
    IrrelevantBlobs, ScanOptions, SkipReason, Skipped, is_kustomization, other, release_names::CHANNELS,
};
use crate::{
    deploy::fleet::is_bundle,
    repo::{BlobId, Entry, Mode, RepoPath, Tree, TreeError, parallel},
};

/// A file that may hold a pin, or tie one to its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    /// The entry's position in the tree.
    pub entry: usize,
    /// Whether the file itself names Linkerd, a release, or a marker; else it only holds the repository together.
    pub named: bool,
    /// Whether the bytes name Linkerd.
    pub linkerd: bool,
    /// How many they are, as far as can be counted here.
    pub size: u32,
    /// Whether they, or the path, name Linkerd, or they a tag of its edge channel or a marker; else what looks like a release is somebody's.
    pub speaks: bool,
}

/// What the screen leaves.
#[derive(Debug, Default)]
pub(super) struct Screened {
    /// Files to read, in the order of the tree.
    pub hits: Vec<Hit>,
    /// Entries that are skipped unread.
    pub skipped: Vec<Skipped>,
    /// Blobs that no scan needs to read again.
    pub irrelevant: IrrelevantBlobs,
    /// Contents of files to read, as many as are worth their memory.
    pub contents: HashMap<BlobId, Vec<u8>>,
}

/// What the bytes of a file say, whatever its name is.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    /// How many they are, as far as can be counted here.
    size: u32,
    /// They name Linkerd.
    linkerd: bool,
    /// They name Linkerd or a tag of its edge channel, or hold a marker.
    speaks: bool,
    /// They name Linkerd, a release, or a marker.
    named: bool,
    /// They are of interest.
    ties: bool,
    /// They are sealed by git-crypt.
    sealed: bool,
    /// What else they may name Linkerd's release by, of contents that lie at a path of Linkerd's.
    says: Says,
}

/// What bytes without a word of Linkerd may name its release by where their path says that they are of it.
#[derive(Clone, Copy, Debug, Default)]
struct Says {
    /// A tag of another channel.
    tag: bool,
    /// A number, of what nobody else gives a meaning.
    number: bool,
}

/// An entry that is looked at.
struct Looked<'t> {
    /// Its position in the tree.
    at: usize,
    entry: &'t Entry,
    /// Whether its name says that it takes in others: a kustomization, a bundle of Fleet's.
    takes_in: bool,
    /// Whether its path says that it is of Linkerd.
    of_linkerd: bool,
    /// Which of the contents it has, so that one at many paths is judged once.
    content: Option<usize>,
}

/// What was learnt of many contents at once.
#[derive(Default)]
struct Swept {
    /// What each says, by position; those that were not shown are open.
    judged: Vec<OnceLock<Content>>,
    /// Those of which a path says that they are of Linkerd, by position.
    of_linkerd: HashSet<usize>,
    contents: HashMap<BlobId, Vec<u8>>,
}

/// What neighbours came to.
#[derive(Default)]
struct Part {
    hits: Vec<Hit>,
    skipped: Vec<Skipped>,
    irrelevant: Vec<BlobId>,
    failed: Option<TreeError>,
}

enum Seen {
    Nothing,
    Irrelevant(BlobId),
    Hit(Hit),
    Skipped(Box<Skipped>),
}

struct Needles {
    /// All of the others at once, since most files have none of them; some machines cannot.
    any: Option<Searcher>,
    /// What the name and the marker have in common: each needle is looked for in every file.
    common: Finder<'static>,
    upper: Finder<'static>,
    edge: Finder<'static>,
    century: Finder<'static>,
    flux: Finder<'static>,
    argo: Finder<'static>,
    fleet: Finder<'static>,
}

/// Endings of files that hold no text, so that a large one needs no mention.
const BINARY: [&str; 16] = [
    "png", "jpg", "jpeg", "gif", "ico", "pdf", "zip", "gz", "tgz", "xz", "zst", "bz2", "jar", "mp4", "woff2",
    "so",
];

/// Bytes of all files together that are read; one blob at very many paths would take for ever.
const READ: u64 = 2 << 30;

/// Bytes of contents that are kept for those who read them next.
const KEPT: usize = 6 << 20;

/// Fewer files than this are read one by one: to find them in the packs would take longer.
const FEW: usize = 256;

/// Screens all entries that are not ignored.
pub(super) fn screen(tree: &dyn Tree, options: &ScanOptions) -> Result<Screened, TreeError> {
    let needles = Needles::new();
    let all = tree.entries().iter().enumerate().map(|(at, entry)| {
        let (name, of_linkerd) = (entry.path.name(), entry.path.as_str().contains("inkerd"));
        Looked { at, entry, takes_in: is_kustomization(name) || is_bundle(name), of_linkerd, content: None }
    });
    let mut entries: Vec<Looked<'_>> = Vec::with_capacity(tree.entries().len());
    entries.extend(all.filter(|looked| !options.ignore.is_match(looked.entry.path.as_str())));
    let swept = needles.sweep(tree, options, &mut entries);
    let parts = parallel::fold(&entries, |part: &mut Part, looked| {
        match needles.look(tree, options, looked, &swept) {
            Ok(Seen::Nothing) => {}
            Ok(Seen::Irrelevant(id)) => part.irrelevant.push(id),
            Ok(Seen::Hit(hit)) => part.hits.push(hit),
            Ok(Seen::Skipped(skipped)) => part.skipped.push(*skipped),
            Err(error) => drop(part.failed.get_or_insert(error)),
        }
    });
    let mut screened = Screened { contents: swept.contents, ..Screened::default() };
    let mut irrelevant = Vec::new();
    for part in parts {
        part.failed.map_or(Ok(()), Err)?;
        irrelevant.push(part.irrelevant);
        screened.hits.extend(part.hits);
        screened.skipped.extend(part.skipped);
    }
    screened.irrelevant = IrrelevantBlobs::new(parallel::together(irrelevant));
    within(READ, tree, &screened.hits)?;
    Ok(screened)
}

/// Refuses files to be read that have more bytes together.
fn within(bytes: u64, tree: &dyn Tree, hits: &[Hit]) -> Result<(), TreeError> {
    let mut sum = 0;
    let over = hits.iter().find(|hit| {
        sum += u64::from(hit.size);
        sum > bytes
    });
    let Some(entry) = over.and_then(|hit| tree.entries().get(hit.entry)) else { return Ok(()) };
    let reason = format!("the files to be read have more than {bytes} bytes together");
    Err(TreeError::new(entry.id, reason))
}

/// Tells by its name whether a file holds no text.
pub(super) fn is_binary(path: &RepoPath) -> bool {
    let ending = path.name().rsplit('.').next().unwrap_or_default();
    BINARY.contains(&ending.to_ascii_lowercase().as_str())
}

impl Needles {
    fn new() -> Self {
        // `fluxcd.io`, and `fluxcd.controlplane.io` of the operator.
        let all = ["inker", "INKERD", "edge-", "202", "fluxcd.", "argoproj.io", "fleet.cattle.io"];
        let [common, upper, edge, century, flux, argo, fleet] = all.map(Finder::new);
        Self { any: Searcher::new(all), common, upper, edge, century, flux, argo, fleet }
    }

    /// Judges as many contents as the tree can show at once, keeps the first of those that are read next, and notes which
    /// one each entry has.
    fn sweep(&self, tree: &dyn Tree, options: &ScanOptions, entries: &mut [Looked<'_>]) -> Swept {
        let mut open: Vec<(BlobId, &mut Looked<'_>)> = Vec::with_capacity(entries.len());
        let files = entries.iter_mut().filter(|l| matches!(l.entry.mode, Mode::File | Mode::Executable));
        let files = files.map(|looked| (looked.entry.id, looked));
        open.extend(files.filter(|(id, _)| !options.irrelevant.contains(*id)));
        parallel::sort_by_key(&mut open, |(id, _)| *id);
        let mut ids: Vec<BlobId> = Vec::with_capacity(open.len());
        let (mut taking, mut of_linkerd) = (HashSet::new(), HashSet::new());
        for (id, looked) in open {
            if ids.last() != Some(&id) {
                ids.push(id);
            }
            looked.content = ids.len().checked_sub(1);
            taking.extend(looked.content.filter(|_| looked.takes_in));
            of_linkerd.extend(looked.content.filter(|_| looked.of_linkerd));
        }
        let judged: Vec<OnceLock<Content>> = ids.iter().map(|_| OnceLock::new()).collect();
        let kept = Mutex::new((0, HashMap::new()));
        if ids.len() > FEW {
            tree.sweep(&ids, options.file_bytes, &|n, bytes| {
                let (Some(open), Some(id)) = (judged.get(n), ids.get(n)) else { return };
                let content = self.judge(bytes, of_linkerd.contains(&n));
                if content.ties || taking.contains(&n) {
                    let (held, contents) = &mut *kept.lock().unwrap_or_else(PoisonError::into_inner);
                    if *held + bytes.len() <= KEPT {
                        *held += bytes.len();
                        contents.insert(*id, bytes.to_vec());
                    }
                }
                let _ = open.set(content);
            });
        }
        let (_, contents) = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        Swept { judged, of_linkerd, contents }
    }

    fn look(
        &self,
        tree: &dyn Tree,
        options: &ScanOptions,
        looked: &Looked<'_>,
        swept: &Swept,
    ) -> Result<Seen, TreeError> {
        let Looked { at, entry, content, takes_in, of_linkerd } = *looked;
        let known = content.and_then(|n| swept.judged.get(n));
        let skip = |reason, detail: Option<String>| {
            let versions = super::release_names::releases(detail.as_deref().unwrap_or_default());
            Seen::Skipped(Box::new(Skipped { path: entry.path.clone(), reason, detail, versions }))
        };
        let named = |text: &str| text.contains("inkerd");
        match entry.mode {
            Mode::Submodule if named(entry.path.as_str()) => return Ok(skip(SkipReason::Submodule, None)),
            Mode::Submodule => return Ok(Seen::Nothing),
            Mode::Symlink if tree.size(entry.id)? > 4096 => return Ok(skip(SkipReason::Symlink, None)),
            Mode::Symlink => {
                let target = String::from_utf8_lossy(&tree.read(entry.id)?).into_owned();
                let ours = named(entry.path.as_str()) || named(&target);
                let detail = format!("points to {target}");
                return Ok(if ours { skip(SkipReason::Symlink, Some(detail)) } else { Seen::Nothing });
            }
            Mode::File | Mode::Executable => {}
        }
        if options.irrelevant.contains(entry.id) && !takes_in && !of_linkerd {
            return Ok(Seen::Irrelevant(entry.id));
        }
        let content = match known.and_then(OnceLock::get) {
            Some(content) => *content,
            None => {
                let size = tree.size(entry.id)?;
                if size > options.file_bytes {
                    let detail = format!("{size} bytes, over the ceiling of {}", options.file_bytes);
                    return Ok(if is_binary(&entry.path) {
                        Seen::Nothing
                    } else {
                        skip(SkipReason::TooLarge, Some(detail))
                    });
                }
                let is_asked = of_linkerd || content.is_some_and(|n| swept.of_linkerd.contains(&n));
                let content = self.judge(&tree.read(entry.id)?, is_asked);
                let _ = known.map(|known| known.set(content));
                content
            }
        };
        if content.sealed {
            return Ok(skip(SkipReason::Encrypted, Some("git-crypt".to_owned())));
        }
        let Content { size, linkerd, ties, .. } = content;
        let speaks = content.speaks || of_linkerd;
        let says_a_number = || content.says.number && other::class(&entry.path).is_told_alone();
        let named = content.named || of_linkerd && (content.says.tag || says_a_number());
        Ok(match ties || takes_in || named {
            true => Seen::Hit(Hit { entry: at, named, linkerd, size, speaks }),
            false => Seen::Irrelevant(entry.id),
        })
    }

    /// Judges bytes, at some path of Linkerd's or not.
    fn judge(&self, bytes: &[u8], of_linkerd: bool) -> Content {
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let sealed = bytes.starts_with(b"\0GITCRYPT\0");
        let says = if of_linkerd { Says::of(bytes) } else { Says::default() };
        let may_tell = self.any.as_ref().is_none_or(|any| any.find(bytes).is_some());
        if !may_tell && !is_utf16(bytes) {
            return Content { size, sealed, says, ..Content::default() };
        }
        let (named, marked) = self.names(bytes);
        let linkerd = named || self.upper.find(bytes).is_some() || in_utf16(bytes);
        let speaks = linkerd || marked || self.names_a_tag(bytes);
        let named = speaks || self.names_a_version(bytes);
        let deployers = [&self.flux, &self.argo, &self.fleet];
        let ties = named || deployers.iter().any(|deployer| deployer.find(bytes).is_some());
        Content { size, linkerd, speaks, named, ties, sealed, says }
    }

    /// Tells whether bytes name Linkerd, and whether they hold a marker.
    fn names(&self, bytes: &[u8]) -> (bool, bool) {
        let (mut named, mut marked) = (false, false);
        for at in self.common.find_iter(bytes) {
            named |= bytes.get(at..).is_some_and(|rest| rest.starts_with(b"inkerd"));
            marked |= bytes.get(..at).is_some_and(|before| before.ends_with(b"upl"));
            if named {
                break;
            }
        }
        (named, marked)
    }

    fn names_a_tag(&self, bytes: &[u8]) -> bool {
        self.edge.find_iter(bytes).any(|at| digits(bytes, at + 5, 2) && dot(bytes, at + 7))
    }

    fn names_a_version(&self, bytes: &[u8]) -> bool {
        let is_one = |at: usize| digits(bytes, at + 3, 1) && dot(bytes, at + 4) && digits(bytes, at + 5, 1);
        self.century.find_iter(bytes).any(is_one)
    }
}

// === impl Says ===

impl Says {
    fn of(bytes: &[u8]) -> Self {
        let is_tag = |channel: &str| {
            let mut all = memchr::memmem::find_iter(bytes, channel.as_bytes());
            all.any(|at| digits(bytes, at + channel.len(), 1))
        };
        Self { tag: CHANNELS.iter().any(|channel| is_tag(channel)), number: names_a_number(bytes) }
    }
}

fn names_a_number(bytes: &[u8]) -> bool {
    let is_digit = |at: Option<usize>| at.is_some_and(|at| digits(bytes, at, 1));
    memchr::memchr_iter(b'.', bytes).any(|at| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)))
}

fn digits(bytes: &[u8], from: usize, count: usize) -> bool {
    bytes.get(from..from + count).is_some_and(|all| all.iter().all(u8::is_ascii_digit))
}

fn dot(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&b'.')
}

fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF])
}

/// Finds the name in UTF-16, which would otherwise be missed without a word.
fn in_utf16(bytes: &[u8]) -> bool {
    let wide = |order: fn(u16) -> [u8; 2]| -> Vec<u8> { "inkerd".encode_utf16().flat_map(order).collect() };
    (bytes.starts_with(&[0xFF, 0xFE]) && memchr::memmem::find(bytes, &wide(u16::to_le_bytes)).is_some())
        || (bytes.starts_with(&[0xFE, 0xFF])
            && memchr::memmem::find(bytes, &wide(u16::to_be_bytes)).is_some())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::deploy::testing::MemoryTree;

    /// A tree that counts what is read of it.
    struct Counted {
        tree: MemoryTree,
        entries: Vec<Entry>,
        read: AtomicUsize,
    }

    impl Tree for Counted {
        fn entries(&self) -> &[Entry] {
            &self.entries
        }

        fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
            self.read.fetch_add(1, Ordering::Relaxed);
            self.tree.read(id)
        }

        fn size(&self, _: BlobId) -> Result<u64, TreeError> {
            Ok(9)
        }
    }

    /// A tree of blobs of which only the sizes may be asked.
    struct Huge(Vec<Entry>);

    impl Tree for Huge {
        fn entries(&self) -> &[Entry] {
            &self.0
        }

        fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
            Err(TreeError::new(id, "it was read"))
        }

        fn size(&self, _: BlobId) -> Result<u64, TreeError> {
            Ok(1 << 40)
        }
    }

    #[test]
    fn too_many_bytes_together_are_refused() {
        let tree = MemoryTree::of(&[("a.yaml", "a"), ("b.yaml", "b"), ("c.yaml", "c")]);
        let hit = |entry, size| Hit { entry, named: true, linkerd: true, size, speaks: true };
        let hits = [hit(0, 60), hit(2, 40)];
        within(100, &tree, &hits).unwrap();
        assert_eq!(within(99, &tree, &hits).unwrap_err().id, tree.entries()[2].id.into());
    }

    #[test]
    fn a_blob_is_read_once_whatever_its_paths_say() {
        let tree = MemoryTree::of(&[("linkerd/VERSION", "2.14.9"), ("linkerd/a.sh", "stable-2.14.8")]);
        let beside = Entry { path: RepoPath::new("VERSION").unwrap(), ..tree.entries()[0].clone() };
        let entries = [&[beside][..], tree.entries()].concat();
        let tree = Counted { tree, entries, read: AtomicUsize::new(0) };
        let screened = screen(&tree, &ScanOptions::default()).unwrap();
        let hits: Vec<_> = screened.hits.iter().map(|hit| (hit.entry, hit.named)).collect();
        assert_eq!(hits, [(1, true), (2, true)]);
        assert_eq!(tree.read.into_inner(), 2);
    }

    #[test]
    fn what_is_too_large_is_not_read() {
        let entry =
            |path: &str, mode| Entry { path: RepoPath::new(path).unwrap(), id: BlobId([1; 20]), mode };
        let tree = Huge(vec![entry("link.yaml", Mode::Symlink), entry("mesh.yaml", Mode::File)]);
        let screened = screen(&tree, &ScanOptions::default()).unwrap();
        let told: Vec<_> = screened.skipped.iter().map(|skip| (skip.path.as_str(), skip.reason)).collect();
        assert_eq!(told, [("link.yaml", SkipReason::Symlink), ("mesh.yaml", SkipReason::TooLarge)]);
    }
}
