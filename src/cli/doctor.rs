//! `uplinker doctor`: what a run will need, looked at before anything is written.

use clap::Args;

use super::{
    Context, Error, Exit, Forge,
    args::LookArgs,
    error::MIRRORS,
    request::{HelmChoice, RunRequest},
    session::{self, RemoteOrHead, Session},
};
use crate::{
    config::Config,
    linkerd::CRDS,
    pins::Stage,
    pipeline::{self, Base},
    propose::{
        self, ATTENTION, BLOCKED, ROUTINE,
        forge::preflight::{Needed, Seen},
    },
    release::{Catalog, FeedState, Mirrors as _, Purpose, Stock},
    report::{Check, DoctorReport, Health},
    sys::files,
};

/// Look at what a run will need, and write nothing
///
/// Names each permission, setting and rule that is missing: whether the base branch can be read and branches can be
/// pushed, what the token may do as far as GitHub tells without a write, labels, rulesets over our branches, Helm, the
/// feeds, mirrors, the cache, and the clock.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    look: LookArgs,
}

const EXAMPLES: &str = "\
Examples:
  UPLINKER_TOKEN=... uplinker doctor --repo https://github.com/acme/mesh-config
  uplinker doctor --format json | jq '.checks[] | select(.state != \"ok\")'

Exit codes: 0 nothing that would end a run, 1 something would, 2 usage or configuration would, 5 only what may pass by
itself.";

/// What signs commits.
const SIGNING: &str = "`--signing-key-file` names an SSH key that signs them anywhere";

/// Runs the command.
pub(super) fn execute(args: DoctorArgs, context: &Context) -> Result<Exit, Error> {
    let DoctorArgs { look } = args;
    let request = context.request(look)?;
    let session = Session::open(request.network.ca_file.as_deref(), &context.terminal)?;
    let mut examination = Examination { session: &session, request: &request, found: Vec::new() };
    examination.machine();
    examination.feeds();
    examination.remote();
    context.terminal.clear();
    let exits: Vec<Exit> = examination.found.iter().map(|(_, exit)| *exit).collect();
    let checks = examination.found.into_iter().map(|(check, _)| check).collect();
    let report = DoctorReport::new(request.repository.to_string(), checks);
    context.print(&report.render(context.style(false)))?;
    Ok(Exit::worst(&exits))
}

/// What has been looked at so far, with how a run would end by each.
struct Examination<'a> {
    session: &'a Session<'a>,
    request: &'a RunRequest,
    found: Vec<(Check, Exit)>,
}

// === impl Examination ===

impl Examination<'_> {
    fn add(&mut self, name: &str, state: Health, message: impl Into<String>, hint: Option<&str>) {
        let hints = hint.into_iter().filter(|hint| !hint.is_empty()).map(str::to_owned).collect();
        self.found.push((Check { name: name.to_owned(), state, message: message.into(), hints }, Exit::Done));
    }

    fn fails(&mut self, name: &str, error: &Error) {
        let mistakes = error.config.iter().map(|errors| errors.to_string().replace('\n', "; "));
        let parts = [error.message.clone()].into_iter().chain(error.causes.iter().cloned()).chain(mistakes);
        let message = parts.collect::<Vec<_>>().join(": ");
        let state = Health::Failure;
        self.found.push((
            Check { name: name.to_owned(), state, message, hints: error.hints.clone() },
            error.exit(),
        ));
    }

    /// Helm and the cache.
    fn machine(&mut self) {
        match (self.request.helm.program(), &self.request.helm) {
            (None, _) => self.add("helm", Health::Warning, "off: nothing is rendered", None),
            (Some(helm), choice) => match (helm.version(), choice) {
                (Ok(version), _) => self.add("helm", Health::Ok, version, None),
                (Err(error), HelmChoice::Program(_)) => self.fails("helm", &Error::usage(error.to_string())),
                (Err(error), _) => self.add("helm", Health::Warning, error.to_string(), None),
            },
        }
        match self.request.network.cache_dir.as_deref() {
            None => self.add("cache", Health::Warning, "off: every run fetches all that it needs", None),
            Some(folder) => match files::private_folder(folder) {
                Ok(()) => self.add("cache", Health::Ok, folder.display().to_string(), None),
                Err(error) => {
                    let hint = "name a folder of its own with `--cache-dir`; without it every run fetches all that it needs";
                    let message = format!("{}: {error}", folder.display());
                    self.add("cache", Health::Warning, message, Some(hint));
                }
            },
        }
    }

    fn feeds(&mut self) {
        let token = session::releases_token(self.request);
        let catalog = match self.session.catalog(&self.request.network, token, Purpose::Everything) {
            Ok(catalog) => catalog,
            Err(error) => return self.fails("feeds", &error),
        };
        for feed in &catalog.feeds {
            let name = format!("feed-{}", feed.name);
            match &feed.state {
                FeedState::Read => self.add(&name, Health::Ok, "read", None),
                FeedState::Off => self.add(&name, Health::Ok, "off", None),
                FeedState::Failed(reason) => self.add(&name, Health::Warning, reason, Some(MIRRORS)),
            }
        }
        self.mirrors(&catalog);
    }

    /// Each mirror, by one chart of the newest release.
    fn mirrors(&mut self, catalog: &Catalog) {
        let Some(newest) = pipeline::newest(catalog) else { return };
        let asked = self.session.mirrors(&self.request.network);
        for mirror in &self.request.network.feeds.mirrors {
            let version = newest.chart();
            let stock = asked.stock(&mirror.to_string(), CRDS, &version);
            let (state, said) = match stock {
                Stock::There => (Health::Ok, format!("has {CRDS} {version}")),
                Stock::Absent => (Health::Ok, format!("answers; {CRDS} {version} is not there (yet)")),
                Stock::Unread(reason) => (Health::Warning, format!("cannot be asked: {reason}")),
            };
            let hint = (state == Health::Warning)
                .then_some("no release that it has to have is proposed until it answers");
            self.add("mirror", state, format!("{mirror} {said}"), hint);
        }
    }

    /// Takes what was looked at, or notes why it could not be.
    fn taken<T>(&mut self, name: &str, looked: Result<T, Error>) -> Option<T> {
        looked.map_err(|error| self.fails(name, &error)).ok()
    }

    /// The repository, by Git and on its forge; what hangs on something that is missing is not looked at.
    fn remote(&mut self) -> Option<()> {
        let (session, request) = (self.session, self.request);
        let place = session.place(request, true).and_then(|place| match place {
            RemoteOrHead::Remote(url) => Ok(url),
            RemoteOrHead::Head(_) => Err(session::no_origin(&request.repository)),
        });
        let url = self.taken("repository", place)?;
        let forge = self.taken("forge", session::choose_forge(request, &url))?;
        let token = self.taken("token", session.token(request, &url))?;
        let remote = self.taken("repository", session.remote(&url, request, token.as_ref(), Some(&forge)))?;
        let no_catalog = Catalog::default();
        let base = session.operate(request, &no_catalog, |operator| Base::read(&remote, operator));
        let of_config = base.as_ref().is_err_and(|error| error.config.is_some());
        let (base, config) = self.taken(if of_config { "configuration" } else { "base-branch" }, base)?;
        let tip = base.tip.id.to_string();
        let read = format!("`{}` can be read, at {}", base.branch, tip.get(..12).unwrap_or(&tip));
        self.add("base-branch", Health::Ok, read, None);
        match remote.may_push() {
            Ok(Some(())) => self.add("push", Health::Ok, "the token may push", None),
            Ok(None) => self.add("push", Health::Unknown, "shows only when it is tried", None),
            Err(error) => self.fails("push", &error.into()),
        }
        if let Forge::Hosted { kind, api } = forge {
            let forge = self.taken("token", session.hosted(request, kind, (&url, &api), token.as_ref()))?;
            self.commits(forge.as_ref(), config.commit.author.is_some());
            for (subject, seen) in forge.preflight(&needed(&base, &config)) {
                self.seen(subject.name(), seen);
            }
        }
        Some(())
    }

    /// Whether commits will be verified.
    fn commits(&mut self, forge: &dyn propose::forge::Forge, is_of_another: bool) {
        let name = forge.dialect().forge;
        let by_forge = match (self.request.forge_signs, is_of_another) {
            (false, _) => Err(None),
            (true, true) => Err(Some("it signs for the token's user, and `commit.author` names somebody")),
            (true, false) => forge.signs().map_err(Some),
        };
        let unsigned = |why: Option<&str>| why.map(|why| format!("{name} does not sign them: {why}"));
        let (message, hint) = match (by_forge, &self.request.signing_key) {
            (Ok(()), _) => (format!("will be verified: {name} makes and signs them"), None),
            (Err(why), Some(key)) => {
                let key = key.fingerprint();
                let listed = format!(
                    "will be verified where {name} has {key}, which signs them, as a signing key of their author"
                );
                (unsigned(why).map_or(listed.clone(), |why| format!("{listed}; {why}")), None)
            }
            (Err(why), None) => {
                let why = unsigned(why).unwrap_or_else(|| "nothing signs them".to_owned());
                let of_forge = forge.signing_hint().filter(|_| !self.request.forge_signs);
                let hint: Vec<&str> = of_forge.into_iter().chain([SIGNING]).collect();
                (format!("are not verified, because {why}"), Some(hint.join("; ")))
            }
        };
        self.add("commits", Health::Ok, message, hint.as_deref());
    }

    fn seen(&mut self, name: &str, seen: Seen) {
        match seen {
            Seen::Fine(message) => self.add(name, Health::Ok, message, None),
            Seen::Lacking(message, hint) => self.add(name, Health::Warning, message, Some(&hint)),
            Seen::Untold(message, hint) => self.add(name, Health::Unknown, message, Some(&hint)),
            Seen::Failed(error) => self.fails(name, &error.into()),
            Seen::Ruled { rule, branch, stops } => {
                let message = format!("a ruleset covers `{branch}`: {rule}");
                match stops {
                    true => self.fails(name, &Error::failed(message).hint(rule.hint())),
                    false => self.add(name, Health::Warning, message, Some(rule.hint())),
                }
            }
        }
    }
}

/// What runs by this configuration will want of the forge.
fn needed(base: &Base, config: &Config) -> Needed {
    let branch = |target: &str, stage| propose::branch(&config.branch.prefix, target, stage);
    let stages = [Stage::Platform, Stage::DataPlane];
    let targets = config.targets.iter().map(|target| target.target.name.as_str());
    let own = [ROUTINE, ATTENTION, BLOCKED].map(str::to_owned);
    Needed {
        branches: targets.flat_map(|target| stages.map(|stage| branch(target, stage))).collect(),
        history: config.branch.options.history,
        labels: own.into_iter().chain(config.pull_request.extras.labels.iter().cloned()).collect(),
        gates: config
            .targets
            .iter()
            .any(|target| !(target.gates.active.is_empty() && target.gates.proposed.is_empty())),
        tip: base.tip.id,
    }
}
