//! The names of a kustomization's fields, whose letters may be of either case.
//!
//! Source: kustomize reads a kustomization as JSON into the types of `api/types`, and Go's `encoding/json` takes a key of either
//! case for a field, at every level. Keys that are the author's (labels, annotations, values) stay.

use crate::deploy::value::Value;

/// The fields of all types.
const FIELDS: [&str; 110] = [
    "additionalValuesFiles",
    "allowKindChange",
    "allowNameChange",
    "annotationSelector",
    "annotations",
    "apiVersion",
    "apiVersions",
    "bases",
    "behavior",
    "buildMetadata",
    "chartHome",
    "chartName",
    "chartRepoName",
    "chartRepoUrl",
    "chartVersion",
    "cloud",
    "commonAnnotations",
    "commonLabels",
    "components",
    "configHome",
    "configMapGenerator",
    "configurations",
    "count",
    "crds",
    "create",
    "debug",
    "delimiter",
    "devel",
    "digest",
    "disableNameSuffixHash",
    "encoding",
    "env",
    "envs",
    "extraArgs",
    "fieldPath",
    "fieldPaths",
    "fieldref",
    "fields",
    "files",
    "generatorOptions",
    "generators",
    "group",
    "helmBin",
    "helmChartInflationGenerator",
    "helmCharts",
    "helmGlobals",
    "helmHome",
    "imageTags",
    "images",
    "immutable",
    "includeCRDs",
    "includeSelectors",
    "includeTemplates",
    "index",
    "kind",
    "kubeVersion",
    "kubernetesService",
    "labelSelector",
    "labels",
    "legacySortOptions",
    "literals",
    "metadata",
    "name",
    "namePrefix",
    "nameSuffix",
    "nameTemplate",
    "namespace",
    "newName",
    "newTag",
    "objref",
    "openapi",
    "options",
    "order",
    "orderFirst",
    "orderLast",
    "pairs",
    "patch",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "path",
    "projectId",
    "reject",
    "releaseName",
    "releaseNamespace",
    "replacements",
    "replicas",
    "repo",
    "resources",
    "secretGenerator",
    "select",
    "serviceAccount",
    "skipHooks",
    "skipTests",
    "sortOptions",
    "source",
    "sourceValue",
    "tagSuffix",
    "target",
    "targets",
    "transformers",
    "type",
    "validators",
    "values",
    "valuesFile",
    "valuesInline",
    "valuesLocal",
    "valuesMerge",
    "vars",
    "version",
];
/// Fields whose keys are the author's.
const OPEN: [&str; 8] = [
    "annotations",
    "commonAnnotations",
    "commonLabels",
    "labels",
    "metadata",
    "pairs",
    "valuesInline",
    "valuesLocal",
];

/// Writes the names of the fields as kustomize does.
pub(super) fn canonical(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::list(items.iter().map(canonical).collect()),
        Value::Scalar(_) => value.clone(),
        Value::Map(_) => {
            let mut out = Value::empty();
            for (key, value) in value.entries() {
                let name = name(key);
                let is_open = OPEN.contains(&name) && matches!(value, Value::Map(_));
                out.insert(name, if is_open { value.clone() } else { canonical(value) });
            }
            out
        }
    }
}

fn name(key: &str) -> &str {
    FIELDS.iter().find(|field| field.eq_ignore_ascii_case(key)).copied().unwrap_or(key)
}
