"""Kubernetes objects before and after, compared by structure; written apart from the program on purpose."""

import re

import yaml

from trees import Loader, certificates, documents, flat

MADE = "(made anew at each rendering)"
# Kubernetes' merge keys, by the name of the list.
KEYS = {
    "containers": ("name",), "initContainers": ("name",), "env": ("name",), "volumes": ("name",),
    "imagePullSecrets": ("name",), "secrets": ("name",), "volumeMounts": ("mountPath",), "webhooks": ("name",),
    "versions": ("name",), "additionalPrinterColumns": ("name",), "matchConditions": ("name",),
    "x-kubernetes-validations": ("rule",),
}
SETS = {"verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs", "operations", "apiVersions",
        "shortNames", "categories", "required", "enum", "finalizers"}
ORDERED = {"containers", "initContainers", "env", "additionalPrinterColumns"}
ALIKE = {"rules": ("apiGroups", "resources", "nonResourceURLs"), "subjects": ("kind", "namespace", "name"),
         "tolerations": ("key",), "matchExpressions": ("key", "operator")}
PEM = re.compile(r"-----BEGIN")
RBAC, CRD = "rbac.authorization.k8s.io", "apiextensions.k8s.io"
WEBHOOK = ("admissionregistration.k8s.io", "apiregistration.k8s.io")


def group(one):
    version = str(one["apiVersion"])
    return version.rsplit("/", 1)[0] if "/" in version else ""


def identity(one):
    meta = one.get("metadata") or {}
    return (group(one), one["kind"], meta.get("namespace"), str(meta.get("name")))


def shown(key):
    _, kind, namespace, name = key
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def read(text):
    """Reads manifests into objects by identity."""
    found = {}
    for value, _, _ in documents(text):
        for one in flat(value):
            found[identity(one)] = one
    return found


def same_made(one, other):
    """Replaces what differs between two renderings of the same input."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {k: same_made(v, other.get(k)) for k, v in one.items()}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [same_made(a, b) for a, b in zip(one, other)]
    return one if one == other else MADE


class Change:
    """One field that differs; `path` is a list of keys, items and indices."""

    def __init__(self, path, before, after, missing_before=False, missing_after=False):
        self.path, self.before, self.after = path, before, after
        self.added, self.removed = missing_before, missing_after

    def keys(self):
        return [p for p in self.path if isinstance(p, str) and p != "|"]

    def made(self):
        return MADE in (self.before, self.after)


def compare(before, after, kind, path=(), inside=False):
    """Yields Changes, and paths of lists whose items changed places."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(set(before) | set(after), key=str):
            here = (*path, str(key))
            if key not in before:
                yield Change(here, None, after[key], missing_before=True)
            elif key not in after:
                yield Change(here, before[key], None, missing_after=True)
            else:
                yield from compare(before[key], after[key], kind, here, inside)
    elif isinstance(before, list) and isinstance(after, list):
        yield from lists(before, after, kind, path, inside)
    elif equal(before, after):
        return
    elif kind == "ConfigMap" and len(path) == 2 and path[0] == "data" and not inside:
        one, other = (yaml_in(t) for t in (before, after))
        found = list(compare(one, other, kind, (*path, "|"), True)) if one is not None and other is not None else []
        yield from found or [Change(path, before, after)]
    else:
        yield Change(path, before, after)


def equal(a, b):
    return a == b and (type(a) is type(b) or not (isinstance(a, bool) or isinstance(b, bool)))


def yaml_in(text):
    try:
        value = yaml.load(text, Loader)
    except (yaml.YAMLError, AttributeError):
        return None
    return value if isinstance(value, (dict, list)) else None


def merge_key(items, name, inside, kind):
    if inside or not all(isinstance(i, dict) for i in items):
        return None
    if name == "ports":
        field = "port" if kind == "Service" else "containerPort"
        return [(i.get(field), i.get("protocol", "TCP")) for i in items]
    if name not in KEYS:
        return None
    return [tuple(i.get(k) for k in KEYS[name]) for i in items]


def lists(before, after, kind, path, inside):
    name = next((p for p in reversed(path) if isinstance(p, str)), "")
    old, new = merge_key(before, name, inside, kind), merge_key(after, name, inside, kind)
    fit = lambda keys: keys is not None and len(set(keys)) == len(keys) and all(k[0] is not None for k in keys)
    if fit(old) and fit(new):
        for key in sorted(set(old) | set(new), key=str):
            here = (*path, key)
            if key not in old:
                yield Change(here, None, after[new.index(key)], missing_before=True)
            elif key not in new:
                yield Change(here, before[old.index(key)], None, missing_after=True)
            else:
                yield from compare(before[old.index(key)], after[new.index(key)], kind, here, inside)
        if name in ORDERED and [k for k in old if k in new] != [k for k in new if k in old]:
            yield path
        return
    if name in SETS and not inside and not any(isinstance(i, (dict, list)) for i in before + after):
        for item in before:
            if item not in after:
                yield Change((*path, (item,)), item, None, missing_after=True)
        for item in after:
            if item not in before:
                yield Change((*path, (item,)), None, item, missing_before=True)
        return
    yield from by_content(before, after, kind, path, inside, name)


def by_content(before, after, kind, path, inside, name):
    """Takes equal items away, first at the same place; what is left is paired in order where that comes out even."""
    old, new, moved = list(enumerate(before)), list(enumerate(after)), []
    for same_place in (True, False):
        if same_place and len(before) != len(after):
            continue
        for n in list(new):
            hit = next((o for o in old if equal(o[1], n[1]) and (o[0] == n[0] or not same_place)), None)
            if hit:
                old.remove(hit)
                new.remove(n)
                moved.append((hit[0], n[0]))
    pairs = []
    for n in list(new) if name in ALIKE and not inside else []:
        mark = lambda v: [v.get(k) for k in ALIKE[name]] if isinstance(v, dict) else v
        hit = next((o for o in old if mark(o[1]) == mark(n[1])), None)
        if hit:
            old.remove(hit)
            new.remove(n)
            pairs.append((hit, n))
    if len(old) == len(new):
        pairs += zip(old, new)
        old = new = []
    for o, n in pairs:
        yield from compare(o[1], n[1], kind, (*path, n[0]), inside)
    for at, item in old:
        yield Change((*path, at), item, None, missing_after=True)
    for at, item in new:
        yield Change((*path, at), None, item, missing_before=True)
    if name not in ALIKE and name not in SETS and sorted(moved) != sorted(moved, key=lambda m: m[1]):
        yield path


class Difference:
    """What differs between two sets of objects of one chart."""

    def __init__(self, before, after, versions):
        self.before, self.after = before, after
        self.added = sorted(set(after) - set(before), key=str)
        self.removed = sorted(set(before) - set(after), key=str)
        self.changes, self.reordered = {}, {}
        for key in set(before) & set(after):
            found = list(compare(before[key], after[key], key[1]))
            fields = [c for c in found if isinstance(c, Change) and not c.made() and not clock(key, c)]
            orders = [p for p in found if isinstance(p, tuple)]
            if fields or orders:
                self.changes[key], self.reordered[key] = fields, orders
        self.versions = versions

    def version_only(self, change):
        if change.added or change.removed:
            return False
        if change.keys()[-2:] == ["annotations", "checksum/config"]:
            return True
        if not (isinstance(change.before, str) and isinstance(change.after, str)):
            return False
        (old, new), blank = self.versions, "\0"
        for chart_version, side in ((old, 0), (new, 1)):
            edge = "edge-" + chart_version.removeprefix("20")
            for word in (edge, chart_version):
                pattern = rf"(?<!\d){re.escape(word)}(?!\d)"
                if side == 0:
                    before = re.sub(pattern, blank, change.before if word == edge else before)
                else:
                    after = re.sub(pattern, blank, change.after if word == edge else after)
        return before == after

    def beyond(self):
        """Yields every field that says more than the release, with its object."""
        for key, fields in self.changes.items():
            for change in fields:
                if not self.version_only(change):
                    yield key, change

    def is_version_only(self):
        return not (self.added or self.removed or any(self.reordered.values()) or any(True for _ in self.beyond()))

    def fields(self):
        return sum(len(f) for f in self.changes.values())

    def signature(self):
        """What two renderings that change alike have in common."""
        fields = sorted((shown(k), str(c.path), str(c.before), str(c.after)) for k, c in self.beyond())
        orders = sorted((shown(k), str(o)) for k, o in self.reordered.items() if o)
        return (len(self.after), len(self.changes), self.fields(), self.versions, tuple(self.added), tuple(self.removed),
                str(fields), str(orders))

    def restarts(self):
        """Returns the workloads whose pod template differs, as they will be."""
        found = []
        for key in self.changes:
            pods = any(c.keys()[:2] == ["spec", "template"] for c in self.changes[key])
            pods = pods or any(tuple(p[:2]) == ("spec", "template") for p in self.reordered[key])
            if pods and key[0] == "apps" and key[1] in ("Deployment", "DaemonSet", "StatefulSet"):
                found.append(self.after[key])
        return found

    def topics(self):
        """Counts what is called out: fields by topic, and the objects."""
        found = {}
        def file(topic, count, text):
            entry = found.setdefault(topic, [0, set()])
            entry[0] += count
            entry[1].add(text)
        for key, change in self.beyond():
            for topic in topics_of(key, change):
                file(topic, 1, shown(key))
        for key, orders in self.reordered.items():
            for path in orders:
                for topic in topics_of(key, Change(path, None, None)):
                    file(topic, 1, shown(key))
        for keys, sign, side in ((self.added, "+", self.after), (self.removed, "-", self.before)):
            for key in keys:
                for topic in topics_of(key, Change((), side[key], None)):
                    file(topic, 0, sign + shown(key))
        return found


def clock(key, change):
    return key[1] == "CronJob" and change.keys() == ["spec", "schedule"]


def topics_of(key, change):
    if key[0] == RBAC:
        return ["RBAC"]
    if key[0] == CRD:
        return ["CRD"]
    if key[0] in WEBHOOK:
        return ["webhook"]
    keys, port = change.keys(), lambda k: k in ("port", "ports", "containerPorts") or k.endswith("Port")
    if keys[:1] == ["spec"]:
        if keys[-1] == "image":
            return []
        if "resources" in keys:
            return ["resource"]
        if "ports" in keys:
            return ["port"]
    found = set()
    if keys and port(keys[-1]) and "|" not in change.path:
        found.add("port")
    for value in (change.before, change.after):
        inner = set(keys_in(value))
        found |= {"port"} if any(map(port, inner)) else set()
        found |= {"resource"} if "resources" in inner else set()
    return sorted(found)


def keys_in(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from keys_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_in(inner)


def images(objects):
    """Returns tags by image of every container."""
    found = {}
    def walk(value):
        if isinstance(value, dict):
            for name in ("containers", "initContainers"):
                for container in value.get(name) or []:
                    if isinstance(container, dict) and "image" in container:
                        image = str(container["image"])
                        name_only, digest = (image.split("@", 1) + [""])[:2]
                        head, _, tail = name_only.rpartition("/")
                        base, _, tag = tail.partition(":")
                        full = f"{head}/{base}" if head else base
                        found.setdefault(full, set()).add(digest or tag or "latest")
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
    for key, one in objects.items():
        if key[0] != CRD:
            walk(one)
    return found


def certificates_in(value, path=()):
    """Yields the certificates in a value by the dotted path of the text that holds them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from certificates_in(inner, (*path, str(key)))
    elif isinstance(value, list):
        for inner in value:
            yield from certificates_in(inner, path)
    else:
        for pem in certificates(value):
            yield ".".join(path), pem
