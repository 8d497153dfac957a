//! The elements that the generators of an ApplicationSet give.
//!
//! Sources: `applicationset/generators/` of argo-cd: list, git, matrix, merge, cluster; what others give is not in the
//! tree. A matrix reads its first generator's parameters in its second; its elements are of both.

use super::{
    ELEMENTS, OWN_CLUSTER,
    element::{Element, completed, flat, of_generator, overridden, shown},
    fill::Language,
    git, is_cluster,
};
use crate::deploy::{
    cluster::Cluster,
    files::Files,
    go_template::{Stop, normalized, undecided},
    note::{About, Bound},
    read, selector,
    typed::is_true,
    value::{Scalar, Value},
};

/// Elements of all generators of one ApplicationSet, those inside others too.
const ALL: usize = 200_000;
/// Generators nest two deep in Argo CD.
const NESTED: usize = 3;

/// What generators read.
pub(super) struct Reader<'a> {
    pub files: &'a dyn Files,
    pub cluster: &'a Cluster<'a>,
    pub language: Language,
    /// What nothing is made of.
    pub unmade: Vec<Value>,
    /// What the elements of a merge are laid over, and what of them fits none.
    pub overridden: Vec<Value>,
    /// How many elements may still come.
    left: usize,
}

/// The elements of one generator, with its own template over the ApplicationSet's.
pub(super) struct Generated {
    pub elements: Vec<Element>,
    pub template: Value,
}

// === impl Reader ===

impl<'a> Reader<'a> {
    /// Reads the generators of an ApplicationSet's spec.
    pub fn new(files: &'a dyn Files, cluster: &'a Cluster<'a>, spec: &Value) -> Self {
        Self {
            files,
            cluster,
            language: Language::of(spec),
            unmade: Vec::new(),
            overridden: Vec::new(),
            left: ALL,
        }
    }

    /// Lists the elements of one entry of `spec.generators`.
    pub fn generate(&mut self, generator: &Value, template: &Value) -> Vec<Generated> {
        let mut all = Vec::new();
        for (kind, body) in kinds(generator) {
            match self.elements(kind, body, NESTED) {
                Ok(elements) => {
                    let own = body.get("template").cloned().unwrap_or_else(Value::empty);
                    let elements = self.selected(generator, elements);
                    all.push(Generated { elements, template: completed(&own, template) });
                }
                Err(stop) => {
                    self.refused(stop);
                    self.unmade.push(body.clone());
                }
            }
        }
        all
    }

    /// Notes why nothing comes of something.
    pub fn refused(&mut self, stop: Stop) {
        self.language.note(stop.into());
    }

    fn selected(&self, generator: &Value, mut elements: Vec<Element>) -> Vec<Element> {
        let Some(selector) = generator.get("selector") else { return elements };
        elements.retain(|element| {
            let flat = flat(&element.parameters);
            let get = |key: &str| match flat.scalar(&[key]) {
                Some(value) if value.unknown_to().is_none() => Some(Some(value.text().into_owned())),
                None if element.open.is_none() => Some(None),
                _ => None,
            };
            // What the tree does not say may be so.
            selector::fits(selector, &get) != Some(false)
        });
        elements
    }

    fn elements(&mut self, kind: &str, body: &Value, depth: usize) -> Result<Vec<Element>, Stop> {
        let Some(depth) = depth.checked_sub(1) else {
            self.language.note(About::Bound(Bound::Depth(NESTED)));
            return Ok(Vec::new());
        };
        let mut found = match kind {
            "list" => self.list(body)?,
            "git" => {
                let go = self.language.go;
                let found = git::elements(self.files, body, go, &mut |about| self.language.note(about))?;
                self.with_values(body, found)?
            }
            "clusters" => {
                let found = self.clusters(body);
                let found = self.with_values(body, found)?;
                if is_true(body, &["flatList"]) {
                    let open = found.iter().find_map(|e| e.open.clone());
                    let all = found.into_iter().map(|e| e.parameters).collect();
                    let parameters = Value::map([("clusters", Value::list(all))]);
                    vec![Element { open, ..Element::known(parameters) }]
                } else {
                    found
                }
            }
            "matrix" => self.matrix(body, depth)?,
            "merge" => self.merge(body, depth)?,
            other => {
                // What it is told may come out of it again.
                let mut told = body.clone();
                ["template", "values"].iter().for_each(|key| drop(told.remove(key)));
                let who = format!("Argo CD's generator `{other}`");
                self.with_values(body, vec![Element::unknown_of(&who, &told)])?
            }
        };
        let most = ELEMENTS.min(self.left);
        if found.len() > most {
            found.truncate(most);
            self.language.note(About::Bound(Bound::Elements(most)));
        }
        self.left -= found.len();
        Ok(found)
    }

    fn list(&mut self, body: &Value) -> Result<Vec<Element>, Stop> {
        let mut found = Vec::new();
        for element in body.list_at("elements") {
            let element = of_generator(element);
            let parameters = if self.language.go { element } else { flat_element(&element)? };
            found.push(Element::known(parameters));
        }
        if let Some(text) = body.scalar(&["elementsYaml"]).filter(|t| !t.text().is_empty()) {
            if let Some(who) = text.unknown_to() {
                found.push(Element::unknown(who));
                return Ok(found);
            }
            let read = read::documents(text, self.files.ceilings());
            let documents = read.map_err(|error| Stop::Refused(error.to_string()))?;
            let items = documents.first().map_or(&[][..], Value::items);
            found.extend(items.iter().map(|item| Element::known(of_generator(item))));
        }
        Ok(found)
    }

    /// Adds `values`, which may read the other parameters: an element for each outcome of their conditions.
    fn with_values(&mut self, body: &Value, elements: Vec<Element>) -> Result<Vec<Element>, Stop> {
        let Some(values) = body.get("values") else { return Ok(elements) };
        let values = of_generator(values);
        let mut found = Vec::with_capacity(elements.len());
        for element in elements {
            for filled in self.outcomes(&values, &element)? {
                let mut element = element.clone();
                if self.language.go {
                    element.parameters.insert("values", filled);
                } else {
                    for (key, value) in filled.entries() {
                        element.parameters.insert(&format!("values.{key}"), value.clone());
                    }
                }
                found.push(element);
            }
        }
        Ok(found)
    }

    /// Fills a value, in each way that conditions may go which the tree does not decide.
    fn outcomes(&mut self, value: &Value, element: &Element) -> Result<Vec<Value>, Stop> {
        self.language.outcomes = 1;
        let (mut found, mut outcome) = (Vec::new(), 0);
        while outcome < self.language.outcomes {
            let filled = self.language.value(value, element, outcome)?.unwrap_or_else(|| value.clone());
            if !found.contains(&filled) {
                found.push(filled);
            }
            outcome += 1;
        }
        undecided(&mut found);
        Ok(found)
    }

    /// The clusters whose Secrets stand in the tree, by their metadata; Secrets themselves are not read.
    fn clusters(&mut self, body: &Value) -> Vec<Element> {
        let none = Value::empty();
        let selector = body.get("selector").unwrap_or(&none);
        let (mut found, mut is_own_known) = (Vec::new(), false);
        let [own_server, own_name] = OWN_CLUSTER;
        for secret in self.cluster.all("", "Secret").into_iter().filter(|secret| is_cluster(secret)) {
            let label = |key: &str| secret.label(key).map(|s| s.text().into_owned());
            is_own_known |=
                secret.value.text(&["stringData", "server"]).is_some_and(|server| server == own_server);
            if selector::fits(selector, &|key| Some(label(key))) == Some(false) {
                continue;
            }
            let name = secret.name().map(|n| n.text().into_owned()).unwrap_or_default();
            let who = format!("the cluster's Secret `{name}`");
            let metadata = secret.value.get("metadata").cloned().unwrap_or_else(Value::empty);
            let parts = ["annotations", "labels"].map(|part| (part, metadata.get(part).map(of_generator)));
            let parts = parts.into_iter().filter_map(|(part, value)| Some((part, value?)));
            let parts = Value::map(parts);
            let mut parameters = match self.language.go {
                true => Value::map([("metadata", parts)]),
                false => metadata_flat(&parts),
            };
            for key in ["name", "nameNormalized", "server", "project"] {
                parameters.insert(key, Value::Scalar(Scalar::unknown(&who)));
            }
            // What is in `data` of a Secret is encoded.
            for key in ["name", "server", "project"] {
                let said = secret.value.scalar(&["stringData", key]);
                let said = said.filter(|text| !text.text().is_empty() && !text.is_sealed());
                said.into_iter().for_each(|said| parameters.insert(key, Value::Scalar(said.clone())));
            }
            if let Some(name) = parameters.scalar(&["name"]).and_then(Scalar::known).map(|n| normalized(&n)) {
                parameters.insert("nameNormalized", Value::made(&name));
            }
            // A version that a label gives to an application tells no cluster from another.
            let labels = secret.labels().into_iter().filter(|(_, value)| !is_version(value));
            let (file, chosen_by) = (Some(secret.file.clone()), labels.collect());
            found.push(Element { file, chosen_by, ..Element::known(parameters) });
        }
        if found.is_empty() {
            let one = Element::unknown("the Secret of a cluster that Argo CD knows");
            let each = selector::choices(selector).into_iter();
            found.extend(each.map(|chosen_by| Element { chosen_by, ..one.clone() }));
        } else if !is_own_known && selector::selects_all(selector) {
            // With a selector it is left out (`applicationset/generators/cluster.go`).
            let known = [("name", own_name), ("nameNormalized", own_name), ("server", own_server)];
            let parameters = Value::map(known.map(|(key, text)| (key, Value::made(text))));
            found.push(Element {
                parameters,
                ..Element::unknown("the Secret of the cluster that Argo CD runs in")
            });
        }
        found
    }

    pub(super) fn nested(&mut self, generator: &Value, depth: usize) -> Result<Vec<Element>, Stop> {
        let mut kinds = kinds(generator);
        let (Some((kind, body)), None) = (kinds.next(), kinds.next()) else {
            return Err(Stop::Refused("a generator inside another one is none or several".to_owned()));
        };
        let elements = self.elements(kind, body, depth)?;
        Ok(self.selected(generator, elements))
    }

    /// Every element of the first with every one of the second, which reads the first's parameters.
    fn matrix(&mut self, body: &Value, depth: usize) -> Result<Vec<Element>, Stop> {
        let [first, second] = body.list_at("generators") else {
            return Err(Stop::Refused("Matrix support only two generators".to_owned()));
        };
        let ones = self.nested(first, depth)?;
        let reads = has_expression(second);
        let same = if reads { None } else { Some(self.nested(second, depth)?) };
        let mut all = Vec::new();
        let mut covering = false;
        for (at, one) in ones.iter().enumerate() {
            let twos = match &same {
                Some(same) => same.clone(),
                // What comes of the first is still found then.
                None if self.left == 0 => {
                    vec![Element::unknown("a generator that is not followed any further")]
                }
                None => {
                    let filled = self.interpolated(second, one)?;
                    self.nested(&filled, depth)?
                }
            };
            // More than is looked at: then each element of both is there at least once, instead of each pair.
            covering |= ones.len().saturating_mul(twos.len()) > ELEMENTS;
            let wanted = match (covering, at) {
                (true, 1..) => at % twos.len().max(1)..(at % twos.len().max(1) + 1).min(twos.len()),
                _ => 0..twos.len(),
            };
            for two in twos.get(wanted).unwrap_or_default() {
                if all.len() > ELEMENTS {
                    break;
                }
                all.push(self.combined(one, two)?);
            }
        }
        if covering {
            self.language.note(About::Bound(Bound::Elements(ELEMENTS)));
        }
        Ok(all)
    }

    fn combined(&self, one: &Element, two: &Element) -> Result<Element, Stop> {
        if self.language.go {
            return Ok(one.with(two, overridden(&two.parameters, &one.parameters)));
        }
        let mut parameters = Value::empty();
        for (key, value) in one.parameters.entries().chain(two.parameters.entries()) {
            let text = value.as_scalar().map_or_else(|| Scalar::made(""), shown);
            let there = parameters.scalar(&[key]).map(|s| s.text().into_owned());
            if there.as_ref().is_some_and(|there| **there != *text.text()) {
                return Err(Stop::Refused(format!("found duplicate key {key} with different value")));
            }
            if there.is_none() {
                parameters.insert(key, Value::Scalar(text));
            }
        }
        Ok(one.with(two, parameters))
    }

    /// Fills a generator with another one's parameters; what `values` reads of its own stays.
    fn interpolated(&mut self, generator: &Value, element: &Element) -> Result<Value, Stop> {
        let mut out = Value::empty();
        for (kind, body) in generator.entries() {
            let mut bare = body.clone();
            let values = bare.remove("values");
            let mut filled = self.language.value(&bare, element, 0)?.unwrap_or(bare);
            if let Some(values) = values {
                filled.insert("values", self.values_of(&values, element)?);
            }
            out.insert(kind, filled);
        }
        Ok(out)
    }

    fn values_of(&mut self, values: &Value, element: &Element) -> Result<Value, Stop> {
        let strict = std::mem::replace(&mut self.language.strict, true);
        let known = Element { open: None, ..element.clone() };
        let mut out = values.clone();
        let mut failed = None;
        for (key, value) in values.entries() {
            match self.language.value(value, &known, 0) {
                Ok(Some(filled)) => out.insert(key, filled),
                Ok(None) | Err(Stop::Missing(_)) => {}
                Err(stop) => failed = Some(stop),
            }
        }
        self.language.strict = strict;
        failed.map_or(Ok(out), Err)
    }
}

/// The generators that an entry of a list has: one, as a rule.
fn kinds(generator: &Value) -> impl Iterator<Item = (&str, &Value)> {
    generator.entries().filter(|(kind, body)| *kind != "selector" && !body.is_null())
}

fn has_expression(value: &Value) -> bool {
    match value {
        Value::Scalar(scalar) => scalar.text().contains("{{") || scalar.unknown_to().is_some(),
        Value::List(items) => items.iter().any(has_expression),
        Value::Map(map) => map.iter().any(|(key, value)| key.contains("{{") || has_expression(value)),
    }
}

/// An element of a list without Go templates: texts, and a mapping of texts under `values`. Argo CD refuses numbers there;
/// who writes one means its text, and a refusal would leave out what stands beside it.
fn flat_element(element: &Value) -> Result<Value, Stop> {
    let refused = || Stop::Refused("error parsing value as string".to_owned());
    let text = |value: &Value| {
        let text = value.as_scalar().cloned().map(Scalar::as_string);
        text.map(Value::Scalar).ok_or_else(refused)
    };
    let mut out = Value::empty();
    for (key, value) in element.entries() {
        if key == "values" {
            if !matches!(value, Value::Map(_)) {
                return Err(Stop::Refused("error parsing values map".to_owned()));
            }
            for (key, value) in value.entries() {
                out.insert(&format!("values.{key}"), text(value)?);
            }
        } else {
            out.insert(key, text(value)?);
        }
    }
    Ok(out)
}

fn metadata_flat(parts: &Value) -> Value {
    let mut out = Value::empty();
    for (part, entries) in parts.entries() {
        for (key, value) in entries.entries() {
            out.insert(&format!("metadata.{part}.{key}"), value.clone());
        }
    }
    out
}

/// Tells whether a text counts as versions do, by three numbers or more.
fn is_version(text: &str) -> bool {
    text.split('.').filter(|part| part.contains(|c: char| c.is_ascii_digit())).count() > 2
}
