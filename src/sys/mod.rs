//! The only place for raw I/O: http, process, clock, environment, files, secrets, terminal.
//!
//! Nothing here decides anything about releases, pins or pull requests.

pub mod actions;
pub mod env;
pub mod files;
pub mod http;
pub mod secrets;
pub mod terminal;
