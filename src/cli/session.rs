//! From a request to the pipeline: opens the client, the feeds, the remote and the forge that the request names.
//!
//! In: ready requests. Out: reports. One session serves many requests with one client and one catalog.
#![allow(clippy::disallowed_methods, reason = "the time is taken here, once a pass")]

mod credentials;
mod operator;

use std::{mem::ManuallyDrop, path::Path, sync::Arc};

use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    Error, Forge, Network, PinsRequest, RemoteUrl, Repository, RunRequest,
    request::{ReleasesRequest, VerifyRequest},
};
use crate::{
    helm::{Evaluate, Evaluator},
    linkerd::EdgeVersion,
    pins::Applier,
    pipeline::{self, Operator, Rollback},
    policy::{self, Needs, Policy},
    propose::{
        self,
        forge::{
            directory::{Access, DirectoryForge},
            kind::{Kind, Opening},
            kinds,
        },
    },
    release::{self, Catalog, FeedState, Purpose, SourceSetting, Sources},
    repo::{
        GitError, Remote, Tree, Upstream,
        git::{GitRemote, LocalHead, RemoteOptions, SshOptions, check_path, open_path},
    },
    report::{Note, PinsReport, ReleaseRow, ReleasesReport, RunReport, StatusReport, VerifyReport},
    sys::{
        git_options::{self, GitOptions},
        http::{Http, Traffic},
        secrets::Token,
        terminal::Terminal,
    },
};

/// The host of the API of github.com.
const API: &str = "api.github.com";

/// What is opened once for all requests of a process.
pub(super) struct Session<'t> {
    http: Http,
    terminal: &'t Terminal,
}

/// Where a request's commits come from and go to.
pub(super) enum RemoteOrHead {
    /// A remote, by URL or by the path of a bare folder.
    Remote(String),
    /// The HEAD commit of a clone.
    Head(Box<LocalHead>),
}

// === impl Session ===

impl<'t> Session<'t> {
    /// Sets up HTTP and Git for this process, in this order; called before any thread starts.
    pub fn open(ca_file: Option<&Path>, terminal: &'t Terminal) -> Result<Self, Error> {
        let http = Http::new(ca_file);
        set_up_git(ca_file)?;
        Ok(Self { http: http?, terminal })
    }

    /// Returns what counts the requests of this process.
    pub fn traffic(&self) -> Traffic {
        self.http.traffic().clone()
    }

    /// Reads the feeds.
    pub fn catalog(
        &self,
        network: &Network,
        token: Option<&Token>,
        purpose: Purpose,
    ) -> Result<Catalog, Error> {
        self.terminal.progress("reading releases");
        let releases_token = token.filter(|_| asks_github(&network.feeds)).map(Token::secret);
        let sources = Sources { releases_token, ..network.feeds.clone() };
        let passwords = network.feeds.registries.passwords();
        let passwords = passwords.filter_map(|secret| Token::new(secret.expose_secret(), "").ok());
        passwords.for_each(|password| self.terminal.hide(&password));
        let cache = operator::feed_cache(network);
        Ok(release::load(&self.http, cache.as_ref(), &sources, purpose)?)
    }

    /// Reads the feeds for one pass; for a folder that is no repository, none.
    pub fn catalog_for(&self, request: &RunRequest) -> Result<Catalog, Error> {
        if let Repository::Path(path) = &request.repository {
            check_path(path).map_err(|e| no_such_path(path, e))?;
        }
        let catalog =
            self.catalog(&request.network, releases_token(request), Purpose::Run { to: request.to })?;
        match request.to.filter(|to| is_nowhere(*to, &catalog)) {
            Some(to) => Err(no_such_release(to, &catalog)),
            None => Ok(catalog),
        }
    }

    /// One pass that proposes.
    pub fn run(&self, request: &RunRequest, catalog: &Catalog) -> Result<RunReport, Error> {
        self.write(request, catalog, pipeline::run)
    }

    /// Takes the last change of a target back.
    pub fn roll_back(
        &self,
        request: &RunRequest,
        catalog: &Catalog,
        wanted: Rollback<'_>,
    ) -> Result<RunReport, Error> {
        self.write(request, catalog, |remote, forge, operator| {
            pipeline::roll_back(remote, forge, operator, wanted)
        })
    }

    /// Opens the remote and the forge that a request names, to write to them.
    fn write(
        &self,
        request: &RunRequest,
        catalog: &Catalog,
        work: impl Fn(
            &dyn Upstream,
            &dyn propose::forge::Forge,
            &Operator<'_>,
        ) -> Result<RunReport, pipeline::Error>,
    ) -> Result<RunReport, Error> {
        let url = match self.place(request, true)? {
            RemoteOrHead::Remote(url) => url,
            RemoteOrHead::Head(_) => return Err(no_origin(&request.repository)),
        };
        self.with_token(request, &url, |token| {
            let forge = choose_forge(request, &url)?;
            let remote = self.remote(&url, request, token, Some(&forge))?;
            match forge {
                Forge::Directory(folder) => {
                    let forge = DirectoryForge::new(&folder, &remote, Access::Write);
                    self.operate(request, catalog, |operator| work(&remote, &forge, operator))
                }
                Forge::Hosted { kind, api } => {
                    let forge = self.hosted(request, kind, (&url, &api), token)?;
                    self.operate(request, catalog, |operator| work(&remote, forge.as_ref(), operator))
                }
            }
        })
    }

    /// The same with no write.
    pub fn plan(&self, request: &RunRequest, catalog: &Catalog) -> Result<RunReport, Error> {
        let of_head = |head: LocalHead, operator: &Operator<'_>| {
            pipeline::plan_head(head, &request.repository.to_string(), operator)
        };
        self.look(request, catalog, of_head, pipeline::plan_remote)
    }

    /// Where every target stands.
    pub fn status(
        &self,
        request: &RunRequest,
        catalog: &Catalog,
        history: bool,
    ) -> Result<StatusReport, Error> {
        let of_head = |head: LocalHead, operator: &Operator<'_>| {
            pipeline::status_head(head, &request.repository.to_string(), operator)
        };
        let of_remote = |remote: &dyn Upstream,
                         forge: Result<&dyn propose::forge::Forge, &str>,
                         operator: &Operator<'_>| {
            pipeline::status_remote(remote, forge, operator, history)
        };
        self.look(request, catalog, of_head, of_remote)
    }

    /// Looks at a clone, or at a remote and its forge, where that may be asked.
    fn look<T>(
        &self,
        request: &RunRequest,
        catalog: &Catalog,
        of_head: impl FnOnce(LocalHead, &Operator<'_>) -> Result<T, pipeline::Error>,
        of_remote: impl Fn(
            &dyn Upstream,
            Result<&dyn propose::forge::Forge, &str>,
            &Operator<'_>,
        ) -> Result<T, pipeline::Error>,
    ) -> Result<T, Error> {
        let url = match self.place(request, false)? {
            RemoteOrHead::Head(head) => {
                return self.operate(request, catalog, |operator| of_head(*head, operator));
            }
            RemoteOrHead::Remote(url) => url,
        };
        self.with_token(request, &url, |token| {
            let forge = choose_forge(request, &url);
            let remote = self.remote(&url, request, token, forge.as_ref().ok())?;
            let ask = |forge: Result<&dyn propose::forge::Forge, &str>| {
                self.operate(request, catalog, |operator| of_remote(&remote, forge, operator))
            };
            match forge {
                Ok(Forge::Directory(folder)) => ask(Ok(&DirectoryForge::new(&folder, &remote, Access::Read))),
                Ok(Forge::Hosted { .. }) if token.is_none() => ask(Err("no token was given")),
                Ok(Forge::Hosted { kind, api }) => {
                    ask(Ok(self.hosted(request, kind, (&url, &api), token)?.as_ref()))
                }
                Err(error) => ask(Err(&error.message)),
            }
        })
    }

    /// Every pin and every skip of a remote.
    fn pins(&self, url: &str, request: &PinsRequest) -> Result<PinsReport, Error> {
        let options = reading(request.cache_dir.as_deref(), request.token.as_ref(), &request.ssh);
        let remote = GitRemote::open(url, options, &self.http)?;
        list_pins(request, |helm| {
            default_branch(&remote, |tree| pipeline::pins(tree, request.to, helm.clone()))
        })
    }

    /// The committed manifests against their charts, and versions against each other. Where nothing is committed, the
    /// charts are not needed, nor the index that names them.
    pub fn verify(&self, request: &VerifyRequest) -> Result<VerifyReport, Error> {
        if let Repository::Path(path) = &request.repository {
            check_path(path).map_err(|e| no_such_path(path, e))?;
        }
        let (catalog, failed) = match self.catalog(&request.network, None, Purpose::Everything) {
            Ok(catalog) => (catalog, None),
            Err(error) => (Catalog::default(), Some(error)),
        };
        let renderer = self.renderer(&request.helm, &request.network, &catalog);
        self.terminal.progress("rendering");
        let verify = |tree: &dyn Tree| pipeline::verify(tree, &catalog, renderer.as_ref(), Timestamp::now());
        let report = match &request.repository {
            Repository::Path(path) => verify(&open_path(path)?.tree)?,
            Repository::Remote(url) => {
                let cache = request.network.cache_dir.as_deref();
                let options = reading(cache, request.token.as_ref(), &request.ssh);
                let remote = GitRemote::open(url.as_str(), options, &self.http)?;
                default_branch(&remote, verify)?
            }
        };
        if let Some(error) = failed.filter(|_| !report.manifests.is_empty()) {
            let off = request.network.feeds.charts.is_off();
            let without = || {
                Error::usage("committed manifests are compared with their charts, and `--charts-url` is off")
            };
            return Err(if off {
                without().hint("leave it out, or name a mirror or file://...")
            } else {
                error
            });
        }
        // Without Helm nothing is known, which is not the same as a difference.
        let helm = if report.manifests.is_empty() { Ok(String::new()) } else { renderer.helm() };
        helm.map(|_| report).map_err(|e| match renderer.misnamed() {
            Some(misnamed) => pipeline::Error::Helm(misnamed).into(),
            None => Error::failed("cannot render").because(e),
        })
    }

    /// The catalog, with the reason for each release that is passed over.
    pub fn releases(&self, request: &ReleasesRequest) -> Result<ReleasesReport, Error> {
        let catalog = self.catalog(&request.network, request.token.as_ref(), Purpose::Everything)?;
        let passed = policy::passed_over(&Policy::default(), &catalog, &Needs::default(), Timestamp::now());
        let row = |release: &release::Release| ReleaseRow {
            passed_over: passed.iter().find(|(v, _)| *v == release.version).map(|(_, why)| why.clone()),
            release: release.clone(),
        };
        Ok(ReleasesReport {
            releases: catalog.releases.values().rev().map(row).collect(),
            feeds: catalog.feeds,
            remarks: catalog.remarks.iter().map(|remark| Note::Index(remark).to_string()).collect(),
        })
    }

    /// A path is a remote for a run, where it is a bare folder or has an `origin`; for a plan only where it is a bare
    /// folder whose proposals are named too.
    pub(super) fn place(&self, request: &RunRequest, writes: bool) -> Result<RemoteOrHead, Error> {
        let path = match &request.repository {
            Repository::Remote(url) => return Ok(RemoteOrHead::Remote(url.as_str().to_owned())),
            Repository::Path(path) => path,
        };
        let head = open_path(path)?;
        if head.is_bare && (writes || request.forge.named_directory().is_some()) {
            return Ok(RemoteOrHead::Remote(path.display().to_string()));
        }
        match head.origin.clone().filter(|_| writes) {
            Some(origin) => Ok(RemoteOrHead::Remote(origin)),
            None => Ok(RemoteOrHead::Head(Box::new(head))),
        }
    }

    pub(super) fn remote(
        &self,
        url: &str,
        request: &RunRequest,
        token: Option<&Token>,
        forge: Option<&Forge>,
    ) -> Result<GitRemote<'_>, Error> {
        let user = match forge {
            Some(Forge::Hosted { kind, .. }) => Some(kind.git_user),
            Some(Forge::Directory(_)) | None => None,
        };
        let signing_key = request.signing_key.clone();
        let cache = request.network.cache_dir.as_deref();
        let options = RemoteOptions { user, signing_key, ..reading(cache, token, &request.ssh) };
        Ok(GitRemote::open(url, options, &self.http)?)
    }

    pub(super) fn hosted(
        &self,
        request: &RunRequest,
        kind: &Kind,
        (git_url, api): (&str, &url::Url),
        token: Option<&Token>,
    ) -> Result<Box<dyn propose::forge::Forge + '_>, Error> {
        let Some(token) = token else {
            let host = api.host_str().unwrap_or(kind.dialect.forge);
            return Err(Error::usage(format!("no token for {host}")).hint(format!(
                "set UPLINKER_TOKEN, or name a file with --token-file; it needs {}",
                kind.needs
            )));
        };
        let (token, signs): (SecretString, bool) = (token.secret(), request.forge_signs);
        Ok((kind.open)(Opening { http: &self.http, git_url, api, token: Some(&token), signs })?)
    }
}

/// What it takes to read a remote.
fn reading(cache: Option<&Path>, token: Option<&Token>, ssh: &SshOptions) -> RemoteOptions {
    let (cache, token) = (cache.map(|dir| dir.join("git")), token.map(Token::secret));
    RemoteOptions { cache, token, refusals: kinds::refusals(), ssh: ssh.clone(), ..RemoteOptions::default() }
}

/// Reads the tip of the remote's default branch, once more where the cache was damaged.
fn default_branch<T>(
    remote: &GitRemote<'_>,
    read: impl Fn(&dyn Tree) -> Result<T, pipeline::Error>,
) -> Result<T, Error> {
    let refs = remote.refs()?;
    let tip = refs.default_branch.as_ref().and_then(|name| Some((name, *refs.branches.get(name)?)));
    let (branch, tip) = tip.ok_or_else(|| pipeline::Error::Empty { url: remote.url() })?;
    let fetched = || -> Result<T, pipeline::Error> {
        remote.fetch(&[(branch, tip)])?;
        read(remote.tree(tip)?.as_ref())
    };
    match fetched() {
        Err(error) if error.is_of_objects() && remote.forget() => Ok(fetched()?),
        done => Ok(done?),
    }
}

/// Every pin and every skip. A path is read without a client, which takes longer to set up than a small repository to
/// read.
pub(super) fn pins(request: &PinsRequest, terminal: &Terminal) -> Result<PinsReport, Error> {
    match &request.repository {
        Repository::Path(path) => {
            set_up_git(request.ca_file.as_deref())?;
            // The process ends next, and need not let go of a hundred thousand paths before.
            let head = ManuallyDrop::new(open_path(path).map_err(|e| no_such_path(path, e))?);
            list_pins(request, |helm| Ok(pipeline::pins(&head.tree, request.to, helm)?))
        }
        Repository::Remote(url) => {
            Session::open(request.ca_file.as_deref(), terminal)?.pins(url.as_str(), request)
        }
    }
}

/// Finds who applies Linkerd in a clone, and where the clone comes from.
pub(super) fn appliers(path: &Path) -> Result<(Option<String>, Vec<Applier>), Error> {
    set_up_git(None)?;
    let head = open_path(path).map_err(|e| no_such_path(path, e))?;
    Ok((head.origin, pipeline::appliers(&head.tree)?))
}

/// Lists with the operator's Helm, which is not looked for unless a chart of the repository asks for it.
fn list_pins(
    request: &PinsRequest,
    list: impl FnOnce(Option<Arc<dyn Evaluate>>) -> Result<PinsReport, Error>,
) -> Result<PinsReport, Error> {
    let Some(helm) = request.helm.program() else { return list(None) };
    let helm = Arc::new(helm);
    let report = list(Some(Arc::new(Evaluator::new(helm.clone(), request.cache_dir.as_deref()))))?;
    helm.misnamed().map_or(Ok(report), |error| Err(Error::usage(error.to_string())))
}

fn set_up_git(ca_file: Option<&Path>) -> Result<(), Error> {
    let options = GitOptions { ca_file: ca_file.map(Path::to_owned), ..GitOptions::default() };
    git_options::apply(&options).map_err(|e| {
        Error::usage(e.to_string()).hint("`--ca-file` takes a PEM file with one or more certificates")
    })
}

/// Tells whether a release is in no feed, though every feed that is on was read.
fn is_nowhere(release: EdgeVersion, catalog: &Catalog) -> bool {
    let failed = |feed: &release::Feed| matches!(feed.state, FeedState::Failed(_));
    catalog.get(release).is_none() && !catalog.feeds.iter().any(failed)
}

fn no_such_release(to: EdgeVersion, catalog: &Catalog) -> Error {
    let error = Error::usage(format!("--to: no feed names {to}"));
    match catalog.releases.keys().next_back() {
        Some(newest) => error.hint(format!("the newest is {newest}; `uplinker releases` lists them")),
        None => error.hint("the feeds name no release at all"),
    }
}

/// Adds what may have been meant by a path that leads nowhere.
fn no_such_path(path: &Path, error: GitError) -> Error {
    let text = path.display().to_string();
    let mut parts = text.split('/');
    let host = parts.next().is_some_and(|host| host.contains('.') && !host.starts_with('.'));
    match host && parts.count() >= 2 && !path.exists() {
        true => Error::from(error).hint(format!("did you mean https://{text}?")),
        false => error.into(),
    }
}

/// A clone without `origin` says nothing of where to push.
pub(super) fn no_origin(repository: &Repository) -> Error {
    Error::usage(format!(
        "`{repository}` is a clone without a remote `origin`, so there is nowhere to push to"
    ))
    .hint("name the remote with --repo; `uplinker plan` works on the clone")
}

/// A bare folder on this machine has no forge but a directory.
pub(super) fn choose_forge(request: &RunRequest, url: &str) -> Result<Forge, Error> {
    if let Some(folder) = request.forge.named_directory() {
        return Ok(Forge::Directory(folder.to_owned()));
    }
    if Path::new(url).is_dir() {
        return Err(Error::usage(format!("{url} is a folder, and no forge is named"))
            .hint("name one with `--forge directory:PATH`"));
    }
    request.forge.choose(&RemoteUrl::parse(url)?)
}

/// Keeps the token of another server from github.com.
pub(super) fn releases_token(request: &RunRequest) -> Option<&Token> {
    let Repository::Remote(url) = &request.repository else { return None };
    request.token.as_ref().filter(|_| url.host().as_deref() == Some("github.com"))
}

/// A mirror of the release list gets no token: it was given for github.com.
fn asks_github(feeds: &Sources) -> bool {
    matches!(&feeds.releases, SourceSetting::Url(url) if url.host_str() == Some(API) && url.scheme() == "https")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_of_the_releases_gets_no_token() {
        let feeds = |releases: &str| Sources { releases: releases.parse().unwrap(), ..Sources::default() };
        assert!(asks_github(&Sources::default()));
        for other in ["https://mirror.example/releases", "http://api.github.com/x", "off", "file:///r.json"] {
            assert!(!asks_github(&feeds(other)), "{other}");
        }
    }
}
