//! What Helm makes of a change: committed manifests made again, and charts that the cluster renders, before and after.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    config::TargetConfig,
    pipeline::survey::Survey,
    plan::{NewText, Plan},
    release::EdgeVersion,
    render::{
        Renderer, Renderings,
        committed::{self, Committed, Recognised, Regenerate, Regenerated},
        render_uses,
    },
    repo::{BlobId, RepoPath, Tree},
    scan::{Inventory, Pin, PinKind, Reason},
};

/// Renders for one target.
pub(super) struct Rendering<'a> {
    survey: &'a Survey<'a>,
    target: &'a TargetConfig,
    renderer: &'a dyn Renderer,
    recognised: Recognised,
    kube_version: Option<String>,
}

// === impl Rendering ===

impl<'a> Rendering<'a> {
    /// Recognises what the target has committed; nothing is rendered yet.
    pub fn new(survey: &'a Survey<'a>, target: &'a TargetConfig, renderer: &'a dyn Renderer) -> Self {
        let files = &survey.inventory.facts.rendered;
        let mine: Vec<_> = files.iter().filter(|f| target.target.covers(&f.path)).cloned().collect();
        let recognised = committed::committed(survey.tree, &mine);
        let kube_version = target.kubernetes.as_ref().map(ToString::to_string);
        Self { survey, target, renderer, recognised, kube_version }
    }

    /// Lists what committed manifests are made from beside the files with their pins: whatever lies in their folders, and
    /// the values files that the configuration names.
    pub fn sources(&self) -> Vec<(RepoPath, BlobId)> {
        let sets = &self.recognised.sets;
        let files = || sets.iter().flat_map(|set| &set.files).map(|file| &file.path);
        let folders: BTreeSet<&str> = files().map(RepoPath::folder).collect();
        let named: BTreeSet<&RepoPath> = self.survey.config().render.iter().flat_map(|e| &e.values).collect();
        let is_source = |path: &RepoPath| folders.contains(path.folder()) || named.contains(path);
        let entries = self.survey.tree.entries().iter();
        entries.filter(|e| !sets.is_empty() && is_source(&e.path)).map(|e| (e.path.clone(), e.id)).collect()
    }

    /// Makes the manifests again whose pins move, with those beside them that do not name their release. `edited` is the
    /// tree with the edits of the plan in it: a kustomization may be changed by both.
    pub fn again(&self, plan: &Plan, inventory: &Inventory, edited: &dyn Tree) -> Regenerated {
        let moving: BTreeSet<(&RepoPath, &str)> = plan
            .moves
            .iter()
            .filter(|m| matches!(m.new, Some(NewText::Rendered(_))))
            .filter_map(|m| inventory.pins.get(m.pin))
            .filter_map(|pin| Some((&pin.path, pin.chart.as_deref()?)))
            .collect();
        if moving.is_empty() {
            return Regenerated::default();
        }
        let moves =
            |set: &&Committed| set.files.iter().any(|f| moving.contains(&(&f.path, set.chart.as_str())));
        let beside = |set: &&Committed| set.version.is_none() && !is_held(set, inventory);
        let sets = self.recognised.sets.iter().filter(|set| moves(set) || beside(set));
        let sets: Vec<Committed> = sets.cloned().collect();
        let to = self.versions(plan.to);
        let request = Regenerate { tree: edited, ..self.request(&sets, &to) };
        let mut made = committed::regenerate(&request, self.renderer);
        let unread = self.recognised.missing.iter().filter(|m| moving.contains(&(&m.path, m.chart.as_str())));
        made.missing.extend(unread.cloned());
        made
    }

    /// Compares everything that is committed with what its version and values give.
    pub fn proofs(&self) -> committed::Proofs {
        let nothing = BTreeMap::new();
        let mut proofs = committed::prove_all(&self.request(&self.recognised.sets, &nothing), self.renderer);
        proofs.missing.extend(self.recognised.missing.iter().cloned());
        proofs
    }

    /// Returns what is committed.
    pub fn committed(&self) -> &[Committed] {
        &self.recognised.sets
    }

    /// Renders the charts that the cluster renders, where the change alters what they are given.
    pub fn uses(&self, before: &Inventory, after: &Inventory) -> Renderings {
        let covers = |path: &RepoPath| self.target.target.covers(path);
        let (before, after) = (&before.facts.uses, &after.facts.uses);
        let kubernetes = self.target.kubernetes.as_ref();
        render_uses(before, after, &covers, self.survey.catalog, kubernetes, self.renderer)
    }

    /// Returns Helm's version, where there is a Helm.
    pub fn helm(&self) -> Option<String> {
        self.renderer.helm().ok()
    }

    fn request<'r>(&'r self, sets: &'r [Committed], to: &'r BTreeMap<String, String>) -> Regenerate<'r> {
        let config = self.survey.config();
        Regenerate {
            tree: self.survey.tree,
            committed: sets,
            uses: &self.survey.inventory.facts.uses,
            entries: &config.render,
            to,
            drift: config.drift,
            kube_version: self.kube_version.as_deref(),
            knowledge: &self.survey.catalog.knowledge,
        }
    }

    /// Returns the version of each chart in a release: as the index has it, else as its name says.
    fn versions(&self, to: EdgeVersion) -> BTreeMap<String, String> {
        let listed = self.survey.catalog.get(to).map(|release| &release.charts);
        let version = |chart: &str| {
            let known = listed.and_then(|charts| charts.get(chart)).map(|c| c.version.clone());
            known.or_else(|| listed.is_none_or(BTreeMap::is_empty).then(|| to.chart().to_string()))
        };
        let charts = self.recognised.sets.iter().map(|set| &set.chart);
        charts.filter_map(|chart| Some((chart.clone(), version(chart)?))).collect()
    }
}

/// Tells whether a person holds a manifest that does not name its release.
fn is_held(set: &Committed, inventory: &Inventory) -> bool {
    let held = |pin: &Pin| {
        pin.kind == PinKind::RenderedManifest
            && pin.stays == Some(Reason::Held)
            && set.files.iter().any(|f| f.path == pin.path)
    };
    inventory.pins.iter().any(held)
}
