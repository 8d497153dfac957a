//! Step 5, pins: why a pin stays.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a pin stays as it is: a closed list, shown to people in these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A range or a partial version floats by itself.
    Range,
    /// `stable-*`, `enterprise-*`, or another source than the edge channel.
    Channel,
    /// A comment `# uplinker: hold`.
    Held,
    /// `linkerd.io/inject: disabled` on the workload or its namespace.
    OptedOut,
    /// It names the target already, or a newer release.
    UpToDate,
    /// A digest, or a tag beside a digest.
    Digest,
    /// proxy-init, cni-plugin, extension-init, prometheus: versions of their own.
    OwnVersion,
    /// A chart that the channel no longer has.
    RetiredChart,
    /// Nothing reads it there.
    NoEffect,
    /// The key is written twice.
    DuplicateKey,
    /// An alias; its anchor moves.
    Alias,
    /// Something that must not move reads the same text: an image or a chart of another product.
    Shared,
    /// A file under SOPS or git-crypt.
    Encrypted,
    /// Too far behind for one step.
    RequiredHop,
    /// An `$imagepolicy` setter is in charge.
    ManagedByFlux,
    /// Under `.github/workflows`, which the token may not write.
    NeedsWorkflowsScope,
    /// `dataPlane.pins: ignore`.
    Ignored,
    /// The shape is recognised and cannot be edited safely.
    Uneditable,
    /// Written by `linkerd inject --manual`; it must be made again with the CLI.
    ManualInjection,
    /// Written by another command of the Linkerd CLI than `install`; no chart gives it.
    MadeByCli,
    /// Labelled as a part of one chart and given by another: it goes with that one.
    GivenByAnother,
    /// Prose, or text that no deployer reads.
    NotDeployed,
    /// Something may read it there, in a way that is not followed: a script, another tool, a chart by hand.
    NotFollowed,
    /// A value of a chart whose version stays, or is not in the tree: its images would run ahead of it.
    ChartStays,
    /// It is the version of a control plane, or of its CRDs, that a deployer is told to leave as it is.
    Suspended,
    /// The control plane does not go to the release, so proxies do not either.
    ControlPlaneBehind,
    /// Another pin of its target names a newer release, and a target never goes down.
    NewerBeside,
}

// === impl Reason ===

impl Reason {
    /// Tells whether one who has it runs what the text says, or something near it, and stays there by somebody's will.
    pub fn is_deliberate(self) -> bool {
        matches!(self, Self::Held | Self::Suspended)
    }

    /// Tells whether one who has it takes nothing of the text, so that others may change it.
    pub(super) fn reads_nothing(self) -> bool {
        matches!(self, Self::NoEffect | Self::OptedOut | Self::Digest | Self::NotDeployed | Self::NotFollowed)
    }

    /// Returns why values of a chart stay whose version has it; `None` where they may move.
    pub(super) fn of_values(self) -> Option<Self> {
        match self {
            Self::Held | Self::ManagedByFlux => Some(self),
            Self::Digest
            | Self::DuplicateKey
            | Self::Shared
            | Self::Encrypted
            | Self::NeedsWorkflowsScope
            | Self::NotFollowed
            | Self::Suspended
            | Self::Uneditable => Some(Self::ChartStays),
            _ => None,
        }
    }

    /// Tells whether one who has it must not get another text, whoever else reads it.
    pub(super) fn forbids(self) -> bool {
        matches!(
            self,
            Self::Channel | Self::OwnVersion | Self::RetiredChart | Self::Shared | Self::Uneditable
        )
    }
}
