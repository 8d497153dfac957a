//! The requests that tests expect, as GitHub is asked; `FORGE.lines` says what they are elsewhere.

/// Reading the branches.
pub const LOOK: &str = "GET /acme/config.git/info/refs?service=git-upload-pack";
/// Fetching one commit.
pub const FETCH: &str = "GET /acme/config.git/info/refs?service=git-upload-pack\n\
                         POST /acme/config.git/git-upload-pack\nPOST /acme/config.git/git-upload-pack";
/// Asking who commits, with a token that has no user by REST.
pub const WHO: &str = "GET /api/v3/user\nPOST /api/graphql";
/// The same with a person's token.
pub const WHO_OF_A_PERSON: &str = "GET /api/v3/user";
/// The last look at the branches, and the push.
pub const PUSH: &str = "GET /acme/config.git/info/refs?service=git-upload-pack\n\
                        GET /acme/config.git/info/refs?service=git-receive-pack\n\
                        POST /acme/config.git/git-receive-pack";
/// The same where GitHub makes the commit and signs it.
pub const SIGNED_PUSH: &str = "GET /acme/config.git/info/refs?service=git-upload-pack\n\
                           POST /api/v3/repos/acme/config/git/trees\n\
                           POST /api/v3/repos/acme/config/git/commits\n\
                           GET /acme/config.git/info/refs?service=git-receive-pack\n\
                           POST /acme/config.git/git-receive-pack";
/// Deleting a branch.
pub const DELETE: &str = "GET /acme/config.git/info/refs?service=git-receive-pack\n\
                          POST /acme/config.git/git-receive-pack";

/// Setting the status of a commit.
pub const STATUS: &str = "POST /api/v3/repos/acme/config/statuses/[ID]";
/// Opening a pull request.
pub const OPEN: &str = "POST /api/v3/repos/acme/config/pulls";

/// Opening a pull request with its status and its label, and saying in its marker that they are there.
pub fn opens(number: u64) -> String {
    [OPEN, STATUS, &ask(number, "labels"), &read(number), &write(number)].join("\n")
}

/// Listing the pull requests of a branch.
pub fn list(branch: &str) -> String {
    let branch = branch.replace('/', "%2F");
    format!(
        "GET /api/v3/repos/acme/config/pulls?state=all&head=acme%3A{branch}&sort=created&direction=desc\
         &per_page=100&page=1"
    )
}

/// Listing what is open of several branches at once.
pub const OPEN_LIST: &str = "GET /api/v3/repos/acme/config/pulls?state=open&per_page=100&page=1";

/// Reading one pull request.
pub fn read(number: u64) -> String {
    format!("GET /api/v3/repos/acme/config/pulls/{number}")
}

/// Changing one pull request.
pub fn write(number: u64) -> String {
    format!("PATCH /api/v3/repos/acme/config/pulls/{number}")
}

/// Reading who closed one.
pub fn events(number: u64) -> String {
    format!("GET /api/v3/repos/acme/config/issues/{number}/events?per_page=100&page=1")
}

/// Adding labels or assignees to one, or asking for reviews.
pub fn ask(number: u64, what: &str) -> String {
    let list = if what == "requested_reviewers" { "pulls" } else { "issues" };
    format!("POST /api/v3/repos/acme/config/{list}/{number}/{what}")
}
