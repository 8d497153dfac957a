//! Step 5, pins: every place in the repository that pins a Linkerd version.
//!
//! In: a [`Tree`](crate::repo::Tree). Out: an [`Inventory`] of [`Pin`]s, and of files that were skipped. This file holds the types
//! and the tree; one file a shape. A pin says what it is and whether it may move, not where to.

mod annotation;
mod applier;
mod chart;
mod chart_use;
mod context;
mod corpus;
mod deployed;
mod ended;
mod found;
mod hold;
mod home;
mod idle;
mod image;
mod index;
mod installed;
mod irrelevant;
mod key;
mod layout;
mod marker;
mod nearest;
mod object;
mod origin;
mod other;
mod place;
mod reader;
mod reason;
mod release_names;
mod rendered;
mod renderings;
mod rivals;
mod run;
mod screen;
mod screened;
mod siblings;
mod tag_filter;
mod under;
mod unknown;
mod unread;
mod version_text;
mod versioned;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    deploy::tree_chart::ChartOutcome,
    linkerd::EdgeVersion,
    repo::{BlobId, RepoPath},
    yaml::{Ceilings, Route},
};

pub use crate::deploy::{Labels, Repositories, Root, kustomize::is_kustomization, tree_chart::Evaluate};
pub use applier::{Applier, REPLACES, Revision};
pub use chart_use::{ChartUse, Installed, Parameter, ParameterKind, ValuesPart};
pub use ended::Ended;
pub use home::Home;
pub use image::is_named as is_image;
pub use irrelevant::IrrelevantBlobs;
pub use key::{PinKey, Within};
pub use origin::{canonical, lies_in};
pub use other::{Mention, mentions};
pub use reader::{Line, Reader};
pub use reason::Reason;
pub use rendered::{Marks, marks};
pub use renderings::{RenderedFile, together};
pub use rivals::Rival;
pub use run::scan;
pub use tag_filter::TagFilter;
pub use under::ChartVersions;
pub use versioned::Versioned;

/// What the operator and the repository say of a scan.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// Files that are left out (`ignore`).
    pub ignore: globset::GlobSet,
    /// Addresses of repositories that are the edge repository by another name: what comes from one, or from below it, is
    /// of the edge channel whatever its version looks like.
    pub mirrors: Vec<String>,
    /// The ceiling on one file, in bytes; a larger one is named and never loaded.
    pub file_bytes: u64,
    /// What an earlier scan need not have read ([`Inventory::irrelevant`]).
    pub irrelevant: IrrelevantBlobs,
    /// Whether the installations of pins are looked for.
    pub installations: bool,
    /// Whether pod templates that ask for restarts are pins where they have no annotation yet.
    pub restarts: bool,
    /// Whether the homes of pods are looked for.
    pub homes: bool,
    /// What evaluates charts of the tree; without it the plain forms of their templates are followed.
    pub helm: Option<Arc<dyn Evaluate>>,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            ignore: globset::GlobSet::empty(),
            mirrors: Vec::new(),
            file_bytes: 16 << 20,
            irrelevant: IrrelevantBlobs::default(),
            installations: true,
            restarts: false,
            homes: false,
            helm: None,
        }
    }
}

/// What a scan found.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// The pins, ordered by path, then position.
    pub pins: Vec<Arc<Pin>>,
    /// Files that mention Linkerd and were not read, and shapes that are not moved yet.
    pub skipped: Vec<Skipped>,
    /// What the checks of a later step need to know of the repository.
    pub facts: Facts,
    /// What came of the charts whose folder is in the repository.
    pub charted: Arc<[ChartOutcome]>,
    /// For the next scan of nearly the same tree.
    pub irrelevant: IrrelevantBlobs,
}

/// A place that pins a Linkerd version.
#[derive(Clone, Debug)]
pub struct Pin {
    /// The file.
    pub path: RepoPath,
    /// The blob that the file had when it was scanned.
    pub blob: BlobId,
    /// Where in the file.
    pub site: Site,
    /// The shape.
    pub kind: PinKind,
    /// The chart that it fixes, where it fixes one; others that read it are among [`Self::also`].
    pub chart: Option<String>,
    /// Whether the chart comes from a mirror of the edge repository rather than from it.
    pub mirror: Option<String>,
    /// The text as it stands, without quotes.
    pub value: String,
    /// How the text names a release.
    pub form: Form,
    /// How what it is named after reads it, where that is otherwise: a chart's version may be made of an image's tag, and a tag of
    /// another channel is one.
    pub read_as: Option<Form>,
    /// What its readers put around the text; the whole names the release then.
    pub frame: Option<Frame>,
    /// The release that it names; `None` for a digest, a range, or a scheme that only the index knows.
    pub version: Option<EdgeVersion>,
    /// When it moves.
    pub stage: Stage,
    /// Whether it is in a pod template that asks for restarts.
    pub restarts: bool,
    /// Whether nothing deploys it as things stand, so that it moves with the others and asks nothing of a release: what is
    /// switched off, a default that all who read it override, what runs where a pod asks for it alone.
    pub is_off: bool,
    /// Whether a required stop is made, or was, by what it is installed beside, so that it asks for none itself.
    pub asks_no_stop: bool,
    /// Whether the control plane's own workloads run the image that it chooses, whatever the version of the chart says: by a
    /// value, or as a tag that is laid over the chart.
    pub chooses_controllers: bool,
    /// The pattern that the tag of a release has to match besides, where it is a range of tags.
    pub filter: Option<TagFilter>,
    /// Why it never moves, whatever the release; `None` for a pin that may move.
    pub stays: Option<Reason>,
    /// Why it would stay without the comment that holds it.
    pub unheld: Option<Reason>,
    /// Since when its chart no longer reads it, where it is a value that was read once.
    pub ended: Option<Ended>,
    /// What keeps it there, where that stands elsewhere: a comment, the version of its chart, somebody else's reading.
    pub kept_by: Option<Line>,
    /// Where others name it, and so read it.
    pub read_at: Vec<Line>,
    /// The versions of the charts that it is given to, of a value of which each of them is known.
    pub given_to: Vec<Line>,
    /// What else reads it.
    pub also: Vec<Reader>,
    /// The installations that it serves, ordered by name; none where the repository does not tell.
    pub installations: Installations,
    /// The pods that it goes to, where they were looked for.
    pub homes: Vec<Arc<Home>>,
}

/// Names of installations, ordered.
pub type Installations = Arc<[Arc<str>]>;

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The bytes of the scalar's text that are replaced: without quotes, without an image's name.
    pub span: Range<usize>,
    /// The line of the scalar's first character, from 1.
    pub line: usize,
    /// The column of the scalar's first character in characters, from 1.
    pub column: usize,
    /// The document in its stream, from 0.
    pub document: usize,
    /// The node that holds the text; `None` in a file that is not YAML or JSON (a `marker` line).
    pub route: Option<Route>,
}

/// The shape of a pin (the kinds of the contract, in its order).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PinKind {
    /// Flux `HelmRelease` `spec.chart.spec.version`.
    FluxHelmRelease,
    /// `HelmChart` `spec.version`, of Flux or of k3s.
    FluxHelmChart,
    /// Flux `OCIRepository` `spec.ref`.
    FluxOciRepository,
    /// Argo CD `Application` `targetRevision`.
    ArgoApplication,
    /// Argo CD `ApplicationSet` template `targetRevision`.
    ArgoApplicationset,
    /// An element of a generator, inline or in a file.
    ArgoGenerator,
    /// `helm.parameters` of an Argo CD source.
    ArgoHelmParameter,
    /// kustomize `helmCharts[].version`.
    KustomizeHelmChart,
    /// kustomize `images[].newTag`.
    KustomizeImage,
    /// `Chart.yaml` `dependencies[].version`.
    ChartDependency,
    /// `Chart.lock` versions and digest.
    ChartLock,
    /// A value of a chart.
    HelmValues,
    /// `config.linkerd.io/proxy-version`, or `debug-image-version`.
    ProxyAnnotation,
    /// A Linkerd image in a manifest.
    Image,
    /// A committed `helm template` or `linkerd install` output.
    RenderedManifest,
    /// A value that a pin reads from elsewhere.
    Variable,
    /// The version of a release of helmfile.
    Helmfile,
    /// The version of a `helm_release` of Terraform.
    Terraform,
    /// The version of a chart in Fleet's `fleet.yaml`.
    Fleet,
    /// A line with an `uplinker:` comment.
    Marker,
    /// Text that names a release and that no deployer reads.
    Other,
}

/// The texts around a pin's own that its readers put together with it: `edge-` before the value of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The text before.
    pub before: String,
    /// The text behind.
    pub behind: String,
}

/// How a pin's text names a release, and so how a new one is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// `edge-26.8.3`.
    Edge,
    /// The version of the pin's chart, `2026.8.3`.
    Chart,
    /// The digest of a `Chart.lock`, recomputed when one of its versions moves.
    LockDigest,
    /// The first version in a rendered manifest, which moves as a whole.
    Rendered,
    /// The place for an annotation that is not there yet: its route leads to it, its line is that of what asks for it.
    Absent,
    /// Nothing that can be rewritten (a range, a digest).
    Opaque,
}

/// The stage in which a pin moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// CRDs, control plane, extensions, CNI.
    #[default]
    Platform,
    /// Proxy pins.
    DataPlane,
}

impl Stage {
    /// Returns its name, as branches, titles and markers have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::DataPlane => "data-plane",
        }
    }
}

/// A file that mentions Linkerd and was not read, or not wholly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Skipped {
    /// The file.
    pub path: RepoPath,
    /// Why.
    pub reason: SkipReason,
    /// Where and what, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The releases that its text names: an unreadable file that holds one of a stage's old versions blocks it.
    #[serde(rename = "releases")]
    pub versions: Vec<EdgeVersion>,
}

/// Why a file was not read: a closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// A Helm template.
    HelmTemplate,
    /// Not YAML.
    Syntax,
    /// Over a ceiling.
    TooLarge,
    /// Not UTF-8.
    NotUtf8,
    /// SOPS or git-crypt.
    Encrypted,
    /// A symbolic link.
    Symlink,
    /// A submodule.
    Submodule,
    /// A name that is no path: not UTF-8, `..`, twice in one folder, or too long.
    OddName,
    /// A helmfile that cannot be read, or only in part.
    Helmfile,
    /// HCL that cannot be parsed.
    Terraform,
    /// A script or template in another language.
    UnknownShape,
    /// A comment that is meant for uplinker and says nothing that it knows.
    Marker,
}

/// What the checks need to know of the repository beside its pins.
#[derive(Clone, Debug, Default, Hash)]
pub struct Facts {
    /// Charts of Linkerd as the repository has them rendered.
    pub uses: Vec<ChartUse>,
    /// Files that hold what Helm or `linkerd install` made, once for each chart in them, ordered by path.
    pub rendered: Vec<RenderedFile>,
    /// Releases and applications of Linkerd charts with what they say of their order.
    pub deployments: Vec<Deployment>,
    /// The installations, ordered by name.
    pub installations: Vec<Arc<str>>,
    /// The labels of each installation.
    pub labels: BTreeMap<Arc<str>, Labels>,
    /// Those to which nothing here brings a control plane: which release it runs is not known.
    pub bare: BTreeSet<Arc<str>>,
    /// Those whose control plane stays as it is, whatever is merged: its deployer is told to leave it.
    pub suspended: BTreeSet<Arc<str>>,
    /// The files from which what the pins are in is deployed, each with those that it reads.
    pub roots: Vec<Root>,
    /// The repositories of which folders are in the tree, as deployers call them.
    pub repositories: Repositories,
    /// Whether there are more of them than are looked at, so that none is known.
    pub rootless: bool,
    /// Text outside deployable files that would render or install an old release again.
    pub generators: Vec<Generator>,
    /// Renovate or Dependabot configurations that manage the same pins.
    pub rivals: Vec<Rival>,
    /// Who applies the files with pins and with rendered objects, and those that have charts rendered; none is nobody who
    /// is known.
    pub appliers: BTreeMap<RepoPath, Vec<Applier>>,
    /// Charts of the repository that their deployers take anew by version alone.
    pub versioned: BTreeSet<Versioned>,
}

// === impl Facts ===

impl Facts {
    /// Returns the names of those who apply a file, as far as they are known.
    pub fn applied_by(&self, path: &RepoPath) -> BTreeSet<&str> {
        self.appliers.get(path).into_iter().flatten().map(|applier| &*applier.name).collect()
    }
}

/// A Linkerd chart as the repository deploys it, once for all clusters that it is the same in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deployment {
    /// The file and line of the object.
    pub path: RepoPath,
    /// From 1.
    pub line: usize,
    /// The chart.
    pub chart: String,
    /// Where its version stands: files, with first and last byte.
    pub version: Vec<(RepoPath, usize, usize)>,
    /// The object's name and namespace.
    pub name: String,
    /// The object's namespace, where known.
    pub namespace: Option<String>,
    /// Names (or `namespace/name`) in Flux `dependsOn`; `None` where the shape has no such thing.
    pub depends_on: Option<Vec<String>>,
    /// Argo CD's sync wave; `None` where the shape has no such thing.
    pub sync_wave: Option<i64>,
}

/// A script that names an old release (Makefile, shell), or what a plugin of Argo CD is told.
#[derive(Clone, Debug, Hash)]
pub struct Generator {
    /// The file.
    pub path: RepoPath,
    /// From 1.
    pub line: usize,
    /// The release that it would bring back.
    pub version: EdgeVersion,
    /// How it names it.
    pub form: Form,
}

// === impl Inventory ===

impl Inventory {
    /// Returns the pins, ordered by path, then position.
    pub fn pins(&self) -> impl Iterator<Item = &Pin> + Clone {
        self.pins.iter().map(AsRef::as_ref)
    }
}

// === impl Deployment ===

impl Deployment {
    /// Tells whether its version is what a pin fixes.
    pub fn has_version_of(&self, pin: &Pin) -> bool {
        let Range { start, end } = pin.site.span;
        let written =
            |(path, from, to): &(RepoPath, usize, usize)| *path == pin.path && start < *to && *from < end;
        // A chart that no version is asked of has its pin beside it.
        self.version.iter().any(written) || self.version.is_empty() && self.path == pin.path
    }
}

// === impl Frame ===

impl Frame {
    /// Returns what of a whole text is to be written between those around it; `None` where they do not fit it.
    pub fn inner<'t>(&self, whole: &'t str) -> Option<&'t str> {
        whole.strip_prefix(&*self.before)?.strip_suffix(&*self.behind).filter(|text| !text.is_empty())
    }

    /// Returns the whole that a text is read as.
    pub fn whole(&self, text: &str) -> String {
        format!("{}{text}{}", self.before, self.behind)
    }
}

// === impl ScanOptions ===

impl ScanOptions {
    /// Returns the ceilings under which a file is parsed.
    fn ceilings(&self) -> Ceilings {
        let bytes = usize::try_from(self.file_bytes).unwrap_or(usize::MAX);
        Ceilings { bytes, ..Ceilings::default() }
    }
}
