//! The metrics, as OpenMetrics.
//!
//! In: what the board knows, and what was counted of requests. Out: text. No label holds more than what the operator listed,
//! a word of a closed list, or the names of a bounded number of targets.

use std::{collections::BTreeMap, fmt, sync::atomic::AtomicU64};

use jiff::Timestamp;
use prometheus_client::{
    encoding::text,
    metrics::{counter::Counter, family::Family, gauge::Gauge, info::Info},
    registry::Registry,
};

use super::{
    board::{Decided, Facts},
    readiness::unready,
};
use crate::{
    report::{StatusRow, word_of},
    sys::http::Host,
};

/// The content type of what is written here.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The stages of so many repositories are told one by one; the rest are counted. What a repository calls its targets is its
/// own affair, and each name is a series that a Prometheus keeps.
const STAGES: usize = 5000;

/// Of one repository, so many.
const STAGES_EACH: usize = 50;

/// The longest name of a target that a label takes, in characters.
const LONGEST: usize = 100;

type Labels = Vec<(&'static str, String)>;

/// A registry that is made anew for each scrape, of what is known then.
struct Sheet(Registry);

/// Writes the metrics.
pub(super) fn render(
    facts: &Facts,
    hosts: &BTreeMap<String, Host>,
    deliveries: &BTreeMap<&'static str, u64>,
    now: Timestamp,
) -> Result<String, fmt::Error> {
    let mut sheet = Sheet(Registry::with_prefix("uplinker"));
    let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
    sheet.0.register("build", "The program", version);
    sheet.gauge("ready", "Whether /readyz says so", f64::from(u8::from(unready(facts, now).is_none())));
    sheet.gauge("start_time_seconds", "When it started", seconds(facts.started));
    releases(&mut sheet, facts);
    sheet.gauge("repositories", "Repositories on the list", facts.repositories.len() as f64);
    passes(&mut sheet, facts);
    decisions(&mut sheet, facts);
    lag(&mut sheet, facts);
    let answered = hosts.iter().map(|(host, seen)| (vec![("host", host.clone())], seen.requests));
    sheet.counters("requests", "Answers to HTTP requests; what Git transfers is not among them", answered);
    let left = |(host, seen): (&String, &Host)| Some((vec![("host", host.clone())], seen.remaining? as f64));
    let help = "Requests that the host's limit left when it answered last";
    sheet.gauges("rate_limit_remaining", help, hosts.iter().filter_map(left));
    let taken = deliveries.iter().map(|(result, count)| (vec![("result", (*result).to_owned())], *count));
    sheet.counters("webhooks", "Deliveries of webhooks, by what became of them", taken);
    let mut out = String::new();
    text::encode(&mut out, &sheet.0)?;
    Ok(out)
}

fn releases(sheet: &mut Sheet, facts: &Facts) {
    let Some(releases) = facts.releases else { return };
    sheet.gauge("releases", "Linkerd edge releases that the feeds tell of", releases.count as f64);
    let Some((newest, published)) = releases.newest else { return };
    let labels = vec![("release", newest.to_string())];
    let help = "The newest release that Linkerd does not advise against: when it was published, 0 where no feed says so";
    let published = published.map_or(0.0, seconds);
    sheet.gauges("newest_release_timestamp_seconds", help, [(labels, published)]);
}

fn passes(sheet: &mut Sheet, facts: &Facts) {
    let by_end = facts.passes.iter().map(|(end, count)| (vec![("result", (*end).to_owned())], *count));
    sheet.counters("passes", "Passes since the start, by how they ended", by_end);
    let help = "How long passes took";
    sheet.0.register("pass_duration_seconds", help, facts.durations.clone());
    let last = facts.succeeded.map_or(0.0, seconds);
    let help = "When the last pass began that succeeded, over any repository; 0 before the first";
    sheet.gauge("last_success_timestamp_seconds", help, last);
    let failing = facts.repositories.values().filter(|known| known.failure().is_some()).count();
    sheet.gauge("repositories_failing", "Repositories whose last pass failed", failing as f64);
    let changes =
        facts.changes.iter().map(|(change, count)| (vec![("change", (*change).to_owned())], *count));
    let help = "Pull requests that were opened, updated, merged or closed since the start";
    sheet.counters("pull_request_changes", help, changes);
}

/// What the last passes decided, for all stages of all targets.
fn decisions(sheet: &mut Sheet, facts: &Facts) {
    let stages = || facts.repositories.values().flat_map(|known| &known.stages);
    let count = |label: &'static str, word: &dyn Fn(&Decided) -> Option<String>| {
        let mut counts = BTreeMap::<String, f64>::new();
        stages().filter_map(word).for_each(|word| *counts.entry(word).or_default() += 1.0);
        counts.into_iter().map(|(word, count)| (vec![(label, word)], count)).collect::<Vec<_>>()
    };
    let decided = count("decision", &|stage| Some(word_of(&stage.outcome)));
    sheet.gauges("decisions", "Stages of targets, by what the last pass decided", decided);
    let holds = count("reason", &|stage| stage.hold.clone());
    sheet.gauges("holds", "Stages of targets that wait, by the reason", holds);
    let pulls = count("state", &|stage| stage.pull.map(str::to_owned));
    sheet.gauges("pull_requests", "Pull requests of ours as the last passes saw them, by state", pulls);
}

/// How far each stage is behind the newest release.
fn lag(sheet: &mut Sheet, facts: &Facts) {
    let all = facts.repositories.iter().flat_map(|(name, known)| {
        let rows = known.status.iter().flat_map(|status| &status.targets);
        rows.take(STAGES_EACH).map(move |row| (name, row))
    });
    let shown: Vec<(&String, &StatusRow)> = all.take(STAGES).collect();
    let labels = |name: &str, row: &StatusRow| {
        let target = row.target.chars().take(LONGEST).collect();
        vec![("repository", name.to_owned()), ("target", target), ("stage", row.stage.name().to_owned())]
    };
    let behind = |(name, row): &(&String, &StatusRow)| Some((labels(name, row), row.behind?.releases as f64));
    let help = "How many releases a stage is behind the newest";
    sheet.gauges("lag_releases", help, shown.iter().filter_map(behind));
    let days = |(name, row): &(&String, &StatusRow)| Some((labels(name, row), row.behind?.days? as f64));
    let help = "How many days lie between the releases, where both dates are known";
    sheet.gauges("lag_days", help, shown.iter().filter_map(days));
    let every = facts.repositories.values().filter_map(|known| known.status.as_ref());
    let untold = every.map(|status| status.targets.len()).sum::<usize>() - shown.len();
    sheet.gauge("lag_untold", "Stages that are too many for series of their own", untold as f64);
}

fn seconds(time: Timestamp) -> f64 {
    time.as_second() as f64
}

// === impl Sheet ===

impl Sheet {
    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        let gauge = Gauge::<f64, AtomicU64>::default();
        gauge.set(value);
        self.0.register(name, help, gauge);
    }

    fn gauges(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, f64)>) {
        let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(value);
        }
        self.0.register(name, help, family);
    }

    fn counters(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, Counter>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).inc_by(value);
        }
        self.0.register(name, help, family);
    }
}
