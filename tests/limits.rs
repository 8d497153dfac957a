//! What GitHub takes of a body, a summary and a status, whatever the size of a change: all of it fits, is whole
//! Markdown, keeps what matters most, counts what is left out and names where it is, and there it is.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod limits {
    mod large;
    #[path = "../hostile_texts/page.rs"]
    mod page;
    #[path = "../hostile_texts/reading.rs"]
    #[allow(dead_code)]
    mod reading;
    mod shape;
    mod sizes;
}
mod support;
