//! Step 3, repo: where objects lie in the packs of a repository.
//!
//! In: object folders and ids. Out: for each pack the offsets of those that it holds. An index that cannot be read
//! gives fewer of them, and what is not found is read by libgit2.

use std::{
    cell::Cell,
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use crate::repo::{ObjectId, parallel};

/// What an index of the second version begins with.
const MAGIC: [u8; 8] = [0xFF, b't', b'O', b'c', 0, 0, 0, 2];
/// Bytes before the ids: the beginning and the table of 256 counts.
const BEFORE_IDS: u64 = 8 + 256 * 4;
/// Bytes of an id and its checksum.
const ID_AND_CHECKSUM: u64 = 20 + 4;
/// The second table, of offsets beyond 2 GB, is named by this bit; such objects are left to libgit2.
const SECOND_TABLE: u32 = 1 << 31;

/// A pack, and the objects in it that are looked for.
#[derive(Debug)]
pub(super) struct Pack {
    /// The pack file.
    pub path: PathBuf,
    /// Offset in the pack and position among the wanted ids, ordered.
    pub found: Vec<(u64, usize)>,
}

/// Finds the packs that hold these objects.
pub(super) fn locate(objects: &[PathBuf], ids: &[impl Copy + Into<ObjectId>]) -> Vec<Pack> {
    let mut wanted: Vec<(ObjectId, usize)> =
        ids.iter().enumerate().map(|(n, id)| ((*id).into(), n)).collect();
    wanted.sort_unstable();
    let located = vec![Cell::new(false); ids.len()];
    let mut packs = Vec::new();
    for index in indexes(objects) {
        let mut found: Vec<(u64, usize)> = Vec::new();
        // What was found before an error still helps.
        let _ = search(&index, &wanted, |n, offset| found.push((offset, n)));
        if found.is_empty() {
            continue;
        }
        // What is in several packs is read from one.
        found.iter().filter_map(|(_, n)| located.get(*n)).for_each(|located| located.set(true));
        wanted.retain(|(_, n)| located.get(*n).is_some_and(|located| !located.get()));
        parallel::sort_by_key(&mut found, |place| *place);
        packs.push(Pack { path: index.with_extension("pack"), found });
    }
    packs
}

fn indexes(objects: &[PathBuf]) -> Vec<PathBuf> {
    let of_folder = |folder: &PathBuf| std::fs::read_dir(folder.join("pack")).into_iter().flatten();
    let files = objects.iter().flat_map(of_folder).filter_map(|entry| Some(entry.ok()?.path()));
    let mut indexes: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "idx")).collect();
    indexes.sort();
    indexes
}

/// Goes once through an index, whose ids are sorted as `wanted` is, and tells the offset of each wanted id.
fn search(index: &Path, wanted: &[(ObjectId, usize)], mut tell: impl FnMut(usize, u64)) -> io::Result<()> {
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
        let mut id = ObjectId([0; 20]);
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
            offset = read_u32(&mut file)?;
            next = at + 1;
        }
        if offset & SECOND_TABLE == 0 {
            tell(n, u64::from(offset));
        }
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
    use crate::repo::BlobId;

    fn id(oid: git2::Oid) -> BlobId {
        let mut id = BlobId([0; 20]);
        id.0.copy_from_slice(oid.as_bytes());
        id
    }

    #[test]
    fn packed_objects_are_found_at_their_offsets() {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(folder.path()).unwrap();
        let blobs: Vec<_> = (0..300).map(|n| repo.blob(format!("text {n}").as_bytes()).unwrap()).collect();
        let loose = repo.blob(b"not packed").unwrap();
        let mut pack = repo.packbuilder().unwrap();
        blobs.iter().for_each(|blob| pack.insert_object(*blob, None).unwrap());
        pack.write(&folder.path().join("objects/pack"), 0).unwrap();
        let ids: Vec<BlobId> = blobs.iter().chain([&loose, &blobs[7]]).map(|oid| id(*oid)).collect();
        let packs = locate(&[folder.path().join("objects")], &ids);
        let mut offsets = std::collections::BTreeMap::new();
        packs[0].found.iter().for_each(|(offset, n)| {
            offsets.insert(*n, *offset);
        });
        assert_eq!((packs.len(), offsets.len(), offsets.get(&300)), (1, 301, None));
        assert_eq!(offsets[&301], offsets[&7]);
        let length = std::fs::metadata(&packs[0].path).unwrap().len();
        assert!(offsets.values().all(|offset| (12..length).contains(offset)), "{offsets:?}");
    }

    #[test]
    fn an_index_that_is_damaged_finds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let packs = folder.path().join("pack");
        std::fs::create_dir(&packs).unwrap();
        std::fs::write(packs.join("a.idx"), [MAGIC.as_slice(), &[9; 1200]].concat()).unwrap();
        std::fs::write(packs.join("b.idx"), b"short").unwrap();
        let wanted = [BlobId([1; 20]), BlobId([200; 20])];
        assert!(locate(&[folder.path().to_owned()], &wanted).is_empty());
        assert!(locate(&[PathBuf::from("/nowhere")], &wanted).is_empty());
    }
}
