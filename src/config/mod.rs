//! Configuration of a repository, with positions: raw as written, then ready.
