//! Hosts by their names, over HTTPS: a proxy that answers for all of them, with certificates of its own.
//!
//! In: which server of the tests stands for which host and paths. Out: the environment that sends a program there. What is
//! asked of a host that nobody stands for is refused.

use std::{
    io::{self, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use native_tls::{Identity, TlsAcceptor};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

use super::http::{Request, read_request, write_request};

const AUTHORITY: &str = "authority.pem";

/// A host, what the paths begin with that a server answers, and the server.
pub type Stands = (&'static str, &'static str, SocketAddr);

/// The proxy; it ends with the value.
pub struct Internet {
    address: SocketAddr,
    folder: TempDir,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    hosts: Vec<Stands>,
    tls: TlsAcceptor,
    /// Hosts that nobody stands for, and that were asked for.
    unknown: Mutex<Vec<String>>,
}

// === impl Internet ===

impl Internet {
    /// Starts with these hosts; of two whose paths fit, the first answers.
    pub fn start(hosts: &[Stands]) -> Self {
        let folder = TempDir::new().expect("a folder");
        let (authority, identity) = certificates(hosts);
        std::fs::write(folder.path().join(AUTHORITY), authority).expect("written");
        let tls = TlsAcceptor::new(identity).expect("a server's side");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("the address of a bound listener");
        let shared =
            Shared { stop: AtomicBool::new(false), hosts: hosts.to_vec(), tls, unknown: Mutex::default() };
        let shared = Arc::new(shared);
        let acceptor = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                for socket in listener.incoming().filter_map(Result::ok) {
                    if shared.stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let shared = Arc::clone(&shared);
                    // A client that goes away ends its thread.
                    drop(std::thread::spawn(move || shared.converse(socket)));
                }
            }
        });
        Self { address, folder, shared, acceptor: Some(acceptor) }
    }

    /// Returns what sends a program here.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        let proxy = format!("http://{}", self.address);
        let authority = self.authority().display().to_string();
        let system = ("SSL_CERT_FILE", "/dev/null".to_owned());
        [("HTTPS_PROXY", proxy.clone()), ("https_proxy", proxy), ("UPLINKER_CA_FILE", authority), system]
    }

    /// Returns the file of the authority that all certificates are by.
    fn authority(&self) -> PathBuf {
        self.folder.path().join(AUTHORITY)
    }

    /// Returns the hosts that were asked for and that nobody stands for.
    pub fn unknown(&self) -> Vec<String> {
        self.shared.unknown.lock().expect("no poison").clone()
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the acceptor.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

// === impl Shared ===

impl Shared {
    fn converse(&self, socket: TcpStream) -> io::Result<()> {
        let asked = read_request(&mut BufReader::new(&socket))?.unwrap_or_default();
        let host = asked.path.trim_end_matches(":443").to_owned();
        if asked.method != "CONNECT" || !self.hosts.iter().any(|(name, ..)| *name == host) {
            self.unknown.lock().expect("no poison").push(format!("{} {}", asked.method, asked.path));
            return (&socket).write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
        }
        (&socket).write_all(b"HTTP/1.1 200 Connection Established\r\n\r\n")?;
        let stream = self.tls.accept(socket).map_err(io::Error::other)?;
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader)? {
            let answer = self.answer(&host, request)?;
            reader.get_mut().write_all(&answer)?;
        }
        Ok(())
    }

    /// Asks the server that stands for a host.
    fn answer(&self, host: &str, mut request: Request) -> io::Result<Vec<u8>> {
        let fits = |(name, path, _): &&Stands| *name == host && request.path.starts_with(path);
        let (_, _, address) = self.hosts.iter().find(fits).ok_or_else(|| io::Error::other("no such path"))?;
        request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("connection"));
        request.headers.push(("Connection".to_owned(), "close".to_owned()));
        let mut server = TcpStream::connect(address)?;
        write_request(&mut server, &request)?;
        let mut answer = Vec::new();
        let _ = server.read_to_end(&mut answer)?;
        Ok(answer)
    }
}

/// Makes an authority, and a certificate by it for all hosts.
fn certificates(hosts: &[Stands]) -> (String, Identity) {
    let mut authority = CertificateParams::new(Vec::new()).expect("no names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let signed = authority.self_signed(&key).expect("a certificate").pem();
    let issuer = Issuer::new(authority, key);
    let names: Vec<String> = hosts.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let own = KeyPair::generate().expect("a key");
    let mut leaf = CertificateParams::new(names).expect("names");
    // By the name that both would have, it would be its own authority.
    leaf.distinguished_name = DistinguishedName::new();
    let certificate = leaf.signed_by(&own, &issuer).expect("signed");
    let identity = Identity::from_pkcs8(certificate.pem().as_bytes(), own.serialize_pem().as_bytes());
    (signed, identity.expect("a certificate with its key"))
}
