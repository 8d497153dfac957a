//! What Helm makes of a change: committed manifests made again, and charts that the cluster renders, before and after.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    config::TargetConfig,
    linkerd::EdgeVersion,
    pins::{Inventory, Pin, PinKind, RenderedFile},
    pipeline::survey::Survey,
    plan::{NewText, Plan},
    render::{
        self, Renderer, Renderings,
        committed::{self, Committed, Recognised, Regenerate, Regenerated},
        render_uses,
    },
    repo::{BlobId, ChangeSet, Overlay, RepoPath, Tree},
};

/// Renders for one target.
pub(super) struct Rendering<'a> {
    survey: &'a Survey<'a>,
    target: &'a TargetConfig,
    /// What is read of it is known to whoever asked; the survey's own tree is for what has no part in what is made.
    tree: &'a dyn Tree,
    renderer: &'a dyn Renderer,
    recognised: Recognised,
    kube_version: Option<String>,
}

/// What is committed, on the way to one release.
pub(super) struct At<'a> {
    rendering: &'a Rendering<'a>,
    /// The sets, each with its version.
    sets: Vec<Committed>,
    /// The version that each chart is to have.
    to: BTreeMap<String, String>,
}

// === impl Rendering ===

impl<'a> Rendering<'a> {
    /// Recognises what the target has committed; nothing is rendered yet.
    pub fn new(
        survey: &'a Survey<'a>,
        target: &'a TargetConfig,
        tree: &'a dyn Tree,
        renderer: &'a dyn Renderer,
    ) -> Self {
        let files = &survey.inventory.facts.rendered;
        let mine: Vec<_> = files.iter().filter(|f| target.target.covers(&f.path)).cloned().collect();
        let recognised = committed::committed(tree, &mine);
        let kube_version = target.kubernetes.as_ref().map(ToString::to_string);
        Self { survey, target, tree, renderer, recognised, kube_version }
    }

    /// Lists what committed manifests are made from beside the files with their pins: whatever lies in their folders, and
    /// the files that may hold their values.
    pub fn sources(&self) -> Vec<(RepoPath, BlobId)> {
        let sets = &self.recognised.sets;
        let files = || sets.iter().flat_map(|set| &set.files).map(|file| &file.path);
        let folders: BTreeSet<&str> = files().map(RepoPath::folder).collect();
        let named: BTreeSet<&RepoPath> = self.survey.config().render.iter().flat_map(|e| &e.values).collect();
        let near: BTreeSet<RepoPath> =
            sets.iter().flat_map(|set| committed::values_near(self.survey.tree, set)).collect();
        let is_source =
            |path: &RepoPath| folders.contains(path.folder()) || named.contains(path) || near.contains(path);
        let entries = self.tree.entries().iter();
        entries.filter(|e| !sets.is_empty() && is_source(&e.path)).map(|e| (e.path.clone(), e.id)).collect()
    }

    /// Finds out the releases of the sets whose objects name none, of what is given it at `to` first.
    pub fn at(&self, to: EdgeVersion) -> At<'_> {
        let to = self.versions(to);
        let sets = self.named(self.tree, self.survey.tree, &self.recognised.sets, &to);
        At { rendering: self, sets, to }
    }

    /// Gives the pins of sets in which no object names a release, as they are after a change, the one that gives them.
    pub fn name_pins(&self, inventory: &mut Inventory, changes: &ChangeSet, to: EdgeVersion) {
        if inventory.pins().any(is_unnamed) {
            let mine = |file: &&RenderedFile| self.target.target.covers(&file.path);
            let files: Vec<_> = inventory.facts.rendered.iter().filter(mine).cloned().collect();
            let (tree, near) = (Overlay::new(self.tree, changes), Overlay::new(self.survey.tree, changes));
            let sets = committed::committed(&tree, &files).sets;
            let to = self.versions(to);
            At { rendering: self, sets: self.named(&tree, &near, &sets, &to), to }.name_pins(inventory);
        }
    }

    /// Compares everything that is committed with what its version and values give.
    pub fn proofs(&self) -> committed::Proofs {
        let nothing = BTreeMap::new();
        let sets = self.named(self.tree, self.survey.tree, &self.recognised.sets, &nothing);
        let mut proofs = committed::prove_all(&self.request(&sets, &nothing), self.renderer);
        proofs.missing.extend(self.recognised.missing.iter().cloned());
        proofs
    }

    fn named(
        &self,
        tree: &dyn Tree,
        near: &dyn Tree,
        sets: &[Committed],
        to: &BTreeMap<String, String>,
    ) -> Vec<Committed> {
        let unnamed = sets.iter().filter(|set| set.version.is_none()).map(|set| &set.chart);
        let versions = unnamed.map(|chart| (chart.clone(), self.known(chart, to.get(chart)))).collect();
        committed::named(&Regenerate { tree, near, ..self.request(sets, to) }, self.renderer, &versions)
    }

    /// Lists the versions of a chart that the index has, up to one, newest first.
    fn known(&self, chart: &str, newest: Option<&String>) -> Vec<String> {
        let releases = self.survey.catalog.releases.values().rev();
        let versions = releases.filter_map(|release| release.charts.get(chart)).map(|chart| &chart.version);
        versions.skip_while(|version| newest.is_some_and(|newest| newest != *version)).cloned().collect()
    }

    /// Tells whether anything is committed.
    pub fn has_committed(&self) -> bool {
        !self.recognised.sets.is_empty()
    }

    /// Renders the charts that the cluster renders, where the change alters what they are given.
    pub fn uses(&self, before: &Inventory, after: &Inventory) -> Renderings {
        let covers = |path: &RepoPath| self.target.target.covers(path);
        let (before, after) = (&before.facts.uses, &after.facts.uses);
        let kubernetes = self.target.kubernetes.as_ref();
        render_uses(before, after, &covers, self.survey.catalog, kubernetes, self.renderer)
    }

    /// Compares what is committed with what is after a change that makes nothing again.
    pub fn compared(&self, edited: &dyn Tree, after: &Inventory) -> Vec<render::Rendering> {
        let mine = |file: &&RenderedFile| self.target.target.covers(&file.path);
        let files: Vec<_> = after.facts.rendered.iter().filter(mine).cloned().collect();
        committed::compared(&self.recognised.sets, &committed::committed(edited, &files).sets)
    }

    /// Returns Helm's version, where there is a Helm.
    pub fn helm(&self) -> Option<String> {
        self.renderer.helm().ok()
    }

    fn request<'r>(&'r self, sets: &'r [Committed], to: &'r BTreeMap<String, String>) -> Regenerate<'r> {
        let config = self.survey.config();
        Regenerate {
            tree: self.tree,
            near: self.survey.tree,
            committed: sets,
            beside: &[],
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

// === impl At ===

impl At<'_> {
    /// Gives the pins in sets that name no release the one that gives them.
    pub fn name_pins(&self, inventory: &mut Inventory) {
        for pin in inventory.pins.iter_mut().filter(|pin| is_unnamed(pin)) {
            let mine = |set: &&Committed| {
                pin.chart.as_ref() == Some(&set.chart) && set.files.iter().any(|f| f.path == pin.path)
            };
            let version = self.sets.iter().find(mine).and_then(|set| set.version.as_deref());
            Arc::make_mut(pin).version = version.and_then(EdgeVersion::from_chart);
        }
    }

    /// Makes the manifests again whose pins move, with those beside them that have no pin, since none of their objects
    /// names anything. `edits` are those of the plan: a kustomization may be changed by both.
    pub fn again(&self, plan: &Plan, inventory: &Inventory, edits: &ChangeSet) -> Regenerated {
        let rendered = |pin: &&Pin| pin.kind == PinKind::RenderedManifest;
        let place = |pin: &'_ Pin| Some((pin.path.clone(), pin.chart.clone()?));
        let moving: BTreeSet<(RepoPath, String)> = plan
            .moving()
            .filter(|(_, new)| matches!(new, NewText::Rendered(_)))
            .filter_map(|(pin, _)| place(pin))
            .collect();
        if moving.is_empty() {
            return Regenerated::default();
        }
        let pinned: BTreeSet<(RepoPath, String)> =
            inventory.pins().filter(rendered).filter_map(place).collect();
        let among = |set: &Committed, places: &BTreeSet<(RepoPath, String)>| {
            set.files.iter().any(|f| places.contains(&(f.path.clone(), set.chart.clone())))
        };
        let (sets, beside): (Vec<Committed>, Vec<Committed>) =
            self.sets.iter().cloned().partition(|set| among(set, &moving) || !among(set, &pinned));
        let Rendering { survey, tree, renderer, recognised, .. } = self.rendering;
        let (tree, near) = (Overlay::new(*tree, edits), Overlay::new(survey.tree, edits));
        let request = self.rendering.request(&sets, &self.to);
        let request = Regenerate { tree: &tree, near: &near, beside: &beside, ..request };
        let mut made = committed::regenerate(&request, *renderer);
        let unread = &recognised.missing;
        let unread = unread.iter().filter(|m| moving.contains(&(m.path.clone(), m.chart.clone())));
        made.missing.extend(unread.cloned());
        made
    }
}

/// Tells whether a pin may move and its text names no release.
fn is_unnamed(pin: &Pin) -> bool {
    pin.kind == PinKind::RenderedManifest && pin.version.is_none() && pin.stays.is_none()
}
