//! Step 5, pins: what something deployed consists of and what is not looked at.
//!
//! In: what the model notes. Out: a skip for each file of which a part lies over a bound, and the files that something
//! deployed asks for and that cannot be read, whether they speak of Linkerd or not.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    deploy::{About, Bound, ChartRelease, Note, Scalar},
    linkerd,
    pins::{SkipReason, Skipped},
    repo::RepoPath,
};

/// Texts that are told of one file.
const TOLD: usize = 20;

/// What is not followed of a template.
#[derive(Clone, Copy)]
pub(super) enum NotFollowed<'n> {
    /// A part of one, by its text.
    Expression(&'n str),
    /// All of those in a file.
    Template(&'n RepoPath),
}

/// What is not looked at.
#[derive(Default)]
pub(in crate::pins) struct Beyond {
    bounds: BTreeMap<RepoPath, BTreeSet<Bound>>,
    /// Parts of templates that are not followed.
    expressions: BTreeMap<RepoPath, BTreeSet<String>>,
    /// Why templates are refused.
    refused: BTreeMap<RepoPath, BTreeSet<String>>,
    /// Versions of Linkerd's charts that Terraform or helmfile makes in a way that is not followed.
    versions: BTreeMap<(RepoPath, SkipReason), BTreeSet<String>>,
    /// Files that are asked for and cannot be read.
    pub unread: BTreeSet<RepoPath>,
}

// === impl Beyond ===

impl Beyond {
    /// Takes what is noted of a build.
    pub fn take(&mut self, notes: &[Note]) {
        self.take_evaluated(notes);
        self.unread.extend(notes.iter().filter_map(|note| match &note.about {
            About::Unread { what, .. } => RepoPath::new(what.as_str()),
            _ => None,
        }));
    }

    /// Takes the version of a chart of Linkerd's that is made in a way that is not followed, or that the tree does not have.
    pub(super) fn take_version(&mut self, release: &ChartRelease, reason: SkipReason) {
        let Some(chart) = release.chart.known().filter(|chart| linkerd::is_chart(chart)) else { return };
        let mut told = |path: &RepoPath, who: &str| {
            let detail = format!("the version of `{chart}` is not followed: {who}");
            self.versions.entry((path.clone(), reason)).or_default().insert(detail);
        };
        let made = release.notes.iter().filter_map(|note| match &note.about {
            About::Expression(who) => Some((&note.path, who)),
            _ => None,
        });
        made.clone().for_each(|(path, who)| told(path, who));
        let version = release.version.as_ref().filter(|version| version.handed().next().is_none());
        if let Some(who) = version.and_then(Scalar::unknown_to).filter(|_| made.count() == 0) {
            told(&release.file, who);
        }
    }

    /// Names the templates of which `is_read` says that a release comes out of what is not followed in them.
    pub(super) fn not_followed(&self, is_read: &dyn Fn(NotFollowed<'_>) -> bool) -> Vec<Skipped> {
        let mut details: BTreeMap<&RepoPath, Vec<String>> = BTreeMap::new();
        for (path, texts) in &self.expressions {
            let read = texts.iter().filter(|text| is_read(NotFollowed::Expression(text))).take(TOLD);
            details.entry(path).or_default().extend(read.map(|text| format!("`{text}` is not followed")));
        }
        for (path, whys) in self.refused.iter().filter(|(path, _)| is_read(NotFollowed::Template(path))) {
            details.entry(path).or_default().extend(whys.iter().take(TOLD).cloned());
        }
        let named = details.into_iter().filter(|(_, details)| !details.is_empty());
        let skipped = named.map(|(path, details)| Skipped {
            path: path.clone(),
            reason: SkipReason::HelmTemplate,
            detail: Some(details.join("; ")),
            versions: Vec::new(),
        });
        skipped.collect()
    }

    /// Takes the bounds that were met, and the templates that are not followed.
    pub fn take_evaluated(&mut self, notes: &[Note]) {
        for note in notes {
            let path = || note.path.clone();
            match &note.about {
                About::Bound(bound) => {
                    self.bounds.entry(path()).or_default().insert(*bound);
                }
                About::Expression(text) => {
                    self.expressions.entry(path()).or_default().insert(text.clone());
                }
                About::Refused(why) => {
                    self.refused.entry(path()).or_default().insert(why.clone());
                }
                _ => {}
            }
        }
    }

    /// Adds what another has gathered.
    pub fn append(&mut self, other: Self) {
        for (path, bounds) in other.bounds {
            self.bounds.entry(path).or_default().extend(bounds);
        }
        self.unread.extend(other.unread);
        for (path, versions) in other.versions {
            self.versions.entry(path).or_default().extend(versions);
        }
        for (all, others) in [(&mut self.expressions, other.expressions), (&mut self.refused, other.refused)]
        {
            for (path, texts) in others {
                all.entry(path).or_default().extend(texts);
            }
        }
    }

    /// Says of each file which bounds it is over, and which versions are not followed.
    pub fn skipped(&self) -> impl Iterator<Item = Skipped> {
        let versions = self.versions.iter().map(|((path, reason), details)| {
            let told: Vec<&str> = details.iter().take(TOLD).map(String::as_str).collect();
            let (path, reason) = (path.clone(), *reason);
            Skipped { path, reason, detail: Some(told.join("; ")), versions: Vec::new() }
        });
        versions.chain(self.bounds.iter().map(|(path, bounds)| {
            let all: Vec<String> = bounds.iter().map(Bound::to_string).collect();
            let (path, reason) = (path.clone(), SkipReason::TooLarge);
            Skipped { path, reason, detail: Some(all.join("; ")), versions: Vec::new() }
        }))
    }
}
