//! Charts that objects ask for.
//!
//! In: a HelmRelease, a HelmChart or a source, and the objects of its cluster. Out: the chart, handed over.

use std::sync::atomic::Ordering::Relaxed;

use super::{After, Asked, Builder, CLUSTERS, Fact, Kept, Said, written::deployer_of};
use crate::{
    deploy::{
        build::Build,
        chart::ChartRelease,
        cluster::Cluster,
        flux,
        kinds::{self, Deployer, Kind, Makes},
        note::{About, Bound, Note},
        object::Object,
        umbrella,
    },
    repo::RepoPath,
};

impl<R: Default + Send> Builder<'_, R> {
    /// Hands over what is kept; `is_deployed` says whether it is deployed so.
    pub(super) fn hand_over(&self, kept: &Kept, all: &Cluster<'_>, is_deployed: bool, said: &mut Said<R>) {
        let cluster = Cluster::within(&kept.references, all);
        for object in &kept.releases {
            // What a source has is rendered by whoever asks for it.
            let sources = kinds::sources(object, &cluster);
            let asks = object.by.as_ref().unwrap_or(&object.file);
            for own in &self.variants(&cluster, &sources, &[asks], &mut said.facts) {
                let own = &Cluster::within(own.iter().copied(), &cluster);
                let release = self.release(object, !is_deployed, own, said);
                let release = release.filter(|_| is_deployed && object.group() != flux::SOURCES);
                release.iter().for_each(|release| self.used(release, &mut said.facts));
            }
        }
        let objects = kept.releases.iter().chain(&kept.objects);
        objects.for_each(|object| (self.take)(&mut said.facts, Fact::Object(object, &cluster)));
        let waiting = kept.releases.iter().chain(&kept.references);
        let around = Cluster::within(&kept.releases, &cluster);
        let compared = flux::awaited_values(waiting, &around, self.files);
        (self.take)(&mut said.facts, Fact::Guards(&compared));
    }

    /// Lists what is read beside the cluster for something that has its values from objects: what each cluster has in their
    /// place, or nothing.
    pub(super) fn variants<'c>(
        &self,
        cluster: &Cluster<'c>,
        sources: &[&'c Object],
        asks: &[&RepoPath],
        facts: &mut R,
    ) -> Vec<Vec<&'c Object>> {
        let mut all = cluster.variants(sources, asks);
        let more = all.len().saturating_sub(1);
        let taken = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(more));
        if taken.is_err() {
            all.truncate(1);
            let note = |path: &&RepoPath| Note::new(path, About::Bound(Bound::Clusters(CLUSTERS)));
            let notes: Vec<Note> = asks.first().map(note).into_iter().collect();
            (self.take)(facts, Fact::Notes(&notes));
        }
        if all.is_empty() {
            all.push(Vec::new());
        }
        all
    }

    /// Hands over the chart that an object asks for, and what is done to the chart's objects; returns the chart. `is_partial`
    /// says whether the object is a patch, or what patches are laid over.
    pub(super) fn release(
        &self,
        object: &Object,
        is_partial: bool,
        cluster: &Cluster<'_>,
        said: &mut Said<R>,
    ) -> Option<ChartRelease> {
        let is_release = object.kind() == "HelmRelease";
        let may_ask = is_release || object.group() == flux::SOURCES;
        let filled = may_ask.then(|| flux::unapplied(object, self.files, self.handed_on.get())).flatten();
        let object = filled.as_ref().unwrap_or(object);
        let (mut release, deployer) = match kinds::of(object) {
            Some(Kind { makes: Makes::Chart(read), deployer, .. }) => {
                (read(object, cluster, self.files), *deployer)
            }
            // A part of an object that is not known here may say no group.
            _ if matches!(&*object.kind(), "HelmChart" | "OCIRepository") => {
                let is_chart = object.kind() == "HelmChart";
                let deployer = if is_chart { Deployer::HelmChart } else { Deployer::OciRepository };
                (flux::chart_source(object, cluster, self.files), deployer)
            }
            _ => (flux::helm_release(object, cluster, self.files), Deployer::HelmRelease),
        };
        let after = if is_release { After::DependsOn(flux::depends_on(object)) } else { After::Unsaid };
        match &mut release {
            Some(release) => {
                release.is_supposed = filled.is_some();
                release.is_partial = is_partial;
                let deployer = if is_release { deployer_of(object) } else { deployer };
                let object = is_release.then_some(object);
                let asked = Asked { release, deployer, object, after, cluster };
                (self.take)(&mut said.facts, Fact::Release(asked));
            }
            None => said.parts.extend(is_release.then(|| object.clone())),
        }
        let Build { strays, images, .. } = flux::post_rendered(object, self.files);
        self.said((&strays, &images, release.as_slice()), cluster, said);
        release
    }

    /// Hands over a chart as it is rendered.
    pub(super) fn used(&self, release: &ChartRelease, facts: &mut R) {
        (self.take)(facts, Fact::Use(release));
        (self.take)(facts, Fact::Notes(&release.notes));
        self.umbrella(release, facts);
    }

    pub(super) fn umbrella(&self, release: &ChartRelease, facts: &mut R) {
        let is_foreign = |name: &str| self.entries.charts.is_foreign(name);
        if let Some(all) = umbrella::all(release, self.files, &is_foreign) {
            (self.take)(facts, Fact::Umbrella(release, &all));
        }
    }
}
