//! What Terraform files come to, with the place of each text.

use super::*;
use crate::deploy::{
    chart::{Layer, Repository},
    testing::files,
    value::Part,
};

fn evaluated(texts: &[(&str, &str)]) -> Terraform {
    terraform(&files(texts), &BTreeSet::new())
}

/// The text of a scalar with the file and the text that each of its parts was written as.
fn shown(scalar: &Scalar) -> String {
    let part = |part: &Part| match part {
        Part::Written(o) => {
            format!("{}:{}{}", o.source.path, o.text(), if o.via.is_some() { "*" } else { "" })
        }
        Part::Made(text) => format!("+{text}"),
        Part::Unknown(who) => format!("<{who}>"),
    };
    scalar.parts().iter().map(part).collect::<Vec<_>>().join(" ")
}

fn versions(found: &Terraform) -> Vec<String> {
    found.charts.iter().filter_map(|c| c.version.as_ref()).map(shown).collect()
}

fn release(version: &str) -> String {
    format!(
        "resource \"helm_release\" \"a\" {{\n  chart = \"linkerd-crds\"\n  repository = \"https://helm.linkerd.io/edge\"\n  \
         version = {version}\n}}\n"
    )
}

#[test]
fn a_version_is_found_where_it_is_written() {
    let variable = "variable \"v\" {\n  default = \"2026.8.2\"\n}\n";
    let found = |more: &[(&str, &str)], version: &str| {
        let main = release(version);
        versions(&evaluated(&[&[("r/main.tf", main.as_str()), ("r/variables.tf", variable)], more].concat()))
    };
    assert_eq!(found(&[], "\"2026.8.1\""), ["r/main.tf:2026.8.1"]);
    assert_eq!(found(&[], "var.v"), ["r/variables.tf:2026.8.2*"]);
    assert_eq!(found(&[], "trimprefix(\"v${var.v}\", \"v\")"), ["r/variables.tf:2026.8.2*"]);
    let parts = found(&[], "format(\"20%s\", trimprefix(var.v, \"20\"))");
    assert_eq!(parts, ["r/main.tf:20 r/variables.tf:26.8.2*"]);
    let set = [("r/terraform.tfvars", "v = \"2026.7.1\"\n")];
    assert_eq!(found(&set, "var.v"), ["r/terraform.tfvars:2026.7.1*"]);
    let many = [("r/sites/a.tfvars", "v = \"2026.7.1\"\n"), ("r/sites/b.tfvars", "v = \"2026.7.2\"\n")];
    assert_eq!(
        found(&many, "var.v"),
        ["r/variables.tf:2026.8.2*", "r/sites/a.tfvars:2026.7.1*", "r/sites/b.tfvars:2026.7.2*"]
    );
    assert!(found(&[], r#"yamldecode("a: off").a ? "20" : "2026.8.1""#)[0].starts_with("r/main.tf:2026"));
    let data = found(&[], "data.http.release.body");
    assert_eq!(data, ["<Terraform, `data.http.release.body`>"]);
}

#[test]
fn locals_maps_and_modules_hand_it_on() {
    let child = "variable \"release\" {}\nvariable \"more\" {\n  default = {}\n}\n\
        resource \"helm_release\" \"all\" {\n  for_each = var.release\n  chart = each.key\n  \
        repository = \"https://helm.linkerd.io/edge\"\n  version = each.value.version\n}\n";
    let root = "locals {\n  edge = \"2026.8.2\"\n  charts = { for name in [\"linkerd-crds\", \"linkerd-viz\"] : name => \
        { version = name == \"linkerd-viz\" ? \"2026.8.1\" : local.edge } }\n}\n\
        module \"mesh\" {\n  source = \"../mesh\"\n  release = local.charts\n}\n";
    let found = evaluated(&[("mesh/main.tf", child), ("live/main.tf", root)]);
    assert_eq!(versions(&found), ["live/main.tf:2026.8.2*", "live/main.tf:2026.8.1*"]);
    let names: Vec<_> = found.charts.iter().map(|c| c.chart.text().into_owned()).collect();
    assert_eq!(names, ["linkerd-crds", "linkerd-viz"]);
}

#[test]
fn what_a_value_does_not_say_its_type_says() {
    let typed = "variable \"charts\" {\n  type = map(object({\n    name = string\n    \
        release = optional(object({ version = optional(string, \"2026.8.2\"), wait = optional(bool) }), {})\n  }))\n}\n";
    let main = "resource \"helm_release\" \"all\" {\n  for_each = var.charts\n  chart = each.value.name\n  \
        version = each.value.release.version\n}\n";
    let set = "charts = {\n  a = { name = \"linkerd-crds\" }\n  \
        b = { name = \"linkerd-viz\", release = { version = \"2026.8.1\" } }\n  \
        c = { name = \"linkerd-viz\", release = { version = null } }\n}\n";
    let found = evaluated(&[("r/main.tf", main), ("r/v.tf", typed), ("r/terraform.tfvars", set)]);
    assert_eq!(versions(&found), ["r/v.tf:2026.8.2*", "r/terraform.tfvars:2026.8.1*", "r/v.tf:2026.8.2*"]);
    let old = "variable \"mesh\" {\n  default = {}\n}\nlocals {\n  mesh = defaults(var.mesh, { version = \"2026.8.2\" })\n}\n";
    let main = release("local.mesh[\"version\"]");
    assert_eq!(versions(&evaluated(&[("main.tf", &main), ("v.tf", old)])), ["v.tf:2026.8.2*"]);
}

#[test]
fn an_empty_override_leaves_what_a_file_of_versions_says() {
    let main = "variable \"crds\" {\n  default = \"\"\n}\nvariable \"viz\" {\n  default = \"2026.8.1\"\n}\n\
        locals {\n  read = yamldecode(file(\"./charts.yaml\"))\n  \
        set = { linkerd-crds = var.crds, linkerd-viz = var.viz }\n  \
        all = [for name, own in local.set : { version = coalesce(own, local.read.charts[name].version) }]\n}\n\
        resource \"helm_release\" \"all\" {\n  for_each = zipmap(keys(local.set), local.all)\n  chart = each.key\n  \
        repository = \"https://helm.linkerd.io/edge\"\n  version = each.value.version\n}\n";
    let charts = "charts:\n  linkerd-crds: {version: 2026.8.2}\n  linkerd-viz: {version: 2026.7.1}\n";
    let tree = [("main.tf", main), ("charts.yaml", charts)];
    assert_eq!(versions(&evaluated(&tree)), ["charts.yaml:2026.8.2*", "main.tf:2026.8.1*"]);
}

#[test]
fn paths_begin_where_the_root_lies() {
    let values = |path: &str| {
        format!(
            "resource \"helm_release\" \"v\" {{\n  chart = \"linkerd-viz\"\n  values = [file(\"{path}/v.yaml\")]\n}}\n"
        )
    };
    for path in ["${path.module}", "${path.root}", "${path.cwd}", "."] {
        for folder in ["", "deep/root/"] {
            let main = values(path);
            let (tf, yaml) = (format!("{folder}main.tf"), format!("{folder}v.yaml"));
            let found = evaluated(&[(&tf, &main), (&yaml, "linkerdVersion: edge-26.8.2\n")]);
            let values = found.charts[0].values().value;
            assert_eq!(
                values.text(&["linkerdVersion"]).as_deref(),
                Some("edge-26.8.2"),
                "{path} in {folder}"
            );
        }
    }
}

#[test]
fn what_the_tree_does_not_decide_is_taken_both_ways() {
    let main = release("var.canary ? \"2026.8.3\" : \"2026.8.2\"");
    let found = evaluated(&[("main.tf", &main), ("v.tf", "variable \"canary\" {}\n")]);
    assert_eq!(versions(&found), ["main.tf:2026.8.3", "main.tf:2026.8.2"]);
}

#[test]
fn values_come_from_files_heredocs_and_sets() {
    let main = "locals {\n  edge = \"edge-26.8.2\"\n}\nresource \"helm_release\" \"a\" {\n  chart = \"linkerd-viz\"\n  \
        repository = \"https://helm.linkerd.io/edge\"\n  values = [\n    file(\"${path.module}/v.yaml\"),\n    <<-EOT\n      \
        tap:\n        image: {tag: edge-26.8.1} # c\n    EOT\n    , yamlencode({ linkerdVersion = local.edge }),\n    \
        templatefile(\"t.yaml\", { tag = local.edge })\n  ]\n  set {\n    name = \"a.b\"\n    value = \"edge-26.7.1\"\n  }\n  \
        dynamic \"set\" {\n    for_each = { c = local.edge }\n    content {\n      name = set.key\n      value = set.value\n    \
        }\n  }\n}\n";
    let tree = [
        ("r/main.tf", main),
        ("r/v.yaml", "proxy: {image: {version: edge-26.8.0}}\n"),
        ("r/t.yaml", "web: {tag: ${tag}}\nprice: $5\n"),
    ];
    let found = evaluated(&tree);
    let values = found.charts[0].values().value;
    let at = |path: &[&str]| shown(values.scalar(path).unwrap());
    assert_eq!(at(&["proxy", "image", "version"]), "r/v.yaml:edge-26.8.0*");
    assert_eq!(at(&["tap", "image", "tag"]), "r/main.tf:edge-26.8.1*");
    assert_eq!(at(&["linkerdVersion"]), "r/main.tf:edge-26.8.2*");
    assert_eq!(at(&["web", "tag"]), "r/main.tf:edge-26.8.2*");
    assert_eq!(at(&["price"]), "r/t.yaml:$5*");
    assert_eq!(
        (at(&["a", "b"]).as_str(), at(&["c"]).as_str()),
        ("r/main.tf:edge-26.7.1*", "r/main.tf:edge-26.8.2*")
    );
    assert!(found.charts[0].layers.iter().all(|layer| !matches!(layer, Layer::Outside { .. })));
}

#[test]
fn a_list_of_sets_and_a_registry_are_read_too() {
    let main = "resource \"helm_release\" \"a\" {\n  chart = \"oci://cr.example.com/l5d/linkerd-crds\"\n  version = \"2026.8.2\"\n  \
        set = [{ name = \"x\", value = \"1\", type = \"string\" }]\n}\n";
    let found = evaluated(&[("main.tf", main)]);
    assert_eq!(found.charts[0].chart.text(), "linkerd-crds");
    let Repository::Address(registry) = &found.charts[0].repository else { panic!("an address") };
    assert_eq!(registry.text(), "oci://cr.example.com/l5d");
    assert!(!found.charts[0].values().value.scalar(&["x"]).unwrap().plain);
}

#[test]
fn resources_of_kubernetes_are_objects() {
    let main = "resource \"kubernetes_namespace\" \"a\" {\n  metadata {\n    name = \"shop\"\n    annotations = {\n      \
        \"config.linkerd.io/proxy-version\" = \"edge-26.8.2\"\n    }\n  }\n}\n\
        resource \"kubernetes_deployment_v1\" \"b\" {\n  metadata {\n    name = \"b\"\n  }\n  spec {\n    template {\n      metadata {\n        \
        annotations = { \"config.linkerd.io/proxy-version\" = \"edge-26.8.1\" }\n      }\n      spec {\n        container {\n          \
        image_pull_policy = \"Always\"\n        }\n      }\n    }\n  }\n}\n\
        resource \"kubectl_manifest\" \"c\" {\n  yaml_body = <<YAML\napiVersion: v1\nkind: Namespace\nmetadata: {name: c}\nYAML\n}\n";
    let found = evaluated(&[("main.tf", main)]);
    let kinds: Vec<_> = found.objects.iter().map(|o| o.kind().into_owned()).collect();
    assert_eq!(kinds, ["Namespace", "Deployment", "Namespace"]);
    let version = found.objects[0].annotation("config.linkerd.io/proxy-version").unwrap();
    assert_eq!(shown(version), "main.tf:edge-26.8.2");
    let pod = found.objects[1].value.path(&["spec", "template"]).unwrap();
    assert_eq!(
        shown(pod.scalar(&["metadata", "annotations", "config.linkerd.io/proxy-version"]).unwrap()),
        "main.tf:edge-26.8.1"
    );
    assert_eq!(pod.path(&["spec"]).unwrap().list_at("containers").len(), 1);
}

#[test]
fn a_run_is_for_each_environment_that_files_and_maps_are_made_for() {
    let found = |version: &str, more: &[(&str, &str)]| {
        let main =
            format!("locals {{\n  all = {{ a = \"2026.8.1\", b = \"2026.8.2\" }}\n}}\n{}", release(version));
        let found = evaluated(&[&[("r/main.tf", main.as_str())], more].concat());
        let names = found.applied.applies.iter().map(|apply| apply.cluster.clone().unwrap_or_default());
        (versions(&found), names.collect::<Vec<_>>().join(" "), found.notes)
    };
    let by_key = vec!["r/main.tf:2026.8.1*".to_owned(), "r/main.tf:2026.8.2*".to_owned()];
    let both = (by_key.clone(), "a b".to_owned(), Vec::new());
    assert_eq!(found("local.all[terraform.workspace]", &[]), both);
    assert_eq!(found("local.all[var.env]", &[("r/v.tf", "variable \"env\" {}\n")]), both);
    let (all, names, _) = found("lookup(local.all, var.env, \"2026.7.1\")", &[]);
    assert_eq!((all.concat(), names.as_str()), (by_key.concat() + "r/main.tf:2026.7.1", "a b "));
    assert_eq!(found("local.all[\"b\"]", &[]).0, ["r/main.tf:2026.8.2*"]);
    let files = [
        ("r/e/a/v.yaml", "v: 2026.7.1\n"),
        ("r/e/c/v.yaml", "v: 2026.7.2\n"),
        ("r/e/v.yaml", "v: 2026.7.3\n"),
    ];
    let (all, names, _) = found("yamldecode(file(\"${path.module}/e/${var.env}/v.yaml\")).v", &files);
    assert_eq!(
        (all, names.as_str()),
        (vec!["r/e/a/v.yaml:2026.7.1*".to_owned(), "r/e/c/v.yaml:2026.7.2*".to_owned()], "a c")
    );
    let files = [
        ("r/e/eu-a.yaml", "v: 2026.7.1\n"),
        ("r/e/us-b.yaml", "v: 2026.7.2\n"),
        ("r/e/us-us.yaml", "v: 2026.7.3\n"),
    ];
    let (all, names, _) = found("yamldecode(file(\"./e/${var.region}-${var.env}.yaml\")).v", &files);
    assert_eq!((all.len(), names.as_str()), (3, "a-eu b-us us-us"));
    let (all, names, _) = found("yamldecode(file(\"./e/${var.env}-${var.env}.yaml\")).v", &files);
    assert_eq!((all.concat(), names.as_str()), ("r/e/us-us.yaml:2026.7.3*".to_owned(), "us"));
    let (all, names, _) = found("yamldecode(file(\"./none/${var.env}.yaml\")).v", &files);
    assert_eq!((all.len(), names.as_str()), (1, ""), "nothing says what it may be");
    let set =
        "fileexists(\"./e/eu-a.yaml\") ? yamldecode(file(\"./e/${one(fileset(\"e\", \"eu-*\"))}\")).v : \"\"";
    assert_eq!(found(set, &files).0, ["r/e/eu-a.yaml:2026.7.1*"]);
    let many: String = (0..100).map(|n| format!("  k{n} = \"2026.8.2\"\n")).collect();
    let many = format!("locals {{\n  all = {{\n{many}}}\n}}\n{}", release("local.all[var.env]"));
    let found = evaluated(&[("main.tf", &many)]);
    assert_eq!(found.applied.applies.len(), 63, "the run that asks is one of them");
    assert_eq!(found.notes[0].about, About::Bound(Bound::Environments(64)));
    assert!(
        versions(&found).iter().any(|version| version.starts_with('<')),
        "the rest is known to nobody here"
    );
}

#[test]
fn terragrunt_gives_a_module_its_inputs() {
    let main = release("var.v");
    let tree = |module: &'static str, more: &[(&'static str, &'static str)]| {
        let unit = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n\
            locals {\n  env = read_terragrunt_config(find_in_parent_folders(\"env.hcl\"))\n}\n\
            inputs = {\n  v = local.env.locals.mesh\n}\nterraform {\n  source = MODULE\n}\n";
        let unit = unit.replace("MODULE", module);
        let own = [
            ("modules/mesh/main.tf", main.as_str()),
            ("live/root.hcl", "inputs = {\n  v = \"2026.6.1\"\n  org = \"acme\"\n}\n"),
            ("live/a/env.hcl", "locals {\n  mesh = \"2026.8.1\"\n}\n"),
            ("live/b/env.hcl", "locals {\n  mesh = \"2026.8.2\"\n}\n"),
            ("live/a/mesh/terragrunt.hcl", unit.as_str()),
            ("live/b/mesh/terragrunt.hcl", unit.as_str()),
        ];
        evaluated(&[&own, more].concat())
    };
    let found = tree("\"${get_repo_root()}/modules//mesh\"", &[]);
    assert_eq!(versions(&found), ["live/a/env.hcl:2026.8.1*", "live/b/env.hcl:2026.8.2*"]);
    let files: Vec<&str> = found.applied.applies.iter().map(|apply| apply.file.as_str()).collect();
    assert_eq!(files, ["live/a/mesh/terragrunt.hcl", "live/b/mesh/terragrunt.hcl"]);
    let configured: Vec<&str> = found.configured.iter().map(RepoPath::as_str).collect();
    assert_eq!(configured.len(), 5, "{configured:?}");
    let found = tree("\"../../../modules/mesh\"", &[]);
    assert_eq!(versions(&found).len(), 2);
    let found = tree("\"git::https://git.example.com/modules.git//mesh?ref=v1\"", &[]);
    assert_eq!(versions(&found), ["<Terraform, `var.v`>"]);
    assert!(found.configured.is_empty());
    let above = "inputs = {\n  v = \"2026.7.1\"\n}\nterraform {\n  source = \"../../modules/mesh\"\n}\n";
    let lone = "include {\n  path = find_in_parent_folders(\"mesh.hcl\")\n}\n";
    let circle = "include {\n  path = \"terragrunt.hcl\"\n}\ninputs = {\n  v = include.inputs.v\n}\n";
    let found = evaluated(&[
        ("modules/mesh/main.tf", &main),
        ("live/mesh.hcl", above),
        ("live/c/terragrunt.hcl", lone),
        ("circle/terragrunt.hcl", circle),
        ("circle/main.tf", "locals {}\n"),
    ]);
    assert_eq!(versions(&found), ["live/mesh.hcl:2026.7.1*"]);
}

#[test]
fn terragrunt_names_folders_and_ends_where_files_read_themselves() {
    let main = release("var.v");
    let found = |unit: &str, more: &[(&str, &str)]| {
        let own = [("modules/mesh/main.tf", main.as_str()), ("live/a/mesh/terragrunt.hcl", unit)];
        let found = evaluated(&[&own, more].concat());
        (versions(&found), found.notes)
    };
    let source = "terraform {\n  source = \"${get_path_to_repo_root()}//modules/mesh\"\n}\n";
    let root = [
        ("live/root.hcl", "locals {\n  at = path_relative_to_include()\n}\n"),
        ("live/_common/mesh.hcl", "inputs = {\n  v = \"2026.8.1\"\n}\n"),
    ];
    let common = "include \"common\" {\n  path = \"${dirname(find_in_parent_folders(\"root.hcl\"))}/_common/mesh.hcl\"\n}\n";
    assert_eq!(found(&format!("{source}{common}"), &root).0, ["live/_common/mesh.hcl:2026.8.1*"]);
    let by_place = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n  expose = true\n}\n\
        inputs = {\n  v = { \"a/mesh\" = \"2026.8.2\" }[include.root.locals.at]\n}\n";
    assert_eq!(found(&format!("{source}{by_place}"), &root).0, ["live/a/mesh/terragrunt.hcl:2026.8.2*"]);
    let set = [("live/a/mesh/terraform.tfvars", "v = \"2026.7.1\"\n")];
    assert_eq!(
        found(&format!("{source}inputs = {{\n  v = \"2026.8.1\"\n}}\n"), &set).0,
        ["live/a/mesh/terraform.tfvars:2026.7.1*"]
    );
    let own = format!(
        "{source}locals {{\n  me = read_terragrunt_config(\"terragrunt.hcl\")\n}}\ninputs = {{\n  v = \"2026.8.1\"\n}}\n"
    );
    assert_eq!(found(&own, &[]).0, ["live/a/mesh/terragrunt.hcl:2026.8.1*"]);
    let chain: Vec<(String, String)> = (0..60)
        .map(|n| {
            let read = format!("read_terragrunt_config(\"${{get_repo_root()}}/c{}.hcl\").locals.a", n + 1);
            (format!("c{n}.hcl"), format!("locals {{\n  a = {read}\n  b = {read}\n}}\n"))
        })
        .chain([("c60.hcl".to_owned(), "locals {\n  a = \"2026.8.2\"\n}\n".to_owned())])
        .collect();
    let chain: Vec<(&str, &str)> = chain.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let started = std::time::Instant::now();
    let unit = format!(
        "{source}inputs = {{\n  v = read_terragrunt_config(\"${{get_repo_root()}}/c0.hcl\").locals.a\n}}\n"
    );
    assert!(
        found(&unit, &chain).0[0].starts_with('<') && started.elapsed().as_secs() < 5,
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn templates_of_files_are_filled_with_their_directives() {
    let template = "%{ if ha ~}\nha: true\n%{ else ~}\nha: false\n%{ endif ~}\nlist:\n%{ for name, tag in tags }\n  ${name}: ${tag}\n%{ endfor }\n";
    let main = "resource \"helm_release\" \"a\" {\n  chart = \"linkerd-viz\"\n  version = \"2026.8.2\"\n  values = [templatefile(\"v.tftpl\", \
        { ha = true, tags = { a = \"edge-26.8.1\", b = \"edge-26.8.2\" } })]\n}\n";
    let found = evaluated(&[("main.tf", main), ("v.tftpl", template)]);
    let values = found.charts[0].values().value;
    assert_eq!(values.text(&["ha"]).as_deref(), Some("true"));
    assert_eq!(shown(values.scalar(&["list", "a"]).unwrap()), "main.tf:edge-26.8.1*");
    assert_eq!(shown(values.scalar(&["list", "b"]).unwrap()), "main.tf:edge-26.8.2*");
    let undecided = main.replace("ha = true", "ha = var.ha");
    let both: BTreeSet<_> = evaluated(&[("main.tf", &undecided), ("v.tftpl", template)])
        .charts
        .iter()
        .map(|chart| chart.values().value.text(&["ha"]).map(|text| text.into_owned()).unwrap_or_default())
        .collect();
    assert_eq!(both.into_iter().collect::<Vec<_>>(), ["false", "true"]);
}

#[test]
fn what_strips_a_template_strips_a_line() {
    let template = "a:\n%{~ if ha ~}\n  b: 1\n%{~ endif ~}\nc: ${~ x ~}  \n  d\n%{ for i in [1,2] ~}\n   \n  - \
        %{ if i == 1 }one%{ else }two%{ endif ~}   \n%{ endfor ~}\nz";
    let main = "resource \"helm_release\" \"a\" {\n  chart = \"linkerd-viz\"\n  version = \"2026.8.2\"\n  \
        values = [yamlencode({ t = templatefile(\"v.tftpl\", { ha = true, x = \" v \\n\" }) })]\n}\n";
    let found = evaluated(&[("main.tf", main), ("v.tftpl", template)]);
    // As `terraform console` has it.
    let text = "a:  b: 1c: v \n  d\n   \n  - one   \n  - twoz";
    assert_eq!(found.charts[0].values().value.text(&["t"]).as_deref(), Some(text));
}

#[test]
fn lists_outputs_and_overrides_hand_on_what_they_have() {
    let of = |version: &str, more: &[(&str, &str)]| {
        let main = format!(
            "locals {{\n  v = [{{ of = \"a\", v = \"2026.8.1\" }}, {{ of = \"b\", v = \"2026.8.2\" }}]\n}}\n{}",
            release(version)
        );
        let found = evaluated(&[&[("main.tf", main.as_str())], more].concat());
        (versions(&found), found)
    };
    for version in [
        "(local.v[*].v)[0]",
        "local.v.*.v[0]",
        "reverse(local.v)[1].v",
        "sort(distinct(local.v[*].v))[0]",
        "compact([\"\", flatten([local.v])[0].v])[0]",
    ] {
        let all = of(version, &[]).0;
        assert_eq!(all.concat(), "main.tf:2026.8.1*", "{version}");
    }
    let chosen = of("[for one in local.v : one.v if one.of == var.of][0]", &[]).0;
    assert_eq!(chosen, ["main.tf:2026.8.1*", "main.tf:2026.8.2*"]);
    let outputs = "variable \"of\" {}\noutput \"all\" {\n  value = { x = { v = \"2026.7.1\" } }[var.of]\n}\n";
    let call = "module \"m\" {\n  source = \"./m\"\n  of = \"x\"\n}\n";
    assert_eq!(of("module.m.all.v", &[("m/o.tf", outputs), ("call.tf", call)]).0, ["m/o.tf:2026.7.1*"]);
    let over = "resource \"helm_release\" \"a\" {\n  version = \"2026.7.2\"\n}\n";
    assert_eq!(of("\"2026.8.1\"", &[("x_override.tf", over)]).0, ["x_override.tf:2026.7.2"]);
    assert_eq!(of("\"2026.8.1\"", &[("main.tofu", &release("\"2026.7.2\""))]).0, ["main.tofu:2026.7.2"]);
    let remote = "module \"m\" {\n  source = \"terraform-aws-modules/x/aws\"\n  charts = { linkerd-crds = local.v[0].v }\n}\n";
    let (_, found) = of("\"2026.8.2\"", &[("remote.tf", remote)]);
    assert!(found.handed.iter().any(|text| shown(text) == "main.tf:2026.8.1*"), "{:?}", found.handed);
    let unfollowed = of("regex(\"[0-9.]+\", local.v[0].v)", &[]).1;
    assert!(matches!(&unfollowed.charts[0].notes[..], [Note { about: About::Expression(_), .. }]));
    let beside = of("var.set", &[("vars.tf", "variable \"set\" {}\n")]);
    assert_eq!(beside.1.charts[0].notes, [], "whoever sets it knows it");
}

#[test]
fn files_of_variables_may_lie_beside_the_root() {
    let tree = [
        ("mesh/main.tf", "variable \"chart\" {}\n"),
        ("mesh/r.tf", &release("var.chart")),
        ("vars/dev.tfvars", "chart = \"2026.8.2\"\n"),
        ("vars/other.tfvars", "size = 3\n"),
        ("shop/main.tf", "variable \"chart\" {}\n"),
        ("shop/own.tfvars", "chart = \"1.2.3\"\n"),
    ];
    assert_eq!(versions(&evaluated(&tree)), ["vars/dev.tfvars:2026.8.2*"]);
}

#[test]
fn what_a_path_may_be_is_said_by_more_than_its_folder() {
    let values = |path: &str| {
        let main = release("\"2026.8.2\"").replacen("{\n", &format!("{{\n  values = [file({path})]\n"), 1);
        let files = [
            ("main.tf", main.as_str()),
            ("README.md", "a\n"),
            ("v/a.yaml", "a: 1\n"),
            ("v/_base.yaml", "b: 1\n"),
        ];
        evaluated(&files).charts.iter().filter(|chart| chart.values().value != Value::empty()).count()
    };
    assert_eq!((values("var.file"), values("\"v/${var.file}\""), values("\"v/${var.env}.yaml\"")), (0, 0, 1));
    assert_eq!(values("abspath(\"${path.module}/v/_base.yaml\")"), 1);
}

#[test]
fn hostile_modules_end() {
    let own = "locals {\n  a = local.b\n  b = local.a\n}\nmodule \"m\" {\n  source = \"./\"\n}\nmodule \"n\" {\n  source = \"../x\"\n}\n";
    let main = release("local.a");
    let text = format!("{own}{main}");
    let found = evaluated(&[("x/main.tf", &text), ("y/main.tf", "module \"x\" {\n  source = \"../x\"\n}\n")]);
    assert!(found.charts.iter().all(|c| c.version.as_ref().unwrap().unknown_to().is_some()));
    assert!(!found.notes.is_empty());
    let doubling: String =
        (1..40).map(|n| format!("  a{n} = \"${{local.a{}}}${{local.a{}}}\"\n", n - 1, n - 1)).collect();
    let bomb = format!("locals {{\n  a0 = \"xxxxxxxxxx\"\n{doubling}}}\n{}", release("local.a39"));
    let found = evaluated(&[("main.tf", &bomb)]);
    assert!(found.charts[0].version.as_ref().unwrap().unknown_to().is_some());
    let doubling: String =
        (1..40).map(|n| format!("  a{n} = {{ a = local.a{}, b = local.a{} }}\n", n - 1, n - 1)).collect();
    let nested = format!("locals {{\n  a0 = {{ a = 1 }}\n{doubling}}}\n{}", release("\"2026.8.2\""));
    let started = std::time::Instant::now();
    let read = nested.replacen("\"a\" {\n", "\"a\" {\n  values = [yamlencode(local.a39)]\n", 1);
    let found = evaluated(&[("main.tf", &read)]);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    let spent = About::Bound(Bound::Steps(STEPS));
    assert_eq!(
        (versions(&found).len(), found.notes.iter().any(|note| note.about == spent)),
        (1, true),
        "{read}"
    );
    assert_eq!(evaluated(&[("main.tf", &nested)]).notes, [], "nothing reads them");
    let shorter = read.replace("local.a39)", "local.a18)");
    let told = |text: &str| evaluated(&[("main.tf", text)]).notes.iter().any(|note| note.about == spent);
    assert!(told(&shorter), "few expressions, and many texts that they hand on");
    assert!(!told(&shorter.replace("local.a18)", "local.a9)")));
    let twice =
        |n: usize| format!("  a{n} = local.a{} == local.a{} ? local.a{} : \"\"\n", n - 1, n - 1, n - 1);
    let read_twice: String = (1..21).map(twice).collect();
    let read_twice = format!("locals {{\n  a0 = \"2026.8.2\"\n{read_twice}}}\n{}", release("local.a20"));
    assert_eq!(
        versions(&evaluated(&[("main.tf", &read_twice)])),
        ["main.tf:2026.8.2*"],
        "each is evaluated once"
    );
    let many = (0..1_500).map(|n| format!("\"k{n}\"")).collect::<Vec<_>>().join(", ");
    let each = release("\"2026.8.2\"").replacen("{\n", &format!("{{\n  for_each = toset([{many}])\n"), 1);
    let found = evaluated(&[("main.tf", &each)]);
    assert!(
        found.notes.iter().any(|note| note.about == About::Bound(Bound::Elements(1_000))),
        "{:?}",
        found.notes
    );
    let outer =
        format!("module \"m\" {{\n  source = \"./m\"\n  for_each = toset([{many}])\n  k = each.key\n}}\n");
    let inner = each.replacen("\"a\" {\n", "\"a\" {\n  name = \"${var.k}-${each.key}\"\n", 1);
    evaluated(&[("main.tf", &outer), ("m/main.tf", &format!("variable \"k\" {{}}\n{inner}"))]);
    let long = format!("locals {{\n  a = \"{}\"\n}}\n", "x".repeat(600 << 10));
    let found = evaluated(&[("main.tf", &(long + &release("\"${local.a}${local.a}\"")))]);
    assert!(found.charts[0].version.as_ref().unwrap().unknown_to().is_some());
    let broken =
        evaluated(&[("main.tf", "resource \"helm_release\" {{"), ("o/main.tf", &release("\"2026.8.2\""))]);
    assert_eq!((broken.notes.len(), versions(&broken).len()), (1, 1));
}

#[test]
fn maps_are_ordered_by_their_keys() {
    let text = "locals {\n  charts = {\n    podinfo = \"https://a.test\"\n    linkerd-crds = \"https://helm.linkerd.io/edge\"\n  }\n  \
                versions = zipmap(keys(local.charts), [\"2026.8.1\", \"2026.8.2\"])\n}\nresource \"helm_release\" \"all\" {\n  for_each = \
                local.charts\n  name = each.key\n  chart = each.key\n  repository = each.value\n  version = local.versions[each.key]\n}\n";
    let found = evaluated(&[("main.tf", text)]);
    let version = |name: &str| {
        let chart = found.charts.iter().find(|chart| chart.chart.text() == name).unwrap();
        chart.version.as_ref().unwrap().text().into_owned()
    };
    assert_eq!([version("linkerd-crds"), version("podinfo")], ["2026.8.1", "2026.8.2"]);
}
