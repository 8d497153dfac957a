//! The same inputs give the same bytes, and everything has a ceiling.

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::support::{
    feed::huge,
    mesh::{CRDS, MESH, mesh_and},
    scene::{PLATFORM, Scene, unaddressed},
};

/// All that a run made: commit, message, title, body with its marker.
fn made(scene: &Scene) -> (String, String, String, String) {
    let pull = scene.only_pull();
    let id = scene.repo.tip(PLATFORM).expect("our branch").to_string();
    let body = unaddressed(&pull.body.expect("a body"), &scene.github.server().url());
    (id, scene.repo.message(PLATFORM), pull.title, body)
}

#[test]
fn two_runs_in_two_places_make_the_same_commit_and_the_same_words() {
    let files = mesh_and(&[("uplinker.yaml", "version: 1\ncommit:\n  signOff: true\n")]);
    let first = Scene::new(&files);
    let _ = first.run().done().exits(0);
    let second = Scene::new(&files);
    let run = second
        .run()
        .env("TZ", "Asia/Kathmandu")
        .env("LC_ALL", "de_DE.UTF-8")
        .env("LANG", "tr_TR.UTF-8")
        .arg("--no-cache");
    let _ = run.done().exits(0);
    assert_eq!(made(&first), made(&second));
}

#[test]
fn a_second_run_writes_nothing_whatever_became_of_the_cache() {
    let scene = Scene::new(MESH);
    let _ = scene.run().done().exits(0);
    let before = (made(&scene), scene.github.controls().writes.count());
    let _ = scene.run().done().exits(0);
    scene.home.forget();
    let _ = scene.run().done().exits(0);
    // A cache that is nonsense is no cache.
    for (path, bytes) in crate::promises::files_below(&scene.home.cache()) {
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("a file");
    }
    let _ = scene.run().done().exits(0);
    assert_eq!((made(&scene), scene.github.controls().writes.count()), before);
}

/// A hostile repository and hostile feeds at once end in time, with what is left of both named.
#[test]
fn ceilings_hold_together() {
    let deep = format!("linkerd: {}\n", "{a: ".repeat(50_000));
    let mut bomb = String::from("linkerd: edge\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for n in 1..40 {
        bomb.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(",")));
    }
    let documents = "---\nlinkerd: x\n".repeat(50_000);
    let wide = format!("{CRDS}---\nlinkerd: [{}]\n", "x,".repeat(400_000));
    let scene = Scene::new(&mesh_and(&[
        ("deep.yaml", &deep),
        ("bomb.yaml", &bomb),
        ("documents.yaml", &documents),
        ("wide.yaml", &wide),
    ]));
    scene.feed.break_always("/repos/*", huge(17 << 20));
    let running = scene.run().start();
    // The kernel ends it after so many seconds on a processor, however busy the machine is.
    let most = Rlimit { current: Some(60), maximum: Some(60) };
    prlimit(running.pid().and_then(|pid| Pid::from_raw(pid.cast_signed())), Resource::Cpu, most)
        .expect("a limit");
    let done = running.done().exits(0);
    assert!(done.stdout.contains("larger than 16777216 bytes"), "{done}");
    let changed = scene.repo.changed("main", PLATFORM);
    assert!(changed.contains(&"linkerd/crds.yaml".to_owned()), "{changed:?}");
}
