//! The table of every key: the checks, the JSON Schema and the reference page are made from it.

/// One key of the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Where it stands: `policy.soak`; items of a list are written `targets[]`.
    pub path: &'static str,
    /// What may be written there.
    pub shape: Shape,
    /// What holds without it, for people.
    pub default: &'static str,
    /// What it does, for people; Markdown.
    pub meaning: &'static str,
}

/// What may be written under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Keys of its own.
    Section,
    /// A list of sections.
    Sections,
    /// A section, or a list of such.
    OneOrMore,
    /// A list of sections, or this word.
    SectionsOr(&'static str),
    /// The keys of another section.
    Like(&'static str),
    /// The number of the format.
    Format,
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One text.
    Text(Text),
    /// A list of texts.
    Texts(Text),
}

/// What a text must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Any text.
    Free,
    /// A branch.
    Branch,
    /// A number and a unit: `90m`, `12h`, `3d`, `2w`.
    Duration,
    /// A release: `edge-26.8.3`.
    Edge,
    /// A range of releases.
    Range,
    /// Five fields of cron.
    Cron,
    /// An IANA time zone.
    Zone,
    /// A date, or a date with a time.
    Moment,
    /// A path with wildcards.
    Glob,
    /// The name of a status, with wildcards.
    Context,
    /// A target's name.
    Name,
    /// A chart of Linkerd.
    Chart,
    /// A Kubernetes namespace.
    Namespace,
    /// A Kubernetes namespace, with wildcards.
    Namespaces,
    /// A label, as `key=value`.
    Label,
    /// A file or folder of the repository.
    Path,
    /// A Kubernetes version.
    Kubernetes,
    /// A user, or a team as `org/team`.
    Account,
    /// `Name <address>`.
    Author,
    /// A text with placeholders.
    Wording,
}

const fn key(path: &'static str, shape: Shape, default: &'static str, meaning: &'static str) -> Key {
    Key { path, shape, default, meaning }
}

/// Every key, in the order of the reference page.
pub const KEYS: &[Key] = &[
    key("version", Shape::Format, "`1`", "The number of this format."),
    key("base", Shape::Text(Text::Branch), "the remote's default branch", "The branch to propose against."),
    key("paused", Shape::Text(Text::Free), "", "A reason. Nothing is proposed while it stands."),
    key("freeze", Shape::Sections, "", "Periods in which nothing is proposed."),
    key("freeze[].from", Shape::Text(Text::Moment), "required", "When it begins."),
    key(
        "freeze[].to",
        Shape::Text(Text::Moment),
        "required",
        "When it ends; a date without a time is included.",
    ),
    key("freeze[].reason", Shape::Text(Text::Free), "required", "Why, in words for the people who wait."),
    key("policy", Shape::Section, "", "Which release is taken, and when."),
    key(
        "policy.channel",
        Shape::Word(&["edge", "recommended", "milestone"]),
        "`edge`",
        "`edge` takes the newest release that Linkerd does not advise against, `recommended` only those that it \
         recommends, `milestone` only the 2.x milestones.",
    ),
    key(
        "policy.soak",
        Shape::Text(Text::Duration),
        "`0d`",
        "The age that a release must have, from its publication.",
    ),
    key("policy.range", Shape::Text(Text::Range), "", "Stay inside these releases."),
    key("policy.skip", Shape::Texts(Text::Edge), "", "Releases to leave out."),
    key(
        "policy.schedule",
        Shape::Text(Text::Cron),
        "always",
        "When pull requests may be opened or moved: every minute that the cron expression matches is inside the window.",
    ),
    key(
        "policy.timezone",
        Shape::Text(Text::Zone),
        "`UTC`",
        "The time zone of the schedule, and of dates in `freeze` that name none.",
    ),
    key(
        "targets",
        Shape::SectionsOr("auto"),
        "one, `default`",
        "Files that move together: an environment, a cluster. Without them all go together, and an [installation](#targets) \
         that cannot go along has a target of its own; with `auto` each installation has one.",
    ),
    key(
        "targets[].name",
        Shape::Text(Text::Name),
        "required",
        "Its name, as shown in branches and titles. A new one [begins anew](promotion.md#where-everything-stands).",
    ),
    key(
        "targets[].paths",
        Shape::Texts(Text::Glob),
        "all files",
        "Its files. No file may belong to two targets.",
    ),
    key("targets[].exclude", Shape::Texts(Text::Glob), "", "Files that are not its."),
    key(
        "targets[].each",
        Shape::Word(&["installation"]),
        "",
        "A [group](#targets): a target for each installation in these files, all like this one.",
    ),
    key(
        "targets[].labels",
        Shape::Texts(Text::Label),
        "any",
        "The [installations](#targets) that it has: those with all of these labels, as `key=value`.",
    ),
    key(
        "targets[].kubernetes",
        Shape::Text(Text::Kubernetes),
        "",
        "The Kubernetes version that it runs, checked against what the charts accept.",
    ),
    key(
        "targets[].policy",
        Shape::Like("policy"),
        "as above",
        "Keys of `policy` that differ for this target.",
    ),
    key(
        "targets[].after",
        Shape::OneOrMore,
        "",
        "[Promotion](#promotion): the target before this one, or a list of such. Nothing goes here that it has not run.",
    ),
    key("targets[].after.target", Shape::Text(Text::Name), "required", "Its name."),
    key("targets[].after.soak", Shape::Text(Text::Duration), "`0d`", "How long it must have run a release."),
    key("targets[].gates", Shape::Like("gates"), "as below", "Keys of `gates` that differ for this target."),
    key("targets[].merge", Shape::Like("merge"), "as below", "Keys of `merge` that differ for this target."),
    key("dataPlane", Shape::Section, "", "What becomes of proxy pins."),
    key(
        "dataPlane.pins",
        Shape::Word(&["follow", "ignore"]),
        "`follow`",
        "`follow` moves proxy pins in a pull request of their own, `ignore` leaves them.",
    ),
    key(
        "dataPlane.after",
        Shape::Text(Text::Duration),
        "`1d`",
        "How long the platform change must have been on the base branch before proxies follow.",
    ),
    key(
        "dataPlane.controlPlane",
        Shape::Text(Text::Edge),
        "found in the files",
        "The release that the control plane runs, where it is not in this repository. Without it such pins are held, unless \
         `--to` asks for a release.",
    ),
    key(
        "dataPlane.restart",
        Shape::Word(&["none", "opt-in"]),
        "`none`",
        "`opt-in` keeps the proxy annotation of pod templates with the label `config.linkerd.io/reconcile: auto` at the \
         control plane's release, and adds it where it is missing, so that their workloads roll.",
    ),
    key(
        "dataPlane.waves",
        Shape::Sections,
        "one",
        "[Waves](#waves): parts of the proxies that move one after the other, each in a pull request of its own.",
    ),
    key(
        "dataPlane.waves[].name",
        Shape::Text(Text::Name),
        "required",
        "Its name, as a part of branches and titles.",
    ),
    key(
        "dataPlane.waves[].paths",
        Shape::Texts(Text::Glob),
        "all files",
        "The files that its pins stand in.",
    ),
    key(
        "dataPlane.waves[].namespaces",
        Shape::Texts(Text::Namespaces),
        "all",
        "The namespaces of its pods, with wildcards.",
    ),
    key(
        "dataPlane.waves[].labels",
        Shape::Texts(Text::Label),
        "any",
        "Labels that its pods have, all of them.",
    ),
    key(
        "dataPlane.waves[].soak",
        Shape::Text(Text::Duration),
        "`0d`",
        "How long all of it must have run a release before the next wave gets it.",
    ),
    key(
        "gates",
        Shape::Section,
        "",
        "[What must be said](#gates) of a release where it runs, before it goes on.",
    ),
    key(
        "gates.active",
        Shape::Texts(Text::Context),
        "",
        "Names of commit statuses, check runs or environments on the commits that a target runs. Each must have said \
         success, in every name that it covers.",
    ),
    key(
        "gates.timeout",
        Shape::Text(Text::Duration),
        "`1d`",
        "How long nothing may be said before that is called overdue.",
    ),
    key(
        "gates.proposed",
        Shape::Texts(Text::Context),
        "",
        "The same of the head of a pull request, before [`merge`](#merge) merges it.",
    ),
    key(
        "gates.onFailure",
        Shape::Word(&["hold", "rollback"]),
        "`hold`",
        "What becomes of a release of which `gates.active` say failure: `rollback` proposes to [take it back](#gates).",
    ),
    key("merge", Shape::Section, "", "Which pull requests are [merged by themselves](#merge)."),
    key(
        "merge.when",
        Shape::Word(&["never", "routine"]),
        "`never`",
        "`routine` merges what has the label `linkerd: routine`, after its waiting time, once `gates.proposed` are open.",
    ),
    key(
        "merge.after",
        Shape::Text(Text::Duration),
        "`1d`",
        "How long the head of the pull request must have been there.",
    ),
    key(
        "render",
        Shape::Sections,
        "found in the files",
        "How committed output of `helm template` was rendered, where it cannot be found.",
    ),
    key("render[].chart", Shape::Text(Text::Chart), "required", "The chart."),
    key(
        "render[].namespace",
        Shape::Text(Text::Namespace),
        "found in the output",
        "The namespace that it was rendered for.",
    ),
    key(
        "render[].values",
        Shape::Texts(Text::Path),
        "none",
        "The values files in this repository that it was rendered with, later ones win.",
    ),
    key(
        "render[].output",
        Shape::Text(Text::Path),
        "all output of the chart",
        "The file with the output, or the folder of its files.",
    ),
    key(
        "drift",
        Shape::Word(&["refuse", "overwrite", "keep"]),
        "`refuse`",
        "What becomes of rendered manifests with changes by hand: `refuse` leaves them and names the changes, `overwrite` \
         replaces the changes, `keep` keeps them where the release does not change the same fields.",
    ),
    key(
        "onBlock",
        Shape::Word(&["propose", "hold"]),
        "`propose`",
        "What becomes of a change that a check blocks: a pull request that says so, or none.",
    ),
    key(
        "overview",
        Shape::Word(&["none", "issue"]),
        "`none`",
        "`issue` keeps [one issue](#overview) that shows where every target stands.",
    ),
    key("pullRequest", Shape::Section, "", "How pull requests look."),
    key("pullRequest.labels", Shape::Texts(Text::Free), "", "Labels to add."),
    key(
        "pullRequest.reviewers",
        Shape::Texts(Text::Account),
        "",
        "Users, or teams as `org/team`, to ask for review.",
    ),
    key("pullRequest.assignees", Shape::Texts(Text::Account), "", "Users to assign."),
    key("pullRequest.draft", Shape::Bool, "`false`", "Whether they open as drafts."),
    key(
        "pullRequest.title",
        Shape::Text(Text::Wording),
        "`Linkerd {from} → {to} ({target}, {stage})`",
        "The title, with placeholders.",
    ),
    key("commit", Shape::Section, "", "How commits look."),
    key(
        "commit.author",
        Shape::Text(Text::Author),
        "the token's user",
        "Author and committer, as `Name <address>`.",
    ),
    key(
        "commit.message",
        Shape::Text(Text::Wording),
        "as the title",
        "Subject and body, with placeholders; the program's own trailers follow it.",
    ),
    key("commit.signOff", Shape::Bool, "`false`", "Whether a `Signed-off-by` trailer is added."),
    key("branch", Shape::Section, "", "How branches are named and moved."),
    key(
        "branch.prefix",
        Shape::Text(Text::Branch),
        "`uplinker/`",
        "What the branches begin with; ends with `/` or `-`. The program writes to no other branch. A new one [begins \
         anew](promotion.md#where-everything-stands).",
    ),
    key(
        "branch.history",
        Shape::Word(&["append", "replace"]),
        "`append`",
        "`append` adds commits and never force-pushes, `replace` keeps one commit. A branch that has followed its base has a \
         merge, which GitHub does not rebase: where nothing but rebasing is allowed, choose `replace`.",
    ),
    key(
        "branch.update",
        Shape::Word(&["conflict", "behind"]),
        "`conflict`",
        "When an open branch follows the base branch: when one of its files changed there, or whenever it is behind.",
    ),
    key("ignore", Shape::Texts(Text::Glob), "", "Files that are not looked at."),
];

/// Returns the keys directly under a section (`""` is the file).
pub fn children(section: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| {
        let below = match section {
            "" => Some(key.path),
            section => key.path.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')),
        };
        below.is_some_and(|rest| !rest.contains('.'))
    })
}

// === impl Key ===

impl Key {
    /// Returns the last part of the path.
    pub fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }
}

// === impl Shape ===

impl Shape {
    /// Returns what is expected, to finish the sentence "this must be ...".
    pub fn expected(self) -> String {
        match self {
            Self::Section | Self::Like(_) => "a section with keys of its own".to_owned(),
            Self::Sections => "a list of sections".to_owned(),
            Self::OneOrMore => "a section, or a list of such".to_owned(),
            Self::SectionsOr(word) => format!("a list of sections, or `{word}`"),
            Self::Format => "the number 1".to_owned(),
            Self::Bool => "`true` or `false`".to_owned(),
            Self::Word(words) => words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(" or "),
            Self::Text(text) => text.expected().to_owned(),
            Self::Texts(text) => format!("a list, each item {}", text.expected()),
        }
    }
}

// === impl Text ===

impl Text {
    /// Returns what is expected with an example, to finish the sentence "this must be ...".
    pub fn expected(self) -> &'static str {
        match self {
            Self::Free | Self::Wording => "a text, quoted where YAML reads it as something else",
            Self::Branch => "the name of a branch, such as `main`",
            Self::Duration => "a duration such as `3d`",
            Self::Edge => "a release such as `edge-26.8.3`",
            Self::Range => "a range such as `edge-26.x` or `>=edge-26.1.1`",
            Self::Cron => "five fields of cron, such as `* 9-16 * * mon-fri`",
            Self::Zone => "a time zone such as `Europe/Berlin`",
            Self::Moment => "a date such as `2026-12-20`, or a date with a time",
            Self::Glob => "a path such as `clusters/production`",
            Self::Context => "the name of a status such as `kustomization/*`",
            Self::Name => "a name such as `production`",
            Self::Chart => "a chart such as `linkerd-control-plane`",
            Self::Namespace => "a namespace such as `linkerd`",
            Self::Namespaces => "a namespace such as `shop-*`",
            Self::Label => "a label such as `tier=batch`",
            Self::Path => "the path of a file or folder",
            Self::Kubernetes => "a Kubernetes version such as `1.33`",
            Self::Account => "a user such as `octocat`, or a team such as `acme/platform`",
            Self::Author => "`Name <address>`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_stands_under_a_section_that_is_there() {
        for key in KEYS {
            let Some((section, _)) = key.path.rsplit_once('.') else { continue };
            let parent = KEYS.iter().find(|k| k.path == section.trim_end_matches("[]")).unwrap();
            let listed = section.ends_with("[]");
            let fits = match parent.shape {
                Shape::Sections | Shape::SectionsOr(_) => listed,
                shape => matches!(shape, Shape::Section | Shape::OneOrMore) && !listed,
            };
            assert!(fits, "{}", key.path);
        }
    }

    #[test]
    fn children_are_one_level() {
        let names: Vec<_> = children("freeze[]").map(Key::name).collect();
        assert_eq!(names, ["from", "to", "reason"]);
        assert!(children("").any(|k| k.name() == "targets"));
        assert!(!children("").any(|k| k.path.contains('.')));
    }
}
