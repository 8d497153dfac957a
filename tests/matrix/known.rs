//! Cells that are known to be wrong, by pattern, each with its reason. A cell that is listed and right fails too.

pub const KNOWN: [(&str, &str); 3] = [
    (
        "*/linkerd-control-plane|linkerd-viz/*/RemovedRandom/Overwrite",
        "an object with nondeterministic fields is not brought back",
    ),
    ("Json/linkerd-viz/*/None|Field|Removed/*", "an item that gains a field is written on one line"),
    (
        "Json/linkerd-control-plane/*/None|Field|Removed/*",
        "an item that gains a field is written on one line",
    ),
];
