//! Step 5, pins: shape `argo-generator`, elements that feed an ApplicationSet's template.
//!
//! In: an ApplicationSet's generators and one of its templates. Out: pins at exactly the fields that the template reads
//! as a version of a Linkerd chart, inline or in JSON and YAML files of the same tree. A template may name the chart
//! by an element too, so each element is judged by itself.

use std::sync::Arc;

use globset::GlobBuilder;

use super::{
    PinKind, Reason, argo,
    context::{Context, NamedChart, oci_chart},
    corpus::File,
    found::{Found, Spec},
    index::argo_sources,
    object::Object,
    origin::{Origin, Ours},
    place::Place,
    template,
    values::ReadBy,
    version_text::{Expects, Judged, judge},
};
use crate::yaml::{Node, Route};

/// Generators nest two deep in Argo CD.
const NESTED: usize = 4;

/// Where an element stands: the ApplicationSet itself, or a file that a generator reads.
struct Element {
    /// `None` for the ApplicationSet's own text.
    file: Option<Arc<File>>,
    /// The element's mapping.
    route: Route,
    /// The generator's `values`, which stand in the ApplicationSet.
    values: Option<Route>,
}

/// What one source of the template says.
struct Reading<'a> {
    source: Node<'a>,
    chart: Option<&'a str>,
    url: Option<&'a str>,
    version: &'a str,
}

/// Returns the templates that generators bring along.
pub(super) fn templates(spec: Node<'_>) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    for generator in all_generators(spec) {
        found.extend(generator.path(&["template", "spec"]));
    }
    found
}

/// Takes the fields of elements that a template reads as a version.
pub(super) fn pins(
    context: &Context<'_>,
    place: Place<'_>,
    spec: Node<'_>,
    template: Node<'_>,
    found: &mut Found,
) {
    let elements = elements(context, spec);
    let sources = argo_sources(template);
    for source in &sources {
        let reading = Reading::of(*source, source.text(&["targetRevision"]).unwrap_or_default());
        each_element(context, place, &elements, &sources, &reading, found);
    }
}

/// Takes the fields of elements that a template's patch reads as the version. A patch is a text with expressions and
/// need not be YAML before they are evaluated, so its lines are read; of several charts it is not known which is meant.
pub(super) fn patch_pins(
    context: &Context<'_>,
    place: Place<'_>,
    spec: Node<'_>,
    template: Node<'_>,
    patch: &str,
    found: &mut Found,
) {
    let revisions = patch.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("- ");
        line.strip_prefix("targetRevision:").map(|v| v.trim().trim_matches(['"', '\'']))
    });
    let charts: Vec<Node<'_>> =
        argo_sources(template).into_iter().filter(|s| s.get("chart").is_some()).collect();
    let [source] = charts.as_slice() else { return };
    let elements = elements(context, spec);
    for version in revisions.filter(|v| v.contains("{{")) {
        each_element(context, place, &elements, &charts, &Reading::of(*source, version), found);
    }
}

/// What must agree beside the element at hand.
struct Others<'a, 'n> {
    sources: &'a [Node<'n>],
    /// Linkerd's charts that elements name, each once; a matrix may take the chart from one generator and the version
    /// from another.
    charts: Vec<String>,
    /// Whether elements name no other charts.
    sure: bool,
}

/// Takes what one source reads from each element.
fn each_element(
    context: &Context<'_>,
    place: Place<'_>,
    elements: &[Element],
    sources: &[Node<'_>],
    reading: &Reading<'_>,
    found: &mut Found,
) {
    let mut others = Others { sources, charts: Vec::new(), sure: true };
    for element in elements {
        element.visit(place, |at, node, values| {
            let scope = Scope { place: at, node, set: place, values };
            let chart = reading.chart.and_then(|text| scope.evaluate(text));
            chart.into_iter().for_each(|chart| others.note(chart));
        });
    }
    for element in elements {
        element.visit(place, |at, node, values| {
            let scope = Scope { place: at, node, set: place, values };
            one(context, &scope, reading, &others, found);
        });
    }
}

/// Takes what one source reads from one element.
fn one(
    context: &Context<'_>,
    scope: &Scope<'_>,
    reading: &Reading<'_>,
    others: &Others<'_, '_>,
    found: &mut Found,
) {
    let source = reading.source;
    let fields: Vec<(Place<'_>, Node<'_>)> =
        template::reads(reading.version).iter().filter_map(|path| scope.field(path)).collect();
    let version = fields.first().and_then(|(_, n)| n.as_str()).unwrap_or(reading.version);
    let Some((named, sure)) = scope.chart(reading, others) else { return };
    let mirrors = &context.options.mirrors;
    let ours = named.as_ref().and_then(|n| Ours::judge(&n.chart, &n.origin, version, mirrors));
    if let Some(ours) = &ours {
        let whole = template::is_whole(reading.version);
        for (place, field) in &fields {
            let text = field.as_str().unwrap_or_default();
            let exact_edge = matches!(judge(text, Expects::Either), Judged::Version(_));
            let expects = if whole && !exact_edge { Expects::Chart } else { Expects::Either };
            let shared =
                (!sure || scope.feeds_a_foreign_chart(others, field, mirrors)).then_some(Reason::Uneditable);
            let spec = ours.fill(Spec::platform(PinKind::ArgoGenerator, expects)).staying(shared);
            found.scalar(*place, *field, &spec);
            siblings(*place, *field, found);
        }
    }
    let read_by = match (ours, named) {
        (Some(ours), _) => ReadBy::Ours(ours),
        (None, Some(_)) => ReadBy::Other,
        (None, None) => ReadBy::local(context, source.text(&["path"]).unwrap_or(".")),
    };
    if reading.chart.is_some_and(|c| c.contains("{{")) {
        // Only here is it known whose values they are.
        argo::helm(context, scope.set, source, &read_by, &Default::default(), found);
    }
    helm_reads(context, scope, source, &read_by, found);
    // Which of several charts reads a value is not for this element to say: each of ours may.
    let unnamed = reading.chart.filter(|text| scope.evaluate(text).is_none());
    for chart in unnamed.into_iter().flat_map(|_| &others.charts) {
        let url = reading.url.and_then(|u| scope.evaluate(u));
        let origin = url.map_or(Origin::Unknown, Origin::Address);
        if let Some(ours) = Ours::judge(chart, &origin, version, mirrors) {
            helm_reads(context, scope, source, &ReadBy::Ours(ours), found);
        }
    }
}

/// Takes the fields that Helm parameters and values of the template read.
fn helm_reads(
    context: &Context<'_>,
    scope: &Scope<'_>,
    source: Node<'_>,
    read_by: &ReadBy<'_>,
    found: &mut Found,
) {
    let Some(helm) = source.get("helm") else { return };
    let mut reads: Vec<(Spec, String)> = Vec::new();
    for parameter in helm.get("parameters").into_iter().flat_map(Node::items) {
        if let (Some(name), Some(value)) = (parameter.text(&["name"]), parameter.text(&["value"])) {
            let spec = argo::parameter_spec(context, read_by, name);
            reads.extend(spec.map(|spec| (spec, value.to_owned())));
        }
    }
    let mut leaves = Vec::new();
    if let Some(object) = helm.get("valuesObject") {
        collect_leaves(object, "", None, &mut leaves);
    }
    if let Some(text) = helm.text(&["values"])
        && let Ok(stream) = crate::yaml::parse_covered(text)
    {
        stream.roots().for_each(|root| collect_leaves(root, "", Some(text), &mut leaves));
    }
    for (path, text) in leaves {
        reads.extend(argo::parameter_spec(context, read_by, &path).map(|spec| (spec, text)));
    }
    for (spec, text) in reads.iter().filter(|(_, text)| text.contains("{{")) {
        for (place, field) in template::reads(text).iter().filter_map(|path| scope.field(path)) {
            let spec = Spec { kind: PinKind::ArgoGenerator, expects: Expects::Edge, ..spec.clone() };
            found.scalar(place, field, &spec);
        }
    }
}

/// Lists scalars with their path of keys; `original` is the text before its expressions were masked.
fn collect_leaves(node: Node<'_>, path: &str, original: Option<&str>, leaves: &mut Vec<(String, String)>) {
    for (key, value) in node.entries().filter(|(_, v)| !v.is_alias()) {
        let Some(key) = key.as_str() else { continue };
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match (value.as_str(), original) {
            (Some(_), Some(original)) => {
                leaves.extend(original.get(value.span()).map(|text| (path, text.to_owned())));
            }
            (Some(text), None) => leaves.push((path, text.to_owned())),
            (None, _) => collect_leaves(value, &path, original, leaves),
        }
    }
}

/// Reports release names beside a pin that name the same release and that no template reads.
fn siblings(place: Place<'_>, field: Node<'_>, found: &mut Found) {
    let field = field.resolved();
    let release = |text: &str| super::version_text::releases(text).first().copied();
    let Some(own) = field.as_str().and_then(release) else { return };
    for (_, sibling) in field.parent().into_iter().flat_map(Node::entries) {
        let same = sibling.as_str().and_then(release) == Some(own);
        if same && !sibling.is_alias() && sibling.span() != field.span() {
            let spec = Spec::platform(PinKind::Other, Expects::Either).staying(Some(Reason::NotDeployed));
            found.scalar(place, sibling, &spec);
        }
    }
}

// === impl Reading ===

impl<'a> Reading<'a> {
    fn of(source: Node<'a>, version: &'a str) -> Self {
        Self { source, chart: source.text(&["chart"]), url: source.text(&["repoURL"]), version }
    }
}

// === impl Others ===

impl Others<'_, '_> {
    fn note(&mut self, chart: String) {
        match crate::linkerd::is_chart(&chart) {
            true if self.charts.contains(&chart) => {}
            true => self.charts.push(chart),
            false => self.sure = false,
        }
    }
}

/// One element with what a template can read from it.
struct Scope<'a> {
    place: Place<'a>,
    node: Node<'a>,
    set: Place<'a>,
    values: Option<Node<'a>>,
}

// === impl Scope ===

impl<'a> Scope<'a> {
    /// Finds the scalar that a path of keys reads; `values` may read on from the element.
    fn field(&self, path: &[String]) -> Option<(Place<'a>, Node<'a>)> {
        if let (Some((first, rest)), Some(values)) = (path.split_first(), self.values)
            && first == "values"
            && let Some(node) = lookup(values, rest)
        {
            let text = node.as_str()?;
            if !text.contains("{{") {
                return Some((self.set, node));
            }
            let path = template::reads(text).into_iter().next()?;
            return lookup(self.node, &path).map(|node| (self.place, node));
        }
        lookup(self.node, path).map(|node| (self.place, node))
    }

    /// Replaces a text that is one expression by what the element says; `None` where it does not say.
    fn evaluate(&self, text: &str) -> Option<String> {
        if !text.contains("{{") {
            return Some(text.to_owned());
        }
        let path = template::is_whole(text).then(|| template::reads(text).into_iter().next())??;
        self.field(&path).and_then(|(_, node)| node.as_str()).map(str::to_owned)
    }

    /// Says which chart this element deploys, and whether that is sure. `None` where no element says so at all.
    fn chart(&self, reading: &Reading<'_>, others: &Others<'_, '_>) -> Option<(Option<NamedChart>, bool)> {
        let url = reading.url.and_then(|u| self.evaluate(u));
        let Some(text) = reading.chart else {
            return Some((url.filter(|u| u.starts_with("oci://")).as_deref().and_then(oci_chart), true));
        };
        let origin = url.map_or(Origin::Unknown, Origin::Address);
        if let Some(chart) = self.evaluate(text) {
            return Some((Some(NamedChart { chart, origin }), true));
        }
        let chart = others.charts.first()?.clone();
        Some((Some(NamedChart { chart, origin }), others.sure))
    }

    /// Tells whether another source of the template reads the same field as the version of somebody else's chart.
    fn feeds_a_foreign_chart(&self, others: &Others<'_, '_>, field: &Node<'_>, mirrors: &[String]) -> bool {
        others.sources.iter().any(|source| {
            let Some(version) = source.text(&["targetRevision"]) else { return false };
            let reads = template::reads(version);
            let same = |p: &Vec<String>| self.field(p).is_some_and(|(_, n)| n.span() == field.span());
            let chart = source.text(&["chart"]).and_then(|c| self.evaluate(c));
            let url = source.text(&["repoURL"]).and_then(|u| self.evaluate(u));
            let origin = url.map_or(Origin::Unknown, Origin::Address);
            let text = field.as_str().unwrap_or_default();
            reads.iter().any(same) && chart.is_some_and(|c| Ours::judge(&c, &origin, text, mirrors).is_none())
        })
    }
}

// === impl Element ===

impl Element {
    fn visit(&self, set: Place<'_>, mut visit: impl FnMut(Place<'_>, Node<'_>, Option<Node<'_>>)) {
        let values = self.values.as_ref().and_then(|route| set.stream.find(route));
        match &self.file {
            Some(file) => {
                if let Some(node) = file.stream.find(&self.route) {
                    visit(Place::of(file), node, values);
                }
            }
            None => {
                if let Some(node) = set.stream.find(&self.route) {
                    visit(set, node, values);
                }
            }
        }
    }
}

/// Walks nested keys; a key may hold dots itself.
fn lookup<'a>(node: Node<'a>, path: &[String]) -> Option<Node<'a>> {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    let found = node.path(&keys).filter(|n| n.as_str().is_some());
    found
        .or_else(|| {
            (1..keys.len()).find_map(|at| {
                let (first, last) = keys.split_at_checked(at)?;
                node.path(first)?.get(&last.join(".")).filter(|n| n.as_str().is_some())
            })
        })
        .or_else(|| node.get(&keys.join(".")).filter(|n| n.as_str().is_some()))
}

fn all_generators(spec: Node<'_>) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    collect_generators(spec, NESTED, &mut found);
    found
}

fn collect_generators<'a>(node: Node<'a>, depth: usize, found: &mut Vec<Node<'a>>) {
    for generator in node.get("generators").into_iter().flat_map(Node::items) {
        for (_, body) in generator.entries() {
            found.push(body);
            if depth > 0 {
                collect_generators(body, depth - 1, found);
            }
        }
    }
}

fn elements(context: &Context<'_>, spec: Node<'_>) -> Vec<Element> {
    let mut found = Vec::new();
    for generator in all_generators(spec) {
        let values = generator.get("values").map(Node::route);
        for element in generator.get("elements").into_iter().flat_map(Node::items) {
            found.push(Element { file: None, route: element.resolved().route(), values: values.clone() });
        }
        let files = generator.get("files").filter(|_| generator.get("repoURL").is_some());
        if let Some(files) = files {
            found.extend(file_elements(context, files, values.as_ref()));
        } else if let Some(values) = &values {
            // `clusters` and its relatives: the parameters come from outside, the values stand here.
            let clusters = clusters(context, values);
            let bare = clusters.is_empty();
            found.extend(clusters);
            found.extend(bare.then(|| Element {
                file: None,
                route: generator.route(),
                values: Some(values.clone()),
            }));
        }
    }
    if all_generators(spec).iter().any(|g| g.get("elements").is_none() && g.get("files").is_none()) {
        found.extend(clusters_without_values(context));
    }
    found
}

fn file_elements(context: &Context<'_>, files: Node<'_>, values: Option<&Route>) -> Vec<Element> {
    let pattern = |item: Node<'_>| {
        let path = template::as_glob(item.text(&["path"])?);
        GlobBuilder::new(path.trim_start_matches("./")).literal_separator(false).build().ok()
    };
    let (excluded, included): (Vec<Node<'_>>, Vec<Node<'_>>) =
        files.items().partition(|i| i.text(&["exclude"]) == Some("true"));
    let out: Vec<_> = excluded.into_iter().filter_map(pattern).map(|g| g.compile_matcher()).collect();
    let mut found = Vec::new();
    for item in included {
        let Some(path) = item.text(&["path"]).map(template::as_glob) else { continue };
        for entry in context.corpus.matching(path.trim_start_matches("./")) {
            if out.iter().any(|g| g.is_match(entry.path.as_str())) {
                continue;
            }
            let Ok(file) = context.corpus.open(entry) else { continue };
            for root in file.stream.roots() {
                let nodes: Vec<Node<'_>> =
                    if root.is_sequence() { root.items().collect() } else { vec![root] };
                for node in nodes {
                    let (route, values) = (node.route(), values.cloned());
                    found.push(Element { file: Some(file.clone()), route, values });
                }
            }
        }
    }
    found
}

fn clusters(context: &Context<'_>, values: &Route) -> Vec<Element> {
    let mut found = clusters_without_values(context);
    found.iter_mut().for_each(|e| e.values = Some(values.clone()));
    found
}

/// Returns the cluster Secrets of the tree, whose labels and annotations feed `clusters`.
fn clusters_without_values(context: &Context<'_>) -> Vec<Element> {
    let mut found = Vec::new();
    for map in context.index.maps.iter().filter(|m| m.cluster) {
        let Some(file) = context.corpus.file(map.path.as_str()) else { continue };
        for object in Object::all(Place::of(&file)).into_iter().filter(|o| o.name == Some(&map.name)) {
            found.push(Element { file: Some(file.clone()), route: object.node.route(), values: None });
        }
    }
    found
}
