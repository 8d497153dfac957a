//! A tree of files on disk, read as a repository is.

use std::{collections::BTreeMap, fs, path::Path};

use uplinker::{
    deploy::{TreeFiles, kustomize},
    yaml::Ceilings,
};

use crate::support::tree::MemoryTree;

/// A tree, and what `kustomize build` makes of its folders.
pub struct Tree {
    /// The name of its folder.
    pub name: String,
    /// Its texts by path.
    pub texts: BTreeMap<String, Vec<u8>>,
    /// The folders that are built, with the expected output; `None` where kustomize fails.
    pub expected: Vec<(String, Option<String>)>,
}

impl Tree {
    /// Reads every tree of a folder.
    pub fn all(folder: &Path) -> Vec<Self> {
        let mut folders: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
        folders.sort();
        folders.iter().map(|folder| Self::read(folder)).collect()
    }

    fn read(root: &Path) -> Self {
        let mut tree = Self {
            name: root.file_name().unwrap().to_string_lossy().into_owned(),
            texts: BTreeMap::new(),
            expected: Vec::new(),
        };
        tree.walk(root, "");
        assert!(!tree.expected.is_empty(), "{}: nothing is expected", tree.name);
        tree
    }

    fn walk(&mut self, folder: &Path, prefix: &str) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                self.walk(&path, &format!("{prefix}{name}/"));
                continue;
            }
            let text = fs::read(&path).unwrap();
            let built = || prefix.trim_end_matches('/').to_owned();
            match name.as_str() {
                "expected.yaml" => self.expected.push((built(), Some(String::from_utf8(text).unwrap()))),
                "expected.error" => self.expected.push((built(), None)),
                _ => drop(self.texts.insert(format!("{prefix}{name}"), text)),
            }
        }
    }

    /// Builds a folder of these texts.
    pub fn build(texts: &BTreeMap<String, Vec<u8>>, folder: &str) -> uplinker::deploy::Build {
        let memory = MemoryTree::new(texts);
        let files = TreeFiles::new(&memory, Ceilings::default());
        kustomize::build(&files, folder)
    }
}
