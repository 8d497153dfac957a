//! Faults: the built program is killed, cut off, answered wrongly and run beside itself, and ends in the same place.

mod directory;
mod disk;
mod ends;
mod moved;
mod network;
mod place;
mod remotes;
mod scenario;
mod serve;
mod together;
mod writes;
