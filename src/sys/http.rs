//! One HTTP client for every request that is not Git's: bounded in time, one TLS stack.

use std::{future::Future, path::Path, time::Duration};

/// The client and the runtime that drives it; cheap to share by reference between threads.
pub struct Http {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    staying: reqwest::Client,
}

/// A client that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up the HTTP client: {0}")]
pub struct HttpSetup(pub String);

// === impl Http ===

impl Http {
    /// Makes the client. `ca_file` adds an operator's certificate authority (PEM) to the system's.
    pub fn new(ca_file: Option<&Path>) -> Result<Self, HttpSetup> {
        let mut authorities = Vec::new();
        if let Some(path) = ca_file {
            let pem = std::fs::read(path).map_err(|e| HttpSetup(format!("{}: {e}", path.display())))?;
            authorities = reqwest::Certificate::from_pem_bundle(&pem)
                .map_err(|e| HttpSetup(format!("{}: {e}", path.display())))?;
        }
        let builder = || {
            let builder = reqwest::Client::builder()
                .user_agent(concat!("uplinker/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(Duration::from_secs(10))
                .read_timeout(Duration::from_secs(30))
                .timeout(Duration::from_secs(120));
            authorities.iter().cloned().fold(builder, reqwest::ClientBuilder::add_root_certificate)
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| HttpSetup(e.to_string()))?;
        let client = builder().build().map_err(|e| HttpSetup(e.to_string()))?;
        let staying = builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|e| HttpSetup(e.to_string()))?;
        Ok(Self { runtime, client, staying })
    }

    /// Returns the client, for adapters that speak a protocol of their own.
    pub fn client(&self) -> &reqwest::Client {
        &self.client
    }

    /// Returns the client that follows no redirect, for requests that carry a token and may not leave their host.
    pub fn staying_client(&self) -> &reqwest::Client {
        &self.staying
    }

    /// Drives a future to its end on this client's runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }
}
