//! Which file of a tree is the configuration.

use crate::repo::{Mode, Tree, TreeError};

use super::{Config, ConfigErrors, parse};

/// Where the configuration may be; in one of them, not in both.
pub const PATHS: [&str; 2] = ["uplinker.yaml", ".github/uplinker.yaml"];

/// Names that people try, and that would be passed over in silence.
const NEAR_MISSES: [&str; 6] = [
    "uplinker.yml",
    ".github/uplinker.yml",
    "uplinker.json",
    ".github/uplinker.json",
    ".uplinker.yaml",
    ".uplinker.yml",
];

/// The largest configuration that is read, in bytes.
pub(super) const MAX_BYTES: usize = 256 << 10;

/// A configuration that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file is wrong; its author can fix it.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The repository's objects cannot be read: the local cache or the disk.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// Reads the configuration of a tree; the default where there is none.
pub fn read(tree: &dyn Tree) -> Result<Config, ReadError> {
    let at = |path: &str| tree.entry(path);
    if let Some(wrong) = NEAR_MISSES.into_iter().find(|path| at(path).is_some()) {
        let hint = format!("rename it to `{}` or `{}`", PATHS[0], PATHS[1]);
        return Err(ConfigErrors::of_file(wrong, "a file of this name is not read", hint).into());
    }
    let found: Vec<_> = PATHS.into_iter().filter_map(at).collect();
    let entry = match found.as_slice() {
        [] => return Ok(Config::default()),
        [entry] => entry,
        _ => {
            let both = PATHS.join(" and ");
            return Err(ConfigErrors::of_file(&both, "both files are there", "remove one of them").into());
        }
    };
    let path = entry.path.as_str();
    if matches!(entry.mode, Mode::Symlink | Mode::Submodule) {
        let hint = "put the text itself there";
        return Err(ConfigErrors::of_file(path, "it is a link, and links are not followed", hint).into());
    }
    let bytes = tree.read(entry.id)?;
    if bytes.len() > MAX_BYTES {
        let reason = format!("the file has more than {} KiB", MAX_BYTES >> 10);
        return Err(ConfigErrors::of_file(path, reason, "shorten it, with globs in place of lists").into());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(parse(path, &text)?),
        Err(_) => Err(ConfigErrors::of_file(path, "the file is not UTF-8 text", "save it as UTF-8").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::{BlobId, Entry, RepoPath};

    struct Files(Vec<Entry>, Vec<u8>);

    impl Tree for Files {
        fn entries(&self) -> &[Entry] {
            &self.0
        }
        fn read(&self, _: BlobId) -> Result<Vec<u8>, TreeError> {
            Ok(self.1.clone())
        }
    }

    fn tree(paths: &[&str], mode: Mode, content: &[u8]) -> Files {
        let entry = |p: &&str| Entry { path: RepoPath::new(*p).unwrap(), id: BlobId([0; 20]), mode };
        let mut entries: Vec<Entry> = paths.iter().map(entry).collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Files(entries, content.to_vec())
    }

    fn message(files: &Files) -> String {
        read(files).unwrap_err().to_string()
    }

    #[test]
    fn none_is_the_default_and_one_is_read() {
        assert_eq!(read(&tree(&["a.yaml"], Mode::File, b"x")).unwrap().path(), None);
        for path in PATHS {
            let config = read(&tree(&[path], Mode::File, b"onBlock: hold\n")).unwrap();
            assert_eq!((config.path(), config.on_block), (Some(path), super::super::OnBlock::Hold));
        }
    }

    #[test]
    fn both_links_near_misses_and_binary_are_errors() {
        assert!(message(&tree(&PATHS, Mode::File, b"")).contains("both files are there"));
        assert!(message(&tree(&["uplinker.yml"], Mode::File, b"")).contains("rename it to"));
        assert!(message(&tree(&PATHS[..1], Mode::Symlink, b"x")).contains("links are not followed"));
        assert!(message(&tree(&PATHS[..1], Mode::File, b"\xff\xfe")).contains("not UTF-8"));
        assert!(message(&tree(&PATHS[..1], Mode::File, &vec![b'#'; MAX_BYTES + 1])).contains("256 KiB"));
    }
}
