//! The Applications of an ApplicationSet.
//!
//! Sources: `applicationset/controllers/template/` and `applicationset/utils/utils.go` of argo-cd. What a condition of a
//! Go template leaves open gives one Application for each outcome.

use super::{
    GROUP,
    element::Element,
    generators::{Generated, Reader},
    patch,
};
use crate::deploy::{
    build::Build,
    cluster::Cluster,
    files::Files,
    go_template::{Stop, undecided},
    note::{About, Bound, Note},
    object::Object,
    read,
    value::{Scalar, Value},
};

/// Applications of one ApplicationSet that are looked at.
const OBJECTS: usize = 20_000;

/// Makes the Applications of an ApplicationSet.
pub fn application_set(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Build {
    let Some(spec) = object.value.get("spec") else { return Build::default() };
    let none = Value::empty();
    let template = spec.get("template").unwrap_or(&none);
    let mut reader = Reader::new(files, cluster, spec);
    let mut made = Vec::new();
    let patch = spec.scalar(&["templatePatch"]).filter(|p| !p.text().is_empty());
    'all: for generator in spec.list_at("generators") {
        for Generated { elements, template } in reader.generate(generator, template) {
            let template = Template { object, template: &template, patch };
            let before = reader.unmade.len();
            for element in &elements {
                if made.len() >= OBJECTS {
                    reader.language.note(About::Bound(Bound::Objects(OBJECTS)));
                    break 'all;
                }
                template.each(&mut reader, element, &mut made);
            }
            if reader.unmade.len() > before {
                reader.unmade.push(template.template.clone());
            }
        }
    }
    let (unmade, overridden) = (reader.unmade, reader.overridden);
    let notes = reader.language.notes.into_iter().map(|about| Note::new(&object.file, about));
    let (objects, elements) = made.into_iter().unzip();
    Build { objects, elements, unmade, overridden, notes: notes.collect(), ..Build::default() }
}

/// What an ApplicationSet makes Applications of.
struct Template<'a> {
    object: &'a Object,
    template: &'a Value,
    patch: Option<&'a Scalar>,
}

// === impl Template ===

impl Template<'_> {
    /// Makes the Applications of one element: one for each outcome. Each is handed over with the element.
    fn each(&self, reader: &mut Reader<'_>, element: &Element, made: &mut Vec<(Object, Value)>) {
        reader.language.outcomes = 1;
        let mut own: Vec<Value> = Vec::new();
        let mut outcome = 0;
        while outcome < reader.language.outcomes {
            match self.one(reader, element, outcome) {
                Ok(value) if own.contains(&value) => {}
                Ok(value) => own.push(value),
                Err(stop) => reader.refused(stop),
            }
            outcome += 1;
        }
        if own.is_empty() {
            reader.unmade.push(element.parameters.clone());
        }
        undecided(&mut own);
        let by = element.file.clone().or_else(|| self.object.by.clone());
        made.extend(own.into_iter().map(|value| {
            let application = Object::new(value, self.object.file.clone(), by.clone());
            (Object { chosen_by: element.chosen_by.clone(), ..application }, element.parameters.clone())
        }));
    }

    fn one(&self, reader: &mut Reader<'_>, element: &Element, outcome: usize) -> Result<Value, Stop> {
        let bare = element.parameters == Value::empty() && element.open.is_none();
        let filled = if bare { None } else { reader.language.value(self.template, element, outcome)? };
        let filled = filled.as_ref().unwrap_or(self.template);
        let mut application = Value::map([
            ("apiVersion", Value::made(&format!("{GROUP}/v1alpha1"))),
            ("kind", Value::made("Application")),
        ]);
        for part in ["metadata", "spec"] {
            application.insert(part, filled.get(part).cloned().unwrap_or_else(Value::empty));
        }
        if let Some(patch) = self.patch {
            application = self.patched(reader, element, outcome, (&application, patch))?;
        }
        if let (Some(namespace), Some(metadata)) =
            (self.object.namespace(), application.entry_mut("metadata"))
        {
            metadata.insert("namespace", Value::Scalar(namespace.clone()));
        }
        Ok(application)
    }

    fn patched(
        &self,
        reader: &mut Reader<'_>,
        element: &Element,
        outcome: usize,
        (application, patch): (&Value, &Scalar),
    ) -> Result<Value, Stop> {
        let text = reader.language.text(patch, element, outcome)?;
        let patch = read::mapping(&text, reader.files.ceilings());
        let patch = patch.map_err(|error| Stop::Refused(format!("invalid templatePatch: {error}")))?;
        if !matches!(patch, Value::Map(_)) {
            return Err(Stop::Refused("invalid templatePatch: it is no mapping".to_owned()));
        }
        let mut patched = patch::patched(application, &patch);
        // A patch cannot move an Application to another project.
        if let Some(spec) = patched.entry_mut("spec") {
            match application.path(&["spec", "project"]) {
                Some(project) => spec.insert("project", project.clone()),
                None => drop(spec.remove("project")),
            }
        }
        Ok(patched)
    }
}
