//! What a person did to a committed manifest since it was rendered, and what that is to be called.

use crate::matrix::{
    cells::{Cell, Drift},
    world::{NEW, OLD},
};
use crate::support::{kustomize, manifests::documents};

/// A manifest as somebody left it.
pub struct ByHand {
    /// What is left of Helm's output.
    pub printed: String,
    /// Objects that no chart gives.
    pub added: Vec<&'static str>,
    /// The newer output with the same done to it; `None` where the release changes what was changed by hand.
    pub kept: Option<String>,
    /// The object that differs from what the chart gives, and the field; `None` for an object that only one side has.
    pub named: Option<(String, Option<String>)>,
}

/// Objects that nothing but their owner knows; the second has a label that the extension's own objects have.
const OWN: [&str; 2] = [
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ours\n  namespace: platform\ndata:\n  note: added by hand\n",
    "apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nmetadata:\n  name: ours\n  namespace: platform\n  labels:\n    \
     linkerd.io/extension: LABEL\nspec:\n  selector:\n    matchLabels:\n      app: ours\n",
];

/// Where a field is changed: the kind, the line, what it becomes, the field.
const FIELDS: [(&str, &str, &str, &str); 5] = [
    ("Deployment", "  replicas: ", "7", "spec.replicas"),
    (
        "DaemonSet",
        "        kubernetes.io/os: ",
        "windows",
        "spec.template.spec.nodeSelector[\"kubernetes.io/os\"]",
    ),
    ("CustomResourceDefinition", "  scope: ", "Cluster", "spec.scope"),
    ("Service", "  type: ", "ExternalName", "spec.type"),
    ("ConfigMap", "  dest_cni_bin_dir: ", "\"/opt/other\"", "data.dest_cni_bin_dir"),
];

/// Kinds of which an object may be taken out.
const PLAIN: [&str; 4] = ["ServiceAccount", "ClusterRoleBinding", "Service", "CustomResourceDefinition"];
/// Kinds of objects with nondeterministic fields that hold no key.
const RANDOM: [&str; 4] =
    ["CronJob", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService"];

/// Does to `printed` what the cell says; `new` is the chart's newer output.
pub fn by_hand(cell: &Cell, printed: &str, new: &str) -> ByHand {
    let all = documents(printed);
    let mut left =
        ByHand { printed: printed.to_owned(), added: Vec::new(), kept: Some(new.to_owned()), named: None };
    let in_new = |document: &String| {
        documents(new).into_iter().find(|n| shown(n) == shown(document)).expect("it stays")
    };
    let stays = |document: &String| documents(new).iter().any(|n| shown(n) == shown(document));
    let choice = choice(cell);
    match cell.drift {
        Drift::None => {}
        Drift::Added => left.added.push(own(cell.chart, choice)),
        Drift::Field => {
            let fields: Vec<(&String, usize)> = all
                .iter()
                .filter(|d| !d.contains("helm.sh/hook") && stays(d))
                .flat_map(|d| (0..FIELDS.len()).map(move |n| (d, n)))
                .filter(|(d, n)| kind(d) == FIELDS[*n].0 && line(d, FIELDS[*n].1).is_some())
                .collect();
            let (document, n) = fields[choice % fields.len()];
            let (_, start, value, field) = FIELDS[n];
            let was = line(document, start).expect("the line");
            let changed = document.replacen(was, &format!("{start}{value}"), 1);
            left.printed = replaced(printed, document, &changed);
            let newer = in_new(document);
            left.kept = newer
                .contains(was)
                .then(|| replaced(new, &newer, &newer.replacen(was, &format!("{start}{value}"), 1)));
            left.named = Some((shown(document), Some(field.to_owned())));
        }
        Drift::Removed | Drift::RemovedRandom => {
            let kinds = if cell.drift == Drift::Removed { &PLAIN } else { &RANDOM };
            let is_one = |d: &&String| {
                let random = d.contains("caBundle: ") || d.contains("schedule: ");
                let which = cell.drift == Drift::Removed || random;
                kinds.contains(&kind(d).as_str()) && which && !d.contains("helm.sh/hook") && stays(d)
            };
            let candidates: Vec<&String> = all.iter().filter(is_one).collect();
            let document = candidates[choice % candidates.len()];
            left.printed = replaced(printed, document, "");
            let newer = in_new(document);
            left.kept = (same_but_for_the_release(document, &newer)).then(|| replaced(new, &newer, ""));
            left.named = Some((shown(document), None));
        }
    }
    left
}

/// Compares two versions of an object without the release's name, and without what each rendering makes anew.
fn same_but_for_the_release(old: &str, new: &str) -> bool {
    let made = ["caBundle: ", "schedule: ", "checksum/"];
    let plain = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !made.iter().any(|made| line.contains(made)));
        // `2026.6.3` and `edge-26.6.3` have their end in common.
        lines.map(|line| line.replace(&OLD[2..], "").replace(&NEW[2..], "")).collect()
    };
    plain(old) == plain(new)
}

/// Names an object as people do: `Deployment linkerd/linkerd-destination`.
pub fn shown(document: &str) -> String {
    let (kind, namespace, name) = kustomize::key(&kustomize::read(document));
    match namespace.as_str() {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

fn own(chart: &str, choice: usize) -> &'static str {
    match (choice % 2, chart) {
        (1, "linkerd-viz") => {
            static TEXT: std::sync::LazyLock<String> =
                std::sync::LazyLock::new(|| OWN[1].replace("LABEL", "viz"));
            TEXT.as_str()
        }
        (1, "linkerd-multicluster") => {
            static TEXT: std::sync::LazyLock<String> =
                std::sync::LazyLock::new(|| OWN[1].replace("LABEL", "multicluster"));
            TEXT.as_str()
        }
        _ => OWN[0],
    }
}

/// A number that spreads what is left open over the cells.
fn choice(cell: &Cell) -> usize {
    cell.to_string().bytes().fold(17, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) >> 5
}

fn kind(document: &str) -> String {
    document.lines().find_map(|l| l.strip_prefix("kind: ")).unwrap_or_default().to_owned()
}

fn line<'d>(document: &'d str, start: &str) -> Option<&'d str> {
    document.lines().find(|line| line.starts_with(start))
}

/// Puts another text in the place of a document; nothing takes it out with what parts it from the next.
fn replaced(printed: &str, document: &str, changed: &str) -> String {
    assert_eq!(printed.matches(document).count(), 1, "{document}");
    let (before, behind) = printed.split_once(document).expect("it is there");
    match changed {
        "" => before.strip_suffix("---\n").expect("a separator").to_owned() + behind.trim_start_matches('\n'),
        changed => format!("{before}{changed}{behind}"),
    }
}
