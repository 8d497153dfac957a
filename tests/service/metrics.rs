//! The metrics: what they say is so, and they say it within bounds.

use super::daemon::{Daemon, over, until};
use crate::support::{
    mesh::{MESH, mesh_and},
    scene::{REPO, Scene, TOKEN},
};

#[test]
fn the_metrics_tell_what_is_so() {
    let scene = Scene::new(MESH);
    let daemon = Daemon::settled(&scene);
    let url = scene.github.url(REPO);
    let stage = |name: &str, stage: &str| {
        let labels = format!("repository=\"{url}\",target=\"default\",stage=\"{stage}\"");
        daemon.metric(&format!("uplinker_{name}{{{labels}}}"))
    };
    assert_eq!(stage("lag_releases", "platform"), Some(1.0));
    assert_eq!(stage("lag_days", "platform"), Some(7.0));
    assert_eq!(daemon.metric("uplinker_releases"), Some(3.0));
    let newest = "uplinker_newest_release_timestamp_seconds{release=\"edge-26.8.3\"}";
    assert_eq!(daemon.metric(newest), Some(1_786_784_400.0));
    assert_eq!(daemon.metric("uplinker_decisions{decision=\"propose\"}"), Some(1.0));
    assert_eq!(daemon.metric("uplinker_decisions{decision=\"hold\"}"), Some(1.0));
    assert_eq!(daemon.metric("uplinker_holds{reason=\"up-to-date\"}"), Some(1.0));
    assert_eq!(daemon.metric("uplinker_pull_requests{state=\"open\"}"), Some(1.0));
    assert_eq!(daemon.metric("uplinker_pull_request_changes_total{change=\"opened\"}"), Some(1.0));
    assert_eq!(daemon.metric("uplinker_pass_duration_seconds_count"), Some(1.0));
    assert_eq!(daemon.metric("uplinker_ready"), Some(1.0));
    assert!(daemon.metric("uplinker_requests_total{host=\"127.0.0.1\"}").unwrap() > 5.0);
    assert!(daemon.metric("uplinker_rate_limit_remaining{host=\"127.0.0.1\"}").is_some());
    let answer = daemon.get("/metrics");
    let kind = answer.header("content-type").unwrap();
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    let text = answer.as_text();
    assert!(text.ends_with("# EOF\n") && !text.contains(TOKEN), "{text}");
}

#[test]
fn a_repository_with_many_targets_has_a_bounded_number_of_series() {
    let targets: String = (0..300).map(|n| format!("  - name: t{n}\n    paths: [c{n}/**]\n")).collect();
    let config = format!("version: 1\npaused: a test\ntargets:\n{targets}");
    let crds: Vec<(String, &str)> = (0..300).map(|n| (format!("c{n}/crds.yaml"), MESH[1].1)).collect();
    let mut files = mesh_and(&[("uplinker.yaml", &config)]);
    files.extend(crds.iter().map(|(path, text)| (path.as_str(), *text)));
    let scene = Scene::new(MESH);
    scene.github.repo("acme/many", &files);
    let daemon = Daemon::start(over(&scene, &["acme/many"]));
    until("the pass", || {
        daemon.passes("success") + daemon.passes("failed") + daemon.passes("temporary") == 1
    });
    let text = daemon.get("/metrics").as_text();
    let series = text.lines().filter(|line| line.starts_with("uplinker_lag_releases{")).count();
    assert_eq!(series, 50, "{}", daemon.running.stderr());
    assert!(daemon.metric("uplinker_lag_untold").unwrap() >= 250.0);
}
