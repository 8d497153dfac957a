//! Step 5, pins: the applications that an ApplicationSet makes.
//!
//! In: an ApplicationSet. Out: the uses of each element of its generators that the tree has: lists, files, matrices and
//! merges of them. What comes from elsewhere is one application whose parameters are not known.

use globset::GlobBuilder;

use super::{
    super::{ChartUse, context::Context, object::Object, place::Place, template},
    argo::{self, App},
    data::{Data, unknown},
    fill,
};
use crate::repo::RepoPath;

/// More elements are not looked at.
const ELEMENTS: usize = 500;
/// Generators nest two deep in Argo CD.
const NESTED: usize = 4;

/// What a template can read of one element.
#[derive(Clone, Debug)]
struct Element {
    data: Data,
    /// The file that it stands in, where that is not the ApplicationSet's own.
    file: Option<RepoPath>,
    /// The generator's own template.
    template: Option<Data>,
}

/// Takes the uses of an ApplicationSet.
pub(super) fn application_set(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    uses: &mut Vec<ChartUse>,
) {
    let path = &place.file.path;
    let Some(spec) = object.node.get("spec").and_then(Data::read) else { return };
    let Some(template) = spec.get("template") else { return };
    let line = place.file.position(object.node.span().start).0;
    let elements = spec.list("generators").iter().flat_map(|g| elements(context, g, NESTED));
    for element in elements.take(ELEMENTS) {
        let mut notes = Vec::new();
        let made = made(template, &element, spec.text(&["templatePatch"]), &mut notes);
        let own = object.name.unwrap_or_default();
        let name = made.text(&["metadata", "name"]).filter(|n| unknown(n).is_none()).unwrap_or(own);
        let app = App { path, line, name, by: element.file.clone(), notes };
        if let Some(spec) = made.get("spec") {
            argo::sources(context, &app, spec, uses);
        }
    }
}

/// Makes the application of one element.
fn made(template: &Data, element: &Element, patch: Option<&str>, notes: &mut Vec<String>) -> Data {
    let mut made = template.clone();
    if let Some(own) = &element.template {
        made.merge(own);
    }
    made.fill(false, &|text| fill::expressions(text, &|path| element.parameter(path)));
    if let Some(patch) = patch {
        let filled = fill::expressions(patch, &|path| element.parameter(path));
        match Data::parse(filled.as_deref().unwrap_or(patch)) {
            Some(over) => made.merge(&over),
            None => notes.push("`templatePatch` cannot be evaluated here and is left out.".to_owned()),
        }
    }
    made
}

// === impl Element ===

impl Element {
    fn new(data: Data) -> Self {
        Self { data, file: None, template: None }
    }

    fn parameter(&self, path: &[String]) -> Option<String> {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let nested = self.data.path(&keys);
        let found = nested.or_else(|| self.data.get(&keys.join(".")))?;
        // `{{path}}` is a text in one of the languages, a mapping in the other.
        let found = found.get("path").filter(|_| keys == ["path"]).unwrap_or(found);
        found.as_str().map(str::to_owned)
    }

    fn over(&self, other: &Self) -> Self {
        let mut data = self.data.clone();
        data.merge(&other.data);
        Self {
            data,
            file: other.file.clone().or_else(|| self.file.clone()),
            template: other.template.clone().or_else(|| self.template.clone()),
        }
    }
}

/// Lists the elements of a generator; one without parameters for what comes from elsewhere.
fn elements(context: &Context<'_>, generator: &Data, depth: usize) -> Vec<Element> {
    let Data::Map(kinds) = generator else { return Vec::new() };
    let mut found = Vec::new();
    for (kind, body) in kinds.iter().filter(|(kind, _)| *kind != "selector") {
        let mut own = match kind.as_str() {
            "list" => body.list("elements").iter().take(ELEMENTS).cloned().map(Element::new).collect(),
            "git" if body.get("files").is_some() => files(context, body),
            "clusters" => clusters(context, body),
            "matrix" if depth > 0 => matrix(context, body, depth - 1),
            "merge" if depth > 0 => merge(context, body, depth - 1),
            _ => vec![Element::new(Data::empty())],
        };
        for element in &mut own {
            if let Some(values) = body.get("values") {
                let mut values = values.clone();
                values.fill(false, &|text| fill::expressions(text, &|path| element.parameter(path)));
                element.data.merge(&Data::Map([("values".to_owned(), values)].into()));
            }
            element.template = element.template.take().or_else(|| body.get("template").cloned());
        }
        found.append(&mut own);
    }
    let labels = generator.path(&["selector", "matchLabels"]);
    if let Some(Data::Map(labels)) = labels {
        let has = |e: &Element, key: &str, value: &Data| {
            let path: Vec<String> = key.split('.').map(str::to_owned).collect();
            e.parameter(&path).as_deref() == value.as_str()
        };
        found.retain(|e| labels.iter().all(|(key, value)| has(e, key, value)));
    }
    found.truncate(ELEMENTS);
    found
}

/// Every element of the first with every one of the second, which may read the first's parameters.
fn matrix(context: &Context<'_>, body: &Data, depth: usize) -> Vec<Element> {
    let mut all = vec![Element::new(Data::empty())];
    for generator in body.list("generators") {
        let mut next = Vec::new();
        for element in &all {
            let mut generator = generator.clone();
            generator.fill(false, &|text| {
                let filled = fill::expressions(text, &|path| element.parameter(path))?;
                unknown(&filled).is_none().then_some(filled)
            });
            next.extend(elements(context, &generator, depth).iter().map(|e| element.over(e)));
            if next.len() > ELEMENTS {
                break;
            }
        }
        next.truncate(ELEMENTS);
        all = next;
    }
    all
}

/// The elements of the first, each with what later ones say of the same keys.
fn merge(context: &Context<'_>, body: &Data, depth: usize) -> Vec<Element> {
    let keys = body.texts("mergeKeys");
    let same = |a: &Element, b: &Element| {
        keys.iter().all(|key| {
            let path: Vec<String> = key.split('.').map(str::to_owned).collect();
            a.parameter(&path) == b.parameter(&path)
        })
    };
    let mut generators = body.list("generators").iter();
    let mut all = generators.next().map(|g| elements(context, g, depth)).unwrap_or_default();
    for generator in generators {
        let others = elements(context, generator, depth);
        for element in &mut all {
            if let Some(other) = others.iter().find(|o| same(element, o)) {
                let file = element.file.clone().or_else(|| other.file.clone());
                *element = Element { file, ..element.over(other) };
            }
        }
    }
    all
}

fn files(context: &Context<'_>, body: &Data) -> Vec<Element> {
    let glob = |item: &Data| {
        let path = template::as_glob(item.text(&["path"])?);
        GlobBuilder::new(path.trim_start_matches("./")).literal_separator(false).build().ok()
    };
    let (out, taken): (Vec<&Data>, Vec<&Data>) =
        body.list("files").iter().partition(|i| i.is_true("exclude"));
    let out: Vec<_> = out.into_iter().filter_map(glob).map(|g| g.compile_matcher()).collect();
    let mut found = Vec::new();
    for item in taken {
        let Some(path) = item.text(&["path"]).map(template::as_glob) else { continue };
        for entry in context.corpus.matching(path.trim_start_matches("./")) {
            if found.len() >= ELEMENTS || out.iter().any(|g| g.is_match(entry.path.as_str())) {
                continue;
            }
            let Some(data) = context
                .corpus
                .file(entry.path.as_str())
                .and_then(|file| file.stream.roots().next().and_then(Data::read))
            else {
                continue;
            };
            let items = if let Data::List(items) = data { items } else { vec![data] };
            found.extend(items.into_iter().map(|data| of_file(data, &entry.path)));
        }
    }
    found
}

/// Adds what Argo CD says of the file itself.
fn of_file(data: Data, path: &RepoPath) -> Element {
    let folder = path.folder();
    let text = |t: &str| Data::string(t);
    let mut own = std::collections::BTreeMap::from([
        ("path".to_owned(), text(folder)),
        ("basename".to_owned(), text(folder.rsplit('/').next().unwrap_or_default())),
        ("filename".to_owned(), text(path.name())),
    ]);
    own.insert("segments".to_owned(), Data::List(folder.split('/').map(text).collect()));
    let mut all = Data::Map([("path".to_owned(), Data::Map(own))].into());
    if let Data::Map(map) = &mut all {
        map.extend(folder.split('/').enumerate().map(|(n, part)| (format!("path[{n}]"), text(part))));
    }
    all.merge(&data);
    Element { file: Some(path.clone()), ..Element::new(all) }
}

/// The clusters whose Secrets stand in the tree, by what their metadata says; the Secrets themselves are not read.
fn clusters(context: &Context<'_>, body: &Data) -> Vec<Element> {
    let mut found = Vec::new();
    for map in context.index.maps.iter().filter(|m| m.cluster).take(ELEMENTS) {
        let metadata = fill::config_map(context, map).and_then(|(data, _)| data.get("metadata").cloned());
        let Some(metadata) = metadata else { continue };
        let wanted = body.path(&["selector", "matchLabels"]);
        let fits = |labels: &std::collections::BTreeMap<String, Data>| {
            labels
                .iter()
                .all(|(key, value)| metadata.path(&["labels", key]).and_then(Data::as_str) == value.as_str())
        };
        if matches!(wanted, Some(Data::Map(labels)) if !fits(labels)) {
            continue;
        }
        let name = Data::string(&map.name);
        let data = Data::Map([("metadata".to_owned(), metadata), ("name".to_owned(), name)].into());
        found.push(Element { file: Some(map.path.clone()), ..Element::new(data) });
    }
    if found.is_empty() {
        found.push(Element::new(Data::empty()));
    }
    found
}
