//! Gives the program a name for what it does: a hash over its sources, by which a build that is no release is told from
//! another with the same version.
//!
//! Out: `UPLINKER_SOURCES`, the same on every machine that builds the same files.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// What the program is made from.
const SOURCES: [&str; 4] = ["src", "templates", "data", "Cargo.lock"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = BTreeMap::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        collect(&root, Path::new(source), &mut files)?;
    }
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for (name, content) in &files {
        hash.add(name.as_bytes());
        hash.add(content);
    }
    println!("cargo::rustc-env=UPLINKER_SOURCES={:016x}", hash.0);
    Ok(())
}

fn collect(root: &Path, path: &Path, files: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    let place = root.join(path);
    if place.is_dir() {
        for entry in fs::read_dir(place)? {
            collect(root, &path.join(entry?.file_name()), files)?;
        }
    } else if place.is_file() {
        files.insert(path.to_string_lossy().into_owned(), fs::read(place)?);
    }
    Ok(())
}

/// FNV-1a: nobody gains from two sources with one hash.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_be_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
