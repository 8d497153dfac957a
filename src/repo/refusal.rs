//! Step 3, repo: which setting stands behind a refusal.
//!
//! In: the words that a host sends with a refusal, over Git or over its API, and the sentences that forges are known to
//! write. Out: the setting, and the way out of it; what is not known is told in the host's words. Pure.

use std::{collections::BTreeSet, fmt};

/// What keeps a token that is good, and may do what is asked, from doing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// What it is.
    pub what: &'static str,
    /// What a person can do.
    pub hint: &'static str,
}

/// The sentences of one forge, each by a part that nothing else says.
#[derive(Clone, Copy, Debug)]
pub struct Refusals {
    /// Those of a 403.
    pub barriers: &'static [(&'static str, Barrier)],
    /// Those of a push that is refused.
    pub rules: &'static [(&'static str, Rule)],
}

/// A rule that a push goes against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Commits have to be signed.
    Signatures,
    /// A branch may grow only.
    ForcePush,
    /// No commit with two parents.
    LinearHistory,
    /// No branch is deleted.
    Deletion,
    /// No branch is made.
    Creation,
    /// No branch is written to but through a pull request, with its checks: a rule for branches that are merged into.
    PullRequest,
    /// Names, messages or addresses have to match a pattern.
    Pattern,
    /// The author's address is private.
    PrivateAddress,
    /// The author has to be a member, or the owner of the address.
    Author,
    /// A workflow file would change.
    Workflow,
}

// === impl Refusals ===

impl Refusals {
    /// Finds the barrier that the words of a 403 tell of.
    pub fn barrier(&self, words: &str) -> Option<Barrier> {
        self.barriers.iter().find(|(part, _)| words.contains(part)).map(|(_, barrier)| *barrier)
    }

    /// Finds the rules that the words of a refused push tell of.
    pub fn rules(&self, words: &str) -> impl Iterator<Item = Rule> {
        self.rules.iter().filter(|(part, _)| words.contains(part)).map(|(_, rule)| *rule)
    }

    /// The same by the sentences of all of some forges, each rule once.
    pub fn rules_of(all: &[&Self], words: &str) -> Vec<Rule> {
        let rules: BTreeSet<Rule> = all.iter().flat_map(|forge| forge.rules(words)).collect();
        rules.into_iter().collect()
    }
}

// === impl Barrier ===

impl fmt::Display for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

// === impl Rule ===

impl Rule {
    /// Returns what a person can do.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Signatures => {
                "uplinker's commits are not signed: have them signed (`uplinker doctor` says how), leave the branches \
                 under `branch.prefix` out of the rule, since the commit that a merge button makes is signed by the \
                 forge, or let the token's user bypass it"
            }
            Self::ForcePush => {
                "set `branch.history: append`, delete the branch where an older pull request has left it, or leave \
                 the branches under `branch.prefix` out of the rule"
            }
            Self::LinearHistory => {
                "set `branch.history: replace`, since `append` merges the base branch, or leave the branches under \
                 `branch.prefix` out of the rule"
            }
            Self::Deletion => "leave the branches under `branch.prefix` out of the rule against deletion",
            Self::Creation => {
                "let the token's user bypass the ruleset against new branches, or set a `branch.prefix` that it \
                 leaves out"
            }
            Self::PullRequest => {
                "this rule is for branches that are merged into: leave those under `branch.prefix` out of it"
            }
            Self::Pattern => {
                "follow the pattern with `branch.prefix`, `commit.message` or `commit.author` in uplinker.yaml, or \
                 leave the branches under `branch.prefix` out of the rule"
            }
            Self::PrivateAddress => {
                "the author's address is private: set `commit.author` to the user's noreply address, or allow it \
                 under Settings > Emails of that user"
            }
            Self::Author => {
                "set `commit.author` in uplinker.yaml to the name and a verified address of the token's user, or of a \
                 member"
            }
            Self::Workflow => {
                "the token may not change workflow files: give it `workflows: write`; a classic one has the scope \
                 `workflow`"
            }
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signatures => "commits have to be signed",
            Self::ForcePush => "no force-push",
            Self::LinearHistory => "no merge commits",
            Self::Deletion => "no branch is deleted",
            Self::Creation => "no branch is made",
            Self::PullRequest => "changes come through pull requests and their checks",
            Self::Pattern => "names, messages or addresses have to match a pattern",
            Self::PrivateAddress => "no private address is published",
            Self::Author => "commits are by members, with addresses of their own",
            Self::Workflow => "no workflow file changes",
        })
    }
}
