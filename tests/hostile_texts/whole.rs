//! All texts at once through the program: notes of releases, names, paths, values, charts, the configuration, and then
//! all that it writes: bodies, titles, commits, statuses, its output, and the files of GitHub Actions.

use uplinker::explain::{Ticks, marker};

use super::{corpus, reading};
use crate::support::{
    charts::{Files, Package, files, pack},
    feed::release,
    helm::helm,
    mesh::SOURCES,
    process::{Done, Home, Run},
    scene::{DATA_PLANE, PLATFORM, REPO, Scene, TOKEN},
};

/// The texts that fit into a name.
fn texts() -> Vec<String> {
    corpus::texts().into_iter().filter(|text| text.len() < 1_000).collect()
}

/// The text in quotes, with escapes that both YAML and JSON know, or YAML alone.
fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if reading::is_hidden(c) || c.is_control() => match u32::from(c) {
            n @ 0..=0xffff => format!("\\u{n:04x}"),
            n => format!("\\U{n:08x}"),
        },
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// A path with the text in it, as far as Git takes it.
fn path(n: usize, text: &str) -> String {
    let name: String = text.chars().map(|c| if matches!(c, '/' | '\0') { '_' } else { c }).take(60).collect();
    format!("apps/{n} {name}/{name} {n}.yaml")
}

/// The chart of the CRDs, with the texts in names, annotations and values of its objects.
fn chart(version: &str) -> Package {
    let mut files: Files = files("linkerd-crds", version);
    let mut out = String::new();
    for (n, text) in texts().iter().enumerate() {
        // Helm is to see the braces as text.
        let value = |text: &str| quoted(text).replace("{{", "{{ `{{` }}");
        let (old, both) = (if version == "2026.8.2" { "old".to_owned() } else { value(text) }, value(text));
        let name = value(&format!("{text} {n}"));
        out.push_str(&format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: {both}\n  annotations:\n    \
             {both}: {old}\ndata:\n  {both}: {old}\n"
        ));
    }
    files.insert("templates/texts.yaml".into(), out.into_bytes());
    pack("linkerd-crds", version, &files)
}

fn scene(configuration: &str) -> Scene {
    let texts = texts();
    let values: String = texts.iter().map(|t| format!("    {}: {}\n", quoted(t), quoted(t))).collect();
    let release_of = |name: &str, text: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: {}\n  namespace: {}\nspec:\n  \
             interval: 30m\n  releaseName: {name}\n  dependsOn: [{{name: {}}}]\n  chart:\n    spec:\n      chart: \
             linkerd-crds\n      version: 2026.8.2\n      sourceRef: {{kind: HelmRepository, name: linkerd-edge, \
             namespace: flux-system}}\n  values:\n{values}",
            quoted(text),
            quoted(text),
            quoted(text)
        )
    };
    let workload = |text: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {}\n  namespace: {}\nspec:\n  strategy: \
             {{type: {}}}\n  template:\n    metadata:\n      annotations:\n        config.linkerd.io/proxy-version: \
             edge-26.8.1\n    spec: {{}}\n",
            quoted(text),
            quoted(text),
            quoted(text)
        )
    };
    let mut all: Vec<(String, String)> = vec![
        ("linkerd/sources.yaml".into(), SOURCES.into()),
        ("linkerd/crds.yaml".into(), release_of("linkerd-crds", "@acme/admins fixes #1")),
        ("uplinker.yaml".into(), configuration.into()),
    ];
    for (n, text) in texts.iter().enumerate() {
        all.push((path(n, text), workload(text)));
        // Of these, findings and skips speak.
        all.push((
            path(n, text).replace(".yaml", ".broken.yaml"),
            format!("linkerd: edge-26.8.2\n{text}: [\n"),
        ));
        all.push((
            path(n, text).replace(".yaml", "/Makefile"),
            "x:\n\thelm template a edge/linkerd-crds --version 2026.8.2\n".into(),
        ));
    }
    let borrowed: Vec<(&str, &str)> = all.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let scene = Scene::new(&borrowed);
    let note = |(n, text): (usize, &String)| {
        let kind = ["feat", "fix", "feat!", "chore"][n % 4];
        format!("* {kind}({text}): {text} {n} by @someone in https://github.com/linkerd/linkerd2/pull/{n}\n")
    };
    let notes: String = texts.iter().enumerate().map(note).collect();
    let raw: String = texts.iter().map(|t| format!("{t}\n\n")).collect();
    scene.feed.publish(release("edge-26.8.2", "2026-08-08T09:00:00Z").notes(&raw));
    scene.feed.publish(release("edge-26.8.3", "2026-08-15T09:00:00Z").notes(&notes));
    scene.feed.serve_packages(&[chart("2026.8.2"), chart("2026.8.3")]);
    scene
}

fn in_actions(scene: &Scene, run: Run) -> Run {
    let run = run.env("UPLINKER_HELM", helm()).env("GITHUB_ACTIONS", "true");
    run.env("GITHUB_STEP_SUMMARY", scene.home.path().join("summary.md"))
        .env("GITHUB_OUTPUT", scene.home.path().join("output"))
}

/// Nothing that the program prints moves a cursor, hides, or is a command of a workflow's runner.
fn assert_harmless_output(done: &Done) {
    for line in done.stdout.lines().chain(done.stderr.lines()) {
        let hidden = line.chars().find(|c| reading::is_hidden(*c) && *c != '\t');
        assert!(hidden.is_none(), "{hidden:?} in {}", reading::escaped(line));
        assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{}", reading::escaped(line));
    }
}

/// Nothing of a page does anything, and all its links are ours.
fn assert_harmless_page(page: &str) {
    // The addresses of the pull requests are the forge's, in the summary alone.
    let effects: Vec<String> =
        reading::effects(page).into_iter().filter(|e| !e.starts_with("://127.0.0.1:")).collect();
    assert!(effects.is_empty(), "{effects:#?}");
    for part in reading::structure(page) {
        let ours = |url: &str| {
            [
                "https://github.com/linkerd/linkerd2/releases/tag/edge-",
                "https://linkerd.io/",
                "http://127.0.0.1:",
            ]
            .iter()
            .any(|start| url.starts_with(start))
        };
        let bad = match part.split_once(' ') {
            Some(("link", url)) => !ours(url),
            Some(("html", tags)) => {
                let known = [
                    "details",
                    "summary",
                    "!-- uplinker:",
                    "!-- /uplinker:",
                    "/details",
                    "/summary",
                    "the marker",
                ];
                let tags = tags.split('"').skip(1).step_by(2);
                tags.into_iter().any(|t| !known.iter().any(|k| t.trim_start_matches('<').starts_with(k)))
            }
            _ => part == "image" || part.starts_with("footnote") || part == "math",
        };
        assert!(!bad, "{part}");
    }
}

/// Nothing of a line of text mentions, refers, or hides.
fn assert_harmless_line(text: &str) {
    let chars: Vec<char> = text.chars().collect();
    for (n, c) in chars.iter().enumerate() {
        let next = chars.get(n + 1).copied().unwrap_or(' ');
        let rest: String = chars.iter().skip(n).take(12).collect();
        let acts = match c {
            '@' => next.is_alphanumeric(),
            '#' => next.is_ascii_digit(),
            'g' | 'G' => rest.to_ascii_lowercase().starts_with("gh-1"),
            ':' => rest.starts_with("://"),
            c => reading::is_hidden(*c),
        };
        assert!(!acts, "{} in {}", reading::escaped(&rest), reading::escaped(text));
    }
}

#[test]
fn nothing_that_a_repository_or_a_feed_says_acts_anywhere() {
    let configuration = "version: 1\ntargets:\n- {name: default, paths: ['linkerd/**', 'apps/**']}\ndataPlane: {after: 0d, controlPlane: edge-26.8.3}\n\
                         pullRequest:\n  title: 'fixes #1, closes acme/config#2 @ada GH-1 a7c9f3e ::warning::x {to}'\n  \
                         labels: ['::add-mask::x', '@ada', 'fixes #1']\n  reviewers: ['ada']\n\
                         commit:\n  message: \"fixes #1 {to}\\n\\n@ada closes GH-1\\nalso\\nhttps://github.com/acme/config/issues/1\"\n";
    let scene = scene(configuration);
    let done = in_actions(&scene, scene.run()).done().exits(0).never_says(TOKEN);
    assert_harmless_output(&done);
    let pulls = scene.github.pulls(REPO);
    let heads: Vec<&str> = pulls.iter().map(|p| p.head_ref.as_str()).collect();
    assert!(heads.contains(&PLATFORM) && heads.contains(&DATA_PLANE), "{heads:?}\n{done}");
    for pull in &pulls {
        let body = pull.body.as_deref().expect("a body");
        assert_harmless_page(body);
        assert_eq!(Ticks::read(body), Ticks::default());
        let sign = marker::read(body).expect("its marker");
        assert!(!sign.closing && !sign.declined && pull.head_ref.ends_with(&sign.stage));
        assert_harmless_line(&pull.title);
        let message = scene.repo.message(&pull.head_ref);
        message.lines().for_each(assert_harmless_line);
        assert_eq!(message.lines().filter(|l| l.starts_with("Uplinker-Tree:")).count(), 1, "{message}");
        let tip = scene.repo.tip(&pull.head_ref).expect("the branch");
        for status in scene.github.statuses(REPO, tip) {
            let description = status.description.unwrap_or_default();
            assert!(description.encode_utf16().count() <= 140 && !description.contains(reading::is_hidden));
        }
    }
    let file = |name: &str| std::fs::read_to_string(scene.home.path().join(name)).expect("written");
    assert_harmless_page(&file("summary.md"));
    let output = file("output");
    let names: Vec<&str> = output.lines().map(|l| l.split('=').next().unwrap_or_default()).collect();
    assert_eq!(names, ["proposed", "url", "release", "exit"], "{output}");
}

#[test]
fn the_whole_page_has_all_texts_and_none_of_them_acts() {
    let scene = scene("version: 1\ndataPlane: {after: 0d, controlPlane: edge-26.8.3}\n");
    let plan = |format: &str| {
        let run = scene.command("plan").args(["--diff", "--format", format]);
        run.env("UPLINKER_HELM", helm()).done().exits(0)
    };
    let page = plan("markdown");
    assert_harmless_output(&page);
    let (texts, diff) = page.stdout.split_once("<details><summary>Changes</summary>").expect("the changes");
    assert_harmless_page(texts);
    assert!(!diff.is_empty());
    // They do arrive: from the notes, the chart, the values and the paths.
    for known in ["@&#8203;acme/admins", "&#35;&#8203;1", "GH-&#8203;12", "‹U+202E›", "a7c9f3&#8203;e"] {
        assert!(texts.contains(known), "{known}");
    }
    for n in 0..self::texts().len() {
        assert!(texts.contains(&format!("{n} ")), "text {n}");
    }
    let text = plan("text");
    assert_harmless_output(&text);
    let json = plan("json");
    assert_harmless_output(&json);
    assert_eq!(json.json()["schema"], "uplinker.plan/v1");
}

#[test]
fn a_configuration_of_such_texts_is_refused_or_held_in_words_that_do_nothing() {
    let all = texts();
    let list: String =
        all.iter().map(|t| format!("- {{name: {}, paths: [{}]}}\n", quoted(t), quoted(t))).collect();
    let scene = scene(&format!("version: 1\n{}: 1\ntargets:\n{list}", quoted("::error::@ada\u{1b}[31m")));
    let done = in_actions(&scene, scene.run()).done().exits(2);
    assert!(done.stderr.matches("uplinker.yaml:").count() > 50, "{done}");
    assert_harmless_output(&done);

    let paused = all.join(" ");
    let other = self::scene(&format!("version: 1\npaused: {}\n", quoted(&paused)));
    let done = in_actions(&other, other.run()).done().exits(0);
    assert_harmless_output(&done);
    assert!(done.stdout.contains("on hold"), "{done}");
    let summary = std::fs::read_to_string(other.home.path().join("summary.md")).expect("written");
    assert_harmless_page(&summary);
    let home = Home::new();
    let pins = home.run(["pins", "--format", "markdown"]).arg(other.repo.path()).done().exits(0);
    assert_harmless_output(&pins);
    assert_harmless_page(&pins.stdout);
}
