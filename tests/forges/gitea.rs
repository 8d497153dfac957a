//! The table on Gitea.

pub const FORGE: crate::support::flavor::Flavor = crate::support::flavor::Flavor::Gitea;

rows!();
