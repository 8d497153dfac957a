//! A day of the daemon over many repositories, on a clock that leaps over what nobody does: what it asks of them and of the
//! feeds, what it does at a rate limit, when the forge fails for an hour, and when it is ended, and its memory.
#![allow(clippy::print_stderr, reason = "what it measures is for people")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use jiff::Timestamp;

use super::daemon::Daemon;
use crate::{
    support::{
        clock::Clock,
        controls::Fault,
        feed::release,
        http::Response,
        mesh::{CONTROL_PLANE, CRDS, MESH, SOURCES, WEB},
        scene::{PLATFORM, Scene, TOKEN},
    },
    years::chance::Chance,
};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
/// From one pass to the next, and what may be on top.
const INTERVAL: i64 = 15 * MINUTE;
const ROUND: i64 = INTERVAL + INTERVAL / 10;
/// The threads that sleep where there is nothing to do: workers, and who looks at the list and at the wish to stop.
const WORKERS: usize = 4;
const SLEEPERS: usize = WORKERS + 2;
/// What GitHub allows an installation of so many repositories in an hour.
const HOURLY: u64 = 12_500;

/// A request, and when it came.
struct Heard {
    at: i64,
    line: String,
}

struct Day {
    scene: Scene,
    clock: Arc<Clock>,
    names: Vec<String>,
    heard: Arc<Mutex<Vec<Heard>>>,
    daemon: Option<Daemon>,
    newest: u32,
}

/// The memory of a process, in megabytes.
fn memory(daemon: &Daemon) -> f64 {
    let pid = daemon.running.pid().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

// === impl Day ===

impl Day {
    /// Midnight, before the daemon begins. Every tenth repository is a release behind.
    fn new(many: usize) -> Self {
        let newest = |text: &str| text.replace("edge-26.8.2", "edge-26.8.3").replace("2026.8.2", "2026.8.3");
        let texts = [SOURCES, CRDS, CONTROL_PLANE, WEB].map(newest);
        let files: Vec<(&str, &str)> =
            MESH.iter().zip(&texts).map(|((path, _), text)| (*path, text.as_str())).collect();
        let (scene, clock) = (Scene::new(MESH), Clock::at("2026-08-20T00:00:00Z"));
        let names: Vec<String> = (0..many).map(|n| format!("fleet/r{n:04}x")).collect();
        for (n, name) in names.iter().enumerate() {
            scene.github.repo(name, if n % 10 == 0 { MESH } else { &files });
        }
        let list: String = names.iter().map(|name| format!("{}\n", scene.github.url(name))).collect();
        std::fs::write(scene.home.path().join("repositories"), list).unwrap();
        scene.github.follow_clock(&clock);
        let day = Self { scene, clock, names, heard: Arc::default(), daemon: None, newest: 3 };
        day.listen();
        day
    }

    /// Notes every request with its time.
    fn listen(&self) {
        let (heard, clock) = (Arc::clone(&self.heard), Arc::clone(&self.clock));
        self.scene.github.controls().rules.before_each("*", "*", move |request| {
            let line = format!("{} {}", request.method, request.target());
            heard.lock().unwrap().push(Heard { at: clock.now(), line });
        });
    }

    fn start(&mut self) {
        let run = self.scene.home.run([
            "serve",
            "--interval",
            "15m",
            "--listen",
            "127.0.0.1:0",
            "--forge",
            "github",
        ]);
        let run = run.arg("--repos-file").arg(self.scene.home.path().join("repositories"));
        let run = run.args(self.scene.feed.flags()).env("UPLINKER_TOKEN", TOKEN);
        self.daemon = Some(Daemon::start(self.clock.given_to(run, SLEEPERS)));
    }

    fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().unwrap()
    }

    fn wait(&self, seconds: i64) {
        self.clock.until(self.clock.now() + seconds);
    }

    /// What was asked of the host since the last call.
    fn asked(&self) -> Vec<Heard> {
        self.scene.github.controls().log.take();
        std::mem::take(&mut self.heard.lock().unwrap())
    }

    /// Has a release come out.
    fn publish(&mut self) {
        self.newest += 1;
        let now = Timestamp::from_second(self.clock.now()).unwrap();
        self.scene.feed.publish(release(&format!("edge-26.8.{}", self.newest), &now.to_string()));
    }

    /// The repositories that have no open pull request to the newest release. Nothing is ever there twice, and no branch
    /// without its pull request.
    fn behind(&self) -> usize {
        let version = format!("2026.8.{}", self.newest);
        let is_behind = |name: &&String| {
            let (pulls, bare) = (self.scene.github.pulls(name), self.scene.github.bare(name));
            assert!(pulls.len() <= 1 && pulls.iter().all(|pull| pull.open), "{name}: {pulls:#?}");
            let text = bare.tip(PLATFORM).and_then(|_| bare.read(PLATFORM, "linkerd/control-plane.yaml"));
            pulls.is_empty() || !text.is_some_and(|text| text.contains(&version))
        };
        self.names.iter().filter(is_behind).count()
    }

    fn assert_current(&self, when: &str) {
        assert_eq!(self.behind(), 0, "{when}\n{}", tail(&self.daemon().running.stderr()));
        for name in &self.names {
            let branches: Vec<String> = self.scene.github.bare(name).branches().into_keys().collect();
            assert_eq!(branches, ["main", PLATFORM], "{name}");
        }
    }

    /// Nothing happens: what that costs.
    fn quiet(&self, hours: i64) {
        let many = self.names.len();
        self.asked();
        for hour in 0..hours {
            let (before, _) = (self.daemon().passes("success"), self.scene.feed.controls().log.take());
            self.wait(HOUR);
            let passes = self.daemon().passes("success") - before;
            let (asked, feeds) = (self.asked(), self.scene.feed.controls().log.take());
            let polls = feeds.iter().filter(|entry| entry.target.contains("index.yaml")).count();
            let mut each: BTreeMap<&str, usize> = BTreeMap::new();
            for heard in &asked {
                let name = heard.line.split('/').find(|part| part.starts_with('r') && part.contains('x'));
                *each.entry(name.map_or("", |name| &name[..6])).or_default() += 1;
            }
            let most = each.values().max().copied().unwrap_or_default();
            eprintln!(
                "quiet hour {hour}: {passes} passes, {} requests, the most of a repository {most}, {polls} polls of the feeds in {} \
                 requests, {:.1} MB",
                asked.len(),
                feeds.len(),
                memory(self.daemon())
            );
            // On a busy machine the work itself takes a part of the hour, and some are at it when the hour ends.
            let begun = passes + WORKERS as u64;
            assert!(passes as usize >= many * 2 && asked.len() as u64 <= 2 * begun, "{}", asked.len());
            // Five passes begin in an hour at most.
            assert!(most <= 2 * 5, "{each:?}");
            assert!(polls <= 9, "they are read when half an interval has passed");
        }
    }

    /// A release comes out while the hour's requests are nearly used up.
    fn at_the_primary_limit(&mut self) {
        let (spent, reset) = (self.names.len() as u64 / 2, self.clock.now() + 50 * MINUTE);
        self.publish();
        self.scene.github.limit_hourly(spent, reset, HOURLY);
        self.clock.until(reset - 1);
        let (asked, refused) = (self.asked(), self.scene.github.refused());
        eprintln!("primary limit: {} requests, {refused} refused, {} behind", asked.len(), self.behind());
        assert!(self.behind() > 0, "it was in the way");
        assert!(refused < WORKERS, "{refused} were asked after the last");
        self.clock.until(reset + 2 * ROUND);
        let first =
            self.asked().into_iter().filter(|heard| heard.line.contains("/api/")).map(|heard| heard.at).min();
        assert!(first.is_some_and(|at| at >= reset), "{first:?} {reset}");
        self.assert_current("after the primary limit");
    }

    /// Where it writes much, it is to wait for a while.
    fn at_the_secondary_limit(&mut self) {
        let words =
            "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
        let answer = Response::json(403, &serde_json::json!({"message": words})).with("Retry-After", "100");
        let (since, clock) = (Arc::new(Mutex::new(None)), Arc::clone(&self.clock));
        let told = Arc::clone(&since);
        let rules = &self.scene.github.controls().rules;
        rules.before("PATCH", "*/pulls/*", move |_| *told.lock().unwrap() = Some(clock.now()));
        rules.fault("PATCH", "*/pulls/*", Fault::Answer(answer));
        self.asked();
        self.publish();
        self.wait(2 * ROUND);
        let since = since.lock().unwrap().expect("it writes");
        let asked = self.asked();
        let meanwhile =
            |heard: &&Heard| heard.line.contains("/api/") && (since + 1..since + 100).contains(&heard.at);
        let early: Vec<_> =
            asked.iter().filter(meanwhile).map(|heard| (heard.at - since, &heard.line)).collect();
        eprintln!("secondary limit: {} requests within it", early.len());
        assert!(early.len() < WORKERS, "{early:#?}");
        self.assert_current("after the secondary limit");
    }

    /// The forge fails for an hour, and begins to in the middle of its work.
    fn fails_for_an_hour(&mut self) {
        let failing = |words: &str| Fault::Answer(Response::text(500, words));
        let controls = Arc::clone(self.scene.github.controls());
        self.publish();
        self.wait(INTERVAL / 2);
        // What was pushed gets no pull request.
        controls.rules.fault_nth("PATCH", "*/pulls/*", 0, usize::MAX, failing("It does not write."));
        self.wait(2 * MINUTE);
        let cut = self.behind();
        controls.rules.fault_nth("*", "*", 0, usize::MAX, failing("It is not well."));
        self.publish();
        self.asked();
        self.wait(HOUR);
        let asked = self.asked();
        controls.rules.clear();
        self.listen();
        eprintln!("an hour of 500s: {} requests, {cut} were behind when it began", asked.len());
        // A read is asked three times in a pass, and the passes come after one minute, two, four, eight, and each interval.
        assert!(asked.len() <= self.names.len() * 3 * 9, "{}", asked.len());
        self.wait(ROUND + MINUTE);
        self.assert_current("an interval after the forge came back");
    }

    /// It is asked to stop, or killed, while it works on a release, and started again.
    fn ends_at_any_moment(&mut self, times: usize, chance: &mut Chance) {
        self.publish();
        self.wait(INTERVAL / 2);
        for _ in 0..times {
            self.wait(1 + chance.of(120) as i64);
            let wanted = self.heard.lock().unwrap().len() + 1 + chance.of(20);
            for _ in 0..2_000 {
                if self.heard.lock().unwrap().len() >= wanted {
                    break;
                }
                self.clock.until(self.clock.now() + 1);
            }
            let daemon = self.daemon.take().unwrap();
            if chance.percent(30) {
                daemon.running.kill();
                let _ = daemon.running.done();
            } else {
                daemon.running.terminate();
                let _ = daemon.running.done().exits(0).complains(&["stopped"]);
            }
            assert!(self.scene.github.pulls(&self.names[0]).len() <= 1);
            self.start();
        }
        self.wait(2 * ROUND);
        self.assert_current("after it was ended and started again");
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

/// A day of so many hours, most of which nothing happens in; it ends so often in the last of them.
fn day(many: usize, hours: i64, ends: usize) {
    let mut day = Day::new(many);
    let (begin, real) = (day.clock.now(), std::time::Instant::now());
    day.start();
    day.wait(2 * ROUND);
    let first = memory(day.daemon());
    eprintln!("{many} repositories after half an hour: {first:.1} MB");
    day.quiet(1);
    day.at_the_primary_limit();
    day.at_the_secondary_limit();
    day.fails_for_an_hour();
    let worked = memory(day.daemon());
    day.quiet((hours - 2 - (day.clock.now() - begin) / HOUR).max(1));
    let last = memory(day.daemon());
    assert!(last < worked * 1.1 + 4.0, "memory grows: {first} {worked} {last}");
    day.ends_at_any_moment(ends, &mut Chance(7));
    day.daemon().running.terminate();
    let _ = day.daemon.take().unwrap().running.done().exits(0);
    eprintln!(
        "{:.1} hours in {:.0} s: memory {first:.1} MB at first, {worked:.1} MB after all had a pull request, {last:.1} MB in the end",
        (day.clock.now() - begin) as f64 / HOUR as f64,
        real.elapsed().as_secs_f64()
    );
}

#[test]
fn limits_failures_and_ends_cost_nothing_but_time() {
    day(8, 8, 4);
}

/// `UPLINKER_FLEET` says how many repositories they are, and `scripts/fleet` runs it.
#[test]
fn many_repositories_cost_little_all_day() {
    let many = std::env::var("UPLINKER_FLEET").ok().and_then(|text| text.parse().ok());
    many.into_iter().for_each(|many| day(many, 24, 12));
}
