//! Knowledge of Linkerd: names, annotations, values, milestones, required hops, notices.
//!
//! Data and pure functions only; every step may read it, it reads no other. Names are
//! constants here; what changes with releases is in `data/linkerd.yaml`, which an operator may extend. Each
//! fact names its source: L2 is the repository linkerd/linkerd2, WEB is linkerd/website.

mod annotations;
mod charts;
mod clock_fields;
mod guidance;
mod hops;
mod knowledge;
mod milestones;
mod names;
mod notices;
mod requirements;
mod undeclared;
mod values;
mod version;

pub use annotations::{ADMISSION, DEBUG_VERSION, INJECT, PROXY_VERSION, RECONCILE};
pub use charts::{
    CHARTS, CNI, CONTROL_PLANE, CRDS, MULTICLUSTER, OLD_CONTROL_PLANE, RETIRED_CHARTS, RetiredChart, Turn,
    VIZ, default_namespace, is_chart, is_control_plane, is_unmarked, retired_chart, turn,
};
pub use clock_fields::ClockField;
pub use guidance::{Advice, Verdict};
pub use hops::{Hop, HopReason};
pub use knowledge::{Knowledge, KnowledgeError, built_in, required_hop};
pub use milestones::Milestone;
pub use names::{EDGE_CHARTS, IMAGES, Image, MERGED_IMAGE, REGISTRIES, VersionLine, image, image_names};
pub use notices::{Notice, NoticeKind, Touches};
pub use requirements::{GatewayApi, Kubernetes};
pub use undeclared::{is_free_form, reads_undeclared, replaced_value};
pub use values::{REQUIRED, Required, VALUES, Value, ValueLine, value, values};
pub use version::{EdgeVersion, NotAnEdge};
