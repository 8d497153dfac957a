//! Step 5, pins: values that stay with the chart that they are given to.
//!
//! In: pins, and where the versions of the charts stand that values are given to. Out: the values of a chart that stays stay
//! with it: their images would run ahead of it.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use super::{Form, Line, Pin, PinKind, Reader, Reason, Stage, nearest::Versions};
use crate::{deploy::Scalar, repo::RepoPath};

/// Bytes of a file.
pub(super) type Span = (RepoPath, Range<usize>);

/// Where the version of a chart stands that a value is given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Under {
    /// In a file of the tree.
    Written(Span),
    /// The same, of a chart for which another value is laid over this one: it counts where no chart reads it.
    Covered(Span),
    /// In a file that a chart has printed: in its mark.
    Printed {
        /// The file.
        path: RepoPath,
        /// The chart, where it is known which of those in the file it is.
        chart: Option<&'static str>,
    },
    /// In part or wholly outside of it.
    Elsewhere,
    /// The same, as far as nobody in the tree applies it.
    Supposed,
    /// Wherever the chart is named that gets a file which nobody in the tree is known to read.
    Unnamed,
}

/// Says where the version of a chart stands, for its values.
pub(super) fn under(version: Option<&Scalar>, is_supposed: bool) -> Vec<Under> {
    let Some(version) = version else { return Vec::new() };
    match version.unknown_to() {
        Some(_) if is_supposed => vec![Under::Supposed],
        Some(_) => vec![Under::Elsewhere],
        None => spans(version).into_iter().map(Under::Written).collect(),
    }
}

/// Lists where a text was written.
pub(super) fn spans(text: &Scalar) -> Vec<Span> {
    text.origins().map(|at| (at.source.path.clone(), at.span.clone())).collect()
}

/// Why a value stays, and the line at which that is told.
type Stays = (Reason, Option<Line>);

/// For values, by file and byte: where the versions of the charts stand that they are given to.
#[derive(Debug, Default)]
pub(super) struct Given(HashMap<(RepoPath, usize), Vec<Under>>);

/// The versions of charts, by chart and by line: of each there may be thousands, and as many values look for theirs.
#[derive(Default)]
pub struct ChartVersions<'p> {
    by_chart: HashMap<&'p str, Vec<&'p Pin>>,
    by_line: HashMap<(&'p RepoPath, usize), Vec<&'p Pin>>,
}

// === impl Given ===

impl Given {
    /// Notes what a value is given to.
    pub fn note(&mut self, place: (RepoPath, usize), under: impl IntoIterator<Item = Under>) {
        self.0.entry(place).or_default().extend(under);
    }

    /// Takes over what another one says.
    pub fn append(&mut self, other: Self) {
        other.0.into_iter().for_each(|(place, under)| self.note(place, under));
    }

    /// Keeps values with a chart that stays, or of which the tree does not say when it moves, and tells each whose it is.
    pub fn hold(&self, pins: &mut [Pin]) {
        let known: Vec<Vec<Line>> =
            pins.iter().map(|pin| self.versions(pin, pins).unwrap_or_default()).collect();
        let versions = Versions::of(pins);
        // What has a reason of its own to stay may be read by no chart all the same, and chooses nothing then.
        let own = |pin: &Pin| pin.stays.is_none().then(|| self.stays(pin, pins, &versions)).flatten();
        let renders =
            |pin: &Pin| pin.stays.is_none() && self.is_of_nobody(pin) && versions.is_of_rendering(pin);
        let found: Vec<(bool, bool, Option<Stays>)> =
            pins.iter().map(|pin| (self.is_unread(pin), renders(pin), own(pin))).collect();
        for (pin, (is_unread, renders, stays)) in pins.iter_mut().zip(found) {
            pin.is_off |= is_unread;
            pin.chooses_controllers &= !renders;
            if let Some((reason, line)) = stays {
                (pin.stays, pin.kept_by) = (Some(reason), line);
            }
        }
        for (pin, lines) in pins.iter_mut().zip(known) {
            pin.given_to = lines;
        }
    }

    /// Lists the versions of the charts that a value is given to; `None` where one of them is not known, or takes releases by
    /// itself: a lock says then which one it is.
    fn versions(&self, value: &Pin, pins: &[Pin]) -> Option<Vec<Line>> {
        let all = self.0.get(&(value.path.clone(), value.site.span.start))?;
        let fixed = |at: &Under| {
            let chart = at.chart(pins).filter(|chart| chart.stays != Some(Reason::Range))?;
            Some((chart.path.clone(), chart.site.line))
        };
        // One version may be that of thousands of charts: of all that a generator makes.
        let lines: BTreeSet<Line> = all.iter().map(fixed).collect::<Option<_>>()?;
        Some(lines.into_iter().collect())
    }

    /// Tells whether nobody in the tree is known to read the file of a value.
    fn is_of_nobody(&self, value: &Pin) -> bool {
        let is_unnamed = |all: &Vec<Under>| !all.is_empty() && all.iter().all(|at| *at == Under::Unnamed);
        self.0.get(&(value.path.clone(), value.site.span.start)).is_some_and(is_unnamed)
    }

    /// Tells whether another value is laid over one for every chart that has it.
    fn is_unread(&self, value: &Pin) -> bool {
        let is_value = |reader: &Reader| reader.form == Form::Edge && reader.stage == Stage::Platform;
        self.0.get(&(value.path.clone(), value.site.span.start)).is_some_and(|all| {
            let is_unread = !all.is_empty() && all.iter().all(|at| matches!(at, Under::Covered(_)));
            is_unread && value.readers().all(|reader| is_value(&reader))
        })
    }

    fn stays(&self, value: &Pin, pins: &[Pin], versions: &Versions<'_>) -> Option<Stays> {
        let all = self.0.get(&(value.path.clone(), value.site.span.start))?;
        let held = |at: &Under| match at {
            Under::Written(_) | Under::Covered(_) => {
                let chart = at.chart(pins)?;
                Some((chart.stays?.of_values()?, Some((chart.path.clone(), chart.site.line))))
            }
            Under::Printed { .. } => {
                let printed = at.chart(pins)?;
                let reason = printed.stays?.of_values().unwrap_or(Reason::ChartStays);
                Some((reason, Some((printed.path.clone(), printed.site.line))))
            }
            Under::Unnamed => {
                let (reason, nearest) = versions.near(value)?;
                Some((reason, Some((nearest.path.clone(), nearest.site.line))))
            }
            Under::Elsewhere | Under::Supposed => Some((Reason::ChartStays, None)),
        };
        let is_weak = |at: &Under| matches!(at, Under::Supposed | Under::Covered(_));
        let is_known = !all.iter().all(is_weak);
        let under = || all.iter().filter(|at| !is_known || !is_weak(at));
        // What no chart reads is left where none of them moves.
        if self.is_unread(value) && under().any(|at| held(at).is_none()) {
            return None;
        }
        let why = under().filter_map(held).max_by_key(|(_, line)| line.is_some());
        why.or_else(|| {
            let charts: Option<Vec<&Pin>> = under().map(|at| at.of_another_channel(pins)).collect();
            charts?.first().map(|chart| (Reason::ChartStays, Some((chart.path.clone(), chart.site.line))))
        })
    }
}

// === impl ChartVersions ===

impl<'p> ChartVersions<'p> {
    /// Sorts versions.
    pub fn of(versions: impl IntoIterator<Item = &'p Pin>) -> Self {
        let mut all = Self::default();
        for version in versions {
            for chart in version.charts().collect::<BTreeSet<_>>() {
                all.by_chart.entry(chart).or_default().push(version);
            }
            all.by_line.entry((&version.path, version.site.line)).or_default().push(version);
        }
        all
    }

    /// Lists the versions of the charts that a value is given to, or a tag is laid over.
    pub fn given<'s>(&'s self, value: &'s Pin) -> impl Iterator<Item = &'p Pin> + 's {
        let lines = value.given_to.iter().filter_map(move |(path, line)| self.by_line.get(&(path, *line)));
        lines.flatten().copied()
    }

    /// Lists the versions of a chart that a value goes with: of several in one installation (a dependency under two aliases)
    /// each has values of its own. Where it is not known which one has these, it may be any.
    pub fn going_with<'s>(&'s self, value: &'s Pin, chart: &'s str) -> impl Iterator<Item = &'p Pin> + 's {
        let any = value.given_to.is_empty().then(|| self.by_chart.get(chart)).flatten();
        let own = self.given(value).filter(move |version| version.is_of(chart));
        any.into_iter().flatten().copied().chain(own)
    }
}

// === impl Under ===

impl Under {
    /// Finds the pin that the version of the chart is.
    fn chart<'p>(&self, pins: &'p [Pin]) -> Option<&'p Pin> {
        let (path, span) = match self {
            Self::Written((path, span)) | Self::Covered((path, span)) => (path, span),
            Self::Printed { path, chart } => {
                let of_file = pins.get(pins.partition_point(|pin| pin.path < *path)..)?;
                let mut marks = of_file.iter().take_while(|pin| pin.path == *path);
                let is_of = |pin: &Pin| chart.is_none_or(|chart| pin.is_of(chart));
                return marks.find(|pin| pin.kind == PinKind::RenderedManifest && is_of(pin));
            }
            Self::Elsewhere | Self::Supposed | Self::Unnamed => return None,
        };
        let order = |pin: &Pin| pin.path.cmp(path).then_with(|| pin.site.span.end.cmp(&span.start));
        let pin = pins.get(pins.partition_point(|pin| order(pin).is_le()))?;
        (pin.path == *path && pin.site.span.start < span.end).then_some(pin)
    }

    /// The same where it is a version of another channel.
    fn of_another_channel<'p>(&self, pins: &'p [Pin]) -> Option<&'p Pin> {
        let is_version = |text: &str| semver::Version::parse(text.trim_start_matches('v')).is_ok();
        self.chart(pins).filter(|chart| chart.stays == Some(Reason::Channel) && is_version(&chart.value))
    }

    /// Notes that another value is laid over the one that it is of.
    pub fn cover(&mut self) {
        if let Self::Written(at) = self {
            *self = Self::Covered(at.clone());
        }
    }
}
