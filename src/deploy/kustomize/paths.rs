//! Paths of replacements and variables: `spec.template.spec.containers.[name=web].env.0.value`.

use super::{fields::split, resource::by_looks};
use crate::{
    deploy::{
        expression::expression,
        value::{Scalar, Value},
    },
    yaml::{Stream, core::is_plain_piece},
};

/// The longest path that is followed.
const STEPS: usize = 50;

/// A path cut into steps.
#[derive(Clone, Debug)]
pub(super) struct Path(Vec<Step>);

#[derive(Clone, Debug)]
enum Step {
    Field(String),
    Index(usize),
    /// The last item.
    Last,
    /// Items whose field has a value; of no field, the item itself.
    Item(String, String),
    Every,
}

/// What is made where a path leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Make {
    Nothing,
    Scalar,
    Map,
    List,
}

/// What stands at the end of a path: the value, and whether it was made just now.
pub(super) type ChangeValue<'c> = &'c mut dyn FnMut(&Value, bool) -> Option<Value>;

// === impl Path ===

impl Path {
    /// Reads a path; `None` where a step in brackets has no `=`, or there are too many.
    pub fn of(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut parts = split(text, '.').into_iter();
        while let Some(mut part) = parts.next() {
            if part.starts_with('[') && !part.ends_with(']') {
                for next in parts.by_ref() {
                    part = format!("{part}.{next}");
                    if part.ends_with(']') {
                        break;
                    }
                }
                if !part.contains('=') {
                    steps.push(Step::Field(part.trim_matches(['[', ']']).to_owned()));
                    continue;
                }
            }
            steps.push(Step::of(part)?);
        }
        (steps.len() <= STEPS).then_some(Self(steps))
    }

    /// Reads the path of a variable: `spec.ports[0].port`.
    pub fn of_variable(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        for part in split(text, '.') {
            let (field, index) = part.split_once('[').unwrap_or((&part, ""));
            if !field.is_empty() {
                steps.push(Step::of(field.to_owned())?);
            }
            match index.strip_suffix(']').map(str::parse) {
                Some(Ok(at)) => steps.push(Step::Index(at)),
                _ if index.is_empty() => {}
                _ => return None,
            }
        }
        Some(Self(steps))
    }

    /// Returns the one value that a source names.
    pub fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, step| match step {
            Step::Field(name) => value.get(name.trim()),
            Step::Index(at) => value.items().get(*at).or_else(|| value.get(&at.to_string())),
            Step::Last => value.items().last(),
            Step::Item(key, text) => value.items().iter().find(|item| {
                let own = if key.is_empty() { Some(*item) } else { item.entry(key) };
                own.and_then(Value::as_scalar).is_some_and(|own| own.text() == *text)
            }),
            Step::Every => None,
        })
    }

    /// Changes all that a target names; `None` where nothing is there.
    pub fn change(&self, value: &Value, make: Make, change: ChangeValue<'_>) -> Option<Value> {
        walk(value, &self.0, make, change)
    }
}

// === impl Step ===

impl Step {
    fn of(part: String) -> Option<Self> {
        if let Ok(at) = part.parse::<usize>() {
            return Some(Self::Index(at));
        }
        if let Some(inside) = part.strip_prefix('[').and_then(|part| part.strip_suffix(']')) {
            let (key, value) = inside.split_once('=')?;
            return Some(Self::Item(key.to_owned(), value.to_owned()));
        }
        Some(match part.as_str() {
            "*" => Self::Every,
            "-" => Self::Last,
            _ => Self::Field(part),
        })
    }
}

fn walk(value: &Value, steps: &[Step], make: Make, change: ChangeValue<'_>) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else { return change(value, false) };
    let value = if value.is_null() && make != Make::Nothing {
        &if matches!(step, Step::Field(_)) { Value::empty() } else { Value::list(Vec::new()) }
    } else {
        value
    };
    match step {
        Step::Field(name) => match value {
            Value::Scalar(scalar) => inside(scalar, steps, change),
            Value::List(_) => None,
            Value::Map(_) => {
                let new = match value.entry(name) {
                    Some(field) => walk(field, rest, make, change),
                    None if make == Make::Nothing => None,
                    None if rest.is_empty() => change(&made(make), true),
                    None => walk(&made(next(rest)), rest, make, change),
                }?;
                let mut object = value.clone();
                object.insert(name, new);
                Some(object)
            }
        },
        Step::Index(at) => {
            let items = value.items();
            let new = match items.get(*at) {
                Some(item) => walk(item, rest, make, change),
                None if *at == items.len() && make != Make::Nothing && matches!(value, Value::List(_)) => {
                    if rest.is_empty() {
                        change(&made(make), true)
                    } else {
                        walk(&made(next(rest)), rest, make, change)
                    }
                }
                None => None,
            }?;
            let mut list = value.clone();
            let all = list.make_list();
            match all.get_mut(*at) {
                Some(item) => *item = new,
                None => all.push(new),
            }
            Some(list)
        }
        Step::Last => None,
        Step::Item(key, text) => {
            let Value::List(_) = value else { return None };
            let pattern = expression(text)?;
            let fits = |item: &Value| {
                let own = if key.is_empty() { Some(item) } else { item.entry(key) };
                own.and_then(Value::as_scalar).is_some_and(|own| pattern.is_match(own.text().trim()))
            };
            // What follows an item that is named by its own text is not looked at.
            let rest = if key.is_empty() { &[] } else { rest };
            if let Some(new) = each(value, fits, rest, make, change) {
                return Some(new);
            }
            if make == Make::Nothing || value.items().iter().any(fits) {
                return None;
            }
            let scalar = Value::Scalar(by_looks(Scalar::made(text)));
            let mut list = value.clone();
            let item = if key.is_empty() { scalar } else { Value::map([(key.as_str(), scalar)]) };
            list.make_list().push(item);
            each(&list, fits, rest, make, change)
        }
        Step::Every => each(value, |_| true, rest, make, change),
    }
}

fn each(
    value: &Value,
    fits: impl Fn(&Value) -> bool,
    rest: &[Step],
    make: Make,
    change: ChangeValue<'_>,
) -> Option<Value> {
    let mut new: Option<Value> = None;
    for (at, item) in value.items().iter().enumerate().filter(|(_, item)| fits(item)) {
        if let Some(item) = walk(item, rest, make, change) {
            new.get_or_insert_with(|| value.clone()).make_list()[at] = item;
        }
    }
    new
}

fn made(kind: Make) -> Value {
    match kind {
        Make::Nothing | Make::Scalar => Value::Scalar(Scalar::made("").as_plain()),
        Make::Map => Value::empty(),
        Make::List => Value::list(Vec::new()),
    }
}

/// What a value must be for the steps that follow.
fn next(rest: &[Step]) -> Make {
    match rest.first() {
        Some(Step::Index(_) | Step::Item(..)) => Make::List,
        _ => Make::Map,
    }
}

/// Changes a scalar in a text that is YAML or JSON itself (kustomize 5.8).
fn inside(text: &Scalar, steps: &[Step], change: ChangeValue<'_>) -> Option<Value> {
    let whole = text.text();
    let stream = Stream::parse(&whole).ok()?;
    let mut node = stream.roots().next().filter(|root| root.is_mapping() || root.is_sequence())?;
    for step in steps {
        node = match step {
            Step::Field(name) => node.get(name)?,
            Step::Index(at) => node.item(*at)?,
            Step::Item(key, text) => {
                let pattern = expression(text)?;
                node.items().find(|item| item.text(&[key]).is_some_and(|own| pattern.is_match(own)))?
            }
            Step::Last | Step::Every => return None,
        };
    }
    let node = node.resolved();
    let (value, whole_span) = (node.as_str()?, node.span());
    let quoted = whole_span.start + 1..whole_span.end.saturating_sub(1);
    let plain = whole.get(whole_span.clone()) == Some(value);
    // Only a text that stands there as it is can be changed in place.
    let span = if plain { whole_span } else { quoted };
    if whole.get(span.clone()) != Some(value) {
        return None;
    }
    let new = change(&Value::Scalar(text.cut(span.clone())), false)?;
    let new = new.as_scalar()?;
    let fits =
        if plain { is_plain_piece(&new.text()) } else { !new.text().contains(['"', '\'', '\\', '\n']) };
    fits.then(|| Value::Scalar(text.splice(span, new)))
}
