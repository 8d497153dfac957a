//! Step 7, render: which fields of a rendering are the chart's invention, and so stay as committed.
//!
//! In: two renderings of the same, the chart's templates. Out: fields by object. What differs between the two is random;
//! what comes from the clock is in a reviewed list, since two renderings in one minute agree; a checksum is found by the
//! template that computes it.

use std::collections::BTreeMap;

use super::field::{Field, differing};
use crate::{
    linkerd::ClockField,
    render::{Chart, Manifest, Object, ObjectKey},
};

/// Objects that hold what an owner of the identity gave, and that no upgrade touches (linkerd2
/// charts/linkerd-control-plane/templates/identity.yaml).
const IDENTITY: [(&str, &str); 2] =
    [("Secret", "linkerd-identity-issuer"), ("ConfigMap", "linkerd-identity-trust-roots")];

/// The fields of one rendering that are not the release's.
#[derive(Clone, Debug, Default)]
pub(super) struct Nondeterministic {
    /// What is put back from the committed objects.
    pub(super) fields: BTreeMap<ObjectKey, Vec<Field>>,
    /// Those of them that are a time of the day.
    pub(super) clock: Vec<(ObjectKey, Field)>,
    /// Checksums over other templates.
    pub(super) checksums: Vec<Checksum>,
}

/// An annotation with a checksum over the text of templates.
#[derive(Clone, Debug)]
pub(super) struct Checksum {
    /// The object that has it.
    pub(super) object: ObjectKey,
    /// Where.
    pub(super) field: Field,
    /// The templates, as Helm's `# Source:` names them.
    pub(super) sources: Vec<String>,
    /// Whether two renderings agree on it, so that Helm's own is good.
    pub(super) steady: bool,
}

// === impl Nondeterministic ===

impl Nondeterministic {
    /// Compares two renderings of the same; the object that only one of them has, where there is one.
    pub(super) fn of(
        first: &Manifest,
        second: &Manifest,
        chart: &Chart,
        clock: &[ClockField],
    ) -> Result<Self, ObjectKey> {
        let mut found = Self::default();
        let only_there = second.objects.iter().find(|o| first.get(&o.key).is_none());
        if let Some(object) = only_there {
            return Err(object.key.clone());
        }
        for object in &first.objects {
            let other = second.get(&object.key).ok_or_else(|| object.key.clone())?;
            let mut fields = differing(&object.value, &other.value);
            for (annotation, sources) in checksums(chart, object) {
                for field in annotations(object, &annotation) {
                    let steady = !fields.contains(&field);
                    fields.retain(|f| *f != field);
                    let (object, sources) = (object.key.clone(), sources.clone());
                    found.checksums.push(Checksum { object, field, sources, steady });
                }
            }
            let times: Vec<Field> =
                times(object, clock).filter(|f| f.find(&object.value).is_some()).collect();
            found.clock.extend(times.iter().map(|field| (object.key.clone(), field.clone())));
            fields.extend(times.into_iter().chain(of_identity(object)));
            fields.sort();
            fields.dedup();
            if !fields.is_empty() {
                found.fields.insert(object.key.clone(), fields);
            }
        }
        Ok(found)
    }
}

/// Lists the fields of an object that are from the clock, whatever two renderings say.
fn times<'a>(object: &'a Object, clock: &'a [ClockField]) -> impl Iterator<Item = Field> + 'a {
    let key = &object.key;
    clock.iter().filter(|c| c.kind == key.kind && c.name == key.name).map(|c| Field::keys(&c.field))
}

/// Lists the fields of an object that an owner of the identity gave.
fn of_identity(object: &Object) -> impl Iterator<Item = Field> + '_ {
    let identity = IDENTITY.contains(&(object.key.kind.as_str(), object.key.name.as_str()));
    let data = object.at(&["data"]).and_then(|data| data.as_object()).filter(|_| identity);
    data.into_iter().flat_map(|d| d.keys().map(|name| Field::keys(&["data", name.as_str()])))
}

/// Reads in an object's template which annotations are checksums, and over what.
fn checksums(chart: &Chart, object: &Object) -> Vec<(String, Vec<String>)> {
    let Some(source) = object.source.as_deref() else { return Vec::new() };
    let Some((_, path)) = source.split_once('/') else { return Vec::new() };
    let Some((base, _)) = source.rsplit_once("/templates/") else { return Vec::new() };
    let Some(text) = chart.files.get(path) else { return Vec::new() };
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines().filter(|line| line.contains("sha256sum")) {
        let Some((name, rest)) = line.split_once(": ") else { continue };
        let Some((_, rest)) = rest.split_once(".BasePath") else { continue };
        let Some(file) = rest.split('"').nth(1).and_then(|f| f.strip_prefix('/')) else { continue };
        let (name, file) =
            (name.trim().trim_matches(['"', '\'']).to_owned(), format!("{base}/templates/{file}"));
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, files)) if files.contains(&file) => {}
            Some((_, files)) => files.push(file),
            None => found.push((name, vec![file])),
        }
    }
    found
}

/// Finds an annotation on the object and on its pod template.
fn annotations(object: &Object, name: &str) -> Vec<Field> {
    let places: [&[&str]; 3] = [
        &["metadata", "annotations"],
        &["spec", "template", "metadata", "annotations"],
        &["spec", "jobTemplate", "spec", "template", "metadata", "annotations"],
    ];
    let fields = places.iter().map(|place| Field::keys(place).key(name));
    fields.filter(|field| field.find(&object.value).is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::ChartId;

    fn chart(template: &str) -> Chart {
        let id = ChartId { name: "c".into(), version: "1".into() };
        let files = [("charts/s/templates/a.yaml".to_owned(), template.into())].into();
        Chart { id, digest: String::new(), files }
    }

    #[test]
    fn random_fields_the_clock_and_checksums_are_told_apart() {
        let template = "a:\n        checksum/config: {{ include (print $.Template.BasePath \"/b.yaml\") . | sha256sum }}\n";
        let text = |random: u8, sum: &str| {
            format!(
                "# Source: c/charts/s/templates/a.yaml\napiVersion: v1\nkind: D\nmetadata: {{name: d}}\n\
                 spec: {{template: {{metadata: {{annotations: {{checksum/config: {sum}}}}}}}, r: {random}, schedule: x}}\n"
            )
        };
        let (first, second) =
            (Manifest::parse(text(1, "a")).unwrap(), Manifest::parse(text(2, "b")).unwrap());
        let clock = ClockField {
            kind: "D".into(),
            name: "d".into(),
            field: vec!["spec".into(), "schedule".into()],
            source: String::new(),
        };
        let found = Nondeterministic::of(&first, &second, &chart(template), &[clock]).unwrap();
        let key = &first.objects[0].key;
        let shown: Vec<String> = found.fields[key].iter().map(Field::to_string).collect();
        assert_eq!(shown, ["spec.r", "spec.schedule"]);
        assert_eq!(found.clock, [(key.clone(), Field::keys(&["spec", "schedule"]))]);
        assert_eq!(found.checksums[0].sources, ["c/charts/s/templates/b.yaml"]);
        assert!(!found.checksums[0].steady);
    }

    #[test]
    fn a_chart_that_invents_objects_is_named() {
        let text = |name: &str| {
            Manifest::parse(format!("apiVersion: v1\nkind: D\nmetadata: {{name: {name}}}\n")).unwrap()
        };
        assert_eq!(Nondeterministic::of(&text("a"), &text("b"), &chart(""), &[]).unwrap_err().name, "b");
    }
}
