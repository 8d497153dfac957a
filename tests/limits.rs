//! What GitHub takes of a body, a summary and a status, whatever the size of a change: all of it fits, is whole
//! Markdown, keeps what matters most, counts what is left out and names where it is, and there it is.

mod large;
mod shape;
mod sizes;
