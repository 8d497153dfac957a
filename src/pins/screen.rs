//! Step 5, pins: which files are worth parsing, judged by their bytes.
//!
//! In: a tree. Out: [`Hit`]s, and what can be skipped without a look inside. Every blob is read once and dropped;
//! a blob over the ceiling is known by its header and never loaded.

use std::sync::OnceLock;

use memchr::memmem::Finder;

use super::{IrrelevantBlobs, ScanOptions, SkipReason, Skipped, is_kustomization};
use crate::repo::{BlobId, Entry, Mode, RepoPath, Tree, TreeError, parallel};

/// A file that may hold a pin, or tie one to its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    /// The entry's position in the tree.
    pub entry: usize,
    /// Whether the file itself names Linkerd, a release, or a marker; else it only holds the repository together.
    pub named: bool,
    /// Whether the bytes name Linkerd.
    pub linkerd: bool,
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
}

/// An entry that is looked at.
struct Looked<'t> {
    /// Its position in the tree.
    at: usize,
    entry: &'t Entry,
    /// Which of the contents it has, so that one at many paths is judged once.
    content: Option<usize>,
}

enum Seen {
    Nothing,
    Irrelevant(BlobId),
    /// With its size.
    Hit(Hit, u32),
    Skipped(Box<Skipped>),
}

struct Needles {
    linkerd: Finder<'static>,
    upper: Finder<'static>,
    edge: Finder<'static>,
    century: Finder<'static>,
    marker: Finder<'static>,
    flux: Finder<'static>,
    argo: Finder<'static>,
}

/// Endings of files that hold no text, so that a large one needs no mention.
const BINARY: [&str; 16] = [
    "png", "jpg", "jpeg", "gif", "ico", "pdf", "zip", "gz", "tgz", "xz", "zst", "bz2", "jar", "mp4", "woff2",
    "so",
];

/// Bytes of all files together that are read; one blob at very many paths would take for ever.
const READ: u64 = 2 << 30;

/// Fewer files than this are read one by one: to find them in the packs would take longer.
const FEW: usize = 256;

/// Screens all entries that are not ignored.
pub(super) fn screen(tree: &dyn Tree, options: &ScanOptions) -> Result<Screened, TreeError> {
    let needles = Needles::new();
    let all = tree.entries().iter().enumerate().map(|(at, entry)| Looked { at, entry, content: None });
    let mut entries: Vec<Looked<'_>> =
        all.filter(|looked| !options.ignore.is_match(looked.entry.path.as_str())).collect();
    let judged = needles.sweep(tree, options, &mut entries);
    let seen = parallel::map(&entries, |looked| needles.look(tree, options, looked, &judged));
    let mut screened = Screened::default();
    let mut irrelevant = Vec::new();
    let mut bytes = 0;
    for (seen, Looked { entry, .. }) in seen.into_iter().zip(&entries) {
        match seen? {
            Seen::Nothing => {}
            Seen::Irrelevant(id) => irrelevant.push(id),
            Seen::Hit(hit, size) => {
                bytes += u64::from(size);
                if bytes > READ {
                    let reason = format!("the files to be read have more than {READ} bytes together");
                    return Err(TreeError::new(entry.id, reason));
                }
                screened.hits.push(hit);
            }
            Seen::Skipped(skipped) => screened.skipped.push(*skipped),
        }
    }
    screened.irrelevant = irrelevant.into_iter().collect();
    Ok(screened)
}

/// Tells by its name whether a file holds no text.
pub(super) fn is_binary(path: &RepoPath) -> bool {
    let ending = path.name().rsplit('.').next().unwrap_or_default();
    BINARY.contains(&ending.to_ascii_lowercase().as_str())
}

impl Needles {
    fn new() -> Self {
        Self {
            linkerd: Finder::new("inkerd"),
            upper: Finder::new("INKERD"),
            edge: Finder::new("edge-"),
            century: Finder::new("202"),
            marker: Finder::new("uplinker"),
            flux: Finder::new("fluxcd.io"),
            argo: Finder::new("argoproj.io"),
        }
    }

    /// Judges as many contents as the tree can show at once, and notes which one each entry has.
    fn sweep(
        &self,
        tree: &dyn Tree,
        options: &ScanOptions,
        entries: &mut [Looked<'_>],
    ) -> Vec<OnceLock<Content>> {
        let mut open: Vec<(BlobId, &mut Option<usize>)> = entries
            .iter_mut()
            .filter(|looked| matches!(looked.entry.mode, Mode::File | Mode::Executable))
            .map(|looked| (looked.entry.id, &mut looked.content))
            .filter(|(id, _)| !options.irrelevant.contains(*id))
            .collect();
        open.sort_unstable_by_key(|(id, _)| *id);
        let mut ids: Vec<BlobId> = Vec::with_capacity(open.len());
        for (id, content) in open {
            if ids.last() != Some(&id) {
                ids.push(id);
            }
            *content = ids.len().checked_sub(1);
        }
        let judged: Vec<OnceLock<Content>> = ids.iter().map(|_| OnceLock::new()).collect();
        if ids.len() > FEW {
            tree.sweep(&ids, options.file_bytes, &|n, bytes| {
                if let Some(content) = judged.get(n) {
                    let _ = content.set(self.judge(bytes));
                }
            });
        }
        judged
    }

    fn look(
        &self,
        tree: &dyn Tree,
        options: &ScanOptions,
        looked: &Looked<'_>,
        judged: &[OnceLock<Content>],
    ) -> Result<Seen, TreeError> {
        let Looked { at, entry, content } = *looked;
        let known = content.and_then(|n| judged.get(n));
        let skip = |reason, detail: Option<String>| {
            let versions = super::version_text::releases(detail.as_deref().unwrap_or_default());
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
        if options.irrelevant.contains(entry.id) && !is_kustomization(entry.path.name()) {
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
                let content = self.judge(&tree.read(entry.id)?);
                let _ = known.map(|known| known.set(content));
                content
            }
        };
        if content.sealed {
            return Ok(skip(SkipReason::Encrypted, Some("git-crypt".to_owned())));
        }
        let Content { size, linkerd, named, ties, .. } = content;
        let speaks = content.speaks || entry.path.as_str().contains("inkerd");
        Ok(match ties || is_kustomization(entry.path.name()) {
            true => Seen::Hit(Hit { entry: at, named, linkerd, speaks }, size),
            false => Seen::Irrelevant(entry.id),
        })
    }

    fn judge(&self, bytes: &[u8]) -> Content {
        let linkerd =
            self.linkerd.find(bytes).is_some() || self.upper.find(bytes).is_some() || in_utf16(bytes);
        let speaks = linkerd || self.names_a_tag(bytes) || self.marker.find(bytes).is_some();
        let named = speaks || self.names_a_version(bytes);
        let ties = named || self.flux.find(bytes).is_some() || self.argo.find(bytes).is_some();
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Content { size, linkerd, speaks, named, ties, sealed: bytes.starts_with(b"\0GITCRYPT\0") }
    }

    fn names_a_tag(&self, bytes: &[u8]) -> bool {
        self.edge.find_iter(bytes).any(|at| digits(bytes, at + 5, 2) && dot(bytes, at + 7))
    }

    fn names_a_version(&self, bytes: &[u8]) -> bool {
        let is_one = |at: usize| digits(bytes, at + 3, 1) && dot(bytes, at + 4) && digits(bytes, at + 5, 1);
        self.century.find_iter(bytes).any(is_one)
    }
}

fn digits(bytes: &[u8], from: usize, count: usize) -> bool {
    bytes.get(from..from + count).is_some_and(|all| all.iter().all(u8::is_ascii_digit))
}

fn dot(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&b'.')
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
    use super::*;

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
    fn what_is_too_large_is_not_read() {
        let entry =
            |path: &str, mode| Entry { path: RepoPath::new(path).unwrap(), id: BlobId([1; 20]), mode };
        let tree = Huge(vec![entry("link.yaml", Mode::Symlink), entry("mesh.yaml", Mode::File)]);
        let screened = screen(&tree, &ScanOptions::default()).unwrap();
        let told: Vec<_> = screened.skipped.iter().map(|skip| (skip.path.as_str(), skip.reason)).collect();
        assert_eq!(told, [("link.yaml", SkipReason::Symlink), ("mesh.yaml", SkipReason::TooLarge)]);
    }
}
