//! Files outside the repository: read up to a ceiling, written whole or not at all.
//!
//! In: paths that the operator named. Nothing here follows a path that a repository's content named.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
};

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

fn system(path: &Path, error: &std::io::Error) -> FileError {
    FileError::System { path: path.to_owned(), reason: error.to_string() }
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
    fn a_missing_file_or_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none").join("file");
        assert!(read(&path, 5).unwrap_err().to_string().contains("none/file"));
        assert!(replace(&path, &[b"x"]).is_err());
    }
}
