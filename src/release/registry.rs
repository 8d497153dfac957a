//! The `charts` feed out of an OCI registry: the tags of Linkerd's charts below an address.
//!
//! In: the address that the operator has named. Out: the charts of each release, as an index names them, but for their
//! digests: a registry tells those in the manifest of each, which is read when a package is brought.

use super::{
    Chart,
    feed::FeedError,
    helm_index::{Package, Packages},
};
use crate::{
    linkerd::{CHARTS, EdgeVersion},
    oci::{Address, Client, OciError},
};

/// Reads what a registry has below an address.
pub(super) fn read(client: Client<'_>, address: &Address) -> Result<Packages, FeedError> {
    let mut all = Packages::default();
    let mut any = false;
    for name in CHARTS {
        let repository = address.of_chart(name);
        let Some(tags) = client.tags(&repository)? else { continue };
        any = true;
        all.packages.extend(tags.iter().filter_map(|tag| package(name, &repository, tag)));
    }
    match any {
        true => Ok(all),
        false => {
            Err(FeedError { reason: format!("{address}: has none of Linkerd's charts"), temporary: false })
        }
    }
}

/// Takes a tag that is the version of a release; what else there is, is the registry's own affair.
fn package(name: &str, repository: &Address, tag: &str) -> Option<Package> {
    let edge = EdgeVersion::from_chart(tag)?;
    let chart =
        Chart { version: tag.to_owned(), url: repository.to_string(), digest: None, kube_version: None };
    Some(Package { name: name.to_owned(), edge, chart })
}

impl From<OciError> for FeedError {
    fn from(error: OciError) -> Self {
        Self { reason: error.to_string(), temporary: error.is_temporary() }
    }
}
