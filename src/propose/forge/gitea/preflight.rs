//! Step 10, propose: what Gitea tells of a token and a repository before anything is written.
//!
//! In: what a run will want. Out: what was seen. Only reads are made; Gitea tells what the token's user may do, and what
//! the token itself may do shows when it is tried.

use super::{Gitea, wire};
use crate::propose::forge::{
    Forge, ForgeError, Grant,
    preflight::{Needed, Seen, Subject, clock, identified, labels, told},
};

type Row = (Subject, Seen);

// === impl Gitea ===

impl Gitea<'_> {
    /// Looks at what a run will want.
    pub(super) fn look(&self, needed: &Needed) -> Vec<Row> {
        let asked = self.rest.asked("cannot read the repository", "read:repository");
        let reply = match self.get(&self.repo(""), &asked).map_err(ForgeError::from) {
            Ok(reply) => reply,
            Err(error) => return vec![(Subject::Repository, Seen::Failed(error))],
        };
        let repo = match reply.json::<wire::Repo>(&asked) {
            Ok(repo) => repo,
            Err(error) => return vec![(Subject::Repository, Seen::Failed(error))],
        };
        let mut rows = vec![(
            Subject::Repository,
            match repo.archived {
                true => Seen::Failed(ForgeError::Archived(repo.full_name.clone())),
                false => Seen::Fine(format!("{} is there", repo.full_name)),
            },
        )];
        rows.extend(clock(reply.received, reply.date(), asked.host).map(|seen| (Subject::Clock, seen)));
        rows.push((
            Subject::Token,
            identified(self.identity(), "give it the scope `read:user`, or set `commit.author`"),
        ));
        rows.push((
            Subject::Permissions,
            match repo.permissions {
                Some(wire::Permissions { push: false }) => Seen::Failed(ForgeError::Permission {
                    host: asked.host.to_owned(),
                    grant: Grant::Role("of a writer"),
                }),
                _ => Seen::Untold(
                    "that the token may write shows only when it is tried".to_owned(),
                    format!("it needs {}", super::KIND.needs),
                ),
            },
        ));
        rows.push((Subject::PullRequests, self.lists_pulls(&repo)));
        rows.push((Subject::Statuses, told(self.said(needed.tip).map(drop), "can be read")));
        if needed.gates {
            let read = self.status_checks(&[needed.tip]).map(drop);
            rows.push((Subject::Gates, told(read, "what is said of commits can be read")));
        }
        let there = self.known_labels().map(|all| all.into_iter().map(|label| label.name).collect());
        let hint = "a run makes those that it adds, where the token has the scope `write:issue`; else make them by hand";
        rows.push((Subject::Labels, labels(there, needed, hint)));
        rows
    }

    fn lists_pulls(&self, repo: &wire::Repo) -> Seen {
        if repo.has_pull_requests == Some(false) {
            return Seen::Failed(self.pulls_off());
        }
        told(self.open_pulls(&[]).map(drop), "can be listed")
    }
}
