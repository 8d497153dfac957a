//! Faults: the built program is killed, cut off, answered wrongly and run beside itself, and ends in the same place.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "faults/directory.rs"]
mod directory;
#[path = "faults/disk.rs"]
mod disk;
#[path = "faults/ends.rs"]
mod ends;
#[path = "faults/moved.rs"]
mod moved;
#[path = "faults/network.rs"]
mod network;
#[path = "faults/place.rs"]
mod place;
#[path = "faults/remotes.rs"]
mod remotes;
#[path = "faults/scenario.rs"]
mod scenario;
#[path = "faults/serve.rs"]
mod serve;
mod support;
#[path = "faults/together.rs"]
mod together;
#[path = "faults/writes.rs"]
mod writes;
