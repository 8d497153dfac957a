//! The `uplinker` program: hands over to the library.

fn main() {}
