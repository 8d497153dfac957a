//! Edits: a corpus of hard files, generated files read by other parsers, and input that nobody would write.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "edit/apply.rs"]
mod apply;
#[path = "edit/corpus.rs"]
mod corpus;
#[path = "edit/generated.rs"]
mod generated;
#[path = "edit/generator.rs"]
mod generator;
#[path = "edit/hostile.rs"]
mod hostile;
#[path = "edit/other_parsers.rs"]
mod other_parsers;
