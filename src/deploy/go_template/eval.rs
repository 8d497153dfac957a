//! The evaluation of a template's tree, as Go's `text/template/exec.go` walks it.

use super::{
    BRANCHES, BYTES, CALLS, Filled, STEP_COST, STEPS, Scope, Stop,
    functions::{self, Called},
    parse::{self, Base, Branch, Leave, Node, Operand, Pipeline},
    print::{self, printed},
};
use crate::deploy::{
    note::{About, Bound},
    typed::{Typed, typed},
    value::{Part, Scalar, Value},
};

/// Evaluates a tree of a text.
pub(super) fn run(nodes: &[Node], text: &Scalar, whole: &str, scope: Scope<'_>) -> Result<Filled, Stop> {
    within(nodes, text, whole, (scope, 0))
}

/// The same in a template that others have called.
fn within(
    nodes: &[Node],
    text: &Scalar,
    whole: &str,
    (scope, calls): (Scope<'_>, usize),
) -> Result<Filled, Stop> {
    let variables = vec![(String::new(), scope.dot.clone())];
    let mut machine = Machine {
        text,
        whole,
        scope,
        variables,
        out: Vec::new(),
        bytes: 0,
        steps: 0,
        outcomes: 1,
        calls,
        notes: Vec::new(),
    };
    let dot = Dot { value: scope.dot.clone(), outermost: true };
    machine.nodes(nodes, &dot)?;
    let text = Scalar::of(machine.out, text.plain);
    let cost = whole.len() + machine.bytes + machine.steps * STEP_COST;
    Ok(Filled { text, outcomes: machine.outcomes, cost, notes: machine.notes })
}

struct Machine<'a> {
    text: &'a Scalar,
    whole: &'a str,
    scope: Scope<'a>,
    variables: Vec<(String, Value)>,
    out: Vec<Part>,
    bytes: usize,
    steps: usize,
    outcomes: usize,
    /// Named templates that call each other at the moment.
    calls: usize,
    notes: Vec<About>,
}

/// The dot, and whether it is the outermost mapping, which may have keys that the tree does not know.
struct Dot {
    value: Value,
    outermost: bool,
}

enum Flow {
    Next,
    Leave(Leave),
}

// === impl Dot ===

impl Dot {
    fn inner(value: Value) -> Self {
        Self { value, outermost: false }
    }
}

// === impl Machine ===

impl<'a> Machine<'a> {
    fn step(&mut self) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps > STEPS { Err(Stop::Bound(Bound::Steps(STEPS))) } else { Ok(()) }
    }

    fn print(&mut self, scalar: &Scalar) -> Result<(), Stop> {
        self.bytes += scalar.parts().iter().map(|p| p.text().len()).sum::<usize>();
        if self.bytes > BYTES {
            return Err(Stop::Bound(Bound::Bytes(BYTES)));
        }
        self.out.extend_from_slice(scalar.parts());
        Ok(())
    }

    fn action(&self, pipeline: &Pipeline) -> String {
        self.whole.get(pipeline.place.clone()).unwrap_or_default().trim().to_owned()
    }

    fn note(&mut self, about: About) {
        if !self.notes.contains(&about) {
            self.notes.push(about);
        }
    }

    fn nodes(&mut self, nodes: &[Node], dot: &Dot) -> Result<Flow, Stop> {
        let before = self.variables.len();
        for node in nodes {
            self.step()?;
            let flow = match node {
                Node::Text(range) => {
                    let text = self.text.cut(range.clone());
                    self.print(&text)?;
                    Flow::Next
                }
                Node::Action(pipeline) => {
                    let value = self.pipeline(pipeline, dot)?;
                    if pipeline.sets.is_empty() {
                        let place = self.text.cut(pipeline.place.clone());
                        let text = printed(&value).read_by(&place);
                        let is_asked = self.scope.open.is_some() || self.scope.own.is_some();
                        self.print(&if is_asked { text.asked_by(&place) } else { text })?;
                    }
                    Flow::Next
                }
                Node::Choice { branches, otherwise } => self.choice(branches, otherwise.as_deref(), dot)?,
                Node::Range { over, body, otherwise } => self.range(over, body, otherwise.as_deref(), dot)?,
                Node::Leave(leave) => Flow::Leave(*leave),
                Node::Define { .. } => Flow::Next,
                Node::Template(call) => {
                    let text = self.template(call, dot)?;
                    self.print(&text)?;
                    Flow::Next
                }
                Node::Unfollowed(range) => {
                    let text = self.whole.get(range.clone()).unwrap_or_default().trim().to_owned();
                    let value = self.unfollowed(text, &[]);
                    self.print(&value)?;
                    Flow::Next
                }
            };
            if matches!(flow, Flow::Leave(_)) {
                self.variables.truncate(before);
                return Ok(flow);
            }
        }
        self.variables.truncate(before);
        Ok(Flow::Next)
    }

    /// Evaluates `template "name" dot`.
    fn template(&mut self, call: &Pipeline, dot: &Dot) -> Result<Scalar, Stop> {
        let operands = match call.commands.as_slice() {
            [one] => one.as_slice(),
            _ => &[],
        };
        let inner = match operands {
            [_] => print::null(),
            [_, inner] => self.operand(inner, call, dot)?,
            _ => return Ok(self.unfollowed(self.action(call), &[])),
        };
        match operands {
            [Operand { base: Base::Text { text, .. }, .. }, ..] => self.named(text, inner, call),
            _ => Ok(self.unfollowed(self.action(call), &[inner])),
        }
    }

    /// Evaluates a template by its name; what it prints is a text.
    fn named(&mut self, name: &str, inner: Value, call: &Pipeline) -> Result<Scalar, Stop> {
        let named: Option<&'a super::Named> = self.scope.named;
        let Some(template) = named.and_then(|named| named.get(name)) else {
            return Ok(self.unfollowed(self.action(call), &[inner]));
        };
        let around = self.calls;
        self.calls = self.one_deeper()?;
        let (text, whole) = (self.text, self.whole);
        (self.text, self.whole) = (&template.text, &template.whole);
        let out = std::mem::take(&mut self.out);
        let variables = std::mem::replace(&mut self.variables, vec![(String::new(), inner.clone())]);
        let done = self.nodes(template.body(), &Dot::inner(inner));
        let printed = std::mem::replace(&mut self.out, out);
        self.variables = variables;
        (self.text, self.whole) = (text, whole);
        self.calls = around;
        done.map(|_| Scalar::of(printed, false))
    }

    /// Evaluates a text that is a template itself.
    fn filled(&mut self, text: &Scalar, inner: &Value) -> Result<Scalar, Stop> {
        let calls = self.one_deeper()?;
        let whole = text.text();
        let nodes = parse::parse(&whole, ("{{", "}}")).map_err(|error| Stop::Refused(error.to_string()))?;
        let scope = Scope { dot: inner, ..self.scope };
        let filled = within(&nodes, text, &whole, (scope, calls))?;
        self.steps += filled.cost / STEP_COST;
        self.outcomes = self.outcomes.max(filled.outcomes);
        filled.notes.into_iter().for_each(|about| self.note(about));
        Ok(filled.text)
    }

    /// Counts one more text that is evaluated inside of the others.
    fn one_deeper(&self) -> Result<usize, Stop> {
        if self.calls >= CALLS {
            return Err(Stop::Bound(Bound::Depth(CALLS)));
        }
        Ok(self.calls + 1)
    }

    /// What comes of a part of a template that is not followed, and is made of these.
    fn unfollowed(&mut self, text: String, of: &[Value]) -> Scalar {
        let value = self.unknown_of(&print::unfollowed(&text), of);
        self.note(About::Expression(text));
        value
    }

    /// What somebody else makes of values.
    fn unknown_of(&mut self, who: &str, of: &[Value]) -> Scalar {
        let handed: Vec<&Scalar> = of.iter().flat_map(Value::scalars).collect();
        self.steps += handed.len() / STEP_COST;
        Scalar::unknown_of(who, handed)
    }

    fn choice(&mut self, branches: &[Branch], otherwise: Option<&[Node]>, dot: &Dot) -> Result<Flow, Stop> {
        let before = self.variables.len();
        // What may come, where the tree does not decide.
        let mut open: Vec<(&Branch, Value)> = Vec::new();
        let mut decided = false;
        for branch in branches {
            let value = self.pipeline(&branch.condition, dot)?;
            match print::truth(&value) {
                Some(false) => {}
                Some(true) => {
                    open.push((branch, value));
                    decided = true;
                    break;
                }
                None => {
                    self.note(About::Condition(self.action(&branch.condition)));
                    open.push((branch, value));
                }
            }
        }
        let chosen = self.choose(open.len() + usize::from(!decided));
        let flow = match open.get(chosen) {
            Some((branch, value)) if branch.with => self.nodes(&branch.body, &Dot::inner(value.clone())),
            Some((branch, _)) => self.nodes(&branch.body, dot),
            None => otherwise.map_or(Ok(Flow::Next), |nodes| self.nodes(nodes, dot)),
        };
        self.variables.truncate(before);
        flow
    }

    /// Says which of several outcomes is wanted.
    fn choose(&mut self, outcomes: usize) -> usize {
        if outcomes > BRANCHES {
            self.note(About::Bound(Bound::Branches(BRANCHES)));
        }
        self.outcomes = self.outcomes.max(outcomes.min(BRANCHES));
        self.scope.outcome.min(outcomes.saturating_sub(1))
    }

    fn range(
        &mut self,
        over: &Pipeline,
        body: &[Node],
        otherwise: Option<&[Node]>,
        dot: &Dot,
    ) -> Result<Flow, Stop> {
        let before = self.variables.len();
        let value = self.commands(over, dot)?;
        let mut items: Vec<(Value, Value)> = Vec::new();
        match &value {
            Value::List(list) => {
                let numbered = list.iter().enumerate();
                items.extend(numbered.map(|(n, item)| (print::int(n as i64), item.clone())));
            }
            Value::Map(map) => {
                items.extend(map.iter().map(|(key, item)| (Value::made(key), item.clone())));
                items.sort_by_cached_key(|(key, _)| print::text(key).map(|k| k.text().into_owned()));
            }
            Value::Scalar(scalar) if print::is_unknown(&value) => {
                self.note(About::Condition(self.action(over)));
                if self.choose(2) == 0 {
                    items.push((Value::Scalar(scalar.clone()), Value::Scalar(scalar.clone())));
                }
            }
            Value::Scalar(scalar) => match typed(scalar) {
                Typed::Int(n) if n >= 0 => {
                    let last = n.min(STEPS as i64 + 1);
                    items.extend((0..last).map(|n| (print::int(n), print::int(n))));
                }
                Typed::Null => {}
                _ => return Err(Stop::Refused(format!("range can't iterate over {}", scalar.text()))),
            },
        }
        if items.is_empty() {
            return otherwise.map_or(Ok(Flow::Next), |nodes| self.nodes(nodes, dot));
        }
        for (key, item) in items {
            self.step()?;
            match over.sets.as_slice() {
                [one] => self.variables.push((one.clone(), item.clone())),
                [first, second] => {
                    self.variables.push((first.clone(), key));
                    self.variables.push((second.clone(), item.clone()));
                }
                _ => {}
            }
            let flow = self.nodes(body, &Dot::inner(item))?;
            self.variables.truncate(before);
            if matches!(flow, Flow::Leave(Leave::Break)) {
                break;
            }
        }
        Ok(Flow::Next)
    }

    fn pipeline(&mut self, pipeline: &Pipeline, dot: &Dot) -> Result<Value, Stop> {
        let value = self.commands(pipeline, dot)?;
        for name in &pipeline.sets {
            let there = self.variables.iter_mut().rev().find(|(n, _)| n == name);
            match there {
                Some((_, old)) if !pipeline.declares => *old = value.clone(),
                _ => self.variables.push((name.clone(), value.clone())),
            }
        }
        Ok(value)
    }

    fn commands(&mut self, pipeline: &Pipeline, dot: &Dot) -> Result<Value, Stop> {
        let mut value: Option<Value> = None;
        for command in &pipeline.commands {
            self.step()?;
            value = Some(self.command(command, value, pipeline, dot)?);
        }
        Ok(value.unwrap_or_else(print::null))
    }

    fn command(
        &mut self,
        command: &[Operand],
        piped: Option<Value>,
        pipeline: &Pipeline,
        dot: &Dot,
    ) -> Result<Value, Stop> {
        let Some((first, rest)) = command.split_first() else { return Ok(print::null()) };
        if let (Base::Function(name), true) = (&first.base, first.fields.is_empty()) {
            if matches!(&**name, "and" | "or") {
                return self.connective(name == "and", (rest, piped), pipeline, dot);
            }
            let mut arguments = Vec::with_capacity(rest.len() + 1);
            for operand in rest {
                arguments.push(self.operand(operand, pipeline, dot)?);
            }
            arguments.extend(piped);
            return self.call(name, arguments, pipeline);
        }
        if matches!(first.base, Base::Nil) {
            return Err(Stop::Refused("nil is not a command".to_owned()));
        }
        if !rest.is_empty() || piped.is_some() {
            return Err(Stop::Refused(format!(
                "can't give argument to non-function in {}",
                self.action(pipeline)
            )));
        }
        self.operand(first, pipeline, dot)
    }

    fn connective(
        &mut self,
        and: bool,
        (rest, piped): (&[Operand], Option<Value>),
        pipeline: &Pipeline,
        dot: &Dot,
    ) -> Result<Value, Stop> {
        let mut last = None;
        for operand in rest {
            let value = self.operand(operand, pipeline, dot)?;
            let ends = print::truth(&value).is_none_or(|truth| truth != and);
            last = Some(value);
            if ends {
                return Ok(last.unwrap_or_else(print::null));
            }
        }
        Ok(piped.or(last).unwrap_or_else(print::null))
    }

    fn call(&mut self, name: &str, arguments: Vec<Value>, pipeline: &Pipeline) -> Result<Value, Stop> {
        if name == "inputs" && arguments.is_empty() {
            return Ok(self.scope.inputs.cloned().unwrap_or_else(print::null));
        }
        if let ("include", [Value::Scalar(wanted), inner]) = (name, arguments.as_slice())
            && self.scope.named.is_some()
        {
            let wanted = wanted.text().into_owned();
            return Ok(Value::Scalar(self.named(&wanted, inner.clone(), pipeline)?));
        }
        if let ("tpl", [Value::Scalar(text), inner]) = (name, arguments.as_slice())
            && self.scope.named.is_some()
            && text.unknown_to().is_none()
        {
            return self.filled(text, inner).map(Value::Scalar);
        }
        if name == "default"
            && let [fallback, given] = arguments.as_slice()
            && print::is_unknown(given)
        {
            self.note(About::Condition(self.action(pipeline)));
            // In each branch of a condition around it the default is what is known.
            return Ok(if self.choose(3) < 2 { fallback.clone() } else { given.clone() });
        }
        let own = self.scope.own.and_then(|own| own.call(name, &arguments));
        match own.map_or_else(|| functions::call(name, &arguments), Called::Is) {
            Called::Is(value) => {
                let long = matches!(&value, Value::Scalar(s) if s.parts().iter().map(|p| p.text().len()).sum::<usize>() > BYTES);
                if long { Err(Stop::Bound(Bound::Bytes(BYTES))) } else { Ok(value) }
            }
            Called::Unknown => {
                let who = arguments.iter().find_map(print::who).unwrap_or_default();
                Ok(Value::Scalar(self.unknown_of(who, &arguments)))
            }
            Called::Refused(why) => Err(Stop::Refused(format!("{}: {why}", self.action(pipeline)))),
            Called::Unfollowed => {
                let text = self.action(pipeline);
                Ok(Value::Scalar(self.unfollowed(text, &arguments)))
            }
        }
    }

    fn operand(&mut self, operand: &Operand, pipeline: &Pipeline, dot: &Dot) -> Result<Value, Stop> {
        let mut outermost = false;
        let base = match &operand.base {
            Base::Dot => {
                outermost = dot.outermost;
                dot.value.clone()
            }
            Base::Nil => print::null(),
            Base::Bool(is) => print::boolean(*is),
            Base::Number(text) => Value::Scalar(Scalar::made(text).as_plain()),
            Base::Text { text, place } => Value::Scalar(match place {
                Some(place) => self.text.cut(place.clone()).as_string(),
                None => Scalar::made(text),
            }),
            Base::Variable(name) => {
                outermost = name.is_empty();
                let found = self.variables.iter().rev().find(|(n, _)| n == name);
                found
                    .map(|(_, value)| value.clone())
                    .ok_or_else(|| Stop::Refused(format!("undefined variable \"${name}\"")))?
            }
            Base::Function(name) => {
                outermost = name == "inputs";
                self.call(name, Vec::new(), pipeline)?
            }
            Base::Paren(inner) => self.pipeline(inner, dot)?,
        };
        let mut value = base;
        // In brackets nothing may be asked for something, and is nothing again.
        let mut may_be_nothing = matches!(operand.base, Base::Paren(_));
        for field in &operand.fields {
            value = match print::is_null(&value) && !may_be_nothing && !self.scope.strict {
                true => self.lacking(field),
                false => self.field(&value, field, outermost)?,
            };
            (outermost, may_be_nothing) = (false, false);
        }
        Ok(value)
    }

    /// What is asked of something that is not there: Helm and Argo CD refuse a template that does.
    fn lacking(&mut self, field: &str) -> Value {
        let why = format!("nil pointer evaluating interface {{}}.{field}");
        self.note(About::Fails { what: field.to_owned(), why });
        Value::Scalar(self.unknown_of("values that are not in this repository", &[]))
    }

    fn field(&mut self, value: &Value, field: &str, outermost: bool) -> Result<Value, Stop> {
        self.step()?;
        match value {
            Value::Map(map) => match (map.get(field), self.scope.open) {
                (Some(value), _) => Ok(value.clone()),
                (None, Some(open)) if outermost => {
                    Ok(Value::Scalar(Scalar::of([Part::Unknown(open.clone())], false)))
                }
                (None, _) if let Some(own) = self.scope.own => {
                    Ok(Value::Scalar(Scalar::unknown(own.who_knows_more())))
                }
                (None, _) if self.scope.strict => {
                    Err(Stop::Missing(format!("map has no entry for key \"{field}\"")))
                }
                (None, _) => Ok(print::null()),
            },
            Value::Scalar(scalar) if print::is_unknown(value) => Ok(Value::Scalar(scalar.clone())),
            value if print::is_null(value) && !self.scope.strict => Ok(print::null()),
            _ => Err(Stop::Missing(format!("can't evaluate field {field}"))),
        }
    }
}
