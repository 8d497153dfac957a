//! The scenes that are broken, each up to the run that is: made from files and from what people did.

use std::sync::LazyLock;

use git2::Oid;
use uplinker::render::Renderer as _;

use super::{
    ends,
    place::{Place, complete, settled},
};
use crate::support::{
    charts::ChartRepository,
    feed::release,
    flavor::Flavor,
    github::{Merge, Repo, Token},
    helm::Bench,
    manifests::job,
    repo::{ADA, BEN, put},
    scene::{DATA_PLANE, PLATFORM, REPO, Scene, TOKEN},
};

pub const SOURCE: &str = "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata:
  name: linkerd-edge
  namespace: linkerd
spec:
  interval: 1h
  url: https://helm.linkerd.io/edge
";

pub const CRDS: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: linkerd-crds
  namespace: linkerd
spec:
  interval: 1h
  chart:
    spec:
      chart: linkerd-crds
      version: 2026.8.2
      sourceRef:
        kind: HelmRepository
        name: linkerd-edge
";

pub const CONTROL_PLANE: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: linkerd-control-plane
  namespace: linkerd
spec:
  interval: 1h
  dependsOn:
    - name: linkerd-crds
  chart:
    spec:
      chart: linkerd-control-plane
      version: 2026.8.2
      sourceRef:
        kind: HelmRepository
        name: linkerd-edge
";

const SHOP: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  namespace: shop
spec:
  template:
    metadata:
      annotations:
        linkerd.io/inject: enabled
        config.linkerd.io/proxy-version: edge-26.8.2
";

const PLAIN: &str = "version: 1\ndataPlane:\n  after: 0d\n";
const REPLACING: &str = "version: 1\nbranch:\n  history: replace\n";
const EXTRAS: &str = "\
version: 1
pullRequest:
  labels: [linkerd, deps]
  reviewers: [ben]
  assignees: [ada]
";
const DRAFT: &str = "version: 1\npullRequest:\n  draft: true\n";
const STRANGERS: &str = "version: 1\npullRequest:\n  reviewers: [ben, stranger, ada]\n";
const RELABELLED: &str = "version: 1\ndataPlane:\n  after: 0d\npullRequest:\n  labels: [linkerd]\n";
const TWO: &str = "\
version: 1
targets:
  - {name: east, paths: [east]}
  - {name: west, paths: [west]}
";

/// The charts, packed.
static CHARTS: LazyLock<ChartRepository> = LazyLock::new(ChartRepository::new);

/// What Helm makes of one of them, as people commit it.
static RENDERED: LazyLock<String> = LazyLock::new(|| {
    let bench = Bench::new(&CHARTS.url());
    let made = bench.helm().render(&[job("linkerd-crds", "2026.8.2", "{}")]);
    made.into_iter().next().unwrap().unwrap().to_string()
});

/// The file with that.
pub const MANIFEST: &str = "mesh/linkerd-crds.yaml";

/// A commit that has to be on a branch in the end.
pub type Kept = (&'static str, Oid);

/// What happens before the run that is broken.
#[derive(Clone, Copy)]
pub struct Scenario {
    config: &'static str,
    platform: &'static str,
    /// Where the pins are; in none of them where only the rendered manifest is to move.
    folders: &'static [&'static str],
    shop: bool,
    renders: bool,
    /// Whether GitHub makes and signs the commits.
    signs: bool,
    token: fn() -> Token,
    settings: fn(&mut Repo),
    prepare: fn(&Scene) -> Vec<Kept>,
    /// What has to be there in the end.
    ends: fn(&Scene),
}

/// The first pull request, with labels, a reviewer, an assignee and a status.
pub const FIRST: Scenario = Scenario {
    config: EXTRAS,
    platform: "2026.8.2",
    folders: &[""],
    shop: false,
    renders: false,
    signs: false,
    token: Token::actions,
    settings: |_| {},
    prepare: |_| Vec::new(),
    ends: |scene| {
        let pull = ends::proposed(scene, "edge-26.8.3");
        assert_eq!(
            (pull.reviewers.as_slice(), pull.assignees.as_slice()),
            (&["ben".into()][..], &["ada".into()][..])
        );
        assert!(["linkerd", "deps"].iter().all(|label| pull.labels.iter().any(|l| l == label)), "{pull:#?}");
    },
};

/// The same with an App's token, which may not ask who it is.
pub const BY_APP: Scenario = Scenario { token: || Token::app("mesh"), ..FIRST };

/// The same where the repository has no drafts, so that it is opened twice.
pub const NO_DRAFTS: Scenario = Scenario {
    config: DRAFT,
    settings: |repo| repo.drafts = false,
    ends: |scene| assert!(!ends::proposed(scene, "edge-26.8.3").draft),
    ..FIRST
};

/// The same where one reviewer is refused, so that they are asked one by one.
pub const ONE_BY_ONE: Scenario = Scenario {
    config: STRANGERS,
    ends: |scene| {
        let mut reviewers = ends::proposed(scene, "edge-26.8.3").reviewers;
        reviewers.sort();
        assert_eq!(reviewers, ["ada", "ben"]);
    },
    ..FIRST
};

/// Two targets, each with a pull request of its own.
pub const TARGETS: Scenario = Scenario {
    config: TWO,
    folders: &["east/", "west/"],
    ends: |scene| {
        let moved = |target: &str| [format!("{target}/crds.yaml"), format!("{target}/control-plane.yaml")];
        for (number, target) in [(1, "east"), (2, "west")] {
            let pull = ends::open(scene, number, &format!("uplinker/{target}/platform"));
            assert!(pull.title.contains(&format!("({target}, platform)")), "{}", pull.title);
            ends::moved(
                scene,
                &pull,
                &moved(target).each_ref().map(String::as_str),
                ("2026.8.2", "2026.8.3"),
            );
        }
        assert_eq!(scene.github.pulls(REPO).len(), 2);
    },
    ..FIRST
};

/// A committed manifest, which Helm makes again.
pub const RENDERING: Scenario = Scenario {
    config: PLAIN,
    folders: &[],
    renders: true,
    ends: |scene| {
        let pull = ends::open(scene, 1, PLATFORM);
        assert_eq!(scene.repo.changed("main", PLATFORM), [MANIFEST], "{pull:#?}");
        let bench = Bench::new(&CHARTS.url());
        let fresh = bench.helm().render(&[job("linkerd-crds", "2026.8.3", "{}")]).remove(0).unwrap();
        assert_eq!(scene.repo.read(PLATFORM, MANIFEST).as_deref(), Some(&*fresh), "as a fresh render is");
    },
    ..FIRST
};

/// A newer release while the pull request is open.
pub const NEWER: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        publish_next(scene);
        Vec::new()
    },
    ends: |scene| drop(ends::proposed(scene, "edge-26.8.4")),
    ..FIRST
};

/// A label of ours that does not fit, and another that the configuration wants now.
pub const LABELS_CHANGE: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        scene.github.change(REPO, 1, |pull| pull.labels.push("linkerd: blocked".into()));
        vec![("main", scene.repo.commit("main", &ADA, "Label it", &[put("uplinker.yaml", RELABELLED)]))]
    },
    ends: |scene| {
        let labels = ends::proposed(scene, "edge-26.8.3").labels;
        assert!(
            labels.iter().any(|l| l == "linkerd") && !labels.iter().any(|l| l == "linkerd: blocked"),
            "{labels:?}"
        );
    },
    ..FIRST
};

/// The default branch is another now: the pull request to the old one is left over.
pub const STRAY: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        scene.repo.branch("trunk", "main");
        scene.repo.set_default_branch("trunk");
        Vec::new()
    },
    ends: |scene| {
        let old = scene.github.pull(REPO, 1);
        assert!(!old.open && old.merged_at.is_none() && old.base_ref == "main", "{old:#?}");
        let pull = ends::open(scene, 2, PLATFORM);
        assert_eq!(pull.base_ref, "trunk");
        ends::moved(scene, &pull, ends::PINS, ("2026.8.2", "2026.8.3"));
    },
    ..FIRST
};

/// A person ticked the box that applies the plan to the base branch as it is now.
pub const REBASED: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        let elsewhere = scene.repo.commit("main", &ADA, "Elsewhere", &[put("docs/notes.md", "Something.\n")]);
        scene.github.tick(REPO, 1, "uplinker:rebase");
        vec![("main", elsewhere), (PLATFORM, elsewhere)]
    },
    ends: |scene| {
        let pull = ends::follows(scene, "edge-26.8.3");
        assert!(!pull.body.unwrap_or_default().contains("- [x]"));
    },
    ..FIRST
};

/// A person ticked the box that asks again for people, labels and the status.
pub const RETRIED: Scenario = Scenario {
    prepare: |scene| {
        complete(scene);
        scene.github.change(REPO, 1, |pull| pull.reviewers.clear());
        scene.github.tick(REPO, 1, "uplinker:retry");
        Vec::new()
    },
    ends: |scene| {
        let pull = ends::proposed(scene, "edge-26.8.3");
        assert_eq!(pull.reviewers, ["ben"]);
        assert!(!pull.body.unwrap_or_default().contains("- [x]"));
    },
    ..FIRST
};

/// A file of the change set changed on the base branch, so the plan is applied to the new base.
pub const BASE_TOUCHED: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        vec![("main", touch_base(scene))]
    },
    ends: |scene| drop(ends::follows(scene, "edge-26.8.3")),
    ..FIRST
};

/// People moved the pins themselves, so the pull request is not wanted any more.
pub const CLOSE: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        let [crds, plane] = [CRDS, CONTROL_PLANE].map(|text| text.replace("2026.8.2", "2026.8.3"));
        let changes = [put("crds.yaml", &crds), put("control-plane.yaml", &plane)];
        vec![("main", scene.repo.commit("main", &ADA, "Move by hand", &changes))]
    },
    ends: ends::closed,
    ..FIRST
};

/// A person ticked the box that declines the release.
pub const DECLINED: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        scene.github.tick(REPO, 1, "uplinker:skip");
        Vec::new()
    },
    ends: ends::closed,
    ..FIRST
};

/// The data-plane pull request, after the platform's change.
pub const FOLLOWING: Scenario = Scenario {
    config: PLAIN,
    platform: "2026.8.3",
    shop: true,
    prepare: |_| Vec::new(),
    ends: |scene| {
        let pull = ends::open(scene, 1, DATA_PLANE);
        ends::moved(scene, &pull, &["shop.yaml"], ("edge-26.8.2", "edge-26.8.3"));
    },
    ..FIRST
};

/// A person pushed to our branch; the body is to say so.
pub const PERSON: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        vec![(PLATFORM, push_by_person(scene))]
    },
    ends: |scene| {
        let pull = ends::open(scene, 1, PLATFORM);
        assert_eq!(scene.repo.read(PLATFORM, "notes.txt").as_deref(), Some("mine too\n"));
        assert!(pull.body.unwrap_or_default().contains("- [ ] "), "a box hands it back");
    },
    ..FIRST
};

/// A person pushed to our branch and handed it back by the checkbox.
pub const HANDED_BACK: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        let theirs = push_by_person(scene);
        complete(scene);
        scene.github.tick(REPO, 1, "uplinker:retake");
        vec![(PLATFORM, theirs)]
    },
    ends: |scene| drop(ends::proposed(scene, "edge-26.8.3")),
    ..FIRST
};

/// A newer release where the branch keeps one commit.
pub const REPLACED: Scenario = Scenario {
    config: REPLACING,
    ends: |scene| {
        ends::proposed(scene, "edge-26.8.4");
        assert_eq!(scene.repo.ahead("main", PLATFORM), 1);
    },
    ..NEWER
};

/// A branch left behind by a squash merge, and a newer release.
pub const LEFT_BEHIND: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        let merged = scene.github.merge(REPO, 1, Merge::Squash, "ada", false);
        publish_next(scene);
        vec![("main", merged)]
    },
    ends: |scene| {
        assert!(scene.github.pull(REPO, 1).merged_at.is_some());
        let pull = ends::open(scene, 2, PLATFORM);
        ends::moved(scene, &pull, ends::PINS, ("2026.8.3", "2026.8.4"));
    },
    ..FIRST
};

// === impl Scenario ===

impl Scenario {
    /// The same with commits that GitHub makes and signs.
    pub const fn signed(self) -> Self {
        Self { signs: true, ..self }
    }

    /// Sets the scene, up to the run that is to be broken.
    pub fn set(&self) -> (Scene, Vec<Kept>) {
        let [crds, plane] = [CRDS, CONTROL_PLANE].map(|text| text.replace("2026.8.2", self.platform));
        let mut files = vec![("uplinker.yaml".to_owned(), self.config)];
        for folder in self.folders {
            let texts = [("source.yaml", SOURCE), ("crds.yaml", &crds), ("control-plane.yaml", &plane)];
            files.extend(texts.map(|(name, text)| (format!("{folder}{name}"), text)));
        }
        if self.shop {
            files.push(("shop.yaml".to_owned(), SHOP));
        }
        if self.renders {
            files.push((MANIFEST.to_owned(), &RENDERED));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let mut scene = Scene::new(&files);
        scene.renders = self.renders;
        if self.signs {
            scene.flavor = Flavor::Signing;
        }
        if self.renders {
            scene.feed.serve_packages(CHARTS.packages());
        }
        scene.github.token(TOKEN, (self.token)());
        scene.github.labels(REPO, &["linkerd", "deps"]);
        scene.github.settings(REPO, |repo| {
            repo.collaborators.extend(["ada".to_owned(), "ben".to_owned()]);
            (self.settings)(repo);
        });
        let kept = (self.prepare)(&scene);
        (scene, kept)
    }

    /// Runs without a fault: where every broken run has to end as well, and how many writes it took. Whether that is the
    /// right place, the scenario knows by itself.
    pub fn clean(&self) -> (Place, usize) {
        let (scene, kept) = self.set();
        let writes = &scene.github.controls().writes;
        let before = writes.count();
        complete(&scene);
        let count = writes.count() - before;
        assert!(count > 0, "the run writes");
        (self.ends)(&scene);
        let place = Place::of(&scene);
        settled(&scene);
        assert_eq!(Place::of(&scene), place);
        check_kept(&scene, &kept);
        (place, count)
    }
}

/// Asserts that what people committed is where they put it.
pub fn check_kept(scene: &Scene, kept: &[Kept]) {
    for (branch, commit) in kept {
        assert!(scene.repo.contains(branch, *commit), "{commit} is lost from {branch}");
    }
}

/// Publishes the release after the newest.
pub fn publish_next(scene: &Scene) {
    scene.feed.publish(release("edge-26.8.4", "2026-08-22T09:00:00Z"));
}

/// A person changes a file of the change set on the base branch.
pub fn touch_base(scene: &Scene) -> Oid {
    let touched = CRDS.replace("interval: 1h", "interval: 2h");
    scene.repo.commit("main", &ADA, "Ask less often", &[put("crds.yaml", &touched)])
}

/// A person pushes to the branch of the open pull request.
pub fn push_by_person(scene: &Scene) -> Oid {
    let branch = if scene.repo.tip(PLATFORM).is_some() { PLATFORM } else { DATA_PLANE };
    let changes = [put("crds.yaml", "# mine\n"), put("notes.txt", "mine too\n")];
    scene.repo.commit(branch, &BEN, "Try something", &changes)
}
