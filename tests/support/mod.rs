//! The real parts that end-to-end tests stand on: servers on loopback, repositories, and the program as a process.

// A test that cannot go on says why and ends.
#![allow(clippy::unwrap_used, clippy::expect_used)]

pub mod charts;
pub mod clock;
pub mod controls;
pub mod expected;
pub mod feed;
pub mod flavor;
pub mod front;
pub mod git_server;
pub mod gitea;
pub mod github;
pub mod gitlab;
pub mod helm;
pub mod http;
pub mod internet;
pub mod kustomize;
pub mod manifests;
pub mod mesh;
pub mod place;
pub mod preload;
pub mod process;
pub mod processor;
pub mod record;
pub mod registry;
pub mod repo;
pub mod scene;
pub mod schema;
pub mod ssh_server;
pub mod steps;
pub mod tree;
