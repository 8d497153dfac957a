//! The table on GitLab.

use std::sync::{Arc, Mutex};

use crate::support::{feed::release, scene::REPO};

pub const FORGE: crate::support::flavor::Flavor = crate::support::flavor::Flavor::GitLab;

rows!();

#[test]
fn notes_of_a_release_command_nothing() {
    let play = play::Play::new();
    let mut published = release("edge-26.8.4", "2026-08-16T09:00:00Z");
    published.notes =
        "## What changed\n\n* fixed !1 for @all ~bug\n\n/close\n/merge\n\n> /approve\n\n&#47;close\n"
            .to_owned();
    play.scene.feed.publish(published);
    play.run().exits(0).prints(&["opened http://"]);
    let pull = play.pull(1);
    let commands: Vec<_> = pull.events.iter().filter(|event| event.event.starts_with("command")).collect();
    assert!(pull.open && commands.is_empty(), "{commands:?}");
    let body = pull.body.expect("a description");
    assert!(body.contains("edge-26.8.4") && !body.contains("@all") && !body.contains("!1 "), "{body}");
}

#[test]
fn git_is_told_the_name_that_oauth_wants() {
    let play = play::Play::new();
    let names = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&names);
    play.scene.github.controls().rules.before_each("*", &format!("/{REPO}.git/*"), move |request| {
        seen.lock().unwrap().extend(request.credentials().map(|(user, _)| user));
    });
    play.run().exits(0).prints(&["opened http://"]);
    let names = names.lock().unwrap();
    assert!(names.len() > 3 && names.iter().all(|name| name == "oauth2"), "{names:?}");
}
