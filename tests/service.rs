//! The daemon as those see it who ask it: probes, a Prometheus, logs.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "years/chance.rs"]
#[allow(dead_code)]
mod chance;
mod service {
    pub mod daemon;
    mod day;
    mod health;
    mod limits;
    mod lists;
    mod logs;
    mod metrics;
    mod pages;
    mod webhooks;
}
mod support;
