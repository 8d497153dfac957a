//! Three environments over months: whatever people do to each, the next gets the newest that the one before it has run for
//! long enough and has not gone back from, and nothing else.

use proptest::prelude::*;

use super::*;

const TARGETS: [(&str, i64); 3] = [("development", 0), ("staging", 1), ("production", 4)];

/// What happens on a day.
#[derive(Clone, Debug)]
enum Event {
    Release,
    /// Somebody merges what is proposed for a target, if anything is.
    Merge(usize),
    /// Somebody takes a target back by so many releases.
    Back(usize, usize),
    Nothing,
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => Just(Event::Release),
        6 => (0..TARGETS.len()).prop_map(Event::Merge),
        1 => ((0..TARGETS.len()), 1..4_usize).prop_map(|(target, by)| Event::Back(target, by)),
        3 => Just(Event::Nothing),
    ]
}

fn version(number: usize) -> EdgeVersion {
    edge(&format!("26.{}.{}", 1 + number / 20, 1 + number % 20))
}

fn day(day: usize) -> Timestamp {
    at("2026-01-01T00:00:00Z") + SignedDuration::from_hours(24 * i64::try_from(day).unwrap())
}

/// What a target has been at, and from which day on, oldest first.
type History = Vec<(usize, usize)>;

/// The newest release that may go on from a target, by trying each.
fn goes_on(before: &History, at: usize, soak: i64, today: usize) -> Option<usize> {
    let stays = |n: usize, release: usize| before[n..].iter().all(|(later, _)| *later >= release);
    let is_old = |since: usize| day(today).duration_since(day(since)) >= days(soak);
    let good = before
        .iter()
        .enumerate()
        .filter(|(n, (release, since))| *release > at && is_old(*since) && stays(*n, *release));
    good.map(|(_, (release, _))| *release).max()
}

fn decided(histories: &[History], target: usize, newest: usize, today: usize) -> Decision {
    let released =
        (0..=newest).map(|n| Release { published: Some(day(0)), ..release(&version(n).to_string()[5..], 0) });
    let own = histories[target].last().unwrap().0;
    let of_before = |before: usize| Before {
        untold: None,
        target: TARGETS[before].0.to_owned(),
        soak: days(TARGETS[target].1),
        running: histories[before].last().map(|(release, _)| version(*release)),
        ran: Some(ran(histories[before].iter().rev().map(|(release, since)| Ran {
            release: version(*release),
            since: day(*since),
            checks: Ok(Vec::new()),
        }))),
        gates: Gates::default(),
    };
    let before = target.checked_sub(1).map(of_before).into_iter().collect();
    let (lowest, highest) = (Some(version(own)), Some(version(own)));
    decide(
        &Policy::default(),
        &catalog(released),
        &Needs { before, lowest, steps_from: lowest, highest, ..Needs::default() },
        day(today),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn each_target_gets_the_newest_that_the_one_before_it_kept(events in prop::collection::vec(any_event(), 0..120)) {
        let mut newest = 2;
        let mut histories: Vec<History> = vec![vec![(1, 0)]; TARGETS.len()];
        for (event, today) in events.into_iter().zip(1..) {
            match event {
                Event::Release => newest += 1,
                Event::Merge(target) => {
                    let own = histories[target].last().unwrap().0;
                    let expected = match target.checked_sub(1) {
                        None => Some(newest).filter(|newest| *newest > own),
                        Some(before) => goes_on(&histories[before], own, TARGETS[target].1, today),
                    };
                    match decided(&histories, target, newest, today) {
                        Decision::Target { version: chosen, .. } => {
                            prop_assert_eq!(Some(chosen), expected.map(version));
                            histories[target].push((expected.unwrap(), today));
                        }
                        Decision::Hold(hold) => {
                            prop_assert_eq!(expected, None, "{}", hold);
                            prop_assert!(hold.until.is_none_or(|until| until > day(today)), "{}", hold);
                            prop_assert!(hold.to_string().contains("until"), "{}", hold);
                        }
                    }
                }
                Event::Back(target, by) => {
                    let own = histories[target].last().unwrap().0;
                    histories[target].push((own.saturating_sub(by), today));
                }
                Event::Nothing => {}
            }
        }
    }
}
