//! The scenes that are broken, each up to the run that is: made from files and from what people did.

use git2::Oid;

use super::{
    place::{Place, complete, settled},
    support::{
        feed::release,
        github::Merge,
        repo::{ADA, BEN, put},
        scene::{DATA_PLANE, PLATFORM, REPO, Scene},
    },
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

/// A commit that has to be on a branch in the end.
pub type Kept = (&'static str, Oid);

/// What happens before the run that is broken.
#[derive(Clone, Copy)]
pub struct Scenario {
    config: &'static str,
    platform: &'static str,
    shop: bool,
    prepare: fn(&Scene) -> Vec<Kept>,
}

/// The first pull request, with labels, a reviewer, an assignee and a status.
pub const FIRST: Scenario =
    Scenario { config: EXTRAS, platform: "2026.8.2", shop: false, prepare: |_| Vec::new() };

/// A newer release while the pull request is open.
pub const NEWER: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        publish_next(scene);
        Vec::new()
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
    ..FIRST
};

/// People moved the pins themselves, so the pull request has nothing left to do.
pub const CLOSE: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        let [crds, plane] = [CRDS, CONTROL_PLANE].map(|text| text.replace("2026.8.2", "2026.8.3"));
        let changes = [put("crds.yaml", &crds), put("control-plane.yaml", &plane)];
        vec![("main", scene.repo.commit("main", &ADA, "Move by hand", &changes))]
    },
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
    ..FIRST
};

/// The data-plane pull request, after the platform's change.
pub const FOLLOWING: Scenario =
    Scenario { config: PLAIN, platform: "2026.8.3", shop: true, prepare: |_| Vec::new() };

/// A person pushed to our branch; the body is to say so.
pub const PERSON: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        vec![(PLATFORM, push_by_person(scene))]
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
    ..FIRST
};

/// A newer release where the branch keeps one commit.
pub const REPLACED: Scenario = Scenario { config: REPLACING, ..NEWER };

/// A branch left behind by a squash merge, and a newer release.
pub const LEFT_BEHIND: Scenario = Scenario {
    config: PLAIN,
    prepare: |scene| {
        complete(scene);
        let merged = scene.github.merge(REPO, 1, Merge::Squash, "ada", false);
        publish_next(scene);
        vec![("main", merged)]
    },
    ..FIRST
};

// === impl Scenario ===

impl Scenario {
    /// Sets the scene, up to the run that is to be broken.
    pub fn set(&self) -> (Scene, Vec<Kept>) {
        let plane = CONTROL_PLANE.replace("2026.8.2", self.platform);
        let crds = CRDS.replace("2026.8.2", self.platform);
        let mut files = vec![
            ("uplinker.yaml", self.config),
            ("source.yaml", SOURCE),
            ("crds.yaml", &crds),
            ("control-plane.yaml", &plane),
        ];
        if self.shop {
            files.push(("shop.yaml", SHOP));
        }
        let scene = Scene::new(&files);
        scene.github.settings(REPO, |repo| {
            repo.collaborators.extend(["ada".to_owned(), "ben".to_owned()]);
        });
        let kept = (self.prepare)(&scene);
        (scene, kept)
    }

    /// Runs without a fault: where every broken run has to end as well, and how many writes it took.
    pub fn clean(&self) -> (Place, usize) {
        let (scene, kept) = self.set();
        let writes = &scene.github.controls().writes;
        let before = writes.count();
        complete(&scene);
        let count = writes.count() - before;
        assert!(count > 0, "the run writes");
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
