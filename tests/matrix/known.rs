//! Cells that are known to be wrong, by pattern, each with its reason. A cell that is listed and right fails too.

pub const KNOWN: [(&str, &str); 8] = [
    ("*/*/*/Added/*", "an object that no chart gives is not named"),
    ("*/linkerd2-cni/*/*/*", "the pin of a CNI plugin names its image, and is taken for a release"),
    (
        "*/linkerd-crds|linkerd-control-plane|linkerd-viz|linkerd-multicluster/*/Field|Removed|RemovedRandom/Refuse",
        "the charts beside one that is refused move without it",
    ),
    (
        "*/linkerd-control-plane|linkerd-viz/*/RemovedRandom/Overwrite",
        "an object with nondeterministic fields is not brought back",
    ),
    (
        "List|Json|Kustomize/linkerd-multicluster/HighAvailability/*/*",
        "without Helm's comments, objects with few labels are taken for the control plane's",
    ),
    ("PerObject/linkerd-control-plane/*/*/*", "the check for a second pass misses a pin whose file goes"),
    ("Json/linkerd-viz/*/None|Field|Removed/*", "an item that gains a field is written on one line"),
    (
        "Json/linkerd-control-plane/*/None|Field|Removed/*",
        "an item that gains a field is written on one line",
    ),
];
