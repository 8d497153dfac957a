//! Step 10, propose: which repositories an owner has on GitHub.
//!
//! In: an owner, an organisation or a person. Out: what the token sees there.

use secrecy::ExposeSecret as _;

use super::{app, wire::Repo};
use crate::propose::forge::{ForgeError, kind::Listing, listing::Listed};

/// Lists what an organisation has, else what a person has.
pub(super) fn list(listing: Listing<'_, '_>) -> Result<Vec<Listed>, ForgeError> {
    let Listing { http, api, token, owner } = listing;
    let rest = app::rest(http, api, token.expose_secret(), (listing.host(), owner))?;
    let asked = rest.asked("cannot list the repositories", "metadata: read");
    let places = ["orgs", "users"].map(|kind| format!("/{kind}/{owner}/repos"));
    Ok(rest.whole::<Repo>(&places, &asked)?.into_iter().map(Listed::from).collect())
}

impl From<Repo> for Listed {
    fn from(repo: Repo) -> Self {
        Self { name: repo.full_name, address: repo.clone_url, archived: repo.archived }
    }
}
