//! Where every target stands: what policy says of each stage, since when it is where it is, what is open for it.
//!
//! Nothing is edited or rendered for that.

use std::ops::Bound;

use crate::{
    explain::marker,
    linkerd::EdgeVersion,
    pins::Stage,
    pipeline::{
        Error, Operator,
        case::Case,
        landed::{Landed, OnRemote},
        past::Of,
        promotion::LookBack,
        survey::Survey,
    },
    plan,
    policy::{self, Decision},
    propose::forge::{PullRequest, PullState},
    release::{Catalog, Guidance},
    report::{Behind, MergedPull, OpenPull, StatusRow},
};

/// What tells where targets stand.
pub(super) struct Standing<'a> {
    pub survey: &'a Survey<'a>,
    pub operator: &'a Operator<'a>,
    pub landed: &'a dyn Landed,
    /// Where open pull requests are looked for.
    pub remote: Option<&'a OnRemote<'a>>,
    /// Whether what was merged is listed too.
    pub history: bool,
}

/// Returns the newest release that is not advised against.
pub fn newest(catalog: &Catalog) -> Option<EdgeVersion> {
    let good = |guidance: &Guidance| !matches!(guidance, Guidance::NotRecommended { .. });
    let all = catalog.releases.values().rev();
    all.filter(|release| good(&release.guidance)).map(|release| release.version).next()
}

// === impl Standing ===

impl Standing<'_> {
    /// Returns a row for each stage of each target.
    pub fn rows(&self) -> Result<Vec<StatusRow>, Error> {
        let (mut decided, mut due) = (Vec::new(), Vec::new());
        for target in &self.survey.targets {
            for stage in [Stage::Platform, Stage::DataPlane] {
                let case = Case { survey: self.survey, target, stage };
                if !case.has_pins() {
                    continue;
                }
                let (decision, open) = (case.decide(self.operator, self.landed)?, self.open(case)?);
                if let (Decision::Target { version, .. }, None) = (&decision, &open) {
                    due.push((case, *version));
                }
                decided.push((case, decision, open));
            }
        }
        if let Some(remote) = self.remote {
            remote.look_for(&due)?;
        }
        decided.into_iter().map(|(case, decision, open)| self.row(case, decision, open)).collect()
    }

    fn row(&self, case: Case<'_>, decision: Decision, open: Option<OpenPull>) -> Result<StatusRow, Error> {
        let Case { survey, target, stage } = case;
        let needs = plan::needs(&survey.inventory, &target.target, stage, &survey.options);
        let moves = needs.lowest.or(needs.highest);
        let describe = match stage {
            Stage::Platform => policy::describe,
            Stage::DataPlane => policy::describe_proxies,
        };
        let (next, waits, until) = match decision {
            Decision::Target { version, .. } if open.is_some() => (Some(version), None, None),
            Decision::Target { version, .. } => (Some(version), self.refused(case, version)?, None),
            Decision::Hold(hold) => {
                (hold.release.filter(|next| Some(*next) != moves), Some(describe(&hold)), hold.until)
            }
        };
        let back = LookBack { case, landed: self.landed, floor: Bound::Unbounded, now: self.operator.now };
        let of = if stage == Stage::Platform { Of::Leading } else { Of::Proxies };
        let (release, since) = back.standing(target, of)?;
        Ok(StatusRow {
            target: target.target.name.clone(),
            stage,
            release,
            since,
            behind: release.and_then(|release| behind(survey.catalog, release)),
            next,
            waits,
            until,
            pull_request: open,
            history: self.merged(case)?,
        })
    }

    /// Says who said no to a release that would be due: it was declined, or merged and taken back.
    fn refused(&self, case: Case<'_>, release: EdgeVersion) -> Result<Option<String>, Error> {
        let Some(remote) = self.remote else { return Ok(None) };
        if let Some(hold) = case.went_back(release, self.operator, self.landed)? {
            return Ok(Some(policy::describe(&hold)));
        }
        let held = remote.declined(case, release)?;
        Ok(held.map(|held| held.words(self.survey.dialect)))
    }

    fn merged(&self, case: Case<'_>) -> Result<Vec<MergedPull>, Error> {
        let Some(remote) = self.remote.filter(|_| self.history) else { return Ok(Vec::new()) };
        let name = &case.target.target.name;
        let all = remote.all_of(name, case.stage)?.into_iter().filter(|pull| pull.state == PullState::Merged);
        let of_stage = |pull: PullRequest| {
            let marker = marker::read(&pull.body).filter(|marker| marker.target == *name)?;
            let PullRequest { number, url, closed_at: merged, .. } = pull;
            let reference = self.survey.dialect.reference(number);
            Some(MergedPull {
                number,
                reference,
                url,
                merged,
                release: marker.release,
                undoes: marker.undoes,
            })
        };
        Ok(all.filter_map(of_stage).take(LISTED).collect())
    }

    fn open(&self, case: Case<'_>) -> Result<Option<OpenPull>, Error> {
        let Some(remote) = self.remote else { return Ok(None) };
        let Case { survey, target, stage } = case;
        let open = remote.open_of(&target.target.name, stage)?;
        let pull = open.into_iter().find(|pull| remote.leads_to_base(pull));
        Ok(pull.map(|pull| OpenPull {
            number: pull.number,
            reference: survey.dialect.reference(pull.number),
            release: marker::read(&pull.body).map(|marker| marker.release),
            url: pull.url,
        }))
    }
}

/// The pull requests of a stage that are listed.
const LISTED: usize = 20;

/// Counts how far a release is behind the newest.
fn behind(catalog: &Catalog, release: EdgeVersion) -> Option<Behind> {
    let newest = newest(catalog)?;
    let published = |version| catalog.get(version).and_then(|release| release.published);
    let days = published(newest)
        .zip(published(release))
        .map(|(newest, own)| newest.duration_since(own).as_hours() / 24);
    let between = catalog.releases.keys().filter(|version| release < **version && **version <= newest);
    Some(Behind { releases: between.count(), days: days.map(|days| days.max(0)) })
}
