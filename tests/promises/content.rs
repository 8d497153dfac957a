//! Repository content is data, and nothing outside the tree is read or written.

use std::{fs, path::Path};

use crate::promises::files_below;
use crate::support::{
    charts::ChartRepository,
    mesh::{CRDS, MESH, mesh_and},
    process::Home,
    repo::{ADA, Change},
    scene::{PLATFORM, REPO, Scene},
};

/// Whatever looks like a program, a template or a variable comes out as it went in.
#[test]
fn nothing_in_the_repository_is_evaluated() {
    let config = "version: 1\npullRequest:\n  title: \"Linkerd {to} $HOME $(id) `id` %s\"\n  labels: [\"{{ 7 * 7 }}\"]\n\
                  commit:\n  message: \"Linkerd {to} $HOME $(touch made-by-message) `touch made-by-message`\"\n";
    let hooks = "#!/bin/sh\ntouch made-by-hook\n";
    let scene = Scene::new(&mesh_and(&[
        ("uplinker.yaml", config),
        ("$(touch made-by-name)/crds.yaml", CRDS),
        ("{{ 7 * 7 }}/crds.yaml", CRDS),
        ("%(made)s/`touch made-by-tick`.yaml", CRDS),
        (".gitattributes", "* filter=evil diff=evil merge=evil\n"),
        (
            ".gitconfig",
            "[core]\n\tfsmonitor = touch made-by-config\n[filter \"evil\"]\n\tclean = touch made-by-filter\n",
        ),
        (".githooks/pre-push", hooks),
        ("hooks/pre-push", hooks),
        ("Makefile", "all:\n\ttouch made-by-make\n"),
        (
            "linkerd/values.yaml",
            "linkerdVersion: '{{ include \"/etc/passwd\" }}'\nname: !!python/object/apply:os.system [\"touch made-by-tag\"]\n",
        ),
    ]));
    scene.github.labels(REPO, &["{{ 7 * 7 }}"]);
    let _ = scene.run().done().exits(0);
    let pull = scene.only_pull();
    assert_eq!(pull.title, "Linkerd edge-26.8.3 $HOME $(id) `id` %s");
    assert_eq!(pull.labels, ["{{ 7 * 7 }}", "linkerd: attention"]);
    let everything = format!("{}{}{}", pull.title, pull.body.expect("a body"), scene.repo.message(PLATFORM));
    for made in ["49", "root:", "uid=", &scene.home.path().display().to_string()] {
        assert!(!everything.contains(&format!(" {made}")), "{made} was made of a template\n{everything}");
    }
    let made = |folder: &Path| {
        files_below(folder).into_keys().filter(|p| p.to_string_lossy().contains("/made-by")).count()
    };
    assert_eq!(made(scene.home.path()) + made(scene.repo.path()), 0);
    assert_eq!(scene.repo.changed("main", PLATFORM).len(), 5);
}

/// The wording that the configuration takes has names in braces, and only those.
#[test]
fn wording_knows_its_own_names_only() {
    for (title, code) in [
        ("Linkerd {to}", 0),
        ("Linkerd {env.HOME}", 2),
        ("Linkerd ${HOME}", 2),
        ("Linkerd {{ 7 * 7 }}", 2),
        ("Linkerd {to!r}", 2),
    ] {
        let config = format!("version: 1\npullRequest:\n  title: {title:?}\n");
        let scene = Scene::new(&mesh_and(&[("uplinker.yaml", &config)]));
        let _ = scene.run().done().exits(code);
        assert_eq!(scene.repo.branches().len(), if code == 0 { 2 } else { 1 });
    }
}

/// Writes a tree object as it is, which no library would: names with slashes, `..` and `.git`.
fn raw_tree(repo: &git2::Repository, entries: &[(&str, &[u8], git2::Oid)]) -> git2::Oid {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(id.as_bytes());
    }
    repo.odb().expect("objects").write(git2::ObjectType::Tree, &bytes).expect("a tree")
}

/// Puts a commit with that tree on `main`.
fn commit(scene: &Scene, tree: git2::Oid) {
    let repo = scene.repo.open();
    let parent = scene.repo.tip("main").expect("the tip");
    let text = format!(
        "tree {tree}\nparent {parent}\nauthor Mallory <m@example.com> 1785600000 +0000\ncommitter Mallory <m@example.com> \
         1785600000 +0000\n\nHostile\n"
    );
    let id = repo.odb().expect("objects").write(git2::ObjectType::Commit, text.as_bytes()).expect("a commit");
    scene.repo.set_tip("main", id);
}

/// Names that would leave a checkout. The run ends in order, and no file appears or changes anywhere but in its cache:
/// not in the folders above the place that it works in either, where such a name leads, and not at the root.
#[test]
fn hostile_names_reach_nothing() {
    let names: [&[u8]; 8] = [
        b"..",
        b".",
        b".git",
        b"../../escape.yaml",
        b"/abs-escape.yaml",
        b"a\\..\\escape.yaml",
        b".GIT",
        b"linkerd/../x.yaml",
    ];
    let charts = ChartRepository::new();
    for name in names {
        let mut scene = Scene::new(MESH);
        let outside = tempfile::tempdir().expect("a folder");
        scene.home = Home::deep_in(outside.path());
        // What is laid out on the disk is for Helm; once each for a folder and a file.
        scene.renders = matches!(name, b".." | b"../../escape.yaml");
        scene.feed.serve_packages(charts.packages());
        let repo = scene.repo.open();
        let blob = repo.blob(CRDS.as_bytes()).expect("a blob");
        let inner = raw_tree(&repo, &[("100644", b"escape.yaml", blob)]);
        let old = repo.find_tree(scene.repo.tree_id("main")).expect("the tree");
        let [apps, linkerd] = ["apps", "linkerd"].map(|n| old.get_name(n).expect("a folder").id());
        let mut entries = vec![("40000", b"apps".as_slice(), apps), ("40000", b"linkerd", linkerd)];
        let folder = matches!(name, b".." | b"." | b".git" | b".GIT");
        entries.push(if folder { ("40000", name, inner) } else { ("100644", name, blob) });
        entries.sort_by_key(|(_, name, _)| name.to_vec());
        let before = files_below(outside.path());
        commit(&scene, raw_tree(&repo, &entries));
        let main = scene.repo.tip("main");

        let done = scene.run().done();
        let done = done.exits(0);
        assert!(!done.stderr.contains("panicked"), "{done}");
        assert_eq!(scene.repo.tip("main"), main);
        assert_eq!(scene.renders, scene.feed.controls().log.count("GET", "*.tgz") > 0, "{done}");
        let cache = scene.home.cache();
        let after = files_below(outside.path());
        let odd: Vec<_> =
            after.iter().filter(|(p, b)| !p.starts_with(&cache) && before.get(*p) != Some(b)).collect();
        assert!(odd.is_empty(), "{odd:?}");
        let named =
            |path: &Path| ["escape.yaml", "x.yaml"].iter().any(|end| path.to_string_lossy().ends_with(end));
        assert!(!after.keys().any(|path| named(path)), "{name:?}");
        assert!(!Path::new("/abs-escape.yaml").exists() && !Path::new("/escape.yaml").exists(), "{name:?}");
        // The odd entry is in the new tree as it was in the old one.
        let tree = scene.repo.tree_id(PLATFORM);
        let odb = repo.odb().expect("objects");
        let bytes = odb.read(tree).expect("the new tree").data().to_vec();
        assert!(crate::promises::holds(&bytes, name), "{name:?} got lost");
    }
}

#[test]
fn links_to_files_of_this_machine_are_not_read() {
    let scene = Scene::new(MESH);
    let outside = scene.home.path().join("outside.yaml");
    fs::write(&outside, CRDS.replace("linkerd-crds", "linkerd-viz")).expect("a file");
    let target = outside.display().to_string();
    let changes = [Change::Link("linkerd/outside.yaml", target.as_str()), Change::Link("more", "/")];
    scene.repo.commit("main", &ADA, "Links", &changes);
    let _ = scene.run().done().exits(0);
    assert_eq!(fs::read_to_string(&outside).expect("it"), CRDS.replace("linkerd-crds", "linkerd-viz"));
    assert!(!scene.only_pull().body.expect("a body").contains("linkerd-viz"));
    // The same from the remote, and from a clone whose folder has the links checked out.
    let clone = scene.home.path().join("clone");
    git2::Repository::clone(&scene.repo.path().display().to_string(), &clone).expect("a clone");
    assert!(clone.join("linkerd/outside.yaml").is_symlink() && clone.join("more").is_symlink());
    for place in [scene.github.url(REPO), clone.display().to_string()] {
        let pins = scene.home.run(["pins", &place]).env("UPLINKER_TOKEN", crate::support::scene::TOKEN);
        let pins = pins.done().exits(0).prints(&["linkerd/crds.yaml"]);
        assert!(!pins.stdout.contains("linkerd-viz"), "{pins}");
    }
}

/// A run leaves its cache and nothing else, wherever it is started.
#[test]
fn only_the_cache_is_written() {
    let scene = Scene::new(MESH);
    let folder = scene.home.path().join("work");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("uplinker.yaml"), "nonsense: [").expect("a file");
    let _ = scene.run().folder(&folder).done().exits(0);
    let cache = scene.home.cache();
    let left: Vec<_> =
        files_below(scene.home.path()).into_keys().filter(|p| !p.starts_with(&cache)).collect();
    assert_eq!(left, [folder.join("uplinker.yaml")]);
}

/// The environment of Git and of this machine's user changes nothing.
#[test]
fn settings_of_the_user_and_of_git_do_not_count() {
    let scene = Scene::new(MESH);
    let home = scene.home.path();
    let evil = "[url \"http://127.0.0.1:9/\"]\n\tinsteadOf = http://127.0.0.1\n[user]\n\tname = Eve\n\temail = eve@example.com\n\
                [core]\n\thooksPath = /nonexistent\n\tfsmonitor = touch made-by-config\n[commit]\n\tgpgSign = true\n[http]\n\tproxy = http://127.0.0.1:9\n";
    fs::write(home.join(".gitconfig"), evil).expect("a file");
    let run = scene
        .run()
        .env("GIT_DIR", home)
        .env("GIT_AUTHOR_NAME", "Eve")
        .env("GIT_SSH_COMMAND", "touch made-by-ssh");
    let _ = run.env("GIT_CONFIG_GLOBAL", home.join(".gitconfig")).done().exits(0);
    let repo = scene.repo.open();
    let commit = repo.find_commit(scene.repo.tip(PLATFORM).expect("our branch")).expect("our commit");
    assert_ne!(commit.author().name().ok(), Some("Eve"));
    assert!(!home.join("made-by-config").exists() && !home.join("made-by-ssh").exists());
}
