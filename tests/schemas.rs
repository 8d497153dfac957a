//! The schemas of reports: what the program prints is what they say, and they take nothing else.
//!
//! Every test that reads JSON from the program checks it against its schema; here that this can fail.

use crate::support::{
    charts::ChartRepository,
    feed::release,
    helm::helm,
    http::send,
    mesh::{MESH, mesh_and},
    process::Home,
    scene::{REPO, Scene, TOKEN},
    schema::{DOCUMENTS, refusal},
};
use serde_json::{Map, Value, json};
use uplinker::report::Document;

/// Real reports of each form.
fn reports() -> Vec<Value> {
    let values = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: linkerd edge-26.8.2\n  broken: [\n";
    let scene = Scene::new(&mesh_and(&[
        ("apps/broken.yaml", values),
        ("Makefile", "all:\n\thelm template x edge/linkerd-crds --version 2026.8.2 > linkerd.yaml\n"),
    ]));
    let charts = ChartRepository::new();
    scene.feed.serve_packages(charts.packages());
    let json = |command: &str| {
        let run = scene.command(command).env("UPLINKER_HELM", helm()).args(["--format", "json"]);
        run.done().exits(0).json()
    };
    let releases = || {
        let run = scene.home.run(["releases", "--format", "json"]).args(scene.feed.flags());
        run.done().exits(0).json()
    };
    let repositories =
        scene.home.run(["repositories", "--format", "json", "https://github.com/o/n"]).done().exits(0).json();
    let pins = {
        let run = scene.home.run(["pins", "--format", "json"]).arg(scene.repo.path());
        run.done().exits(0).json()
    };
    let verify =
        scene.home.run(["verify", "--format", "json"]).arg(format!("--charts-url={}", scene.feed.charts()));
    let verify = verify.env("UPLINKER_HELM", helm()).arg(scene.repo.path()).done().exits(0).json();
    let mut all = vec![
        pins,
        json("plan"),
        json("run"),
        json("run"),
        json("status"),
        json("doctor"),
        repositories,
        verify,
        releases(),
    ];
    all.extend(served(&scene));
    all
}

/// What a daemon answers.
fn served(scene: &Scene) -> [Value; 3] {
    scene.github.close(REPO, 1, "ada");
    scene.feed.publish(release("edge-26.8.4", "2026-08-22T09:00:00Z"));
    let run = scene.home.run(["serve", "--listen", "127.0.0.1:0", "--forge", "github"]);
    let run = run.arg(scene.github.url(REPO)).args(scene.feed.flags()).env("UPLINKER_TOKEN", TOKEN);
    let daemon = run.start();
    let address = daemon.address();
    let get = |path: &str| send(address, "GET", path, &[], b"").unwrap().as_json();
    let start = std::time::Instant::now();
    let all = loop {
        let all = get("/api/v1/repositories");
        if !all["repositories"][0]["status"].is_null() {
            break all;
        }
        assert!(start.elapsed().as_secs() < 180, "no pass: {}", daemon.stderr());
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let one = get(&format!("/api/v1/repositories/{}", all["repositories"][0]["id"].as_str().unwrap()));
    [all, one, get("/api/v1/events")]
}

/// Every place in a document that holds an object.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.push(at.to_owned());
            let key = |key: &str| key.replace('~', "~0").replace('/', "~1");
            map.iter().for_each(|(k, v)| objects(v, &format!("{at}/{}", key(k)), found));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(n, v)| objects(v, &format!("{at}/{n}"), found))
        }
        _ => {}
    }
}

fn object<'v>(document: &'v mut Value, at: &str) -> &'v mut Map<String, Value> {
    document.pointer_mut(at).and_then(Value::as_object_mut).expect("an object")
}

#[test]
fn a_schema_takes_what_is_printed_and_nothing_else() {
    let reports = reports();
    let mut seen = std::collections::BTreeSet::new();
    for report in &reports {
        seen.insert(report["schema"].as_str().unwrap());
        assert_eq!(refusal(report), None);
        let mut places = Vec::new();
        objects(report, "", &mut places);
        // Charts are listed by their names, which may be any.
        for at in places.iter().filter(|at| !at.ends_with("/charts") || at.contains("/content/")) {
            let mut more = report.clone();
            object(&mut more, at).insert("unknown".to_owned(), json!(1));
            assert!(refusal(&more).is_some(), "{at}: an unknown field is taken");
            let names: Vec<String> = object(&mut more, at).keys().cloned().collect();
            for name in names.iter().filter(|n| !matches!(n.as_str(), "unknown" | "detail" | "cautions")) {
                let mut less = report.clone();
                object(&mut less, at).shift_remove(name);
                assert!(refusal(&less).is_some(), "{at}: `{name}` may be left out");
                let mut other = report.clone();
                object(&mut other, at).insert(name.clone(), json!({"other": [1.5]}));
                assert!(refusal(&other).is_some(), "{at}: `{name}` may be anything");
            }
        }
    }
    assert_eq!(seen.len(), DOCUMENTS.len(), "{seen:?}");
    let plan = &reports[1];
    assert!(
        plan["pull_requests"][0]["content"]["cluster"]["charts"].as_array().is_some_and(|c| c.len() == 2)
    );
    assert!(
        !plan["skipped"].as_array().unwrap().is_empty() && !plan["findings"].as_array().unwrap().is_empty()
    );
}

#[test]
fn a_document_of_another_form_or_version_is_refused() {
    for name in ["uplinker.plan/v2", "uplinker.pins/v1", "", "x"] {
        let document = json!({"schema": name});
        assert!(refusal(&document).is_some(), "{name}");
    }
    let scene = Scene::new(MESH);
    let mut plan = scene.command("plan").args(["--format", "json"]).done().exits(0).json();
    plan["schema"] = json!("uplinker.run/v1");
    assert_eq!(refusal(&plan), None, "a run has the same fields");
    plan["decision"][0]["hold"] = json!({"reason": {"kind": "tired"}, "release": null, "until": null});
    assert!(refusal(&plan).is_some(), "the reasons of a hold are a closed list");
}

#[test]
fn the_committed_schemas_are_fresh() {
    for (word, document) in [
        ("service", Document::Service),
        ("service-repository", Document::ServiceRepository),
        ("service-events", Document::ServiceEvents),
    ] {
        let path = format!("schema/{word}.schema.json");
        let committed = std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR")));
        assert!(
            committed.unwrap_or_default() == uplinker::report::schema(document),
            "{path} is stale; refresh it with:\n  cargo run --quiet -- schema {word} > {path}\n"
        );
    }
}

#[test]
fn the_schemas_are_printed() {
    let home = Home::new();
    for (name, document) in DOCUMENTS {
        let word = name.trim_start_matches("uplinker.").trim_end_matches("/v1");
        let printed = home.run(["schema", word]).done().exits(0).stdout;
        assert_eq!(printed, uplinker::report::schema(document));
        let schema: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(
            (&schema["title"], &schema["properties"]["schema"]["const"]),
            (&json!(name), &json!(name))
        );
        assert_eq!(schema["additionalProperties"], json!(false));
    }
    let config = home.run(["schema"]).done().exits(0).stdout;
    assert_eq!(home.run(["schema", "config"]).done().exits(0).stdout, config);
    let _ = home
        .run(["schema", "plan", "--format", "markdown"])
        .done()
        .exits(2)
        .complains(&["uplinker.yaml alone"]);
    let _ = home.run(["schema", "palette"]).done().exits(2);
}
