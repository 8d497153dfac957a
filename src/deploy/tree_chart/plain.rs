//! A chart without Helm: the plain forms of its templates are followed, file by file.
//!
//! Source: helm's `pkg/engine/engine.go` and `pkg/chartutil/{coalesce,dependencies}.go`. What a template asks for beyond
//! that is a part that is not known, and named.

use std::collections::BTreeMap;

use super::{
    Rendered,
    package::{Inner, Package, own_values},
};
use crate::deploy::{
    chart::{ChartRelease, coalesced, merged},
    files::Files,
    go_template::{Budget, Named, Scope, Templates},
    note::{About, Note},
    object::Object,
    read,
    umbrella::is_on,
    value::{Scalar, Source, Value},
};

/// What only whoever deploys the chart knows.
const OPEN: &str = "whoever deploys the chart";

/// Follows the templates of a chart.
pub(super) fn follow(
    package: &Package,
    release: &ChartRelease,
    values: &Value,
    files: &dyn Files,
    rendered: &mut Rendered,
) {
    let mut named = Named::default();
    for (_, source) in package.templates() {
        // What is no template is said where it is followed.
        let _ = named.add(&Scalar::file(source));
    }
    let all = values_of_all(package, values, files);
    let mut follower = Follower {
        release,
        files,
        named: &named,
        templates: Templates::new("{{", "}}"),
        budget: Budget::default(),
        rendered,
    };
    for (place, source) in package.templates() {
        let (chart, inside) = chart_of(place);
        let name = inside.rsplit('/').next().unwrap_or(inside);
        let library = if chart.is_empty() {
            package.library
        } else {
            package.inner.iter().any(|i| i.place == chart && i.library)
        };
        let followed = if name.starts_with('_') || name == "NOTES.txt" || library {
            true
        } else {
            all.get(chart).is_none_or(|values| {
                follower.template(source, &dot(package, release, values, (chart, place)))
            })
        };
        if followed {
            follower.rendered.followed.insert(source.path.clone());
        }
    }
}

/// Cuts the place of a template into that of its chart and the rest.
fn chart_of(place: &str) -> (&str, &str) {
    let mut end = 0;
    while let Some((name, _)) = place[end..].strip_prefix("charts/").and_then(|rest| rest.split_once('/')) {
        end += "charts/".len() + name.len() + 1;
    }
    (place[..end].trim_end_matches('/'), &place[end..])
}

/// Returns the place of the chart that another one is inside of.
fn above(inner: &Inner) -> &str {
    inner.place.rsplit_once("charts/").map_or("", |(above, _)| above.trim_end_matches('/'))
}

/// Works out the values of each chart in a package, by its place; a chart that is switched off has none.
fn values_of_all(package: &Package, values: &Value, files: &dyn Files) -> BTreeMap<String, Value> {
    let laid = |place: &str, given: &Value| {
        let is_inner =
            |key: &str| package.inner.iter().any(|inner| inner.key == key && above(inner) == place);
        coalesced(&own_values(package, files, place), given, &is_inner)
    };
    let mut all = BTreeMap::from([(String::new(), laid("", values))]);
    // Outer ones come before those in them.
    let mut inner: Vec<_> = package.inner.iter().collect();
    inner.sort_by_key(|inner| inner.place.matches("charts/").count());
    for chart in inner {
        let above = above(chart);
        let Some(outer) = all.get(above) else { continue };
        // Tags of the outermost chart count in all that are in it.
        let tags = all.get("").and_then(|whole| whole.get("tags")).filter(|_| !above.is_empty());
        let tagged = tags.map(|tags| merged(outer, &Value::map([("tags", tags.clone())])));
        if !is_on(&chart.dependency, tagged.as_ref().unwrap_or(outer)) {
            continue;
        }
        let given = outer.get(&chart.key).cloned().unwrap_or_else(Value::empty);
        let mut values = laid(&chart.place, &given);
        if let Some(global) = outer.get("global") {
            let own = values.get("global").cloned().unwrap_or_else(Value::empty);
            values.insert("global", merged(&own, global));
        }
        all.insert(chart.place.clone(), values);
    }
    all
}

fn dot(package: &Package, release: &ChartRelease, values: &Value, (chart, place): (&str, &str)) -> Value {
    let unknown = || Value::Scalar(Scalar::unknown(OPEN));
    let file = if chart.is_empty() { "Chart.yaml".to_owned() } else { format!("{chart}/Chart.yaml") };
    let about = package
        .source(&file)
        .and_then(|source| read::mapping(&Scalar::file(source), &crate::yaml::Ceilings::default()).ok());
    let about = about.unwrap_or_else(Value::empty);
    // In templates the fields of `Chart.yaml` begin with a capital.
    let fields = about.entries().map(|(key, value)| {
        let mut chars = key.chars();
        let first = chars.next().map(|c| c.to_ascii_uppercase());
        (first.into_iter().chain(chars).collect::<String>(), value.clone())
    });
    let fields: Vec<(String, Value)> = fields.collect();
    let namespace = release.namespace.clone().unwrap_or_else(|| Scalar::unknown(OPEN));
    let is = |text: &str| Value::Scalar(Scalar::made(text).as_plain());
    Value::map([
        ("Values", values.clone()),
        ("Chart", Value::map(fields.iter().map(|(key, value)| (&**key, value.clone())))),
        (
            "Release",
            Value::map([
                ("Name", Value::Scalar(release.release.clone())),
                ("Namespace", Value::Scalar(namespace)),
                ("Service", Value::made("Helm")),
                ("IsInstall", is("true")),
                ("IsUpgrade", is("false")),
                ("Revision", is("1")),
            ]),
        ),
        ("Capabilities", unknown()),
        ("Files", unknown()),
        ("Template", Value::map([("Name", Value::made(&format!("{}/{place}", package.name)))])),
    ])
}

/// Cuts a text at the lines between documents, as Helm does before it reads any of them.
fn pieces(text: &Scalar) -> Vec<Scalar> {
    let whole = text.text();
    let mut from = 0;
    let mut found = Vec::new();
    for (at, _) in whole.match_indices("\n---") {
        found.push(text.cut(from..at + 1));
        from = at + 1;
    }
    found.push(text.cut(from..whole.len()));
    found
}

struct Follower<'a> {
    release: &'a ChartRelease,
    files: &'a dyn Files,
    named: &'a Named,
    templates: Templates,
    budget: Budget,
    rendered: &'a mut Rendered,
}

// === impl Follower ===

impl Follower<'_> {
    /// Follows one template, once for each outcome of its conditions; says whether all of it was.
    fn template(&mut self, source: &std::sync::Arc<Source>, dot: &Value) -> bool {
        let text = Scalar::file(source);
        let (mut outcome, mut outcomes) = (0, 1);
        let mut whole = true;
        while outcome < outcomes {
            let scope = Scope {
                dot,
                inputs: None,
                own: None,
                named: Some(self.named),
                open: None,
                strict: false,
                outcome,
            };
            let spent = self.budget.spend(source.text.len());
            let filled = spent.and_then(|()| self.templates.fill(&text, scope));
            let filled = filled.and_then(|filled| self.budget.spend(filled.cost).map(|()| filled));
            let filled = match filled {
                Ok(filled) => filled,
                Err(stop) => {
                    self.note(source, stop.into());
                    return false;
                }
            };
            outcomes = filled.outcomes;
            for about in filled.notes {
                whole &= !matches!(about, About::Expression(_) | About::Bound(_));
                self.note(source, about);
            }
            whole &= self.documents(source, &filled.text);
            outcome += 1;
        }
        whole
    }

    fn documents(&mut self, source: &Source, text: &Scalar) -> bool {
        let mut whole = true;
        let mut documents = Vec::new();
        for document in pieces(text) {
            match read::documents(&document, self.files.ceilings()) {
                Ok(read) => documents.extend(read),
                Err(error) => {
                    let what = format!("what comes of {}", source.path);
                    self.note(source, About::Unread { what, why: error.to_string() });
                    whole = false;
                }
            }
        }
        let by = Some(self.release.by.clone().unwrap_or_else(|| self.release.file.clone()));
        let objects = documents.iter().flat_map(|document| Object::all(document, &source.path));
        let objects = objects.map(|object| Object { by: by.clone(), ..object });
        self.rendered.objects.extend(objects);
        whole
    }

    fn note(&mut self, source: &Source, about: About) {
        let note = Note::new(&source.path, about);
        if !self.rendered.notes.contains(&note) {
            self.rendered.notes.push(note);
        }
    }
}
