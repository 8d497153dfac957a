//! A server of releases on loopback: the action's repository, its releases, and Helm's packages.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::runner::Runner;
use crate::support::{
    controls::{Controls, Fault},
    git_server::{GitBackend, TokenGate},
    http::{Handler, Request, Response, Server},
};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");
pub const ASSET: &str = "uplinker-x86_64-unknown-linux-musl.tar.gz";

pub fn tag() -> String {
    format!("v{VERSION}")
}

pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A gzipped tar archive of programs.
pub fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o755);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

/// A server with the repository of the action, its releases, and Helm's.
pub struct Releases {
    pub server: Server,
    pub controls: Arc<Controls>,
    pub files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    pub folder: TempDir,
}

struct Pages {
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    git: GitBackend,
}

impl Handler for Pages {
    fn handle(&self, request: &Request) -> Response {
        if GitBackend::takes(request) {
            return self.git.handle(request);
        }
        match self.files.lock().unwrap().get(&request.path) {
            Some(body) => Response { status: 200, body: body.clone(), ..Response::default() },
            None => Response::text(404, "Not Found"),
        }
    }
}

impl Releases {
    /// A server whose release has the built program, behind a name of its own.
    pub fn new() -> Self {
        let releases = Self::none();
        let program = format!("#!/bin/sh\nexec \"{}\" \"$@\"\n", env!("CARGO_BIN_EXE_uplinker"));
        let asset = archive(&[("uplinker", &program), ("uplinker.1", "a page")]);
        releases.publish(
            "SHA256SUMS",
            format!("{}  other.tar.gz\n{}  {ASSET}\n", hex(b""), hex(&asset)).as_bytes(),
        );
        releases.publish(ASSET, &asset);
        releases
    }

    pub fn none() -> Self {
        let (folder, files) = (TempDir::new().unwrap(), Arc::<Mutex<BTreeMap<String, Vec<u8>>>>::default());
        let controls = Arc::new(Controls::default());
        let git = GitBackend::new(folder.path(), Arc::new(TokenGate::default()));
        let server = Server::start(Arc::new(Pages { files: Arc::clone(&files), git }), Arc::clone(&controls));
        Self { server, controls, files, folder }
    }

    pub fn publish(&self, file: &str, bytes: &[u8]) {
        self.put(&format!("/uplinker/uplinker/releases/download/{}/{file}", tag()), bytes);
    }

    pub fn put(&self, path: &str, bytes: &[u8]) {
        self.files.lock().unwrap().insert(path.to_owned(), bytes.to_vec());
    }

    /// A machine that uses the release, and downloads from here.
    pub fn runner(&self) -> Runner {
        self.runner_at(&tag())
    }

    pub fn runner_at(&self, reference: &str) -> Runner {
        Runner::at(reference).with("UPLINKER_DOWNLOAD_URL", &self.server.url())
    }

    pub fn asked(&self) -> usize {
        self.controls.log.take().len()
    }

    pub fn fault(&self, file: &str, times: usize, fault: Fault) {
        self.controls.rules.fault_nth("GET", &format!("*/{file}"), 0, times, fault);
    }
}
