//! Step 5, pins: by what a pin is found again in another version of its file.

use super::{Form, Pin, PinKind};
use crate::{repo::RepoPath, yaml::Route};

/// What a pin keeps when it moves: its file, its kind, and where in the file it stands.
pub type PinKey<'p> = (&'p RepoPath, PinKind, Within<'p>);

/// Where in its file a pin stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Within<'p> {
    /// At a node; an entry that comes moves the lines below it.
    At(&'p Route),
    /// On a line of a file that is not YAML.
    Line(usize),
    /// With its chart: the lines of a manifest that is rendered again are new.
    Chart(Option<&'p str>),
}

impl Pin {
    /// Returns what it keeps when it moves.
    pub fn key(&self) -> PinKey<'_> {
        let within = match (self.form, &self.site.route) {
            (Form::Rendered, _) => Within::Chart(self.chart.as_deref()),
            (_, Some(route)) => Within::At(route),
            (_, None) => Within::Line(self.site.line),
        };
        (&self.path, self.kind, within)
    }
}
