//! Tests of Go templates.

use super::*;
use crate::{
    deploy::{read, value::Source},
    repo::{BlobId, RepoPath},
    yaml::Ceilings,
};

fn file(name: &str, text: &str) -> Scalar {
    let path = RepoPath::new(name).unwrap();
    Scalar::file(&Arc::new(Source { path, blob: BlobId([0; 20]), text: text.into() }))
}

fn parameters() -> Value {
    let text = "name: viz\nversion: 2026.8.2\nenv: prod\nport: 8080\nratio: 26.10\nflag: yes\nnone: null\n\
                labels: {tier: gold, app/x: yy}\nlist: [a, b]\ncharts: [{name: c1, v: '1'}, {name: c2, v: '2'}]\n";
    read::mapping(&file("parameters.yaml", text), &Ceilings::default()).unwrap()
}

fn scope(dot: &Value) -> Scope<'_> {
    Scope { dot, inputs: None, own: None, named: None, open: None, strict: false, outcome: 0 }
}

fn fill(text: &str) -> Result<String, Stop> {
    let dot = parameters();
    let filled = Templates::new("{{", "}}").fill(&file("t.yaml", text), scope(&dot))?;
    Ok(filled.text.text().into_owned())
}

// Source: what Go's text/template with sprig v3 prints for these texts and parameters.
#[test]
fn plain_forms_are_evaluated() {
    for (text, expected) in [
        ("x-{{ .name }}-{{.env}}", "x-viz-prod"),
        ("{{ .none }}|{{ .gone }}|{{ .labels.gone }}", "<no value>|<no value>|<no value>"),
        ("{{ .port }} {{ .ratio }} {{ .flag }}", "8080 26.1 true"),
        ("{{ index .labels \"app/x\" }} {{ index .list 1 }}", "yy b"),
        ("{{ default \"d\" .gone }} {{ .gone | default \"e\" }} {{ .name | default \"f\" }}", "d e viz"),
        ("{{ printf \"%s-%v%%\" .name .port }}", "viz-8080%"),
        ("{{ .name | quote }} {{ squote .name }} {{ .port | toString | quote }}", "\"viz\" 'viz' \"8080\""),
        ("{{ trimPrefix \"v\" .name }} {{ .env | upper | lower | trunc 2 }}", "iz pr"),
        ("{{ if eq .env \"prod\" }}P{{ else if eq .env \"dev\" }}D{{ else }}O{{ end }}", "P"),
        ("{{ if and .name (ne .env \"prod\") }}A{{ else }}B{{ end }}", "B"),
        (
            "{{ with .labels }}{{ .tier }}{{ $.name }}{{ end }}{{ with .gone }}x{{ else }}y{{ end }}",
            "goldvizy",
        ),
        ("{{ range .charts }}[{{ .name }}={{ .v }}]{{ end }}", "[c1=1][c2=2]"),
        ("{{ range $i, $c := .list }}{{ $i }}{{ $c }}{{ else }}none{{ end }}", "0a1b"),
        ("{{ range $k, $v := .labels }}{{ $k }}:{{ $v }};{{ end }}", "app/x:yy;tier:gold;"),
        ("{{ range .gone }}x{{ else }}none{{ end }}", "none"),
        ("a {{- /* c */ -}} b{{- \" c\" -}}  d", "ab cd"),
        ("{{ $v := .version }}{{ $v = printf \"%s+1\" $v }}{{ $v }}", "2026.8.2+1"),
        ("{{ (index .charts 0).name }}{{ .charts | len }}", "c12"),
        ("{{ .labels | toYaml | nindent 2 }}", "\n  app/x: yy\n  tier: gold"),
        (
            "{{ .labels }} {{ .list }} {{ toJson .labels }}",
            "map[app/x:yy tier:gold] [a b] {\"app/x\":\"yy\",\"tier\":\"gold\"}",
        ),
        (
            "{{ join \"-\" .list }} {{ (split \"8\" .version)._0 }} {{ splitList \".\" .version | last }}",
            "a-b 2026. 2",
        ),
        ("{{ ternary \"y\" \"n\" (hasKey .labels \"tier\") }}{{ dig \"labels\" \"none\" \"z\" . }}", "yz"),
        ("{{ \"a}}b\" }}{{ `raw\\n` }}{{ \"\\u00e9\" }}", "a}}braw\\né"),
        ("{{ range .list }}{{ if eq . \"b\" }}{{ break }}{{ end }}{{ . }}{{ end }}", "a"),
        ("{{ not .gone }} {{ empty .list }} {{ coalesce .gone .none .name }}", "true false viz"),
        ("{{ if or (eq .env \"x\") (contains \"ro\" .env) }}y{{ end }}", "y"),
        ("{{ normalize \"A_b.C-\" }}{{ .version | replace \".\" \"-\" }}", "a-b.c2026-8-2"),
        ("{{ print .name 1 2 }}{{ cat .name .env }}", "viz1 2viz prod"),
        ("{{ if gt (len .list) 1 }}many{{ end }}", "many"),
        ("{{ required \"m\" 0 }}{{ required \"m\" (not .name) }}{{ .name | required \"m\" }}", "0falseviz"),
    ] {
        assert_eq!(fill(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_go_refuses_is_refused() {
    for text in [
        "{{ .name",
        "{{ if .name }}x",
        "{{ end }}",
        "{{ $none }}",
        "{{ ) }}",
        "{{ .name .env }}",
        "{{ .name \"no entry for key\" }}",
        "{{ required \"m\" .gone }}",
        "{{ .none | required \"m\" }}",
        "{{ required \"m\" \"\" }}",
    ] {
        assert!(matches!(fill(text), Err(Stop::Refused(_))), "{text}");
    }
    let dot = parameters();
    let strict = Scope { strict: true, ..scope(&dot) };
    let mut templates = Templates::new("{{", "}}");
    assert!(matches!(templates.fill(&file("t", "{{ .gone }}"), strict), Err(Stop::Missing(_))));
    assert!(matches!(fill("{{ .name.x }}"), Err(Stop::Missing(_))));
    assert!(templates.fill(&file("t", "{{ .name }}"), strict).is_ok());
    let deep = format!("{}{}", "{{ if .name }}".repeat(100), "{{ end }}".repeat(100));
    assert!(matches!(fill(&deep), Err(Stop::Refused(_))));
    let deep = format!("{{{{ {}.name{} }}}}", "(".repeat(100), ")".repeat(100));
    assert!(matches!(fill(&deep), Err(Stop::Refused(_))));
}

#[test]
fn each_piece_knows_where_it_was_written() {
    let dot = parameters();
    let text = "{{ if eq .env \"prod\" }}v{{ .version | trimPrefix \"v\" | quote }}{{ end }}-{{ default \"26.1.1\" .gone }}";
    let filled = Templates::new("{{", "}}").fill(&file("t.yaml", text), scope(&dot)).unwrap();
    assert_eq!(
        format!("{:?}", filled.text),
        format!(
            "[\"v\"@t.yaml:{}, \"\\\"\", \"2026.8.2\"@parameters.yaml:19, \"\\\"\", \"-\"@t.yaml:{}, \"26.1.1\"@t.yaml:{}]",
            text.find("v{{").unwrap(),
            text.find("-{{ d").unwrap(),
            text.find("26.1.1").unwrap()
        )
    );
}

#[test]
fn what_the_tree_does_not_decide_has_several_outcomes() {
    let dot = parameters();
    let open = Unknown::from("a cluster");
    let text = file(
        "t",
        "{{ if eq .cluster \"a\" }}1{{ else if .x }}2{{ else }}3{{ end }}{{ .cluster }}{{ env \"X\" }}",
    );
    let mut templates = Templates::new("{{", "}}");
    let mut outcome = |outcome| {
        let scope = Scope { open: Some(&open), outcome, ..scope(&dot) };
        templates.fill(&text, scope).unwrap()
    };
    let first = outcome(0);
    assert_eq!(first.outcomes, 3);
    let texts: Vec<String> = (0..4).map(|n| outcome(n).text.text().chars().take(1).collect()).collect();
    assert_eq!(texts, ["1", "2", "3", "3"]);
    assert_eq!(first.text.unknown_to(), Some("a cluster"));
    assert!(first.notes.contains(&About::Expression("env \"X\"".to_owned())));
    assert!(first.notes.contains(&About::Condition("if eq .cluster \"a\"".to_owned())));
}

#[test]
fn a_template_that_would_not_end_is_bounded() {
    let nested = "{{ range 1000 }}".repeat(4) + "x" + &"{{ end }}".repeat(4);
    assert_eq!(fill(&nested), Err(Stop::Bound(Bound::Steps(STEPS))));
    let grown = format!(
        "{{{{ $a := \"{}\" }}}}{}{{{{ $a }}}}",
        "x".repeat(1000),
        "{{ $a = print $a $a }}".repeat(40)
    );
    assert!(fill(&grown).is_err());
    let printed = format!("{{{{ range 100 }}}}{}{{{{ end }}}}", "x".repeat(100_000));
    assert_eq!(fill(&printed), Err(Stop::Bound(Bound::Bytes(BYTES))));
    let deep = format!("{}{}", "{{ if true }}".repeat(20_000), "{{ end }}".repeat(20_000));
    assert_eq!(fill(&deep), Err(Stop::Refused(TemplateError::Deep.to_string())));
    let parentheses = format!("{{{{ {}1{} }}}}", "(".repeat(20_000), ")".repeat(20_000));
    assert_eq!(fill(&parentheses), Err(Stop::Refused(TemplateError::Deep.to_string())));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(\\{\\{|\\}\\}|-| |if|else|end|range|with|\\.|\\.name|\\$|:=|\"|`|\\(|\\)|\\||printf|index|1|é|,|x|\n){0,24}") {
        let _ = fill(&text);
    }
}
