//! Step 10, propose: which repositories an owner has on Gitea and Forgejo.
//!
//! In: an owner, an organisation or a person. Out: what the token's user sees there.

use secrecy::ExposeSecret as _;

use super::{MANNERS, SENT, wire::Repo};
use crate::propose::forge::{
    ForgeError,
    kind::Listing,
    listing::Listed,
    rest::{Plain, Rest},
};

/// Lists what an owner has. An organisation is a user too, and asked for as one it takes no scope of its own.
pub(super) fn list(listing: Listing<'_, '_>, forge: &'static str) -> Result<Vec<Listed>, ForgeError> {
    let Listing { http, api, token, owner } = listing;
    let host = listing.host();
    let wire = Plain::new(http, (api, host), Some(token), SENT)?;
    let rest = Rest::new(http, Box::new(wire), MANNERS, (forge, host, owner), Some(token.expose_secret()));
    let asked = rest.asked("cannot list the repositories", "read:repository");
    let places = ["users", "orgs"].map(|kind| format!("/{kind}/{owner}/repos"));
    let listed =
        |repo: Repo| Listed { name: repo.full_name, address: repo.clone_url, archived: repo.archived };
    Ok(rest.whole(&places, &asked)?.into_iter().map(listed).collect())
}
