//! Warm runs: everything was seen before and nothing is new. What is asked of the outside, and what it costs here.

use std::{
    env,
    process::Command,
    sync::{Arc, LazyLock},
    time::Duration,
};

use uplinker::render::Renderer as _;

use crate::{
    Scale, fixture, measure,
    support::{
        charts::ChartRepository,
        controls::Entry,
        feed::{Feed, Published, release},
        github::{GitHub, Token},
        helm::{Bench, Recording},
        manifests::job,
        process::Home,
        repo::BareRepo,
        scene::{REPO, Scene, TOKEN},
    },
    table::{Amount, Row},
};

const ROUNDS: usize = 9;
const MEGABYTE: f64 = 1024.0 * 1024.0;

/// Which pull requests there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// All pins name the newest release, and there was never a pull request.
    Idle,
    /// A pull request for the newest release waits for its reviewer; what it changes in the cluster was rendered.
    Open,
    /// The same, over committed manifests.
    Manifests,
}

/// The charts that are rendered: with `UPLINKER_REAL_CHARTS`, Linkerd's own.
static CHARTS: LazyLock<ChartRepository> = LazyLock::new(|| match env::var_os("UPLINKER_REAL_CHARTS") {
    Some(folder) => ChartRepository::pulled(folder.as_ref()),
    None => ChartRepository::new(),
});

/// Measures one run by itself.
pub fn rows(_: &Scale) -> Vec<Row> {
    [State::Idle, State::Open, State::Manifests].into_iter().flat_map(single).collect()
}

/// Measures repositories that share a daemon.
pub fn served(_: &Scale) -> Vec<Row> {
    const EACH: usize = 3;
    let github = GitHub::start();
    github.token(TOKEN, Token::actions());
    let feed = Feed::start(&published());
    let home = Home::new();
    let name = |n: usize| format!("acme/config-{n}");
    let states = [State::Idle, State::Open];
    for n in 0..2 * EACH {
        github.add(&name(n), |path| repository(path, states[n % 2]));
        let run = home.run(["run", "--forge", "github", "--repo", &github.url(&name(n))]);
        let _ = run.args(feed.flags()).env("UPLINKER_TOKEN", TOKEN).done().exits(0);
    }
    let log = &github.controls().log;
    log.take();
    feed.controls().log.take();
    let urls: Vec<String> = (0..2 * EACH).map(|n| github.url(&name(n))).collect();
    let serve =
        home.run(["serve", "--interval", "1m", "--forge", "github", "-v"]).args(&urls).args(feed.flags());
    let serve = serve.env("UPLINKER_TOKEN", TOKEN).start();
    let seen = |n: usize| log.entries().iter().filter(|e| of(e, &name(n))).count();
    // All first passes begin within a tenth of the interval, and SIGTERM lets the last one end.
    let begin = std::time::Instant::now();
    while (0..2 * EACH).any(|n| seen(n) == 0) {
        assert!(begin.elapsed() < Duration::from_secs(30), "not every repository had its pass");
        std::thread::sleep(Duration::from_millis(20));
    }
    serve.terminate();
    let _ = serve.done().exits(0);
    let most = |state: usize| (0..EACH).map(|n| seen(2 * n + state)).max().unwrap_or(0) as f64;
    let row = |what: &str, state| {
        Row::at_most(
            format!("`serve`, requests a repository in a warm pass, {what}"),
            Amount::Requests(most(state)),
            Amount::Requests(2.0),
        )
    };
    vec![row("idle", 0), row("a pull request open", 1)]
}

fn of(entry: &Entry, name: &str) -> bool {
    let rest = entry.target.split(name).nth(1);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn single(state: State) -> Vec<Row> {
    let scene = Scene::made(|path| repository(path, state));
    published().into_iter().for_each(|release| scene.feed.publish(release));
    scene.feed.serve_packages(CHARTS.packages());
    let helm = Recording::new(scene.home.path(), "");
    let _ = scene.run().env("UPLINKER_HELM", helm.program()).done().exits(0);
    assert_eq!(
        (scene.github.pulls(REPO).len(), helm.starts() > 0),
        match state {
            State::Idle => (0, false),
            State::Open | State::Manifests => (1, true),
        }
    );
    let (mut costs, mut requests, mut fetches) = (Vec::new(), Vec::new(), 0);
    scene.requests();
    for _ in 0..ROUNDS {
        scene.feed.controls().log.take();
        costs.push(measure::run(&command(&scene, &helm), scene.home.path(), 0));
        let mut asked = scene.requests();
        fetches +=
            asked.iter().filter(|line| line.starts_with("POST") && line.contains("upload-pack")).count();
        asked.extend(scene.feed.controls().log.take().iter().map(Entry::line));
        requests.push(asked);
    }
    let most = requests.iter().map(Vec::len).max().unwrap_or(0);
    let what = match state {
        State::Idle => "idle",
        State::Open => "a pull request open",
        State::Manifests => "a pull request open for committed manifests",
    };
    eprintln!(
        "  {what}: {}, {:.1} ms",
        requests.last().map(|asked| asked.join(", ")).unwrap_or_default(),
        measure::wall(&costs) * 1e3
    );
    vec![
        Row::at_most(
            format!("warm run, {what}: requests"),
            Amount::Requests(most as f64),
            Amount::Requests(4.0),
        ),
        Row::at_most(
            format!("warm run, {what}: fetches"),
            Amount::Requests(fetches as f64),
            Amount::Requests(0.0),
        ),
        Row::at_most(
            format!("warm run, {what}: starts of Helm"),
            Amount::Requests(helm.starts() as f64),
            Amount::Requests(0.0),
        ),
        Row::at_most(
            format!("warm run, {what}: processor time"),
            Amount::Milliseconds(measure::cpu(&costs) * 1e3),
            Amount::Milliseconds(30.0),
        ),
        Row::at_most(
            format!("warm run, {what}: peak memory"),
            Amount::Bytes(measure::peak(&costs)),
            Amount::Bytes(40.0 * MEGABYTE),
        ),
    ]
}

fn command(scene: &Scene, helm: &Recording) -> Command {
    let mut run = measure::uplinker(scene.home.path());
    run.args(["run", "--forge", "github", "--repo", &scene.github.url(REPO)]);
    run.args(scene.feed.flags()).env("UPLINKER_TOKEN", TOKEN).env("UPLINKER_HELM", helm.program());
    run
}

/// Makes a repository of a usual size: 500 manifests, and Linkerd's own.
fn repository(path: std::path::PathBuf, state: State) -> BareRepo {
    let repo = BareRepo::empty(path, "main");
    let others = fixture::manifests(500).filter(|f| !contains(&f.content, b"inkerd"));
    if state == State::Manifests {
        fixture::import(repo.path(), "main", committed().into_iter().chain(others));
        return repo;
    }
    let files = fixture::platform().into_iter().map(|mut file| {
        if state == State::Idle {
            let text = String::from_utf8_lossy(&file.content);
            let newest = text.replace(fixture::OLD, "edge-26.8.3").replace(fixture::OLD_CHART, "2026.8.3");
            file.content = newest.into_bytes();
        }
        file
    });
    fixture::import(repo.path(), "main", files.chain(others));
    repo
}

/// Helm's output at the old release.
fn committed() -> Vec<fixture::File> {
    let bench = Bench::new(&CHARTS.url());
    let charts = ["linkerd-crds", "linkerd-control-plane"];
    let texts = bench.helm().render(&charts.map(|chart| job(chart, fixture::OLD_CHART, "{}")));
    let file = |(chart, text): (&str, Result<Arc<str>, _>)| {
        let content = text.unwrap_or_else(|e| panic!("{e}")).as_bytes().to_vec();
        fixture::File { path: format!("mesh/{chart}.yaml"), content }
    };
    charts.into_iter().zip(texts).map(file).collect()
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

/// Makes as many releases as two years bring, so that the feeds have the size of the real ones.
fn published() -> Vec<Published> {
    let months = (24..=26).flat_map(|year| (1..=12).map(move |month| (year, month)));
    let until = months.filter(|(year, month)| (*year, *month) <= (26, 8));
    let all = until.flat_map(|(year, month)| {
        (1..=3).map(move |n| {
            let date = format!("20{year}-{month:02}-{:02}T09:00:00Z", n * 7);
            release(&format!("edge-{year}.{month}.{n}"), &date)
                .notes(&"* A change by @someone in #1234\n".repeat(60))
        })
    });
    all.collect()
}
