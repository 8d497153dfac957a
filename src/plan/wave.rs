//! Step 6, plan: waves, parts of a target's proxies that move one after the other.
//!
//! In: what tells the pods of a wave from others. Out: the wave of each proxy pin. A pin that goes to pods of several waves
//! moves with the last of them; what is in none moves after all of them.

use std::sync::Arc;

use globset::GlobSet;
use jiff::SignedDuration;

use crate::pins::{Home, Pin, Stage};

/// A part of the proxies.
#[derive(Clone, Debug)]
pub struct Wave {
    /// Its name.
    pub name: String,
    /// The files that its pins stand in, where that counts.
    pub paths: Option<GlobSet>,
    /// The namespaces of its pods, where that counts.
    pub namespaces: Option<GlobSet>,
    /// Labels that all its pods have.
    pub labels: Vec<(String, String)>,
    /// How long it must have run a release before the next one gets it.
    pub soak: SignedDuration,
}

/// Which of the waves of a target another target is.
#[derive(Clone, Debug)]
pub struct WaveShare {
    /// The target with the control plane, and with what is in no wave.
    pub of: String,
    /// All waves, in their order.
    pub waves: Arc<[Wave]>,
    /// Which one; `None` for the target itself.
    pub mine: Option<usize>,
}

// === impl Wave ===

impl Wave {
    fn has(&self, pin: &Pin, home: &Home) -> bool {
        let in_files = self.paths.as_ref().is_none_or(|paths| paths.is_match(pin.path.as_str()));
        let is_there = |namespaces: &GlobSet| home.namespace.as_ref().is_some_and(|n| namespaces.is_match(n));
        let in_namespaces = self.namespaces.as_ref().is_none_or(is_there);
        let is_labelled = |(key, value): &(String, String)| home.labels.get(key) == Some(value);
        in_files && in_namespaces && self.labels.iter().all(is_labelled)
    }
}

// === impl WaveShare ===

impl WaveShare {
    /// Tells whether a pin is in this part.
    pub(super) fn has(&self, pin: &Pin) -> bool {
        match pin.stage {
            Stage::Platform => self.mine.is_none(),
            Stage::DataPlane => self.wave(pin) == self.mine,
        }
    }

    fn wave(&self, pin: &Pin) -> Option<usize> {
        let nowhere = [Arc::new(Home::default())];
        let homes = if pin.homes.is_empty() { &nowhere[..] } else { &pin.homes };
        let of = |home: &Arc<Home>| self.waves.iter().position(|wave| wave.has(pin, home));
        let all: Option<Vec<usize>> = homes.iter().map(of).collect();
        all?.into_iter().max()
    }
}

#[cfg(test)]
mod tests {
    use globset::{Glob, GlobSetBuilder};

    use super::*;
    use crate::plan::testing::Build;

    fn globs(all: &[&str]) -> Option<GlobSet> {
        let mut set = GlobSetBuilder::new();
        for glob in all {
            set.add(Glob::new(glob).unwrap());
        }
        Some(set.build().unwrap())
    }

    fn wave(name: &str) -> Wave {
        let (paths, namespaces) = (None, None);
        Wave { name: name.to_owned(), paths, namespaces, labels: Vec::new(), soak: SignedDuration::ZERO }
    }

    fn home(namespace: &str, labels: &[(&str, &str)]) -> Arc<Home> {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Arc::new(Home { namespace: Some(namespace.to_owned()), labels })
    }

    #[test]
    fn a_pin_is_in_the_first_wave_that_has_it_and_of_several_pods_in_the_last() {
        let waves: Arc<[Wave]> = Arc::new([
            Wave { namespaces: globs(&["canary-*"]), ..wave("canary") },
            Wave {
                labels: vec![("tier".to_owned(), "batch".to_owned())],
                paths: globs(&["apps/**"]),
                ..wave("batch")
            },
        ]);
        let wave_of = |file: &str, homes: Vec<Arc<Home>>| {
            let mut inventory = Build::default().proxy(file, "edge-26.8.2").inventory();
            Arc::make_mut(&mut inventory.pins[0]).homes = homes;
            let share = WaveShare { of: "default".to_owned(), waves: waves.clone(), mine: None };
            share.wave(&inventory.pins[0])
        };
        let (canary, batch) = (home("canary-a", &[]), home("shop", &[("tier", "batch")]));
        assert_eq!(wave_of("apps/a.yaml", vec![canary.clone()]), Some(0));
        assert_eq!(wave_of("apps/a.yaml", vec![home("canary-a", &[("tier", "batch")])]), Some(0));
        assert_eq!(wave_of("apps/a.yaml", vec![batch.clone()]), Some(1));
        assert_eq!(wave_of("infra/a.yaml", vec![batch.clone()]), None, "all that is asked counts");
        assert_eq!(wave_of("apps/a.yaml", vec![canary.clone(), batch]), Some(1));
        assert_eq!(wave_of("apps/a.yaml", vec![canary, home("shop", &[])]), None);
        assert_eq!(wave_of("apps/a.yaml", Vec::new()), None);
    }
}
