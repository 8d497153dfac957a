//! Files that the operator named: read up to a ceiling, written whole or not at all.
//!
//! Nothing here follows a path that a repository's content named; below a folder no symbolic link is followed.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Component, Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

/// A file that could not be read or written: the operator's fault, or the machine's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The system refused; its words.
    #[error("{}: {reason}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// Larger than its purpose allows.
    #[error("{}: larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The ceiling.
        limit: u64,
    },
}

/// Reads a file of at most `limit` bytes; a pipe or device that never ends is cut off there too.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| system(path, &e))?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| system(path, &e))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= limit) {
        Ok(bytes)
    } else {
        Err(FileError::TooLarge { path: path.to_owned(), limit })
    }
}

/// Returns a hash by which two versions of a program are told apart: over its length, its beginning, its end, and samples
/// between; over all of it where it is short. A linker writes the hash of the whole near the beginning.
pub fn sample(path: &Path) -> io::Result<String> {
    const PART: u64 = 16 * 1024;
    const PARTS: u64 = 16;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut hash = Sha256::new();
    hash.update(length.to_be_bytes());
    let last = length.saturating_sub(PART);
    let step = last.div_ceil(PARTS - 1).max(PART);
    let starts: BTreeSet<u64> = (0..PARTS).map(|n| (n * step).min(last)).collect();
    for start in starts {
        let mut bytes = vec![0; usize::try_from(PART.min(length)).unwrap_or_default()];
        file.read_exact_at(&mut bytes, start)?;
        hash.update(&bytes);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes a file so that a reader sees the old content or the new, and never a part.
pub fn replace(path: &Path, parts: &[&[u8]]) -> Result<(), FileError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|e| system(path, &e))?;
    for part in parts {
        file.write_all(part).map_err(|e| system(path, &e))?;
    }
    file.persist(path).map_err(|e| system(path, &e.error))?;
    Ok(())
}

/// Makes a folder that only its owner may read, with those above it, or takes the one that is there: a cache holds the
/// content of private repositories, and what lies in it is believed. An error where another user could write to it.
pub fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let (there, probe) = (path.symlink_metadata()?, tempfile::tempfile_in(path)?.metadata()?);
    match there.is_dir() && there.uid() == probe.uid() && there.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(io::Error::other(format!("other users may write to {}", path.display()))),
    }
}

fn system(path: &Path, error: &io::Error) -> FileError {
    FileError::System { path: path.to_owned(), reason: error.to_string() }
}

/// Tells whether something is at a path, be it a link to nothing.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Reads a text of at most `limit` bytes.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_string(&mut text)?;
    match text.len() as u64 > limit {
        true => Err(io::Error::other(format!("more than {limit} bytes"))),
        false => Ok(text),
    }
}

/// Writes a file below a folder, whole or not at all; missing folders are made. No symbolic link is followed below
/// the folder, so that a link in it cannot lead elsewhere.
pub fn replace_below(folder: &Path, path: &str, text: &str) -> io::Result<()> {
    let mut place = PathBuf::from(folder);
    let parts: Vec<Component<'_>> = Path::new(path).components().collect();
    let (name, parents) = parts.split_last().ok_or(io::ErrorKind::InvalidInput)?;
    for part in parents {
        place.push(only_name(part)?);
        match place.symlink_metadata() {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Err(io::Error::other(format!("{} is not a folder", place.display()))),
            Err(_) => fs::create_dir(&place)?,
        }
    }
    let mut file = tempfile::Builder::new().prefix(".uplinker-").permissions(mode()).tempfile_in(&place)?;
    file.write_all(text.as_bytes())?;
    file.persist(place.join(only_name(name)?)).map(drop).map_err(|e| e.error)
}

fn only_name<'p>(part: &Component<'p>) -> io::Result<&'p std::ffi::OsStr> {
    match part {
        Component::Normal(name) => Ok(name),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// As for a file that an editor makes; the system takes away what the person's mask forbids.
fn mode() -> fs::Permissions {
    fs::Permissions::from_mode(0o644)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_is_the_last_size_that_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a file");
        replace(&path, &[b"12", b"345"]).unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(matches!(read(&path, 4), Err(FileError::TooLarge { limit: 4, .. })));
        assert!(matches!(read(Path::new("/dev/zero"), 1000), Err(FileError::TooLarge { .. })));
    }

    #[test]
    fn a_sample_tells_versions_of_a_program_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let of = |bytes: &[u8]| {
            replace(&path, &[bytes]).unwrap();
            sample(&path).unwrap()
        };
        let mut program = vec![0_u8; 50 << 20];
        let first = of(&program);
        assert_eq!(of(&program), first);
        for at in [0, 3_999, (50 << 20) - 1] {
            program[at] = 1;
            assert_ne!(of(&program), first, "{at}");
            program[at] = 0;
        }
        program.push(0);
        assert_ne!(of(&program), first, "longer");
        let script: Vec<u8> = (0..40_000_u32).map(|n| n as u8).collect();
        let whole = of(&script);
        for at in (0..script.len()).step_by(97) {
            let mut other = script.clone();
            other[at] ^= 1;
            assert_ne!(of(&other), whole, "a short one counts to the last byte: {at}");
        }
        assert_ne!(of(b""), of(b"\0"));
        assert!(sample(&folder.path().join("none")).is_err());
    }

    #[test]
    fn a_missing_file_or_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none").join("file");
        assert!(read(&path, 5).unwrap_err().to_string().contains("none/file"));
        assert!(replace(&path, &[b"x"]).is_err());
    }

    #[test]
    fn what_is_read_is_bounded() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"abc").unwrap();
        assert_eq!(read_text(file.path(), 3).unwrap(), "abc");
        assert!(read_text(file.path(), 2).is_err() && read_text(Path::new("/dev/zero"), 1 << 16).is_err());
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_trusted() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("cache/feeds");
        private_folder(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        private_folder(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(private_folder(&path).is_err());
        std::os::unix::fs::symlink(above.path(), above.path().join("link")).unwrap();
        assert!(private_folder(&above.path().join("link")).is_err());
    }

    #[test]
    fn links_are_not_followed() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join(".github")).unwrap();
        assert!(replace_below(folder.path(), ".github/x.yml", "a").is_err());
        std::os::unix::fs::symlink(elsewhere.path().join("y"), folder.path().join("y")).unwrap();
        replace_below(folder.path(), "y", "b").unwrap();
        replace_below(folder.path(), "d/e/f", "c").unwrap();
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(folder.path().join("d/e/f")).unwrap(), "c");
        assert!(
            replace_below(folder.path(), "../z", "c").is_err()
                && replace_below(folder.path(), "", "c").is_err()
        );
    }
}
