//! A tree, scanned: its pins, whose they are, and how they are reported.

use std::{collections::HashSet, sync::Arc};

use crate::{
    config::{Config, Misfit, ProxyPins, TargetConfig},
    explain::Dialect,
    linkerd::{self, EdgeVersion},
    pins::{self, Evaluate, Inventory, Pin, PinKind, ScanOptions, Stage},
    pipeline::{
        Base, Error,
        past::Past,
        targets::{self, Aim, Unlabelled},
    },
    plan::{self, Judged, Plan, Proxies, Served, Target},
    policy::HoldReason,
    release::{Catalog, FeedState},
    repo::Tree,
    report::{Note, PinsReport, RunReport, StageDecision, StageReport},
};

/// What is known of a tree.
pub(super) struct Survey<'a> {
    pub tree: &'a dyn Tree,
    pub catalog: &'a Catalog,
    /// The forge that shows what is proposed.
    pub dialect: &'static Dialect,
    pub inventory: Inventory,
    pub options: plan::Options,
    /// The targets.
    pub targets: Vec<TargetConfig>,
    /// The pins in no target.
    outside: Vec<Arc<Pin>>,
    config: &'a Config,
    scanning: ScanOptions,
    /// What was found of older commits.
    pub past: Past,
}

// === impl Survey ===

impl<'a> Survey<'a> {
    /// Scans a tree and gives each pin to its target.
    pub fn new(
        tree: &'a dyn Tree,
        config: &'a Config,
        catalog: &'a Catalog,
        served: &Served,
        aim: Aim,
        helm: Option<Arc<dyn Evaluate>>,
    ) -> Result<Self, Error> {
        let scanning = ScanOptions {
            ignore: config.ignore.clone(),
            mirrors: served.index.iter().cloned().collect(),
            restarts: config.data_plane.restarts,
            homes: !config.data_plane.waves.is_empty(),
            helm,
            ..ScanOptions::default()
        };
        let proxies = match config.data_plane.pins {
            ProxyPins::Follow => Proxies::Follow,
            ProxyPins::Ignore => Proxies::Ignore,
        };
        let control_plane = config.data_plane.control_plane;
        let options = plan::Options { proxies, control_plane, served: served.clone() };
        let mut inventory = pins::scan(tree, &scanning)?;
        plan::resolve(&mut inventory, catalog);
        let (targets, outside) = (config.targets.clone(), Vec::new());
        let past = Past::default();
        let dialect = &Dialect::COMMON;
        let mut survey =
            Self { tree, catalog, dialect, inventory, options, targets, outside, config, scanning, past };
        survey.check_paths()?;
        let configured = targets::labelled(&survey.inventory, &config.targets).map_err(
            |Unlabelled { target, unknown, known }| {
                config.misfit(&target, Misfit::Unlabelled { unknown: unknown.as_deref(), known: &known })
            },
        )?;
        let targets: Vec<Target> = configured.iter().map(|t| t.target.clone()).collect();
        let assigned =
            plan::assign(&survey.inventory, &targets).map_err(|overlap| survey.overlap(&overlap))?;
        survey.outside = assigned.outside;
        let Self { inventory, options, .. } = &survey;
        let targets = targets::targets(inventory, options, catalog, &configured, aim);
        survey.targets = targets::waves(targets, inventory, &config.data_plane.waves);
        survey.check_names()?;
        Ok(survey)
    }

    /// Scans the tree after a change.
    pub fn scan(&self, tree: &dyn Tree) -> Result<Inventory, Error> {
        let irrelevant = self.inventory.irrelevant.clone();
        let scanning = ScanOptions { irrelevant, installations: false, ..self.scanning.clone() };
        let mut inventory = pins::scan(tree, &scanning)?;
        plan::resolve(&mut inventory, self.catalog);
        inventory.take_installations(&self.inventory);
        Ok(inventory)
    }

    /// Returns the repository's configuration.
    pub fn config(&self) -> &'a Config {
        self.config
    }

    /// Reports the pins, judged against a release where one is given.
    pub fn pins(&self, to: Option<EdgeVersion>) -> PinsReport {
        let knowledge = linkerd::built_in();
        let judge = |to| -> Vec<Judged> {
            // What becomes of a wave's proxies hangs on the control plane of its target.
            let whole = self.targets.iter().map(|t| &t.target).filter(|t| t.whole() == t.name);
            let whole: Vec<_> = whole.map(|t| Target { wave: None, ..t.clone() }).collect();
            plan::forecast(&self.inventory, &whole, to, knowledge, &self.options)
        };
        let judged = to.map(|to| (to, judge(to)));
        let judged = judged.as_ref().map(|(to, moves)| (*to, moves.as_slice()));
        PinsReport::new(&self.inventory, |pin| self.target_of(pin), judged)
    }

    /// Reports what was decided. The pins are judged by the stages, and where a stage is on hold by none.
    pub fn report(&self, base: &Base, stages: Vec<StageReport>, to: Option<EdgeVersion>) -> RunReport {
        let release =
            to.or_else(|| stages.iter().filter_map(|stage| stage.decision.plan()).map(|p| p.to).max());
        let moves: Vec<Judged> =
            stages.iter().filter_map(|stage| stage.decision.plan()).flat_map(Plan::judged).collect();
        let judged = release.map(|to| (to, moves.as_slice()));
        let failed = self.catalog.feeds.iter().filter_map(|feed| match &feed.state {
            FeedState::Failed(reason) => Some(Note::Feed(feed.name, reason)),
            FeedState::Read | FeedState::Off => None,
        });
        let rivals = self.inventory.facts.rivals.iter().map(Note::Rival);
        let idle = self.idle_targets().map(Note::IdleTarget);
        // What is odd in the index matters where it may be why something is missing there.
        let waits = stages.iter().any(|stage| is_not_ready(&stage.decision));
        let remarks = self.catalog.remarks.iter().filter(|_| waits).map(|remark| Note::Index(remark));
        RunReport {
            repository: base.repository.clone(),
            base: base.branch.clone(),
            base_commit: base.tip.id.to_string(),
            writes: false,
            pins: PinsReport::new(&self.inventory, |pin| self.target_of(pin), judged),
            notes: failed
                .chain(idle)
                .chain(self.idle_waves())
                .chain(self.orphans())
                .chain(remarks)
                .chain(rivals)
                .map(|note| note.to_string())
                .collect(),
            stages,
        }
    }

    /// A target whose paths name no file at all is misspelled: what it should have covered would be left out unsaid.
    fn check_paths(&self) -> Result<(), Error> {
        let entries = self.tree.entries();
        let covers = |t: &&TargetConfig| t.target.all || entries.iter().any(|e| t.target.covers(&e.path));
        match self.config.targets.iter().find(|t| !covers(t)) {
            None => Ok(()),
            Some(empty) => Err(self.config.misfit(&empty.target.name, Misfit::NoFile).into()),
        }
    }

    /// Two targets with one name would have one branch; letters of either case are one on some servers.
    fn check_names(&self) -> Result<(), Error> {
        let mut seen = HashSet::new();
        let Some(twice) = self.targets.iter().find(|t| !seen.insert(t.target.name.to_lowercase())) else {
            return Ok(());
        };
        Err(self.config.misfit(&twice.group, Misfit::SameName(&twice.target.name)).into())
    }

    /// Returns the target that has the control plane: a wave's own has none.
    pub fn whole<'t>(&'t self, target: &'t TargetConfig) -> &'t TargetConfig {
        let name = target.target.whole();
        self.targets.iter().find(|other| other.target.name == name).unwrap_or(target)
    }

    /// Counts the pins that could move and are in no target.
    fn orphans(&self) -> Option<Note<'_>> {
        let mut movable = self.outside.iter().filter(|pin| pin.stays.is_none() && pin.kind != PinKind::Other);
        let first = &movable.next()?.path;
        Some(Note::InNoTarget(movable.count() + 1, first))
    }

    /// Names the waves that no proxy is in, where there are proxies.
    fn idle_waves(&self) -> impl Iterator<Item = Note<'_>> {
        let waves = &self.config.data_plane.waves;
        let has = |n: usize| {
            let mine = |target: &TargetConfig| target.target.wave.as_ref().is_some_and(|w| w.mine == Some(n));
            self.targets.iter().any(mine)
        };
        let any = self.inventory.pins().any(|pin| pin.stage == Stage::DataPlane);
        let idle = waves.iter().enumerate().filter(move |(n, _)| any && !has(*n));
        idle.map(|(_, wave)| Note::IdleWave(&wave.name))
    }

    /// Returns the targets without a pin, where there are pins.
    fn idle_targets(&self) -> impl Iterator<Item = &str> {
        let pins = &self.inventory.pins;
        let targets = self.targets.iter().filter(|_| !pins.is_empty());
        targets.map(|t| &t.target).filter(|t| !pins.iter().any(|p| t.has(p))).map(|t| t.name.as_str())
    }

    fn target_of(&self, pin: &Pin) -> Option<String> {
        self.targets.iter().find(|t| t.target.has(pin)).map(|t| t.target.name.clone())
    }

    /// Places an overlap at the later of the targets that claim a file.
    fn overlap(&self, overlap: &plan::Overlap) -> Error {
        let last = overlap.files.first().and_then(|(_, names)| names.last()).map_or("", String::as_str);
        self.config.misfit(last, Misfit::Overlap(overlap)).into()
    }
}

fn is_not_ready(decision: &StageDecision) -> bool {
    matches!(decision, StageDecision::Hold { hold, .. } if matches!(hold.reason, HoldReason::NotReady { .. }))
}
