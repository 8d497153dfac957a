//! The kinds of objects that have something deployed: one row a kind.
//!
//! In: an object. Out: what its controller makes of it. Whatever walks over what is deployed asks this table, so that
//! another kind is one file that reads it and one row here. A kind that may be written in parts, as a patch of an object
//! that is not here, has its name in `model/written.rs` besides.

use super::{
    argo,
    build::Build,
    chart::ChartRelease,
    cluster::Cluster,
    files::Files,
    flux, k3s,
    object::Object,
    value::{Scalar, Value},
};
use crate::repo::RepoPath;

/// A kind of object that has something deployed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    group: &'static str,
    name: &'static str,
    /// Whose pins the versions of its charts are.
    pub deployer: Deployer,
    /// What it has deployed.
    pub makes: Makes,
    /// The objects of its cluster that say more of that: maps with values or variables, inputs, a version.
    sources: for<'c> fn(&Object, &Cluster<'c>) -> Vec<&'c Object>,
}

/// What a kind of object has deployed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Makes {
    /// Objects that have others deployed themselves.
    Roots(fn(&Object, &Cluster<'_>, &dyn Files) -> Build),
    /// Objects and charts.
    Objects {
        /// Builds them.
        build: fn(&Object, &Cluster<'_>, &dyn Files) -> Build,
        /// Tells whether it reads a folder of which it is said that something of interest is in it.
        concerns: fn(&Object, &Cluster<'_>, &IsWanted<'_>) -> bool,
    },
    /// One chart.
    Chart(fn(&Object, &Cluster<'_>, &dyn Files) -> Option<ChartRelease>),
}

/// Tells of a folder whether something of interest is in it.
type IsWanted<'w> = dyn Fn(&str) -> bool + 'w;

/// Who has a chart rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deployer {
    /// A HelmRelease with a chart of its own.
    HelmRelease,
    /// A HelmChart, of Flux or of k3s.
    HelmChart,
    /// An OCIRepository.
    OciRepository,
    /// An Application.
    Application,
    /// An ApplicationSet.
    ApplicationSet,
    /// A kustomization.
    Kustomize,
}

const KINDS: &[Kind] = &[
    Kind {
        group: flux::KUSTOMIZATIONS,
        name: "Kustomization",
        deployer: Deployer::Kustomize,
        makes: Makes::Objects { build: flux::kustomization, concerns: flux::concerns },
        sources: flux::variable_sources,
    },
    Kind {
        group: flux::OPERATOR,
        name: "ResourceSet",
        deployer: Deployer::Kustomize,
        makes: Makes::Objects { build: flux::resource_set, concerns: |_, _, _| true },
        sources: flux::provided_by,
    },
    Kind {
        group: flux::OPERATOR,
        name: "FluxInstance",
        deployer: Deployer::Kustomize,
        makes: Makes::Objects { build: flux::flux_instance, concerns: flux::instance_concerns },
        sources: flux::variable_sources,
    },
    Kind {
        group: argo::GROUP,
        name: "Application",
        deployer: Deployer::Application,
        makes: Makes::Objects { build: argo::application, concerns: argo::concerns },
        sources: no_sources,
    },
    Kind {
        group: argo::GROUP,
        name: "ApplicationSet",
        deployer: Deployer::ApplicationSet,
        makes: Makes::Roots(argo::application_set),
        sources: no_sources,
    },
    Kind {
        group: flux::RELEASES,
        name: "HelmRelease",
        deployer: Deployer::HelmRelease,
        makes: Makes::Chart(flux::helm_release),
        sources: flux::value_sources,
    },
    Kind {
        group: flux::SOURCES,
        name: "HelmChart",
        deployer: Deployer::HelmChart,
        makes: Makes::Chart(flux::chart_source),
        sources: no_sources,
    },
    Kind {
        group: flux::SOURCES,
        name: "OCIRepository",
        deployer: Deployer::OciRepository,
        makes: Makes::Chart(flux::chart_source),
        sources: no_sources,
    },
    Kind {
        group: k3s::GROUP,
        name: "HelmChart",
        deployer: Deployer::HelmChart,
        makes: Makes::Chart(k3s::helm_chart),
        sources: k3s::chart_config,
    },
    Kind {
        group: k3s::GROUP,
        name: "HelmChartConfig",
        deployer: Deployer::HelmChart,
        makes: Makes::Chart(k3s::helm_chart_config),
        sources: no_sources,
    },
];

/// Groups whose objects are of use to others of the same deployer: a source, an input, a configuration of a chart, a namesake
/// in another cluster.
const REFERRED: [&str; 5] = [flux::SOURCES, flux::WATCHER, flux::OPERATOR, flux::KUSTOMIZATIONS, k3s::GROUP];

/// Lists the APIs of all of these deployers.
pub fn apis() -> Vec<&'static str> {
    [&argo::APIS[..], &flux::APIS[..], &k3s::APIS[..]].concat()
}

/// Finds the row of an object; none where it has nothing deployed by itself.
pub(super) fn of(object: &Object) -> Option<&'static Kind> {
    row(&object.group(), &object.kind())
}

/// Lists the objects of the cluster that say more of what one has deployed: another cluster may have others of their names.
pub fn sources<'c>(object: &Object, cluster: &Cluster<'c>) -> Vec<&'c Object> {
    of(object).map(|kind| (kind.sources)(object, cluster)).unwrap_or_default()
}

/// Returns the charts that an object asks for, and who has them rendered.
pub fn charts(
    object: &Object,
    cluster: &Cluster<'_>,
    files: &dyn Files,
) -> Option<(Deployer, Vec<ChartRelease>)> {
    let kind = of(object)?;
    let charts = match kind.makes {
        Makes::Chart(read) => read(object, cluster, files).into_iter().collect(),
        Makes::Objects { build, .. } => build(object, cluster, files).charts,
        Makes::Roots(_) => Vec::new(),
    };
    Some((kind.deployer, charts))
}

fn no_sources<'c>(_: &Object, _: &Cluster<'c>) -> Vec<&'c Object> {
    Vec::new()
}

/// Tells whether an object has other objects deployed.
pub(super) fn is_root(object: &Object) -> bool {
    leads(&object.group(), &object.kind())
}

/// Tells whether objects of a kind have other objects deployed.
pub fn leads(group: &str, name: &str) -> bool {
    row(group, name).is_some_and(|kind| !matches!(kind.makes, Makes::Chart(_)))
}

/// Tells whether objects of a kind ask for a chart.
pub fn asks(group: &str, name: &str) -> bool {
    row(group, name).is_some_and(|kind| matches!(kind.makes, Makes::Chart(_)))
}

/// Tells whether others may refer to objects of a kind.
pub fn is_referred(group: &str, name: &str) -> bool {
    REFERRED.contains(&group) || (group.is_empty() && matches!(name, "ConfigMap" | "Secret" | "Namespace"))
}

/// Lists the folders of the tree that a root deploys, but for the tree itself, as far as it says them.
pub fn folders(root: &Object) -> Vec<String> {
    let Some(spec) = root.value.get("spec") else { return Vec::new() };
    let sources: Vec<&Value> = match &*root.kind() {
        "Application" => argo::sources(spec),
        "Kustomization" => vec![spec],
        _ => Vec::new(),
    };
    let folder = |source: &Value| {
        let path = source.scalar(&["path"]).and_then(Scalar::known)?;
        RepoPath::resolve_folder("", path.trim_start_matches('/'))
    };
    sources.into_iter().filter_map(folder).filter(|folder| !folder.is_empty()).collect()
}

fn row(group: &str, name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| (kind.group, kind.name) == (group, name))
}
