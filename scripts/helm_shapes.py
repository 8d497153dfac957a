"""Shapes of templates, values and files that charts have which deploy Linkerd, one a function.

A shape is given the repository that is made, the chart, and a label for what it prints; it returns the text of a template,
and gives the chart what that reads.
"""
import helm_oracle as oracle

KEY = "config.linkerd.io/proxy-version"
APPLICATION = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: @name@
spec:
  source:
    repoURL: https://helm.linkerd.io/edge
    chart: @chart@
    targetRevision: @version@
"""
RELEASE = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: @name@
spec:
  chart:
    spec:
      chart: @chart@
      version: @version@
      sourceRef: {kind: HelmRepository, name: linkerd-edge}
"""
WORKLOAD = """apiVersion: @api@
kind: @kind@
metadata: {name: @name@}
spec:
  template:
    metadata:
      annotations:
        linkerd.io/inject: enabled
        @annotation@
    spec: {containers: []}
"""


def fill(text, **words):
    for key, word in words.items():
        text = text.replace(f"@{key}@", word)
    return text


def asking(made, name, chart, version):
    """An object that deploys a chart."""
    return fill(made.rng.choice([APPLICATION, RELEASE]), name=name, chart=chart, version=version)


def define(chart, name, text):
    chart.helpers.append('{{- define "%s.%s" }}\n%s{{- end }}\n' % (chart.name, name, text))
    return f"{chart.name}.{name}"


def each_of(made, text):
    """The same object for each chart of a mapping or list."""
    return "{{- range " + text + " }}\n---\n"


def library(made, chart, label):
    """A library chart beside it has the template; the values come as arguments."""
    if made.is_missing("libs/common/Chart.yaml"):
        made.write("libs/common/Chart.yaml", made.dump({"apiVersion": "v2", "name": "common", "version": "1.0.0", "type": "library"}))
        text = asking(made, "{{ .name }}", "{{ .name }}", '{{ .version | default "' + made.release("chart") + '" }}')
        made.write("libs/common/templates/_all.tpl", '{{- define "common.linkerd" }}\n' + text + "{{- end }}\n")
    made.depends(chart, {"name": "common", "version": "1.x", "repository": made.address(chart, "libs/common")})
    return '{{ include "common.linkerd" (dict "name" "%s" "version" .Values.%s) }}\n' % (made.rng.choice(oracle.LINKERD), made.path(chart, "chart"))


def include_with_dict(made, chart, label):
    name = define(chart, f"deploy{len(chart.helpers)}", asking(made, "{{ .root.Release.Name }}-{{ .chart }}", "{{ .chart }}", "{{ .version | default .root.Values.%s | quote }}" % made.path(chart, "chart")))
    first, second = made.rng.sample(oracle.LINKERD, 2)
    return '{{ include "%s" (dict "root" $ "chart" "%s" "version" .Values.%s) }}\n---\n{{ include "%s" (dict "root" . "chart" "%s") }}\n' % (name, first, made.path(chart, "chart"), name, second)


def include_with_list(made, chart, label):
    name = define(chart, f"deploy{len(chart.helpers)}", "{{- $root := index . 0 }}{{ $name := index . 1 }}\n" + asking(made, "{{ $name }}", "{{ $name }}", "{{ index . 2 | default $root.Values.%s }}" % made.path(chart, "chart")))
    return '{{ include "%s" (list $ "%s" .Values.%s) }}\n' % (name, made.rng.choice(oracle.LINKERD), made.path(chart, "chart"))


def passed_values(made, chart, label):
    """The values of Linkerd's chart are a part of its own."""
    rng = made.rng
    chart.extra["linkerd"] = {"version": made.release("chart"), "values": {"linkerdVersion": made.release("edge"), "proxy": {"image": {"version": made.release("edge")}}, "podAnnotations": {KEY: made.release("edge")}}}
    text = rng.choice([
        APPLICATION + "    helm:\n      valuesObject:\n        {{- toYaml .Values.linkerd.values | nindent 8 }}\n",
        APPLICATION + "    helm:\n      values: |\n        {{- .Values.linkerd.values | toYaml | nindent 8 }}\n",
        APPLICATION + "    helm:\n      parameters:\n      {{- range $key, $value := omit .Values.linkerd.values \"proxy\" \"podAnnotations\" }}\n      - name: {{ $key }}\n        value: {{ $value | quote }}\n      {{- end }}\n",
        RELEASE + "  values:\n    {{- toYaml .Values.linkerd.values | nindent 4 }}\n",
        RELEASE + "  {{- with .Values.linkerd.values }}\n  values:\n    {{- toYaml . | nindent 4 }}\n  {{- end }}\n",
    ])
    return fill(text, name=label, chart="linkerd-control-plane", version="{{ .Values.linkerd.version }}")


def annotations(made, chart, label):
    rng = made.rng
    kind = rng.choice(["StatefulSet", "DaemonSet", "Deployment"])
    chart.extra["podAnnotations"] = {KEY: made.release("edge"), "team": "web"}
    each = rng.choice([
        "{{- with .Values.podAnnotations }}\n        {{- toYaml . | nindent 8 }}\n        {{- end }}",
        "{{- range $key, $value := .Values.podAnnotations }}\n        {{ $key }}: {{ $value | quote }}\n        {{- end }}",
        "{{- range $key, $value := .Values.podAnnotations }}\n        {{ $key }}: {{ tpl $value $ | quote }}\n        {{- end }}",
        "{{- toYaml (merge (dict \"a\" \"b\") .Values.podAnnotations) | nindent 8 }}",
        KEY + ': {{ index .Values.podAnnotations "' + KEY + '" }}',
    ])
    return fill(WORKLOAD, api="apps/v1", kind=kind, name=label, annotation=each)


def other_workloads(made, chart, label):
    annotation = f"{KEY}: {made.expression(chart, 'edge')}"
    if made.lucky(0.5):
        return fill(WORKLOAD, api="batch/v1", kind="Job", name=label, annotation=annotation)
    return f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: {label}}}\nspec:\n  jobTemplate:\n    spec:\n      template:\n        metadata:\n          annotations:\n            {annotation}\n        spec: {{containers: []}}\n"


def extra_objects(made, chart, label):
    """Objects that are values, as texts or as mappings, with templates in them or without."""
    rng = made.rng
    version = lambda: rng.choice([made.release("chart"), "{{ .Values.%s }}" % made.path(chart, "chart")])
    whole = lambda: {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": label}, "spec": {"source": {"repoURL": "https://helm.linkerd.io/edge", "chart": rng.choice(oracle.LINKERD), "targetRevision": version()}}}
    if made.lucky(0.5):
        chart.extra["extraObjects"] = [whole()]
        return "{{- range .Values.extraObjects }}\n---\n{{ tpl (toYaml .) $ }}\n{{- end }}\n"
    chart.extra["extraManifests"] = [asking(made, label, rng.choice(oracle.LINKERD), version())]
    return "{{- range .Values.extraManifests }}\n---\n{{ tpl . $ }}\n{{- end }}\n"


def files(made, chart, label):
    """Objects, or a version alone, in files of the chart that are no templates."""
    rng = made.rng
    name = rng.choice(oracle.LINKERD)
    form = rng.randrange(4)
    if form == 0:
        chart.files["VERSION"] = made.release("chart")
        return fill(APPLICATION, name=label, chart=name, version='{{ .Files.Get "VERSION" | trim }}')
    if form == 1:
        chart.files["VERSIONS"] = f"{made.release('chart')}\n{made.release('chart')}\n"
        return "{{- range $n, $version := .Files.Lines \"VERSIONS\" }}\n{{- if $version }}\n---\n" + fill(APPLICATION, name=label + "-{{ $n }}", chart=name, version="{{ $version }}") + "{{- end }}\n{{- end }}\n"
    if form == 2:
        chart.files["apps/linkerd.yaml"] = asking(made, label, name, made.release("chart"))
        return '{{- range $path, $_ := .Files.Glob "apps/*.yaml" }}\n---\n{{ $.Files.Get $path }}\n{{- end }}\n'
    chart.files["apps/linkerd.tpl"] = asking(made, label, name, "{{ .Values.%s }}" % made.path(chart, "chart"))
    return '{{ tpl (.Files.Get "apps/linkerd.tpl") . }}\n'


def dict_in_template(made, chart, label):
    first, second = made.rng.sample(oracle.LINKERD, 2)
    text = '{{- $versions := dict "%s" "%s" "%s" "%s" }}\n' % (first, made.release("chart"), second, made.release("chart"))
    return text + each_of(made, "$name, $version := $versions") + fill(APPLICATION, name="{{ $name }}", chart="{{ $name }}", version="{{ $version }}") + "{{- end }}\n"


def yaml_in_helper(made, chart, label):
    first, second = made.rng.sample(oracle.LINKERD, 2)
    name = define(chart, f"versions{len(chart.helpers)}", f"{first}: {made.release('chart')}\n{second}: {{{{ .Values.{made.path(chart, 'chart')} }}}}\n")
    return '{{- $versions := include "%s" . | fromYaml }}\n' % name + asking(made, label, first, '{{ index $versions "%s" }}' % first) + "---\n" + asking(made, label, second, '{{ get $versions "%s" }}' % second)


def merged_defaults(made, chart, label):
    """Each application has what all have, but for what it says itself."""
    first, second = made.rng.sample(oracle.LINKERD, 2)
    chart.extra["defaults"] = {"version": made.release("chart"), "namespace": "linkerd"}
    chart.extra["applications"] = {first: {}, second: {"version": made.release("chart")}}
    merge = made.rng.choice(["mergeOverwrite (deepCopy $.Values.defaults) $app", "merge (dict) $app $.Values.defaults", "merge $app $.Values.defaults"])
    return "{{- range $name, $app := .Values.applications }}\n{{- $all := %s }}\n---\n" % merge + asking(made, "{{ $name }}", "{{ $name }}", "{{ $all.version }}") + "{{- end }}\n"


def text_or_mapping(made, chart, label):
    first, second = made.rng.sample(oracle.LINKERD, 2)
    chart.extra["charts"] = {first: made.release("chart"), second: {"version": made.release("chart")}}
    version = '{{ if kindIs "string" $app }}{{ $app }}{{ else }}{{ $app.version }}{{ end }}'
    return each_of(made, "$name, $app := .Values.charts") + asking(made, "{{ $name }}", "{{ $name }}", version) + "{{- end }}\n"


def clusters(made, chart, label):
    rng = made.rng
    apps = lambda: [{"name": n, "version": made.release("chart"), **({"enabled": made.lucky(0.5)} if made.lucky(0.4) else {})} for n in rng.sample(oracle.LINKERD, 2)]
    chart.extra["clusters"] = [{"name": "a", "apps": apps()}, {"name": "b", "apps": apps()}]
    return "{{- range $cluster := .Values.clusters }}\n{{- range .apps }}\n{{- if ne (toString .enabled) \"false\" }}\n---\n" + asking(made, "{{ $cluster.name }}-{{ .name }}", "{{ .name }}", "{{ .version }}") + "{{- end }}\n{{- end }}\n{{- end }}\n"


def application_set(made, chart, label):
    """An ApplicationSet whose elements are values."""
    chart.extra["environments"] = [{"name": n, "version": made.release("chart")} for n in ("dev", "prod")]
    text = """apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: @name@}
spec:
  generators:
  - list:
      elements:
      {{- range .Values.environments }}
      - env: {{ .name }}
        version: {{ .version | quote }}
      {{- end }}
  template:
    metadata: {name: '@name@-{{ "{{env}}" }}'}
    spec:
      source:
        repoURL: https://helm.linkerd.io/edge
        chart: @chart@
        targetRevision: @element@
"""
    element = made.rng.choice(["'{{ \"{{version}}\" }}'", "'{{ `{{version}}` }}'", "'{{`{{`}}version}}'", made.expression(chart, "chart")])
    return fill(text, name=label, chart=made.rng.choice(oracle.LINKERD), element=element)


def several_sources(made, chart, label):
    text = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: @name@}
spec:
  sources:
  - repoURL: https://helm.linkerd.io/edge
    chart: @chart@
    targetRevision: @version@
    helm:
      valueFiles: [$values/none.yaml]
  - repoURL: https://git.example.org/y.git
    ref: values
    targetRevision: main
"""
    return fill(text, name=label, chart=made.rng.choice(oracle.LINKERD), version=made.expression(chart, "chart"))


def k3s_values(made, chart, label):
    return f"apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {{name: {label}}}\nspec:\n  repo: https://helm.linkerd.io/edge\n  chart: linkerd-control-plane\n  version: {made.expression(chart, 'chart')}\n  valuesContent: |-\n    linkerdVersion: {made.expression(chart, 'edge')}\n"


def chart_version(made, chart, label):
    chart.about["version"] = made.release("chart")
    return asking(made, label, made.rng.choice(oracle.LINKERD), "{{ .Chart.Version }}")


def in_a_list(made, chart, label):
    item = asking(made, label, made.rng.choice(oracle.LINKERD), made.expression(chart, "chart"))
    return "apiVersion: v1\nkind: List\nitems:\n- " + item.rstrip("\n").replace("\n", "\n  ") + "\n"


def commented(made, chart, label):
    """Releases that nobody reads stand around one that is read."""
    chart.files["templates/NOTES.txt"] = f"Linkerd {made.release('chart')} is installed.\n"
    chart.files["README.md"] = f"# Linkerd\n\nIt installs Linkerd `{made.release('edge')}`.\n"
    text = asking(made, label, made.rng.choice(oracle.LINKERD), made.expression(chart, "chart"))
    return f"{{{{- /* since Linkerd {made.release('chart')} */}}}}\n# Linkerd was {made.release('chart')} once.\n{text}"


def anchors(made, chart, label):
    form = made.rng.choice([
        f"anchored:\n  crds: &version {made.release('chart')}\n  mesh: *version\n",
        f"base: &base\n  crds: {made.release('chart')}\n  mesh: {made.release('chart')}\nanchored:\n  <<: *base\n  crds: {made.release('chart')}\n"])
    chart.raw.setdefault("anchored", form)
    return asking(made, label, "linkerd-crds", "{{ .Values.anchored.crds }}") + "---\n" + asking(made, label, "linkerd-viz", "{{ .Values.anchored.mesh }}")


def gated_by_version(made, chart, label):
    path = made.path(chart, "chart")
    return '{{- if semverCompare ">=2026.8.0" (.Values.%s | toString) }}\n' % path + asking(made, label, made.rng.choice(oracle.LINKERD), "{{ .Values.%s }}" % path) + "{{- end }}\n"


def words_as_keys(made, chart, label):
    """Keys that YAML 1.1 reads as booleans or numbers."""
    key, read = made.rng.choice([("on", "true"), ("off", "false"), ("no", "false"), ("1.30", "1.3"), ("0x10", "16")])
    written, looked = made.rng.choice([(key, key), (key, read), (f'"{key}"', key), (f"'{key}'", read)])
    chart.raw.setdefault("words", f"words:\n  {written}: {made.release('chart')}\n")
    return asking(made, label, made.rng.choice(oracle.LINKERD), '{{ get .Values.words "%s" | default "%s" }}' % (looked, made.release("chart")))


def helper_sets(made, chart, label):
    path = made.path(chart, "chart")
    name = define(chart, f"defaults{len(chart.helpers)}", '{{- $_ := set .Values "ready" (.Values.%s | default "%s") }}\n' % (path, made.release("chart")))
    return '{{- include "%s" . }}\n' % name + asking(made, label, made.rng.choice(oracle.LINKERD), "{{ .Values.ready }}")


def name_and_version(made, chart, label):
    """A text that names both a chart and its version."""
    chart.extra["linkerdCharts"] = [f"{n}:{made.release('chart')}" for n in made.rng.sample(oracle.LINKERD, 2)]
    return "{{- range .Values.linkerdCharts }}\n{{- $parts := splitList \":\" . }}\n---\n" + asking(made, "{{ first $parts }}", "{{ first $parts }}", "{{ last $parts }}") + "{{- end }}\n"


def oci_repository(made, chart, label):
    name = made.rng.choice(oracle.LINKERD)
    return f"apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: {label}}}\nspec:\n  url: oci://registry.example.org/linkerd/{name}\n  ref:\n    tag: {made.expression(chart, 'chart')}\n"


def only_enabled(made, chart, label):
    """A part of the values has all that one application has."""
    name = made.rng.choice(oracle.LINKERD)
    key = name.removeprefix("linkerd-").replace("control-plane", "controlPlane")
    chart.extra[key] = {"enabled": made.lucky(0.7), "chart": {"version": made.release("chart"), "name": name}}
    return "{{- with .Values.%s }}\n{{- if .enabled }}\n" % key + asking(made, "{{ .chart.name }}", "{{ .chart.name }}", "{{ .chart.version }}") + "{{- end }}\n{{- end }}\n"


ALL = [
    library, include_with_dict, include_with_list, passed_values, annotations, other_workloads, extra_objects, files, dict_in_template,
    yaml_in_helper, merged_defaults, text_or_mapping, clusters, application_set, several_sources, k3s_values, chart_version, in_a_list,
    commented, anchors, gated_by_version, words_as_keys, helper_sets, name_and_version, oci_repository, only_enabled,
]
