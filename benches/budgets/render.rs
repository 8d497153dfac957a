//! Rendering: chart packages in, manifests out, against bare runs of `helm template` for the same pairs over the cores.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use tempfile::TempDir;
use uplinker::{
    helm::{Layer, Template},
    render::{ChartId, Job, Renderer as _, Take},
};

use crate::{
    Scale, measure,
    support::{
        charts::{CHARTS, ChartRepository, files},
        helm::{Bench, helm},
    },
    table::{Amount, Row},
};

/// Helm makes keys for the certificates that it invents, and the time for a key is a matter of luck.
const ROUNDS: usize = 15;

const VALUES: &str =
    "identityTrustAnchorsPEM: anchors\nidentity: {issuer: {tls: {crtPEM: crt, keyPEM: key}}}\n";

/// Measures.
pub fn rows(scale: &Scale) -> Vec<Row> {
    let rounds = scale.of(ROUNDS * 10) / 10;
    let once = |take| {
        let versions = ["2026.6.3", "2026.8.3"];
        let pairs = CHARTS.iter().flat_map(move |chart| versions.map(|version| (*chart, version)));
        pairs.map(move |(chart, version)| job(chart, version, take))
    };
    let twice: Vec<Job> = once(Take::First).chain(once(Take::Second)).collect();
    vec![
        row(
            "render what chart pins deploy, before and after",
            &once(Take::First).collect::<Vec<_>>(),
            rounds,
        ),
        row("render committed manifests, before and after, twice each", &twice, rounds),
    ]
}

fn job(chart: &str, version: &str, take: Take) -> Job {
    Job {
        chart: ChartId { name: chart.to_owned(), version: version.to_owned() },
        template: Template { values: vec![Layer(VALUES.into())], ..Template::of(chart, "linkerd") },
        take,
    }
}

fn row(work: &str, jobs: &[Job], rounds: usize) -> Row {
    let repository = ChartRepository::new();
    let bench = Bench::new(&repository.url());
    let unpacked = TempDir::new().expect("a folder");
    let charts = lay_out(unpacked.path(), jobs);
    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(3) {
        let start = Instant::now();
        bare_runs(unpacked.path(), &charts, jobs);
        floor.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let renderer = bench.helm();
        assert!(renderer.render(jobs).iter().all(Result::is_ok), "a chart that does not render");
        drop(renderer);
        ours.push(start.elapsed().as_secs_f64());
    }
    let (floor, ours) = (measure::median(floor), measure::median(ours));
    Row::times(work, Amount::Seconds(floor), Amount::Seconds(ours), 1.15)
}

/// Unpacks the charts, as somebody has who calls Helm by hand.
fn lay_out(folder: &Path, jobs: &[Job]) -> BTreeMap<ChartId, PathBuf> {
    fs::write(folder.join("values.yaml"), VALUES).expect("written");
    let mut all = BTreeMap::new();
    for chart in jobs.iter().map(|job| &job.chart) {
        let place = folder.join(chart.to_string());
        for (path, bytes) in files(&chart.name, &chart.version) {
            let path = place.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, bytes).expect("written");
        }
        all.insert(chart.clone(), place);
    }
    all
}

fn bare_runs(folder: &Path, charts: &BTreeMap<ChartId, PathBuf>, jobs: &[Job]) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let output = Command::new(helm())
                .args(["template", "--namespace=linkerd", "--values=values.yaml", &job.template.release])
                .arg(&charts[&job.chart])
                .current_dir(folder)
                .stdin(Stdio::null())
                .output()
                .expect("helm");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
}
