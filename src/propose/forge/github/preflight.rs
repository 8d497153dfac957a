//! Step 10, propose: what GitHub tells of a token and a repository before anything is written.
//!
//! In: what a run will want. Out: what was seen. Only reads are made, so that a permission to write stays untold but for
//! classic tokens, whose scopes GitHub names in each answer.

use std::collections::BTreeMap;

use jiff::{SignedDuration, fmt::strtime, tz::TimeZone};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::{ACTIONS, GitHub, answer::MAKING_A_LABEL, wire};
use crate::{
    propose::{
        History,
        forge::{
            ALLOW_ACTIONS, Forge, ForgeError, Grant,
            preflight::{Needed, Seen, Subject, clock, labels},
            rest::Reply,
        },
    },
    repo::Rule,
};

/// How long before its end a token is told of.
const ENDS_SOON: SignedDuration = SignedDuration::from_hours(14 * 24);
/// The most branches whose rules are asked for, each with a request.
const BRANCHES: usize = 20;

/// A rule that covers a branch.
#[derive(Debug, Deserialize)]
struct Covering {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    ruleset_id: Option<u64>,
}

/// A ruleset, for the one thing that tells whether it holds for us.
#[derive(Debug, Deserialize)]
struct Ruleset {
    #[serde(default)]
    current_user_can_bypass: Option<String>,
}

type Row = (Subject, Seen);

// === impl GitHub ===

impl GitHub<'_> {
    /// Looks at what a run will want.
    pub(super) fn look(&self, needed: &Needed) -> Vec<Row> {
        let asked = self.asked("cannot read the repository", "metadata: read");
        let read = || -> Result<(Reply, wire::Repo), ForgeError> {
            let reply = self.get(&self.repo(""), &asked)?;
            let repo = reply.json(&asked)?;
            Ok((reply, repo))
        };
        let (reply, repo) = match read() {
            Ok(read) => read,
            Err(error) => return vec![(Subject::Repository, Seen::Failed(error))],
        };
        let mut rows = vec![(
            Subject::Repository,
            match repo.archived {
                true => Seen::Failed(ForgeError::Archived(repo.full_name)),
                false => Seen::Fine(format!("{} is there", repo.full_name)),
            },
        )];
        rows.extend(
            clock(reply.received, reply.date(), self.address.host()).map(|seen| (Subject::Clock, seen)),
        );
        rows.extend(self.token(&reply));
        rows.push((Subject::PullRequests, self.lists_pulls()));
        rows.push((Subject::Statuses, self.reads_statuses(needed)));
        rows.extend(needed.gates.then(|| (Subject::Gates, self.reads_gates(needed))));
        rows.push((Subject::Labels, self.has_labels(needed)));
        rows.extend(self.rules(needed).into_iter().map(|seen| (Subject::Rules, seen)));
        rows
    }

    /// Who the token is, how long it lasts, and what it may do.
    fn token(&self, reply: &Reply) -> Vec<Row> {
        let mut rows = Vec::new();
        let who = match self.who() {
            Ok(who) => who,
            Err(error) => return vec![(Subject::Token, Seen::Failed(error))],
        };
        let is_actions = who.name == ACTIONS.0;
        rows.push((Subject::Token, Seen::Fine(format!("commits are by {} <{}>", who.name, who.email))));
        rows.extend(expiry(reply).map(|seen| (Subject::Token, seen)));
        let permissions = match reply.header("x-oauth-scopes").filter(|scopes| !scopes.is_empty()) {
            Some(scopes) if scopes.split(',').any(|scope| scope.trim() == "repo") => {
                Seen::Fine("the scope `repo` covers all that is written".to_owned())
            }
            Some(_) => Seen::Failed(ForgeError::Permission {
                host: self.address.host().to_owned(),
                grant: Grant::Scope("repo".to_owned()),
            }),
            None => Seen::Untold(
                "that the token may write pull requests and statuses shows only when it is tried".to_owned(),
                "it needs `pull-requests: write` and `statuses: write`".to_owned(),
            ),
        };
        rows.push((Subject::Permissions, permissions));
        if is_actions {
            let what =
                "whether GitHub Actions may open pull requests here is not shown to a workflow's token";
            rows.push((Subject::Permissions, Seen::Untold(what.to_owned(), ALLOW_ACTIONS.to_owned())));
        }
        rows
    }

    fn lists_pulls(&self) -> Seen {
        let asked = self.asked("cannot list pull requests", "pull-requests: write");
        match self.get(&self.repo("/pulls?state=open&per_page=1"), &asked).map_err(ForgeError::from) {
            Ok(_) => Seen::Fine("can be listed".to_owned()),
            // GitHub names what this request needs, and a run needs more.
            Err(ForgeError::Permission { .. }) => Seen::Failed(asked.lacks()),
            Err(error) => Seen::Failed(error),
        }
    }

    fn reads_statuses(&self, needed: &Needed) -> Seen {
        match self.verified_at(needed.tip) {
            Ok(_) => Seen::Fine("can be read".to_owned()),
            Err(error) if error.is_refusal() => Seen::Lacking(
                error.to_string(),
                "give it `statuses: write`; without it the commits have no status `uplinker/verify`, and the rest \
                 goes on"
                    .to_owned(),
            ),
            Err(error) => Seen::Failed(error),
        }
    }

    fn reads_gates(&self, needed: &Needed) -> Seen {
        match self.status_checks(&[needed.tip]) {
            Ok(_) => Seen::Fine("what is said of commits can be read".to_owned()),
            Err(error) if error.is_refusal() => Seen::Lacking(
                error.to_string(),
                "give it `checks: read` and `deployments: read`; without them what waits for a gate is held"
                    .to_owned(),
            ),
            Err(error) => Seen::Failed(error),
        }
    }

    fn has_labels(&self, needed: &Needed) -> Seen {
        let asked = self.asked("cannot list labels", "issues: read");
        let there = self.list::<wire::Label>(&self.repo("/labels"), &asked);
        let names = there.map(|all| all.into_iter().map(|label| label.name).collect());
        labels(names, needed, MAKING_A_LABEL)
    }

    /// The rules over the branches that will be written, each told once.
    fn rules(&self, needed: &Needed) -> Vec<Seen> {
        let mut found: BTreeMap<&'static str, Seen> = BTreeMap::new();
        let mut bypassed: BTreeMap<u64, bool> = BTreeMap::new();
        for branch in needed.branches.iter().take(BRANCHES) {
            let covering = match self.covering(branch) {
                Ok(covering) => covering,
                Err(ForgeError::NotFound(_)) => {
                    let what = "this server does not list the rules over a branch; a push tells of them";
                    return vec![Seen::Untold(what.to_owned(), String::new())];
                }
                Err(error) if error.is_refusal() => {
                    return vec![Seen::Untold(error.to_string(), String::new())];
                }
                Err(error) => return vec![Seen::Failed(error)],
            };
            for Covering { kind, ruleset_id } in covering {
                let Some(rule) = rule(&kind) else { continue };
                let passes =
                    ruleset_id.is_some_and(|id| *bypassed.entry(id).or_insert_with(|| self.bypasses(id)));
                if !passes {
                    let stops = stops(rule, needed.history);
                    found.entry(rule.hint()).or_insert(Seen::Ruled { rule, branch: branch.clone(), stops });
                }
            }
        }
        match found.is_empty() {
            true => vec![Seen::Fine(format!("no ruleset keeps {} from us", list(&needed.branches)))],
            false => found.into_values().collect(),
        }
    }

    fn covering(&self, branch: &str) -> Result<Vec<Covering>, ForgeError> {
        let asked = self.asked("cannot read the rules of a branch", "metadata: read");
        let branch = utf8_percent_encode(branch, NON_ALPHANUMERIC);
        self.list(&self.repo(&format!("/rules/branches/{branch}")), &asked)
    }

    /// Tells whether a ruleset lets the token by; one that does not say holds.
    fn bypasses(&self, id: u64) -> bool {
        let asked = self.asked("cannot read a ruleset", "metadata: read");
        let read = || -> Option<Ruleset> {
            self.get(&self.repo(&format!("/rulesets/{id}")), &asked).ok()?.json(&asked).ok()
        };
        let told = read().and_then(|ruleset| ruleset.current_user_can_bypass);
        matches!(told.as_deref(), Some("always" | "exempt"))
    }
}

/// What a rule of GitHub's is, by its type in the API.
fn rule(kind: &str) -> Option<Rule> {
    Some(match kind {
        "creation" => Rule::Creation,
        "deletion" => Rule::Deletion,
        "non_fast_forward" => Rule::ForcePush,
        "required_linear_history" => Rule::LinearHistory,
        "required_signatures" => Rule::Signatures,
        "update"
        | "pull_request"
        | "required_status_checks"
        | "merge_queue"
        | "required_deployments"
        | "workflows"
        | "code_scanning" => Rule::PullRequest,
        "branch_name_pattern"
        | "commit_message_pattern"
        | "commit_author_email_pattern"
        | "committer_email_pattern" => Rule::Pattern,
        _ => return None,
    })
}

/// Tells whether the first push goes against a rule already; the others are met later, or never.
fn stops(rule: Rule, history: History) -> bool {
    match rule {
        Rule::Signatures | Rule::Creation | Rule::PullRequest => true,
        Rule::ForcePush => history == History::Replace,
        Rule::LinearHistory
        | Rule::Deletion
        | Rule::Pattern
        | Rule::PrivateAddress
        | Rule::Author
        | Rule::Workflow => false,
    }
}

fn list(branches: &[String]) -> String {
    branches.iter().map(|branch| format!("`{branch}`")).collect::<Vec<_>>().join(", ")
}

/// When the token ends, where GitHub tells: `2026-12-01 10:00:00 UTC`, or an offset in place of `UTC`.
fn expiry(reply: &Reply) -> Option<Seen> {
    let text = reply.header("github-authentication-token-expiration")?.replace(" UTC", " +0000");
    let end = strtime::parse("%Y-%m-%d %H:%M:%S %z", &text).ok()?.to_timestamp().ok()?;
    let left = end.duration_since(reply.now());
    let day = end.to_zoned(TimeZone::UTC).date();
    Some(match left > ENDS_SOON {
        true => Seen::Fine(format!("it lasts until {day}")),
        false => Seen::Lacking(
            format!("it ends on {day}"),
            "make a new one before, or use an App's token, which is made anew each time".to_owned(),
        ),
    })
}
