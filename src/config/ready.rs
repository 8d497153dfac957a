//! From the file as written to ready values: one conversion that notes every mistake and goes on.

mod data_plane;

use globset::{Glob, GlobSet, GlobSetBuilder};
use jiff::{SignedDuration, tz::TimeZone};

use crate::{
    plan::{Split, Target},
    policy::{Channel, Freeze, Gates, Merge, OnFailure, Policy, Schedule},
    propose::{History, Options, Update, forge::Extras},
    render::{DriftMode, RenderEntry},
};

use super::{
    After, BranchConfig, CommitConfig, Config, OnBlock, PullRequestConfig, TargetConfig, Wording,
    error::Mistakes,
    nearest,
    raw::{Raw, RawAfter, RawFreeze, RawGates, RawMerge, RawPolicy, RawRender, RawTarget},
    refname,
    section::{Spanned, Word, Words},
    values::{self, Fault},
};

/// Trailers that the program writes itself; a message that brings its own could pass for the program's work.
const TRAILERS: [&str; 4] = ["linkerd-version:", "uplinker-", "chart-digest:", "signed-off-by:"];

/// Converts; the result is meaningful only where no mistake was noted.
pub(super) fn convert(raw: &Raw, mistakes: &mut Mistakes) -> Config {
    let mut to = Conversion { mistakes };
    if let Some(version) = raw.version.as_ref().filter(|v| v.value != "1") {
        let hint = "write `version: 1`, or use a newer uplinker";
        to.add(version, "version", format!("format `{}` is not known to this version", version.value), hint);
    }
    let branch = to.branch(raw);
    let base = to.base(raw, &branch.prefix);
    Config {
        targets: to.targets(raw),
        data_plane: to.data_plane(raw),
        render: to.render(raw),
        drift: match word(&raw.drift) {
            Some("overwrite") => DriftMode::Overwrite,
            Some("keep") => DriftMode::Keep,
            _ => DriftMode::Refuse,
        },
        overview: word(&raw.overview) == Some("issue"),
        on_block: match word(&raw.on_block) {
            Some("hold") => OnBlock::Hold,
            _ => OnBlock::Propose,
        },
        pull_request: to.pull_request(raw),
        commit: to.commit(raw),
        ignore: to.globs(&raw.ignore, "ignore"),
        base,
        branch,
        origin: None,
    }
}

struct Conversion<'m> {
    mistakes: &'m mut Mistakes,
}

/// Tells whether `target` goes after `before`, by whatever steps, or is it.
fn comes_after(targets: &[RawTarget], target: &str, before: &str) -> bool {
    let (mut seen, mut ahead) = (Vec::new(), vec![target]);
    while let Some(name) = ahead.pop() {
        if name == before {
            return true;
        }
        if !seen.contains(&name) {
            seen.push(name);
            let own = targets.iter().filter(|target| word(&target.name) == Some(name));
            ahead.extend(own.flat_map(|target| &target.after).filter_map(|after| word(&after.target)));
        }
    }
    false
}

fn word(word: &Word) -> Option<&str> {
    word.as_ref().map(|w| w.value.as_str())
}

// === impl Conversion ===

impl Conversion<'_> {
    fn add(&mut self, at: &Spanned<String>, key: &str, reason: impl Into<String>, hint: &str) {
        self.mistakes.add(at.span.clone(), key, reason, hint);
    }

    /// Reads one text; a fault is noted.
    fn value<T>(&mut self, word: &Word, key: &str, read: impl Fn(&str) -> Result<T, Fault>) -> Option<T> {
        let word = word.as_ref()?;
        read(&word.value).map_err(|(reason, hint)| self.add(word, key, reason, &hint)).ok()
    }

    /// Reads every text of a list.
    fn values<T>(&mut self, words: &Words, key: &str, read: impl Fn(&str) -> Result<T, Fault>) -> Vec<T> {
        let mut values = Vec::new();
        for word in words.iter().flatten() {
            match read(&word.value) {
                Ok(value) => values.push(value),
                Err((reason, hint)) => self.add(word, key, reason, &hint),
            }
        }
        values
    }

    fn required(&mut self, word: &Word, section: &std::ops::Range<usize>, key: &str, what: &str) {
        if word.is_none() {
            let name = key.rsplit('.').next().unwrap_or(key);
            self.mistakes.add(
                section.clone(),
                key,
                format!("{what} has no `{name}`"),
                format!("add `{name}:`"),
            );
        }
    }

    fn globs(&mut self, words: &Words, key: &str) -> GlobSet {
        let globs = self.values(words, key, values::globs).into_iter().flatten();
        self.glob_set(globs, words, key)
    }

    fn glob_set(&mut self, globs: impl IntoIterator<Item = Glob>, words: &Words, key: &str) -> GlobSet {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            set.add(glob);
        }
        let built = set.build();
        if let (Err(error), Some(first)) = (&built, words.iter().flatten().next()) {
            self.add(
                first,
                key,
                format!("these globs are too large together: {}", error.kind()),
                "use fewer",
            );
        }
        built.unwrap_or_else(|_| GlobSet::empty())
    }

    fn base(&mut self, raw: &Raw, prefix: &str) -> Option<String> {
        let read = |text: &str| match refname::branch_fault(text) {
            Some(reason) => Err((
                format!("`{text}` cannot be a branch: {reason}"),
                "write its name, such as `main`".to_owned(),
            )),
            None => match refname::clash(prefix, text) {
                Some(reason) => Err((reason, "choose another `branch.prefix`".to_owned())),
                None => Ok(text.to_owned()),
            },
        };
        self.value(&raw.base, "base", read)
    }

    fn branch(&mut self, raw: &Raw) -> BranchConfig {
        let default = BranchConfig::default();
        let read = |text: &str| match refname::prefix_fault(text) {
            Some(reason) => Err((
                format!("`{text}` cannot begin a branch: {reason}"),
                "write one such as `uplinker/`".to_owned(),
            )),
            None => Ok(text.to_owned()),
        };
        BranchConfig {
            prefix: self.value(&raw.prefix, "branch.prefix", read).unwrap_or(default.prefix),
            options: Options {
                history: match word(&raw.history) {
                    Some("replace") => History::Replace,
                    _ => History::Append,
                },
                update: match word(&raw.update) {
                    Some("behind") => Update::Behind,
                    _ => Update::Conflict,
                },
            },
        }
    }

    fn render(&mut self, raw: &Raw) -> Vec<RenderEntry> {
        let mut entries: Vec<RenderEntry> = Vec::new();
        for item in &raw.render {
            let Some(entry) = self.render_entry(item) else { continue };
            let same = |e: &RenderEntry| {
                (&e.chart, &e.namespace, &e.output) == (&entry.chart, &entry.namespace, &entry.output)
            };
            if let Some(chart) = item.chart.as_ref().filter(|_| entries.iter().any(same)) {
                let reason = format!("two entries are for the same output of {}", entry.chart);
                self.add(chart, "render[].chart", reason, "tell them apart by `output`, or keep one");
            }
            entries.push(entry);
        }
        entries
    }

    fn render_entry(&mut self, raw: &RawRender) -> Option<RenderEntry> {
        self.required(&raw.chart, &raw.span, "render[].chart", "the entry");
        let namespace = self.value(&raw.namespace, "render[].namespace", values::namespace);
        let files = self.values(&raw.values, "render[].values", values::path);
        let output = self.value(&raw.output, "render[].output", values::path);
        let chart = self.value(&raw.chart, "render[].chart", values::chart)?;
        Some(RenderEntry { chart, namespace, values: files, output })
    }

    fn pull_request(&mut self, raw: &Raw) -> PullRequestConfig {
        let label = |text: &str| match text.chars().count() {
            1..=50 if !text.contains(|c: char| c.is_control() || c == ',') && text.trim() == text => {
                Ok(text.to_owned())
            }
            _ => {
                Err((format!("`{text}` is not a label"), "use 1 to 50 characters without commas".to_owned()))
            }
        };
        let title = |text: &str| match text.chars().count() {
            1..=200 if !text.contains(char::is_control) => {
                Wording::parse(text).map_err(|reason| (reason, String::new()))
            }
            _ => Err((
                "the title is empty, or longer than one line of 200 characters".to_owned(),
                "shorten it".to_owned(),
            )),
        };
        PullRequestConfig {
            extras: Extras {
                labels: self.values(&raw.labels, "pullRequest.labels", label),
                reviewers: self.values(&raw.reviewers, "pullRequest.reviewers", |t| values::account(t, true)),
                assignees: self
                    .values(&raw.assignees, "pullRequest.assignees", |t| values::account(t, false)),
            },
            draft: word(&raw.draft) == Some("true"),
            title: self.value(&raw.title, "pullRequest.title", title),
        }
    }

    fn commit(&mut self, raw: &Raw) -> CommitConfig {
        let message = |text: &str| {
            let own = |line: &str| TRAILERS.iter().any(|t| line.trim().to_ascii_lowercase().starts_with(t));
            if let Some(line) = text.lines().find(|l| own(l)) {
                let reason = format!("`{}` is a trailer that the program writes itself", line.trim());
                return Err((reason, "remove the line".to_owned()));
            }
            if text.trim().is_empty() || text.contains(|c: char| c.is_control() && c != '\n') {
                return Err((
                    "the message is empty, or has control characters".to_owned(),
                    "write plain text".to_owned(),
                ));
            }
            Wording::parse(text).map_err(|reason| (reason, String::new()))
        };
        CommitConfig {
            author: self.value(&raw.author, "commit.author", values::author),
            message: self.value(&raw.message, "commit.message", message),
            sign_off: word(&raw.sign_off) == Some("true"),
        }
    }

    fn targets(&mut self, raw: &Raw) -> Vec<TargetConfig> {
        let zone = self.value(&raw.policy.timezone, "policy.timezone", values::zone);
        let zone = zone.unwrap_or(TimeZone::UTC);
        let freeze = raw.freeze.iter().filter_map(|f| self.freeze(f, &zone)).collect();
        let general = Policy { paused: self.paused(raw), freeze, ..Policy::default() };
        let general = self.policy(&raw.policy, general, None, "policy");
        let gates = self.gates(&raw.gates, Gates::default());
        let merge = self.merge(&raw.merge, None);
        let split = if raw.targets_word.is_some() { Split::Each } else { Split::Laggards };
        let general = TargetConfig { policy: general, gates, merge, split, ..TargetConfig::default() };
        let Some(targets) = &raw.targets else { return vec![general] };
        if targets.value.is_empty() {
            let hint = "remove the key: one target then has all files";
            self.mistakes.add(targets.span.clone(), "targets", "the list of targets is empty", hint);
        }
        let mut names = Vec::new();
        for (n, target) in targets.value.iter().enumerate() {
            self.target_place(target, n, targets.value.len(), &mut names);
        }
        let zone = word(&raw.policy.timezone);
        self.promotion(&targets.value);
        targets.value.iter().map(|target| self.target(target, &general, zone)).collect()
    }

    /// Checks that what goes before a target is there, is named once, and does not come after it.
    fn promotion(&mut self, targets: &[RawTarget]) {
        const KEY: &str = "targets[].after.target";
        let known: Vec<&str> = targets.iter().filter_map(|target| word(&target.name)).collect();
        for target in targets {
            let own = word(&target.name).unwrap_or_default();
            for (n, after) in target.after.iter().enumerate() {
                self.required(&after.target, &after.span, KEY, "the target before");
                let Some(before) = &after.target else { continue };
                let name = before.value.as_str();
                let (reason, hint) = if !known.contains(&name) {
                    let near = nearest(name, known.iter().copied());
                    let hint = near.map(|near| format!("did you mean `{near}`?"));
                    (
                        format!("there is no target `{name}`"),
                        hint.unwrap_or_else(|| "name one of this file".into()),
                    )
                } else if target.after.iter().take(n).any(|other| word(&other.target) == Some(name)) {
                    (format!("`{name}` is named twice"), "keep one of them".to_owned())
                } else if name == own {
                    (format!("`{own}` goes after itself"), "name the target before it".to_owned())
                } else if comes_after(targets, name, own) {
                    let reason =
                        format!("`{own}` goes after `{name}`, and that after it: neither would ever move");
                    (reason, "remove one of the two".to_owned())
                } else {
                    continue;
                };
                self.add(before, KEY, reason, &hint);
            }
        }
    }

    /// Checks a target against its siblings.
    fn target_place(&mut self, target: &RawTarget, n: usize, count: usize, names: &mut Vec<String>) {
        self.required(&target.name, &target.span, "targets[].name", "the target");
        if let Some(name) = &target.name {
            // Branch names that differ in case alone are one on some servers.
            let folded = name.value.to_lowercase();
            if names.contains(&folded) {
                let reason = format!("two targets are called `{}`", name.value);
                self.add(name, "targets[].name", reason, "rename one of them");
            }
            names.push(folded);
        }
        if target.paths.is_none() && target.labels.is_none() && count > 1 {
            let reason =
                format!("target {} has no `paths`, so it has all files, and there are other targets", n + 1);
            self.mistakes.add(target.span.clone(), "targets[].paths", reason, "add `paths:`, or `labels:`");
        }
    }

    fn target(&mut self, raw: &RawTarget, general: &TargetConfig, zone: Option<&str>) -> TargetConfig {
        if raw.paths.as_ref().is_some_and(Vec::is_empty) {
            let hint = "remove the key, or name the target's files";
            self.mistakes.add(
                raw.span.clone(),
                "targets[].paths",
                "`paths` is empty, so the target has no file",
                hint,
            );
        }
        if raw.labels.as_ref().is_some_and(Vec::is_empty) {
            let hint = "remove the key, or name a label";
            let reason = "`labels` is empty, so the target has every installation";
            self.mistakes.add(raw.span.clone(), "targets[].labels", reason, hint);
        }
        let place = |words: &Words| words.iter().flatten().next().map(|word| word.span.clone());
        let labels_at = place(&raw.labels).unwrap_or(raw.span.clone());
        let span = place(&raw.paths).unwrap_or(labels_at.clone());
        let name = self.value(&raw.name, "targets[].name", values::name).unwrap_or_default();
        TargetConfig {
            group: name.clone(),
            target: Target {
                name,
                paths: self.globs(&raw.paths, "targets[].paths"),
                exclude: self.globs(&raw.exclude, "targets[].exclude"),
                all: raw.paths.is_none(),
                ..Target::default_all()
            },
            labels: self.values(&raw.labels, "targets[].labels", values::label),
            split: if raw.each.is_some() { Split::Each } else { Split::Whole },
            policy: self.policy(&raw.policy, general.policy.clone(), zone, "targets[].policy"),
            kubernetes: self.value(&raw.kubernetes, "targets[].kubernetes", values::kubernetes),
            after: raw.after.iter().filter_map(|after| self.after(after)).collect(),
            gates: self.gates(&raw.gates, general.gates.clone()),
            merge: self.merge(&raw.merge, general.merge),
            span,
            labels_at,
        }
    }

    /// Puts the keys that are written over those that hold already.
    fn gates(&mut self, raw: &RawGates, under: Gates) -> Gates {
        let active = match &raw.active {
            Some(_) => self.values(&raw.active, "gates.active", values::context),
            None => under.active,
        };
        let proposed = match &raw.proposed {
            Some(_) => self.values(&raw.proposed, "gates.proposed", values::context),
            None => under.proposed,
        };
        let timeout = self.value(&raw.timeout, "gates.timeout", values::duration);
        let on_failure = match word(&raw.on_failure) {
            Some("rollback") => OnFailure::Rollback,
            Some(_) => OnFailure::Hold,
            None => under.on_failure,
        };
        Gates { active, proposed, timeout: timeout.unwrap_or(under.timeout), on_failure }
    }

    /// Puts the keys that are written over those that hold already.
    fn merge(&mut self, raw: &RawMerge, under: Option<Merge>) -> Option<Merge> {
        let merges = match word(&raw.when) {
            Some(when) => when == "routine",
            None => under.is_some(),
        };
        let after = self.value(&raw.after, "merge.after", values::duration);
        let after = after.or(under.map(|under| under.after)).unwrap_or(SignedDuration::from_hours(24));
        merges.then_some(Merge { after })
    }

    fn after(&mut self, raw: &RawAfter) -> Option<After> {
        let soak = self.value(&raw.soak, "targets[].after.soak", values::duration).unwrap_or_default();
        Some(After { target: word(&raw.target)?.to_owned(), soak })
    }

    /// Puts the keys that are written over those that hold already; `zone` is the time zone that does, be there a
    /// schedule already or not.
    fn policy(&mut self, raw: &RawPolicy, under: Policy, zone: Option<&str>, section: &str) -> Policy {
        let key = |name: &str| format!("{section}.{name}");
        let channel = match word(&raw.channel) {
            Some("edge") => Channel::Edge,
            Some("recommended") => Channel::Recommended,
            Some("milestone") => Channel::Milestone,
            _ => under.channel,
        };
        if section != "policy" {
            self.value(&raw.timezone, &key("timezone"), values::zone);
        }
        let schedule = self.value(&raw.schedule, &key("schedule"), values::cron);
        let expression = schedule.or(under.schedule.map(|schedule| schedule.expression));
        let timezone = word(&raw.timezone).or(zone).unwrap_or("UTC").to_owned();
        let skip = match &raw.skip {
            Some(_) => self.values(&raw.skip, &key("skip"), values::edge),
            None => under.skip,
        };
        Policy {
            channel,
            soak: self.value(&raw.soak, &key("soak"), values::duration).unwrap_or(under.soak),
            range: self.value(&raw.range, &key("range"), values::range).or(under.range),
            skip,
            schedule: expression.map(|expression| Schedule { expression, timezone }),
            paused: under.paused,
            freeze: under.freeze,
            to: None,
        }
    }

    fn paused(&mut self, raw: &Raw) -> Option<String> {
        let read = |text: &str| match text.trim() {
            "" => Err(("the reason is empty".to_owned(), "say why, or remove the key".to_owned())),
            text => Ok(text.to_owned()),
        };
        self.value(&raw.paused, "paused", read)
    }

    fn freeze(&mut self, raw: &RawFreeze, zone: &TimeZone) -> Option<Freeze> {
        let keys = ["freeze[].from", "freeze[].to", "freeze[].reason"];
        for (key, word) in keys.into_iter().zip([&raw.from, &raw.to, &raw.reason]) {
            self.required(word, &raw.span, key, "the freeze");
        }
        let from = self.value(&raw.from, keys[0], |t| values::moment(t, zone, false));
        let to = self.value(&raw.to, keys[1], |t| values::moment(t, zone, true));
        let (from, to) = (from?, to?);
        if let Some(word) = raw.to.as_ref().filter(|_| from >= to) {
            let start = raw.from.as_ref().map_or("", |f| f.value.as_str());
            let reason = format!("the freeze ends (`{}`) before it begins (`{start}`)", word.value);
            self.add(word, keys[1], reason, "swap the two");
        }
        Some(Freeze { from, to, reason: word(&raw.reason)?.to_owned() })
    }
}
