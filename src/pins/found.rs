//! Step 5, pins: where shapes put what they find, and what is said of every pin whatever its shape.
//!
//! In: scalars with a [`Spec`]. Out: [`Pin`]s with their reasons, variables that were read, facts. A shape decides
//! what a scalar means; this file decides whether its bytes may be touched.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    Deployment, Form, Home, Pin, PinKind, Reason, RenderedFile, Site, Stage, TagFilter,
    ended::Ended,
    place::Place,
    under::{Given, Under},
    version_text::{Expects, Judged, VersionText, judge},
};
use crate::{linkerd::EdgeVersion, repo::RepoPath, yaml::Node};

/// What a shape says of a scalar.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    /// The shape.
    pub kind: PinKind,
    /// When it moves.
    pub stage: Stage,
    /// The scheme that its reader expects.
    pub expects: Expects,
    /// The chart that it fixes.
    pub chart: Option<String>,
    /// The mirror that the chart comes from.
    pub mirror: Option<String>,
    /// Whether it is in a pod template that asks for restarts.
    pub restarts: bool,
    /// The pods that it goes to.
    pub home: Option<Arc<Home>>,
    /// Why the shape keeps it where it is.
    pub stays: Option<Reason>,
    /// The first release whose chart no longer reads it.
    pub ended: Option<EdgeVersion>,
    /// Where the version of the chart stands whose value it is.
    pub under: Vec<Under>,
    /// Whether it runs only beside the pods that ask for it.
    pub on_demand: bool,
    /// Whether the control plane's own workloads run the image that it chooses.
    pub chooses_controllers: bool,
    /// What runs the image whose tag it is.
    pub run_by: RunBy,
    /// The pattern that a tag has to match besides.
    pub filter: Option<TagFilter>,
}

/// What runs an image, as far as it is known: the later counts more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RunBy {
    /// Nobody knows.
    #[default]
    Unknown,
    /// Workloads that `linkerd inject --manual` gave it to, and nothing else.
    Injected,
    /// Linkerd itself, or something else.
    Other,
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Pins, in no order, possibly twice.
    pub pins: Vec<Pin>,
    /// Linkerd's charts as they are deployed.
    pub deployments: Vec<Deployment>,
    /// Files that a chart made.
    pub rendered: Vec<RenderedFile>,
    /// Aliases that were understood as pins, by file and byte.
    pub aliases_read: HashSet<(RepoPath, usize)>,
    /// For a pin whose anchor has aliases at places that fix a version, by file and byte: the bytes and lines of those.
    shared: HashMap<(RepoPath, usize), Vec<(usize, usize)>>,
    /// Where the versions of the charts stand that values are given to.
    pub given: Given,
}

/// Keys whose value fixes some version, so that an alias there must be understood before its anchor moves.
pub(super) const FIXING: [&str; 6] = ["version", "tag", "newTag", "targetRevision", "image", "digest"];

// === impl Spec ===

impl Spec {
    /// A platform pin.
    pub fn platform(kind: PinKind, expects: Expects) -> Self {
        Self {
            kind,
            stage: Stage::Platform,
            expects,
            chart: None,
            mirror: None,
            restarts: false,
            home: None,
            stays: None,
            ended: None,
            under: Vec::new(),
            on_demand: false,
            chooses_controllers: false,
            run_by: RunBy::Unknown,
            filter: None,
        }
    }

    /// Says which pods it goes to.
    pub fn at_home(mut self, home: Option<Home>) -> Self {
        self.home = home.map(Arc::new);
        self
    }

    /// Says which chart it fixes.
    pub fn of_chart(mut self, chart: &str) -> Self {
        self.chart = Some(chart.to_owned());
        self
    }

    /// Returns how it reads what is written: a tag that names no release of this channel is an image's all the same.
    pub fn reads(&self, written: Form) -> Form {
        match (written, self.expects) {
            (Form::Opaque, Expects::Edge) => Form::Edge,
            _ => written,
        }
    }

    /// Says with which version of its chart it goes.
    pub fn under(self, version: &[Under]) -> Self {
        Self { under: version.to_vec(), ..self }
    }

    /// A tag that goes to injected workloads alone is as one that stands in them, unless it moves with a chart.
    pub fn follow_workloads(&mut self) {
        if self.run_by == RunBy::Injected && self.under.is_empty() {
            self.stage = Stage::DataPlane;
            self.stays.get_or_insert(Reason::ManualInjection);
        }
    }

    /// Keeps it where it is.
    pub fn staying(mut self, stays: Option<Reason>) -> Self {
        self.stays = self.stays.or(stays);
        self
    }
}

// === impl Found ===

impl Found {
    /// Takes a scalar whose whole value is a version.
    pub fn scalar(&mut self, place: Place<'_>, node: Node<'_>, spec: &Spec) {
        let Some(value) = node.as_str() else { return };
        for twin in twins(node) {
            match judge(twin.as_str().unwrap_or(value), spec.expects) {
                Judged::Nothing | Judged::Reads(_) => {}
                Judged::Version(text) => self.version(place, twin, spec, text),
            }
        }
    }

    /// Takes a scalar that is a pin whatever it says.
    pub fn version(&mut self, place: Place<'_>, node: Node<'_>, spec: &Spec, text: VersionText) {
        if place.is_covered(node) {
            return;
        }
        if node.is_alias() {
            self.aliases_read.insert((place.file.path.clone(), place.start_in_file(node)));
        }
        let located = place.locate(node, text.span.clone());
        let kept_by = place.held_alias(node).map(|line| (place.file.path.clone(), line));
        let word = place.word(node);
        // A comment holds nothing where nothing is read.
        let is_held = kept_by.is_some() || word == Some(Reason::Held) && spec.stays != Some(Reason::NoEffect);
        let stays =
            stays(place, node, (word, spec), &text).or((!located.editable).then_some(Reason::Uneditable));
        let value = match spec.kind {
            // Of what stays people look for the image.
            PinKind::Image if spec.stays.is_some() => node.as_str(),
            _ => node.as_str().and_then(|v| v.get(text.span.clone())),
        };
        self.note_aliases(place, node, &located.site);
        let mut pin = Pin {
            path: place.file.path.clone(),
            blob: place.file.blob,
            site: located.site,
            kind: spec.kind,
            chart: spec.chart.clone(),
            mirror: spec.mirror.clone(),
            value: value.unwrap_or_default().to_owned(),
            form: text.form,
            read_as: Some(spec.reads(text.form)).filter(|form| *form != text.form),
            frame: None,
            version: text.version,
            stage: spec.stage,
            restarts: spec.restarts,
            is_off: false,
            asks_no_stop: false,
            chooses_controllers: spec.chooses_controllers,
            filter: None,
            stays,
            unheld: None,
            ended: spec.ended.map(Ended::since),
            kept_by: None,
            read_at: Vec::new(),
            given_to: Vec::new(),
            also: Vec::new(),
            installations: Default::default(),
            homes: Vec::new(),
        };
        if is_held {
            pin.hold(kept_by);
        }
        self.pins.push(pin);
    }

    /// Adds everything that another has found.
    pub fn append(&mut self, other: Self) {
        self.pins.extend(other.pins);
        self.deployments.extend(other.deployments);
        self.rendered.extend(other.rendered);
        self.aliases_read.extend(other.aliases_read);
        self.shared.extend(other.shared);
        self.given.append(other.given);
    }

    /// Returns the pins of a file.
    pub fn of_file<'f>(&'f self, path: &'f RepoPath) -> impl Iterator<Item = &'f Pin> {
        self.pins.iter().filter(move |pin| pin.path == *path)
    }

    /// Returns the pins, each site once, ordered by path and position; and what values are given to.
    pub fn into_pins(mut self) -> (Vec<Pin>, Vec<Deployment>, Given) {
        if !self.shared.is_empty() {
            for pin in &mut self.pins {
                let aliases = self.shared.get(&(pin.path.clone(), pin.site.span.start));
                let is_unread =
                    |alias: &&(usize, usize)| !self.aliases_read.contains(&(pin.path.clone(), alias.0));
                let unread = aliases.into_iter().flatten().find(is_unread);
                if let Some((_, line)) = unread.filter(|_| pin.stays.is_none()) {
                    (pin.stays, pin.kept_by) = (Some(Reason::Shared), Some((pin.path.clone(), *line)));
                }
            }
        }
        let site = |pin: &Pin| (pin.site.span.start, rank(pin));
        // Stable: of two pins that are alike the first stays.
        self.pins.sort_by(|a, b| a.path.cmp(&b.path).then_with(|| site(a).cmp(&site(b))));
        self.pins.dedup_by(|b, a| {
            let same = a.path == b.path && a.site.span.start == b.site.span.start;
            let is_one = same || a.holds(b);
            if is_one {
                a.join(b);
            }
            is_one
        });
        self.pins.shrink_to_fit();
        self.deployments.sort_unstable();
        self.deployments.dedup();
        (self.pins, self.deployments, self.given)
    }

    fn note_aliases(&mut self, place: Place<'_>, node: Node<'_>, site: &Site) {
        let anchored = node.resolved();
        let mut fixing: Vec<usize> = anchored
            .document()
            .aliases_of(anchored)
            .filter(|alias| alias.key().and_then(Node::as_str).is_some_and(|key| FIXING.contains(&key)))
            .map(|alias| place.start_in_file(alias))
            .collect();
        fixing.sort_unstable();
        if !fixing.is_empty() {
            let fixing = with_lines(&place.file.text, &fixing);
            self.shared.insert((place.file.path.clone(), site.span.start), fixing);
        }
    }
}

/// Says why a scalar stays, whatever a comment holds.
fn stays(
    place: Place<'_>,
    node: Node<'_>,
    (word, spec): (Option<Reason>, &Spec),
    text: &VersionText,
) -> Option<Reason> {
    let sealed = place.file.sealed.then_some(Reason::Encrypted);
    let twice = place.ambiguity(node.resolved());
    let word = word.filter(|reason| *reason != Reason::Held);
    sealed.or(twice).or(word).or(spec.stays).or(text.stays)
}

/// Adds to each of some bytes of a text, in their order, the number of its line.
fn with_lines(text: &str, bytes: &[usize]) -> Vec<(usize, usize)> {
    let (mut last, mut line) = (0, 1);
    let each = bytes.iter().map(|byte| {
        let between = text.as_bytes().get(last..*byte).unwrap_or_default();
        line += memchr::memchr_iter(b'\n', between).count();
        last = *byte;
        (*byte, line)
    });
    each.collect()
}

/// Tells whether the token may not write this file.
pub(super) fn is_workflow(path: &RepoPath) -> bool {
    path.as_str().starts_with(".github/workflows/")
}

/// What reads the text comes before what does not, the platform before proxies, and what may move before what stays; then
/// the kinds come in the contract's order.
fn rank(pin: &Pin) -> (bool, bool, Stage, bool, PinKind) {
    let idle = pin.ended.is_some() || pin.stays.is_some_and(Reason::reads_nothing);
    (pin.kind == PinKind::Other, idle, pin.stage, pin.stays.is_some(), pin.kind)
}

/// Returns the node with every other value of the same key in the same mapping.
fn twins<'a>(node: Node<'a>) -> Vec<Node<'a>> {
    let key = node.key().and_then(Node::as_str).filter(|_| node.is_written_twice());
    let Some((parent, key)) = node.parent().zip(key) else { return vec![node] };
    let same = parent.entries().filter(|(k, v)| k.as_str() == Some(key) && v.as_str().is_some());
    same.map(|(_, v)| v).collect()
}

/// Returns a version's form as a fresh opaque text, for scalars that are pins but name no release.
pub(super) fn opaque(length: usize, stays: Reason) -> VersionText {
    VersionText { span: 0..length, form: Form::Opaque, version: None, stays: Some(stays) }
}
