//! Where Flux has a chart from: HelmRepository, OCIRepository, GitRepository, HelmChart.

use super::{ARTIFACT, SOURCES, artifact::Artifact, own};
use crate::deploy::{
    chart::{Layer, Renewal, Repository, registry_chart},
    cluster::{Cluster, Reference},
    files::Files,
    object::Object,
    typed::is_true,
    value::{Scalar, Value},
};

/// A chart as a source gives it.
pub(super) struct Sourced {
    pub chart: Scalar,
    pub repository: Repository,
    pub version: Option<Scalar>,
    /// A pattern that tags have to match besides.
    pub filter: Option<Scalar>,
    /// Versions that it names beside that, and that do not count there.
    pub beside: Vec<Scalar>,
    /// Whether the chart's name is not known, and a name stands for it.
    pub is_part: bool,
    /// The values files that take the place of the chart's own values.
    pub layers: Vec<Layer>,
    /// How many of them that are.
    pub replacing: usize,
    /// What of it has to change before Flux packages it anew.
    pub renewal: Renewal,
}

// === impl Sourced ===

impl Sourced {
    /// A chart of which no more is said.
    pub fn new(chart: Scalar, repository: Repository) -> Self {
        let (version, filter, beside, layers) = (None, None, Vec::new(), Vec::new());
        let (is_part, replacing, renewal) = (false, 0, Renewal::Change);
        Self { chart, repository, version, filter, beside, is_part, layers, replacing, renewal }
    }
}

/// What a reference to a source is read with.
pub(super) struct Reader<'a> {
    /// The object that refers.
    pub object: &'a Object,
    pub cluster: &'a Cluster<'a>,
    pub files: &'a dyn Files,
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn find(&self, reference: &Value, kind: &str) -> Option<&'a Object> {
        let name = reference.text(&["name"])?;
        let own = self.object.namespace().and_then(Scalar::known);
        let namespace = reference.text(&["namespace"]).or(own);
        let wanted = Reference {
            group: SOURCES,
            kind,
            name: &name,
            namespace: namespace.as_deref(),
            from: &self.object.file,
        };
        match kind {
            // Its address says only whose charts it has, which is the same in all clusters.
            "HelmRepository" => self.cluster.find(wanted),
            _ => own::find(self.object, wanted, self.cluster),
        }
    }

    /// Follows `chartRef`.
    pub fn referenced(&self, reference: &Value) -> Option<Sourced> {
        let kind = reference.text(&["kind"])?.into_owned();
        if let Some(sourced) = self.composed(reference).filter(|_| kind == ARTIFACT) {
            return Some(sourced);
        }
        let Some(object) = self.find(reference, &kind) else {
            let name = reference.scalar(&["name"])?;
            let who = format!("{kind} `{}`, which is not in this repository", name.text());
            let version = Some(Scalar::unknown(&who));
            let sourced = Sourced::new(name.clone(), Repository::Unknown(who));
            return Some(Sourced { version, is_part: true, ..sourced });
        };
        Reader { object, ..*self }.source()
    }

    /// Follows a chart that lies at the root of an artifact: one of a registry, or of a folder of a repository.
    fn composed(&self, reference: &Value) -> Option<Sourced> {
        let own = self.object.namespace().and_then(Scalar::known);
        let namespace = reference.text(&["namespace"]).or(own);
        let artifact = Artifact::find(&reference.text(&["name"])?, namespace.as_deref(), self.cluster)?;
        let copied = artifact.at("")?;
        let kind = copied.source.text(&["kind"])?;
        let source = Reader { object: copied.generator, ..*self }.find(copied.source, &kind);
        match &*kind {
            "GitRepository" => {
                let url = source.and_then(|source| source.value.scalar(&["spec", "url"]));
                Some(Sourced::new(Scalar::made(&copied.path), Repository::Git(url.cloned())))
            }
            _ => Reader { object: source?, ..*self }.source(),
        }
    }

    /// Reads the object as a source.
    pub fn source(&self) -> Option<Sourced> {
        let spec = self.object.value.get("spec")?;
        match &*self.object.kind() {
            "OCIRepository" => {
                let url = spec.scalar(&["url"]);
                let (chart, repository) = match url {
                    Some(url) => registry_chart(url),
                    None => {
                        let who = "the object that this is a part of".to_owned();
                        (self.object.name()?.clone(), Repository::Unknown(who))
                    }
                };
                // In Flux's order: a digest, a range, a tag.
                let of_ref = |key| spec.scalar(&["ref", key]).filter(|s| !s.text().is_empty()).cloned();
                let mut versions = ["digest", "semver", "tag"].into_iter().filter_map(of_ref);
                let version = versions.next();
                // It counts for tags among which one is chosen alone.
                let is_chosen = of_ref("digest").is_none() && of_ref("semver").is_some();
                let filter = of_ref("semverFilter").filter(|_| is_chosen);
                let (beside, is_part) = (versions.collect(), url.is_none());
                Some(Sourced { version, filter, beside, is_part, ..Sourced::new(chart, repository) })
            }
            "HelmChart" => self.chart(spec),
            kind => {
                let who = format!("{kind} `{}`", self.object.name()?.text());
                Some(Sourced::new(Scalar::unknown(&who), Repository::Unknown(who)))
            }
        }
    }

    /// Reads `chart.spec` of a HelmRelease, or the spec of a HelmChart: both say the same.
    pub fn chart(&self, spec: &Value) -> Option<Sourced> {
        let chart = spec.scalar(&["chart"])?.clone();
        let version = spec.scalar(&["version"]).filter(|v| !v.text().is_empty()).cloned();
        let reference = spec.get("sourceRef")?;
        let kind = reference.text(&["kind"])?.into_owned();
        let name = reference.scalar(&["name"])?.text().into_owned();
        let url = self.find(reference, &kind).and_then(|o| o.value.scalar(&["spec", "url"]));
        let repository = match (&*kind, url) {
            ("HelmRepository", Some(url)) => Repository::Address(url.clone()),
            ("GitRepository", url) => Repository::Git(url.cloned()),
            ("HelmRepository", None) => {
                Repository::Unknown(format!("{kind} `{name}`, which is not in this repository"))
            }
            _ => Repository::Unknown(format!("{kind} `{name}`")),
        };
        let in_tree = matches!(repository, Repository::Git(_));
        let (layers, replacing) = self.values_files(spec, in_tree);
        // A chart in a folder has its version of its own.
        let version = version.filter(|_| !in_tree);
        let renewal = renewal(spec);
        Some(Sourced { version, layers, replacing, renewal, ..Sourced::new(chart, repository) })
    }

    /// Reads `valuesFiles`, which take the place of the chart's `values.yaml`, unless they begin with it.
    fn values_files(&self, spec: &Value, in_tree: bool) -> (Vec<Layer>, usize) {
        let optional = is_true(spec, &["ignoreMissingValuesFiles"]);
        let single = spec.get("valuesFile").filter(|_| spec.list_at("valuesFiles").is_empty());
        let files = spec.list_at("valuesFiles").iter().chain(single).filter_map(Value::as_scalar);
        let mut files = files.peekable();
        let Some(first) = files.peek().map(|file| file.text().trim_start_matches("./").to_owned()) else {
            return (Vec::new(), 0);
        };
        if !in_tree {
            let own = first == "values.yaml";
            let inside = files.skip(usize::from(own));
            let layers: Vec<Layer> =
                inside.map(|file| Layer::InChart { file: file.clone(), optional }).collect();
            let replacing = if own { 0 } else { layers.len() };
            return (layers, replacing);
        }
        let layer = |file: &Scalar| {
            let path = file.text().trim_start_matches("./").to_owned();
            match self.files.file(&path) {
                Ok(source) => Some(Layer::text(&Scalar::file(&source), self.files, &path)),
                Err(_) if optional => None,
                Err(error) => Some(Layer::outside(format!("{path}: {error}"))),
            }
        };
        let layers: Vec<Layer> = files.filter_map(layer).collect();
        let replacing = layers.len();
        (layers, replacing)
    }
}

/// Says what has to change before a chart is packaged anew. Who fills a strategy in may say either.
fn renewal(spec: &Value) -> Renewal {
    let is_by_version = |strategy: &Scalar| {
        strategy.known().is_some_and(|strategy| matches!(&*strategy, "" | "ChartVersion"))
    };
    match spec.scalar(&["reconcileStrategy"]).is_none_or(is_by_version) {
        true => Renewal::FluxVersion,
        false => Renewal::Change,
    }
}
