//! The promises, each with a test that tries to break it: content is data, nothing outside the tree, no token
//! anywhere, only our own refs, only the operator's hosts, the same bytes each time, and ceilings.

mod content;
mod hosts;
mod repeatable;
mod token;
mod writes;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Every file and link below a folder with its bytes.
fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else {
                files.insert(path.clone(), fs::read(&path).unwrap_or_default());
            }
        }
    }
    files
}

/// Tells whether some bytes hold others.
fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
