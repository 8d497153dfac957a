"""What Helm makes of the charts of a repository, with the values that Flux, Argo CD and helmfile would give them.

Nothing but `helm template` looks into a chart. Where each release in the repository comes out is found by giving every one
of them a number of its own.
"""
import copy
import os
import re
import shutil
import subprocess
import tempfile

import yaml

# What values switch a part of a chart off by.
SWITCH = re.compile(r"""(\b(?:enabled?|create|install|deploy(?:ed)?)\\?["']?: )false\b""")
# A release in any form, or what a template makes one of: 2026.8.2, edge-26.8.2, 26.8.2.
TOKEN = re.compile(r"(?<![\w.])(edge-|20)?26\.(\d+)\.(\d+)(?![\w.])")
# The numbers that are given, from which on.
FIRST = 5000
LINKERD = ("linkerd-crds", "linkerd-control-plane", "linkerd-viz", "linkerd-multicluster")
# Values of Linkerd's charts that name a release.
READ = {
    "linkerd-crds": [],
    "linkerd-control-plane": ["linkerdVersion", "controllerImageVersion", "proxy.image.version", "debugContainer.image.version"],
    "linkerd-viz": ["linkerdVersion", "tap.image.tag"],
    "linkerd-multicluster": ["linkerdVersion"],
}
PROXY = "config.linkerd.io/proxy-version"
# Stands for a chart of Linkerd's that is not in the repository: it says what it is given.
STAND_IN = """apiVersion: stand-in
kind: Given
metadata: {name: NAME}
version: {{ .Chart.Version | quote }}
values: {{ .Values | toJson }}
"""


class HelmFails(Exception):
    """Helm does not render a chart."""


def at(value, path):
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def merged(base, over):
    """Merges values as `helm -f` merges files."""
    out = dict(base)
    for key, value in over.items():
        out[key] = merged(out[key], value) if isinstance(value, dict) and isinstance(out.get(key), dict) else value
    return out


def parsed(text):
    """The documents of a text; none of a template."""
    try:
        return list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        return []


class Texts:
    """The files of a repository, and the releases that they name."""

    def __init__(self, root):
        self.root, self.files = root, {}
        for folder, folders, names in os.walk(root):
            folders[:] = [f for f in folders if f != ".git"]
            for name in names:
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    self.files[os.path.relpath(path, root)] = file.read()
        self.tokens = [(path, found) for path in sorted(self.files) for found in TOKEN.finditer(self.files[path]) if path != "uplinker.yaml"]

    def switched_on(self):
        """The same with all that values switch off, every byte in its place."""
        on = copy.copy(self)
        on.files = {path: SWITCH.sub(r"\1true ", text) for path, text in self.files.items()}
        return on

    def place(self, number):
        path, found = self.tokens[number]
        before = self.files[path][: found.start()]
        return path, before.count("\n") + 1, found.start() - (before.rfind("\n") + 1) + 1, found.group()

    def is_beside(self, number, key):
        path, found = self.tokens[number]
        return self.files[path][: found.start()].rstrip("\\\"' :").endswith(key)

    def is_written_for_proxies(self, number):
        """Whether it stands beside the key of a proxy version, or where a HelmRelease takes the value of that key from, or helmfile sets it.

        Such a release moves with the others, whatever is laid over it.
        """
        if self.is_beside(number, PROXY):
            return True
        path, _ = self.tokens[number]
        of_helmfile = parsed(self.with_numbers([number])["helmfile.yaml"]) if path == "helmfile.yaml" else []
        sets = [g for d in of_helmfile for release in d["releases"] for g in release.get("set", [])]
        if any(g["name"].replace("\\", "").endswith(PROXY) and str(FIRST + number) in str(g["value"]) for g in sets):
            return True
        of_kind = lambda kind, text: [d for d in parsed(text) if isinstance(d, dict) and d.get("kind") == kind]
        values = {d["metadata"]["name"]: d["data"] for d in of_kind("ConfigMap", self.with_numbers([number])[path])}
        releases = [d for text in self.files.values() for d in of_kind("HelmRelease", text)]
        given = [g for d in releases for g in d["spec"].get("valuesFrom", []) if g.get("targetPath", "").replace("\\", "").endswith(PROXY)]
        return any(str(FIRST + number) in values.get(g["name"], {}).get(g.get("valuesKey"), "") for g in given)

    def is_written_for_linkerd(self, number):
        """Whether it stands where charts of Linkerd's that a chart depends on have their version, or their values.

        Such a release moves with the others, whatever is laid over it or switched off: Helm fetches what is switched off too.
        """
        path, found = self.tokens[number]
        if path.endswith(("/Chart.yaml", "/requirements.yaml")):
            return not self.is_beside(number, "appVersion")
        return "/templates/" not in path and any(str(FIRST + number) in said for said in self.linkerd_values(number))

    def linkerd_values(self, number):
        """The texts at the keys of values of Linkerd's charts in what a file holds, also in texts inside of it."""
        path, _ = self.tokens[number]
        todo = parsed(self.with_numbers([number])[path])
        while todo:
            value = todo.pop()
            if isinstance(value, str) and ": " in value:
                todo += [inner for inner in parsed(value) if isinstance(inner, dict)]
            elif isinstance(value, list):
                todo += value
            elif isinstance(value, dict):
                yield from filter(lambda said: isinstance(said, str), (at(value, key) for keys in READ.values() for key in keys))
                todo += value.values()

    def with_numbers(self, numbers):
        """Gives each of these releases a number of its own."""
        changed = dict(self.files)
        for number in sorted(numbers, reverse=True):
            path, found = self.tokens[number]
            text = changed[path]
            changed[path] = text[: found.start(3)] + str(FIRST + number) + text[found.end(3):]
        return changed


class Oracle:
    """Renders what a repository deploys of its charts."""

    def __init__(self, helm, files):
        self.helm, self.files = helm, files
        self.folder = tempfile.mkdtemp()
        for path, text in files.items():
            self.write(path, text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def documents(self, prefix):
        for path, text in self.files.items():
            if path.startswith(prefix):
                yield from ((path, d) for d in yaml.safe_load_all(text) if isinstance(d, dict))

    def all(self):
        """Renders everything: a name for each, and what Helm prints, or how it fails."""
        found = {}
        for name, asked in self.asked():
            try:
                found[name] = self.template(*asked)
            except HelmFails as error:
                found[name] = error
        return found

    def asked(self):
        yield from self.flux()
        yield from self.argo()
        yield from self.helmfile()
        yield from self.alone()

    def alone(self):
        """Each chart with its own values, and with each values file beside them."""
        is_chart = lambda path: path.endswith("/Chart.yaml") and yaml.safe_load(self.files[path]).get("type") != "library"
        charts = [p.removesuffix("/Chart.yaml") for p in self.files if is_chart(p) and "/charts/" not in p.removeprefix("charts/")]
        for chart in sorted(charts):
            yield f"{chart} alone", (chart, [])
            for path in sorted(self.files):
                # A file that nobody refers to is looked at where it names Linkerd, or a release in full.
                if re.fullmatch(re.escape(chart) + r"/values-[\w-]+\.yaml", path) and re.search(r"edge-|\b20\d\d\.|inkerd", self.files[path]):
                    yield f"{chart} with {path}", (chart, ["-f", path])

    def flux(self):
        documents = list(self.documents("clusters/"))
        maps = {d["metadata"]["name"]: d["data"] for _, d in documents if d["kind"] == "ConfigMap"}
        for path, document in documents:
            if document["kind"] != "HelmRelease" or "chart" not in document["spec"]:
                continue
            spec = document["spec"]
            chart = os.path.normpath(spec["chart"]["spec"]["chart"])
            # Flux puts the files that are named in the place of the chart's own values.
            own = None
            for name in spec["chart"]["spec"].get("valuesFiles", []):
                own = merged(own or {}, yaml.safe_load(self.files[os.path.normpath(name)]) or {})
            values = {}
            given = spec.get("values", {})
            for source in spec.get("valuesFrom", []):
                text = maps.get(source["name"], {}).get(source.get("valuesKey", "values.yaml"))
                if text is not None and "targetPath" in source:
                    # Flux merges without copying: what is set in a mapping that `values` alone has is set there (chartutil.ChartValuesFromReferences).
                    values = merged(values, given)
                    inner, *keys = values, *self.keys(source["targetPath"])
                    for key in keys[:-1]:
                        if not isinstance(inner.get(key), dict):
                            inner[key] = {}
                        inner = inner[key]
                    inner[keys[-1]] = text
                elif text is not None:
                    values = merged(values, yaml.safe_load(text) or {})
            values = merged(values, given)
            yield f"{path} {document['metadata']['name']}", (chart, [self.values(values)], own)

    @staticmethod
    def keys(path):
        return [key.replace("\0", ".") for key in path.replace("\\.", "\0").split(".")]

    def argo(self):
        for path, document in self.documents("argocd/"):
            name = document["metadata"]["name"]
            if document["kind"] == "Application":
                yield from self.application(f"{path} {name}", document["spec"])
            elif document["kind"] == "ApplicationSet":
                spec = document["spec"]
                for number, element in enumerate(spec["generators"][0]["list"]["elements"]):
                    yield from self.application(f"{path} {name} {number}", self.filled(spec["template"]["spec"], element))

    def filled(self, value, element):
        """Fills a template of an ApplicationSet, text by text as its controller does."""
        if isinstance(value, dict):
            return {key: self.filled(inner, element) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner, element) for inner in value]
        return re.sub(r"\{\{\.?(\w+)\}\}", lambda found: element[found.group(1)], value) if isinstance(value, str) else value

    def application(self, name, spec):
        for source in spec.get("sources", [spec.get("source")]):
            if "path" not in source:
                continue
            helm, words = source.get("helm", {}), []
            for file in helm.get("valueFiles", []):
                inside = not file.startswith(("$values/", "/"))
                file = os.path.normpath(f"{source['path']}/{file}" if inside else file.removeprefix("$values").lstrip("/"))
                if file in self.files or not helm.get("ignoreMissingValueFiles"):
                    words += ["-f", file]
            if "valuesObject" in helm:
                words.append(self.values(helm["valuesObject"]))
            elif helm.get("values"):
                words.append(self.values(yaml.safe_load(helm["values"])))
            # Argo CD keeps one parameter of a name in a map for each kind of them, the last.
            for kind, forced in (("--set", False), ("--set-string", True)):
                given = {p["name"]: p["value"] for p in helm.get("parameters", []) if p.get("forceString", False) == forced}
                words += [word for key, value in given.items() for word in (kind, f"{key}={value}")]
            for given in helm.get("fileParameters", []):
                words += ["--set-file", f"{given['name']}={source['path']}/{given['path']}"]
            yield name, (source["path"], words)

    def helmfile(self):
        for path, document in self.documents("helmfile.yaml"):
            for release in document["releases"]:
                words = []
                for given in release.get("values", []):
                    words += ["-f", os.path.normpath(given)] if isinstance(given, str) else [self.values(given)]
                for given in release.get("set", []):
                    words += ["--set", f"{given['name']}={given['value']}"]
                yield f"{path} {release['name']}", (os.path.normpath(release["chart"]), words)

    def values(self, values):
        handle, path = tempfile.mkstemp(".yaml", dir=self.folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yaml.safe_dump(values, file)
        return f"--values={path}"

    def template(self, chart, words, own=None):
        folder = tempfile.mkdtemp(dir=self.folder)
        target = os.path.join(folder, "c")
        self.lay_out(os.path.join(self.folder, chart), target)
        if own is not None:
            with open(os.path.join(target, "values.yaml"), "w", encoding="utf-8") as file:
                yaml.safe_dump(own, file)
        words = [self.helm, "template", "r", target, *words]
        clean = {"PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": folder}
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=self.folder, env=clean)
        shutil.rmtree(folder)
        if done.returncode:
            raise HelmFails(done.stderr)
        return done.stdout

    def lay_out(self, folder, target):
        """Copies a chart with what it depends on, as `helm dependency build` does; stand-ins come in the place of Linkerd's.

        Helm does not build what the charts inside depend on: that was done in each of them before.
        """
        shutil.copytree(folder, target, ignore=lambda at, names: ["charts"] if at == folder else [])
        vendored = os.path.join(folder, "charts")
        for name in os.listdir(vendored) if os.path.isdir(vendored) else ():
            self.lay_out(os.path.join(vendored, name), os.path.join(target, "charts", name))
        # Charts of the first version have a file of their own for what they depend on.
        own = os.path.join(target, "requirements.yaml")
        own = own if os.path.exists(own) else os.path.join(target, "Chart.yaml")
        with open(own, encoding="utf-8") as file:
            chart = yaml.safe_load(file)
        for dependency in chart.get("dependencies", []):
            address = dependency.get("repository", "")
            inside = os.path.join(target, "charts", dependency["name"])
            if address.startswith("file://"):
                if not os.path.exists(inside):
                    self.lay_out(os.path.normpath(os.path.join(folder, address.removeprefix("file://"))), inside)
            elif address:
                # It is fetched, switched on or not: what is off today has to fit the others tomorrow.
                dependency.pop("condition", None), dependency.pop("tags", None)
                os.makedirs(os.path.join(inside, "templates"))
                about = {"apiVersion": "v2", "name": dependency["name"], "version": dependency["version"]}
                for name, text in (("Chart.yaml", yaml.safe_dump(about)), ("templates/given.yaml", STAND_IN.replace("NAME", dependency["name"]))):
                    with open(os.path.join(inside, name), "w", encoding="utf-8") as file:
                        file.write(text)
        with open(own, "w", encoding="utf-8") as file:
            yaml.safe_dump(chart, file)


def of_chart(name, version, values):
    """The texts that say of a chart of Linkerd's which release it is."""
    if name not in LINKERD:
        return
    yield version
    yield from (at(values or {}, path) for path in READ[name])
    yield (at(values or {}, "podAnnotations") or {}).get(PROXY)


def values_of(text):
    """The values in a text; of one that Helm refuses nothing is read."""
    try:
        return yaml.safe_load(text or "{}")
    except yaml.YAMLError:
        return {}


def read(document):
    """The texts of an object that are read as releases of Linkerd."""
    kind, spec = document.get("kind"), document.get("spec") or {}
    annotations = (document.get("metadata") or {}).get("annotations") or {}
    if kind == "Given":
        yield from of_chart(document["metadata"]["name"], document["version"], document["values"])
    elif kind == "List":
        for item in document["items"]:
            yield from read(item)
    elif kind == "HelmRelease":
        chart = spec["chart"]["spec"]
        yield from of_chart(chart["chart"], chart.get("version"), spec.get("values"))
    elif kind == "OCIRepository":
        yield from of_chart(spec["url"].rpartition("/")[2], spec["ref"].get("tag"), {})
    elif kind == "Application":
        yield from of_application(spec)
    elif kind == "ApplicationSet":
        for element in spec["generators"][0]["list"]["elements"] or []:
            filled = re.sub(r"\{\{(\w+)\}\}", lambda found: str(element[found.group(1)]), yaml.safe_dump(spec["template"]))
            yield from of_application(yaml.safe_load(filled)["spec"])
    elif kind == "HelmChart":
        yield from of_chart(spec["chart"], spec.get("version"), values_of(spec.get("valuesContent")))
    elif kind == "Namespace":
        yield annotations.get(PROXY)
    elif kind in ("Deployment", "StatefulSet", "DaemonSet", "Job"):
        yield ((spec["template"].get("metadata") or {}).get("annotations") or {}).get(PROXY)
    elif kind == "CronJob":
        yield from read({"kind": "Job", "spec": spec["jobTemplate"]["spec"]})


def of_application(spec):
    for source in [spec["source"]] if "source" in spec else spec["sources"]:
        if "chart" not in source:
            continue
        helm = source.get("helm") or {}
        values = helm.get("valuesObject") or values_of(helm.get("values"))
        for parameter in helm.get("parameters") or []:
            values = merged(values, {parameter["name"]: parameter["value"]})
        yield from of_chart(source["chart"], source.get("targetRevision"), values)


def numbers(text):
    """The numbers of releases that what Helm prints has where a release of Linkerd is read."""
    found = set()
    for document in yaml.safe_load_all(text):
        for said in read(document) if isinstance(document, dict) else ():
            match = TOKEN.search(said) if isinstance(said, str) else None
            if match and int(match.group(3)) >= FIRST:
                found.add(int(match.group(3)) - FIRST)
    return found


def build(helm, files):
    with Oracle(helm, files) as oracle:
        return oracle.all()


def readers(helm, tree):
    """Says which of the releases in a tree are read, and what Helm prints with each of them numbered."""
    printed = build(helm, tree.with_numbers(range(len(tree.tokens))))
    found = set()
    for text in printed.values():
        if not isinstance(text, HelmFails):
            found |= numbers(text)
    return found, printed
