//! The life of a pull request on the other forges: the same rows as in `tests/lifecycle.rs`, against a fake of each.
#![allow(clippy::unwrap_used, clippy::expect_used)]
// The rows that only GitHub has use a part of what they share.
#![allow(dead_code)]
// Each forge runs the same rows.
#![allow(clippy::duplicate_mod)]

#[path = "forges/gitea.rs"]
mod gitea;
#[path = "forges/gitlab.rs"]
mod gitlab;
mod support;
