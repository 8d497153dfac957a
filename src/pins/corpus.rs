//! Step 5, pins: parsed files, on demand.
//!
//! In: paths and globs, from entries or from references in other files. Out: [`File`]s, or why one cannot be read.
//! Files are kept while they fit a budget, so that a repository of any size is scanned in the same memory.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use super::{ScanOptions, SkipReason};
use crate::{
    repo::{BlobId, Entry, Mode, RepoPath, Tree, TreeError},
    yaml::{self, Ceilings, Stream, YamlError},
};

/// Bytes of text whose trees are kept; a tree takes some ten times its text.
const KEPT_BYTES: usize = 2 << 20;

/// Bytes between two counts of characters; shorter lines are counted as they are.
const STRIDE: usize = 4096;

/// A YAML or JSON file of the repository, parsed.
#[derive(Debug)]
pub(super) struct File {
    /// Where it is.
    pub path: RepoPath,
    /// Its blob.
    pub blob: BlobId,
    /// Its text.
    pub text: String,
    /// Its documents.
    pub stream: Stream,
    /// Whether an edit would break its seal.
    pub sealed: bool,
    lines: Vec<usize>,
    /// How many characters begin before each [`STRIDE`] of bytes, for lines that have no end.
    strides: OnceLock<Vec<usize>>,
}

/// A file that cannot be read as YAML.
#[derive(Clone, Debug)]
pub(super) struct Unread {
    /// Why.
    pub reason: SkipReason,
    /// Where and what.
    pub detail: Option<String>,
    /// Its text, where it is text; what is not UTF-8 is replaced, so that its bytes do not count.
    pub text: Option<String>,
}

/// All files of one tree.
pub(super) struct Corpus<'t> {
    tree: &'t dyn Tree,
    ceilings: Ceilings,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    files: HashMap<RepoPath, Result<Arc<File>, Unread>>,
    bytes: usize,
    failed: Option<TreeError>,
}

// === impl File ===

impl File {
    /// Parses a text; a leading byte order mark is the parser's to skip.
    pub fn parse(path: RepoPath, blob: BlobId, text: String, ceilings: &Ceilings) -> Result<Self, Unread> {
        let unread =
            |reason, e: YamlError| Unread { reason, detail: Some(e.to_string()), text: Some(text.clone()) };
        let stream = Stream::parse_within(&text, ceilings).map_err(|e| match e {
            YamlError::TooLarge { .. } => unread(SkipReason::TooLarge, e),
            YamlError::Syntax { .. } if text.contains("{{") => unread(SkipReason::HelmTemplate, e),
            YamlError::Syntax { .. } => unread(SkipReason::Syntax, e),
        })?;
        let sealed = yaml::sealed(&stream);
        let lines =
            std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|n| n + 1)).collect();
        Ok(Self { path, blob, text, stream, sealed, lines, strides: OnceLock::new() })
    }

    /// Returns line and column of a byte, from 1, the column in characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= byte);
        let start = line.checked_sub(1).and_then(|n| self.lines.get(n)).copied().unwrap_or(0);
        let mark = usize::from(self.text.get(start..byte).is_some_and(|t| t.starts_with('\u{feff}')));
        (line, self.characters(start..byte) - mark + 1)
    }

    /// Counts the characters that begin in a range.
    fn characters(&self, range: Range<usize>) -> usize {
        let bytes = self.text.as_bytes();
        // Continuation bytes do not begin a character.
        let count = |bytes: &[u8]| bytes.iter().filter(|b| (**b & 0xC0) != 0x80).count();
        if range.len() <= STRIDE {
            return bytes.get(range).map_or(0, count);
        }
        let strides = self.strides.get_or_init(|| {
            let sums = bytes.chunks(STRIDE).scan(0, |sum, chunk| {
                *sum += count(chunk);
                Some(*sum)
            });
            std::iter::once(0).chain(sums).collect()
        });
        let before = |byte: usize| {
            let stride = byte / STRIDE;
            strides.get(stride).copied().unwrap_or_default()
                + bytes.get(stride * STRIDE..byte).map_or(0, count)
        };
        before(range.end) - before(range.start)
    }
}

// === impl Corpus ===

impl<'t> Corpus<'t> {
    /// Reads a tree.
    pub fn new(tree: &'t dyn Tree, options: &ScanOptions) -> Self {
        Self { tree, ceilings: options.ceilings(), kept: Mutex::default() }
    }

    /// Returns a regular file's entry.
    pub fn entry(&self, path: &str) -> Option<&'t Entry> {
        self.tree.entry(path).filter(|e| matches!(e.mode, Mode::File | Mode::Executable))
    }

    /// Returns the file at a path, parsed; `None` where there is none or it cannot be read.
    pub fn file(&self, path: &str) -> Option<Arc<File>> {
        self.open(self.entry(path)?).ok()
    }

    /// Reads and parses the file at a path for one who asks for each file once: it is not kept.
    pub fn read(&self, path: &str) -> Option<Arc<File>> {
        self.load(self.entry(path)?).ok()
    }

    /// Reads and parses an entry.
    pub fn open(&self, entry: &Entry) -> Result<Arc<File>, Unread> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).files.get(&entry.path).cloned();
        if let Some(file) = kept {
            return file;
        }
        let file = self.load(entry);
        let bytes = file.as_ref().map_or(64, |f| f.text.len());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + bytes <= KEPT_BYTES {
            kept.bytes += bytes;
            // An unreadable file's text is needed once only, by the one who lists it.
            let keep = file.clone().map_err(|u| Unread { text: None, ..u });
            kept.files.insert(entry.path.clone(), keep);
        }
        file
    }

    /// Reads an entry as text; `Err` where it is not UTF-8 or over the ceiling.
    pub fn text(&self, entry: &Entry) -> Result<String, Unread> {
        let unread = |reason, detail| Unread { reason, detail, text: None };
        let bytes = self.bytes(entry).ok_or_else(|| unread(SkipReason::TooLarge, None))?;
        String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            let text = Some(String::from_utf8_lossy(e.as_bytes()).into_owned());
            Unread { text, ..unread(SkipReason::NotUtf8, Some(format!("byte {at} is not UTF-8"))) }
        })
    }

    /// Returns the first failure to read an object, after which the result is worth nothing.
    pub fn failure(&self) -> Option<TreeError> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).failed.clone()
    }

    fn load(&self, entry: &Entry) -> Result<Arc<File>, Unread> {
        let text = self.text(entry)?;
        File::parse(entry.path.clone(), entry.id, text, &self.ceilings).map(Arc::new)
    }

    fn bytes(&self, entry: &Entry) -> Option<Vec<u8>> {
        let read = || {
            let size = self.tree.size(entry.id)?;
            let small = usize::try_from(size).is_ok_and(|size| size <= self.ceilings.bytes);
            if small { self.tree.read(entry.id).map(Some) } else { Ok(None) }
        };
        read().unwrap_or_else(|error| {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).failed.get_or_insert(error);
            None
        })
    }
}
