//! The daemon that polls many repositories.

use crate::{
    cli::{Error, ServeRequest},
    sys::terminal::Terminal,
};

/// Polls until a signal asks to stop.
pub fn serve(_request: &ServeRequest, _terminal: &Terminal) -> Result<(), Error> {
    Err(Error::failed("`serve` is not wired up yet"))
}
