"""A config repository before and after a change, and what it deploys: found by reading its YAML as a deployer would."""

import base64
import copy
import fnmatch
import json
import posixpath
import re
import subprocess

import yaml

CHARTS = ("linkerd-crds", "linkerd-control-plane", "linkerd-viz", "linkerd2-cni", "linkerd-multicluster", "linkerd-jaeger")
NAMESPACES = {"linkerd-crds": "linkerd", "linkerd-control-plane": "linkerd", "linkerd2-cni": "linkerd-cni"}
EXACT = re.compile(r"^v?\d+\.\d+\.\d+$")


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML as Kubernetes reads it: a day is a text, `on` and `=` are texts."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if not tag.endswith((":timestamp", ":value", ":bool"))]
    for first, rules in Loader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


def documents(text):
    """Yields the documents of a file with their first and last lines; what is no YAML has none."""
    lines = text.split("\n")
    start = 0
    for at in range(len(lines) + 1):
        if at == len(lines) or re.match(r"---(\s|$)", lines[at]):
            part = "\n".join(lines[start:at])
            try:
                value = yaml.load(part.split("\n", 1)[1] if part.startswith("---") and "\n" in part else part, Loader)
            except yaml.YAMLError:
                value = None
            if value is not None:
                first = next(n for n in range(start, at) if not re.match(r"\s*(#|$)|---\s*$", lines[n]))
                yield value, first + 1, at
            start = at


def flat(value):
    """Yields the objects of a document, those of a List one by one."""
    if not isinstance(value, dict):
        return
    if str(value.get("kind", "")).endswith("List") and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from flat(item)
    elif value.get("kind") and value.get("apiVersion"):
        yield value


def at(value, path, default=None):
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return default
        value = value[key]
    return value


def merged(base, over):
    """Lays values over others as Helm does."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    result = dict(base)
    for key, value in over.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def nested(path, value):
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


class Tree:
    """The files of one commit."""

    def __init__(self, files):
        self.files = files
        self._parsed = {}

    @classmethod
    def of_commit(cls, repo, commit="HEAD"):
        run = lambda *args: subprocess.run(["git", "-C", repo, *args], check=True, capture_output=True).stdout
        files = {}
        for entry in run("ls-tree", "-r", "-z", commit).decode().split("\0"):
            if entry.startswith("100"):
                head, path = entry.split("\t", 1)
                files[path] = run("cat-file", "blob", head.split()[2]).decode("utf-8", "replace")
        return cls(files)

    def documents(self, path):
        if path not in self._parsed:
            self._parsed[path] = list(documents(self.files.get(path, "")))
        return self._parsed[path]

    def objects(self):
        """Yields every object in every YAML or JSON file, with path and first line."""
        for path in sorted(self.files):
            if path.endswith((".yaml", ".yml", ".json")):
                for value, start, _ in self.documents(path):
                    for one in flat(value):
                        yield one, path, start

    def values(self, path):
        parsed = self.documents(path)
        return parsed[0][0] if parsed and isinstance(parsed[0][0], dict) else {}

    def line(self, place):
        path, line = place.rsplit(":", 1)
        lines = self.files.get(path, "").split("\n")
        return lines[int(line) - 1] if 0 < int(line) <= len(lines) else None


class Use:
    """A chart as one deployer renders it."""

    def __init__(self, chart, version, path, line, name, namespace, layers=(), settings=(), key="", step=None):
        # Helm takes `v2026.8.2` for `2026.8.2`.
        version = re.sub(r"^v(?=\d)", "", str(version))
        self.chart, self.version, self.path, self.line = chart, version, path, line
        self.name, self.namespace = name, namespace or NAMESPACES.get(chart, chart)
        self.layers, self.settings, self.key = [x for x in layers if x], list(settings), key
        self.step = step  # (waits for, wave)
        self.outside = []  # values from outside the tree
        self.hooks = True

    def identity(self):
        return (self.path, self.chart, self.name, self.key)

    def inputs(self):
        return json.dumps([self.version, self.namespace, self.layers, self.settings], sort_keys=True, default=str)

    def values(self):
        result = {}
        for layer in self.layers:
            result = merged(result, copy.deepcopy(layer))
        for path, value, _ in self.settings:
            if "[" not in path and "\\" not in path:
                result = merged(result, nested(path, value))
        return result


def uses(tree):
    """Finds every chart of Linkerd's that the tree deploys."""
    found = []
    for one, path, line in tree.objects():
        group = str(one["apiVersion"]).split("/")[0]
        if group == "helm.toolkit.fluxcd.io" and one["kind"] == "HelmRelease":
            found.append(flux(tree, one, path, line))
        elif group == "argoproj.io" and one["kind"] == "Application":
            found.extend(argo(tree, one.get("spec") or {}, one, path, line))
        elif group == "argoproj.io" and one["kind"] == "ApplicationSet":
            found.extend(argo_set(tree, one, path, line))
    for path in sorted(tree.files):
        if posixpath.basename(path) in ("kustomization.yaml", "kustomization.yml"):
            found.extend(kustomize(tree, path))
        if posixpath.basename(path) == "Chart.yaml":
            found.extend(umbrella(tree, path))
    return [use for use in found if use and use.chart in CHARTS]


def flux(tree, one, path, line):
    spec, meta = one.get("spec") or {}, one.get("metadata") or {}
    chart = at(spec, "chart.spec") or {}
    if not chart.get("chart"):
        reference = spec.get("chartRef") or {}
        for other, _, _ in tree.objects():
            if other["kind"] == reference.get("kind") == "HelmChart" and at(other, "metadata.name") == reference.get("name"):
                chart = other.get("spec") or {}
    if not chart.get("version") or not chart.get("chart"):
        return None
    use = Use(str(chart["chart"]), chart["version"], path, line, spec.get("releaseName") or meta.get("name"),
              spec.get("targetNamespace") or meta.get("namespace"))
    for source in spec.get("valuesFrom") or []:
        key = source.get("valuesKey", "values.yaml")
        data = None
        if source.get("kind") == "ConfigMap":
            data = config_map(tree, source.get("name"), key)
        target = source.get("targetPath")
        if data is None:
            use.outside.append(target or source.get("name"))
        elif target:
            use.layers.append(nested(target, data))
        else:
            use.layers.append(yaml.load(data, Loader))
    use.layers.append(spec.get("values"))
    use.layers = [layer for layer in use.layers if layer]
    use.step = ([d.get("namespace", "") + "/" * bool(d.get("namespace")) + d["name"] for d in spec.get("dependsOn") or []], None)
    use.step_name = meta.get("name")
    return use


def config_map(tree, name, key):
    for other, _, _ in tree.objects():
        if other["kind"] == "ConfigMap" and at(other, "metadata.name") == name and key in (other.get("data") or {}):
            return other["data"][key]
    for path in tree.files:
        if posixpath.basename(path) == "kustomization.yaml":
            for made in tree.values(path).get("configMapGenerator") or []:
                for file in made.get("files") or [] if made.get("name") == name else []:
                    wanted, _, source = file.rpartition("=")
                    if (wanted or posixpath.basename(source)) == key:
                        return tree.files.get(posixpath.normpath(posixpath.join(posixpath.dirname(path), source)))
    return None


def argo(tree, spec, one, path, line, key="", name=None):
    meta = one.get("metadata") or {}
    sources = spec.get("sources") or ([spec["source"]] if spec.get("source") else [])
    for source in sources:
        if source.get("chart") not in CHARTS:
            continue
        helm = source.get("helm") or {}
        use = Use(source["chart"], source.get("targetRevision", ""), path, line,
                  helm.get("releaseName") or name or meta.get("name"), at(spec, "destination.namespace"), key=key)
        for file in helm.get("valueFiles") or []:
            if str(file).startswith("$"):
                use.layers.append(tree.values(file.split("/", 1)[1]))
        if helm.get("values"):
            use.layers.append(yaml.load(helm["values"], Loader) if isinstance(helm["values"], str) else helm["values"])
        use.layers.append(helm.get("valuesObject"))
        use.layers = [layer for layer in use.layers if layer]
        for parameter in helm.get("parameters") or []:
            use.settings.append((parameter["name"], parameter["value"], bool(parameter.get("forceString"))))
        wave = at(meta, "annotations", {}).get("argocd.argoproj.io/sync-wave", "0")
        use.step, use.step_name = (None, int(wave)), meta.get("name")
        yield use


def argo_set(tree, one, path, line):
    spec = one.get("spec") or {}
    for generator in spec.get("generators") or []:
        elements = []
        for element in at(generator, "list.elements") or []:
            elements.append((str(element), element))
        for files in at(generator, "git.files") or []:
            for file in sorted(tree.files):
                if fnmatch.fnmatch(file, files["path"]):
                    elements.append((file, tree.values(file)))
        for key, element in elements:
            text = json.dumps(spec.get("template") or {})
            fill = lambda m: str(at(element, m[1], m[0]))
            filled = json.loads(re.sub(r"\{\{\s*\.?([\w.-]+)\s*\}\}", fill, text))
            yield from argo(tree, filled.get("spec") or {}, {"metadata": one.get("metadata") or {}}, path, line,
                            at(filled, "metadata.name", key), at(filled, "metadata.name"))


def item_line(tree, path, name, key="name"):
    pattern = re.compile(rf"^\s*-\s+{key}:\s*[\"']?{re.escape(name)}[\"']?\s*(#.*)?$")
    return next((n for n, text in enumerate(tree.files[path].split("\n"), 1) if pattern.match(text)), 1)


def kustomize(tree, path):
    spec, folder = tree.values(path), posixpath.dirname(path)
    for chart in spec.get("helmCharts") or []:
        use = Use(chart.get("name"), chart.get("version", ""), path, item_line(tree, path, str(chart.get("name"))),
                  chart.get("releaseName"), chart.get("namespace"))
        files = [chart["valuesFile"]] if chart.get("valuesFile") else []
        inline = chart.get("valuesInline")
        layers = [tree.values(posixpath.normpath(posixpath.join(folder, f))) for f in files]
        layers += [inline] + [
            tree.values(posixpath.normpath(posixpath.join(folder, f))) for f in chart.get("additionalValuesFiles") or []]
        use.layers = [layer for layer in layers if layer]
        use.hooks = not chart.get("skipHooks")
        use.step, use.step_name = (None, None), chart.get("releaseName") or chart.get("name")
        yield use


def umbrella(tree, path):
    """Finds the charts that another chart brings, in the environments that deploy it."""
    chart, folder = tree.values(path), posixpath.dirname(path)
    locked = {d.get("name"): d for d in tree.values(folder + "/Chart.lock").get("dependencies") or []}
    environments = []
    for one, where, _ in tree.objects():
        if one["kind"] == "Application":
            for source in at(one, "spec.sources") or [at(one, "spec.source") or {}]:
                if posixpath.normpath(str(source.get("path", "-"))) == folder:
                    environments.append((where, source.get("helm") or {}, at(one, "spec.destination.namespace")))
        if one["kind"] == "HelmRelease" and posixpath.normpath(str(at(one, "spec.chart.spec.chart", "-"))) == folder:
            helm = {"valueFiles": ["/" + f for f in at(one, "spec.chart.spec.valuesFiles") or []], "valuesObject": at(one, "spec.values")}
            environments.append((where, helm, at(one, "metadata.namespace")))
    for dependency in chart.get("dependencies") or []:
        name = dependency.get("name")
        version = str(dependency.get("version", ""))
        if not EXACT.match(version) and name in locked:
            version = str(locked[name]["version"])
        for where, helm, namespace in environments or [(None, {}, None)]:
            layers = [tree.values(folder + "/values.yaml")]
            for file in helm.get("valueFiles") or []:
                file = file[1:] if file.startswith("/") else posixpath.normpath(posixpath.join(folder, file))
                layers.append(tree.values(file))
            layers.append(helm.get("valuesObject") or {})
            own = []
            for layer in layers:
                mine = dict(layer.get(dependency.get("alias") or name) or {})
                if layer.get("global"):
                    mine["global"] = layer["global"]
                own.append(mine)
            use = Use(name, version, path, item_line(tree, path, str(name)), name, namespace, own, key=where or "")
            use.step = None
            yield use


def certificates(text):
    """Returns the PEM certificates in a text, also in base64."""
    if not isinstance(text, str):
        return []
    if text.lstrip().startswith("LS0t"):
        try:
            text = base64.b64decode(text).decode()
        except ValueError:
            return []
    if not text.lstrip().startswith("-----BEGIN"):
        return []
    return re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", text, re.S)
