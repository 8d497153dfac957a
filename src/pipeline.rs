//! The whole run; what is wanted and what is said are the steps'.
//!
//! In: a repository, its forge, and what the operator knows (catalog, time). Out: a [`RunReport`]. Each step is a call
//! into the folder of its name; what is asked of the outside, and in which order, is decided here alone.

mod base;
mod basis;
mod case;
mod decide;
mod draft;
mod error;
mod landed;
mod lists;
mod merging;
mod overview;
mod past;
mod promotion;
mod propose;
mod rendering;
mod rollback;
mod status;
mod survey;
mod targets;
mod upgrade;
mod verdict;
mod verify;
mod warm;

use std::{collections::BTreeSet, path::Path, sync::Arc};

use jiff::Timestamp;

use crate::{
    config::{self, Config},
    linkerd::EdgeVersion,
    pins::{Applier, Evaluate, Inventory, ScanOptions, Stage, scan},
    plan::Served,
    propose::forge::Forge,
    release::{Catalog, Mirrors},
    render::Renderer,
    repo::{GitError, RepoPath, Tree, Upstream, git::LocalHead},
    report::{HEAD_ALONE, Note, PinsReport, RunReport, StageReport, StatusReport, StatusRow, VerifyReport},
};

pub use base::Base;
pub use error::Error;
pub use status::newest;

use case::Case;
use draft::Draft;
use landed::{InHistory, Landed, OnRemote};
use merging::Merging;
use propose::Proposing;
use status::Standing;
use survey::Survey;
use targets::Aim;
use warm::Warm;

/// How often a pass begins again when branches move under it, before it is left to the next run.
const ATTEMPTS: usize = 4;

/// What holds for every repository of one run.
#[derive(Clone, Copy)]
pub struct Operator<'a> {
    /// What is known of releases.
    pub catalog: &'a Catalog,
    /// Where charts come from.
    pub served: &'a Served,
    /// The mirrors among them.
    pub mirrors: &'a dyn Mirrors,
    /// What renders charts.
    pub renderer: &'a dyn Renderer,
    /// The folder that keeps what need not be found out again.
    pub cache: Option<&'a Path>,
    /// `--to`.
    pub to: Option<EdgeVersion>,
    /// The time.
    pub now: Timestamp,
    /// Told what is going on, for people who wait.
    pub progress: &'a dyn Fn(&str),
}

// === impl Operator ===

impl<'a> Operator<'a> {
    /// Reads a tree; without a forge, a text is written as it suits all of them.
    fn survey<'s>(
        &self,
        tree: &'s dyn Tree,
        config: &'s Config,
        forge: Option<&dyn Forge>,
    ) -> Result<Survey<'s>, Error>
    where
        'a: 's,
    {
        let aim = Aim { to: self.to, now: Some(self.now) };
        let mut survey =
            Survey::new(tree, config, self.catalog, self.served, aim, self.renderer.evaluator())?;
        survey.dialect = forge.map_or(survey.dialect, Forge::dialect);
        Ok(survey)
    }
}

/// Lists every pin and every skip of a tree, judged against a release where one is given.
pub fn pins(
    tree: &dyn Tree,
    to: Option<EdgeVersion>,
    helm: Option<Arc<dyn Evaluate>>,
) -> Result<PinsReport, Error> {
    let config = config::read(tree)?;
    let catalog = Catalog::default();
    Ok(Survey::new(tree, &config, &catalog, &Served::default(), Aim { to, now: None }, helm)?.pins(to))
}

/// Lists who applies Linkerd in a tree: the Flux Kustomizations and Argo CD Applications that can report whether it works.
pub fn appliers(tree: &dyn Tree) -> Result<Vec<Applier>, Error> {
    let config = config::read(tree)?;
    let options = ScanOptions { ignore: config.ignore, ..ScanOptions::default() };
    let Inventory { pins, facts, .. } = scan(tree, &options)?;
    let of =
        |stage| pins.iter().filter(|pin| pin.stage == stage).map(|pin| &pin.path).collect::<BTreeSet<_>>();
    let (platform, data_plane) = (of(Stage::Platform), of(Stage::DataPlane));
    let is_linkerd = |path: &RepoPath| platform.contains(path) || !data_plane.contains(path);
    let appliers = facts.appliers.into_iter().filter(|(path, _)| is_linkerd(path));
    let mut all: Vec<Applier> = appliers.flat_map(|(_, appliers)| appliers).collect();
    all.sort_by(|a, b| (!a.flux, &a.namespace, &a.name).cmp(&(!b.flux, &b.namespace, &b.name)));
    all.dedup_by(|a, b| (a.flux, &a.namespace, &a.name) == (b.flux, &b.namespace, &b.name));
    Ok(all)
}

/// Compares the committed manifests of a tree with what their charts and values give.
pub fn verify(
    tree: &dyn Tree,
    catalog: &Catalog,
    renderer: &dyn Renderer,
    now: Timestamp,
) -> Result<VerifyReport, Error> {
    verify::verify(tree, catalog, renderer, now)
}

/// Says what a run would do for the commit that HEAD names in a clone. Reads nothing else, writes nothing.
pub fn plan_head(head: LocalHead, repository: &str, operator: &Operator<'_>) -> Result<RunReport, Error> {
    let (base, clone) = Base::of_head(head, repository);
    let config = config::read(base.tree())?;
    let survey = operator.survey(base.tree(), &config, None)?;
    let drafts = draft_all(&survey, &base, operator, &InHistory(&clone), None)?;
    let report = survey.report(&base, reports(drafts), operator.to);
    Ok(not_asked(report, HEAD_ALONE))
}

/// Says what a run would do for a remote. Writes nothing. What is on the forge is read where there is one, and where
/// it lets us; otherwise the report says why it was not.
pub fn plan_remote(
    remote: &dyn Upstream,
    forge: Result<&dyn Forge, &str>,
    operator: &Operator<'_>,
) -> Result<RunReport, Error> {
    match plan_once(remote, forge.ok(), operator) {
        Err(error) if error.is_of_objects() && remote.forget() => plan_remote(remote, forge, operator),
        Err(Error::Forge(error)) => plan_remote(remote, Err(&error.to_string()), operator),
        done => Ok(forge.err().into_iter().fold(done?, not_asked)),
    }
}

fn plan_once(
    remote: &dyn Upstream,
    forge: Option<&dyn Forge>,
    operator: &Operator<'_>,
) -> Result<RunReport, Error> {
    let (base, config) = Base::read(remote, operator)?;
    let survey = operator.survey(base.tree(), &config, forge)?;
    let landed = OnRemote::new(remote, forge, &base, &config);
    let mut drafts = draft_all(&survey, &base, operator, &landed, None)?;
    let (mut lists, mut notes) = (landed.into_lists(), Vec::new());
    if let Some(forge) = forge {
        let proposing = Proposing { base: &base, config: &config, catalog: operator.catalog, remote, forge };
        let gone = proposing.left(&mut drafts, &mut lists)?;
        drafts.extend(gone);
        for draft in &mut drafts {
            notes.extend(proposing.dry_run(draft, &mut lists)?);
        }
    }
    let mut report = survey.report(&base, reports(drafts), operator.to);
    report.notes.extend(notes);
    Ok(report)
}

/// Says where every target stands, for the commit that HEAD names in a clone.
pub fn status_head(
    head: LocalHead,
    repository: &str,
    operator: &Operator<'_>,
) -> Result<StatusReport, Error> {
    let (base, clone) = Base::of_head(head, repository);
    let config = config::read(base.tree())?;
    let survey = operator.survey(base.tree(), &config, None)?;
    let landed = InHistory(&clone);
    let rows =
        Standing { survey: &survey, operator, landed: &landed, remote: None, history: false }.rows()?;
    Ok(standing(&base, operator, rows, Some(HEAD_ALONE)))
}

/// Says where every target of a remote stands, with `history` also what was merged. Writes nothing.
pub fn status_remote(
    remote: &dyn Upstream,
    forge: Result<&dyn Forge, &str>,
    operator: &Operator<'_>,
    history: bool,
) -> Result<StatusReport, Error> {
    let once = || {
        let (base, config) = Base::read(remote, operator)?;
        let survey = operator.survey(base.tree(), &config, forge.ok())?;
        let landed = OnRemote::new(remote, forge.ok(), &base, &config);
        let rows =
            Standing { survey: &survey, operator, landed: &landed, remote: Some(&landed), history }.rows()?;
        Ok(standing(&base, operator, rows, forge.err()))
    };
    match once() {
        Err(error) if Error::is_of_objects(&error) && remote.forget() => once(),
        Err(Error::Forge(error)) if forge.is_ok() => {
            status_remote(remote, Err(&error.to_string()), operator, history)
        }
        done => done,
    }
}

fn standing(
    base: &Base,
    operator: &Operator<'_>,
    targets: Vec<StatusRow>,
    unasked: Option<&str>,
) -> StatusReport {
    let note = |why| Note::ChecksUnread(why).to_string();
    StatusReport {
        repository: base.repository.clone(),
        base: base.branch.clone(),
        base_commit: base.tip.id.to_string(),
        newest: newest(operator.catalog),
        targets,
        notes: unasked.map(note).into_iter().collect(),
    }
}

fn not_asked(mut report: RunReport, why: &str) -> RunReport {
    report.notes.push(Note::PullsUnread(why).to_string());
    report
}

/// Reads, decides, edits, verifies, pushes, proposes; begins again when a branch moves meanwhile.
pub fn run(remote: &dyn Upstream, forge: &dyn Forge, operator: &Operator<'_>) -> Result<RunReport, Error> {
    let once = || {
        let report = pass(remote, forge, operator)?;
        let closed: Vec<String> = rollback::closed(&report).collect();
        if closed.is_empty() {
            return Ok(report);
        }
        // Where to go on to is asked again without what was closed.
        let mut report = pass(remote, forge, operator)?;
        report.notes.extend(closed);
        Ok(report)
    };
    starting_over(remote, operator, once)
}

/// Does something again where a branch moved meanwhile, or the cache is damaged.
fn starting_over<T>(
    remote: &dyn Upstream,
    operator: &Operator<'_>,
    once: impl Fn() -> Result<T, Error>,
) -> Result<T, Error> {
    for _ in 1..ATTEMPTS {
        match once() {
            Err(Error::Moved) => (operator.progress)("a branch moved, starting over"),
            Err(error) if error.is_of_objects() && remote.forget() => {
                (operator.progress)("the cache is damaged, starting over");
            }
            done => return done,
        }
    }
    once()
}

fn pass(remote: &dyn Upstream, forge: &dyn Forge, operator: &Operator<'_>) -> Result<RunReport, Error> {
    let (base, config) = Base::read(remote, operator)?;
    remote.write_under(&config.branch.prefix)?;
    let survey = operator.survey(base.tree(), &config, Some(forge))?;
    let landed = OnRemote::new(remote, Some(forge), &base, &config);
    let warm = Warm { base: &base, config: &config, remote: &landed };
    let mut drafts = draft_all(&survey, &base, operator, &landed, Some(&warm))?;
    let mut lists = landed.into_lists();
    let proposing = Proposing { base: &base, config: &config, catalog: operator.catalog, remote, forge };
    // What is left of other names goes first, so that nothing is open twice.
    let mut gone = proposing.left(&mut drafts, &mut lists)?;
    let merging =
        Merging { base: &base, config: &config, targets: &survey.targets, forge, now: operator.now };
    let (mut notes, mut refused) = (Vec::new(), None);
    for draft in gone.iter_mut().chain(&mut drafts) {
        (operator.progress)(&format!("proposing {}", draft.report.target));
        match proposing.apply(draft, &mut lists) {
            Ok(more) => notes.extend(more),
            // A branch that may not be written keeps no other one from being proposed.
            Err(error @ Error::Git(GitError::Refused { .. })) => refused = refused.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = refused {
        return Err(error);
    }
    for draft in &mut drafts {
        notes.extend(merging.apply(draft)?);
    }
    drafts.extend(gone);
    let mut report = survey.report(&base, reports(drafts), operator.to);
    report.writes = true;
    report.notes.extend(notes);
    let overview =
        overview::Keeping { survey: &survey, base: &base, config: &config, operator, remote, forge };
    report.notes.extend(overview.keep(&report)?);
    Ok(report)
}

/// What is to be taken back.
#[derive(Clone, Copy, Debug)]
pub struct Rollback<'a> {
    /// Of which target; needed where there are several.
    pub target: Option<&'a str>,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// Takes the last change of a target back, by a pull request: its proxies first, where they are ahead of what the control
/// plane goes back to.
pub fn roll_back(
    remote: &dyn Upstream,
    forge: &dyn Forge,
    operator: &Operator<'_>,
    wanted: Rollback<'_>,
) -> Result<RunReport, Error> {
    let once = || {
        let (base, config) = Base::read(remote, operator)?;
        remote.write_under(&config.branch.prefix)?;
        let survey = operator.survey(base.tree(), &config, Some(forge))?;
        let landed = OnRemote::new(remote, Some(forge), &base, &config);
        let (mut draft, mut notes) =
            rollback::first(&survey, wanted.target, &base.branch, operator, &landed)?;
        let mut lists = landed.into_lists();
        let proposing = Proposing { base: &base, config: &config, catalog: operator.catalog, remote, forge };
        proposing.left(std::slice::from_mut(&mut draft), &mut lists)?;
        match wanted.dry_run {
            true => notes.extend(proposing.dry_run(&mut draft, &mut lists)?),
            false => notes.extend(proposing.apply(&mut draft, &mut lists)?),
        }
        let mut report = survey.report(&base, reports(vec![draft]), None);
        report.writes = !wanted.dry_run;
        report.notes.extend(notes);
        Ok(report)
    };
    starting_over(remote, operator, once)
}

/// Decides, plans, edits and verifies the stages of every target, platform first; with `warm`, only what is not done yet.
/// A plan shows what would be made, so it makes all of it.
fn draft_all(
    survey: &Survey<'_>,
    base: &Base,
    operator: &Operator<'_>,
    landed: &dyn Landed,
    warm: Option<&Warm<'_>>,
) -> Result<Vec<Draft>, Error> {
    (operator.progress)("deciding");
    let mut drafts = Vec::new();
    for target in &survey.targets {
        for stage in [Stage::Platform, Stage::DataPlane] {
            let case = Case { survey, target, stage };
            drafts.extend(upgrade::draft(case, &base.branch, operator, landed, warm, &drafts)?);
        }
    }
    operator.renderer.misnamed().map_or(Ok(drafts), |error| Err(Error::Helm(error)))
}

fn reports(drafts: Vec<Draft>) -> Vec<StageReport> {
    drafts.into_iter().map(|draft| draft.report).collect()
}
