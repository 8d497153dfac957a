//! Step 5, pins: charts whose folder is in the tree, as those who deploy them have them rendered, and by themselves.
//!
//! In: the files that name Linkerd or a release. Out: what is to be evaluated, and which templates need no mention as
//! files that were not read.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::{
    deploy::{
        About, ChartRelease, Files as _, Layer, Note, Object, Scalar, Value,
        chart::Repository,
        go_template::{Action, BRACES, actions},
        kinds,
        tree_chart::{ChartOutcome, Evaluations, Rendered},
        umbrella,
    },
    linkerd::{self, CONTROL_PLANE, CRDS, MULTICLUSTER, VIZ},
    pins::{
        Pin, PinKind, Reason, RepoPath, SkipReason, Skipped, annotation, chart, context::Context,
        found::Found, marker::TextFile, other, place::Place, release_names::tokens,
    },
};

/// Values files of one chart that nobody gives it in the tree, each of which is tried.
const VALUES_FILES: usize = 20;
/// What no chart names that does not deploy Linkerd, or speak to its injector.
const NAMES: [&str; 6] = [CRDS, CONTROL_PLANE, VIZ, MULTICLUSTER, "linkerd2", "linkerdVersion"];

/// What was evaluated.
#[derive(Default)]
pub(in crate::pins) struct Charted {
    followed: BTreeSet<RepoPath>,
    /// Values files that Helm read as a whole.
    read: BTreeSet<RepoPath>,
    notes: Vec<Note>,
    /// Objects that name a release, and those that have others deployed.
    pub made: Evaluations,
    /// All that came of each chart, for whoever compares it with another tree's.
    pub outcomes: Vec<ChartOutcome>,
}

// === impl Charted ===

impl Charted {
    /// Takes in what came of a chart.
    pub fn take(&mut self, release: &ChartRelease, rendered: &Rendered) {
        let names_release =
            |object: &&Object| object.value.scalars().iter().any(|text| !tokens(&text.text()).is_empty());
        let leads = |object: &&Object| kinds::leads(&object.group(), &object.kind());
        let kept = rendered.objects.iter().filter(|object| leads(object) || names_release(object));
        self.made.keep(release, kept.cloned());
        let off: Vec<Object> = rendered.off.iter().filter(leads).cloned().collect();
        if !off.is_empty() {
            self.made.keep_off(release, off);
        }
        self.outcomes.push(ChartOutcome::new(release, rendered));
        self.followed.extend(rendered.followed.iter().cloned());
        self.read.extend(rendered.read.iter().cloned());
        self.notes.extend(rendered.notes.iter().cloned());
    }

    /// Names the charts that are over a limit of Helm's.
    pub fn over(&self) -> Vec<Skipped> {
        let over = self.notes.iter().filter(|note| matches!(note.about, About::Over { .. }));
        let over: BTreeMap<&RepoPath, &Note> = over.map(|note| (&note.path, note)).collect();
        let skipped = over.into_iter().map(|(path, note)| Skipped {
            path: path.clone(),
            reason: SkipReason::TooLarge,
            detail: detail(&note.about),
            versions: Vec::new(),
        });
        skipped.collect()
    }

    pub fn append(&mut self, other: Self) {
        self.followed.extend(other.followed);
        self.read.extend(other.read);
        self.notes.extend(other.notes);
        self.made.append(other.made);
        self.outcomes.extend(other.outcomes);
    }
}

/// Tells the charts of Linkerd, which are rendered elsewhere.
pub(super) fn is_foreign(name: &str) -> bool {
    linkerd::is_chart(name) || linkerd::retired_chart(name).is_some()
}

/// The groups of objects that have others deployed, as templates name them.
const LEADING: [&str; 3] = ["argoproj.io", "toolkit.fluxcd.io", "helm.cattle.io"];

/// Tells whether a chart of the tree may deploy Linkerd, name a release to its injector, or read one that Linkerd reads.
pub(super) fn concerns(texts: &mut dyn Iterator<Item = &str>, given: &Value) -> bool {
    let is_handed = |text: &&Scalar| text.is_from_elsewhere() && !tokens(&text.text()).is_empty();
    if given.scalars().iter().any(is_handed) {
        return true;
    }
    let (mut speaks, mut leads, mut releases) = (false, false, false);
    for text in texts {
        if annotation::is_in(text) || NAMES.iter().any(|name| text.contains(name)) {
            return true;
        }
        speaks |= text.contains("inkerd");
        // What it hands on may be Linkerd's where it is read.
        leads |= LEADING.iter().any(|group| text.contains(group));
        releases |= !tokens(text).is_empty();
    }
    (speaks || leads) && releases
}

/// Lists the charts of the tree that take in one which lies in a folder of interest.
pub(super) fn takers<'c>(context: &Context<'c>, is_wanted: &dyn Fn(&str) -> bool) -> Vec<&'c str> {
    let charts = context.files.below("").iter().filter(|entry| entry.path.name() == "Chart.yaml");
    let charts = charts.map(|entry| entry.path.folder());
    let names_folder = |folder: &&str| {
        let path = RepoPath::resolve(folder, "Chart.yaml");
        let source = path.and_then(|path| context.files.file(path.as_str()).ok());
        source.is_some_and(|source| source.text.contains("file://"))
    };
    let mut inners = umbrella::Inners::new(context.files);
    let takes = |folder: &&str| {
        let mut inner = inners.of(folder).into_iter().filter_map(|inner| inner.folder);
        !is_wanted(folder) && inner.any(|inner| is_wanted(inner.as_str()))
    };
    charts.filter(names_folder).filter(takes).collect()
}

/// Lists the charts of the tree in which anything is named, with their own values and with each values file beside them.
pub(super) fn lone(context: &Context<'_>, named: &[RepoPath]) -> Vec<ChartRelease> {
    let mut charts: BTreeMap<&str, Vec<&RepoPath>> = BTreeMap::new();
    for path in named {
        let Some(folder) = chart::folder_around(context, path) else { continue };
        let is_chart = |folder: &str| {
            RepoPath::resolve(folder, "Chart.yaml").is_some_and(|p| context.files.has(p.as_str()))
        };
        let outermost =
            folder.match_indices("/charts/").filter_map(|(at, _)| folder.get(..at)).find(|f| is_chart(f));
        let values = charts.entry(outermost.unwrap_or(folder)).or_default();
        let lower = path.name().to_ascii_lowercase();
        let is_values = lower.contains("values") && [".yaml", ".yml"].iter().any(|end| lower.ends_with(end));
        if path.folder() == folder && is_values && lower != "values.yaml" && values.len() < VALUES_FILES {
            values.push(path);
        }
    }
    let mut releases = Vec::new();
    for (folder, values) in charts {
        let Some(path) = RepoPath::resolve(folder, "Chart.yaml") else { continue };
        let of = |layers: Vec<Layer>| ChartRelease {
            layers,
            // Who installs it by hand has the deployers of which it makes objects.
            apis: kinds::apis(),
            ..ChartRelease::new(&path, Scalar::made(folder), Repository::Git(None))
        };
        releases.push(of(Vec::new()));
        for path in values {
            let Ok(source) = context.files.file(path.as_str()) else { continue };
            releases.push(of(vec![Layer::text(&Scalar::file(&source), context.files, path.as_str())]));
        }
    }
    releases
}

/// Notes that Helm read what the aliases in its values files stand for: where that came out, it was found.
pub(in crate::pins) fn note_aliases(context: &Context<'_>, charted: &Charted, found: &mut Found) {
    for path in &charted.read {
        let file = context.corpus.entry(path.as_str()).and_then(|entry| context.corpus.open(entry).ok());
        let Some(file) = file.filter(|file| file.text.contains('*')) else { continue };
        let place = Place::of(&file);
        let nodes = file.stream.roots().flat_map(|root| root.document().nodes());
        let aliases = nodes.filter(|node| node.is_alias()).map(|node| place.start_in_file(node));
        found.aliases_read.extend(aliases.map(|at| (path.clone(), at)));
    }
}

/// Takes the templates that were wholly followed out of the files that were not read, and says of the others why.
pub(in crate::pins) fn report(
    context: &Context<'_>,
    charted: &Charted,
    found: &mut Found,
    skipped: &mut Vec<Skipped>,
) {
    let is_template = |skip: &Skipped| skip.reason == SkipReason::HelmTemplate;
    let untraced: BTreeMap<&RepoPath, &Note> = charted
        .notes
        .iter()
        .filter(|note| matches!(note.about, About::Untraced(_)))
        .map(|note| (&note.path, note))
        .collect();
    skipped.retain(|skip| {
        !is_template(skip) || !charted.followed.contains(&skip.path) || untraced.contains_key(&skip.path)
    });
    for skip in skipped.iter_mut().filter(|skip| is_template(skip) && skip.detail.is_none()) {
        let own = charted.notes.iter().find(|note| note.path == skip.path);
        let folder = chart::folder_around(context, &skip.path);
        let of_chart = || charted.notes.iter().filter(|n| Some(n.path.folder()) == folder);
        // Where Helm was tried, what is followed without it is no reason.
        let failed = of_chart().find(|n| matches!(n.about, About::Over { .. } | About::Fails { .. }));
        let any = || of_chart().find(|note| note.path.name() == "Chart.yaml");
        skip.detail = failed.or(own).or_else(any).and_then(|note| detail(&note.about));
    }
    let more = unfollowed(context, charted, skipped);
    skipped.extend(more);
    for path in charted.followed.iter().filter(|path| !untraced.contains_key(path)) {
        let Ok(source) = context.files.file(path.as_str()) else { continue };
        if !source.text.contains("inkerd") {
            continue;
        }
        let file = TextFile { path, blob: source.blob, text: &source.text, sealed: false };
        let own: Vec<Pin> = found.of_file(path).cloned().collect();
        // What is made again as a whole has nothing that stays.
        if own.iter().any(|pin| pin.kind == PinKind::RenderedManifest) {
            continue;
        }
        let before = found.pins.len();
        let actions: Vec<Action> = actions(&source.text, BRACES).map_while(Result::ok).collect();
        let code = actions.iter().filter(|action| !action.code.is_empty());
        let code: Vec<Range<usize>> = code.map(|action| action.whole.clone()).collect();
        other::in_template(&file, &own, &code).report(&mut found.pins, skipped);
        let branches = branches(&source.text, &actions);
        for pin in found.pins.iter_mut().skip(before) {
            if branches.iter().any(|branch| branch.contains(&pin.site.span.start)) {
                pin.stays = Some(Reason::NotFollowed);
            }
        }
    }
}

/// Names templates that were not followed and that no other rule tells of, since they name nothing themselves: of a chart that
/// has others deployed the values may say which release of Linkerd.
fn unfollowed(context: &Context<'_>, charted: &Charted, skipped: &[Skipped]) -> Vec<Skipped> {
    let told: BTreeSet<&RepoPath> = skipped.iter().map(|skip| &skip.path).chain(&charted.followed).collect();
    let is_part = |note: &&Note| {
        matches!(note.about, About::Expression(_) | About::Refused(_) | About::Bound(_))
            && context.is_template(&note.path)
    };
    let mut unfollowed: BTreeMap<&RepoPath, &Note> = BTreeMap::new();
    for note in charted.notes.iter().filter(is_part).filter(|note| !told.contains(&note.path)) {
        unfollowed.entry(&note.path).or_insert(note);
    }
    let of_leading = unfollowed.into_iter().filter(|(path, _)| leads(context, path));
    let skipped = |(path, note): (&RepoPath, &Note)| Skipped {
        path: path.clone(),
        reason: SkipReason::HelmTemplate,
        detail: detail(&note.about),
        versions: Vec::new(),
    };
    of_leading.map(skipped).collect()
}

/// Tells whether templates of the chart around a file make objects that have others deployed.
fn leads(context: &Context<'_>, path: &RepoPath) -> bool {
    let folder = chart::folder_around(context, path);
    let Some(folder) = folder.and_then(|folder| RepoPath::resolve(folder, "templates")) else { return false };
    // In an annotation its group says only who deploys an object.
    let is_leading = |line: &str| {
        line.trim_start().starts_with("apiVersion:") && LEADING.iter().any(|group| line.contains(group))
    };
    let files = context.files.below(folder.as_str()).iter();
    let mut texts = files.filter_map(|entry| context.files.file(entry.path.as_str()).ok());
    texts.any(|source| source.text.lines().any(is_leading))
}

/// Lists the parts of a template that a condition may leave out, line by line and without comments.
fn branches(text: &str, actions: &[Action]) -> Vec<Range<usize>> {
    let (mut found, mut start, mut commented) = (Vec::new(), 0, 0);
    // Of each block that is open whether a condition is around it.
    let (mut open, mut actions) = (Vec::new(), actions.iter().peekable());
    for line in text.split_inclusive('\n') {
        let (is_inside, end) = (open.last() == Some(&true), start + line.len());
        while let Some(action) = actions.next_if(|action| action.whole.start < end) {
            let code = text.get(action.code.clone()).unwrap_or_default();
            match code.split_whitespace().next() {
                Some("if" | "with") => open.push(true),
                Some("range" | "define" | "block") => open.push(open.last() == Some(&true)),
                Some("end") => drop(open.pop()),
                Some(_) => {}
                None => commented = action.whole.end,
            }
        }
        let is_comment = line.trim_start().starts_with('#') || commented > start;
        found.extend((is_inside && !is_comment).then_some(start..end));
        start = end;
    }
    found
}

/// Says what was not followed.
fn detail(about: &About) -> Option<String> {
    Some(match about {
        About::Untraced(text) => format!("it renders `{text}`, and where that was written is not known"),
        About::Expression(text) => format!("`{{{{ {text} }}}}` is not followed without Helm"),
        About::Bound(bound) => bound.to_string(),
        About::Refused(why) | About::Fails { why, .. } => why.clone(),
        About::Over { what, why } => format!("the chart `{what}`: {why}"),
        About::Unread { what, why } => format!("{what}: {why}"),
        About::Remote(what) => format!("{what} is not in this repository"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_condition_may_leave_out_is_known_by_its_lines() {
        let text = "a: 1\n{{- range .x }}\nb: 2\n{{- end }}\n{{ if .y }}\nc: 3\n# d: 4\n{{- with .z }}e: 5{{ end }}\n{{/*\ng: 7 */}}\n{{ end }}\nf: {{ with \"{{ end }}\" }}\nh: 8\n{{ end }}\n";
        let actions: Vec<Action> = actions(text, BRACES).map_while(Result::ok).collect();
        let inside: String = branches(text, &actions).into_iter().map(|span| &text[span]).collect();
        assert_eq!(inside, "c: 3\n{{- with .z }}e: 5{{ end }}\n{{ end }}\nh: 8\n{{ end }}\n");
    }
}
