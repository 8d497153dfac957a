//! Environment variables: the table of the program's own, and the place that reads them. Those by which a forge tells its
//! jobs where they run are the forge's; proxies and the system's authorities are looked up by the libraries that connect.
//!
//! An empty variable counts as unset, since a workflow passes an input that nobody gave as an empty text.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

/// One variable that the program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// The flag that says the same; the flag wins.
    pub flag: Option<&'static str>,
    /// What it is for; Markdown.
    pub meaning: &'static str,
}

/// The repository, a URL or a path.
pub const REPO: &str = "UPLINKER_REPO";
/// The forge.
pub const FORGE: &str = "UPLINKER_FORGE";
/// The API of the forge.
pub const FORGE_API_URL: &str = "UPLINKER_FORGE_API_URL";
/// The API of GitHub Enterprise Server.
pub const GITHUB_API_URL: &str = "UPLINKER_GITHUB_API_URL";
/// The token.
pub const TOKEN: &str = "UPLINKER_TOKEN";
/// The file with the token.
pub const TOKEN_FILE: &str = "UPLINKER_TOKEN_FILE";
/// The id of the GitHub App.
pub const GITHUB_APP_ID: &str = "UPLINKER_GITHUB_APP_ID";
/// Its private key.
pub const GITHUB_APP_KEY: &str = "UPLINKER_GITHUB_APP_KEY";
/// The file with that key.
pub const GITHUB_APP_KEY_FILE: &str = "UPLINKER_GITHUB_APP_KEY_FILE";
/// The file with the key for SSH.
pub const SSH_KEY_FILE: &str = "UPLINKER_SSH_KEY_FILE";
/// The list of known hosts.
pub const SSH_KNOWN_HOSTS: &str = "UPLINKER_SSH_KNOWN_HOSTS";
/// How commits are made.
pub const COMMITS: &str = "UPLINKER_COMMITS";
/// The key that signs commits.
pub const SIGNING_KEY: &str = "UPLINKER_SIGNING_KEY";
/// The file with that key.
pub const SIGNING_KEY_FILE: &str = "UPLINKER_SIGNING_KEY_FILE";
/// The file with certificate authorities.
pub const CA_FILE: &str = "UPLINKER_CA_FILE";
/// The release to go to.
pub const TO: &str = "UPLINKER_TO";
/// What makes a run end with exit code 4.
pub const FAIL_ON: &str = "UPLINKER_FAIL_ON";
/// Of which target a change is taken back.
pub const TARGET: &str = "UPLINKER_TARGET";
/// Whether `rollback` writes nothing.
pub const DRY_RUN: &str = "UPLINKER_DRY_RUN";
/// Whether the diff is shown.
pub const DIFF: &str = "UPLINKER_DIFF";
/// Whether `plan` ends with exit code 10.
pub const EXIT_CODE: &str = "UPLINKER_EXIT_CODE";
/// The feed that names the newest release.
pub const VERSIONCHECK_URL: &str = "UPLINKER_VERSIONCHECK_URL";
/// The Helm index.
pub const CHARTS_URL: &str = "UPLINKER_CHARTS_URL";
/// Mirrors of the charts.
pub const MIRRORS: &str = "UPLINKER_MIRRORS";
/// The name for the registry.
pub const REGISTRY_USERNAME: &str = "UPLINKER_REGISTRY_USERNAME";
/// Its password.
pub const REGISTRY_PASSWORD: &str = "UPLINKER_REGISTRY_PASSWORD";
/// Who else may know that password.
pub const REGISTRY_REALM: &str = "UPLINKER_REGISTRY_REALM";
/// Helm's file with the credentials of registries.
pub const HELM_REGISTRY_CONFIG: &str = "HELM_REGISTRY_CONFIG";
/// The folder of Docker's.
pub const DOCKER_CONFIG: &str = "DOCKER_CONFIG";
/// The feed of release notes.
pub const RELEASES_URL: &str = "UPLINKER_RELEASES_URL";
/// The milestones and notices of the operator.
pub const MILESTONES_URL: &str = "UPLINKER_MILESTONES_URL";
/// The cache's folder.
pub const CACHE_DIR: &str = "UPLINKER_CACHE_DIR";
/// Whether nothing is cached.
pub const NO_CACHE: &str = "UPLINKER_NO_CACHE";
/// The Helm program.
pub const HELM: &str = "UPLINKER_HELM";
/// The list of repositories of `serve`.
pub const REPOS_FILE: &str = "UPLINKER_REPOS_FILE";
/// Patterns of the repositories of `serve`.
pub const REPOS: &str = "UPLINKER_REPOS";
/// The part of that list.
pub const SHARD: &str = "UPLINKER_SHARD";
/// Whether `serve` makes one pass alone.
pub const ONCE: &str = "UPLINKER_ONCE";
/// The time between two passes of `serve`.
pub const INTERVAL: &str = "UPLINKER_INTERVAL";
/// Where `serve` answers HTTP.
pub const LISTEN: &str = "UPLINKER_LISTEN";
/// The secret of webhooks.
pub const WEBHOOK_SECRET: &str = "UPLINKER_WEBHOOK_SECRET";
/// The file with that secret.
pub const WEBHOOK_SECRET_FILE: &str = "UPLINKER_WEBHOOK_SECRET_FILE";
/// Whether `init` replaces files.
pub const FORCE: &str = "UPLINKER_FORCE";
/// The folder of `demo`.
pub const DIRECTORY: &str = "UPLINKER_DIRECTORY";
/// The output format.
pub const FORMAT: &str = "UPLINKER_FORMAT";
/// Colours.
pub const COLOR: &str = "UPLINKER_COLOR";
/// The form of the log.
pub const LOG_FORMAT: &str = "UPLINKER_LOG_FORMAT";
/// Less output.
pub const QUIET: &str = "UPLINKER_QUIET";
/// More output.
pub const VERBOSE: &str = "UPLINKER_VERBOSE";

/// The token that GitHub Actions and many tools hand out.
pub const GITHUB_TOKEN: &str = "GITHUB_TOKEN";
/// Set to `true` inside GitHub Actions.
pub const GITHUB_ACTIONS: &str = "GITHUB_ACTIONS";
/// The file that takes the step's summary.
pub const GITHUB_STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";
/// The file that takes the step's outputs.
pub const GITHUB_OUTPUT: &str = "GITHUB_OUTPUT";
/// Set to anything: no colours.
pub const NO_COLOR: &str = "NO_COLOR";
/// What kind of terminal it is.
pub const TERM: &str = "TERM";

const fn flag(name: &'static str, flag: &'static str, meaning: &'static str) -> Variable {
    Variable { name, flag: Some(flag), meaning }
}

/// Describes a variable that no flag stands for.
pub const fn bare(name: &'static str, meaning: &'static str) -> Variable {
    Variable { name, flag: None, meaning }
}

/// The program's own variables, in the order of the reference page.
pub const VARIABLES: &[Variable] = &[
    flag(REPO, "--repo", "The repository: a URL, or a path."),
    flag(FORGE, "--forge", "The forge by its name, such as `github`, or `directory:PATH`."),
    flag(FORGE_API_URL, "--forge-api-url", "The API of the forge, where it is not where that forge has it."),
    flag(GITHUB_API_URL, "--github-api-url", "The API of GitHub Enterprise Server."),
    bare(
        TOKEN,
        "The token for Git and the forge. There is no flag, as other users of a machine can read a command line.",
    ),
    flag(TOKEN_FILE, "--token-file", "A file with the token."),
    flag(
        SSH_KEY_FILE,
        "--ssh-key-file",
        "A file with the private key for remotes by SSH, without a passphrase; without it the SSH agent is asked.",
    ),
    flag(
        SSH_KNOWN_HOSTS,
        "--ssh-known-hosts",
        "The list of the servers' keys, as `ssh-keyscan` prints it; without it that of the user.",
    ),
    flag(
        GITHUB_APP_ID,
        "--github-app-id",
        "The id or the client id of a GitHub App, whose tokens are used then.",
    ),
    bare(GITHUB_APP_KEY, "The App's private key, in PEM."),
    flag(GITHUB_APP_KEY_FILE, "--github-app-key-file", "A file with that key."),
    flag(COMMITS, "--commits", "`git`, or `api` for commits that GitHub makes and signs."),
    bare(SIGNING_KEY, "The SSH key that signs commits, as `ssh-keygen -t ed25519` writes it."),
    flag(SIGNING_KEY_FILE, "--signing-key-file", "A file with that key."),
    flag(CA_FILE, "--ca-file", "A PEM file with further certificate authorities."),
    flag(TO, "--to", "The release to go to."),
    flag(
        FAIL_ON,
        "--fail-on",
        "`block`: exit code 4 also where a pull request says that it must not be merged.",
    ),
    flag(TARGET, "--target", "The target whose last change is taken back."),
    flag(DRY_RUN, "--dry-run", "`true`: `rollback` shows what it would propose, and writes nothing."),
    flag(DIFF, "--diff", "`true`: show the changes line by line."),
    flag(EXIT_CODE, "--exit-code", "`true`: exit code 10 where a change would be proposed."),
    flag(VERSIONCHECK_URL, "--versioncheck-url", "The feed that names the newest release."),
    flag(CHARTS_URL, "--charts-url", "The Helm index, or a registry with `oci://`."),
    flag(
        MIRRORS,
        "--mirror",
        "Mirrors of the charts, which are asked whether they have a release; separated by commas.",
    ),
    bare(REGISTRY_USERNAME, "The name for the registry of the charts, where it is one."),
    bare(REGISTRY_PASSWORD, "Its password, or a token in its place."),
    bare(
        REGISTRY_REALM,
        "Hosts that may be told a registry's password to give tokens for it, separated by commas, where they are neither the registry nor above it.",
    ),
    bare(
        HELM_REGISTRY_CONFIG,
        "The file with the credentials of registries, as `helm registry login` writes it; Helm's and Docker's own by default.",
    ),
    bare(DOCKER_CONFIG, "The folder of Docker's file, where it is not `.docker` in the home folder."),
    flag(RELEASES_URL, "--releases-url", "The feed of dates, notes and advice."),
    flag(MILESTONES_URL, "--milestones-url", "Further milestones and notices."),
    flag(CACHE_DIR, "--cache-dir", "The folder of the cache."),
    flag(NO_CACHE, "--no-cache", "`true`: cache nothing on disk."),
    flag(HELM, "--helm", "The Helm program that renders charts, or `off`."),
    flag(REPOS_FILE, "--repos-file", "The list of repositories that `serve` polls."),
    flag(
        REPOS,
        "--repos",
        "Patterns of repositories that `serve` polls, such as `acme/*`, separated by commas.",
    ),
    flag(SHARD, "--shard", "The part of that list, such as `0/4`."),
    flag(ONCE, "--once", "`true`: `serve` makes one pass over each repository, and ends."),
    flag(INTERVAL, "--interval", "The time between two passes of `serve`."),
    flag(LISTEN, "--listen", "Where `serve` answers HTTP, such as `:8080`; `healthcheck` asks there."),
    bare(WEBHOOK_SECRET, "The secret that a forge's webhooks are set up with."),
    flag(WEBHOOK_SECRET_FILE, "--webhook-secret-file", "A file with that secret."),
    flag(FORCE, "--force", "`true`: `init` replaces files that are there."),
    flag(DIRECTORY, "--directory", "The folder that `demo` works in."),
    flag(FORMAT, "--format", "`text`, `json` or `markdown`."),
    flag(COLOR, "--color", "`auto`, `always` or `never`."),
    flag(LOG_FORMAT, "--log-format", "`text`, or `json` for one object a line on standard error."),
    flag(QUIET, "--quiet", "`true`: print results and errors alone."),
    flag(VERBOSE, "--verbose", "How much is told, 0 to 2."),
    bare(GITHUB_TOKEN, "The token, where `UPLINKER_TOKEN` is not set."),
    bare(GITHUB_STEP_SUMMARY, "Inside GitHub Actions, the file that gets the report as Markdown."),
    bare(
        GITHUB_OUTPUT,
        "Inside GitHub Actions, the file that gets the outputs `proposed`, `url`, `release` and `exit`.",
    ),
    bare(NO_COLOR, "Set: no colours, unless `--color always` asks for them."),
    bare(TERM, "`dumb`: no colours and no progress."),
    bare(
        "HTTPS_PROXY",
        "The proxy for `https` addresses, of feeds, Git and the forge; `HTTP_PROXY` for `http`.",
    ),
    bare("NO_PROXY", "The hosts that are reached without it."),
    bare(
        "SSL_CERT_FILE",
        "The system's certificate authorities, where they are elsewhere; `SSL_CERT_DIR` for a folder.",
    ),
    bare("XDG_CACHE_HOME", "Where the cache is by default, in `uplinker`."),
    bare("HOME", "Where the cache is without that, in `.cache/uplinker`."),
];

/// The variables that are set; made once, passed on by reference.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, OsString>);

/// Tells whether a variable is there and empty.
pub fn is_set_to_nothing(name: &OsStr) -> bool {
    std::env::var_os(name).is_some_and(|value| value.is_empty())
}

// === impl Environment ===

impl Environment {
    /// Reads variables from the process.
    pub fn of_process(variables: &[Variable]) -> Self {
        Self::of(variables.iter().filter_map(|v| Some((v.name, std::env::var_os(v.name)?))))
    }

    /// Takes variables from a list.
    pub fn of<'n>(variables: impl IntoIterator<Item = (&'n str, impl Into<OsString>)>) -> Self {
        let set = variables.into_iter().map(|(name, value)| (name.to_owned(), value.into()));
        Self(set.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// Returns a variable as text; `None` where it is unset, empty, or not Unicode.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.to_str()
    }

    /// Returns a variable as a path.
    pub fn path(&self, name: &str) -> Option<std::path::PathBuf> {
        self.0.get(name).map(Into::into)
    }

    /// Tells whether this is a step of GitHub Actions.
    pub fn in_actions(&self) -> bool {
        self.get(GITHUB_ACTIONS) == Some("true")
    }
}

// Values may be secrets, so names alone are shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_counts_as_unset_and_values_are_not_shown() {
        let env = Environment::of([(TOKEN, "s3cret"), (TO, "")]);
        assert_eq!((env.get(TOKEN), env.get(TO)), (Some("s3cret"), None));
        assert_eq!(format!("{env:?}"), "{\"UPLINKER_TOKEN\"}");
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = VARIABLES.iter().map(|v| v.name).collect();
        assert_eq!(names.len(), VARIABLES.len());
    }
}
