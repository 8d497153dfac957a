//! Files that a person named: small ones to read, and a folder to write below, and nowhere else.

use std::{
    fs, io,
    io::{Read, Write},
    path::{Component, Path, PathBuf},
};

/// Tells whether something is at a path, be it a link to nothing.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Reads a text of at most `limit` bytes.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(limit.saturating_add(1)).read_to_string(&mut text)?;
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
    std::os::unix::fs::PermissionsExt::from_mode(0o644)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_bounded() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"abc").unwrap();
        assert_eq!(read_text(file.path(), 3).unwrap(), "abc");
        assert!(read_text(file.path(), 2).is_err() && read_text(Path::new("/dev/zero"), 1 << 16).is_err());
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
