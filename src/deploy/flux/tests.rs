//! Tests of what Flux makes of its objects.

use super::{substitute::Variables, *};
use crate::deploy::{
    Layer,
    cluster::Cluster,
    files::{Files, TreeFiles},
    note::{About, Bound, Note},
    object::Object,
    testing::files,
    typed::{Typed, typed},
    value::{Part, Scalar, Value, Via},
};
use crate::repo::RepoPath;

fn objects(files: &TreeFiles<'_>) -> Vec<Object> {
    let mut found = Vec::new();
    for entry in files.below("") {
        for document in files.documents(entry.path.as_str()).unwrap().iter() {
            found.extend(Object::all(document, &entry.path));
        }
    }
    found
}

fn of_kind<'o>(objects: &'o [Object], kind: &str) -> &'o Object {
    objects.iter().find(|o| o.kind() == kind).unwrap()
}

fn substituted(text: &str, strict_names: &[(&str, &str)]) -> Result<String, envsubst::SubstituteError> {
    let value = |name: &str| strict_names.iter().find(|(n, _)| *n == name).map(|(_, v)| Scalar::made(v));
    envsubst::fill(&Scalar::made(text), &mut |name, _| value(name)).map(|s| s.text().into_owned())
}

// Source: what `envsubst.Eval` of github.com/fluxcd/pkg gives for these texts.
#[test]
fn substitutions_are_those_of_flux() {
    let known = [("a", "edge-26.8.2"), ("e", ""), ("n", "3"), ("p", "/x/y/z.yaml"), ("U", "abc")];
    for (text, expected) in [
        ("x-${a}-y", "x-edge-26.8.2-y"),
        ("${none}|${e}|", "||"),
        ("${none:=d}${e:-f}${a:=g}${none=h}", "dfedge-26.8.2h"),
        ("${none:+i}${a:+j}${none:?k}", "iedge-26.8.2k"),
        ("${none:-${a}-x${none:=y}}", "edge-26.8.2-xy"),
        ("$a $$a $${a} $$$a", "$a $a ${a} $$a"),
        ("${#a}", "11"),
        ("${U,,} ${U^^} ${U^} ${U,}", "abc ABC Abc abc"),
        ("${a:5} ${a:5:2} ${a:0:${n}} ${a:-5}", "26.8.2 26 edg edge-26.8.2"),
        (
            "${a/26/27} ${a//2/x} ${a/#edge/e} ${a/%2/3} ${a/edge-/}",
            "edge-27.8.2 edge-x6.8.x e-26.8.2 edge-26.8.3 26.8.2",
        ),
        (
            "${a#edge-} ${a#*-} ${a%.*} ${a%%.*} ${p##*/} ${p%/*}",
            "26.8.2 26.8.2 edge-26.8 edge-26 z.yaml /x/y",
        ),
        ("${p//\\//-}", "-x-y-z.yaml"),
        ("no variables", "no variables"),
        ("", ""),
        ("é${a}é", "éedge-26.8.2é"),
    ] {
        assert_eq!(substituted(text, &known).as_deref(), Ok(expected), "{text}");
    }
    for text in ["${a", "${a-b}", "${}", "${a:}", "${a b}", "${-}", "${a/x}", "${#a x}", "${a:=b"] {
        assert!(substituted(text, &known).is_err(), "{text}");
    }
    assert!(substituted(&"${a:=".repeat(200), &known).is_err());
}

#[test]
fn what_is_cut_knows_where_it_was_written() {
    let tree = files(&[("a.yaml", "v: edge-26.8.2\nt: x-${v#edge-}-${none:=26.1.1}${v:5}\n")]);
    let documents = tree.documents("a.yaml").unwrap();
    let v = documents[0].scalar(&["v"]).unwrap().via(Via::Variable);
    let text = documents[0].scalar(&["t"]).unwrap();
    let filled = envsubst::fill(text, &mut |name, _| (name == "v").then(|| v.clone())).unwrap();
    assert_eq!(
        format!("{filled:?}"),
        "[\"x-\"@a.yaml:18, \"26.8.2\"@a.yaml:8, \"-\"@a.yaml:30, \"26.1.1\"@a.yaml:39, \"26.8.2\"@a.yaml:8]"
    );
    let vias: Vec<_> =
        filled.parts().iter().map(|p| if let Part::Written(o) = p { o.via } else { None }).collect();
    let variable = Some(Via::Variable);
    assert_eq!(vias, [None, variable, None, variable, variable]);
}

const KUSTOMIZATION: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n\
spec:\n  postBuild:\n    substituteFrom:\n    - {kind: ConfigMap, name: vars}\n    - {kind: Secret, name: more}\n    substitute:\n      b: '2'\n      quote: '\"'\n";
const VARS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata:\n  a: |\n    2026.8.2\n  b: '1'\n";

fn filled(object: &str) -> (Option<Value>, Vec<Note>) {
    let tree = files(&[("k.yaml", KUSTOMIZATION), ("vars.yaml", VARS), ("x.yaml", object)]);
    let all = objects(&tree);
    let cluster = Cluster::new(&all);
    let variables = Variables::of(of_kind(&all, "Kustomization"), &cluster).unwrap();
    let mut notes = Vec::new();
    let object = all.iter().find(|o| o.file.as_str() == "x.yaml").unwrap();
    let value = variables.fill(object, &tree, &mut notes);
    (value, notes)
}

#[test]
fn objects_are_filled_and_typed_anew() {
    let text = "kind: X\nmetadata: {name: '${c:=x}'}\nspec: {v: '${a}', n: '${b}', q: '${quote}${b}${quote}', s: '${secret}', e: '$${a}', w: \"a: ${b}\"}\n";
    let (value, notes) = filled(text);
    let value = value.unwrap();
    assert_eq!(value.text(&["spec", "v"]).unwrap(), "2026.8.2");
    assert_eq!(typed(value.scalar(&["spec", "n"]).unwrap()), Typed::Int(2));
    assert_eq!(typed(value.scalar(&["spec", "q"]).unwrap()), Typed::Text("2".to_owned()));
    assert_eq!(value.text(&["spec", "e"]).unwrap(), "${a}");
    assert_eq!(value.text(&["spec", "w"]).unwrap(), "a: 2");
    let who = "variable `secret`, from the Secret `more`";
    assert_eq!(value.scalar(&["spec", "s"]).unwrap().unknown_to(), Some(who));
    assert_eq!(value.text(&["metadata", "name"]).unwrap(), "x");
    let who = "variable `c`, from the Secret `more`".to_owned();
    assert_eq!(notes.iter().map(|n| n.about.clone()).collect::<Vec<_>>(), [About::Condition(who)]);
    let Part::Written(origin) = &value.scalar(&["spec", "v"]).unwrap().parts()[0] else { panic!() };
    assert_eq!(
        (origin.source.path.as_str(), origin.text(), origin.via),
        ("vars.yaml", "2026.8.2", Some(Via::Variable))
    );
}

#[test]
fn what_sops_encrypts_fills_no_variable() {
    let vars = format!("{VARS}  c: ENC[x]\nsops: {{mac: x}}\n");
    let tree = files(&[
        ("k.yaml", KUSTOMIZATION),
        ("vars.yaml", &vars),
        ("x.yaml", "kind: X\nv: '${a}'\nw: '${c}'\n"),
    ]);
    let all = objects(&tree);
    let variables = Variables::of(of_kind(&all, "Kustomization"), &Cluster::new(&all)).unwrap();
    let filled = variables.fill(of_kind(&all, "X"), &tree, &mut Vec::new()).unwrap();
    assert_eq!(filled.text(&["v"]).unwrap(), "2026.8.2");
    assert!(filled.scalar(&["w"]).unwrap().unknown_to().is_some());
}

#[test]
fn an_optional_map_that_lies_nearer_a_namesake_is_another_clusters() {
    let asking = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n\
                  spec:\n  sourceRef: {kind: GitRepository, name: g}\n  postBuild: {substituteFrom: [{kind: ConfigMap, name: vars, optional: true}]}\n";
    let patch = asking.replace("  sourceRef: {kind: GitRepository, name: g}\n", "");
    let required = asking.replace(", optional: true", "");
    let other = asking.replace("name: apps", "name: other");
    let is_known = |asking: &str, namesake: &str, maps: &str, is_built: bool| {
        let asked = [("a/k.yaml", asking), ("b/k.yaml", namesake)].into_iter();
        let tree = files(&asked.chain(maps.split(' ').map(|map| (map, VARS))).collect::<Vec<_>>());
        let all = objects(&tree);
        let (outer, own) = (Cluster::new(&all), of_kind(&all, "ConfigMap"));
        let cluster = Cluster::within(Some(own).filter(|_| is_built), &outer);
        let asking = all.iter().find(|object| object.file.as_str() == "a/k.yaml").unwrap();
        Variables::of(asking, &cluster).is_some()
    };
    assert!(!is_known(asking, asking, "b/vars/v.yaml", false));
    assert!(is_known(&required, asking, "b/vars/v.yaml", false), "it has to come from somewhere");
    assert!(is_known(asking, asking, "vars.yaml", false), "it is no nearer to one of the two");
    assert!(is_known(asking, asking, "b/vars/v.yaml vars.yaml", false), "one of them may be this one's");
    assert!(is_known(asking, &other, "b/vars/v.yaml", false), "both may be in one cluster");
    assert!(is_known(asking, &patch, "b/vars/v.yaml", false), "a patch is no namesake");
    assert!(is_known(asking, asking, "b/vars/v.yaml", true), "it is built together with it");
}

#[test]
fn what_is_switched_off_or_refused_stays_as_it_is() {
    for place in ["labels", "annotations"] {
        let text = format!(
            "kind: X\nmetadata: {{name: x, {place}: {{kustomize.toolkit.fluxcd.io/substitute: disabled}}}}\na: ${{a}}\n"
        );
        assert_eq!(filled(&text), (None, Vec::new()));
    }
    let (value, notes) = filled("kind: X\nmetadata: {name: x}\na: ${a-b}\n");
    assert_eq!(value, None);
    assert!(matches!(notes[0].about, About::Refused(_)));
    assert_eq!(filled("kind: X\nmetadata: {name: x}\na: b\n"), (None, Vec::new()));
}

const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: crds, namespace: linkerd}\nspec:\n";
const SOURCE: &str = "  chart: {spec: {chart: linkerd-crds, version: 2026.8.2, sourceRef: {kind: HelmRepository, name: edge}}}\n";
const REPOSITORY: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: edge, namespace: linkerd}\nspec: {url: https://charts.example.com}\n";
const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: linkerd}\ndata:\n  values.yaml: |\n    a: {b: 1, c: 1}\n    only: map\n  tag: edge-26.8.2\n  quoted: \"'true'\"\n  list: '{x,y}'\n";

fn released(spec: &str) -> crate::deploy::ChartRelease {
    let text = format!("{RELEASE}{spec}");
    let tree =
        files(&[("r.yaml", &text), ("s.yaml", REPOSITORY), ("m.yaml", MAP), ("charts/x/ha.yaml", "ha: 1\n")]);
    let all = objects(&tree);
    let cluster = Cluster::new(&all);
    helm_release(of_kind(&all, "HelmRelease"), &cluster, &tree).unwrap()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Scalar(s) => format!("{:?}", typed(s)),
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Map(map) => {
            let mut all: Vec<_> = map.iter().map(|(k, v)| format!("{k}={}", shown(v))).collect();
            all.sort();
            format!("{{{}}}", all.join(" "))
        }
    }
}

fn values(spec: &str) -> String {
    let release = released(&format!("{SOURCE}{spec}"));
    shown(&release.values().value).replace("Text(", "(").replace("\"", "")
}

#[test]
fn a_release_names_its_chart_and_itself() {
    use crate::deploy::chart::Repository;
    let release = released(&format!("{SOURCE}  targetNamespace: mesh\n"));
    assert_eq!(release.chart.text(), "linkerd-crds");
    assert_eq!(release.version.as_ref().unwrap().text(), "2026.8.2");
    assert_eq!(
        (release.release.text(), release.namespace.unwrap().text()),
        ("mesh-crds".into(), "mesh".into())
    );
    assert!(
        matches!(&release.repository, Repository::Address(url) if url.text() == "https://charts.example.com")
    );
    let long = released(&format!("{SOURCE}  targetNamespace: {}\n", "tenant-".repeat(9)));
    assert_eq!(long.release.text().len(), 53);
    let absent = released("  chartRef: {kind: OCIRepository, name: none}\n");
    assert!(
        absent.is_part && absent.chart.text() == "none" && absent.version.unwrap().unknown_to().is_some()
    );
    let tree = released(
        "  chart: {spec: {chart: ./charts/x, version: '1', valuesFiles: [charts/x/ha.yaml], sourceRef: {kind: GitRepository, name: g}}}\n",
    );
    assert!(matches!(tree.repository, Repository::Git(None)) && tree.version.is_none());
    assert_eq!(shown(&tree.values().value), "{ha=Int(1)}");
}

#[test]
fn the_version_of_a_source_knows_where_it_was_written() {
    let text = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: v, namespace: l}\nspec: {url: oci://example.com/linkerd-viz, ref: {tag: 2026.8.2}}\n";
    let tree = files(&[("o.yaml", text)]);
    let all = objects(&tree);
    let version = chart_source(&all[0], &Cluster::default(), &tree).unwrap().version.unwrap();
    let Part::Written(origin) = &version.parts()[0] else { panic!("{version:?}") };
    assert_eq!((origin.text(), origin.span.start), ("2026.8.2", text.find("2026.8.2").unwrap()));
}

#[test]
fn values_of_a_map_know_where_they_were_written() {
    let release = released(&format!(
        "{SOURCE}  valuesFrom:\n  - {{kind: ConfigMap, name: values}}\n  - {{kind: ConfigMap, name: values, valuesKey: tag, targetPath: t}}\n"
    ));
    let values = release.values().value;
    for (path, text) in [(&["only"][..], "map"), (&["t"], "edge-26.8.2")] {
        let Part::Written(origin) = &values.scalar(path).unwrap().parts()[0] else { panic!("{path:?}") };
        let place = (origin.source.path.as_str(), origin.text(), origin.via);
        assert_eq!(place, ("m.yaml", text, Some(Via::Values)));
    }
}

// Source: `ChartValuesFromReferences` of github.com/fluxcd/pkg/chartutil.
#[test]
fn values_are_laid_out_as_flux_lays_them() {
    let map = |rest: &str| format!("  - {{kind: ConfigMap, name: values{rest}}}\n");
    let from = |rest: &[&str]| format!("  valuesFrom:\n{}", rest.iter().map(|r| map(r)).collect::<String>());
    assert_eq!(
        values(&format!("{}  values: {{a: {{b: 2}}}}\n", from(&[""]))),
        "{a={b=Int(2) c=Int(1)} only=(map)}"
    );
    assert_eq!(
        values(&from(&[
            ", valuesKey: tag, targetPath: 'p.image.tag'",
            ", valuesKey: quoted, targetPath: 'q[0]'"
        ])),
        "{p={image={tag=(edge-26.8.2)}} q=[(true)]}"
    );
    assert_eq!(values(&from(&[", valuesKey: list, targetPath: l"])), "{l=[(x), (y)]}");
    assert_eq!(values(&from(&[", valuesKey: list, targetPath: l, literal: true"])), "{l=({x,y})}");
    // A single value wins over values in a mapping that they alone have, and nowhere else.
    let one = from(&[", valuesKey: tag, targetPath: a.b"]);
    assert_eq!(values(&format!("{one}  values: {{a: {{b: 2}}}}\n")), "{a={b=(edge-26.8.2)}}");
    let top = from(&[", valuesKey: tag, targetPath: b"]);
    assert_eq!(values(&format!("{top}  values: {{b: 2}}\n")), "{b=Int(2)}");
    let both = from(&["", ", valuesKey: tag, targetPath: a.b"]);
    assert_eq!(values(&format!("{both}  values: {{a: {{b: 2}}}}\n")), "{a={b=Int(2) c=Int(1)} only=(map)}");
    let twice = from(&[", valuesKey: tag, targetPath: a.b", ", valuesKey: tag, targetPath: a.c"]);
    assert_eq!(
        values(&format!("{twice}  values: {{a: {{b: 2, c: 3}}}}\n")),
        "{a={b=(edge-26.8.2) c=Int(3)}}"
    );
}

#[test]
fn values_that_are_not_in_the_tree_say_who_knows_them() {
    let release = released(&format!(
        "{SOURCE}  valuesFrom:\n  - {{kind: Secret, name: certs, valuesKey: ca.crt, targetPath: identity}}\n  - {{kind: ConfigMap, name: gone, optional: true}}\n  - {{kind: ConfigMap, name: values, valuesKey: gone, optional: true}}\n"
    ));
    let outside: Vec<_> = release
        .layers
        .iter()
        .map(|l| match l {
            Layer::Outside { who, optional, .. } => (who.as_str(), *optional),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        outside,
        [
            ("Secret linkerd/certs, key ca.crt", false),
            ("ConfigMap linkerd/gone, key values.yaml, which is not in this repository", true)
        ]
    );
    assert!(release.values().value.scalar(&["identity"]).unwrap().unknown_to().is_some());
}

#[test]
fn a_secret_in_plain_text_gives_no_values_but_its_releases_have_places() {
    let release = format!("{SOURCE}  valuesFrom: [{{kind: Secret, name: s}}]\n");
    let release = format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: r, namespace: l}}\nspec:\n{release}"
    );
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: l}\n";
    let found = |rest: &str| {
        let text = format!("{secret}{rest}");
        let tree = files(&[("r.yaml", &release), ("s.yaml", &text)]);
        let all = objects(&tree);
        helm_release(of_kind(&all, "HelmRelease"), &Cluster::new(&all), &tree).unwrap()
    };
    let plain = found("stringData: {values.yaml: 'linkerdVersion: edge-26.8.2'}\n");
    let [Layer::Values(values)] = &plain.secret[..] else { panic!("{:?}", plain.secret) };
    assert_eq!(values.text(&["linkerdVersion"]).as_deref(), Some("edge-26.8.2"));
    assert!(matches!(&plain.layers[..], [Layer::Outside { target: None, .. }]), "{:?}", plain.layers);
    for hidden in
        ["data: {values.yaml: bGlua2VyZA==}\n", "stringData: {values.yaml: 'ENC[x]'}\nsops: {mac: x}\n"]
    {
        assert!(found(hidden).secret.is_empty(), "{hidden}");
    }
}

const SET: &str = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: mesh, namespace: flux-system}\n";

fn built(spec: &str) -> (Vec<Object>, Vec<Note>) {
    let text = format!("{SET}{spec}");
    let provider = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider\nmetadata: {name: p-1, namespace: flux-system}\nspec: {type: Static, defaultValues: {version: 2026.8.3, id: own}}\n";
    let tree = files(&[("set.yaml", &text), ("p.yaml", provider)]);
    let all = objects(&tree);
    let cluster = Cluster::new(&all);
    let made = resource_set(of_kind(&all, "ResourceSet"), &cluster, &tree);
    (made.objects, made.notes)
}

#[test]
fn a_resource_set_makes_its_resources_of_each_input() {
    let spec = "spec:\n  inputs:\n  - {tenant: a, version: 2026.8.2, replicas: 2}\n  - {tenant: b, version: 2026.8.1, replicas: 3}\n  resources:\n  - {apiVersion: v1, kind: X, metadata: {name: 'x-<< inputs.tenant >>'}, spec: {v: '<< inputs.version >>', n: '<< inputs.replicas >>', by: '<< inputs.provider.name >>'}}\n  - {apiVersion: v1, kind: Y, metadata: {name: same}}\n  resourcesTemplate: |\n    <<- range (list \"p\" \"q\") >>\n    ---\n    apiVersion: v1\n    kind: Z\n    metadata:\n      name: << . >>-<< inputs.tenant | quote >>\n    <<- end >>\n";
    let (made, notes) = built(spec);
    let names: Vec<_> = made.iter().map(|o| o.name().unwrap().text().into_owned()).collect();
    assert_eq!(notes, []);
    assert_eq!(names, ["x-a", "x-b", "same", "p-\"a\"", "q-\"a\"", "p-\"b\"", "q-\"b\""]);
    let v = made[0].value.scalar(&["spec", "v"]).unwrap();
    let Part::Written(origin) = &v.parts()[0] else { panic!() };
    assert_eq!((origin.text(), origin.via), ("2026.8.2", Some(Via::Variable)));
    assert_eq!(typed(made[0].value.scalar(&["spec", "n"]).unwrap()), Typed::Int(2));
    assert_eq!(made[0].value.text(&["spec", "by"]).unwrap(), "mesh");
}

#[test]
fn inputs_come_from_providers_and_are_permuted() {
    let spec = "spec:\n  inputsFrom: [{name: p-1}, {name: gone}]\n  resources: [{apiVersion: v1, kind: X, metadata: {name: '<< inputs.version >>'}}]\n";
    let (made, _) = built(spec);
    assert_eq!(made[0].name().unwrap().text(), "2026.8.3");
    assert!(made[1].name().unwrap().unknown_to().unwrap().contains("gone"));
    let (made, _) = built(&spec.replace("inputs.version", "inputs.id"));
    assert_eq!(made[0].name().unwrap().unknown_to(), Some("the id of the input provider `p-1`"));
    let spec = "spec:\n  inputStrategy: {name: Permute}\n  inputs: [{e: dev}, {e: prod}]\n  inputsFrom: [{name: p-1}]\n  resources: [{apiVersion: v1, kind: X, metadata: {name: '<< inputs.mesh.e >>-<< inputs.p_1.version >>'}}]\n";
    let names: Vec<_> = built(spec).0.iter().map(|o| o.name().unwrap().text().into_owned()).collect();
    assert_eq!(names, ["dev-2026.8.3", "prod-2026.8.3"]);
    let (made, notes) =
        built("spec:\n  inputs: [{a: 1}]\n  resources: [{kind: X, metadata: {name: '<< inputs.gone >>'}}]\n");
    assert!(made.is_empty() && matches!(notes[0].about, About::Refused(_)));
}

#[test]
fn what_is_too_much_is_bounded() {
    let inputs = (0..10_001).map(|n| format!("{{n: v{n}}}")).collect::<Vec<_>>().join(", ");
    let each = |kind: &str| format!("{{apiVersion: v1, kind: {kind}, metadata: {{name: '<< inputs.n >>'}}}}");
    let (one, three) = (each("X"), ["X", "Y", "Z"].map(each).join(", "));
    let (made, notes) = built(&format!("spec:\n  inputs: [{inputs}]\n  resources: [{one}]\n"));
    let notes: Vec<About> = notes.into_iter().map(|note| note.about).collect();
    assert_eq!((made.len(), notes), (10_000, vec![About::Bound(Bound::Elements(10_000))]));
    let (made, notes) = built(&format!("spec:\n  inputs: [{inputs}]\n  resources: [{three}]\n"));
    assert_eq!(made.len(), 20_000);
    assert!(notes.iter().any(|note| note.about == About::Bound(Bound::Objects(20_000))));
    let refused =
        ["X", "Y", "Z"].map(|kind| format!("{{kind: {kind}, metadata: {{name: '<< inputs.gone >>'}}}}"));
    let (made, notes) =
        built(&format!("spec:\n  inputs: [{inputs}]\n  resources: [{}]\n", refused.join(", ")));
    assert!(made.is_empty());
    assert!(notes.iter().any(|note| note.about == About::Bound(Bound::Objects(20_000))));
    let nested = format!("{}x{}", "${a:-".repeat(100), "}".repeat(100));
    assert_eq!(substituted(&nested, &[]), Err(envsubst::SubstituteError::Deep));
    let (value, many) = ("x".repeat(1_000), "${a}".repeat(2_000));
    assert_eq!(substituted(&many, &[("a", &value)]), Err(envsubst::SubstituteError::Long));
    assert!(substituted(&many[..4_000], &[("a", &value)]).is_ok());
}

/// A Kustomization that applies itself, with variables that fill themselves.
#[test]
fn what_fills_itself_is_bounded() {
    let own = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k, namespace: flux-system}\nspec:\n  \
               path: ./a\n  sourceRef: {kind: GitRepository, name: x}\n  postBuild: {substitute: {v: '${v}${w}${v}', w: '${v}${v}'}}\n";
    let tree = files(&[("a/k.yaml", own)]);
    let started = std::time::Instant::now();
    let mut object =
        Object::all(&tree.documents("a/k.yaml").unwrap()[0], &RepoPath::new("a/k.yaml").unwrap()).remove(0);
    let mut notes = Vec::new();
    for _ in 0..12 {
        let variables = Variables::of(&object, &Cluster::default()).unwrap();
        let filled = variables.fill(&object, &tree, &mut notes);
        object.value = filled.unwrap_or(object.value);
    }
    assert!(notes.iter().any(|note| matches!(note.about, About::Bound(Bound::Bytes(_)))), "{notes:?}");
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

fn kustomized(spec: &str, tree: &[(&str, &str)]) -> crate::deploy::Build {
    let text = format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: k, namespace: flux-system}}\nspec:\n{spec}"
    );
    let mut all = tree.to_vec();
    all.extend([("flux/k.yaml", text.as_str()), ("flux/vars.yaml", VARS)]);
    let tree = files(&all);
    let mut found = Vec::new();
    for path in ["flux/k.yaml", "flux/vars.yaml"] {
        let file = tree.file(path).unwrap();
        found.extend(tree.documents(path).unwrap().iter().flat_map(|d| Object::all(d, &file.path)));
    }
    kustomization(&found[0], &Cluster::new(&found), &tree)
}

// Source: kustomize_generator.go of github.com/fluxcd/pkg, and kustomize-controller.
#[test]
fn a_folder_without_a_kustomization_gives_all_manifests_below() {
    let object = |name: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{v: '${{a}}'}}\n")
    };
    let (a, b, c, d) = (object("a"), object("b"), object("c"), object("d"));
    let tree = [
        ("apps/a.yaml", a.as_str()),
        ("apps/sub/b.yml", b.as_str()),
        ("apps/own/kustomization.yaml", "namePrefix: own-\nresources: [c.yaml]\n"),
        ("apps/own/c.yaml", c.as_str()),
        ("apps/own/deep/d.yaml", d.as_str()),
        ("apps/readme.md", "x"),
    ];
    let build = kustomized(
        "  path: ./apps\n  targetNamespace: mesh\n  postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}\n  commonMetadata: {labels: {team: x}}\n",
        &tree,
    );
    assert_eq!(build.notes, []);
    let mut names: Vec<_> = build.objects.iter().map(|o| o.name().unwrap().text().into_owned()).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "own-c"]);
    for object in &build.objects {
        assert_eq!(object.value.text(&["data", "v"]).unwrap(), "2026.8.2");
        assert_eq!(object.value.text(&["metadata", "labels", "team"]).unwrap(), "x");
        assert_eq!(object.namespace().unwrap().text(), "mesh");
        assert_eq!(object.by.as_ref().unwrap().as_str(), "flux/k.yaml");
    }
}

#[test]
fn a_kustomization_adds_patches_images_and_components() {
    let tree = [
        ("apps/kustomization.yaml", "resources: [r.yaml]\nimages: [{name: i, newTag: '1', newName: kept}]\n"),
        (
            "apps/r.yaml",
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: crds}\nspec: {chart: {spec: {chart: linkerd-crds, version: 2026.8.1}}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: 'i:0'}]}\n",
        ),
        (
            "component/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {from: component}\n",
        ),
    ];
    let build = kustomized(
        "  path: apps\n  components: [../component, ../none]\n  ignoreMissingComponents: true\n  images: [{name: i, newTag: edge-26.8.2}]\n  patches:\n  - target: {kind: HelmRelease}\n    patch: |\n      - op: replace\n        path: /spec/chart/spec/version\n        value: 2026.8.2\n  patchesStrategicMerge:\n  - apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {name: crds}\n    spec: {values: {linkerdVersion: edge-26.8.2}}\n",
        &tree,
    );
    assert_eq!(build.notes, []);
    let release = build.objects.iter().find(|o| o.kind() == "HelmRelease").unwrap();
    let version = release.value.scalar(&["spec", "chart", "spec", "version"]).unwrap();
    let Part::Written(origin) = &version.parts()[0] else { panic!() };
    assert_eq!((origin.source.path.as_str(), origin.text()), ("flux/k.yaml", "2026.8.2"));
    let value = release.value.scalar(&["spec", "values", "linkerdVersion"]).unwrap();
    assert!(matches!(&value.parts()[0], Part::Written(o) if o.text() == "edge-26.8.2"));
    assert_eq!(release.annotation("from").unwrap().text(), "component");
    let pod = build.objects.iter().find(|o| o.kind() == "Pod").unwrap();
    assert_eq!(
        pod.value.path(&["spec"]).unwrap().list_at("containers")[0].text(&["image"]).unwrap(),
        "kept:edge-26.8.2"
    );
    let absent = kustomized("  path: ./none\n", &tree);
    assert!(absent.objects.is_empty() && matches!(absent.notes[0].about, About::Remote(_)));
}
