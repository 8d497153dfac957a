//! Step 5, pins: a place where something that is deployed was written.
//!
//! In: a scalar that something deployed reads, with what reads it. Out: the bytes, and how much a reader of them counts beside
//! others.

use std::{cmp::Ordering, collections::BTreeSet, ops::Range, sync::Arc};

use super::{
    foreign::{Named, readings},
    traced::{Traced, traced},
};
use crate::{
    deploy::{
        Origin, Part, Scalar,
        value::{Reading, Via},
    },
    linkerd::{self, EdgeVersion},
    pins::{
        Form, Frame, Home, PinKind, Reason,
        found::{Spec, opaque},
        release_names::{Token, tokens},
        under::Under,
        version_text::{Expects, Judged, VersionText, YEARS, has_code, judge},
    },
    repo::RepoPath,
};

/// A release, by the file of its object and its name.
pub(super) type Release = (RepoPath, String);

/// A place that something deployed reads as a version.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    /// The file.
    pub path: RepoPath,
    /// The bytes.
    pub span: Range<usize>,
    /// What reads them.
    pub spec: Spec,
    /// What they say; its span counts from theirs.
    pub text: VersionText,
    /// What its reader puts around them.
    pub frame: Option<Frame>,
    /// How it is read, where that is otherwise than it is written.
    pub read_as: Option<Form>,
    /// The pods that it goes to, of all that read it.
    pub homes: Vec<Arc<Home>>,
    /// Where others name it, and so read it.
    pub read: BTreeSet<Reading>,
    /// Of these places the first that a comment holds.
    pub held_at: Option<Reading>,
    /// Where something that is not Linkerd's reads it.
    pub foreign: Option<Named>,
    /// Whether an object says so as its file has it, rather than as it is deployed.
    pub written: bool,
    /// Whether a file of values says so by itself, whoever reads it.
    pub of_file: bool,
    /// Whether a patch says so that means no object.
    pub unmatched: bool,
    /// The release that it is of, where a variable of that is left open.
    pub open: Option<Release>,
    /// Whether nothing deploys it as things stand.
    pub is_off: bool,
}

// === impl Claim ===

impl Claim {
    pub fn new(at: &Origin, spec: Spec, text: VersionText) -> Self {
        let path = at.source.path.clone();
        let homes = Vec::from_iter(spec.home.clone());
        let (span, read) = (at.span.clone(), readings(at).cloned().collect());
        let is_off = spec.on_demand;
        Self {
            path,
            span,
            spec,
            text,
            frame: None,
            read_as: None,
            homes,
            read,
            held_at: None,
            foreign: None,
            written: false,
            of_file: false,
            unmatched: false,
            open: None,
            is_off,
        }
    }

    /// Orders by place. Of several that are alike in it, what counts more comes first; then what must not move, since what
    /// guards the place must not either; then what may move, and of these what the control plane reads, since proxies wait
    /// for it.
    pub fn order(&self, other: &Self) -> Ordering {
        let key = |claim: &Self| {
            let stays = claim.stays();
            let other = !claim.spec.chart.as_deref().is_some_and(linkerd::is_control_plane);
            let first = (!stays.is_some_and(Reason::forbids), stays.is_some());
            (claim.span.start, claim.rank(), claim.span.end, claim.spec.kind, first, claim.spec.stage, other)
        };
        let own = |claim: &Self| (claim.text.form, claim.stays(), !claim.spec.restarts);
        // Whose it is counts more where another one does not know it.
        let is_nobodys = |claim: &Self| claim.spec.chart.is_none();
        let charts = || {
            let names = (&self.spec.chart, &self.spec.mirror).cmp(&(&other.spec.chart, &other.spec.mirror));
            is_nobodys(self).cmp(&is_nobodys(other)).then(names)
        };
        let place = self.path.cmp(&other.path).then_with(|| key(self).cmp(&key(other)));
        place.then_with(charts).then_with(|| own(self).cmp(&own(other)))
    }

    /// What is deployed comes before what is known to mean nothing, that before what a file says, that before what was not
    /// followed, and that before what nobody reads; and what puts a tag to an image before the container that runs it.
    fn rank(&self) -> (bool, bool, bool, bool, bool) {
        let has_ended = self.spec.ended.is_some();
        let is_unread = (has_ended || self.stays() == Some(Reason::NoEffect)) && !self.unmatched;
        let is_lost = self.spec.stays == Some(Reason::NotFollowed);
        (is_unread, is_lost, self.written, self.unmatched, self.spec.kind == PinKind::Image)
    }

    /// Tells whether one that comes before this one says all that is to be said.
    pub fn is_said(&self, before: &Self) -> bool {
        let reader = |claim: &Self| (claim.spec.kind, claim.spec.stage, claim.text.form, claim.stays());
        let charts = self.spec.chart == before.spec.chart && self.spec.mirror == before.spec.mirror;
        let same = self.span == before.span && reader(self) == reader(before) && charts;
        let is_known = self.rank() > before.rank() && self.span.start == before.span.start;
        // What a chart reads whose version is known is its value, whatever else is deployed from there.
        let is_value = self.spec.under.iter().any(|under| matches!(under, Under::Written(_)));
        let is_more = is_value && before.spec.chart.is_none();
        (same || is_known && !is_more) && self.path == before.path
    }

    /// Takes over what another one knows that is said by this one.
    pub fn join(&mut self, other: &mut Self) {
        self.spec.run_by = self.spec.run_by.max(other.spec.run_by);
        self.of_file &= other.of_file;
        self.is_off &= other.is_off;
        self.open = self.open.take().filter(|_| other.open.is_some());
        // What others are laid over wherever it is known to be deployed may yet be read by what a file says.
        let is_covered = !self.spec.under.is_empty()
            && self.spec.under.iter().all(|under| matches!(under, Under::Covered(_)));
        if is_covered && !other.of_file && !other.is_off && self.rank() < other.rank() {
            let read = std::mem::take(&mut other.spec.under).into_iter();
            self.spec.under.extend(read.filter(|under| matches!(under, Under::Written(_))));
        }
        if self.rank() == other.rank() && self.span == other.span {
            self.spec.chooses_controllers |= other.spec.chooses_controllers;
            let known = std::mem::take(&mut other.homes);
            self.homes
                .extend(known.into_iter().filter(|home| !self.homes.contains(home)).collect::<Vec<_>>());
            self.read.append(&mut other.read);
            let under = std::mem::take(&mut other.spec.under).into_iter();
            self.spec.under.extend(under.filter(|at| !self.spec.under.contains(at)).collect::<Vec<_>>());
        }
    }

    /// Tells whether code stands there: that is no scalar of its file.
    pub fn is_code(&self) -> bool {
        self.text.stays == Some(Reason::NotFollowed)
    }

    /// Tells whether code stands there that a file has, or a release as somebody applies it elsewhere, and nobody leaves: it is
    /// filled, or something else is laid over it.
    pub fn is_filled(&self) -> bool {
        let may_be_filled = self.written || self.open.is_some();
        self.is_code() && self.text.form == Form::Opaque && may_be_filled && self.is_off
    }

    fn stays(&self) -> Option<Reason> {
        self.spec.stays.or(self.text.stays)
    }
}

/// Says where the version stands that a scalar is. Of a variable of Flux's that nobody fills here, its default counts.
pub(super) fn claims(scalar: &Scalar, spec: &Spec) -> Vec<Claim> {
    let text = scalar.text();
    match judge(&text, spec.expects) {
        _ if scalar.unknown_to().is_some() => {
            let (code, handed): (Vec<&Origin>, Vec<&Origin>) =
                scalar.handed().partition(|at| at.via == Some(Via::Code));
            let told = |at: &Origin| match at.via {
                Some(Via::FromRange) => from_range(at, spec),
                _ => not_followed(at, spec),
            };
            let found: Vec<Claim> = handed.into_iter().flat_map(told).collect();
            // A release that is handed over says more than the code that asks for what comes of it.
            match found.is_empty() {
                true => code.into_iter().flat_map(|at| coded(at, spec)).collect(),
                false => found,
            }
        }
        Judged::Nothing => match scalar.parts() {
            [Part::Written(at)] if is_unfilled(&text, spec.kind) => coded(at, spec),
            _ => Vec::new(),
        },
        Judged::Version(judged) => claim(scalar, spec, judged).into_iter().collect(),
        Judged::Reads(reads) => {
            let defaults = reads.into_iter().filter_map(|read| read.default);
            let parts = defaults.map(|default| scalar.cut(default));
            let found = parts.filter_map(|part| match judge(&part.text(), spec.expects) {
                Judged::Version(judged) => {
                    let mut claim = claim(&part, spec, judged)?;
                    claim.spec.kind = PinKind::Variable;
                    Some(claim)
                }
                _ => None,
            });
            let found: Vec<Claim> = found.collect();
            // Argo CD fills none: a plugin of it does, or whoever writes the Application.
            let is_left = matches!(spec.kind, PinKind::ArgoApplication | PinKind::ArgoApplicationset);
            match scalar.parts() {
                [Part::Written(at)] if found.is_empty() && is_left => coded(at, spec),
                _ => found,
            }
        }
    }
}

/// Says which releases stand in a text that is handed to somebody, and out of which comes what is read.
pub(super) fn not_followed(at: &Origin, spec: &Spec) -> Vec<Claim> {
    // Whose version it is stays known.
    let chart = spec.chart.clone().filter(|_| spec.expects == Expects::Chart);
    let stays = Some(Reason::NotFollowed);
    let spec =
        Spec { kind: PinKind::Other, stays, chart, mirror: None, chooses_controllers: false, ..spec.clone() };
    let text = at.text();
    let mut found = tokens(text);
    // A release may be handed on as its numbers alone, or with a letter that is cut off.
    let numbers = text.strip_prefix('v').unwrap_or(text);
    let bare = || EdgeVersion::from_chart(&format!("20{numbers}")).filter(|bare| bare.triple().0 < YEARS);
    let version = EdgeVersion::from_chart(numbers).or_else(bare);
    let span = text.len() - numbers.len()..text.len();
    let numbers =
        version.filter(|_| found.is_empty()).map(|version| Token { span, form: Form::Opaque, version });
    found.extend(numbers);
    let claim = |Token { span, form, version }: Token| {
        let start = at.span.start;
        let at = Origin { span: start + span.start..start + span.end, ..at.clone() };
        let text = VersionText { span: 0..span.len(), form, version: Some(version), stays: None };
        Claim::new(&at, spec.clone(), text)
    };
    found.into_iter().map(claim).collect()
}

/// Says of a range out of which somebody takes what is read that it takes releases by itself; of one release it is not known
/// that whoever is told another one takes that.
fn from_range(at: &Origin, spec: &Spec) -> Vec<Claim> {
    match judge(at.text(), spec.expects) {
        Judged::Version(text) if text.stays == Some(Reason::Range) => {
            vec![Claim::new(at, Spec { kind: PinKind::Variable, ..spec.clone() }, text)]
        }
        _ => not_followed(at, spec),
    }
}

/// Tells whether a text has code in it that its deployer does not fill.
fn is_unfilled(text: &str, kind: PinKind) -> bool {
    let is_filled = matches!(kind, PinKind::ArgoApplicationset | PinKind::ArgoGenerator | PinKind::Helmfile);
    has_code(text) && !is_filled && !is_literal(text)
}

/// Tells whether a text is a literal in braces: it depends on nobody, and to a deployer that fills none it is no version.
fn is_literal(text: &str) -> bool {
    let inner = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}")).map(str::trim);
    let literal = inner.and_then(|text| text.strip_prefix('"')?.strip_suffix('"'));
    literal.is_some_and(|literal| !literal.contains('"'))
}

/// Says which releases stand in code; where none does in that of a chart's version, that it is one: what comes of it is not
/// known, and the chart does not go with the others.
fn coded(at: &Origin, spec: &Spec) -> Vec<Claim> {
    let mut found = not_followed(at, spec);
    if found.is_empty() && spec.expects == Expects::Chart && spec.chart.is_some() {
        let text = opaque(at.span.len(), Reason::NotFollowed);
        found.push(Claim::new(at, spec.clone().staying(text.stays), text));
    }
    found.iter_mut().for_each(|claim| claim.text.stays = Some(Reason::NotFollowed));
    found
}

fn claim(scalar: &Scalar, spec: &Spec, judged: VersionText) -> Option<Claim> {
    let form = spec.reads(judged.form);
    let Traced { at, kind, text, frame, stays } = traced(scalar, spec.kind, judged)?;
    let read_as = (text.form != form).then_some(form);
    // What would stay anyway need not be edited.
    let spec = Spec { kind, stays: spec.stays.or(stays), ..spec.clone() };
    Some(Claim { frame, read_as, ..Claim::new(&at, spec, text) })
}
