//! Step 10, propose: which projects a group has on GitLab.
//!
//! In: a group of any depth, or a person. Out: the projects that the token sees there and in the groups below, but for
//! archived ones, which GitLab leaves out itself.

use secrecy::ExposeSecret as _;
use serde::Deserialize;

use super::{KIND, MANNERS, SENT, encoded};
use crate::propose::forge::{
    ForgeError,
    kind::Listing,
    listing::Listed,
    rest::{Plain, Rest},
};

/// A project in a list.
#[derive(Debug, Deserialize)]
struct Project {
    path_with_namespace: String,
    http_url_to_repo: String,
}

/// Lists what a group has, else what a person has.
pub(super) fn list(listing: Listing<'_, '_>) -> Result<Vec<Listed>, ForgeError> {
    let Listing { http, api, token, owner } = listing;
    let host = listing.host();
    let wire = Plain::new(http, (api, host), Some(token), SENT)?;
    let rest = Rest::new(
        http,
        Box::new(wire),
        MANNERS,
        (KIND.dialect.forge, host, owner),
        Some(token.expose_secret()),
    );
    let asked = rest.asked("cannot list the projects", "read_api");
    // By their numbers, so that what is made meanwhile comes last and nothing moves from page to page.
    let query = "archived=false&simple=true&order_by=id&sort=asc";
    let name = encoded(owner);
    let places = [
        format!("/groups/{name}/projects?include_subgroups=true&with_shared=false&{query}"),
        format!("/users/{name}/projects?{query}"),
    ];
    let listed = |project: Project| Listed {
        name: project.path_with_namespace,
        address: project.http_url_to_repo,
        archived: false,
    };
    Ok(rest.whole(&places, &asked)?.into_iter().map(listed).collect())
}
