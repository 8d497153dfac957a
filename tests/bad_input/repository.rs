//! Configurations with mistakes.

use crate::bad_input::{mesh, writes_nothing};
use crate::support::{
    mesh::mesh_and,
    repo::{ADA, put},
    scene::Scene,
};

#[test]
fn five_mistakes_are_five_answers_with_line_and_column() {
    let text = include_str!("../config/invalid/five-at-once.yaml");
    for place in ["uplinker.yaml", ".github/uplinker.yaml"] {
        let scene = Scene::new(&mesh_and(&[(place, text)]));
        let done = writes_nothing(&scene, scene.run()).exits(2).complains(&["5 mistakes"]);
        let expected = include_str!("../config/invalid/five-at-once.txt");
        let at: Vec<&str> = expected.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(at.len(), 5);
        for position in at {
            let position = position.trim_end_matches(':').split_once(':').expect("a position").1;
            let shown = format!("[{place}:{position}]");
            assert!(done.stderr.contains(&shown), "{shown}\n{done}");
        }
    }
}

#[test]
fn the_same_mistakes_in_every_command_that_reads_them() {
    let text = include_str!("../config/invalid/five-at-once.yaml");
    let scene = Scene::new(&mesh_and(&[("uplinker.yaml", text)]));
    let url = scene.github.url(crate::bad_input::REPO);
    let pins = scene.home.run(["pins", &url]).env("UPLINKER_TOKEN", crate::bad_input::TOKEN);
    for run in [pins, scene.command("plan")] {
        let _ = writes_nothing(&scene, run).exits(2).complains(&["5 mistakes"]);
    }
}

#[test]
fn two_configurations() {
    let scene = Scene::new(&mesh_and(&[
        ("uplinker.yaml", "version: 1\n"),
        (".github/uplinker.yaml", "version: 1\n"),
    ]));
    let _ = writes_nothing(&scene, scene.run()).exits(2).complains(&[
        "uplinker.yaml",
        ".github/uplinker.yaml",
        "remove",
    ]);
}

#[test]
fn a_configuration_that_is_no_text_too_large_or_a_bomb() {
    let large = format!("version: 1\n# {}\n", "x".repeat(300 << 10));
    let deep = format!("version: 1\ntargets: {}\n", "[".repeat(5000));
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c]\n\
                e: &e [*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f]\n";
    for text in ["version: 1\n\0\n", &large, &deep, bomb, "{{ .Values.x }}\n", "<<<<<<< HEAD\n"] {
        let scene = Scene::new(&mesh_and(&[("uplinker.yaml", text)]));
        let _ = writes_nothing(&scene, scene.run()).exits(2).complains(&["uplinker.yaml"]);
    }
    let scene = Scene::new(&mesh_and(&[("uplinker.yaml", bomb)]));
    let _ = writes_nothing(&scene, scene.run()).exits(2).complains(&["uplinker.yaml", "50000 nodes"]);
    let scene = mesh();
    scene.repo.commit(
        "main",
        &ADA,
        "Latin",
        &[crate::support::repo::Change::Put("uplinker.yaml", b"# caf\xe9\n")],
    );
    let _ = writes_nothing(&scene, scene.run()).exits(2).complains(&["uplinker.yaml", "UTF-8"]);
}

#[test]
fn a_configuration_that_is_a_link_or_a_folder() {
    use crate::support::repo::Change;
    let scene = mesh();
    scene.repo.commit("main", &ADA, "Link", &[Change::Link("uplinker.yaml", "/etc/passwd")]);
    let done = writes_nothing(&scene, scene.run()).exits(2).complains(&["uplinker.yaml", "link"]);
    assert!(!done.stderr.contains("root:"), "{done}");
}

#[test]
fn a_prefix_that_covers_the_base_branch_or_is_no_ref() {
    for prefix in ["main", "", "refs/heads/", "a..b/", "ma"] {
        let text = format!("version: 1\nbranch:\n  prefix: {prefix:?}\n");
        let scene = Scene::new(&mesh_and(&[("uplinker.yaml", &text)]));
        let done = writes_nothing(&scene, scene.run());
        assert_eq!(done.status.code(), Some(2), "{prefix}\n{done}");
        assert!(done.stderr.contains("prefix"), "{prefix}\n{done}");
    }
}

#[test]
fn a_base_branch_that_is_not_there() {
    let scene = Scene::new(&mesh_and(&[("uplinker.yaml", "version: 1\nbase: live\n")]));
    let _ = writes_nothing(&scene, scene.run()).exits(2).complains(&["live", "branch"]);
}

#[test]
fn a_base_branch_that_disagrees() {
    let scene = Scene::new(&mesh_and(&[("uplinker.yaml", "version: 1\nbase: live\n")]));
    scene.repo.branch("live", "main");
    scene.repo.commit("live", &ADA, "Base", &[put("uplinker.yaml", "version: 1\nbase: other\n")]);
    let _ = writes_nothing(&scene, scene.run()).exits(2).complains(&["live", "main"]);
}

#[test]
fn no_pins_at_all() {
    let scene = Scene::new(&[("README.md", "Nothing to see.\n")]);
    let _ = writes_nothing(&scene, scene.run()).exits(3).complains(&["uplinker pins"]);
}
