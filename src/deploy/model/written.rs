//! What files and patches say, whatever is made of it.
//!
//! In: files as they stand there, parts of objects. Out: the same facts as of what is deployed. A part of a release says
//! no chart: it is laid over the nearest release of its name.

use std::collections::HashSet;

use super::{After, Asked, Builder, Fact, Kept, Said, Seen};
use crate::{
    deploy::{
        argo,
        build::Build,
        chart::{ChartRelease, merged},
        cluster::{Cluster, Reference},
        flux,
        kinds::Deployer,
        object::Object,
        value::Value,
    },
    repo::{RepoPath, parallel},
};

/// A file of which the objects are read as they stand there.
#[derive(Clone, Debug)]
pub struct Written {
    /// The file.
    pub path: RepoPath,
    /// Whether a kustomization takes it in.
    pub is_taken: bool,
}

/// What files say as they stand there.
#[derive(Default)]
pub(super) struct AsWritten<R: Default> {
    /// What nobody is known to make anything else of.
    pub said: Said<R>,
    /// What builds begin with: what they do not keep of it is not deployed.
    pub covered: Said<R>,
}

impl<R: Default + Send> Builder<'_, R> {
    /// Hands over what a file says as it stands there; `is_built` says whether builds have objects of it.
    pub(super) fn as_written(
        &self,
        file: &Written,
        all: &Cluster<'_>,
        is_built: bool,
        seen: &Seen,
        as_written: &mut AsWritten<R>,
    ) {
        let kept = self.read(&file.path);
        let AsWritten { said, covered } = as_written;
        (self.take)(&mut said.facts, Fact::File(&file.path));
        // What nobody takes in is deployed as its file has it; of what builds have, what they make of it counts.
        let is_alone = !file.is_taken && !is_built;
        self.hand_over(&kept, all, is_alone, if is_built { &mut *covered } else { &mut *said });
        for root in &kept.roots {
            // One that is deployed as it stands there was read as such.
            if !seen.knows(root) {
                self.written(root, !is_alone, all, if is_built { &mut *covered } else { &mut *said });
            }
            // What its patch replaces is in the template all the same.
            let mut unpatched = root.clone();
            let spec = unpatched.value.entry_mut("spec");
            if spec.and_then(|spec| spec.remove("templatePatch")).is_some() {
                self.written(&unpatched, true, all, said);
            }
        }
    }

    /// Lays parts of releases over the nearest release of their name, which they may be meant for.
    pub(super) fn over(&self, parts: &[Object], built: &[Kept], all: &Cluster<'_>) -> R {
        let mut facts = R::default();
        let name = |object: &Object| object.name().map(|name| name.text().into_owned());
        let names: HashSet<String> = parts.iter().filter_map(name).collect();
        if names.is_empty() {
            return facts;
        }
        let is_wanted = |object: &Object| {
            let is_whole = flux::helm_release(object, all, self.files).is_some();
            is_whole && name(object).is_some_and(|name| names.contains(&name))
        };
        let of_files = parallel::fold(self.entries.written, |found: &mut Vec<Object>, file| {
            found.extend(self.read(&file.path).releases.into_iter().filter(is_wanted));
        });
        let releases = built.iter().flat_map(|kept| &kept.releases).filter(|object| is_wanted(object));
        let whole: Vec<Object> = releases.cloned().chain(of_files.into_iter().flatten()).collect();
        // What says something of `chart` is not meant for one that refers to its chart.
        let refers = |object: &&Object| object.value.path(&["spec", "chartRef"]).is_some();
        let (whole, with_chart) = (Cluster::new(&whole), Cluster::new(whole.iter().filter(|o| !refers(o))));
        for part in parts {
            let (Some(name), group) = (name(part), flux::RELEASES) else { continue };
            let namespace = part.namespace().map(|n| n.text().into_owned());
            let namespace = namespace.as_deref();
            let wanted = Reference { group, kind: "HelmRelease", name: &name, namespace, from: &part.file };
            let of_chart = part.value.path(&["spec", "chart"]).is_some();
            let whole = if of_chart { &with_chart } else { &whole };
            let object = whole
                .find(wanted)
                .map(|whole| Object::new(merged(&whole.value, &part.value), part.file.clone(), None));
            let release = match &object {
                Some(object) => flux::helm_release(object, all, self.files),
                None => flux::part(part, all, self.files),
            };
            if let Some(release) = &release {
                let (deployer, after) = (deployer_of(object.as_ref().unwrap_or(part)), After::Unsaid);
                (self.take)(
                    &mut facts,
                    Fact::Release(Asked { release, deployer, object: None, after, cluster: all }),
                );
            }
        }
        facts
    }

    /// Reads what an Application, or a set of them, says itself, as its file has it; `is_partial` says whether it is a patch,
    /// or what patches are laid over.
    fn written(&self, root: &Object, is_partial: bool, cluster: &Cluster<'_>, said: &mut Said<R>) {
        let (deployer, made) = match &*root.kind() {
            "Application" => (Deployer::Application, vec![root.clone()]),
            "ApplicationSet" => {
                let made = argo::application_set(root, cluster, self.files).objects;
                (Deployer::ApplicationSet, made)
            }
            _ => return,
        };
        for object in made {
            let Some(own) = argo::without_folders(&object) else { continue };
            let Build { mut charts, strays, idle, images, .. } = argo::application(&own, cluster, self.files);
            // A version that a template leaves out is its patch's to say.
            charts.iter_mut().for_each(|release| release.is_partial = is_partial);
            let facts = &mut said.facts;
            for release in &charts {
                let (object, after) = (Some(root), After::Wave(argo::sync_wave(&object)));
                (self.take)(facts, Fact::Release(Asked { release, deployer, object, after, cluster }));
            }
            self.said((&strays, &images, &charts), cluster, said);
            self.said((&idle, &[], &[]), cluster, said);
        }
    }

    /// Hands over what an object has nothing made of, or nothing that is followed.
    pub(super) fn unmade(&self, object: &Object, build: &Build, facts: &mut R) {
        if !build.unmade.is_empty() {
            (self.take)(facts, Fact::Unmade(object, &build.unmade));
        }
        if !build.told.is_empty() {
            (self.take)(facts, Fact::Told(object, &build.told));
        }
        if !build.overridden.is_empty() {
            (self.take)(facts, Fact::Overridden(object, &build.overridden));
        }
    }

    /// Hands over what is said of objects that are not known here, of some charts among others.
    pub(super) fn said(
        &self,
        (strays, images, charts): (&[Object], &[Value], &[ChartRelease]),
        cluster: &Cluster<'_>,
        said: &mut Said<R>,
    ) {
        for stray in strays {
            match &*stray.kind() {
                "HelmRelease" | "HelmChart" | "OCIRepository" => {
                    drop(self.release(stray, true, cluster, said))
                }
                "Application" => self.written(stray, true, cluster, said),
                _ => {}
            }
            (self.take)(&mut said.facts, Fact::Part(stray, cluster, charts));
        }
        if !images.is_empty() {
            (self.take)(&mut said.facts, Fact::Images(images, charts));
        }
    }
}

/// Says what the version of a HelmRelease's chart stands in.
pub(super) fn deployer_of(release: &Object) -> Deployer {
    match release.value.text(&["spec", "chartRef", "kind"]).as_deref() {
        // A chart in an artifact is one of a registry, or has no version of its own.
        Some("OCIRepository" | flux::ARTIFACT) => Deployer::OciRepository,
        Some("HelmChart") => Deployer::HelmChart,
        _ => Deployer::HelmRelease,
    }
}
