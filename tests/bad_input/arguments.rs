//! Commands that cannot be carried out as they were typed, and streams that do not take what is written.

use std::process::Stdio;

use uplinker::propose::forge::kinds::KINDS;

use crate::bad_input::{mesh, writes_nothing};
use crate::support::{
    feed::release,
    process::Home,
    repo::BareRepo,
    scene::{Scene, TOKEN},
};

#[test]
fn to_something_that_is_no_release() {
    let scene = mesh();
    for (to, word) in [
        ("latest", "edge-26.8.3"),
        ("26.8.3", "edge-26.8.3"),
        ("2026.8.3", "edge-26.8.3"),
        ("stable-2.14.10", "edge"),
        ("edge-26.13.1", "edge"),
        ("edge-26.8.3; rm -rf /", "edge"),
        ("edge-99999999999999999999.1.1", "edge"),
    ] {
        let done = writes_nothing(&scene, scene.run().args(["--to", to])).exits(2);
        assert!(done.stderr.contains("--to") && done.stderr.contains(word), "{to}\n{done}");
    }
    assert!(scene.requests().is_empty(), "a usage error asks nobody");
}

#[test]
fn to_a_release_that_nobody_knows_or_that_goes_down() {
    let scene = mesh();
    let to = |release: &str| writes_nothing(&scene, scene.run().args(["--to", release]));
    let _ =
        to("edge-26.12.9").exits(2).complains(&["no feed names edge-26.12.9", "the newest is edge-26.8.3"]);
    let _ = to("edge-26.8.1").exits(0).prints(&["edge-26.8.1 is below edge-26.8.2", "nothing goes down"]);
}

#[test]
fn to_a_release_behind_a_required_stop_goes_to_the_stop() {
    let old = |text: &str| text.replace("2026.8.2", "2025.1.2").replace("edge-26.8.2", "edge-25.1.2");
    let files: Vec<(&str, String)> =
        crate::bad_input::MESH.iter().map(|(path, text)| (*path, old(text))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let scene = Scene::new(&files);
    let hop = uplinker::linkerd::required_hop(
        "edge-25.1.2".parse().expect("a release"),
        "edge-26.8.3".parse().expect("a release"),
    );
    let stop = hop.expect("a required stop").via[0];
    let run = || scene.run().args(["--to", "edge-26.8.3"]);
    let _ =
        writes_nothing(&scene, run()).exits(0).prints(&[&stop.to_string(), "waits until the required stop"]);
    scene.feed.publish(release(&stop.to_string(), "2025-07-20T09:00:00Z"));
    let _ = run().done().exits(0);
    let pull = scene.only_pull();
    assert!(pull.title.contains(&stop.to_string()), "{}", pull.title);
    assert!(pull.body.expect("a body").contains("edge-26.8.3"), "the body says where it goes in the end");
}

#[test]
fn a_host_that_nobody_knows() {
    let scene = mesh();
    let url = scene.github.url("acme/config");
    let run = scene.home.run(["run", "--repo", &url]).args(scene.feed.flags()).env("UPLINKER_TOKEN", TOKEN);
    let done = writes_nothing(&scene, run).exits(2).complains(&["cannot tell which forge serves"]);
    let done = KINDS.iter().fold(done, |done, kind| done.complains(&[&format!("`{}`", kind.name)]));
    assert!(scene.requests().is_empty(), "{done}");
}

#[test]
fn an_address_that_carries_a_password() {
    let scene = mesh();
    let url = scene.github.url("acme/config").replace("http://", "http://me:hunter2@");
    let run = scene.home.run(["run", "--repo", &url, "--forge", "github"]).args(scene.feed.flags());
    let _ = writes_nothing(&scene, run)
        .exits(2)
        .complains(&["a user or a password", "UPLINKER_TOKEN"])
        .never_says("hunter2");
}

/// Makes a clone with one commit and, as `git init` leaves it, no remote.
fn clone_without_origin(home: &Home) -> std::path::PathBuf {
    let clone = home.path().join("clone");
    let bare = BareRepo::with_files(clone.join(".git"), "main", crate::bad_input::MESH);
    bare.open().config().expect("its configuration").set_bool("core.bare", false).expect("a setting");
    clone
}

#[test]
fn an_address_without_its_scheme() {
    let scene = mesh();
    for command in [vec!["pins", "github.com/acme/mesh"], vec!["plan", "--repo", "github.com/acme/mesh"]] {
        let feeds = if command[0] == "pins" { vec![] } else { scene.feed.flags() };
        let run = scene.home.run(&command).args(feeds);
        let _ = run.done().exits(2).complains(&["did you mean https://github.com/acme/mesh?"]);
    }
}

#[test]
fn a_helm_that_is_named_and_is_none() {
    use std::os::unix::fs::PermissionsExt as _;
    let chart = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: edge, namespace: l}\n\
        spec: {url: https://helm.linkerd.io/edge}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n\
        metadata: {name: linkerd-crds, namespace: l}\nspec:\n  chart:\n    spec: {chart: linkerd-crds, version: 2026.8.2, \
        sourceRef: {kind: HelmRepository, name: edge}}\n";
    let scene = Scene::new(&[("crds.yaml", chart)]);
    let folder = scene.home.path();
    let file = |name: &str, text: &str, mode: u32| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("its mode");
    };
    file("data", "x", 0o644);
    file("old", "#!/bin/sh\necho v3.2.1\n", 0o755);
    file("broken", "#!/bin/sh\necho oh no >&2\nexit 1\n", 0o755);
    for (name, words) in [
        ("none", "there is no program"),
        ("data", "is not executable"),
        ("old", "or newer is needed"),
        ("broken", "oh no"),
    ] {
        let helm = folder.join(name).display().to_string();
        for command in ["run", "plan"] {
            let done = writes_nothing(&scene, scene.command(command).args(["--helm", &helm])).exits(2);
            assert!(done.stderr.contains("--helm") && done.stderr.contains(words), "{name}\n{done}");
        }
    }
}

#[test]
fn a_clone_without_origin_can_be_planned_and_not_run() {
    let scene = mesh();
    let clone = clone_without_origin(&scene.home);
    let command = |name: &str| {
        let run = scene.home.run([name, "--repo", "."]).args(scene.feed.flags()).folder(&clone);
        run.args(["--forge", "github"]).env("UPLINKER_TOKEN", TOKEN)
    };
    let _ = command("run").done().exits(2).complains(&["origin", "--repo", "uplinker plan"]);
    let _ = command("plan").done().exits(0).prints(&["edge-26.8.3"]);
}

#[test]
fn a_folder_that_is_no_repository() {
    let scene = mesh();
    std::fs::create_dir(scene.home.path().join("plain")).expect("a folder");
    std::fs::write(scene.home.path().join("file"), "x").expect("a file");
    for place in ["plain", "file", "/nonexistent/clone"] {
        for command in [vec!["pins", place], vec!["plan", "--repo", place], vec!["run", "--repo", place]] {
            let run =
                scene.home.run(&command).args(if command[0] == "pins" { vec![] } else { scene.feed.flags() });
            let done = run.done().exits(2);
            assert!(done.stderr.contains(place) && done.stderr.contains("repository"), "{done}");
            crate::bad_input::is_calm(&done);
        }
    }
}

#[test]
fn a_bare_folder_needs_a_forge() {
    let scene = mesh();
    let path = scene.repo.path().display().to_string();
    let run = scene.home.run(["run", "--repo", &path]).args(scene.feed.flags());
    let _ = writes_nothing(&scene, run).exits(2).complains(&["no forge is named", "directory:PATH"]);
}

/// Runs the program with its standard output somewhere else.
fn with_stdout(home: &Home, script: &str) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_uplinker");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, "sh", program]).env("HOME", home.path()).env("XDG_CACHE_HOME", home.cache());
    let output =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("a shell");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let home = Home::new();
    let (code, err) = with_stdout(&home, "{ \"$1\" schema; echo \"code $?\" >&2; } | true");
    assert!(code == Some(0) && err == "code 0\n", "{code:?} {err}");
    let (_, err) = with_stdout(&home, "\"$1\" schema >&-; echo \"code $?\" >&2");
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn a_full_disk_is_an_error() {
    let home = Home::new();
    let (_, err) = with_stdout(&home, "\"$1\" schema >/dev/full; echo \"code $?\" >&2");
    assert!(err.contains("cannot write the report") && err.ends_with("code 1\n"), "{err}");
}

#[test]
fn files_of_the_workflow_that_cannot_be_written() {
    let scene = mesh();
    for variable in ["GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"] {
        let run = scene.command("plan").env("GITHUB_ACTIONS", "true").env(variable, scene.home.path());
        let done = writes_nothing(&scene, run).exits(1).complains(&["GitHub Actions"]);
        assert!(done.stderr.contains(&scene.home.path().display().to_string()), "{done}");
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_done_without() {
    let scene = mesh();
    let run = scene.run().args(["--cache-dir", "/dev/null/cache"]);
    let _ = run.done().exits(0);
    let _ = scene.only_pull();
}

#[test]
fn colour_only_where_it_is_wanted() {
    let scene = mesh();
    let plain = scene.command("plan").arg("--diff").done().exits(0);
    assert!(
        !plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'),
        "no terminal, no colour\n{plain}"
    );
    let color = |run: crate::support::process::Run| run.args(["--color", "always"]).done().exits(0).stdout;
    assert!(color(scene.command("plan").arg("--diff")).contains('\u{1b}'));
    let none = scene.command("plan").arg("--diff").env("NO_COLOR", "1").done().exits(0);
    assert!(!none.stdout.contains('\u{1b}'));
}
