//! A year of three environments, by chance: releases come out and are advised against, people merge late, close, push,
//! revert and edit by hand, deployers say what works; and a run every twelve hours. After each run the rules that hold at all
//! times are held against the repository itself. The real pipeline, a Git server, the fake GitHub; the time is given.
//!
//! `cargo test` takes a part of one year. `UPLINKER_YEARS=20 cargo test --release --test year` takes whole ones;
//! `UPLINKER_SEED=7` begins with that one, `UPLINKER_STEPS=100` ends them earlier.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write as _,
};

use git2::Oid;
use jiff::Timestamp;
use secrecy::SecretString;
use support::{
    github::{GitHub, Level, Merge, Pull, Status, Token},
    process::Home,
    repo::{ADA, BEN, BareRepo, EPOCH, put},
    scene::{REPO, TOKEN},
};
use uplinker::{
    explain::{Marker, marker},
    linkerd::EdgeVersion,
    pipeline::{self, Operator, Rollback},
    propose::forge::github::{Address, GitHub as Forge},
    release::{Catalog, Chart, Guidance, Release},
    render::Off,
    repo::git::{GitRemote, RemoteOptions},
    report::RunReport,
    sys::http::Http,
};

const STEP: i64 = 12 * 3600;
const DAY: i64 = 24 * 3600;
/// Each environment with the one before it, and for how many days that must have run a release.
const ENVIRONMENTS: [(&str, Option<(&str, i64)>); 3] =
    [("dev", None), ("staging", Some(("dev", 1))), ("production", Some(("staging", 3)))];
/// The wave that goes before the other proxies of an environment, and for how many days it must have run a release.
const WAVE: (&str, i64) = ("-first", 2);
const CONFIG: &str = "version: 1\ndataPlane: {after: 1d, waves: [{name: first, namespaces: [trial], soak: 2d}]}\ntargets:\n\
  - {name: dev, paths: [dev], gates: {active: [\"kustomization/dev/*\"], onFailure: rollback}}\n\
  - {name: staging, paths: [staging], after: {target: dev, soak: 1d}, gates: {active: [\"kustomization/staging/*\"]}}\n\
  - {name: production, paths: [production], after: {target: staging, soak: 3d}}\n";

/// Chance that a seed tells again.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn of(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).expect("small")
    }

    fn percent(&mut self, p: u64) -> bool {
        self.next() % 100 < p
    }
}

/// What a person did that must not be lost.
struct Push {
    number: u64,
    branch: String,
    commit: Oid,
}

struct Year {
    chance: Chance,
    github: GitHub,
    repo: std::sync::Arc<BareRepo>,
    home: Home,
    http: Http,
    catalog: Catalog,
    now: i64,
    published: usize,
    pushes: Vec<Push>,
    /// What happened, for whoever has to understand a failure.
    story: String,
}

fn folders(environment: &str) -> Vec<String> {
    match environment {
        "production" => vec!["production/east".to_owned(), "production/west".to_owned()],
        one => vec![one.to_owned()],
    }
}

fn release_of(n: usize) -> EdgeVersion {
    format!("edge-26.{}.{}", 1 + n / 5, 1 + n % 5).parse().expect("a release")
}

fn chart(name: &str, version: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: {name}\n  namespace: linkerd\nspec:\n  \
         chart:\n    spec:\n      chart: {name}\n      version: {version}\n      sourceRef: {{kind: HelmRepository, name: \
         linkerd-edge, namespace: flux-system}}\n"
    )
}

fn files() -> Vec<(String, String)> {
    let first = release_of(0);
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata:\n  name: linkerd-edge\n  namespace: \
                  flux-system\nspec:\n  interval: 1h\n  url: https://helm.linkerd.io/edge\n";
    let web = |namespace: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: {namespace}}}\nspec:\n  template:\n    \
             metadata:\n      annotations:\n        config.linkerd.io/proxy-version: {first}\n    spec:\n      containers: \
             [{{name: web, image: shop/web:1}}]\n"
        )
    };
    let mut all = vec![("uplinker.yaml".to_owned(), CONFIG.to_owned())];
    for folder in ENVIRONMENTS.iter().flat_map(|(environment, _)| folders(environment)) {
        for name in ["linkerd-crds", "linkerd-control-plane"] {
            all.push((format!("{folder}/{name}.yaml"), chart(name, &first.chart().to_string())));
        }
        all.push((format!("{folder}/source.yaml"), source.to_owned()));
        all.push((format!("{folder}/web.yaml"), web("shop")));
        all.push((format!("{folder}/trial.yaml"), web("trial")));
    }
    all
}

// === impl Year ===

impl Year {
    fn new(seed: u64) -> Self {
        let github = GitHub::start();
        let repo = github.add(REPO, |path| {
            let repo = BareRepo::empty(path, "main");
            repo.set_clock(EPOCH);
            let files = files();
            let changes: Vec<_> = files.iter().map(|(path, text)| put(path, text)).collect();
            repo.commit("main", &ADA, "Begin", &changes);
            repo
        });
        github
            .token(TOKEN, Token::actions().having("checks", Level::Read).having("deployments", Level::Read));
        github.labels(REPO, &["linkerd: routine", "linkerd: attention", "linkerd: blocked"]);
        let mut year = Self {
            chance: Chance(seed),
            github,
            repo,
            home: Home::new(),
            http: Http::new(None).expect("a client"),
            catalog: Catalog::default(),
            now: EPOCH + 10 * DAY,
            published: 0,
            pushes: Vec::new(),
            story: format!("seed {seed}\n"),
        };
        year.publish();
        year
    }

    fn tell(&mut self, what: &str) {
        let _ = writeln!(self.story, "{}: {what}", Timestamp::from_second(self.now).expect("a time"));
    }

    fn publish(&mut self) {
        let version = release_of(self.published);
        self.published += 1;
        let chart = Chart {
            version: version.chart().to_string(),
            url: "https://helm.linkerd.io/edge/x.tgz".to_owned(),
            digest: Some("ab".repeat(32)),
            kube_version: None,
        };
        let names = ["linkerd-crds", "linkerd-control-plane"];
        let release = Release {
            version,
            published: Timestamp::from_second(self.now).ok(),
            // Some come before their charts do.
            charts: names
                .iter()
                .filter(|_| !self.chance.percent(5))
                .map(|name| ((*name).to_owned(), chart.clone()))
                .collect(),
            milestone: None,
            is_milestone: false,
            guidance: Guidance::Unknown,
            notes: None,
        };
        self.catalog.releases.insert(version, release);
        self.tell(&format!("{version} is out"));
    }

    /// Something changes in the world, by chance.
    fn world(&mut self) {
        if self.published < 50 && self.chance.percent(25) {
            self.publish();
        }
        if self.chance.percent(3) && self.published > 1 {
            let version = release_of(self.published - 1 - self.chance.of(2.min(self.published - 1)));
            let note = "It does not work.".to_owned();
            let guidance =
                Guidance::NotRecommended { instead: Vec::new(), note, source: "a release note".to_owned() };
            self.catalog.releases.get_mut(&version).expect("published").guidance = guidance;
            self.tell(&format!("{version} is advised against"));
        }
        for (environment, _) in ENVIRONMENTS {
            let state = match self.chance.of(10) {
                0 => "failure",
                1 => "pending",
                2 => continue,
                _ => "success",
            };
            let sha = self.repo.tip("main").expect("main").to_string();
            let at = self.now;
            self.github.settings(REPO, |repo| {
                repo.statuses.push(Status {
                    id: 7,
                    sha,
                    state: state.to_owned(),
                    context: format!("kustomization/{environment}/1"),
                    description: None,
                    target_url: None,
                    creator: "flux".to_owned(),
                    at,
                });
            });
            if state != "success" {
                self.tell(&format!("{environment}: {state}"));
            }
        }
    }

    /// People do what they do, by chance.
    fn people(&mut self) {
        for pull in self.github.pulls(REPO).into_iter().filter(|pull| pull.open) {
            let number = pull.number;
            let chance = self.chance.of(100);
            if !self.can_be_merged(&pull.head_ref) && matches!(chance, 0..35 | 44..48) {
                continue;
            }
            match chance {
                0..35 => {
                    // A merge on the branch, as ours are where the base branch moved, is one that GitHub does not rebase.
                    let ways = if self.is_linear(&pull.head_ref) { 3 } else { 2 };
                    let how = [Merge::Commit, Merge::Squash, Merge::Rebase][self.chance.of(ways)];
                    let delete = self.chance.percent(70);
                    self.tell(&format!("#{number} is merged, {how:?}: {}", pull.title));
                    self.github.merge(REPO, number, how, "ada", delete);
                }
                35..39 => {
                    self.tell(&format!("#{number} is closed: {}", pull.title));
                    self.github.close(REPO, number, "ada");
                }
                39..44 => {
                    let path = format!("docs/{number}-{}.md", self.now);
                    let commit = self.repo.commit(&pull.head_ref, &BEN, "Mine", &[put(&path, "mine\n")]);
                    self.github.change(REPO, number, |pull| pull.head_sha = commit);
                    self.pushes.push(Push { number, branch: pull.head_ref.clone(), commit });
                    self.tell(&format!("#{number}: a commit of a person"));
                }
                44..48 => {
                    self.github.update_branch(REPO, number, &ADA);
                    self.tell(&format!("#{number}: updated from the base branch"));
                }
                _ => {}
            }
        }
        match self.chance.of(100) {
            0..15 => {
                let text = format!("{}\n", self.now);
                self.repo.commit("main", &ADA, "Something else", &[put("apps/notes.md", &text)]);
            }
            15..18 => self.by_hand(1),
            18..22 => self.by_hand(-1),
            _ => {}
        }
    }

    /// Somebody moves an environment by one release, up or down.
    fn by_hand(&mut self, step: i64) {
        let environment = ENVIRONMENTS[self.chance.of(3)].0;
        let from = release_at(&self.repo, "main", environment);
        let at = (0..self.published).find(|n| release_of(*n) == from).expect("a release");
        let Some(to) = i64::try_from(at).ok().map(|at| at + step).filter(|to| *to >= 0) else { return };
        let to = usize::try_from(to).expect("small");
        if to >= self.published {
            return;
        }
        let (old, new) = (from.chart().to_string(), release_of(to).chart().to_string());
        let all = self.repo.files("main");
        let changed: Vec<(String, String)> = all
            .iter()
            .filter(|(path, _)| path.starts_with(&format!("{environment}/")) && path.contains("linkerd-"))
            .map(|(path, text)| (path.clone(), String::from_utf8_lossy(text).replace(&old, &new)))
            .collect();
        let changes: Vec<_> = changed.iter().map(|(path, text)| put(path, text)).collect();
        self.repo.commit("main", &ADA, "By hand", &changes);
        self.tell(&format!("{environment} by hand from {from} to {}", release_of(to)));
    }

    /// Tells whether a button on the page of a pull request works: the branch may have changed under it.
    fn can_be_merged(&self, branch: &str) -> bool {
        let git = self.repo.open();
        let commit = |name| git.find_commit(self.repo.tip(name)?).ok();
        let (Some(ours), Some(theirs)) = (commit("main"), commit(branch)) else { return false };
        git.merge_commits(&ours, &theirs, None).is_ok_and(|index| !index.has_conflicts())
    }

    fn is_linear(&self, branch: &str) -> bool {
        let git = self.repo.open();
        let mut walk = git.revwalk().expect("a walk");
        walk.push(self.repo.tip(branch).expect("a branch")).expect("its tip");
        walk.hide(self.repo.tip("main").expect("main")).expect("its tip");
        walk.all(|id| git.find_commit(id.expect("an id")).expect("a commit").parent_count() == 1)
    }

    fn run(&self, back: Option<&str>) -> RunReport {
        let url = self.github.url(REPO);
        let secret = || SecretString::from(TOKEN.to_owned());
        let cache = self.home.path().join("cache/git");
        let options = RemoteOptions { cache: Some(cache), token: Some(secret()), ..RemoteOptions::default() };
        let remote = GitRemote::open(&url, options, &self.http).expect("a remote");
        let api = self.github.api().parse().expect("a URL");
        let address = Address::of(&url, Some(&api)).expect("an address");
        let forge = Forge::new(&self.http, address, Some(&secret())).expect("a forge");
        let operator = Operator {
            catalog: &self.catalog,
            indexes: &[],
            renderer: &Off,
            cache: None,
            to: None,
            now: Timestamp::from_second(self.now).expect("a time"),
            progress: &|_| (),
        };
        let done = match back {
            None => pipeline::run(&remote, &forge, &operator),
            Some(target) => {
                let wanted = Rollback { target: Some(target), dry_run: false };
                pipeline::roll_back(&remote, &forge, &operator, wanted)
            }
        };
        done.unwrap_or_else(|error| panic!("{error}\n{}", self.story))
    }

    fn step(&mut self) {
        self.now += STEP;
        self.github.set_clock(self.now);
        self.repo.set_clock(self.now);
        self.world();
        self.people();
        if self.chance.percent(3) {
            let target = ENVIRONMENTS[self.chance.of(3)].0;
            self.tell(&format!("{target} is to be taken back"));
            self.run(Some(target));
        }
        let report = self.run(None);
        for stage in &report.stages {
            let outcome = stage.outcome.as_ref().map(|outcome| format!("{outcome:?}")).unwrap_or_default();
            let outcome = outcome.split(['(', ' ']).next().unwrap_or_default().to_owned();
            if !matches!(outcome.as_str(), "" | "Unchanged") {
                self.tell(&format!("  {}, {}: {outcome}", stage.target, stage.stage.name()));
            }
        }
        let at = |(environment, _): (&str, _)| {
            format!("{environment} {}", release_at(&self.repo, "main", environment))
        };
        let at = ENVIRONMENTS.map(at).join(", ");
        self.tell(&format!("  {at}"));
        self.holds();
        let (world, writes) = (self.repo.refs(), self.github.controls().writes.count());
        self.run(None);
        assert_eq!(self.repo.refs(), world, "a second run moved a branch\n{}", self.story);
        assert_eq!(
            self.github.controls().writes.count(),
            writes,
            "a second run wrote something: {:#?}\n{}",
            self.github.controls().log.take().iter().map(|entry| entry.line()).collect::<Vec<_>>(),
            self.story
        );
        self.github.controls().log.take();
    }

    /// The rules that hold at all times.
    fn holds(&self) {
        let open: Vec<Pull> = self.github.pulls(REPO).into_iter().filter(|pull| pull.open).collect();
        let branches: BTreeSet<&str> = open.iter().map(|pull| pull.head_ref.as_str()).collect();
        assert_eq!(branches.len(), open.len(), "two pull requests of one branch\n{}", self.story);
        for pull in &open {
            let body = pull.body.clone().unwrap_or_default();
            let marker = marker::read(&body)
                .unwrap_or_else(|| panic!("no marker in #{}\n{}", pull.number, self.story));
            let theirs =
                |push: &&Push| push.branch == pull.head_ref && self.repo.contains(&push.branch, push.commit);
            if !marker.person && self.pushes.iter().find(theirs).is_none() {
                self.holds_of(pull, &marker);
            }
        }
        for Push { number, branch, commit } in &self.pushes {
            let is_open = open.iter().any(|pull| pull.number == *number);
            let lost = is_open && !self.repo.contains(branch, *commit);
            assert!(!lost, "the commit {commit} of a person is lost in #{number}\n{}", self.story);
        }
    }

    fn holds_of(&self, pull: &Pull, marker: &Marker) {
        let (target, number) = (marker.target.as_str(), pull.number);
        let wrong = |what: &str| panic!("#{number}, {}: {what}\n{}", pull.title, self.story);
        if marker.stage == "platform" && marker.undoes.is_none() {
            let (now, wanted) = (release_at(&self.repo, "main", target), marker.release);
            if wanted <= now {
                wrong(&format!("{target} is at {now} already"));
            }
            let before =
                ENVIRONMENTS.iter().find(|(name, _)| *name == target).and_then(|(_, before)| *before);
            if let Some((before, soak)) = before
                && !self.has_run(before, wanted, soak * DAY)
            {
                wrong(&format!("{before} has not run it"));
            }
        }
        let whole = target.strip_suffix(WAVE.0).unwrap_or(target);
        if marker.stage == "data-plane" && marker.release > release_at(&self.repo, "main", whole) {
            wrong("its proxies would be ahead of the control plane");
        }
        let is_last = marker.stage == "data-plane" && whole == target && marker.undoes.is_none();
        if is_last && !self.was(|rev| trial_at(&self.repo, rev, whole), marker.release, WAVE.1 * DAY) {
            wrong("the wave before has not run it");
        }
    }

    /// Tells whether an environment came to a release long enough ago and has been there or above since.
    fn has_run(&self, environment: &str, release: EdgeVersion, soak: i64) -> bool {
        self.was(|rev| release_at(&self.repo, rev, environment), release, soak)
    }

    fn was(&self, at: impl Fn(&str) -> EdgeVersion, release: EdgeVersion, soak: i64) -> bool {
        let git = self.repo.open();
        let mut next = Some(self.repo.tip("main").expect("main"));
        while let Some(id) = next {
            let commit = git.find_commit(id).expect("a commit");
            match at(&id.to_string()) {
                at if at < release => return false,
                at if at == release && commit.time().seconds() <= self.now - soak => return true,
                _ => {}
            }
            next = commit.parent_id(0).ok();
        }
        false
    }
}

/// Returns the oldest release that a chart of an environment names.
fn release_at(repo: &BareRepo, rev: &str, environment: &str) -> EdgeVersion {
    let files: BTreeMap<String, Vec<u8>> = repo.files(rev);
    let of_here = files.iter().filter(|(path, _)| path.starts_with(&format!("{environment}/")));
    let versions = of_here.filter_map(|(_, text)| {
        let text = String::from_utf8_lossy(text).into_owned();
        let version =
            text.lines().find_map(|line| line.trim().strip_prefix("version: ").map(str::to_owned))?;
        EdgeVersion::from_chart(&version)
    });
    versions.min().expect("a version")
}

/// Returns the oldest release that the proxies of an environment's wave are pinned to.
fn trial_at(repo: &BareRepo, rev: &str, environment: &str) -> EdgeVersion {
    let files = repo.files(rev);
    let of_here =
        files.iter().filter(|(path, _)| path.starts_with(environment) && path.ends_with("trial.yaml"));
    let releases = of_here.filter_map(|(_, text)| {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines()
            .find_map(|line| line.trim().strip_prefix("config.linkerd.io/proxy-version: ")?.parse().ok())
    });
    releases.min().expect("a release")
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

#[test]
fn the_rules_hold_at_every_step_of_a_year() {
    let first = number("UPLINKER_SEED").unwrap_or(1);
    let (years, steps) = match number("UPLINKER_YEARS") {
        Some(years) => (years, number("UPLINKER_STEPS").unwrap_or(2 * 365)),
        None => (1, 60),
    };
    for seed in first..first + years {
        let mut year = Year::new(seed);
        (0..steps).for_each(|_| year.step());
        let merged = year.github.pulls(REPO).iter().filter(|pull| pull.merged_at.is_some()).count();
        assert!(merged > 5, "little happened\n{}", year.story);
        println!("seed {seed}: {} pull requests, {merged} merged", year.github.pulls(REPO).len());
    }
}
