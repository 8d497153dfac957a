//! `uplinker healthcheck`: asks the daemon of this machine whether it lives, for a container that has no shell.

use std::{net::SocketAddr, time::Duration};

use clap::Args;
use url::Url;

use super::{Error, Exit, serve::listen::ListenArgs};
use crate::sys::http;

/// The longest that the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ask the `serve` of this machine whether it lives
///
/// Asks /healthz where `serve` listens, on this machine and by no proxy. For the health check of a container without a
/// shell.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct HealthcheckArgs {
    #[command(flatten)]
    listen: ListenArgs,
}

const EXAMPLES: &str = "\
Examples:
  uplinker healthcheck --listen :8080
  HEALTHCHECK CMD [\"/uplinker\", \"healthcheck\"]      in a Dockerfile, with UPLINKER_LISTEN set

Exit codes: 0 it lives, 1 it does not, 2 usage.";

/// Runs the command.
pub(super) fn execute(args: &HealthcheckArgs) -> Result<Exit, Error> {
    let Some(addresses) = args.listen.addresses() else {
        return Err(Error::usage("it is not said where `serve` listens")
            .hint("name the address with --listen, or in UPLINKER_LISTEN"));
    };
    let mut failed = None;
    for address in addresses.iter().map(|address| reached_at(*address)) {
        let url = Url::parse(&format!("http://{address}/healthz"));
        let url = url.map_err(|e| Error::usage(format!("{address} is no address")).because(e))?;
        match http::status_of(&url, PATIENCE) {
            Ok(200) => return Ok(Exit::Done),
            Ok(status) => failed = Some(Error::failed(format!("{url} answered {status}"))),
            Err(error) => failed = Some(Error::failed(error.to_string())),
        }
    }
    Err(failed.unwrap_or_else(|| Error::failed("nothing was asked")))
}

/// What listens on all addresses is asked on this machine's own.
fn reached_at(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}
