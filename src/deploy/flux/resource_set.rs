//! What flux-operator makes of a ResourceSet.
//!
//! Sources: `internal/builder/resourceset.go` and `internal/inputs/` of controlplaneio-fluxcd/flux-operator. Each
//! resource is written as YAML, filled, and read again; inputs come from the ResourceSet and from input providers, of
//! which those of the type `Static` stand in the tree.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{
    OPERATOR, awaited,
    copied::{copy, copy_sources},
    kustomization::set_common_metadata,
    own,
};
use crate::deploy::{
    build::Build,
    cluster::{Cluster, Reference},
    files::Files,
    go_template::{BRANCHES, Budget, Filled, Scope, Templates, undecided},
    go_yaml,
    note::{About, Bound, Note},
    object::Object,
    read,
    value::{Scalar, Unknown, Value, Via},
};

/// Sets of inputs that are looked at, as many as the operator takes.
const INPUTS: usize = 10_000;
/// Objects that one ResourceSet makes, and resources that it is refused.
const OBJECTS: usize = 20_000;
/// HelmReleases that one step is said to wait for.
const AWAITED: usize = 64;

/// A set of inputs, and who knows more.
struct Inputs {
    value: Value,
    open: Option<Unknown>,
}

/// Builds the objects of a ResourceSet.
pub fn resource_set(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Build {
    let Some(spec) = object.value.get("spec") else { return Build::default() };
    let mut notes = Vec::new();
    let inputs = inputs(object, spec, cluster, &mut notes);
    let mut maker = Maker {
        object,
        files,
        templates: Templates::new("<<", ">>"),
        budget: Budget::default(),
        seen: HashMap::new(),
        notes: &mut notes,
        made: Vec::new(),
        unmade: Vec::new(),
        refused_of: Vec::new(),
        refused: None,
        failed: false,
        failures: 0,
    };
    let own = spec.get("steps").is_none().then_some(spec);
    let mut ready = awaited::awaited(object, cluster);
    for step in own.into_iter().chain(spec.list_at("steps")) {
        let before = maker.made.len();
        maker.seen.clear();
        for resource in step.list_at("resources") {
            maker.each(&inputs, &mut |maker, scope| maker.resource(resource, scope));
        }
        if let Some(template) = step.scalar(&["resourcesTemplate"]) {
            maker.each(&inputs, &mut |maker, scope| maker.template(template, scope));
        }
        let made = maker.made.get_mut(before..).unwrap_or_default();
        let waits_for: Arc<[String]> = ready.iter().take(AWAITED).cloned().collect();
        made.iter_mut().for_each(|object| object.waits_for = waits_for.clone());
        ready.extend(made.iter().filter_map(|object| awaited::release(&object.value)));
    }
    let (mut objects, unmade) = (maker.made, [maker.unmade, maker.refused_of].concat());
    set_common_metadata(spec, &mut objects);
    copy(object, cluster, &mut objects);
    Build { objects, unmade, notes, ..Build::default() }
}

/// Returns the input providers that a ResourceSet asks for and the maps that it copies, where they are in the tree: those of
/// whatever cluster.
pub fn provided_by<'c>(object: &Object, cluster: &Cluster<'c>) -> Vec<&'c Object> {
    let from = object.value.get("spec").map_or(&[][..], |spec| spec.list_at("inputsFrom"));
    let providers = from.iter().flat_map(|from| asked(object, from, cluster));
    providers.chain(copy_sources(object, cluster)).collect()
}

/// Returns the input providers that a ResourceSet takes in, where they are in the tree: those of its own cluster.
pub fn providers<'c>(object: &Object, cluster: &Cluster<'c>) -> Vec<&'c Object> {
    let spec = object.value.get("spec").filter(|_| object.is(OPERATOR, "ResourceSet"));
    let from = spec.map_or(&[][..], |spec| spec.list_at("inputsFrom"));
    from.iter().flat_map(|from| own_providers(object, from, cluster)).collect()
}

fn own_providers<'c>(object: &Object, from: &Value, cluster: &Cluster<'c>) -> Vec<&'c Object> {
    cluster.of_one(asked(object, from, cluster), &object.files())
}

/// Finds the input providers of one entry, by their name or by labels; a cluster has one of a name.
fn asked<'c>(object: &Object, from: &Value, cluster: &Cluster<'c>) -> Vec<&'c Object> {
    const KIND: &str = "ResourceSetInputProvider";
    let labels = from.path(&["selector", "matchLabels"]);
    let fits = |provider: &&Object| {
        let mut wanted = labels.into_iter().flat_map(Value::entries);
        wanted
            .all(|(key, value)| provider.label(key).map(Scalar::text) == value.as_scalar().map(Scalar::text))
    };
    let names: BTreeSet<String> = match from.text(&["name"]) {
        Some(name) => BTreeSet::from([name.into_owned()]),
        None => cluster.all(OPERATOR, KIND).into_iter().filter(fits).map(name).collect(),
    };
    let namespace = object.namespace().and_then(Scalar::known);
    let namespace = namespace.as_deref();
    let find = |name: &String| {
        let wanted = Reference { group: OPERATOR, kind: KIND, name, namespace, from: &object.file };
        own::find(object, wanted, cluster)
    };
    names.iter().filter_map(find).collect()
}

fn name(object: &Object) -> String {
    object.name().map(|name| name.text().into_owned()).unwrap_or_default()
}

/// Combines the inputs; without any, resources are made once.
fn inputs(object: &Object, spec: &Value, cluster: &Cluster<'_>, notes: &mut Vec<Note>) -> Vec<Inputs> {
    let mut providers: Vec<(String, Vec<Inputs>)> = Vec::new();
    let of = |items: &[Value], owner: &Object| -> Vec<Inputs> {
        items
            .iter()
            .take(INPUTS + 1)
            .map(|item| Inputs { value: provided(item, owner), open: None })
            .collect()
    };
    let own = spec.list_at("inputs");
    if !own.is_empty() {
        providers.push((name(object), of(own, object)));
    }
    for from in spec.list_at("inputsFrom") {
        let wanted = from.text(&["name"]);
        let found = own_providers(object, from, cluster);
        if found.is_empty() {
            let who = wanted.map_or("an input provider".to_owned(), |w| format!("the input provider `{w}`"));
            let open = Some(Unknown::from(&*format!("{who}, which is not in this repository")));
            providers.push((String::new(), vec![Inputs { value: Value::empty(), open }]));
        }
        for provider in found {
            let defaults =
                provider.value.path(&["spec", "defaultValues"]).cloned().unwrap_or_else(Value::empty);
            let is_static = provider.value.text(&["spec", "type"]).is_some_and(|t| t == "Static");
            let who = format!("what the input provider `{}` asks", name(provider));
            let told = provider.value.get("spec").map(told).unwrap_or_default();
            let open = (!is_static).then(|| Unknown::of(&who, &told));
            let mut value = provided(&defaults, provider);
            if is_static {
                value.insert("id", id(&format!("the input provider `{}`", name(provider))));
            }
            providers.push((name(provider), vec![Inputs { value, open }]));
        }
    }
    let strategy = spec.text(&["inputStrategy", "name"]).unwrap_or_default();
    let mut combined = if strategy == "Permute" {
        permuted(providers)
    } else {
        providers.into_iter().flat_map(|(_, inputs)| inputs).collect()
    };
    if combined.len() > INPUTS {
        combined.truncate(INPUTS);
        notes.push(Note::new(&object.file, About::Bound(Bound::Elements(INPUTS))));
    }
    combined
}

/// Lists what a provider is told. One of tags gives those that a range takes, the newest first (flux-operator
/// `internal/controller/resourcesetinputprovider_controller.go`), where no pattern of names is beside it.
fn told(spec: &Value) -> Vec<Scalar> {
    let is_of_tags = spec.text(&["type"]).is_some_and(|kind| kind.ends_with("Tag"));
    let mut keys = spec.get("filter").into_iter().flat_map(Value::entries).map(|(key, _)| key);
    let is_alone = keys.all(|key| matches!(key, "semver" | "limit"));
    let range = spec.scalar(&["filter", "semver"]).filter(|_| is_of_tags && is_alone);
    let picked = |text: &Scalar| if Some(text) == range { text.via(Via::FromRange) } else { text.clone() };
    spec.scalars().into_iter().map(picked).collect()
}

/// An input with who gives it, its texts known by their names.
fn provided(input: &Value, owner: &Object) -> Value {
    let mut value = input.with_scalars(&mut |s| Some(s.via(Via::Variable))).unwrap_or_else(|| input.clone());
    let text = |s: Option<&Scalar>| Value::Scalar(s.cloned().unwrap_or_else(|| Scalar::made("")));
    let provider = Value::map([
        ("apiVersion", Value::made(&owner.api_version())),
        ("kind", Value::made(&owner.kind())),
        ("name", text(owner.name())),
        ("namespace", text(owner.namespace())),
    ]);
    value.insert("provider", provider);
    value
}

/// Every input of one provider with every one of the others, each under its provider's name.
fn permuted(providers: Vec<(String, Vec<Inputs>)>) -> Vec<Inputs> {
    let mut all: Vec<Inputs> = Vec::new();
    for (provider, inputs) in providers {
        let key = normalized(&provider);
        let before = if all.is_empty() { vec![Inputs { value: Value::empty(), open: None }] } else { all };
        all = Vec::new();
        for one in &before {
            for input in &inputs {
                let mut value = one.value.clone();
                // Of a provider that says nothing itself, all is known to whom it asks.
                let says = input.value.entries().any(|(key, _)| key != "provider");
                if says || input.open.is_none() {
                    value.insert(&key, input.value.clone());
                }
                all.push(Inputs { value, open: one.open.clone().or_else(|| input.open.clone()) });
            }
        }
    }
    all.iter_mut().for_each(|inputs| inputs.value.insert("id", id("a permutation")));
    all
}

/// A checksum that the operator gives out by the name of `id`, which goes before a value of that name: of what the cluster calls
/// an object of the type `Static` (`internal/controller/resourcesetinputprovider_controller.go`), and of the places of what is
/// permuted (`internal/inputs/permuter.go`).
fn id(of: &str) -> Value {
    Value::Scalar(Scalar::unknown(&format!("the id of {of}")))
}

/// `NormalizeKeyForTemplate`.
fn normalized(name: &str) -> String {
    let sign = |c: char| match c {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() => Some(c),
        c if c.is_whitespace() || c.is_ascii_punctuation() => Some('_'),
        _ => None,
    };
    let name: String = name.to_lowercase().chars().filter_map(sign).collect();
    name.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

/// Group, kind, namespace and name.
type Key = (String, String, Option<String>, Option<String>);

struct Maker<'a> {
    object: &'a Object,
    files: &'a dyn Files,
    templates: Templates,
    budget: Budget,
    notes: &'a mut Vec<Note>,
    made: Vec<Object>,
    /// Inputs that something is refused for.
    unmade: Vec<Value>,
    /// What is refused: resources, and templates of them.
    refused_of: Vec<Value>,
    /// The objects of the present step by what they are called.
    seen: HashMap<Key, Vec<usize>>,
    /// Why the last text was not filled.
    refused: Option<About>,
    /// Whether something was refused of what is made of the present inputs.
    failed: bool,
    /// How often something was refused.
    failures: usize,
}

type Make<'m> = &'m mut dyn FnMut(&mut Maker<'_>, Scope<'_>) -> (Vec<Value>, usize);

// === impl Maker ===

impl Maker<'_> {
    fn note(&mut self, about: About) {
        let note = Note::new(&self.object.file, about);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Makes something of each set of inputs, and of each outcome that the tree does not decide.
    fn each(&mut self, inputs: &[Inputs], make: Make<'_>) {
        let nothing = Value::Scalar(Scalar::made("null").as_plain());
        let none = [Inputs { value: Value::empty(), open: None }];
        let sets = if inputs.is_empty() { &none[..] } else { inputs };
        for inputs in sets {
            let mut all: Vec<Value> = Vec::new();
            let mut outcome = 0;
            loop {
                if self.made.len() + self.failures >= OBJECTS {
                    return self.note(About::Bound(Bound::Objects(OBJECTS)));
                }
                let scope = Scope {
                    dot: &nothing,
                    inputs: Some(&inputs.value),
                    own: None,
                    named: None,
                    open: inputs.open.as_ref(),
                    strict: true,
                    outcome,
                };
                let (values, outcomes) = make(self, scope);
                all.push(Value::list(values));
                outcome += 1;
                if outcome >= outcomes {
                    break;
                }
            }
            undecided(&mut all);
            if std::mem::take(&mut self.failed) {
                self.unmade.push(inputs.value.clone());
            }
            for (outcome, values) in all.into_iter().enumerate() {
                values.items().iter().for_each(|value| self.take(value.clone(), outcome));
            }
        }
    }

    fn take(&mut self, value: Value, outcome: usize) {
        let object = Object::new(value, self.object.file.clone(), self.object.by.clone());
        let is_off =
            object.annotation("fluxcd.controlplane.io/reconcile").is_some_and(|s| s.text() == "disabled");
        let text = |s: Option<&Scalar>| s.map(|s| s.text().into_owned());
        let key: Key = (
            object.group().into_owned(),
            object.kind().into_owned(),
            text(object.namespace()),
            text(object.name()),
        );
        // Of several of one name the first counts; what is not known may differ, and an outcome is beside the others.
        let known = object.name().is_some_and(|n| n.unknown_to().is_none());
        let same = self.seen.entry(key).or_default();
        let equal = |at: &usize| self.made.get(*at).is_some_and(|o| o.value == object.value);
        let there = if outcome == 0 { !same.is_empty() } else { same.iter().take(BRANCHES).any(equal) };
        if !(is_off || known && there) {
            same.push(self.made.len());
            self.made.push(object);
        }
    }

    fn fill(&mut self, text: &Scalar, scope: Scope<'_>) -> Result<Filled, String> {
        let filled = self.budget.spend(text.text().len()).and_then(|()| self.templates.fill(text, scope));
        let spent = filled.and_then(|filled| self.budget.spend(filled.cost).map(|()| filled));
        spent.map_err(|stop| {
            self.refused = Some(stop.into());
            String::new()
        })
    }

    /// Says why nothing comes of a resource, or of a template of them.
    fn fail(&mut self, why: String, of: &Value) {
        let about = self.refused.take().unwrap_or(About::Refused(why));
        self.note(about);
        self.failed = true;
        self.failures += 1;
        if !self.refused_of.contains(of) {
            self.refused_of.push(of.clone());
        }
    }

    fn resource(&mut self, resource: &Value, scope: Scope<'_>) -> (Vec<Value>, usize) {
        let files = self.files;
        let mut outcomes = 1;
        let mut notes = Vec::new();
        let filled = go_yaml::rewritten(resource, files, &|text| text.contains("<<"), &mut |text| {
            let filled = self.fill(text, scope)?;
            outcomes = outcomes.max(filled.outcomes);
            notes.extend(filled.notes);
            Ok(filled.text)
        });
        notes.into_iter().for_each(|about| self.note(about));
        match filled {
            Ok(value) => (vec![value.unwrap_or_else(|| resource.clone())], outcomes),
            Err(why) => {
                self.fail(why, resource);
                (Vec::new(), 1)
            }
        }
    }

    fn template(&mut self, template: &Scalar, scope: Scope<'_>) -> (Vec<Value>, usize) {
        let filled = match self.fill(template, scope) {
            Ok(filled) => filled,
            Err(why) => {
                self.fail(why, &Value::Scalar(template.clone()));
                return (Vec::new(), 1);
            }
        };
        filled.notes.into_iter().for_each(|about| self.note(about));
        match read::documents(&filled.text, self.files.ceilings()) {
            Ok(values) => (values.into_iter().filter(|v| v.get("kind").is_some()).collect(), filled.outcomes),
            Err(error) => {
                self.fail(error.to_string(), &Value::Scalar(template.clone()));
                (Vec::new(), filled.outcomes)
            }
        }
    }
}
