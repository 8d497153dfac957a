//! Step 10, propose: who the token is, to commit as.
//!
//! In: the token. Out: name and address that GitHub links to its user. A person's token is asked by REST; an App's has
//! no user there, but GraphQL tells the App's bot, and for a workflow's own token `github-actions[bot]`.

use serde::Deserialize;
use serde_json::json;

use super::{ACTIONS, GitHub, wire::User};
use crate::{propose::forge::ForgeError, repo::Signature};

/// GraphQL's answer: what was asked for, or errors in its place.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    data: Option<Data>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Data {
    viewer: Option<Viewer>,
}

#[derive(Debug, Deserialize)]
struct Viewer {
    login: String,
    #[serde(rename = "databaseId")]
    id: u64,
}

// === impl GitHub ===

impl GitHub<'_> {
    /// Asks who the token is. Where neither API tells, it is taken for a workflow's own.
    pub(super) fn who(&self) -> Result<Signature, ForgeError> {
        let noreply = self.address.noreply();
        let asked = self.asked("cannot read the token's user", "metadata: read");
        match self.get("/user", &asked).map_err(ForgeError::from) {
            Ok(reply) => return Ok(reply.json::<User>(&asked)?.signature(&noreply)),
            Err(error) if error.is_refusal() => {}
            Err(error) => return Err(error),
        }
        let query = json!({"query": "query { viewer { login databaseId } }"});
        let viewer = match self.ask(&query, &asked).map_err(ForgeError::from) {
            Ok(reply) => reply.json::<Answer>(&asked).unwrap_or_default().data.and_then(|data| data.viewer),
            Err(error) if error.is_refusal() => None,
            Err(error) => return Err(error),
        };
        Ok(match viewer {
            Some(Viewer { login, id }) => User::named(login, id).signature(&noreply),
            None => Signature { name: ACTIONS.0.to_owned(), email: ACTIONS.1.to_owned() },
        })
    }
}
