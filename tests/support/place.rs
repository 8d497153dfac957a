//! A fake forge with one repository and a branch that is one commit ahead, and the adapter that talks to it.

use secrecy::SecretString;
use uplinker::{
    propose::forge::{
        Forge, ForgeError, NewPull, PullRequest,
        kind::{Listing, Opening},
        kinds,
        listing::Listed,
    },
    repo::CommitId,
    sys::http::Http,
};

use super::{
    controls::Fault,
    flavor::Flavor,
    github::{GitHub as Fake, Token},
    repo::{ADA, put},
    scene::{PLATFORM, REPO, TOKEN},
};

/// The fake, and what connects to it.
pub struct Place {
    pub fake: Fake,
    pub http: Http,
    flavor: Flavor,
}

// === impl Place ===

impl Place {
    /// Sets it up; `token` is what the adapter's own token is.
    pub fn new(flavor: Flavor, token: Token) -> Self {
        let fake = Fake::start_as(flavor);
        let repo = fake.repo(REPO, &[("a.yaml", "a: 1\n")]);
        repo.branch(PLATFORM, "main");
        repo.commit(PLATFORM, &ADA, "Ahead", &[put("a.yaml", "a: 2\n")]);
        fake.token(TOKEN, token);
        fake.controls().log.take();
        Self { fake, http: Http::new(None).expect("a client"), flavor }
    }

    pub fn forge(&self) -> Box<dyn Forge + '_> {
        self.forge_with(TOKEN)
    }

    /// The adapter with another token.
    pub fn forge_with(&self, token: &str) -> Box<dyn Forge + '_> {
        let kind = kinds::named(self.flavor.name()).expect("a forge");
        let api = format!("{}{}", self.fake.server().url(), kind.below);
        let api = url::Url::parse(&api).expect("a URL");
        let token = SecretString::from(token.to_owned());
        let git_url = self.fake.url(REPO);
        (kind.open)(Opening {
            http: &self.http,
            git_url: &git_url,
            api: &api,
            token: Some(&token),
            signs: false,
        })
        .expect("a forge")
    }

    /// What an owner has, as the adapter lists it.
    pub fn listed(&self, owner: &str) -> Result<Vec<Listed>, ForgeError> {
        let kind = kinds::named(self.flavor.name()).expect("a forge");
        let api = format!("{}{}", self.fake.server().url(), kind.below);
        let token = SecretString::from(TOKEN.to_owned());
        (kind.list)(Listing { http: &self.http, api: &api, token: &token, owner })
    }

    /// What was asked since it was last looked at, below the repository's own place in the API.
    pub fn requests(&self) -> Vec<String> {
        let root = self.flavor.repository(REPO);
        self.fake.controls().log.take().iter().map(|e| e.line().replace(&root, "")).collect()
    }

    pub fn fault(&self, method: &str, pattern: &str, fault: Fault) {
        self.fake.controls().rules.fault(method, &format!("*{pattern}"), fault);
    }

    /// Opens the pull request of the branch.
    pub fn open(&self) -> PullRequest {
        self.forge().open(&new_pull()).expect("opened")
    }

    /// What listing says, else opening.
    pub fn refusal(&self) -> String {
        let error = self.forge().pulls(PLATFORM).err().or_else(|| self.forge().open(&new_pull()).err());
        error.expect("refused").to_string()
    }

    /// The head of the first pull request.
    pub fn head(&self) -> CommitId {
        commit(&self.fake.pull(REPO, 1).head_sha.to_string())
    }
}

/// A change of a place, and the words in which it refuses then.
pub type Refused = (fn(&Place), &'static str);

/// Holds that each change of a place is refused in its words.
pub fn is_refused(usual: fn() -> Place, rows: &[Refused]) {
    for (change, words) in rows {
        let place = usual();
        change(&place);
        let said = place.refusal();
        assert!(said.contains(words), "{said}");
    }
}

/// What every forge refuses in the same words.
pub const REFUSED_BY_ALL: [Refused; 4] = [
    (|p| p.fake.settings(REPO, |repo| repo.has_pulls = false), "requests are turned off in this repository"),
    (|p| p.fake.settings(REPO, |repo| repo.archived = true), "acme/config: the repository is archived"),
    (|p| p.fake.rename(REPO, "other/mesh"), "acme/config was renamed or moved to other/mesh"),
    (
        |p| p.fake.token(TOKEN, Token::fine_grained("robot").only("acme/other")),
        "acme/config: not found, or the token may not see it",
    ),
];

/// The pull request of the branch.
pub fn new_pull() -> NewPull {
    let (head, base) = (PLATFORM.into(), "main".into());
    NewPull { title: "Linkerd".into(), body: "Body".into(), head, base, draft: false }
}

/// The id of a commit.
pub fn commit(hex: &str) -> CommitId {
    let id = git2::Oid::from_str(hex).expect("an id");
    CommitId(id.as_bytes().try_into().expect("an id"))
}

/// Names, as they stand in a configuration.
pub fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}
