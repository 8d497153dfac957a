//! The way from a stream to one of its nodes, which survives edits elsewhere in the text.

use super::{Node, RawKind};

/// A node's address: document, then keys and positions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Route {
    /// The document's number in the stream, from 0.
    pub document: usize,
    /// The steps from the root.
    pub steps: Vec<Step>,
}

/// One step of a route.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Into a mapping's value; of a duplicated key the last.
    Key(String),
    /// Into a sequence, from 0.
    Index(usize),
    /// Into the text of a scalar that is YAML or JSON itself; the rest of the route holds there.
    Text(Box<Route>),
}

// === impl Route ===

impl Route {
    /// Parts a route to an entry of a mapping into the route to the mapping, and the key; `None` for any other.
    pub fn split(&self) -> Option<(Self, &str)> {
        let (last, before) = self.steps.split_last()?;
        let mut mapping = Self { document: self.document, steps: before.to_vec() };
        match last {
            Step::Key(key) => Some((mapping, key)),
            Step::Index(_) => None,
            Step::Text(inner) => {
                let (inner, key) = inner.split()?;
                mapping.steps.push(Step::Text(Box::new(inner)));
                Some((mapping, key))
            }
        }
    }

    /// Returns the keys and positions joined for people: `spec.chart.spec.version`, `images[0].newTag`.
    pub fn display(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            match step {
                Step::Key(key) if out.is_empty() => out.push_str(key),
                Step::Key(key) => out.extend([".", key]),
                Step::Index(index) => out.push_str(&format!("[{index}]")),
                Step::Text(inner) => out.extend([" | ", &inner.display()]),
            }
        }
        out
    }
}

// === impl Node ===

impl Node<'_> {
    /// Returns the way from the document's root to this node.
    pub fn route(self) -> Route {
        let mut steps = Vec::new();
        let mut child = self;
        while let Some(parent) = child.parent() {
            let step = match &parent.raw().kind {
                RawKind::Sequence { .. } => Some(Step::Index(child.place())),
                RawKind::Mapping { entries, .. } => entries
                    .get(child.place())
                    .and_then(|(key, _)| Some(Step::Key(parent.at(*key).as_str()?.to_owned()))),
                RawKind::Scalar { .. } | RawKind::Alias(_) => None,
            };
            steps.extend(step);
            child = parent;
        }
        steps.reverse();
        Route { document: self.document.index, steps }
    }
}
