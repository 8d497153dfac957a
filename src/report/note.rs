//! What a person should know beside the stages of a report: one line each.
//!
//! In: what a run came across. Out: its sentence.

use std::fmt;

use super::StageReport;
use crate::{pins::Rival, propose::forge::PullRequest, repo::RepoPath};

/// Why a forge was not asked where a path is looked at.
pub const HEAD_ALONE: &str = "of a path, the HEAD commit alone is read";

/// What a run came across.
#[derive(Clone, Copy, Debug)]
pub enum Note<'a> {
    /// A feed could not be read: its name, and why.
    Feed(&'a str, &'a str),
    /// Something in the chart index is odd.
    Index(&'a str),
    /// A target has no pin.
    IdleTarget(&'a str),
    /// A wave has no proxy.
    IdleWave(&'a str),
    /// So many pins could move and are in no target; the first is in this file.
    InNoTarget(usize, &'a RepoPath),
    /// Another updater moves the same pins.
    Rival(&'a Rival),
    /// What is open was not looked at; why.
    PullsUnread(&'a str),
    /// What is open, and what is said of commits, was not looked at; why.
    ChecksUnread(&'a str),
    /// Proxies go back, and the control plane does not yet.
    ProxiesFirst,
    /// The pull request of a stage was closed, since what it would take back cannot be; why.
    NoWayBack(&'a StageReport, &'a PullRequest, &'a str),
    /// A pull request under another prefix was closed, or would be: how it is named, which of the two, and why.
    ClosedElsewhere(&'a str, &'a str, &'a str),
    /// A pull request is not merged: how it is named, and why.
    NotMerged(&'a str, &'a str),
    /// The forge has no issues to keep an overview in.
    NoIssues,
    /// The overview could not be written; why.
    OverviewFailed(&'a str),
}

// === impl Note ===

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Feed(name, reason) => write!(f, "the feed `{name}` could not be read: {reason}"),
            Self::Index(remark) => write!(f, "the chart index: {remark}"),
            Self::IdleTarget(name) => write!(
                f,
                "target `{name}` has no pin: no file that its `paths` name has one; see `uplinker pins`"
            ),
            Self::IdleWave(name) => write!(
                f,
                "no proxy is in the wave `{name}`: no pin meets what it asks for; see `uplinker pins`"
            ),
            Self::InNoTarget(1, first) => write!(f, "1 pin is in no target and stays: {first}"),
            Self::InNoTarget(pins, first) => {
                write!(f, "{pins} pins are in no target and stay; the first is in {first}")
            }
            Self::Rival(Rival { path, bot, rule }) => {
                write!(
                    f,
                    "{bot} in {path} may manage the same pins; this rule leaves them to uplinker: {rule}"
                )
            }
            Self::PullsUnread(why) => {
                write!(f, "what is open, and what was declined, was not looked at: {why}")
            }
            Self::ChecksUnread(why) => {
                write!(f, "what is open, and what is said of commits, was not looked at: {why}")
            }
            Self::ProxiesFirst => f.write_str(
                "proxies go back before the control plane: once that is merged, roll back again for the rest",
            ),
            Self::NoWayBack(stage, pull, why) => {
                write!(f, "{}, {}: {} was closed: {why}", stage.target, stage.stage.name(), pull.url)
            }
            Self::ClosedElsewhere(pull, was, why) => {
                write!(f, "{pull} {was} closed: {why}; the branch stays until you delete it")
            }
            Self::NotMerged(pull, why) => write!(f, "{pull} is not merged: {why}"),
            Self::NoIssues => f.write_str("there is no overview: this forge has no issues"),
            Self::OverviewFailed(why) => write!(f, "the overview was not written: {why}"),
        }
    }
}
