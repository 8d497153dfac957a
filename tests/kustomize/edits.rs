//! Every origin is proven: the text there is changed in the file, and the build shows the new text at the same place.

use std::collections::BTreeMap;

use uplinker::deploy::{
    Build, Origin, Part, Scalar, Value,
    typed::{Typed, plain},
};

use crate::kustomize::tree::Tree;

/// Where a scalar is in a build: the object's number and the path in it.
type Place = (usize, Vec<String>);

/// Bytes of a file.
type Span = (String, usize, usize);

/// Edits the text of each written part of each scalar, one after the other.
pub fn edit_each_origin(tree: &Tree) -> Result<(), String> {
    for (folder, _) in tree.expected.iter().filter(|(_, expected)| expected.is_some()) {
        let before = Tree::build(&tree.texts, folder);
        let mut spans: BTreeMap<Span, Vec<Place>> = BTreeMap::new();
        visit(&before, &mut |place, scalar| {
            for origin in written(scalar) {
                let key = (origin.source.path.to_string(), origin.span.start, origin.span.end);
                spans.entry(key).or_default().push(place.clone());
            }
        });
        let names: Vec<String> =
            before.objects.iter().filter_map(|o| o.name().map(|name| name.text().into_owned())).collect();
        for (span, places) in &spans {
            let after = Tree::build(&edited(tree, span), folder);
            // What names objects or is looked for by others may lead to another build, or to none.
            if shape(&after) != shape(&before) {
                continue;
            }
            let word = word(tree, span);
            // What calls an object by its name keeps the old one, and does not find it.
            let is_name = |(_, path): &&Place| matches!(&path[..], [a, b] if a == "metadata" && (b == "name" || b == "namespace"));
            let named = places.iter().any(|place| is_name(&place));
            let shown = places.iter().filter(|place| !named || is_name(place));
            for (number, path) in shown {
                let scalar = at(&after, *number, path);
                if !scalar.as_ref().is_some_and(|scalar| scalar.contains(&word)) {
                    let (path, span) = (path.join("."), &span);
                    return Err(format!(
                        "{folder}: {path} does not show the edit at {span:?}, but {scalar:?}"
                    ));
                }
            }
            let overlap = |other: &&Span| other.0 == span.0 && other.1 < span.2 && span.1 < other.2;
            let places: Vec<&Place> = spans.keys().filter(overlap).flat_map(|other| &spans[other]).collect();
            let mut elsewhere = None;
            visit(&after, &mut |place, scalar| {
                // A reference to a name that changed is as it was written, with no object of that name.
                let named = at(&before, place.0, &place.1).is_some_and(|old| names.contains(&old));
                if scalar.text().contains(&*word) && !places.contains(&&place) && !named {
                    elsewhere = Some(place);
                }
            });
            if let Some((_, path)) = elsewhere {
                return Err(format!("{folder}: {} shows the edit at {span:?} too", path.join(".")));
            }
        }
    }
    Ok(())
}

fn written(scalar: &Scalar) -> impl Iterator<Item = &Origin> {
    scalar.parts().iter().filter_map(|part| match part {
        Part::Written(origin) => Some(origin),
        _ => None,
    })
}

/// A text that is nowhere else, of the type of what it replaces.
fn word(tree: &Tree, (path, start, end): &Span) -> String {
    let text = std::str::from_utf8(&tree.texts[path][*start..*end]).unwrap();
    match plain(text) {
        Typed::Int(_) => "7654321".to_owned(),
        Typed::Float(_) => "76543.21".to_owned(),
        // What joins a prefix or suffix to a name stays: others may cut there.
        _ => format!(
            "{}w7654321w{}",
            &text[..dashes(text.starts_with('-'))],
            &text[text.len() - dashes(text.ends_with('-'))..]
        ),
    }
}

fn dashes(there: bool) -> usize {
    usize::from(there)
}

fn edited(tree: &Tree, span: &Span) -> BTreeMap<String, Vec<u8>> {
    let mut texts = tree.texts.clone();
    let word = word(tree, span);
    let (path, start, end) = span;
    texts.get_mut(path).unwrap().splice(*start..*end, word.into_bytes());
    texts
}

/// The kinds of a build and their keys, without any text.
fn shape(build: &Build) -> Vec<String> {
    let mut places = Vec::new();
    visit(build, &mut |(number, path), _| places.push(format!("{number} {}", path.join("."))));
    places.push(format!("{:?}", build.notes));
    places
}

fn at(build: &Build, number: usize, path: &[String]) -> Option<String> {
    let mut value = &build.objects.get(number)?.value;
    for key in path {
        value = match value {
            Value::List(items) => items.get(key.parse::<usize>().ok()?)?,
            _ => value.entry(key)?,
        };
    }
    value.as_scalar().map(|scalar| scalar.text().into_owned())
}

fn visit(build: &Build, see: &mut dyn FnMut(Place, &Scalar)) {
    fn walk(value: &Value, number: usize, path: &mut Vec<String>, see: &mut dyn FnMut(Place, &Scalar)) {
        match value {
            Value::Scalar(scalar) => see((number, path.clone()), scalar),
            Value::List(items) => items.iter().enumerate().for_each(|(n, item)| {
                path.push(n.to_string());
                walk(item, number, path, see);
                path.pop();
            }),
            Value::Map(_) => value.entries().for_each(|(key, value)| {
                path.push(key.to_owned());
                walk(value, number, path, see);
                path.pop();
            }),
        }
    }
    build.objects.iter().enumerate().for_each(|(n, object)| walk(&object.value, n, &mut Vec::new(), see));
}
