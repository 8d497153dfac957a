//! uplinker keeps Linkerd current in a GitOps repository, one reviewed pull request at a time.
//!
//! The modules are the steps of the flow, in this order; `ARCHITECTURE.md` is the map.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod cli;
pub mod config;
pub mod deploy;
pub mod edit;
pub mod explain;
pub mod helm;
pub mod linkerd;
pub mod oci;
pub mod pins;
pub mod pipeline;
pub mod plan;
pub mod policy;
pub mod propose;
pub mod release;
pub mod render;
pub mod repo;
pub mod report;
pub mod serve;
pub mod sys;
pub mod verify;
mod words;
pub mod yaml;
