//! What the built program does, and the parts of the library whose promises are about whole trees: a module each.
//!
//! `cargo test --test main lifecycle::` runs those of one module.
#![allow(clippy::unwrap_used, clippy::expect_used)]
// Each forge runs the rows of `lifecycle`.
#![allow(clippy::duplicate_mod)]

mod action;
mod attention;
mod bad_input;
mod bodies;
mod claims;
mod cli;
mod clusters;
mod commands;
mod config;
mod directory;
mod doctor;
mod documented;
mod documents;
mod edit;
mod faults;
mod first_process;
mod forges;
mod git;
mod git_directory;
mod gitea;
mod github;
mod github_app;
mod gitlab;
mod helm;
mod hostile_charts;
mod hostile_texts;
mod kustomize;
mod layering;
mod lifecycle;
mod limits;
mod matrix;
mod mirrors;
mod not_followed;
mod promises;
mod readers;
mod registries;
mod rendered;
mod rendered_real;
mod rendered_runs;
mod restarts;
mod rivals;
mod rounds;
mod scan;
mod scan_bounds;
mod schemas;
mod service;
mod shards;
mod support;
mod support_check;
mod terraform_numbers;
mod tree_charts;
mod verified;
mod warm;
mod year;
mod years;
