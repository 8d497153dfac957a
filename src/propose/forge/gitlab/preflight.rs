//! Step 10, propose: what GitLab tells of a token and a project before anything is written.
//!
//! In: what a run will want. Out: what was seen. Only reads are made.

use jiff::{Timestamp, tz::TimeZone};

use super::{GitLab, KIND, ROLE, SCOPE, pulls_off, wire};
use crate::{
    propose::{
        History,
        forge::{
            Forge, ForgeError, Grant,
            preflight::{Needed, Seen, Subject, clock, identified, labels, told},
        },
    },
    repo::Rule,
};

type Row = (Subject, Seen);

/// A token that ends within so many days is told.
const SOON: i32 = 14;

// === impl GitLab ===

impl GitLab<'_> {
    /// Looks at what a run will want.
    pub(super) fn look(&self, needed: &Needed) -> Vec<Row> {
        let asked = self.asked("cannot read the project");
        let reply = match self.get(&self.project, &asked).map_err(ForgeError::from) {
            Ok(reply) => reply,
            Err(error) => return vec![(Subject::Repository, Seen::Failed(error))],
        };
        let project = match reply.json::<wire::Project>(&asked) {
            Ok(project) => project,
            Err(error) => return vec![(Subject::Repository, Seen::Failed(error))],
        };
        let name = &project.path_with_namespace;
        let mut rows = vec![(
            Subject::Repository,
            match project.archived {
                true => Seen::Failed(ForgeError::Archived(name.clone())),
                false => Seen::Fine(format!("{name} is there")),
            },
        )];
        rows.extend(clock(reply.received, reply.date(), asked.host).map(|seen| (Subject::Clock, seen)));
        rows.extend([
            (
                Subject::Token,
                identified(self.identity(), &format!("give it the scope `{SCOPE}`, or set `commit.author`")),
            ),
            (Subject::Permissions, self.scopes(reply.now())),
            (Subject::Permissions, role(&project, asked.host)),
            (
                Subject::PullRequests,
                match project.has_no_merge_requests() {
                    true => Seen::Failed(pulls_off(name)),
                    false => told(self.open_pulls(&[]).map(drop), "can be listed"),
                },
            ),
            (Subject::Statuses, told(self.verified_at(needed.tip).map(drop), "can be read")),
        ]);
        if needed.gates {
            let read = self.status_checks(&[needed.tip]).map(drop);
            rows.push((Subject::Gates, told(read, "what is said of commits can be read")));
        }
        let hint = "GitLab makes it with the first merge request, where the role is Reporter or above";
        rows.push((Subject::Labels, labels(self.known_labels(), needed, hint)));
        rows.extend(self.rules(needed, project.role()));
        rows
    }

    /// The token's scopes and its end. OAuth's own are not told there.
    fn scopes(&self, now: Timestamp) -> Seen {
        let asked = self.asked("cannot read the token's scopes");
        let told = self.rest.get("/personal_access_tokens/self", &asked).map_err(ForgeError::from);
        let token = match told.and_then(|reply| reply.json::<wire::Token>(&asked)) {
            Ok(token) => token,
            Err(error) if error.is_refusal() => {
                return Seen::Untold(
                    "the token's scopes show only when it is used".to_owned(),
                    format!("it needs {}", KIND.needs),
                );
            }
            Err(error) => return Seen::Failed(error),
        };
        if !token.scopes.iter().any(|scope| scope == SCOPE) {
            let grant = Grant::Scope(SCOPE.to_owned());
            return Seen::Failed(ForgeError::Permission { host: asked.host.to_owned(), grant });
        }
        let today = now.to_zoned(TimeZone::UTC).date();
        match token.expires_at {
            Some(end) if (end - today).get_days() < SOON => Seen::Lacking(
                format!("the token ends on {end}"),
                "make another one, or rotate it, before".to_owned(),
            ),
            Some(end) => Seen::Fine(format!("the scope `{SCOPE}`, until {end}")),
            None => Seen::Fine(format!("the scope `{SCOPE}`")),
        }
    }

    /// The protected branches and the push rules that a push of ours would go against.
    fn rules(&self, needed: &Needed, role: Option<u32>) -> Vec<Row> {
        let asked = self.asked("cannot read the protected branches");
        let protected: Vec<wire::Protected> = match self.list(&self.at("/protected_branches"), &asked) {
            Ok(protected) => protected,
            Err(error) if error.is_refusal() => {
                let hint = "reading them takes the role Maintainer; a push that they refuse is told by name";
                return vec![(Subject::Rules, Seen::Untold(error.to_string(), hint.to_owned()))];
            }
            Err(error) => return vec![(Subject::Rules, Seen::Failed(error))],
        };
        let mut rows = Vec::new();
        let mut add = |rule: Rule, branch: &str, stops: bool| {
            rows.push((Subject::Rules, Seen::Ruled { rule, branch: branch.to_owned(), stops }));
        };
        for branch in &needed.branches {
            let over: Vec<&wire::Protected> = protected.iter().filter(|rule| rule.covers(branch)).collect();
            if over.is_empty() {
                continue;
            }
            // Of several rules the one that allows more holds.
            if role.is_some_and(|role| !over.iter().any(|rule| rule.lets_push(role))) {
                add(Rule::PullRequest, branch, true);
            }
            if needed.history == History::Replace && !over.iter().any(|rule| rule.allow_force_push) {
                add(Rule::ForcePush, branch, true);
            }
        }
        // They are part of Premium, and of a project that has some.
        let asked = self.asked("cannot read the push rules");
        let rules = self.rest.get(&self.at("/push_rule"), &asked).map_err(ForgeError::from);
        let rules = rules.and_then(|reply| reply.json::<Option<wire::PushRules>>(&asked)).ok().flatten();
        let rules = rules.unwrap_or_default();
        for branch in &needed.branches {
            if rules.reject_unsigned_commits == Some(true) {
                add(Rule::Signatures, branch, true);
            }
            // Their language is not ours, so whether they match shows when it is tried.
            if rules.has_patterns() {
                add(Rule::Pattern, branch, false);
            }
        }
        rows
    }
}

/// The role of the token's user.
fn role(project: &wire::Project, host: &str) -> Seen {
    match project.role() {
        Some(role) if role < wire::DEVELOPER => {
            Seen::Failed(ForgeError::Permission { host: host.to_owned(), grant: Grant::Role(ROLE) })
        }
        Some(_) => Seen::Fine("the role Developer, or one above".to_owned()),
        None => Seen::Untold(
            "the role of the token's user shows only when it is used".to_owned(),
            format!("it needs {}", KIND.needs),
        ),
    }
}
