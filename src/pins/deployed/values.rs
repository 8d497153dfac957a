//! Step 5, pins: shape `helm-values`, versions in the values of Linkerd's charts, and in values of other charts that reach
//! Linkerd.
//!
//! In: a mapping of values and the chart that reads it. Out: claims. Which keys hold a version is `linkerd`'s to say.

use std::collections::HashSet;

use super::{
    claims::Claims,
    foreign::{At, By, read_at},
    pods::{Injection, asks, opted_out, take_asking},
};
use crate::{
    deploy::{
        ChartRelease, Files as _, Layer, Scalar, Value,
        chart::{Repository, merged},
        read, umbrella,
    },
    linkerd::{self, CHARTS, CONTROL_PLANE, EdgeVersion, MULTICLUSTER, VIZ, ValueLine},
    pins::{
        Home, PinKind, Reason, ScanOptions, Stage, annotation,
        context::Context,
        found::Spec,
        image::{self, LinkerdImage},
        index::repository_origin,
        origin::{Origin, Ours},
        release_names::TAGS,
        under::{Under, under},
        version_text::Expects,
    },
    repo::RepoPath,
    yaml::Ceilings,
};

/// Mappings in mappings that are walked; people write far fewer.
const DEPTH: usize = 64;
/// Layers of one chart that are each laid over the others.
const LAYERS: usize = 20;

/// The chart that reads values.
#[derive(Clone, Debug)]
pub(super) enum ReadBy {
    /// One of Linkerd's.
    Ours(Ours),
    /// A chart in the tree; each of Linkerd's that it takes in has the subtree at these keys.
    Umbrella(Vec<Part>),
    /// Any other.
    Other,
}

/// A chart of Linkerd's that one of the tree takes in.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The keys of its values.
    keys: Vec<String>,
    ours: Ours,
    /// Where its version stands.
    under: Vec<Under>,
}

/// Values, with who reads them.
pub(super) struct Read<'a> {
    /// What is asked for.
    pub options: &'a ScanOptions,
    /// The bounds of texts that are read as YAML.
    pub ceilings: &'a Ceilings,
    /// The chart.
    pub by: ReadBy,
    /// Whether pods in the namespace that the chart is rendered for are injected.
    pub injected: Injection,
    /// That namespace.
    pub namespace: Option<String>,
    /// Where the chart's version stands.
    pub under: Vec<Under>,
    /// Whether it is a chart from elsewhere that is not Linkerd's: the images in its values are its own.
    pub is_foreign: bool,
    /// Where the values of a chart read tags of Linkerd's images, all of them together.
    pub tags: HashSet<At>,
}

// === impl ReadBy ===

impl ReadBy {
    /// A chart in a folder of the tree, where there is one.
    pub fn umbrella(context: &Context<'_>, folder: &str) -> Self {
        let mirrors = &context.options.mirrors;
        let ours = |inner: umbrella::Inner| {
            let origin = repository_origin(inner.repository.as_deref());
            // Values of a copy go with the release that it was taken at.
            let copy = inner.folder.as_ref().and_then(|folder| copied_at(context, folder.as_str()));
            // Values reach a vendored chart too, so where that is from does not matter here.
            let vendored = || {
                let is_local = matches!(origin, Origin::Local) && CHARTS.contains(&&*inner.chart);
                let stays = copy.is_none().then_some(Reason::Uneditable);
                is_local.then(|| Ours::new(&inner.chart, stays))
            };
            let version = inner.version.as_ref().map(Scalar::text).unwrap_or_default();
            let ours = Ours::judge(&inner.chart, &origin, &version, mirrors).or_else(vendored)?;
            let under = under(copy.as_ref().or(inner.version.as_ref()), false);
            Some(Part { keys: inner.keys, ours, under })
        };
        let all: Vec<_> = umbrella::inner(context.files, folder).into_iter().filter_map(ours).collect();
        if all.is_empty() { Self::Other } else { Self::Umbrella(all) }
    }

    /// Tells whether a chart of the tree that is read so and has the name of one of Linkerd's is a copy of that, rather than
    /// one that takes it in: that, or others and nothing more, without templates of its own.
    pub fn is_copy(&self, context: &Context<'_>, folder: &str) -> bool {
        let Some(chart) = context.local_chart(folder).filter(|chart| linkerd::is_chart(chart)) else {
            return false;
        };
        let takes_itself = |all: &[Part]| all.iter().any(|part| part.ours.chart == chart);
        !matches!(self, Self::Umbrella(all) if takes_itself(all) || !has_templates(context, folder))
    }
}

/// Returns the version of Linkerd's that a chart in a folder of the tree has, where it has one.
pub(super) fn copied_at(context: &Context<'_>, folder: &str) -> Option<Scalar> {
    let documents = context.files.documents(&format!("{folder}/Chart.yaml"));
    let version = documents.iter().flat_map(|all| all.iter()).find_map(|chart| chart.scalar(&["version"]));
    version.filter(|version| EdgeVersion::from_chart(&version.text()).is_some()).cloned()
}

/// Tells whether anything comes of a chart of the tree itself, and not of its dependencies alone.
fn has_templates(context: &Context<'_>, folder: &str) -> bool {
    let gives = |name: &str| !name.starts_with('_') && name != "NOTES.txt";
    let below = RepoPath::resolve(folder, "templates");
    below.is_some_and(|below| context.files.below(below.as_str()).iter().any(|e| gives(e.path.name())))
}

// === impl Read ===

impl<'a> Read<'a> {
    /// Values of which nobody knows the namespace.
    pub fn new(context: &Context<'a>, by: ReadBy) -> Self {
        let (injected, under) = (Injection::Open, Vec::new());
        Self {
            options: context.options,
            ceilings: context.files.ceilings(),
            by,
            injected,
            namespace: None,
            under,
            is_foreign: false,
            tags: HashSet::new(),
        }
    }

    /// Values of a chart of Linkerd's of which no more is known.
    fn of(context: &Context<'a>, chart: &str) -> Self {
        Self::new(context, ReadBy::Ours(Ours::new(chart, None)))
    }

    /// Takes the releases in a mapping of values.
    pub fn take(&self, values: &Value, claims: &mut Claims) {
        let mut known = HashSet::new();
        match &self.by {
            ReadBy::Ours(ours) => table(values, (ours, &self.under), &mut known, claims),
            ReadBy::Umbrella(all) => {
                for Part { keys, ours, under } in all {
                    let subtree = keys.iter().try_fold(values, |values, key| values.get(key));
                    subtree.into_iter().for_each(|subtree| table(subtree, (ours, under), &mut known, claims));
                }
            }
            ReadBy::Other => {}
        }
        self.anywhere((values, None), DEPTH, &known, claims);
    }

    /// Takes images of which one layer of a chart's values says the name, and another one the tag.
    pub fn take_images(&mut self, release: &ChartRelease, claims: &mut Claims) {
        let names_one = |text: &&Scalar| text.known().is_some_and(|text| image::is_named(&text));
        let speaks = release.scalars().any(|text| text.text().contains("linkerd"));
        if !speaks && !self.is_foreign {
            return;
        }
        let values = release.values().value;
        // What others are laid over is told too.
        let over = |layer: &Layer| match layer {
            Layer::Values(own) => Some(merged(&values, own)),
            _ => None,
        };
        let each = release.layers.iter().take(LAYERS).filter_map(over);
        for values in each.chain([values.clone()]) {
            let mut todo = vec![&values];
            while let Some(value) = todo.pop() {
                let tag = self.split_image((value, true), &HashSet::new(), claims);
                self.tags.extend(tag.and_then(read_at));
                todo.extend(value.entries().map(|(_, value)| value).chain(value.items()));
            }
        }
        // What a chart puts behind an image's name is known of those of the tree alone.
        let all = values.scalars();
        let is_known = matches!(release.repository, Repository::Git(_));
        if !is_known && all.iter().any(names_one) {
            let is_tag =
                |text: &&Scalar| text.known().is_some_and(|text| text.parse::<EdgeVersion>().is_ok());
            all.into_iter().filter(is_tag).for_each(|text| claims.take_not_followed(text));
        }
    }

    /// Notes what a chart from elsewhere reads, but for the tags that all its values together put to Linkerd's images.
    fn take_foreign(&self, text: &Scalar, claims: &mut Claims) {
        if !read_at(text).is_some_and(|at| self.tags.contains(&at)) {
            claims.foreign.take(text, By::Other);
        }
    }

    /// Takes a single value, by its path of keys.
    pub fn take_single(&self, name: &str, value: &Scalar, claims: &mut Claims) {
        // A dot that belongs to a key is escaped: `podAnnotations.config\.linkerd\.io/proxy-version`.
        if let Some(key) = annotation::ending(&name.replace('\\', "")) {
            let stays = opted_out(&Value::empty(), self.injected);
            claims.take(value, &annotation::of(key).at_home(self.home(None)).staying(stays));
        } else if let Some(spec) = self.spec(name) {
            claims.take(value, &spec);
        } else if self.is_foreign && names_image(name.rsplit('.').next().unwrap_or(name)) {
            self.take_foreign(value, claims);
        }
    }

    fn home(&self, labels: Option<&Value>) -> Option<Home> {
        self.options.homes.then(|| Home::new(self.namespace.as_deref(), labels))
    }

    /// Says what a value at a path of keys holds; `None` where it holds no version.
    fn spec(&self, path: &str) -> Option<Spec> {
        match &self.by {
            ReadBy::Ours(ours) => {
                let spec = |value| value_spec(ours, &value).under(&self.under);
                linkerd::value(&ours.chart, path).map(spec)
            }
            ReadBy::Umbrella(all) => all.iter().find_map(|Part { keys, ours, under }| {
                let below = |path, key: &String| -> Option<&str> {
                    str::strip_prefix(path, &**key)?.strip_prefix('.')
                };
                let rest = keys.iter().try_fold(path, below)?;
                linkerd::value(&ours.chart, rest).map(|value| value_spec(ours, &value).under(under))
            }),
            ReadBy::Other => None,
        }
    }

    /// Takes what reaches Linkerd from the values of any chart, with the labels of pods beside them: annotations of pods,
    /// and Linkerd's images.
    fn anywhere(
        &self,
        (value, labels): (&Value, Option<&Value>),
        depth: usize,
        known: &HashSet<Start<'_>>,
        claims: &mut Claims,
    ) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for (version, spec) in annotation::versions(value) {
            let spec = spec.at_home(self.home(labels));
            claims.take(version, &spec.staying(opted_out(value, self.injected)));
        }
        let labels = value.get("podLabels");
        if self.options.restarts && asks(value, "podLabels") {
            let spec = annotation::spec().at_home(self.home(labels));
            take_asking(value, ("podLabels", "podAnnotations"), self.injected, spec, claims);
        }
        self.split_image((value, false), known, claims);
        for (key, below) in value.entries() {
            match below.as_scalar() {
                Some(scalar) if key.to_ascii_lowercase().ends_with("image") => {
                    if let Some((part, image)) = image::pinned(&scalar.text()) {
                        claims.take(&scalar.cut(part), &self.image_spec(image));
                    } else if self.is_foreign {
                        self.take_foreign(scalar, claims);
                    }
                }
                // What stands under `tag` itself belongs to the name beside it, and was looked at with that.
                Some(scalar)
                    if self.is_foreign && key != "tag" && names_image(key) && !names_linkerd_image(value) =>
                {
                    self.take_foreign(scalar, claims);
                }
                // Charts that lay a text into their templates are given pods and annotations so.
                Some(scalar) if annotation::is_in(&scalar.text()) => {
                    if let Ok(inner @ Value::Map(_)) = read::mapping(scalar, self.ceilings) {
                        self.anywhere((&inner, labels), depth, &HashSet::new(), claims);
                    }
                }
                Some(_) => {}
                None => self.anywhere((below, labels), depth, known, claims),
            }
        }
        for item in value.items() {
            self.anywhere((item, None), depth, known, claims);
        }
    }

    /// Says what the tag of an image in values is: a proxy of another product waits for the control plane as any other.
    fn image_spec(&self, image: LinkerdImage) -> Spec {
        let spec = Spec::platform(PinKind::HelmValues, Expects::Edge).staying(image.stays).under(&self.under);
        let is_workload = image.is_proxy && self.is_foreign;
        let stage = if is_workload { Stage::DataPlane } else { spec.stage };
        Spec { stage, ended: image.ended, ..spec }
    }

    /// Takes `{repository: cr.l5d.io/linkerd/proxy, tag: ...}` and the forms that charts give to it. Where that is all that
    /// the values say, what names nothing is the chart's own.
    /// Returns a tag of Linkerd's.
    fn split_image<'v>(
        &self,
        (value, is_all): (&'v Value, bool),
        known: &HashSet<Start<'_>>,
        claims: &mut Claims,
    ) -> Option<&'v Scalar> {
        let tag = value.scalar(&["tag"]).or_else(|| value.scalar(&["version"]))?;
        if place(tag).is_some_and(|place| known.contains(&place)) {
            return None;
        }
        let registry = value.text(&["registry"]).map(|r| r.trim_end_matches('/').to_owned());
        let name = |key: &&str| value.text(&[key]).filter(|name| !name.is_empty());
        let names = || ["repository", "name", "image"].iter().filter_map(name);
        let named = names().find_map(|name| {
            let whole = registry.as_ref().map(|r| format!("{r}/{name}"));
            whole.as_deref().and_then(image::linkerd_image).or_else(|| image::linkerd_image(&name))
        });
        if let Some(image) = named {
            let digest = has_digest(value).then_some(Reason::Digest);
            claims.take(tag, &self.image_spec(image).staying(digest));
            return Some(tag);
        }
        if !self.is_foreign {
            return None;
        }
        if names_linkerd_chart(value) {
            // How that chart is installed is the other's own to say.
            claims.take_not_followed(tag);
        } else if names().next().is_some() || is_all && value.get("tag").is_some() {
            self.take_foreign(tag, claims);
        }
        None
    }
}

/// Takes the releases of a values file that nothing in the tree refers to: CI gives it to Helm. Only keys that no other
/// chart has, and only releases of Linkerd, are taken.
pub(super) fn take_unclaimed(context: &Context<'_>, values: &Value, claims: &mut Claims) {
    let chart = [CONTROL_PLANE, VIZ, MULTICLUSTER].into_iter().find(|chart| {
        let own = |v: &&linkerd::Value| v.chart == *chart && v.path != "linkerdVersion";
        linkerd::VALUES.iter().filter(own).any(|value| names_a_release(values, value))
    });
    let version = values.text(&["linkerdVersion"]).filter(|text| is_release(text));
    if let Some(chart) = chart.or_else(|| version.map(|_| chart_with_version(values))) {
        Read::of(context, chart).take(values, claims);
    }
    for (key, subtree) in values.entries().filter(|(key, _)| CHARTS.contains(key)) {
        Read::of(context, key).take(subtree, claims);
    }
    Read::new(context, ReadBy::Other).take(values, claims);
}

/// Takes the releases of a file that nothing in the tree refers to, whatever it is called, which have the keys of charts that some
/// of the tree depend on, themselves or by charts between, and of values of these.
pub(super) fn take_for_dependencies(context: &Context<'_>, values: &Value, claims: &mut Claims) {
    if !context.index.dependencies.is_empty() {
        take_below(context, (values, &[]), claims);
    }
}

fn take_below(context: &Context<'_>, (values, above): (&Value, &[&str]), claims: &mut Claims) {
    if above.len() == umbrella::DEPTH {
        return;
    }
    for (key, subtree) in values.entries().filter(|(_, subtree)| matches!(subtree, Value::Map(_))) {
        let keys = [above, &[key]].concat();
        let charts = context.index.dependencies.get(key).into_iter().flatten();
        let is_read = |chart: &&String| {
            let is_taken_in = || above.is_empty() || context.index.takes_in(context.files, &keys, chart);
            linkerd::values(chart).any(|value| names_a_release(subtree, value)) && is_taken_in()
        };
        charts.filter(is_read).for_each(|chart| Read::of(context, chart).take(subtree, claims));
        take_below(context, (subtree, &keys), claims);
    }
}

/// Tells whether values name a release of Linkerd where a chart reads one.
fn names_a_release(values: &Value, value: &linkerd::Value) -> bool {
    let keys: Vec<&str> = value.path.split('.').collect();
    let texts = || at(values, &keys).into_iter().filter_map(Value::as_scalar);
    value.line == ValueLine::Edge && texts().any(|text| is_release(&text.text()))
}

fn is_release(text: &str) -> bool {
    TAGS.iter().any(|channel| text.starts_with(channel))
}

/// Says whose values a `linkerdVersion` alone stands in: those of the chart that has the keys beside it.
fn chart_with_version(values: &Value) -> &'static str {
    let has = |keys: &[&str]| keys.iter().any(|key| values.entry(key).is_some());
    match () {
        () if has(&["metricsAPI", "tap", "tapInjector", "dashboard"]) => VIZ,
        () if has(&["localServiceMirror", "controllerDefaults", "gateway"]) => MULTICLUSTER,
        () => CONTROL_PLANE,
    }
}

fn value_spec(ours: &Ours, value: &linkerd::Value) -> Spec {
    let own = matches!(value.line, ValueLine::Own(_)).then_some(Reason::OwnVersion);
    let ended = value.dead_since.filter(|_| own.is_none()).and_then(|since| since.parse().ok());
    let spec = Spec::platform(PinKind::HelmValues, Expects::Edge).of_chart(&ours.chart);
    let chooses_controllers = value.chooses_controllers();
    let spec = Spec { on_demand: value.on_demand, chooses_controllers, ended, ..spec };
    spec.staying(own).staying(ours.stays)
}

/// Tells whether any text of a mapping names an image of Linkerd's.
fn names_linkerd_image(values: &Value) -> bool {
    let mut texts = values.entries().filter_map(|(_, value)| value.as_scalar());
    texts.any(|text| image::linkerd_image(&text.text()).is_some())
}

/// Tells whether any text of a mapping is the name of a chart of Linkerd's.
fn names_linkerd_chart(values: &Value) -> bool {
    let mut texts = values.entries().filter_map(|(_, value)| value.as_scalar());
    texts.any(|text| linkerd::is_chart(&text.text()))
}

/// Tells whether a key of values says which image runs.
fn names_image(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("tag") || key.ends_with("image")
}

/// Where the first part of a scalar was written.
type Start<'v> = (&'v str, usize);

fn place(scalar: &Scalar) -> Option<Start<'_>> {
    scalar.origins().next().map(|at| (at.source.path.as_str(), at.span.start))
}

/// Takes what the table of a chart's values knows.
pub(super) fn table<'v>(
    values: &'v Value,
    (ours, under): (&Ours, &[Under]),
    known: &mut HashSet<Start<'v>>,
    claims: &mut Claims,
) {
    for value in linkerd::values(&ours.chart) {
        let keys: Vec<&str> = value.path.split('.').collect();
        let Some((last, image)) = keys.split_last() else { continue };
        for image in at(values, image) {
            let Some(scalar) = image.scalar(&[last]) else { continue };
            known.extend(place(scalar));
            // A tag beside a digest is not what runs.
            let digest = has_digest(image).then_some(Reason::Digest);
            claims.take(scalar, &value_spec(ours, value).staying(digest).under(under));
        }
    }
}

/// Returns what values have at a path of keys, of a list all items.
fn at<'v>(values: &'v Value, keys: &[&str]) -> Vec<&'v Value> {
    keys.iter().fold(vec![values], |all, key| match *key {
        "[]" => all.into_iter().flat_map(Value::items).collect(),
        key => all.into_iter().filter_map(|value| value.get(key)).collect(),
    })
}

fn has_digest(image: &Value) -> bool {
    image.scalar(&["digest"]).is_some_and(|digest| !digest.text().is_empty())
}
