//! Counts what a run changes on the disk, and ends it just before any of these steps: `steps.c`, loaded into the
//! program.

use std::{fs, path::Path};

use tempfile::TempDir;

use super::{
    preload::{Made, library},
    process::{Done, Run},
};

static LIBRARY: Made = Made::new();

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
        .env("LD_PRELOAD", library("steps.c", &LIBRARY))
        .env("STEPS_BELOW", folders.join(":"))
        .env("STEPS_LOG", &log)
        .env("STEPS_END", end.unwrap_or_default().to_string())
        .done();
    let text = fs::read_to_string(&log).unwrap_or_default();
    let steps = text.lines().filter_map(|line| Some(line.split_once(' ')?.1.to_owned())).collect();
    Counted { done, steps }
}
