//! Step 3, repo: which setting stands behind a refusal.
//!
//! In: the words that a host sends with a refusal, over Git or over its API. Out: the setting, and the way out of it.
//! The sentences are those of GitHub, GitLab and Gitea; what is not known here is told in the host's words. Pure.

use std::fmt;

/// What keeps a token that is good, and may do what is asked, from doing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// The organisation wants single sign-on, for which the token was not authorised.
    SingleSignOn,
    /// The organisation lets certain addresses in, and ours is not one of them.
    AddressList,
    /// The organisation or enterprise forbids this kind of token, or one that lives so long.
    TokenPolicy,
    /// The repository lets certain people alone open pull requests, for a time or for good.
    InteractionLimit,
}

/// A rule that a push goes against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

// === impl Barrier ===

impl Barrier {
    /// Finds the barrier that the words of a 403 tell of.
    pub fn of(words: &str) -> Option<Self> {
        let known = [
            ("SAML", Self::SingleSignOn),
            ("IP allow list", Self::AddressList),
            ("forbids access via a", Self::TokenPolicy),
            ("limited the ability to", Self::InteractionLimit),
        ];
        known.into_iter().find(|(part, _)| words.contains(part)).map(|(_, barrier)| barrier)
    }

    /// Returns what a person can do.
    pub fn hint(self) -> &'static str {
        match self {
            Self::SingleSignOn => {
                "authorise the token on GitHub under Settings > Developer settings > Personal access tokens > \
                 Configure SSO, or use an App's token, which needs no authorisation"
            }
            Self::AddressList => {
                "add the address of this machine to the organisation's IP allow list, or run uplinker where the \
                 address is on it already"
            }
            Self::TokenPolicy => {
                "use a kind of token that the organisation allows: an App's token, or a fine-grained one with a \
                 shorter lifetime"
            }
            Self::InteractionLimit => {
                "look at Settings > Moderation options > Interaction limits, of the repository and of its owner, or \
                 make the token's user a collaborator"
            }
        }
    }
}

impl fmt::Display for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SingleSignOn => "the token is not authorised for the organisation's single sign-on",
            Self::AddressList => "the organisation's IP allow list does not have the address of this machine",
            Self::TokenPolicy => "the organisation forbids this kind of token, or its lifetime",
            Self::InteractionLimit => "the repository limits who may open pull requests",
        })
    }
}

// === impl Rule ===

impl Rule {
    /// Finds the rules that the words of a refused push tell of.
    pub fn all_of(words: &str) -> Vec<Self> {
        let known: [(&[&str], Self); 10] = [
            (&["verified signatures", "unverified commit", "must be signed"], Self::Signatures),
            (&["force-push", "protected from force push", "allowed to force push"], Self::ForcePush),
            (&["must not contain merge commits"], Self::LinearHistory),
            (
                &["Cannot delete", "protected from deletion", "allowed to delete protected branches"],
                Self::Deletion,
            ),
            (&["creations being restricted", "allowed to create protected branches"], Self::Creation),
            (
                &[
                    "through a pull request",
                    "Cannot update this protected ref",
                    "status check",
                    "Not allowed to push to protected branch",
                    "allowed to push code to protected branches",
                ],
                Self::PullRequest,
            ),
            (&["pattern"], Self::Pattern),
            (&["GH007"], Self::PrivateAddress),
            (&["is not a member of team", "one of your own verified emails"], Self::Author),
            (&["to create or update workflow"], Self::Workflow),
        ];
        let told = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
        known.into_iter().filter(|(parts, _)| told(parts)).map(|(_, rule)| rule).collect()
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_barrier_is_known_over_git_and_over_the_api() {
        for (words, barrier) in [
            (
                "Resource protected by organization SAML enforcement. You must grant your Personal Access token access",
                Some(Barrier::SingleSignOn),
            ),
            ("The `acme' organization has enabled or enforced SAML SSO.", Some(Barrier::SingleSignOn)),
            (
                "Although you appear to have the correct authorization credentials, the `acme` organization has an IP \
                 allow list enabled, and your IP address is not permitted to access this resource.",
                Some(Barrier::AddressList),
            ),
            ("`acme` forbids access via a personal access token (classic).", Some(Barrier::TokenPolicy)),
            (
                "The 'acme' organization forbids access via a fine-grained personal access tokens if the token's \
                 lifetime is greater than 90 days.",
                Some(Barrier::TokenPolicy),
            ),
            (
                "An owner of this repository has limited the ability to open a pull request to users that are \
                 collaborators on this repository.",
                Some(Barrier::InteractionLimit),
            ),
            ("Permission to acme/config.git denied to ada.", None),
        ] {
            assert_eq!(Barrier::of(words), barrier, "{words}");
        }
    }

    #[test]
    fn every_rule_that_is_told_is_found() {
        let both = "GH013: Repository rule violations found for refs/heads/uplinker/a/platform. - Cannot force-push \
                    to this branch - Changes must be made through a pull request.";
        assert_eq!(Rule::all_of(both), [Rule::ForcePush, Rule::PullRequest]);
        assert_eq!(Rule::all_of("GH006: error: Cannot delete a protected branch"), [Rule::Deletion]);
        for (words, rule) in [
            ("error: Not allowed to push to protected branch uplinker/a/platform", Rule::PullRequest),
            ("error: Not allowed to force-push to protected branch uplinker/a/platform", Rule::ForcePush),
            (
                "error: branch uplinker/a/platform is protected from unverified commit 1234567",
                Rule::Signatures,
            ),
            ("error: branch uplinker/a/platform is protected from force push", Rule::ForcePush),
            ("error: branch uplinker/a/platform is protected from deletion", Rule::Deletion),
            (
                "GitLab: You are not allowed to push code to protected branches on this project.",
                Rule::PullRequest,
            ),
            (
                "GitLab: You are not allowed to force push code to a protected branch on this project.",
                Rule::ForcePush,
            ),
            ("GitLab: You are not allowed to create protected branches on this project.", Rule::Creation),
            ("GitLab: Commit must be signed with a GPG key", Rule::Signatures),
            ("GitLab: Branch name does not follow the pattern '(feature|hotfix)/*'", Rule::Pattern),
            ("GitLab: Author 'robot@example.org' is not a member of team", Rule::Author),
        ] {
            assert_eq!(Rule::all_of(words), [rule], "{words}");
        }
        assert_eq!(Rule::all_of("3 of 3 required status checks are expected."), [Rule::PullRequest]);
        assert_eq!(Rule::all_of("Ticket number missing"), []);
    }
}
