//! Edits: a corpus of hard files, generated files read by other parsers, and input that nobody would write.

mod apply;
mod corpus;
mod generated;
mod generator;
mod hostile;
mod other_parsers;
