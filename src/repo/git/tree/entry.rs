//! Step 3, repo: one entry of a pack file.
//!
//! In: a pack and an offset. Out: what is stored there: a whole object, or a difference to another one. `None` for
//! anything that is not exactly as Git writes it, or over the ceiling; libgit2 has the last word on those.

use std::{fs::File, os::unix::fs::FileExt as _};

use libdeflater::Decompressor;

/// The longest beginning of an entry: ten bytes of size and ten of distance.
const LONGEST_HEADER: usize = 20;
/// Bytes that are read at a time: Git puts what builds on each other side by side, and most entries are small.
const WINDOW: usize = 16 << 10;

/// The type of an object that is read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// A folder.
    Tree,
    /// A file's content.
    Blob,
}

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A whole object.
    Whole(Type),
    /// The difference to the entry at this offset.
    Delta(u64),
}

/// The beginning of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// What follows.
    pub kind: Kind,
    /// Its size when it is inflated.
    pub size: u64,
    /// Where it begins in the pack.
    pub data: u64,
}

/// A piece of a pack, in memory.
pub(super) struct Window<'f> {
    pack: &'f File,
    start: u64,
    bytes: Vec<u8>,
}

/// Inflates entries of one pack, again and again with the same memory.
pub(super) struct Inflater<'f> {
    window: Window<'f>,
    decompressor: Decompressor,
}

// === impl Window ===

impl<'f> Window<'f> {
    /// Reads from this pack.
    pub fn new(pack: &'f File) -> Self {
        Self { pack, start: 0, bytes: Vec::new() }
    }

    /// Returns what stands from an offset on, at least so many bytes where the pack has them.
    fn at(&mut self, offset: u64, least: usize) -> Option<&[u8]> {
        let from = offset.checked_sub(self.start).and_then(|from| usize::try_from(from).ok());
        let from = from.filter(|from| self.bytes.len().checked_sub(*from).is_some_and(|has| has >= least));
        if from.is_none() {
            self.bytes.resize(least.max(WINDOW), 0);
            let length = self.pack.read_at(&mut self.bytes, offset).ok()?;
            self.bytes.truncate(length);
            self.start = offset;
        }
        self.bytes.get(from.unwrap_or(0)..)
    }
}

// === impl Header ===

impl Header {
    /// Reads the beginning of an entry.
    pub fn read(pack: &mut Window<'_>, offset: u64) -> Option<Self> {
        let mut bytes = pack.at(offset, LONGEST_HEADER)?.iter().copied().take(LONGEST_HEADER);
        let mut read = 0;
        let mut next = || {
            read += 1;
            bytes.next()
        };
        let first = next()?;
        let mut size = u64::from(first & 0x0F);
        let (mut byte, mut shift) = (first, 4);
        while byte & 0x80 != 0 {
            byte = next()?;
            size |= u64::from(byte & 0x7F).checked_shl(shift).filter(|_| shift < 57)?;
            shift += 7;
        }
        let kind = match (first >> 4) & 7 {
            2 => Kind::Whole(Type::Tree),
            3 => Kind::Whole(Type::Blob),
            6 => {
                byte = next()?;
                let mut distance = u64::from(byte & 0x7F);
                while byte & 0x80 != 0 {
                    byte = next()?;
                    distance = distance.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7F);
                }
                Kind::Delta(offset.checked_sub(distance).filter(|base| *base < offset)?)
            }
            _ => return None,
        };
        Some(Self { kind, size, data: offset + read })
    }
}

// === impl Inflater ===

impl<'f> Inflater<'f> {
    /// Reads from this pack.
    pub fn new(pack: &'f File) -> Self {
        Self { window: Window::new(pack), decompressor: Decompressor::new() }
    }

    /// Inflates what follows a header into `output`, which is emptied before.
    pub fn inflate(&mut self, header: &Header, output: &mut Vec<u8>) -> Option<()> {
        let size = usize::try_from(header.size).ok()?;
        let input = self.window.at(header.data, longest_stream(size))?;
        output.clear();
        output.resize(size, 0);
        let inflated = self.decompressor.zlib_decompress(input, output).ok()?;
        (inflated == size).then_some(())
    }
}

/// Returns how long a stream of so many bytes is at most, as zlib's `compressBound` has it; a longer one is left to libgit2.
fn longest_stream(size: usize) -> usize {
    size + (size >> 12) + (size >> 14) + (size >> 25) + 13
}

/// Applies a difference to its base; the result replaces what is in `output`.
pub(super) fn apply(base: &[u8], delta: &[u8], ceiling: u64, output: &mut Vec<u8>) -> Option<()> {
    let mut rest = delta;
    let from = varint(&mut rest)?;
    let to = varint(&mut rest).filter(|size| *size <= ceiling)?;
    let to = usize::try_from(to).ok()?;
    if from != base.len() as u64 {
        return None;
    }
    output.clear();
    output.reserve(to);
    while let Some((op, after)) = rest.split_first() {
        rest = after;
        let piece = if op & 0x80 != 0 {
            let mut number = |bits: std::ops::Range<u32>| {
                let first = bits.start;
                bits.filter(|bit| op & (1 << bit) != 0).try_fold(0_usize, |number, bit| {
                    let (byte, after) = rest.split_first()?;
                    rest = after;
                    Some(number | usize::from(*byte) << (8 * (bit - first)))
                })
            };
            let (start, length) = (number(0..4)?, number(4..7)?);
            let length = if length == 0 { 0x10000 } else { length };
            base.get(start..start.checked_add(length)?)?
        } else {
            let (piece, after) = rest.split_at_checked(usize::from(*op)).filter(|_| *op != 0)?;
            rest = after;
            piece
        };
        if output.len() + piece.len() > to {
            return None;
        }
        output.extend_from_slice(piece);
    }
    (output.len() == to).then_some(())
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7F).checked_shl(shift).filter(|_| shift < 57)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(delta: &[u8]) -> Option<Vec<u8>> {
        let mut output = b"old".to_vec();
        apply(b"0123456789", delta, 100, &mut output).map(|()| output)
    }

    #[test]
    fn a_difference_copies_and_inserts() {
        let delta = [10, 7, 0b1001_0001, 2, 3, 2, b'a', b'b', 0b1001_0000, 2];
        assert_eq!(applied(&delta).unwrap(), b"234ab01");
    }

    #[test]
    fn a_difference_that_lies_is_refused() {
        assert_eq!(applied(&[9, 1, 1, b'a']), None, "another base");
        assert_eq!(applied(&[10, 2, 1, b'a']), None, "too short");
        assert_eq!(applied(&[10, 1, 2, b'a', b'b']), None, "too long");
        assert_eq!(applied(&[10, 101]), None, "over the ceiling");
        assert_eq!(applied(&[10, 3, 0b1001_0001, 9, 3]), None, "beyond the base");
        assert_eq!(applied(&[10, 1, 0]), None, "the reserved operation");
        assert_eq!(applied(&[10, 5, 5, b'a']), None, "cut off");
        assert_eq!(applied(&[0x8A; 20]), None, "a number without end");
    }

    #[test]
    fn a_difference_that_says_more_than_it_announced_is_left_at_once() {
        let mut output = Vec::new();
        let piece = [4, b'a', b'b', b'c', b'd'];
        let delta: Vec<u8> = [0, 6].into_iter().chain(piece.repeat(1000)).collect();
        assert_eq!(apply(&[], &delta, 100, &mut output), None);
        assert_eq!(output, b"abcd", "what came before it, and no more");
    }
}
