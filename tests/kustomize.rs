//! The model of kustomize against kustomize itself: small trees with what `kustomize build` makes of them.
//!
//! `scripts/kustomize-trees` writes the expected builds anew. `UPLINKER_KUSTOMIZE_TREES` names a folder with more trees, as
//! `scripts/kustomize-generated` makes them.

mod compare;
mod edits;
mod tree;

use std::path::{Path, PathBuf};

use tree::Tree;

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kustomize/trees")
}

fn each(folder: &Path, check: impl Fn(&Tree) -> Result<(), String>) {
    let trees = Tree::all(folder);
    let failed: Vec<String> = trees
        .iter()
        .filter_map(|tree| check(tree).err().map(|why| format!("{}: {why}", tree.name)))
        .collect();
    assert!(failed.is_empty(), "{} of {} trees:\n{}", failed.len(), trees.len(), failed.join("\n"));
}

#[test]
fn the_model_is_what_kustomize_builds() {
    assert!(Tree::all(&committed()).len() >= 180);
    each(&committed(), compare::compare);
}

#[test]
fn an_edit_at_the_origin_shows_where_the_scalar_is() {
    each(&committed(), edits::edit_each_origin);
}

#[test]
fn generated_trees_are_what_kustomize_builds() {
    let Some(folder) = std::env::var_os("UPLINKER_KUSTOMIZE_TREES") else { return };
    each(Path::new(&folder), compare::compare);
    // Each scalar of a tree takes two builds: some trees are enough.
    each(
        Path::new(&folder),
        |tree| {
            if tree.name.ends_with('7') { edits::edit_each_origin(tree) } else { Ok(()) }
        },
    );
}
