//! Where the daemon answers HTTP.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};

use clap::Args;

use crate::{cli::Error, serve::Listener, sys::env};

/// Where the daemon answers.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct ListenArgs {
    /// Answer HTTP here: a status page, /api/v1, /healthz, /readyz, /metrics. An address and a port, such as
    /// 127.0.0.1:8080; `:8080` is every address [default: nowhere]
    #[arg(long, env = env::LISTEN, hide_env_values = true, value_name = "ADDRESS", value_parser = listen)]
    listen: Option<Addresses>,
}

/// What an address may stand for, in the order in which it is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Addresses(Vec<SocketAddr>);

// === impl ListenArgs ===

impl ListenArgs {
    /// Returns where to listen, or where is listened.
    pub(in crate::cli) fn addresses(&self) -> Option<&[SocketAddr]> {
        self.listen.as_ref().map(|addresses| addresses.0.as_slice())
    }

    /// Listens there, where an address was named.
    pub(super) fn bind(&self) -> Result<Option<Listener>, Error> {
        self.addresses().map(bind).transpose()
    }
}

fn bind(addresses: &[SocketAddr]) -> Result<Listener, Error> {
    let shown = addresses.first().map(ToString::to_string).unwrap_or_default();
    Listener::bind(addresses).map_err(|e| {
        let error = Error::usage(format!("cannot listen on {shown}")).because(e);
        error.hint("is another program there? `--listen` takes an address of this machine and a free port")
    })
}

fn listen(text: &str) -> Result<Addresses, String> {
    let wrong = || "write an address and a port, such as 127.0.0.1:8080 or :8080".to_owned();
    if let Some(port) = text.strip_prefix(':') {
        let port: u16 = port.parse().map_err(|_| wrong())?;
        // Where a machine has IPv6, its wildcard takes IPv4 too.
        let any = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
        return Ok(Addresses(any.map(|ip| SocketAddr::new(ip, port)).to_vec()));
    }
    let host = text.rsplit_once(':').map(|(host, _)| host);
    match (text.parse(), host) {
        (Ok(address), _) => Ok(Addresses(vec![address])),
        // A name of this machine; another one would be asked of a name server.
        (Err(_), Some("localhost")) => {
            text.to_socket_addrs().map(|all| Addresses(all.collect())).map_err(|e| e.to_string())
        }
        (Err(_), _) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port() {
        let shown = |text| listen(text).map(|all| all.0.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(shown(":8080").unwrap(), ["[::]:8080", "0.0.0.0:8080"]);
        assert_eq!(shown("127.0.0.1:0").unwrap(), ["127.0.0.1:0"]);
        assert_eq!(shown("[::1]:80").unwrap(), ["[::1]:80"]);
        assert!(!shown("localhost:80").unwrap().is_empty());
        for wrong in ["", ":", "8080", "127.0.0.1", ":99999", "example.com:80", "http://x:1"] {
            assert!(listen(wrong).is_err(), "{wrong}");
        }
    }
}
