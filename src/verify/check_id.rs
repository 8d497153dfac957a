//! Step 8, verify: the checks by name.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// A check, named as in reports and in `docs/checks.md`, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckId {
    /// A byte changed outside the pins.
    MinimalDiff,
    /// A file no longer parses.
    Parses,
    /// A second run would change more.
    Idempotent,
    /// A way back leads elsewhere.
    Restored,
    /// What the deployers make differs in more than releases.
    ModelDiff,
    /// A private key would enter Git.
    PrivateKey,
    /// A package is not the one that the index names.
    ChartDigest,
    /// Something could not be rendered.
    NotRendered,
    /// Pins are of several releases.
    VersionAgreement,
    /// An intermediate release comes first.
    RequiredHop,
    /// The cluster is too old for the charts.
    KubeVersion,
    /// The supported range of the Gateway API changes.
    GatewayApi,
    /// Proxies and control plane are too far apart.
    Skew,
    /// CRDs and control plane are not applied in order.
    Order,
    /// A CRD goes.
    CrdRemoval,
    /// A version of a CRD goes.
    CrdStoredVersion,
    /// Pruning deletes what goes.
    Prune,
    /// A field changes that cannot be changed.
    ImmutableFields,
    /// Somebody may do more than before.
    RbacGrowth,
    /// A webhook decides over more, or fails otherwise.
    WebhookFailurePolicy,
    /// A certificate ends.
    CertificateExpiry,
    /// A value names the release that is left.
    ValuesStaleOverride,
    /// The chart does not know a value.
    ValuesUnknown,
    /// A default changes that is relied on.
    DefaultsChanged,
    /// An image comes from a mirror that may lack it.
    MirrorUnverified,
    /// A committed copy of a chart would win.
    VendoredChart,
    /// A chart changes and its version stays.
    ChartVersion,
    /// A script names the release that is left.
    StaleGenerator,
    /// A comment names the release that is left.
    StaleComment,
    /// What was published of the releases between.
    Guidance,
    /// A file that could not be read names a release.
    Skipped,
    /// What deploys the repository stays at a commit or a tag.
    FixedRevision,
    /// Another updater moves the same pins.
    Rivals,
    /// Versions in the repository as it is do not go together.
    HalfDone,
}

/// Writes the name that JSON has.
impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
