//! The GitHub Action, step by step as GitHub runs it, against a server of releases on loopback.

mod publishing;
mod releases;
mod runner;

use std::{collections::BTreeSet, fs};

use crate::support::{
    controls::Fault,
    http::Response,
    mesh::MESH,
    repo::BareRepo,
    scene::{PLATFORM, REPO, Scene, TOKEN},
};
use regex::Regex;
use releases::{ASSET, Releases, VERSION, archive, hex, tag};
use runner::{Runner, script, steps};

/// The job goes on, and asks for a build, since the release could not be had.
fn builds_instead(runner: &Runner, words: &[&str]) {
    let job = runner.until("Install");
    job.succeeds().says(words).says(&["building from source, which takes some minutes"]);
    assert_eq!(job.output("install", "installed"), "false");
    assert_eq!(job.output("install", "sources").len(), 64, "the key of the cache");
    assert_eq!(runner.left(), [""; 0], "nothing is left behind");
}

/// The job ends, and nothing was installed.
fn stops(runner: &Runner, words: &[&str]) {
    let job = runner.until("Run");
    assert_eq!((job.failed, job.steps.len()), (Some(1), 1), "{}", job.log);
    job.says(words).says(&["::error title=uplinker::"]);
    assert_eq!(runner.left(), [""; 0], "nothing is left behind");
}

// --- the whole action ---

#[test]
fn a_release_is_installed_and_proposes() {
    let (releases, scene) = (Releases::new(), Scene::new(MESH));
    let feed = &scene.feed;
    let runner = releases.runner().with("GITHUB_SERVER_URL", &scene.github.server().url());
    let runner = runner.with("GITHUB_API_URL", &scene.github.api()).with("GITHUB_REPOSITORY", REPO);
    let runner = runner.input("token", TOKEN).input("repository", REPO).input("charts-url", &feed.charts());
    let runner =
        runner.input("versioncheck-url", &feed.versioncheck()).input("releases-url", &feed.releases());
    let job = runner.until("Run");
    job.succeeds().says(&[&format!("installed uplinker {VERSION} from "), "opened http://"]);
    let ran: Vec<&str> = job.steps.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ran, ["install", "helm", "run"], "nothing was built");
    assert_eq!(job.output("run", "proposed"), "true");
    assert_eq!(job.output("run", "release"), "edge-26.8.3");
    assert_eq!(job.output("run", "exit"), "0");
    assert!(job.output("run", "url").starts_with("http://"), "{}", job.log);
    assert!(job.summary.contains("edge-26.8.3"), "{}", job.summary);
    assert!(!job.log.contains(TOKEN) && !job.summary.contains(TOKEN));
    assert!(scene.repo.branches().contains_key(PLATFORM));
    assert_eq!(releases.asked(), 2, "the checksums and the binary");
}

#[test]
fn a_checkout_is_verified() {
    let releases = Releases::new();
    let runner = releases.runner().input("command", "verify").input("charts-url", "off");
    let bare = BareRepo::with_files(runner.workspace().join(".git"), "main", MESH);
    bare.open().config().unwrap().set_bool("core.bare", false).unwrap();
    let job = runner.until("Run");
    job.succeeds();
    assert_eq!(job.output("run", "exit"), "0", "{}", job.log);
}

#[test]
fn a_token_is_looked_at() {
    let (releases, scene) = (Releases::new(), Scene::new(MESH));
    let feed = &scene.feed;
    let runner = releases.runner().with("GITHUB_SERVER_URL", &scene.github.server().url());
    let runner = runner.with("GITHUB_API_URL", &scene.github.api()).input("command", "doctor");
    let runner = runner.input("token", TOKEN).input("repository", REPO).input("charts-url", &feed.charts());
    let runner = runner.input("versioncheck-url", "off").input("releases-url", &feed.releases());
    let job = runner.until("Run");
    job.succeeds().says(&["ok       push", "ok       rules"]);
    assert!(scene.repo.branches().keys().all(|branch| branch == "main"), "nothing is written");
}

#[test]
fn a_command_that_is_none_is_named() {
    let releases = Releases::new();
    let job = releases.runner().input("command", "run; curl evil").until("Run");
    assert_eq!(job.failed, Some(2), "{}", job.log);
    job.says(&["the input `command` is run, doctor or verify"]);
}

// --- which release ---

#[test]
fn the_commit_of_the_release_is_the_release() {
    let releases = Releases::new();
    let path = releases.folder.path().join("uplinker/uplinker.git");
    let repo = BareRepo::with_files(path, "main", &[("a", "1\n")]);
    let first = repo.tip("main").unwrap();
    let later =
        repo.commit("main", &crate::support::repo::ADA, "later", &[crate::support::repo::put("a", "2\n")]);
    for annotated in [false, true] {
        let git = repo.open();
        let commit = git.find_object(first, None).unwrap();
        if annotated {
            let who = git2::Signature::now("Ada", "ada@example.com").unwrap();
            git.tag(&tag(), &commit, &who, "a release", true).unwrap();
        } else {
            git.tag_lightweight(&tag(), &commit, true).unwrap();
        }
        let job = releases.runner_at(&first.to_string()).until("Install");
        assert_eq!(job.output("install", "installed"), "true", "{}", job.log);
    }
    let is_none = format!("{later} is not the commit of the release {}", tag());
    builds_instead(&releases.runner_at(&later.to_string()), &["::notice", &is_none]);
    builds_instead(&releases.runner_at("main"), &["::notice", "`main` is not the release"]);
    builds_instead(&releases.runner_at("feature/v9"), &["`feature/v9` is not the release"]);
    let elsewhere =
        releases.runner_at(&later.to_string()).with("UPLINKER_DOWNLOAD_URL", "http://127.0.0.1:9");
    builds_instead(&elsewhere, &["::warning", "http://127.0.0.1:9 does not tell whether"]);
}

#[test]
fn a_machine_without_a_binary_builds() {
    let releases = Releases::new();
    builds_instead(
        &releases.runner().with("RUNNER_ARCH", "ARM"),
        &["no binary is published for Linux on ARM"],
    );
    assert_eq!(releases.asked(), 0);
    let runner = releases.runner().with("RUNNER_ARCH", "ARM64");
    builds_instead(&runner, &["uplinker-aarch64-unknown-linux-musl.tar.gz is not there"]);
}

// --- what may be wrong with a release ---

#[test]
fn a_wrong_checksum_stops_and_installs_nothing() {
    let releases = Releases::new();
    let asset = archive(&[("uplinker", "#!/bin/sh\ntouch /tmp/never\n")]);
    releases.publish(ASSET, &asset);
    stops(&releases.runner(), &[&format!("has the checksum {}", hex(&asset)), "nothing was installed"]);
}

#[test]
fn checksums_that_do_not_name_the_binary_stop() {
    let releases = Releases::new();
    let good = hex(b"");
    for text in [
        "",
        "<html>Sign in</html>\n",
        &format!("{good}  x{ASSET}\n"),
        &format!("{good}  {ASSET}\n{good}  {ASSET}\n"),
    ] {
        releases.publish("SHA256SUMS", text.as_bytes());
        stops(&releases.runner(), &[&format!("has no checksum of {ASSET}")]);
    }
}

#[test]
fn a_release_that_is_not_there_is_built() {
    let words = [ASSET, "is not there", "::warning", "UPLINKER_DOWNLOAD_URL"];
    let releases = Releases::new();
    releases.files.lock().unwrap().retain(|path, _| !path.ends_with(ASSET));
    builds_instead(&releases.runner(), &words);
    builds_instead(&Releases::none().runner(), &["SHA256SUMS is not there"]);
}

#[test]
fn a_rate_limit_is_told_with_its_end() {
    let releases = Releases::new();
    let limit = Response::text(429, "Too many requests").with("Retry-After", "900");
    releases.fault("SHA256SUMS", usize::MAX, Fault::Answer(limit));
    builds_instead(
        &releases.runner(),
        &["too many requests", "status 429", "it can be asked again in 900 s"],
    );
    assert_eq!(releases.asked(), 1, "a limit is not met with more requests");
    releases.controls.rules.clear();
    releases.fault(ASSET, 1, Fault::Answer(Response::text(429, "Slow down").with("Retry-After", "1")));
    releases.runner().until("Install").succeeds().says(&["installed uplinker"]);
    releases.fault(ASSET, usize::MAX, Fault::Answer(Response::text(403, "Forbidden")));
    builds_instead(&releases.runner(), &["status 403", "it may not be read"]);
}

#[test]
fn without_a_network_it_is_said() {
    let releases = Releases::new();
    let runner = releases.runner().with("UPLINKER_DOWNLOAD_URL", "http://127.0.0.1:9");
    builds_instead(&runner, &["http://127.0.0.1:9/", "the server cannot be reached"]);
    releases.fault(ASSET, usize::MAX, Fault::Answer(Response::text(503, "Unavailable")));
    builds_instead(&releases.runner(), &["status 503"]);
}

#[test]
fn a_download_that_breaks_off_is_asked_for_again() {
    let releases = Releases::new();
    releases.fault(ASSET, 1, Fault::CutAnswer(40));
    releases.runner().until("Install").succeeds().says(&["installed uplinker"]);
    assert_eq!(releases.asked(), 3);
    releases.fault(ASSET, usize::MAX, Fault::CutAnswer(40));
    builds_instead(&releases.runner(), &["the download broke off"]);
    releases.controls.rules.clear();
    releases.fault(ASSET, usize::MAX, Fault::DropBefore);
    builds_instead(&releases.runner(), &["the download broke off"]);
}

#[test]
fn a_binary_that_does_not_run_here_is_built() {
    let releases = Releases::new();
    for program in ["#!/bin/sh\necho uplinker 9.9.9\n", "\x7fELF of another machine"] {
        let asset = archive(&[("uplinker", program)]);
        releases.publish(ASSET, &asset);
        releases.publish("SHA256SUMS", format!("{}  {ASSET}\n", hex(&asset)).as_bytes());
        builds_instead(&releases.runner(), &["does not run here"]);
    }
}

#[test]
fn nothing_is_loaded_without_tls() {
    let releases = Releases::new();
    for host in ["http://192.0.2.1", "http://127.0.0.1.example.com", "file:///srv", "ftp://127.0.0.1"] {
        let runner = releases.runner().with("UPLINKER_DOWNLOAD_URL", host);
        builds_instead(&runner, &[&format!("{host}/"), "does not begin with https://"]);
    }
}

#[test]
fn a_redirect_does_not_leave_the_protocol() {
    let releases = Releases::new();
    let elsewhere = Response::text(302, "").with("Location", "file:///etc/hostname");
    releases.fault("SHA256SUMS", usize::MAX, Fault::Answer(elsewhere));
    builds_instead(&releases.runner(), &["cannot be had"]);
    releases.controls.rules.clear();
    let sums = format!("/uplinker/uplinker/releases/download/{}/SHA256SUMS", tag());
    let sums = releases.files.lock().unwrap()[&sums].clone();
    releases.put("/assets/sums", &sums);
    let store = Response::text(302, "").with("Location", format!("{}/assets/sums", releases.server.url()));
    releases.fault("SHA256SUMS", usize::MAX, Fault::Answer(store));
    releases.runner().until("Install").succeeds().says(&["installed uplinker"]);
}

#[test]
fn the_attestation_is_asked_where_somebody_can_tell() {
    let ask = |runner: Runner, host: &str| {
        let file = runner.temp("asset");
        fs::write(&file, "bytes").unwrap();
        let mut command = runner.command("bash");
        command.arg(runner.action().join("scripts/action/attested")).arg(&file);
        let done = command.args([host, "uplinker/uplinker", "v1.2.3"]).output().unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    let gh = |end: &str| {
        let help =
            "[ \"$4\" != --help ] && [ \"$3\" = --help ] && { echo '      --cert-identity string'; exit 0; }";
        format!("{help}\n[ \"$GH_HOST\" = github.com ] || exit 9\necho \"gh $*\"\n{end}")
    };
    let dot_com = "https://github.com";
    let (code, said) = ask(Runner::at("main"), dot_com);
    assert!(code == Some(0) && said.contains("there is no gh"), "{said}");
    let (code, said) = ask(Runner::at("main").having("gh", "exit 1"), dot_com);
    assert!(code == Some(0) && said.contains("this gh is too old"), "{said}");
    let (code, said) = ask(Runner::at("main").having("gh", &gh("exit 1")), "https://ghes.example.com");
    assert!(code == Some(0) && said.contains("on github.com alone"), "{said}");
    assert_eq!(ask(Runner::at("main").having("gh", &gh("exit 0")), dot_com), (Some(0), String::new()));
    let (code, said) = ask(Runner::at("main").having("gh", &gh("exit 1")), dot_com);
    assert_eq!(code, Some(1), "{said}");
    for word in [
        "--repo uplinker/uplinker --deny-self-hosted-runners ",
        "--cert-identity https://github.com/uplinker/uplinker/.github/workflows/release.yml@refs/tags/v1.2.3",
        "::error title=uplinker::asset has no attestation of the release v1.2.3 of uplinker/uplinker; nothing was installed",
    ] {
        assert!(said.contains(word), "{said}");
    }
    let workflows = concat!(env!("CARGO_MANIFEST_DIR"), "/.github/workflows/release.yml");
    assert!(fs::exists(workflows).unwrap(), "who signs is there");
}

#[test]
fn an_attestation_that_is_refused_stops() {
    let releases = Releases::new();
    let runner = releases.runner();
    script(
        &runner.action().join("scripts/action/attested"),
        "echo '::error title=uplinker::not ours'; exit 1",
    );
    stops(&runner, &["not ours"]);
}

// --- building ---

#[test]
fn without_rust_the_way_out_is_named() {
    let releases = Releases::new();
    let job = releases.runner_at("main").until("Run");
    assert_eq!(job.failed, Some(1));
    job.says(&["no rustup to build one; use a release, or install Rust"]);
}

#[test]
fn a_build_is_of_the_actions_own_sources() {
    let made = "mkdir -p \"$RUNNER_TEMP/uplinker/bin\"\nprintf '#!/bin/sh\\necho built and run with \"$@\"\\n' > \"$RUNNER_TEMP/uplinker/bin/uplinker\"\n/bin/chmod +x \"$RUNNER_TEMP/uplinker/bin/uplinker\"";
    let runner = Releases::none().runner_at("main").having("rustup", "echo rustup \"$@\"");
    let runner = runner.having("cargo", &format!("echo cargo \"$@\"\n{made}")).input("cache", "false");
    let job = runner.until("Run");
    let path = runner.action().display().to_string();
    let rust = env!("CARGO_PKG_RUST_VERSION");
    job.succeeds().says(&[
        &format!("rustup toolchain install {rust} "),
        &format!("cargo +{rust} install --locked --path {path} --root "),
        "built and run with run",
    ]);
}

#[test]
fn the_key_of_the_cache_follows_the_sources() {
    let key = |change: &dyn Fn(&std::path::Path)| {
        let runner = Releases::none().runner_at("main");
        change(runner.action());
        runner.until("Install").output("install", "sources")
    };
    let plain = key(&|_| {});
    assert_eq!(plain, key(&|_| {}));
    for file in ["src/main.rs", "build.rs", "Cargo.lock", "data/linkerd.yaml"] {
        let other = key(&|action| {
            let path = action.join(file);
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        });
        assert_ne!(plain, other, "{file}");
    }
}

// --- Helm ---

/// A machine on which the step of Helm looks for one.
fn without_helm(releases: &Releases) -> Runner {
    let runner = releases.runner().with("UPLINKER_HELM", "");
    runner.with("UPLINKER_HELM_DOWNLOAD_URL", &releases.server.url())
}

#[test]
fn a_helm_that_will_do_is_taken() {
    let releases = Releases::new();
    for version in ["v3.14.0", "v3.22", "v4.2.3+g1"] {
        let job =
            without_helm(&releases).having("helm", &format!("echo {version}")).until("Make sure of Helm");
        job.succeeds().says(&[&format!("Helm {version} is on PATH")]);
        assert_eq!(job.output("helm", "helm"), "");
    }
    let job = releases.runner().with("UPLINKER_HELM", "/opt/helm").until("Make sure of Helm");
    assert_eq!(job.output("helm", "helm"), "/opt/helm", "the workflow's own word counts");
}

#[test]
fn a_missing_or_old_helm_is_installed_by_its_checksum() {
    let releases = Releases::new();
    let asset =
        archive(&[("linux-amd64/helm", "#!/bin/sh\necho the pinned helm\n"), ("linux-amd64/LICENSE", "")]);
    let table = |runner: &Runner| {
        let path = runner.action().join("scripts/action/helm.sha256");
        let text = fs::read_to_string(&path).unwrap();
        let line = text.lines().find(|line| line.ends_with("-linux-amd64.tar.gz")).unwrap().to_owned();
        (path, text, line)
    };
    let (_, _, line) = table(&releases.runner());
    let name = line.split_once("  ").unwrap().1.to_owned();
    releases.put(&format!("/{name}"), &asset);
    let stop = |runner: Runner, words: &[&str]| {
        let job = runner.until("Run");
        assert_eq!(job.failed, Some(1), "{}", job.log);
        job.says(words).says(&["install Helm 3.14 or newer on the runner"]);
        assert!(!runner.temp("uplinker/helm").exists());
    };
    stop(without_helm(&releases), &[&format!("has the checksum {}", hex(&asset)), "nothing was installed"]);
    for old in ["exit 1", "echo v3.13.9", "echo v2.17.0", "echo unknown"] {
        let runner = without_helm(&releases).having("helm", old);
        let (path, text, line) = table(&runner);
        fs::write(path, text.replace(&line, &format!("{}  {name}", hex(&asset)))).unwrap();
        let job = runner.until("Make sure of Helm");
        let place = job.succeeds().output("helm", "helm");
        let said = runner.command(&place).output().unwrap();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), "the pinned helm\n");
    }
    releases.files.lock().unwrap().remove(&format!("/{name}"));
    stop(without_helm(&releases), &["Helm cannot be had", "is not there", "UPLINKER_HELM_DOWNLOAD_URL"]);
}

#[test]
fn every_target_of_helm_has_one_checksum() {
    let table = include_str!("../scripts/action/helm.sha256");
    let form =
        Regex::new(r"^[0-9a-f]{64}  helm-v3\.[0-9]+\.[0-9]+-(linux|darwin)-(amd64|arm64)\.tar\.gz$").unwrap();
    assert_eq!(table.lines().filter(|line| form.is_match(line)).count(), 4);
    assert_eq!(table.lines().collect::<BTreeSet<_>>().len(), 4);
}

// --- the files ---

#[test]
fn a_step_runs_one_script_that_is_given_what_it_reads() {
    let line = Regex::new(r#"^"\$GITHUB_ACTION_PATH/scripts/action/([a-z]+)"$"#).unwrap();
    let variable = Regex::new(r"\$\{?([A-Z][A-Z0-9_]+)").unwrap();
    let comment = Regex::new(r"(?m)^\s*#.*$").unwrap();
    for step in steps() {
        let Some(run) = step.get("run") else { continue };
        let name = line.captures(run.as_str().unwrap()).unwrap()[1].to_owned();
        let text =
            fs::read_to_string(format!("{}/scripts/action/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let given = |name: &str| {
            let of_job = ["UPLINKER_DOWNLOAD_URL", "UPLINKER_HELM_DOWNLOAD_URL", "UPLINKER_HELM"];
            let of_github = name.starts_with("GITHUB_") || name.starts_with("RUNNER_");
            of_github || of_job.contains(&name) || step["env"].get(name).is_some()
        };
        for found in variable.captures_iter(&comment.replace_all(&text, "")) {
            assert!(given(&found[1]), "{name} reads {}", &found[1]);
        }
    }
}
