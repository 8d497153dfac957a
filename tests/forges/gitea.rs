//! The table on Gitea.

use crate::support::{github::board::Issue, scene::REPO};

pub const FORGE: crate::support::flavor::Flavor = crate::support::flavor::Flavor::Gitea;

rows!();

#[test]
fn a_label_that_is_not_there_narrows_no_list() {
    let play = play::Play::configured("version: 1\noverview: issue\ndataPlane: {pins: ignore}\n");
    play.scene.github.settings(REPO, |repo| {
        let theirs = |n: u64| Issue {
            title: format!("Issue {n}"),
            body: "Something else.".to_owned(),
            open: true,
            labels: Vec::new(),
        };
        repo.board.issues.extend((900..980).map(|n| (n, theirs(n))));
    });
    let ours = || {
        let mut found = Vec::new();
        play.scene.github.settings(REPO, |repo| {
            let labelled = |(_, issue): &(&u64, &Issue)| issue.labels == ["linkerd: overview"];
            found = repo.board.issues.iter().filter(labelled).map(|(number, _)| *number).collect();
        });
        found
    };
    let listed = |pass: &play::Pass| pass.asked.iter().filter(|line| line.contains("/issues?")).count();
    let first = play.run().exits(0);
    assert_eq!((ours().len(), listed(&first)), (1, 1), "{:#?}", first.asked);
    let number = ours();
    play.publish(4);
    let second = play.run().exits(0);
    assert_eq!((ours(), listed(&second)), (number, 1), "{:#?}", second.asked);
}
