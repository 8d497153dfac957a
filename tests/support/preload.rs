//! C sources of ours that are loaded into the program with LD_PRELOAD, which knows nothing of them. Needs a C compiler, as
//! the build does.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use tempfile::TempDir;

/// A library, once it is made.
pub type Made = OnceLock<(TempDir, PathBuf)>;

/// Compiles a file beside this one, once.
pub fn library(source: &str, made: &'static Made) -> &'static Path {
    let (_, path) = made.get_or_init(|| {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().join("preloaded.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support").join(source);
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&path).arg(source).arg("-ldl");
        let output = compiler.output().expect("a C compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (folder, path)
    });
    path
}
