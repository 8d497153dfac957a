//! The whole run on one screen; it owns no rule.

use crate::{
    cli::{Error, PinsRequest, PlanRequest, ReleasesRequest, RunRequest},
    report::{PinsReport, ReleasesReport, RunReport},
    sys::terminal::Terminal,
};

/// One pass over a repository.
pub fn run(_request: &RunRequest, _terminal: &Terminal) -> Result<RunReport, Error> {
    Err(Error::failed("`run` is not wired up yet"))
}

/// The same with no write.
pub fn plan(_request: &PlanRequest, _terminal: &Terminal) -> Result<RunReport, Error> {
    Err(Error::failed("`plan` is not wired up yet"))
}

/// Every pin and every skip of a repository.
pub fn pins(_request: &PinsRequest, _terminal: &Terminal) -> Result<PinsReport, Error> {
    Err(Error::failed("`pins` is not wired up yet"))
}

/// The catalog.
pub fn releases(_request: &ReleasesRequest, _terminal: &Terminal) -> Result<ReleasesReport, Error> {
    Err(Error::failed("`releases` is not wired up yet"))
}
