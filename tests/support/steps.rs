//! Counts what a run changes on the disk, and ends it just before any of these steps: `steps.c`, loaded into the
//! program. Needs a C compiler, as the build does.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use tempfile::TempDir;

use super::process::{Done, Run};

/// What a run did to the disk below some folders.
#[derive(Debug)]
pub struct Counted {
    pub done: Done,
    /// Each step as `what path`, in order.
    pub steps: Vec<String>,
}

/// Runs to the end and counts; with a number, to just before that step, counted from 1.
pub fn run(run: Run, below: &[&Path], end: Option<usize>) -> Counted {
    let place = TempDir::new().expect("a temporary folder");
    let log = place.path().join("log");
    let folders: Vec<String> = below.iter().map(|folder| folder.display().to_string()).collect();
    let done = run
        .env("LD_PRELOAD", library())
        .env("STEPS_BELOW", folders.join(":"))
        .env("STEPS_LOG", &log)
        .env("STEPS_END", end.unwrap_or_default().to_string())
        .done();
    let text = fs::read_to_string(&log).unwrap_or_default();
    let steps = text.lines().filter_map(|line| Some(line.split_once(' ')?.1.to_owned())).collect();
    Counted { done, steps }
}

/// Compiles the counter, once for this test binary.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = LIBRARY.get_or_init(|| {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().join("steps.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/steps.c");
        let output = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&path)
            .arg(source)
            .arg("-ldl")
            .output();
        let output = output.expect("a C compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (folder, path)
    });
    path
}
