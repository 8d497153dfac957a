//! How many requests went to which host, and what its limit leaves.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use reqwest::header::HeaderMap;

/// The most hosts that are told apart; the operator's own are a handful, and a redirect may lead to more.
const HOSTS: usize = 64;

/// What is counted; clones count together.
#[derive(Clone, Debug, Default)]
pub struct Traffic(Arc<Mutex<BTreeMap<String, Host>>>);

/// One host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The requests that it answered.
    pub requests: u64,
    /// What its limit still allowed when it answered last, where it says so.
    pub remaining: Option<u64>,
}

// === impl Traffic ===

impl Traffic {
    /// Counts an answer.
    pub fn count(&self, host: &str, headers: &HeaderMap) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= HOSTS && !hosts.contains_key(host) {
            return;
        }
        let told = headers.get("x-ratelimit-remaining").and_then(|left| left.to_str().ok()?.parse().ok());
        let counted = hosts.entry(host.to_owned()).or_default();
        counted.requests += 1;
        counted.remaining = told.or(counted.remaining);
    }

    /// Returns what was counted, by host.
    pub fn hosts(&self) -> BTreeMap<String, Host> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_counted_up_to_a_number() {
        let traffic = Traffic::default();
        let limited =
            HeaderMap::from_iter([("x-ratelimit-remaining".parse().unwrap(), "17".parse().unwrap())]);
        traffic.count("a", &limited);
        traffic.clone().count("a", &HeaderMap::new());
        assert_eq!(traffic.hosts()["a"], Host { requests: 2, remaining: Some(17) });
        (0..1000).for_each(|n| traffic.count(&format!("h{n}"), &HeaderMap::new()));
        assert_eq!(traffic.hosts().len(), HOSTS);
    }
}
