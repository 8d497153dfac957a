//! The only place for raw I/O: http, process, clock, environment, files, secrets, terminal.
//!
//! Nothing here decides anything about releases, pins or pull requests.

pub mod cache;
pub mod clock;
pub mod files;
pub mod http;
