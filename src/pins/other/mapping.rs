//! Step 5, pins: one mapping of a text, and which of its numbers it gives Linkerd.
//!
//! In: its keys with what they are given, one after the other. Out: the numbers beside a chart's name or beside the address of
//! Linkerd's own repository of charts, or under Linkerd's name.

use std::collections::HashSet;

use super::{
    names::{is_action, is_of_release, is_package},
    number::{
        Number, gives_linkerds, is_chart, is_edge, is_linkerd, is_own, may_be_linkerd, moved, names_linkerd,
        number, of_chart, words,
    },
};
use crate::pins::{Reason, origin::is_linkerds, release_names::TAGS};

/// Keys that give a package's name.
const NAMES: [&str; 7] = ["name", "id", "pkgname", "component", "tool", "product", "software"];
/// The key that gives the version of what a package is made from.
const MADE_FROM: &str = "pkgver";
/// The key that gives what a variable or a parameter is where nobody sets it.
const DEFAULT: &str = "default";

/// What stands in one mapping, as far as it was read.
#[derive(Default)]
pub(super) struct Mapping<'t> {
    /// How far its lines are indented.
    pub depth: usize,
    /// The key that it is given to, where that begins with Linkerd's name.
    under: Option<&'t str>,
    /// It is one of several, or what something is given: of those a chart's name may be all that says which chart it is.
    is_item: bool,
    /// What its last key has is a mapping that says which chart it is.
    pub holds_chart: bool,
    /// Its last key, where that has a mapping.
    pub opened: Option<&'t str>,
    /// Where it has what an object of the kind `Linkerd` asks for, or what a step is given whose action brings Linkerd.
    asks_under: Option<&'static str>,
    is_chart_s: bool,
    is_called_so: bool,
    /// It has the name of Linkerd itself.
    is_linkerd_s: bool,
    /// It is what a module is given that is called as Linkerd, or as one of its charts.
    is_module_s: bool,
    /// That module is not of this repository, and has versions of its own.
    is_elsewhere: bool,
    /// It says that its chart is another, or its own.
    is_of_another: bool,
    /// It is an object, describes a chart, or has an image or a source of code: its version is its own.
    is_object: bool,
    /// The number of the release that a chart says it brings, with its channel or without.
    app: Option<&'t str>,
    bare_app: Option<&'t str>,
    /// It has a name of Linkerd's, or of one of its charts.
    is_named_so: bool,
    /// The name that it has of a chart that is Linkerd's wherever it stands.
    own: Option<&'t str>,
    /// Whether the page that it says is its home is Linkerd's own.
    home: Option<bool>,
    /// It describes a chart, as Helm has it.
    describes_chart: bool,
    /// What it names is in this repository, or in one of charts.
    is_here: bool,
    is_fetched: bool,
    /// Below it stands a chart of Linkerd's that is fetched.
    brings_linkerds: bool,
    /// The first key of a chart or a version.
    pub first: Option<&'t str>,
    /// What keys say beside that they give a chart of Linkerd's: `viz` of `vizChart`.
    stems: HashSet<String>,
    /// Each with its key, and as it stands.
    numbers: Vec<(&'t str, &'t str, Number)>,
}

// === impl Mapping ===

impl<'t> Mapping<'t> {
    /// Begins one, given to a key where that begins with Linkerd's name.
    pub fn new(depth: usize, is_item: bool, under: Option<&'t str>) -> Self {
        Self { depth, is_item, under: under.filter(|key| names_linkerd(key)), ..Self::default() }
    }

    /// Returns what the mapping that its last key has is given to: what something of Linkerd's is made of is Linkerd's.
    pub fn above(&self) -> Option<&'t str> {
        let is_part = |under: &&str, key| is_of_release(&format!("{under}_{key}"));
        self.opened.map(|key| match self.under.filter(|under| is_part(under, key)) {
            _ if self.asks_under == Some(key) => "linkerd",
            Some(under) => under,
            None => key,
        })
    }

    /// Reads an entry, whose value begins at a place of the text.
    pub fn read(&mut self, key: &'t str, value: &'t str, at: usize) {
        let first = words(value).next();
        let names_chart = gives_chart(key) && first.is_some_and(is_chart);
        // Arch's own list of a package has all that it is made from below its name.
        self.opened = if key == "pkgbase" { first } else { opens(value).then_some(key) };
        self.holds_chart = gives_chart(key) && first.is_none();
        self.is_chart_s |= names_chart || first.is_some_and(is_linkerds);
        self.is_called_so |= self.is_item && key == "name" && first.is_some_and(is_own);
        self.is_linkerd_s |= names_package(key) && first.is_some_and(is_package);
        self.is_module_s |= key == "source" && first.is_some_and(is_module);
        self.is_elsewhere |= key == "source" && first.is_some_and(|word| !word.starts_with('.'));
        let is_here = first.is_some_and(|word| word.starts_with("file:"));
        let is_number = first.is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        self.is_of_another |= gives_chart(key) && !is_number || key == "path" || is_here;
        self.is_here |= is_here;
        self.is_fetched |= key == "repository" && first.is_some() && !is_here;
        self.describes_chart |= key == "apiVersion" && matches!(first, Some("v1" | "v2"));
        self.is_object |= matches!(key, "apiVersion" | "kind" | "image" | "source" | "src" | "gem");
        match key {
            "kind" => self.asks_under = first.filter(|kind| is_linkerd(kind)).map(|_| "spec"),
            "uses" => self.asks_under = first.filter(|action| is_action(action)).map(|_| "with"),
            "name" => self.own = first.filter(|word| is_own(word)),
            "home" => self.home = first.map(is_home),
            "appVersion" => {
                self.app = first.and_then(|word| TAGS.iter().find_map(|tag| word.strip_prefix(tag)));
                self.bare_app = first.filter(|word| may_be_linkerd(word));
            }
            _ => {}
        }
        self.is_named_so |= key == "name" && first.is_some_and(|word| is_own(word) || is_package(word));
        if gives_chart(key) || gives_version(key) {
            self.first.get_or_insert(key);
        }
        self.stems.extend(names_chart.then(|| stem(key)).filter(|stem| !stem.is_empty()));
        if let Some((span, why)) = number(value, 0) {
            let text = value.get(span.clone()).unwrap_or_default();
            self.numbers.push((key, text, (moved(span, at), why)));
        }
    }

    /// Takes note of a mapping below it, which has ended.
    pub fn ends_below(&mut self, below: &Self) {
        self.brings_linkerds |= below.own.is_some() && below.is_fetched;
    }

    /// Returns the versions of Linkerd's among its numbers.
    pub fn into_versions(self) -> impl Iterator<Item = Number> {
        let is_its_own = self.is_of_another || self.is_object;
        let is_called_so = self.is_called_so && !self.is_of_another;
        let is_chart_s = self.is_chart_s || is_called_so;
        let bare_app = self.bare_app.filter(|_| self.is_named_so);
        let app = self.app.or(bare_app);
        let (is_package_s, is_base_s) = (self.is_linkerd_s, self.under.is_some_and(is_package));
        let is_linkerd_s = is_package_s && !is_its_own;
        let under = self.under.filter(|_| !is_its_own);
        // A chart around one of Linkerd's is no copy, whatever it is called.
        let may_be_copy = self.is_here || self.describes_chart && !self.brings_linkerds;
        // A copy keeps the version that Linkerd gave the chart.
        let (counts, home) = (self.own.and_then(of_chart), self.home);
        let is_copy_s = move |text: &str| match (counts, home) {
            (Some(_), Some(is_linkerds)) => is_linkerds && !text.starts_with("0."),
            // One that counts as releases do is of the release that the chart says it brings.
            (Some(counts), None) => {
                may_be_copy && counts(text) && !is_edge(text) && (app.is_none() || !text.starts_with("2."))
            }
            (None, _) => false,
        };
        let is_module_s = move |key: &str| {
            let is_given = self.is_module_s && is_stem_linkerds(&stem(key));
            is_given && (!self.is_elsewhere || says_chart(key))
        };
        let is_version = move |key: &str, text: &str| {
            (is_chart_s || is_module_s(key)) && gives_version(key)
                || key.eq_ignore_ascii_case("version")
                    && (app == Some(text) || is_linkerd_s && may_be_linkerd(text))
                || key == "version" && is_copy_s(text)
                || key == "appVersion" && bare_app == Some(text)
                || key == MADE_FROM && (is_package_s || is_base_s) && may_be_linkerd(text)
                || key.to_ascii_lowercase().ends_with("version") && self.stems.contains(&stem(key))
                || under.is_some_and(|under| gives_under(under, key, text))
        };
        let all = self.numbers.into_iter();
        all.filter(move |(key, text, _)| is_version(key, text)).map(|(key, _, (span, why))| {
            // What a chart says it brings deploys nothing.
            let said = (key == "appVersion").then_some(Reason::NotDeployed);
            (span, why.or(said))
        })
    }
}

/// Tells whether an address is that of Linkerd's own page, which its charts call their home.
pub(super) fn is_home(address: &str) -> bool {
    let page = address.split_once("://").map_or(address, |(_, page)| page);
    page.trim_end_matches('/') == "linkerd.io"
}

/// Tells whether a key gives the name of a package.
fn names_package(key: &str) -> bool {
    NAMES.iter().any(|name| key.eq_ignore_ascii_case(name))
}

/// Tells whether the address of a module has a name of Linkerd's: that of its folder or of its repository, or what a registry
/// has it under.
fn is_module(source: &str) -> bool {
    let path = source.split('?').next().unwrap_or(source).trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    let name = in_registry(path).unwrap_or(last);
    let name = name.strip_suffix(".git").unwrap_or(name);
    // So repositories of modules are called: `terraform-helm-linkerd`.
    let behind = name.strip_prefix("terraform-").and_then(|rest| rest.split_once('-'));
    let name = behind.map_or(name, |(_, name)| name);
    is_linkerd(name) || is_own(name)
}

/// Returns the name that a module has in a registry, behind its owner and before its provider: `acme/linkerd/helm`.
fn in_registry(path: &str) -> Option<&str> {
    let parts: Vec<_> = path.split('/').collect();
    match parts.as_slice() {
        [owner, name, _] if !owner.contains(['.', ':']) => Some(*name),
        [host, _, name, _] if host.contains('.') && !host.starts_with('.') => Some(*name),
        _ => None,
    }
}

/// Tells whether a key has no value on its own line but what opens there: an anchor and a comment are none.
pub(super) fn opens(value: &str) -> bool {
    words(value).next().is_none_or(|word| word.starts_with(['#', '&']))
}

/// Tells whether keys give a version of Linkerd's as one key of both does: `linkerd: {version: 2.14.10}`. One `version` may be
/// that of whatever brings it, where it does not count as Linkerd's.
fn gives_under(under: &str, key: &str, number: &str) -> bool {
    let counts = may_be_linkerd(number);
    let may_be = counts || !is_linkerd(under) || !key.eq_ignore_ascii_case("version");
    let both = match key.eq_ignore_ascii_case(DEFAULT) {
        true => under.to_owned(),
        false => format!("{under}_{key}"),
    };
    may_be && gives_linkerds(&both) || counts && is_of_release(&both)
}

/// Tells whether a key gives a chart's name.
fn gives_chart(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("chart") || key.ends_with("chartname") || key.ends_with("chart_name")
}

/// Tells whether a key says that what it gives is of a chart.
fn says_chart(key: &str) -> bool {
    key.to_ascii_lowercase().contains("chart")
}

/// Returns what a key says beside that it gives a chart or the version of one: `viz` of `vizChart`, and of `viz_chart_version`.
pub(super) fn stem(key: &str) -> String {
    let lower = key.to_ascii_lowercase();
    let mut key = lower.as_str();
    for word in ["version", "name", "chart"] {
        key = key.strip_suffix(word).unwrap_or(key).trim_end_matches(['_', '-']);
    }
    key.to_owned()
}

/// Tells whether what a key says beside that it gives a version is no name of another chart: a module of Linkerd's may bring
/// those of others too.
pub(super) fn is_stem_linkerds(stem: &str) -> bool {
    stem.is_empty() || stem.contains("linkerd") || is_own(&format!("linkerd-{}", stem.replace('_', "-")))
}

/// Tells whether a key gives the version of the chart beside it: that of an application, or of Kubernetes, is none.
fn gives_version(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let of = key.strip_suffix("version").map(|of| of.trim_end_matches(['_', '-']));
    key == "targetrevision"
        || of.is_some_and(|of| of.is_empty() || of.ends_with("chart") || of.contains("linkerd"))
}
