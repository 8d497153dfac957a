"""Those who deploy a chart of a repository: Flux, Argo CD and helmfile, each with values in the places that it looks in."""
import os

import helm_oracle as oracle

PROXY = "podAnnotations." + oracle.PROXY.replace(".", "\\.")


class Deployers:
    """Deploys charts; a part of what makes a repository."""

    def flux(self, chart):
        rng = self.rng
        documents = [{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "flux-system", "namespace": "flux-system"}, "spec": {"url": "https://git.example.org/x.git"}}]
        spec = {"chart": {"spec": {"chart": f"./{chart.folder}", "sourceRef": {"kind": "GitRepository", "name": "flux-system"}}}}
        if self.lucky(0.4):
            files = rng.sample(self.beside(chart), rng.randint(1, 2))
            if self.lucky(0.6):
                files = [f"{chart.folder}/values.yaml", *files]
            spec["chart"]["spec"]["valuesFiles"] = files
        sources = []
        for number in range(rng.choice([0, 0, 1, 2])):
            name = f"{chart.name}-{number}"
            key = rng.choice(["values.yaml", "some.yaml"])
            source = {"kind": "ConfigMap", "name": name, **({"valuesKey": key} if key != "values.yaml" or self.lucky(0.3) else {})}
            if self.lucky(0.3) and chart.paths:
                path, value = self.one_value(chart)
                source.update({"targetPath": path, "valuesKey": "one"})
                data = {"one": value}
            else:
                data = {key: self.dump(self.values(chart, 0.4))}
            if self.lucky(0.1):
                sources.append({"kind": "ConfigMap", "name": "missing", "optional": True})
            sources.append(source)
            given = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "flux-system"}, "data": data}
            if self.lucky(0.3):
                self.seen.add("flux: values in a file of their own")
                self.write(f"clusters/a/{name}.yaml", self.dump(given))
            else:
                documents.append(given)
        if sources:
            spec["valuesFrom"] = sources
        if self.lucky(0.6):
            spec["values"] = self.values(chart, 0.4)
        if self.lucky(0.3):
            self.seen.add("flux: a Kustomization")
            spec_of_all = {"path": "./clusters/a", "prune": True, "interval": "10m", "sourceRef": {"kind": "GitRepository", "name": "flux-system"}}
            self.write("clusters/a/flux-system/sync.yaml", self.dump({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "flux-system", "namespace": "flux-system"}, "spec": spec_of_all}))
        self.seen.update(f"flux {key}" for key in [*spec, *spec["chart"]["spec"], *(key for source in sources for key in source)])
        documents.insert(rng.randint(0, len(documents)), {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": chart.name, "namespace": "flux-system"}, "spec": spec})
        self.write(f"clusters/a/{chart.name}.yaml", "---\n".join(self.dump(d) for d in documents))

    def argo(self, chart):
        rng, helm = self.rng, {}
        multiple = self.lucky(0.3)
        if self.lucky(0.6):
            files = [os.path.relpath(f, chart.folder) for f in rng.sample(self.beside(chart), rng.randint(1, 2))]
            if self.lucky(0.2):
                files.append("values-missing.yaml")
                helm["ignoreMissingValueFiles"] = True
            path = lambda name: os.path.normpath(f"{chart.folder}/{name}")
            form = "$values/" if multiple else rng.choice(["", "", "/"])
            helm["valueFiles"] = [form + path(f) if form and f != "values-missing.yaml" else f for f in files]
        if self.lucky(0.4):
            helm["values"] = self.dump(self.values(chart, 0.4))
        if self.lucky(0.4):
            helm["valuesObject"] = self.values(chart, 0.4)
        if self.lucky(0.4) and chart.paths:
            helm["parameters"] = [
                {"name": path, "value": value, **({"forceString": self.lucky(0.6)} if self.lucky(0.5) else {})}
                for path, value in (self.one_value(chart) for _ in range(rng.randint(1, 2)))]
        if self.lucky(0.1) and chart.paths:
            self.seen.add("argo: file parameter")
            path, value = self.one_value(chart)
            self.write(f"{chart.folder}/files/{path}.txt", value)
            helm["fileParameters"] = [{"name": path, "path": f"files/{path}.txt"}]
        source = {"repoURL": "https://git.example.org/x.git", "path": chart.folder, "targetRevision": "main", **({"helm": helm} if helm else {})}
        spec = {"project": "default", "destination": {"name": "in-cluster", "namespace": "x"}}
        if multiple:
            spec["sources"] = [source, {"repoURL": "https://git.example.org/x.git", "ref": "values", "targetRevision": "main"}]
        else:
            spec["source"] = source
        self.seen.update(f"argo {key}" for key in [*helm, *spec])
        self.write(f"argocd/{chart.name}.yaml", self.dump({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": f"{chart.name}-root", "namespace": "argocd"}, "spec": spec}))

    def helmfile(self, chart):
        rng, values = self.rng, []
        for _ in range(rng.randint(0, 2)):
            values.append(rng.choice([f"./{rng.choice(self.beside(chart))}", self.values(chart, 0.4) or {"a": 1}]))
        release = {"name": chart.name, "namespace": "x", "chart": f"./{chart.folder}", **({"values": values} if values else {})}
        if self.lucky(0.4) and chart.paths:
            release["set"] = [{"name": path, "value": value} for path, value in (self.one_value(chart) for _ in range(rng.randint(1, 2)))]
        self.seen.update(f"helmfile {key}" for key in release)
        self.write("helmfile.yaml", self.dump({"releases": [release]}))

    def application_set(self, chart):
        """One Application for each element of a list, with values and a file of its own."""
        rng, go = self.rng, self.lucky(0.5)
        word = (lambda key: "{{." + key + "}}") if go else (lambda key: "{{" + key + "}}")
        helm, elements = {}, [{"env": "dev"}, {"env": "prod"}]
        self.beside(chart)
        if self.lucky(0.7):
            helm["valueFiles"] = [f"values-{word('env')}.yaml"]
        if self.lucky(0.7) and chart.paths:
            path, _ = self.one_value(chart)
            for element in elements:
                element["version"] = self.one_value(chart, path)[1]
            if self.lucky(0.6):
                helm["parameters"] = [{"name": path, "value": word("version")}]
            else:
                key, *above = reversed(path.replace("\\.", "\0").split("."))
                text = f"{key.replace(chr(0), '.')}: '{word('version')}'"
                for outer in above:
                    text = f"{outer}: {{{text}}}"
                helm["values"] = text + "\n"
        source = {"repoURL": "https://git.example.org/x.git", "path": chart.folder, "targetRevision": "main", **({"helm": helm} if helm else {})}
        spec = {"project": "default", "destination": {"name": "in-cluster", "namespace": "x"}, "source": source}
        spec = {"generators": [{"list": {"elements": elements}}], "template": {"metadata": {"name": f"{chart.name}-{word('env')}"}, "spec": spec}}
        self.seen.update(f"application set {key}" for key in helm)
        self.write(f"argocd/{chart.name}-set.yaml", self.dump({"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": f"{chart.name}-set", "namespace": "argocd"}, "spec": {**({"goTemplate": True} if go else {}), **spec}}))

    def one_value(self, chart, path=None):
        """The way to a value that the chart reads, as `--set` has it, and a value for it."""
        ways = list(chart.paths) + ([PROXY] if "podAnnotations" in chart.extra else [])
        path = path or self.rng.choice(ways)
        return path, self.release(chart.paths.get(path, "edge"))

    def beside(self, chart):
        """The values files that lie beside a chart's own."""
        if not hasattr(chart, "layers"):
            chart.layers = [f"{chart.folder}/values-{name}.yaml" for name in ("dev", "prod")]
            for path in chart.layers:
                self.write(path, self.dump(self.values(chart, 0.4) or {"a": 1}))
        return chart.layers
