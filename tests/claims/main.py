"""Proves the text of every pull request that a plan proposes, figure by figure, by another route than the program's.

It reads the remote with git before and after, the packages with `helm template`, the feeds' files, and certificates with
`openssl`. Nothing of the program is asked. Ends with 1 where a claim is wrong.
"""

import argparse
import datetime
import functools
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import body as bodies
import forms_rest
import people
from objects import CRD, certificates_in, identity, images, shown
from render import Helm, committed, renderings
from trees import Tree, at, uses
from upstream import Feeds, edge


class Certificate:
    """What `openssl` says of a certificate, and where it is."""

    KNOWN = {}

    def __init__(self, pem):
        if pem not in self.KNOWN:
            command = ["openssl", "x509", "-noout", "-subject", "-enddate", "-fingerprint", "-sha256", "-nameopt", "RFC2253"]
            self.KNOWN[pem] = subprocess.run(command, input=pem, capture_output=True, text=True, check=True).stdout
        text = self.KNOWN[pem]
        self.subject = re.search(r"subject=(.*)", text)[1].strip()
        end = datetime.datetime.strptime(re.search(r"notAfter=(.*?) GMT", text)[1], "%b %d %H:%M:%S %Y")
        self.until = str(end.date())
        self.fingerprint = re.search(r"ingerprint=(\S+)", text)[1].replace(":", "").lower()
        self.places, self.stays = set(), True


def first_line(text):
    """The line on which the first object of a manifest begins."""
    return next((n for n, line in enumerate(text.split("\n"), 1) if line.strip() and not line.startswith(("#", "---"))), 1)


class Facts:
    """All that is found out about one proposal."""

    def __init__(self, remote, folder, feeds, helm):
        with open(os.path.join(folder, "pull.json")) as file:
            self.pull = json.load(file)
        with open(os.path.join(folder, "body.md")) as file:
            self.body = file.read()
        self.stage = self.pull["head"].rsplit("/", 1)[-1]
        self.to = re.findall(r"edge-\d+\.\d+\.\d+", self.pull["title"].split("→")[1])[0]
        # Every row of the table is proven against the lines that it names.
        said = re.findall(r"^\| [^|]+ \| `([^`]+)` \| \*\*`", self.body, re.M)
        known = [re.search(r"(?:edge-|20)(\d\d\.\d+\.\d+)$", text) for text in said]
        self.origins = sorted({f"edge-{k[1]}" for k in known if k} - {self.to}, key=edge)
        self.since = self.origins[0] if self.origins else None
        self.feeds, self.helm, self.today = feeds, helm, datetime.date.today()
        self.before = Tree.of_commit(remote, self.pull["base"])
        self.after = Tree.of_commit(remote, self.pull["head"])
        changed = [p for p, text in self.before.files.items() if self.after.files.get(p) != text]
        self.made = {p for p in changed if re.search(r"linkerd.io/created-by|helm.sh/chart", self.before.files[p])}
        rendered = re.compile(r"linkerd\.io/created-by: linkerd/helm|helm\.sh/chart: linkerd-crds-")
        self.manifests = {f"{p}:{first_line(text)}" for p, text in self.before.files.items() if rendered.search(text)}
        self.uses_before, self.uses_after = uses(self.before), uses(self.after)
        self.done, self.failed = renderings(self.before, self.after, helm) if self.stage == "platform" else ([], [])
        moving = {u.identity() for u in [*(r.use for r in self.done), *(u for u, _ in self.failed)]}
        self.moving = [u for u in self.uses_after if u.identity() in moving]
        self.done += [c for c in map(self.committed, sorted(self.made)) if c] if self.stage == "platform" else []
        self.done.sort(key=lambda r: (r.place.rsplit(":", 1)[0], int(r.place.rsplit(":", 1)[1])))

    def committed(self, path):
        """Finds the chart and the versions of what is committed in a file."""
        texts = [tree.files.get(path, "") for tree in (self.before, self.after)]
        versions = []
        for text in texts:
            found = re.search(r"linkerd/helm edge-([\d.]*\d)", text) or re.search(r"linkerd-crds-20([\d.]*\d)", text)
            if not found:
                return None
            versions.append("20" + found[1])
        kinds = {str(k[3]) for k in map(identity, (o for o, p, _ in self.before.objects() if p == path))}
        chart = "linkerd-crds" if "servers.policy.linkerd.io" in kinds else "linkerd-control-plane" if "linkerd-identity" in kinds else "linkerd-viz"
        return committed(self.before, self.after, f"{path}:{first_line(texts[0])}", chart, tuple(versions))

    def versions_of(self, chart):
        """Lists the versions of a chart that the trees name, before and after."""
        of_uses = {u.version for u in self.uses_before + self.uses_after if u.chart == chart}
        return of_uses | {v for r in self.done if r.chart == chart for v in r.versions}

    @functools.cache
    def named(self):
        """Lists the releases that committed manifests name."""
        files = [self.before.files[p.rsplit(":", 1)[0]] for p in self.manifests]
        return {f"edge-{v}" for text in files for v in re.findall(r"(?:linkerd/helm edge-|linkerd-crds-20)([\d.]*\d)", text)}

    @functools.cache
    def known_places(self):
        """Lists where charts are deployed or committed."""
        return {r.place for r in self.done} | {f"{u.path}:{u.line}" for u, _ in self.failed} | self.manifests

    @functools.cache
    def object_places(self):
        """Lists where the objects of committed manifests begin, before and after."""
        found = set()
        for path in {p.rsplit(":", 1)[0] for p in self.manifests}:
            for tree in (self.before, self.after):
                begins = True
                for number, line in enumerate(tree.files.get(path, "").split("\n"), 1):
                    if line.startswith("---"):
                        begins = True
                    elif begins and line.strip() and not line.startswith("#"):
                        found.add(f"{path}:{number}")
                        begins = False
        return found

    @functools.cache
    def rows(self):
        """Groups renderings that change alike, in the order of their places."""
        groups = {}
        for one in self.done:
            groups.setdefault((one.chart, one.committed, one.difference.signature()), []).append(one)
        return [(alike, alike[0].difference) for alike in groups.values()]

    @functools.cache
    def topics(self):
        found = {}
        for one in self.done:
            for topic, (count, objects) in one.difference.topics().items():
                entry = found.setdefault(topic, [0, set()])
                entry[0] += count
                entry[1] |= objects
        return found

    @functools.cache
    def images(self):
        """Tags by image before and after, over all that was rendered, where they differ somewhere."""
        found = {}
        for one in self.done:
            old, new = images(one.difference.before), images(one.difference.after)
            for name in set(old) | set(new):
                if old.get(name) != new.get(name):
                    sides = found.setdefault(name, (set(), set()))
                    sides[0].update(old.get(name, ()))
                    sides[1].update(new.get(name, ()))
        return found

    def goes_along(self, name):
        """Tells whether an image's tag is the release on both sides, everywhere."""
        for one in self.done:
            old, new = (images(side).get(name, set()) for side in (one.difference.before, one.difference.after))
            if old != new and (old, new) != tuple({f"edge-{v.removeprefix('20')}"} for v in one.versions):
                return False
        return True

    def restarts_of(self, one):
        """Yields the workloads of a rendering whose pods are replaced, each with what may be said of it."""
        for workload in one.difference.restarts():
            words, spec = [], workload.get("spec") or {}
            strategy = next((spec[s].get("type") for s in ("strategy", "updateStrategy") if isinstance(spec.get(s), dict)), None)
            if strategy == "OnDelete":
                continue
            if workload["kind"] == "DaemonSet":
                words.append("on every node")
            elif "replicas" in spec:
                words.append(f"{spec['replicas']} replica{'' if spec['replicas'] == 1 else 's'}")
            yield shown(identity(workload)), ", ".join(words + ([strategy] if strategy else []))

    @functools.cache
    def restarts(self):
        """The same by chart and name, over all that was rendered."""
        found = {}
        for one in self.done:
            for name, words in self.restarts_of(one):
                found.setdefault(one.chart, {}).setdefault(name, set()).add(words)
        return found

    @functools.cache
    def certificates(self):
        """Lists the certificates that the repository holds, before or after."""
        found = {}
        for one in self.done:
            if one.committed:
                sides = [[(shown(k), pem) for k, o in s.items() if k[0] != CRD for _, pem in certificates_in(o)]
                         for s in (one.difference.before, one.difference.after)]
            else:
                sides = [list(certificates_in(v)) for v in one.values]
            for place, pem in sides[0] + sides[1]:
                certificate = found.setdefault("".join(pem.split()), Certificate(pem))
                certificate.places.add(place)
                certificate.stays &= ((place, pem) in sides[0]) and ((place, pem) in sides[1])
        return list(found.values())

    @functools.cache
    def generated(self):
        """Counts Secrets in which two renderings of the same input differ."""
        return sum("(made anew at each rendering)" in str(o) for r in self.done if not r.committed
                   for k, o in r.difference.after.items() if k[1] == "Secret")

    @functools.cache
    def passed(self):
        return self.feeds.between(self.since, self.to) if self.since else []

    @functools.cache
    def changes(self):
        return self.feeds.changes(self.since, self.to)

    @functools.cache
    def helm_version(self):
        return subprocess.run([self.helm.program, "version", "--template={{.Version}}"], capture_output=True, text=True).stdout.strip()

    def kube_range(self, version, chart="linkerd-control-plane"):
        for entry in self.feeds.index[chart]:
            if str(entry["version"]) == "20" + version.removeprefix("edge-"):
                return entry.get("kubeVersion")
        known = self.feeds.since("kubernetes", version)
        return known and known["range"]

    def defaults(self, chart, place):
        rendered = [r for r in self.done if r.chart == chart and place and r.place == place] or [r for r in self.done if r.chart == chart]
        versions = rendered[0].versions
        return [self.helm.inside(chart, v, "values.yaml") for v in versions]

    @functools.cache
    def one_way(self):
        """Lists `(CRD, None)` where it goes, and `(CRD, version)` where its new stored version was not known before."""
        found = set()
        for one in self.done:
            old, new = one.difference.before, one.difference.after
            for key in old:
                if key[0] != CRD or key[1] != "CustomResourceDefinition":
                    continue
                if key not in new:
                    flux = one.use and "helm.toolkit.fluxcd.io" in self.after.files.get(one.use.path, "")
                    kept = at(old[key], "metadata.annotations", {}).get("helm.sh/resource-policy") == "keep"
                    found |= set() if flux and kept else {(key[3], None)}
                else:
                    known = {v["name"] for v in old[key]["spec"].get("versions") or []}
                    found |= {(key[3], v["name"]) for v in new[key]["spec"].get("versions") or [] if v.get("storage") and v["name"] not in known}
        return sorted(found, key=str)

    @functools.cache
    def stored(self):
        """Lists `(CRD, new stored version, old one)`."""
        found = set()
        for one in self.done:
            for key in one.difference.changes:
                stored = [[v["name"] for v in side[key]["spec"].get("versions") or [] if v.get("storage")]
                          for side in (one.difference.before, one.difference.after) if key[0] == CRD]
                if stored and stored[0] != stored[1]:
                    found.add((key[3], stored[1][0], stored[0][0]))
        return sorted(found)

    @functools.cache
    def control_planes(self):
        """Lists the control planes' releases before and after."""
        name = lambda version: f"edge-{version.removeprefix('20')}"
        of = lambda u: u.chart == "linkerd-control-plane" and re.fullmatch(r"20\d\d\.\d+\.\d+", u.version)
        before = {u.identity(): u.version for u in self.uses_before if of(u)}
        found = [(name(before[u.identity()]), name(u.version)) for u in self.uses_after if of(u) and u.identity() in before]
        for path, text in self.before.files.items():
            sides = [re.search(r"linkerd\.io/created-by: linkerd/helm (edge-[\d.]*\d)", t) for t in (text, self.after.files.get(path, ""))]
            if all(sides) and re.search(r"kind: Deployment\n(?s:.{0,400}?)name: linkerd-identity\n", text):
                found.append((sides[0][1], sides[1][1]))
        return found

    @functools.cache
    def restart_times(self):
        """Counts in how many places each workload restarts, by chart, name and words."""
        found = {}
        for one in self.done:
            for name, words in self.restarts_of(one):
                found[(one.chart, name, words)] = found.get((one.chart, name, words), 0) + 1
        return found

    @functools.cache
    def unserved(self):
        found = set()
        for one in self.done:
            for key in one.difference.changes:
                if key[0] == CRD:
                    served = [{v["name"] for v in side[key]["spec"].get("versions") or [] if v.get("served")}
                              for side in (one.difference.before, one.difference.after)]
                    found |= {(key[3], v) for v in served[0] - served[1]}
        return found

    @functools.cache
    def proxies(self):
        """Lists the releases that annotations pin proxies to, in what stays in the repository."""
        found = []
        for path, text in self.after.files.items():
            for line in text.split("\n") if path.endswith((".yaml", ".yml", ".json")) else []:
                pin = re.match(r"[^#]*config\.linkerd\.io/proxy-version\"?'?: *[\"']?(edge-[\d.]*\d)", line)
                found += [pin[1]] if pin else []
        return found

    def whole(self, state):
        """Proves what no single line says."""
        told = state.get("statements", {})
        promised = {"Settle before merging": state.get("settle", 0), "Check before merging": state.get("read", 0), **state.get("told", {})}
        for place, said in promised.items():
            if said != told.get(place, 0) and not state.get("cut"):
                yield f"{place}: {said} promised, {told.get(place, 0)} told"
        if len(set(state.get("advised", ()))) != len(state.get("advised", ())):
            yield f"advice is told twice: {state['advised']}"
        if self.stage == "data-plane":
            state["moved"] = sum(old != new for path, text in self.before.files.items()
                                 for old, new in zip(text.split("\n"), self.after.files.get(path, "").split("\n")))
        if "pins" in state and not state.get("cut") and state["pins"] != state.get("moved", 0):
            yield f"{state['pins']} pins move, {state.get('moved', 0)} are listed"
        labels = {"routine": "linkerd: routine", "attention": "linkerd: attention", "blocked": "linkerd: blocked"}
        if self.pull["labels"] != [labels.get(state.get("weight"))]:
            yield f"the labels are {self.pull['labels']}, the text says {state.get('weight')}"
        if (self.pull.get("verify") or {}).get("success", True) != (state.get("weight") != "blocked"):
            yield f"the status is {self.pull['verify']}, the text says {state.get('weight')}"
        if not set(state.get("named", ())) <= state.get("checks", set()):
            yield f"the first line names {state['named']}, told are {sorted(state.get('checks', set()))}"
        if self.stage == "data-plane":
            return
        rows = self.rows()
        told = lambda name, said, true: [f"{name}: told {said!r}, found {true!r}"] if said != true else []
        yield from told("charts", state.get("row", -1) + 1, len(rows))
        rest = [d for _, d in rows[state.get("part", -1) + 1:] if not d.is_version_only()]
        yield from told("parts of the field list that are missing", 0, len(rest))
        yield from told("call-outs", sorted(state.get("callouts", set())), sorted(set(self.topics()) & {"CRD", "RBAC", "webhook", "port", "resource"}))
        yield from told("images", sorted(state.get("images", set())), sorted(self.images()))
        yield from told("charts that restart", sorted(state.get("restarts", set())), sorted(self.restarts()))
        if "unseen" in state:
            yield from told("parts not rendered", state["unseen"], state.get("missing", 0) + state.get("uncovered", 0))
        elif state.get("claimed") and rows and state.get("missing", 0) + state.get("uncovered", 0):
            yield "the first line does not say that some parts were not rendered"
        if not state.get("cut") and state.get("stand-ins"):
            yield f"the stand-ins that are listed are {state['stand-ins']} fewer than those that are counted"
        if not state.get("missing") and self.failed:
            yield f"not rendered, and not told: {[(u.chart, u.path, e[:90]) for u, e in self.failed]}"
        if self.since and edge(self.since) < edge(self.to):
            breaking = {p for c in self.changes().values() for _, _, p in c["breaking"]}
            noticed = {re.sub(r".*#", "", n["source"]) for n in self.feeds.notices(self.since, self.to)}
            if len(breaking - noticed) > state.get("breaking", 0):
                yield from told("breaking changes", state.get("breaking", 0), len(breaking - noticed))
            yield from told("notices", state.get("notices", 0) + state.get("untouched", 0), len(self.feeds.notices(self.since, self.to)))
            yield from told("milestones", state.get("milestones", False), bool(self.feeds.crossed(self.since, self.to)))
        if not state.get("back") and "one-way" not in state:
            yield "nothing is said of the way back"
        yield from self.changed_lines(state)

    def changed_lines(self, state):
        """Every line that changes is a pin that the table lists, but for what is made again as a whole."""
        for path in self.before.files:
            if state.get("cut") or path in self.made or self.before.files[path] == self.after.files.get(path):
                continue
            pairs = zip(self.before.files[path].split("\n"), self.after.files.get(path, "").split("\n"))
            for n, (old, new) in enumerate(pairs, 1):
                if old != new and f"{path}:{n}" not in state.get("places", set()):
                    yield f"{path}:{n} changes and is not listed: {old.strip()!r} → {new.strip()!r}"


def survivors(facts, known):
    """Changes each figure of a text by one and names those whose change no proof notices."""
    text = facts.body.split("<!-- uplinker:v1")[0]
    for figure in re.finditer(r"(?<![&#\w])\d+(?!;)", text):
        changed = f"{text[:figure.start()]}{int(figure[0]) + 1:0{len(figure[0])}}{text[figure.end():]}"
        if len(bodies.check(changed, facts)) <= known:
            line = text.count("\n", 0, figure.start())
            yield f"line {line + 1}: {figure[0]} could be another: {text.splitlines()[line][:200]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--remote", required=True, help="the repository, with the branches that a run pushed")
    parser.add_argument("--proposals", required=True, help="the folder that `--forge directory:` names")
    parser.add_argument("--helm", required=True)
    parser.add_argument("--charts", required=True, help="a folder with packages and their index.yaml")
    parser.add_argument("--releases", help="a file as GitHub answers for releases")
    parser.add_argument("--knowledge", default=os.path.join(os.path.dirname(__file__), "../../data/linkerd.yaml"))
    parser.add_argument("--kubernetes")
    parser.add_argument("--cache")
    parser.add_argument("--mutate", action="store_true", help="change every figure, and expect a proof to notice")
    parser.add_argument("--expect", type=int, help="how many texts there must be")
    flags = parser.parse_args()
    feeds = Feeds(os.path.join(flags.charts, "index.yaml"), flags.releases, flags.knowledge)
    helm = Helm(flags.helm, flags.charts, flags.kubernetes, flags.cache)
    wrong, proven, figures = 0, 0, 0
    for name in sorted(os.listdir(flags.proposals)):
        folder = os.path.join(flags.proposals, name)
        if not os.path.exists(os.path.join(folder, "body.md")):
            continue
        facts = Facts(flags.remote, folder, feeds, helm)
        faults = bodies.check(facts.body, facts)
        wrong, proven = wrong + len(faults), proven + 1
        figures += len(re.findall(r"\d+", facts.body))
        if flags.mutate:
            faults += survivors(facts, len(faults))
            wrong += len(faults)
        for fault in faults:
            print(f"{facts.pull['head']}: {fault}")
    print(f"{proven} texts with {figures} figures: {wrong} claims are wrong or unproven")
    if flags.expect is not None and proven != flags.expect:
        print(f"{flags.expect} texts were expected")
        wrong += 1
    sys.exit(1 if wrong else 0)


assert forms_rest and people
main()
