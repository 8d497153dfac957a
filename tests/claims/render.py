"""Renders charts with `helm template`, twice each, so that what a chart makes up by itself shows."""

import concurrent.futures
import hashlib
import json
import os
import subprocess
import tarfile
import tempfile

import yaml

from objects import Difference, read, same_made
from trees import Loader, at, certificates, merged, uses

# Enough for the charts; what it says is no certificate of anybody.
PEM = "-----BEGIN {0}-----\nc3RhbmQtaW4=\n-----END {0}-----\n"
STAND_INS = {"linkerd-control-plane": {
    "identityTrustAnchorsPEM": PEM.format("CERTIFICATE"),
    "identity": {"issuer": {"tls": {"crtPEM": PEM.format("CERTIFICATE"), "keyPEM": PEM.format("EC PRIVATE KEY")}}}}}


class Failed(Exception):
    """Helm, or the package, is why."""


class Helm:
    """The program, and packages in a folder."""

    def __init__(self, program, packages, kubernetes=None, cache=None):
        self.program, self.packages, self.kubernetes, self.cache = program, packages, kubernetes, cache

    def package(self, chart, version):
        path = os.path.join(self.packages, f"{chart}-{version}.tgz")
        if not os.path.exists(path):
            raise Failed(f"no package of {chart} {version}")
        return path

    def inside(self, chart, version, name):
        """Reads one YAML file of a package."""
        with tarfile.open(self.package(chart, version)) as archive:
            return yaml.load(archive.extractfile(f"{chart}/{name}").read().decode(), Loader) or {}

    def digest(self, chart, version):
        with open(self.package(chart, version), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def template(self, use, kubernetes):
        """Renders a use twice; what differs between the two is marked."""
        with tempfile.TemporaryDirectory() as folder:
            command = [self.program, "template", use.name or use.chart, self.package(use.chart, use.version),
                       "--namespace", use.namespace, "--kube-version", kubernetes]
            # What is not given must not come from a stand-in where the user gave something else.
            for n, layer in enumerate([STAND_INS.get(use.chart, {}), *use.layers]):
                path = os.path.join(folder, f"{n}.json")
                with open(path, "w") as file:
                    json.dump(layer, file, default=str)
                command += ["--values", path]
            for path, value, text in use.settings:
                literal = str(value).replace("\\", "\\\\").replace(",", "\\,")
                command += ["--set-string" if text else "--set", f"{path}={literal}"]
            if not use.hooks:
                command.append("--no-hooks")
            texts = [self.run(command, n) for n in range(2)]
        one, other = (read(text) for text in texts)
        return {key: same_made(value, other.get(key)) for key, value in one.items()}

    def run(self, command, turn):
        kept = None
        if self.cache:
            inputs = [open(word).read() if word.endswith(".json") else word for word in command]
            kept = os.path.join(self.cache, hashlib.sha256(json.dumps([inputs, turn]).encode()).hexdigest())
        if kept and os.path.exists(kept):
            return open(kept).read()
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Failed(done.stderr.strip())
        if kept:
            with tempfile.NamedTemporaryFile("w", dir=self.cache, delete=False) as file:
                file.write(done.stdout)
            os.replace(file.name, kept)
        return done.stdout


class Rendering:
    """One deployed chart before and after a change."""

    def __init__(self, place, chart, versions, before, after, committed, values=None, use=None):
        self.place, self.chart, self.versions, self.committed = place, chart, versions, committed
        self.values, self.use = values, use
        self.difference = Difference(before, after, versions)


def deployed(before, after):
    """Pairs the uses of both trees that differ."""
    old = {}
    for use in uses(before):
        old.setdefault(use.identity(), []).append(use)
    for use in uses(after):
        twins = old.get(use.identity())
        if twins:
            earlier = twins.pop(0)
            if earlier.inputs() != use.inputs():
                yield earlier, use


def renderings(before, after, helm):
    """Renders what differs; returns what came out, and what failed with the version that did, and its reason."""
    done, failed = [], []
    def one(pair):
        old, new = pair
        place = f"{new.path}:{new.line}"
        trying, bounds, sides = old, [], []
        try:
            for trying in pair:
                bounds.append(str(helm.inside(trying.chart, trying.version, "Chart.yaml").get("kubeVersion", ">=1.31.0-0")))
            kubernetes = helm.kubernetes or max((b.lstrip(">= ").split("-")[0] for b in bounds), key=version_key)
            for trying in pair:
                sides.append(helm.template(trying, kubernetes))
            return Rendering(place, new.chart, (old.version, new.version), *sides, False,
                             (old.values(), new.values()), new)
        except Failed as error:
            return new, f"{trying.version}: {error}"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for found in pool.map(one, deployed(before, after)):
            (done if isinstance(found, Rendering) else failed).append(found)
    return done, failed


def version_key(version):
    return [int(n) for n in version.split(".") if n.isdigit()]


def committed(before, after, place, chart, versions):
    """Compares what is committed in one file, or in a folder that is one chart's."""
    path = place.rsplit(":", 1)[0]
    return Rendering(place, chart, versions, read(before.files.get(path, "")), read(after.files.get(path, "")), True)


def issuer_is_outside(use, values):
    """Lists what the control plane needs and the tree does not have."""
    if use.chart != "linkerd-control-plane":
        return []
    missing = [] if certificates(values.get("identityTrustAnchorsPEM")) else ["identityTrustAnchorsPEM"]
    own = at(values, "identity.issuer.scheme") in (None, "linkerd.io/tls") and not at(values, "identity.externalCA")
    if own and not at(values, "identity.issuer.tls.crtPEM"):
        missing.append("identity.issuer.tls.crtPEM")
    return missing


__all__ = ["Helm", "Rendering", "Failed", "renderings", "committed", "issuer_is_outside", "merged"]
