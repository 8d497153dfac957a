//! Edits: a corpus of hard files, generated files read by other parsers, and input that nobody would write.

#[path = "edit/apply.rs"]
mod apply;
#[path = "edit/corpus.rs"]
mod corpus;
#[path = "edit/generated.rs"]
mod generated;
#[path = "edit/hostile.rs"]
mod hostile;
#[path = "edit/other_parsers.rs"]
mod other_parsers;
