//! The transformers of a kustomization's own fields, in kustomize's order, and those that are configured as objects.

use super::{
    builder::{Builder, Here, Layer},
    charts,
    config::{Section, add_all},
    fields::FieldSpec,
    generate::{self, Kind},
    images::Image,
    patches::Patch,
    replacement::{ReplacementError, replace},
    resource::text_of,
    transform::{self, End, Namespace, Subjects},
};
use crate::deploy::{
    note::About,
    object::Object,
    typed::is_true,
    value::{Scalar, Value},
};

/// Applies what the fields of a kustomization say.
pub(super) fn built_in(builder: &mut Builder<'_>, here: &Here, of: &Value, layer: &mut Layer) {
    for entry in of.list_at("patchesStrategicMerge") {
        if let Some(patch) = Patch::of_text(builder, here, entry) {
            patch.apply(builder, here, layer);
        }
    }
    for entry in of.list_at("patches") {
        if let Some(patch) = Patch::of(builder, here, entry) {
            patch.apply(builder, here, layer);
        }
    }
    if !builder.spend(here, layer.resources.len()) {
        return;
    }
    let text = |key: &str| of.scalar(&[key]).filter(|text| !text.text().is_empty());
    if let Some(namespace) = text("namespace") {
        let fields = layer.config.fields(Section::Namespace).cloned().collect();
        let subjects = Subjects::Default;
        let namespace = Namespace { namespace: namespace.clone(), fields, unset_only: false, subjects };
        namespace.apply(&mut layer.resources);
        builder.apart(here, &layer.resources);
    }
    for (key, end) in [("namePrefix", End::Prefix), ("nameSuffix", End::Suffix)] {
        if let Some(affix) = text(key) {
            let fields: Vec<FieldSpec> = layer.config.fields(end.section()).cloned().collect();
            transform::affix(&mut layer.resources, end, affix, &fields);
        }
    }
    labels(of, layer);
    if let Some(annotations) = of.get("commonAnnotations") {
        let fields = layer.config.fields(Section::CommonAnnotations);
        transform::entries(&mut layer.resources, annotations, fields);
        stray_annotations(builder, here, layer, annotations);
    }
    for entry in of.list_at("patchesJson6902") {
        if let Some(patch) = Patch::of_json(builder, here, entry, "patch") {
            patch.apply(builder, here, layer);
        }
    }
    for entry in of.list_at("replicas") {
        replicas(builder, here, entry, None, layer);
    }
    for entry in of.list_at("images").iter().chain(of.list_at("imageTags")) {
        image(builder, here, entry, None, layer);
    }
    for entry in of.list_at("replacements") {
        replacement(builder, here, entry, layer);
    }
}

fn labels(of: &Value, layer: &mut Layer) {
    let resources = &mut layer.resources;
    for entry in of.list_at("labels") {
        let flag = |key: &str| is_true(entry, &[key]);
        let mut fields: Vec<FieldSpec> = entry.list_at("fields").iter().map(FieldSpec::of).collect();
        add_all(&mut fields, layer.config.fields(Section::Labels));
        if flag("includeSelectors") {
            add_all(&mut fields, layer.config.fields(Section::CommonLabels));
        } else {
            if flag("includeTemplates") {
                add_all(&mut fields, layer.config.fields(Section::TemplateLabels));
            }
            add_all(&mut fields, [FieldSpec::made("metadata/labels")].iter());
        }
        if let Some(pairs) = entry.get("pairs") {
            transform::entries(resources, pairs, fields.iter());
        }
    }
    if let Some(pairs) = of.get("commonLabels") {
        transform::entries(resources, pairs, layer.config.fields(Section::CommonLabels));
    }
}

/// Annotations as objects get them which are not known here.
fn stray_annotations(builder: &mut Builder<'_>, here: &Here, layer: &Layer, annotations: &Value) {
    let metadata = Value::map([("metadata", Value::map([("annotations", annotations.clone())]))]);
    let mut value = metadata.clone();
    value.insert("spec", Value::map([("template", metadata)]));
    let said = if layer.outside { &mut builder.strays } else { &mut builder.idle };
    said.push(Object::new(value, here.path.clone(), None));
}

fn replicas(
    builder: &mut Builder<'_>,
    here: &Here,
    entry: &Value,
    fields: Option<&[FieldSpec]>,
    layer: &mut Layer,
) {
    let name = text_of(entry.get("name"));
    let Some(count) = entry.scalar(&["count"]) else { return };
    if !builder.spend(here, layer.resources.len()) {
        return;
    }
    let found = match fields {
        Some(fields) => transform::replicas(&mut layer.resources, &name, count, fields.iter()),
        None => {
            transform::replicas(&mut layer.resources, &name, count, layer.config.fields(Section::Replicas))
        }
    };
    if !found && !layer.outside {
        builder.note(here, About::NoTarget(format!("the replicas of {name}")));
    }
}

fn image(
    builder: &mut Builder<'_>,
    here: &Here,
    entry: &Value,
    fields: Option<&[FieldSpec]>,
    layer: &mut Layer,
) {
    let Some(image) = Image::of(entry) else {
        return builder.fails(here, "an entry of `images`", "its name is no expression");
    };
    if !builder.spend(here, layer.resources.len()) {
        return;
    }
    let found = match fields {
        Some(fields) => image.apply(&mut layer.resources, fields.iter()),
        None => image.apply(&mut layer.resources, layer.config.fields(Section::Images)),
    };
    // A layer's entries go to its own objects, and to those of what it takes in.
    if layer.outside { &mut builder.images } else { &mut builder.images_of_known }.push(entry.clone());
    if !found && layer.outside {
        let value = image.container(entry);
        builder.strays.push(Object::new(value, here.path.clone(), None));
    }
}

fn replacement(builder: &mut Builder<'_>, here: &Here, entry: &Value, layer: &mut Layer) {
    let mut all = vec![entry.clone()];
    if let Some(path) = entry.scalar(&["path"]) {
        let Some(documents) = builder.documents(here, &path.text()) else { return };
        all = match documents.first() {
            Some(Value::List(items)) => items.to_vec(),
            other => other.into_iter().cloned().collect(),
        };
    }
    for entry in all {
        if !builder.spend(here, layer.resources.len()) {
            return;
        }
        if let Err(error) = replace(&mut layer.resources, &entry) {
            let name = format!("the replacement of {}", text_of(entry.path(&["source", "name"])));
            builder.fails(here, &name, &error.to_string());
            if error == ReplacementError::Grows {
                builder.exhaust();
            }
        }
    }
}

/// Generates what a plugin that kustomize has built in says.
pub(super) fn generator(builder: &mut Builder<'_>, here: &Here, plugin: &Value, layer: &mut Layer) {
    let kind = text_of(plugin.get("kind"));
    let kind = match kind.as_str() {
        _ if text_of(plugin.get("apiVersion")) != "builtin" => return unknown(builder, here, &kind, layer),
        "ConfigMapGenerator" => Kind::ConfigMap,
        "SecretGenerator" => Kind::Secret,
        "HelmChartInflationGenerator" => {
            layer.outside = true;
            let chart = charts::chart(builder, here, plugin, None);
            return layer.charts.push(chart);
        }
        _ => return unknown(builder, here, &kind, layer),
    };
    // What is metadata of the plugin is the name and namespace of what it generates.
    let mut entry = plugin.clone();
    for key in ["name", "namespace"] {
        if let Some(value) = plugin.path(&["metadata", key]) {
            entry.insert(key, value.clone());
        }
    }
    if let Some(resource) = generate::generate(builder, here, kind, &entry, None) {
        generate::absorb(builder, here, &mut layer.resources, resource);
    }
}

/// Applies a transformer that kustomize has built in.
pub(super) fn transformer(builder: &mut Builder<'_>, here: &Here, plugin: &Value, layer: &mut Layer) {
    let kind = text_of(plugin.get("kind"));
    if text_of(plugin.get("apiVersion")) != "builtin" {
        return unknown(builder, here, &kind, layer);
    }
    let fields: Vec<FieldSpec> = plugin.list_at("fieldSpecs").iter().map(FieldSpec::of).collect();
    match kind.as_str() {
        "AnnotationsTransformer" => {
            let annotations = plugin.get("annotations").cloned().unwrap_or_else(Value::empty);
            transform::entries(&mut layer.resources, &annotations, fields.iter());
            stray_annotations(builder, here, layer, &annotations);
        }
        "LabelTransformer" => {
            let labels = plugin.get("labels").cloned().unwrap_or_else(Value::empty);
            transform::entries(&mut layer.resources, &labels, fields.iter());
        }
        "NamespaceTransformer" => {
            let Some(namespace) = plugin.scalar(&["metadata", "namespace"]) else { return };
            let unset_only = is_true(plugin, &["unsetOnly"]);
            let subjects = match plugin.text(&["setRoleBindingSubjects"]).as_deref() {
                Some("allServiceAccounts") => Subjects::ServiceAccounts,
                Some("none") => Subjects::None,
                _ => Subjects::Default,
            };
            let namespace = Namespace { namespace: namespace.clone(), fields, unset_only, subjects };
            namespace.apply(&mut layer.resources);
            builder.apart(here, &layer.resources);
        }
        "PrefixTransformer" | "SuffixTransformer" | "PrefixSuffixTransformer" => {
            for (key, end) in [("prefix", End::Prefix), ("suffix", End::Suffix)] {
                let affix = plugin.scalar(&[key]).filter(|_| kind.to_lowercase().contains(key));
                affix
                    .into_iter()
                    .for_each(|affix| transform::affix(&mut layer.resources, end, affix, &fields));
            }
        }
        "PatchTransformer" => apply(Patch::of(builder, here, plugin), builder, here, layer),
        "PatchJson6902Transformer" => {
            apply(Patch::of_json(builder, here, plugin, "jsonOp"), builder, here, layer)
        }
        "PatchStrategicMergeTransformer" => {
            for entry in plugin.list_at("paths").iter().chain(plugin.get("patches")) {
                apply(Patch::of_text(builder, here, entry), builder, here, layer);
            }
        }
        "ImageTagTransformer" => {
            let entry = plugin.get("imageTag").cloned().unwrap_or_else(Value::empty);
            image(builder, here, &entry, Some(&fields), layer);
        }
        "ReplicaCountTransformer" => {
            let entry = plugin.get("replica").cloned().unwrap_or_else(Value::empty);
            replicas(builder, here, &entry, Some(&fields), layer);
        }
        "ReplacementTransformer" => {
            for entry in plugin.list_at("replacements") {
                replacement(builder, here, entry, layer);
            }
        }
        _ => unknown(builder, here, &kind, layer),
    }
}

fn apply(patch: Option<Patch<'_>>, builder: &mut Builder<'_>, here: &Here, layer: &mut Layer) {
    if let Some(patch) = patch {
        patch.apply(builder, here, layer);
    }
}

/// A plugin that is a program, or that is not followed: objects may come of it that are not known here.
fn unknown(builder: &mut Builder<'_>, here: &Here, kind: &str, layer: &mut Layer) {
    layer.outside = true;
    builder.note(
        here,
        About::Unread { what: format!("the plugin {kind}"), why: "it is not followed".to_owned() },
    );
}

impl Image {
    /// A container with the image that an entry makes: what objects get that are not known here.
    fn container(&self, entry: &Value) -> Value {
        let name = entry.scalar(&["name"]).cloned().unwrap_or_else(|| Scalar::made(""));
        let named = self.renamed(&Value::Scalar(name.clone())).unwrap_or(Value::Scalar(name));
        let container = Value::map([("image", named)]);
        let pod = Value::map([("containers", Value::list(vec![container]))]);
        Value::map([("spec", pod)])
    }
}
