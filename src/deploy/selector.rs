//! Label selectors over labels and over the parameters of generators.

use super::{
    object::{Labels, labels_of},
    value::{Scalar, Value},
};

/// Choices between labels of one selector.
const CHOICES: usize = 64;

/// Returns the labels that whatever fits a selector has.
pub fn asked(selector: &Value) -> Labels {
    let only = |expression: &Value| {
        let is_in = expression.text(&["operator"]).is_some_and(|operator| operator == "In");
        let [Value::Scalar(only)] = expression.list_at("values") else { return None };
        let is_told = is_in && only.unknown_to().is_none();
        Some((expression.text(&["key"])?.into_owned(), only.text().into_owned())).filter(|_| is_told)
    };
    let listed = selector.list_at("matchExpressions").iter().filter_map(only);
    selector.get("matchLabels").into_iter().flat_map(labels_of).chain(listed).collect()
}

/// Returns the same for each choice between labels that a selector leaves (`In` with several values), the first of many.
pub fn choices(selector: &Value) -> Vec<Labels> {
    let mut all = vec![asked(selector)];
    for expression in selector.list_at("matchExpressions") {
        let is_in = expression.text(&["operator"]).is_some_and(|operator| operator == "In");
        let values: Vec<&Scalar> = expression.list_at("values").iter().filter_map(Value::as_scalar).collect();
        let (Some(key), true) = (expression.text(&["key"]), is_in && values.len() > 1) else { continue };
        if values.iter().any(|value| value.unknown_to().is_some()) || all.len() * values.len() > CHOICES {
            continue;
        }
        let with = |labels: &Labels, value: &Scalar| {
            let own = (key.clone().into_owned(), value.text().into_owned());
            labels.iter().cloned().chain([own]).collect()
        };
        all = all
            .iter()
            .flat_map(|labels| values.iter().map(|value| with(labels, value)).collect::<Vec<_>>())
            .collect();
    }
    all
}

/// Tells whether a selector asks for nothing.
pub fn selects_all(selector: &Value) -> bool {
    ["matchLabels", "matchExpressions"].iter().all(|key| {
        selector.get(key).is_none_or(|asked| asked.entries().next().is_none() && asked.items().is_empty())
    })
}

/// Tells whether what `get` gives fits a selector; `None` where the tree does not say it.
///
/// `get` gives the text under a key, `Some(None)` where there is none, and `None` where that is not known.
pub fn fits(selector: &Value, get: &dyn Fn(&str) -> Option<Option<String>>) -> Option<bool> {
    let mut known = true;
    let labels = selector.get("matchLabels").into_iter().flat_map(Value::entries);
    for (key, wanted) in labels {
        let wanted = wanted.as_scalar().map(|s| s.text().into_owned());
        match get(key) {
            Some(found) if found == wanted => {}
            Some(_) => return Some(false),
            None => known = false,
        }
    }
    for expression in selector.list_at("matchExpressions") {
        let key = expression.text(&["key"]).unwrap_or_default();
        let Some(found) = get(&key) else {
            known = false;
            continue;
        };
        let values = expression.list_at("values").iter().filter_map(Value::as_scalar);
        let is_in = values.map(|s| s.text().into_owned()).any(|value| Some(&value) == found.as_ref());
        let fits = match &*expression.text(&["operator"]).unwrap_or_default() {
            "In" => is_in,
            "NotIn" => !is_in,
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => return Some(false),
        };
        if !fits {
            return Some(false);
        }
    }
    known.then_some(true)
}
