//! Step 3, scan: where blobs lie in the packs of a repository.
//!
//! In: object folders and ids. Out: a number for each id; reading in the order of these numbers reads a pack from its
//! beginning to its end. A blob is mostly stored as a difference to a neighbour, so any other order unpacks the same
//! neighbours again and again. It is only an order: an index that cannot be read gives none, and nothing is lost.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use crate::scan::BlobId;

/// What an index of the second version begins with.
const MAGIC: [u8; 8] = [0xFF, b't', b'O', b'c', 0, 0, 0, 2];
/// Bytes before the ids: the beginning and the table of 256 counts.
const BEFORE_IDS: u64 = 8 + 256 * 4;
/// Bytes of an id and its checksum.
const ID_AND_CHECKSUM: u64 = 20 + 4;
/// Packs are numbered above the bits of an offset.
const PACK_SHIFT: u32 = 48;

/// Returns a place for each id; what is in no pack comes last.
pub(super) fn places(objects: &[PathBuf], ids: impl Iterator<Item = BlobId>) -> Vec<u64> {
    let mut wanted: Vec<(BlobId, usize)> = ids.enumerate().map(|(n, id)| (id, n)).collect();
    wanted.sort_unstable();
    let mut places = vec![u64::MAX; wanted.len()];
    for (pack, index) in (0_u64..).zip(indexes(objects)) {
        // What was found before an error still helps.
        let _ = of_pack(&index, &wanted, |n, offset| {
            if let Some(place) = places.get_mut(n) {
                *place = (pack << PACK_SHIFT) | offset;
            }
        });
    }
    places
}

fn indexes(objects: &[PathBuf]) -> Vec<PathBuf> {
    let of_folder = |folder: &PathBuf| std::fs::read_dir(folder.join("pack")).into_iter().flatten();
    let files = objects.iter().flat_map(of_folder).filter_map(|entry| Some(entry.ok()?.path()));
    let mut indexes: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "idx")).collect();
    indexes.sort();
    indexes
}

/// Goes once through an index, whose ids are sorted as `wanted` is, and tells the offset of each wanted id.
fn of_pack(index: &Path, wanted: &[(BlobId, usize)], mut tell: impl FnMut(usize, u64)) -> io::Result<()> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(index)?);
    let mut begin = [0; 8];
    file.read_exact(&mut begin)?;
    if begin != MAGIC {
        return Ok(());
    }
    file.seek(SeekFrom::Start(BEFORE_IDS - 4))?;
    let count = read_u32(&mut file)?;
    let mut found: Vec<(u32, usize)> = Vec::new();
    let mut rest = wanted;
    for at in 0..count {
        let mut id = BlobId([0; 20]);
        file.read_exact(&mut id.0)?;
        while let Some(((next, n), others)) = rest.split_first()
            && *next <= id
        {
            if *next == id {
                found.push((at, *n));
            }
            rest = others;
        }
        if rest.is_empty() {
            break;
        }
    }
    let offsets = BEFORE_IDS + u64::from(count) * ID_AND_CHECKSUM;
    file.seek(SeekFrom::Start(offsets))?;
    let mut next = 0;
    let mut offset = 0;
    for (at, n) in found {
        if at >= next {
            file.seek_relative(i64::from(at - next) * 4)?;
            // Beyond 2 GB this is a position in a second table, in the same order.
            offset = read_u32(&mut file)?;
            next = at + 1;
        }
        tell(n, u64::from(offset));
    }
    Ok(())
}

fn read_u32(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use git2::Repository;

    use super::*;
    use crate::scan::BlobId;

    fn id(oid: git2::Oid) -> BlobId {
        let mut id = BlobId([0; 20]);
        id.0.copy_from_slice(oid.as_bytes());
        id
    }

    #[test]
    fn places_follow_the_order_of_the_pack() {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(folder.path()).unwrap();
        let blobs: Vec<_> = (0..300).map(|n| repo.blob(format!("text {n}").as_bytes()).unwrap()).collect();
        let loose = repo.blob(b"not packed").unwrap();
        let mut pack = repo.packbuilder().unwrap();
        blobs.iter().for_each(|blob| pack.insert_object(*blob, None).unwrap());
        pack.write(&folder.path().join("objects/pack"), 0).unwrap();
        let ids: Vec<BlobId> = blobs.iter().chain([&loose, &blobs[7]]).map(|oid| id(*oid)).collect();
        let places = places(&[folder.path().join("objects")], ids.iter().copied());
        assert_eq!(places[300], u64::MAX);
        assert_eq!(places[301], places[7]);
        let mut distinct = places[..300].to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 300);
        let pack_file = indexes(&[folder.path().join("objects")])[0].with_extension("pack");
        let length = std::fs::metadata(pack_file).unwrap().len();
        assert!(distinct.iter().all(|place| (12..length).contains(place)), "{distinct:?}");
    }

    #[test]
    fn an_index_that_is_damaged_gives_no_order() {
        let folder = tempfile::tempdir().unwrap();
        let packs = folder.path().join("pack");
        std::fs::create_dir(&packs).unwrap();
        std::fs::write(packs.join("a.idx"), [MAGIC.as_slice(), &[9; 1200]].concat()).unwrap();
        std::fs::write(packs.join("b.idx"), b"short").unwrap();
        let wanted = [BlobId([1; 20]), BlobId([200; 20])];
        assert_eq!(places(&[folder.path().to_owned()], wanted.into_iter()), [u64::MAX; 2]);
        assert!(places(&[PathBuf::from("/nowhere")], std::iter::empty()).is_empty());
    }
}
