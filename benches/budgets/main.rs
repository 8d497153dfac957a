//! The budgets: what the program may cost, each measured with its floor in the same run.
//!
//! `cargo bench` measures all of them and prints one table; `cargo bench -- warm edit` some of them, `-- years` what is by chance, and `--quick` makes the
//! repositories a tenth as large. A row that needs more than twice its budget makes it fail.
//!
//! Needs `git`, `python3`, `rg` and `helm` (or what the tests make in its place), and some 2 GB in the folder for temporary files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::print_stderr)]

mod body;
mod by_chance;
mod clone;
mod edit;
mod fixture;
mod measure;
mod render;
mod scan;
#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
#[path = "../../tests/support/mod.rs"]
mod support;
mod table;
mod warm;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/years/mod.rs"]
mod years;

use std::process::ExitCode;

use table::{Row, Verdict};

/// How large the repositories are.
pub struct Scale {
    quick: bool,
}

type Work = fn(&Scale) -> Vec<Row>;

const WORKS: [(&str, Work); 8] = [
    ("scan", scan::rows),
    ("clone", clone::rows),
    ("edit", edit::rows),
    ("render", render::rows),
    ("body", body::rows),
    ("warm", warm::rows),
    ("serve", warm::served),
    ("years", by_chance::rows),
];

// === impl Scale ===

impl Scale {
    /// Returns the number, or a tenth of it.
    pub fn of(&self, number: usize) -> usize {
        if self.quick { number / 10 } else { number }
    }
}

fn main() -> ExitCode {
    // Cargo itself passes `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let (flags, names): (Vec<_>, Vec<_>) = arguments.into_iter().partition(|a| a.starts_with('-'));
    let known = |name: &String| WORKS.iter().any(|(work, _)| work == name);
    if flags.iter().any(|f| f != "--quick") || !names.iter().all(known) {
        eprintln!("usage: cargo bench [-- [--quick] {}]", WORKS.map(|(name, _)| name).join(" "));
        return ExitCode::from(2);
    }
    let scale = Scale { quick: !flags.is_empty() };
    let mut rows = Vec::new();
    // Years are no budget, and end at the first rule that is broken: they are taken by name.
    let wanted = |name: &str| names.iter().any(|n| n == name) || names.is_empty() && name != "years";
    for (name, work) in WORKS.iter().filter(|(name, _)| wanted(name)) {
        eprintln!("measuring {name}");
        rows.extend(work(&scale));
    }
    print!("{}", table::render(&rows));
    if rows.iter().any(|row| row.verdict() == Verdict::OverTwice) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
