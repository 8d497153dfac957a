//! The daemon that polls many repositories.
