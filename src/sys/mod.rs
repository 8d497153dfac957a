//! The only place for raw I/O: http, process, clock, environment, files, secrets, terminal.
//!
//! Nothing here decides anything about releases, pins or pull requests.
#![allow(clippy::disallowed_methods, reason = "raw I/O is here")]

pub mod actions;
pub mod cache;
pub mod clock;
pub mod env;
pub mod files;
pub mod git_options;
pub mod http;
pub mod process;
pub mod secrets;
pub mod stop;
pub mod terminal;
