//! The daemon as those see it who ask it: probes, a Prometheus, logs.

pub mod daemon;
mod day;
mod health;
mod limits;
mod lists;
mod logs;
mod metrics;
mod pages;
mod webhooks;
