//! What a pass looks at: one stage of one target.

use crate::{config::TargetConfig, pins::Stage, pipeline::survey::Survey};

/// A stage of a target.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub survey: &'a Survey<'a>,
    pub target: &'a TargetConfig,
    pub stage: Stage,
}
