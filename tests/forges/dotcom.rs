//! The table on github.com, whose API is on a host of its own.

pub const FORGE: crate::support::flavor::Flavor = crate::support::flavor::Flavor::DotCom;

rows!();
