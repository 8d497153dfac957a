//! What helmfiles come to, with the place of each text. The expectations follow helmfile's source.

use super::*;
use crate::deploy::{
    chart::{Layer, Repository},
    testing::files,
    value::{Part, Scalar, Via},
};

fn evaluated(texts: &[(&str, &str)]) -> Helmfile {
    helmfile(&files(texts))
}

/// The text of a scalar with the file and the text that each of its parts was written as; `*` is a variable.
fn shown(scalar: &Scalar) -> String {
    let part = |part: &Part| match part {
        Part::Written(o) => {
            let mark = if o.via == Some(Via::Variable) { "*" } else { "" };
            format!("{}:{}{mark}", o.source.path, o.text())
        }
        Part::Made(text) => format!("+{text}"),
        Part::Unknown(who) => format!("<{who}>"),
    };
    scalar.parts().iter().map(part).collect::<Vec<_>>().join(" ")
}

fn versions(found: &Helmfile) -> Vec<String> {
    found.charts.iter().filter_map(|c| c.version.as_ref()).map(shown).collect()
}

const HEAD: &str = "repositories:\n- {name: l5d, url: https://helm.linkerd.io/edge}\n";

fn release(version: &str) -> String {
    format!("{HEAD}releases:\n- name: crds\n  chart: l5d/linkerd-crds\n  version: {version}\n")
}

#[test]
fn a_literal_version_is_the_releases_own() {
    let found = evaluated(&[("helmfile.yaml", &release("2026.8.2"))]);
    assert_eq!(versions(&found), ["helmfile.yaml:2026.8.2"]);
    let one = &found.charts[0];
    assert_eq!((&*one.chart.text(), &*one.release.text(), &*one.part), ("linkerd-crds", "crds", "crds"));
    let Repository::Address(address) = &one.repository else { panic!("an address") };
    assert_eq!(address.text(), "https://helm.linkerd.io/edge");
}

#[test]
fn every_environment_is_looked_at() {
    let text = format!(
        "environments:\n  default:\n    values: [env/default.yaml]\n  prod:\n    values:\n    - env/*.prod.yaml\n    - {{l5d: {{v: 2026.7.1}}}}\n---\n{}",
        release("{{ .Values.l5d.v | quote }}")
    );
    let found = evaluated(&[
        ("m/helmfile.yaml.gotmpl", &text),
        ("m/env/default.yaml", "l5d: {v: 2026.8.2}\n"),
        ("m/env/a.prod.yaml", "l5d: {v: 2026.6.1}\nx: 1\n"),
    ]);
    assert_eq!(versions(&found), ["m/env/default.yaml:2026.8.2*", "m/helmfile.yaml.gotmpl:2026.7.1*"]);
    assert_eq!(found.charts[1].part, "crds in prod");
}

#[test]
fn values_of_the_state_are_under_those_of_the_environment() {
    let text = format!(
        "values:\n- v: 2026.8.1\n  w: 2026.8.0\nenvironments:\n  a:\n    values: [{{v: 2026.8.2}}]\n---\n{}- name: two\n  chart: l5d/linkerd-viz\n  version: {{{{ .StateValues.w }}}}-{{{{ .Environment.Name }}}}\n",
        release("{{ .Environment.Values.v }}")
    );
    let found = evaluated(&[("helmfile.yaml.gotmpl", &text)]);
    assert_eq!(
        versions(&found),
        ["helmfile.yaml.gotmpl:2026.8.2*", "helmfile.yaml.gotmpl:2026.8.0* helmfile.yaml.gotmpl:- +a"]
    );
}

#[test]
fn values_of_a_later_part_are_laid_over_those_of_an_earlier_one() {
    let text = format!(
        "values:\n- m: {{v: 2026.8.1, w: 2026.8.0}}\n---\nvalues:\n- m: {{v: 2026.8.2}}\n---\n{}",
        release("{{ .Values.m.w }}")
    );
    assert_eq!(versions(&evaluated(&[("helmfile.yaml.gotmpl", &text)])), ["helmfile.yaml.gotmpl:2026.8.0*"]);
}

#[test]
fn what_nobody_says_names_who_knows_it() {
    let of = |version: &str| versions(&evaluated(&[("helmfile.yaml.gotmpl", &release(version))]));
    assert_eq!(of("{{ requiredEnv \"L5D\" }}"), ["<the environment variable `L5D`>"]);
    assert_eq!(
        of("{{ env \"L5D\" | default \"2026.8.2\" }}"),
        ["helmfile.yaml.gotmpl:2026.8.2", "<the environment variable `L5D`>"]
    );
    assert_eq!(of("{{ .Values.l5d | get \"v\" \"2026.8.1\" }}").len(), 1);
    assert_eq!(of("{{ .Values | get \"l5d.v\" \"2026.8.1\" }}"), ["helmfile.yaml.gotmpl:2026.8.1"]);
    assert_eq!(of("{{ exec \"cat\" (list \"VERSION\") }}"), ["<a command that helmfile runs>"]);
    let both = of("{{ if .Values.canary }}2026.8.3{{ else }}2026.8.2{{ end }}");
    assert_eq!(both, ["helmfile.yaml.gotmpl:2026.8.3", "helmfile.yaml.gotmpl:2026.8.2"]);
}

#[test]
fn files_are_read_beside_the_template() {
    let found = evaluated(&[
        ("a/helmfile.yaml.gotmpl", &release("{{ (readFile \"v.yaml\" | fromYaml).crds }}")),
        ("a/v.yaml", "crds: 2026.8.2\n"),
    ]);
    assert_eq!(versions(&found), ["a/v.yaml:2026.8.2"]);
}

#[test]
fn bases_are_laid_under_and_look_beside_who_takes_them_in() {
    let base = "repositories:\n- {name: l5d, url: https://helm.linkerd.io/edge}\nenvironments:\n  default:\n    values: [env.yaml]\nreleases:\n- {name: b, chart: l5d/linkerd-viz, version: 2026.8.0}\n";
    let main = "bases: [../base.yaml]\n---\nreleases:\n- {name: c, chart: l5d/linkerd-crds, version: '{{ .Values.v }}'}\n";
    let found = evaluated(&[
        ("base.yaml", base),
        ("m/helmfile.yaml", main),
        ("m/env.yaml", "v: 2026.8.2\n"),
        ("env.yaml", "v: 2026.1.1\n"),
    ]);
    // The releases of a later part stand in place of those before.
    assert_eq!(versions(&found), ["m/env.yaml:2026.8.2*"]);
    let one = evaluated(&[
        ("base.yaml", base),
        ("m/helmfile.yaml", &main.replace("---\n", "")),
        ("m/env.yaml", "v: 2026.8.2\n"),
    ]);
    assert_eq!(versions(&one), ["base.yaml:2026.8.0", "m/env.yaml:2026.8.2*"]);
}

#[test]
fn helmfiles_take_in_others_with_values_and_what_they_inherit() {
    let parent = format!(
        "{HEAD}values: [{{v: 2026.1.1}}]\nhelmfiles:\n- path: sub/*/helmfile.yaml.gotmpl\n  inherits: [repositories]\n  values:\n  - v: 2026.8.2\n- more.d\n- git::https://example.com/x.git@helmfile.yaml\n"
    );
    let sub = "releases:\n- {name: c, chart: l5d/linkerd-crds, version: {{ .Values.v }}}\n";
    let found = evaluated(&[
        ("helmfile.yaml", &parent),
        ("sub/a/helmfile.yaml.gotmpl", sub),
        ("more.d/1.yaml", "releases:\n- {name: d, chart: other/linkerd-viz, version: 2026.8.1}\n"),
    ]);
    assert_eq!(versions(&found), ["helmfile.yaml:2026.8.2*", "more.d/1.yaml:2026.8.1"]);
    assert!(matches!(found.charts[0].repository, Repository::Address(_)));
    assert!(matches!(&found.charts[1].repository, Repository::Unknown(who) if who.contains("`other`")));
    assert!(found.notes.iter().any(|n| matches!(&n.about, About::Remote(r) if r.starts_with("git::"))));
}

#[test]
fn templates_are_under_releases_by_anchor_and_by_name() {
    let text = "repositories:\n- {name: l5d, url: https://helm.linkerd.io/edge}\ntemplates:\n  edge: &edge\n    chart: l5d/{{ .Release.Name }}\n    version: 2026.8.2\n    values: [v.yaml]\n  inner:\n    inherit: [{template: edge, except: [values]}]\n    namespace: mesh\nreleases:\n- name: linkerd-crds\n  <<: *edge\n- name: linkerd-viz\n  inherit:\n  - template: inner\n  values: [{a: 1}]\n";
    let found = evaluated(&[("helmfile.yaml", text), ("v.yaml", "b: 1\n")]);
    let chart = |n: usize| found.charts[n].chart.text().into_owned();
    assert_eq!((chart(0), chart(1)), ("linkerd-crds".to_owned(), "linkerd-viz".to_owned()));
    assert_eq!(versions(&found), ["helmfile.yaml:2026.8.2", "helmfile.yaml:2026.8.2"]);
    assert_eq!((found.charts[0].layers.len(), found.charts[1].layers.len()), (1, 1));
    assert_eq!(found.charts[1].namespace.as_ref().unwrap().text(), "mesh");
}

#[test]
fn what_a_release_says_counts_before_its_templates_and_a_later_one_of_these_before_an_earlier_one() {
    let text = "defaultInherit: [old, off]\ntemplates:\n  old: {version: 2026.8.0, values: [{a: 1}]}\n  off: {installed: false}\n  new: {version: 2026.8.1, installed: true, values: [{a: 2}]}\nreleases:\n- {name: one, chart: l5d/linkerd-crds, inherit: [{template: new}], installed: no, version: ''}\n- {name: two, chart: l5d/linkerd-viz, inherit: [{template: new}, {template: old}], version: 2026.8.2}\n- {name: three, chart: l5d/linkerd-viz}\n";
    let found = evaluated(&[("helmfile.yaml", text)]);
    let own = ["helmfile.yaml:2026.8.1", "helmfile.yaml:2026.8.2", "helmfile.yaml:2026.8.0"];
    assert_eq!(versions(&found), own);
    let is_off: Vec<bool> = found.charts.iter().map(|chart| chart.is_off).collect();
    assert_eq!(is_off, [false, false, true], "a boolean that is false says nothing over another");
    let layers: Vec<usize> = found.charts.iter().map(|chart| chart.layers.len()).collect();
    assert_eq!(layers, [2, 2, 1], "a template that a release names itself is no default of it");
}

#[test]
fn layers_stand_in_the_order_of_helmfile() {
    let text = format!(
        "{}  values:\n  - files/{{{{`{{{{ .Release.Name }}}}`}}}}.yaml.gotmpl\n  - linkerdVersion: edge-26.8.1\n  - gone.yaml\n  secrets: [s.yaml]\n  set:\n  - name: proxy.image.version\n    value: edge-26.8.2\n  - {{name: list, values: [a, 'b,c']}}\n  setString: [{{name: s, value: '1'}}]\n  env: [{{name: e, value: HOME}}]\n",
        release("2026.8.2")
    );
    let values =
        "x: {{ .Release.ChartVersion }}\ny: {{ .Values.tag | default \"t\" }}\nsecret: ref+vault://a\n";
    let found = evaluated(&[("helmfile.yaml.gotmpl", &text), ("files/crds.yaml.gotmpl", values)]);
    let all = found.charts[0].values().value;
    let at = |path: &[&str]| shown(all.scalar(path).unwrap());
    assert_eq!(at(&["x"]), "helmfile.yaml.gotmpl:2026.8.2");
    assert_eq!(at(&["linkerdVersion"]), "helmfile.yaml.gotmpl:edge-26.8.1");
    assert_eq!(at(&["proxy", "image", "version"]), "helmfile.yaml.gotmpl:edge-26.8.2");
    assert_eq!(at(&["secret"]), "<a store of secrets>");
    assert_eq!(at(&["e"]), "<the environment variable `HOME`>");
    let list: Vec<_> =
        all.list_at("list").iter().map(|v| v.as_scalar().unwrap().text().into_owned()).collect();
    assert_eq!(list, ["a", "b,c"]);
    assert!(!all.scalar(&["s"]).unwrap().plain);
    let outside = found.charts[0].layers.iter().filter(|l| matches!(l, Layer::Outside { target: None, .. }));
    assert_eq!(outside.count(), 2);
}

#[test]
fn a_chart_may_be_in_a_registry_a_package_or_a_folder() {
    let of = |chart: &str, more: &str| {
        let text = format!(
            "repositories:\n- {{name: reg, url: cr.example.com/x, oci: true}}\nreleases:\n- name: a\n  chart: {chart}\n{more}"
        );
        let found = evaluated(&[("helmfile.yaml", &text), ("charts/a/Chart.yaml", "name: a\n")]);
        let one = &found.charts[0];
        let at = match &one.repository {
            Repository::Address(at) => at.text().into_owned(),
            Repository::Git(_) => "here".to_owned(),
            Repository::Unknown(who) => who.clone(),
        };
        format!("{} {at} {}", one.chart.text(), one.version.as_ref().map(shown).unwrap_or_default())
    };
    assert_eq!(
        of("reg/linkerd-crds", "  version: 2026.8.2\n"),
        "linkerd-crds oci://cr.example.com/x helmfile.yaml:2026.8.2"
    );
    assert_eq!(
        of("oci://cr.example.com:5000/x/linkerd-crds:2026.8.2", ""),
        "linkerd-crds oci://cr.example.com:5000/x helmfile.yaml:2026.8.2"
    );
    assert_eq!(
        of("https://helm.linkerd.io/edge/linkerd-crds-2026.8.2.tgz", ""),
        "linkerd-crds https://helm.linkerd.io/edge helmfile.yaml:2026.8.2"
    );
    assert_eq!(of("charts/a", ""), "charts/a here ");
    assert_eq!(of("./elsewhere", ""), "./elsewhere here ");
}

#[test]
fn a_file_of_before_1_0_is_a_template_by_what_it_holds() {
    let text = "environments:\n  default: {values: [{v: 2026.8.2}]}\n---\nreleases:\n{{- range list \"linkerd-crds\" \"linkerd-viz\" }}\n- name: {{ . }}\n  chart: l5d/{{ . }}\n  version: {{ $.Values.v }}\n{{- end }}\n";
    let found = evaluated(&[("helmfile.yaml", text)]);
    assert_eq!(versions(&found), ["helmfile.yaml:2026.8.2*", "helmfile.yaml:2026.8.2*"]);
}

#[test]
fn the_bytes_of_windows_files_are_their_own() {
    let text = release("2026.8.2").replace('\n', "\r\n");
    let found = evaluated(&[("helmfile.yaml", &format!("environments: {{}}\r\n---\r\n{text}"))]);
    assert_eq!(versions(&found), ["helmfile.yaml:2026.8.2"]);
}

#[test]
fn hostile_helmfiles_end() {
    let cycle = evaluated(&[
        ("helmfile.yaml", "helmfiles: [b/helmfile.yaml, b/helmfile.yaml]\nbases: [helmfile.yaml]\n"),
        ("b/helmfile.yaml", &format!("helmfiles: [../helmfile.yaml]\n{}", release("2026.8.2"))),
    ]);
    assert_eq!(versions(&cycle), ["b/helmfile.yaml:2026.8.2"]);
    assert!(cycle.notes.iter().any(|n| matches!(n.about, About::Cycle(_))));
    let template = "templates:\n  a: {inherit: [{template: a}, {template: a}, {template: a}], version: 2026.8.2}\nreleases:\n- {name: x, chart: a/linkerd-crds, inherit: [{template: a}]}\n";
    assert_eq!(evaluated(&[("helmfile.yaml", template)]).charts.len(), 1);
    let own = format!("{}# {{{{ tpl .Values.t . }}}}\n", release("2026.8.2"));
    let text = format!("values: [{{t: '{{{{ tpl .Values.t . }}}}{{{{ tpl .Values.t . }}}}'}}]\n---\n{own}");
    assert_eq!(versions(&evaluated(&[("helmfile.yaml.gotmpl", &text)])).len(), 1);
    let broken = evaluated(&[
        ("helmfile.yaml", "releases: ["),
        ("x/helmfile.yaml.gotmpl", "{{ if }}"),
        ("y/helmfile.yaml", &release("2026.8.2")),
    ]);
    assert_eq!((versions(&broken).len(), broken.notes.len()), (1, 2));
    let many: String = (0..400).map(|n| format!("  e{n}: {{}}\n")).collect();
    let found =
        evaluated(&[("helmfile.yaml", &format!("environments:\n{many}---\n{}", release("2026.8.2")))]);
    assert_eq!(versions(&found).len(), 1);
    assert!(found.notes.iter().any(|n| matches!(n.about, About::Bound(_))));
}

#[test]
fn helmfiles_that_name_each_other_over_and_over_end() {
    let fan: Vec<(String, String)> = (0..20)
        .map(|n| {
            let next = n + 1;
            (
                format!("l{n}/helmfile.yaml"),
                format!("helmfiles: [../l{next}/helmfile.yaml, ../l{next}/helmfile.yaml]\n"),
            )
        })
        .collect();
    let fan: Vec<(&str, &str)> = fan.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let notes = evaluated(&fan).notes;
    let has = |bound: &dyn Fn(&Bound) -> bool| {
        notes.iter().any(|note| matches!(&note.about, About::Bound(found) if bound(found)))
    };
    assert!(has(&|bound| matches!(bound, Bound::Depth(_))) && has(&|bound| matches!(bound, Bound::Looks(_))));
}

#[test]
fn a_release_is_not_installed_by_the_words_that_its_field_reads() {
    let is_off = |word: &str| {
        let text = format!("releases: [{{name: x, chart: a/linkerd-viz, installed: {word}}}]\n");
        evaluated(&[("helmfile.yaml", &text)]).charts.iter().map(|chart| chart.is_off).collect::<Vec<_>>()
    };
    for word in ["false", "no", "off", "n", "N"] {
        assert_eq!(is_off(word), [true], "{word}");
    }
    for word in ["true", "yes", "on"] {
        assert_eq!(is_off(word), [false], "{word}");
    }
}

#[test]
fn what_templates_cost_together_has_a_bound() {
    let bounds = Bounds::new();
    assert!(bounds.spend(500 << 20).is_ok() && bounds.spend(20 << 20).is_err() && bounds.spend(1).is_err());
}
