"""What the checks found, proven one by one. A check that is not here fails, so that none goes unproven."""

import datetime
import re

from body import codes, expect
from objects import compare, shown
from trees import at

PROOFS = {}
# What these say is of a chart, at its place.
OF_CHARTS = ("defaults-changed", "values-unknown", "immutable-fields", "not-rendered", "crd-removal", "crd-stored-version",
             "rbac-growth", "webhook-failure-policy", "prune")
NUMBER = re.compile(r"\d")
# Advice that names no figure of its own needs no proof.
NAMES = re.compile(r"`[^`]*`|https?://\S+|edge-[\d.]+|linkerd2#\d+|v\d\w*|[\w.-]*\d[\w.-]*\.(?:io|dev|yaml)")


def proof(name):
    def register(function):
        PROOFS[name] = function
        return function
    return register


def prove(facts, check, place, reason):
    if check not in PROOFS:
        yield f"no proof is known of the check {check}"
        return
    if check in OF_CHARTS and place and place not in facts.known_places() | facts.object_places():
        yield f"no chart is at {place}"
    yield from PROOFS[check](facts, place, re.sub(r" \(also at .+\)$", "", reason)) or ()
    for other in re.findall(r"\(also at (.+)\)$", reason):
        yield from expect("unknown places", [o for o in other.split(", ") if o not in facts.known_places()], [])
    for chart, version in re.findall(r"(linkerd[\w-]*) (20\d\d\.\d+\.\d+)", reason):
        manifest = any(p.startswith(f"{place}") for p in facts.manifests) and f"edge-{version[2:]}" in (*facts.origins, facts.to, *facts.named())
        if version not in facts.versions_of(chart) and not manifest:
            yield f"{chart} {version} is nowhere"


def prove_hint(facts, text):
    """Advice may only name figures that are in the trees, the feeds or the charts."""
    for version in re.findall(r"edge-[\d.]*\d", text):
        if version not in (facts.to, *facts.origins) and version not in str(facts.feeds.knowledge):
            yield f"{version} has no part in this"
    for address in re.findall(r"<(https?://[^>]+)>", text):
        if address not in str(facts.feeds.knowledge):
            yield f"nothing names {address}"
    for figure in re.findall(r"\d[\w.-]*\d|\d", NAMES.sub(" ", text)):
        known = any(figure in content for tree in (facts.before, facts.after) for content in tree.files.values())
        if not known and figure not in str(facts.feeds.knowledge) and figure.removeprefix("20") not in facts.to and not any(figure in v for v in (facts.to, facts.since or "")):
            yield f"no proof is known of the figure {figure}"


def under(facts, place):
    """The renderings of a place."""
    return [r for r in facts.done if r.place == place] or [r for r in facts.done if place and r.place.rsplit(":", 1)[0] == place.rsplit(":", 1)[0]]


@proof("kube-version")
def kube_version(facts, place, reason):
    found = re.fullmatch(r"(edge-[\d.]+) needs Kubernetes (\S+); (edge-[\d.]+)(?: or older)? needed (\S+)", reason)
    if not found:
        found = re.fullmatch(r"([\w-]+) of (edge-[\d.]+) needs Kubernetes (\S+), and this target runs (\S+)", reason)
        if not found:
            yield "no proof is known of this"
            return
        yield from expect("range", found[3], facts.kube_range(found[2], found[1]))
        return
    yield from expect("ranges", (found[2], found[4]), (facts.kube_range(found[1]), facts.kube_range(found[3])))
    yield from expect("releases", (found[1], found[3]), (facts.to, facts.since))
    if place and place not in facts.manifests and "20" + facts.to.removeprefix("edge-") not in (facts.after.line(place) or ""):
        yield f"{place} is {facts.after.line(place)!r}"


@proof("gateway-api")
def gateway_api(facts, place, reason):
    new, old = (facts.feeds.since("gatewayApi", v) for v in (facts.to, facts.since))
    true = f"{facts.to} supports the Gateway API CRDs {new['from']} to {new['to']}"
    true += f"; {facts.since} supported {old['from']} to {old['to']}" if old else ""
    yield from expect("ranges", reason.replace(" or older", ""), true)


@proof("chart-digest")
def chart_digest(facts, place, reason):
    used = {(r.chart, v) for r in facts.done for v in r.versions}
    named = {(e["name"], str(e["version"])): e.get("digest") for entries in facts.feeds.index.values() for e in entries}
    alike = {pair for pair in used if named.get(pair) == facts.helm.digest(*pair)}
    if found := re.fullmatch(r"(\d+) chart packages? (?:has|have) the digest that the index names", reason):
        yield from expect("packages", int(found[1]), len(alike))
    else:
        yield "no proof is known of this"


@proof("stale-comment")
def stale_comment(facts, place, reason):
    found = re.fullmatch(r"the old release is in the comments? of (\d+) changed lines?: (.+?)(?: and (\d+) more)?", reason)
    places = found[2].split(", ")
    yield from expect("lines", int(found[1]), len(places) + int(found[3] or 0))
    for one in places:
        comment = (facts.after.line(one) or "").partition("#")[2]
        if not any(v.removeprefix("edge-") in comment for v in facts.origins):
            yield f"{one} has no old release in its comment: {comment!r}"


@proof("stale-generator")
def stale_generator(facts, place, reason):
    found = re.fullmatch(r"this line names (\S+); the next run of it would bring that back", reason)
    if found[1] not in (facts.after.line(place) or ""):
        yield f"{place} is {facts.after.line(place)!r}"
    yield from expect("an old release", f"edge-{found[1].removeprefix('edge-').removeprefix('20')}" in facts.origins, True)


@proof("version-agreement")
def version_agreement(facts, place, reason):
    text = codes(reason)[0] if codes(reason) else ""
    if text not in (facts.before.line(place) or "") or facts.before.line(place) != facts.after.line(place):
        yield f"{place} is {facts.before.line(place)!r}, then {facts.after.line(place)!r}"
    if "is a range" in reason and re.fullmatch(r"[v=]?\d+\.\d+\.\d+", text):
        yield "this is no range"
    for version in re.findall(r"edge-[\d.]*\d", reason.replace(f"`{text}`", "")):
        yield from expect("release", version in (facts.to, *facts.origins), True)


@proof("order")
def order(facts, place, reason):
    found = re.fullmatch(r"`([^`]+)` does not (?:itself )?wait for `([^`]+)`, which brings its CRDs", reason)
    if not found:
        found = re.search(r"`([^`]+)`.*`([^`]+)`.*", reason)
        waves = [int(n) for n in re.findall(r"wave (-?\d+)", reason)]
        own = {u.step[1] for u in facts.uses_after if u.step}
        yield from expect("waves", [w for w in waves if w not in own], [])
        return
    moving = {f"{u.path}:{u.line}" for u in facts.moving}
    path = place.rsplit(":", 1)[0]
    if not any(p.startswith(path + ":") for p in moving):
        yield "what is there does not change"
    waits = [u.step[0] for u in facts.uses_after if u.path == path and u.step and u.step_name == found[1]]
    if any(found[2] in [w.split("/")[-1] for w in (ws or [])] for ws in waits):
        yield "it does"


@proof("certificate-expiry")
def certificate_expiry(facts, place, reason):
    everything = facts.certificates()
    roles = re.findall(r"(the trust anchor|the identity issuer|the webhooks' certificates?) until ([\d-]+)", reason)
    words = {"the trust anchor": r"trust|TrustAnchor|anchor", "the identity issuer": r"issuer", "the webhooks": r"k8s-tls|webhook|APIService|caBundle|crtPEM"}
    for role, day in roles:
        pattern = next(p for r, p in words.items() if role.startswith(r))
        own = [c for c in everything if any(re.search(pattern, p) for p in c.places)]
        yield from expect(role, day, min((c.until for c in own), default=None))
        if not all(c.stays for c in own):
            yield f"{role} does not stay"
    if not roles:
        found = re.search(r"(\d{4}-\d\d-\d\d)", reason)
        if not found:
            yield "no proof is known of this"
            return
        yield from expect("a certificate until then", found[1] in {c.until for c in everything}, True)
        if days := re.search(r"in (\d+) days", reason):
            left = (datetime.date.fromisoformat(found[1]) - facts.today).days
            if abs(left - int(days[1])) > 1:
                yield f"that is in {left} days"


@proof("defaults-changed")
def defaults_changed(facts, place, reason):
    if found := re.match(r"([\w-]+) (\d[\w.]+): the default of `(.+?)` goes from (.+) to (.+)", reason):
        sides = facts.defaults(found[1], place)
        same = [c for c in compare(*sides, "") if not isinstance(c, tuple) and dotted(c) == found[3]]
        if not same:
            yield f"that default does not change; these do: {sorted(dotted(c) for c in compare(*sides, '') if not isinstance(c, tuple))[:10]}"
        elif "…" not in reason:
            loose = lambda v: re.sub(r"\\n|[\s\"]", "", str(v).lower())
            yield from expect("values", (loose(found[4]), loose(found[5])), (loose(same[0].before), loose(same[0].after)))
        users = [at(r.values[1], found[3]) for r in under(facts, place) if not r.committed and r.chart == found[1]]
        if users and all(u is not None for u in users):
            yield "the user sets it"
    elif found := re.match(r"([\w-]+) (\d[\w.]+) (no longer has|has) (\d+) (?:new )?values?: (.+)", reason):
        old, new = facts.defaults(found[1], place)
        names = codes(found[5])
        more = re.search(r" and (\d+) more", found[5])
        yield from expect("values", int(found[4]), len(names) + (int(more[1]) if more else 0))
        here, there = (old, new) if found[3].startswith("no") else (new, old)
        for name in names:
            if "…" not in name and (reach(here, name) is None or reach(there, name) is not None):
                yield f"{name}: {reach(old, name)!r} before, {reach(new, name)!r} after"
    elif not re.match(r"(\d+) defaults? more of .+ change that you have not set", reason):
        yield "no proof is known of this"


def dotted(change):
    return ".".join(str(p) for p in change.path)


def reach(values, path):
    """Looks a dotted path up whose keys may hold dots; a value that is null is there."""
    if path == "":
        return values if values is not None else "null"
    if not isinstance(values, dict):
        return None
    path = path.replace('"', "")
    for key in values:
        if path == key or path.startswith(f"{key}."):
            found = reach(values[key], path[len(key) + 1:])
            if found is not None:
                return found
    return None


@proof("values-unknown")
def values_unknown(facts, place, reason):
    found = re.match(r"`(.+?)` is a value that ([\w-]+) (\S+) (no longer knows|does not know), so it has no effect", reason)
    if not found:
        yield from values_unknown_as_before(facts, place, reason)
        return
    rendered = [r for r in under(facts, place) if r.chart == found[2]]
    if not any(r.committed or reach(r.values[1], found[1]) is not None for r in rendered):
        yield "nobody sets it"
    old, new = facts.defaults(found[2], place)
    if reach(new, found[1]) is not None:
        yield "the chart has it"
    yield from expect("whether it knew it", found[4] == "no longer knows", reach(old, found[1]) is not None)


def values_unknown_as_before(facts, place, reason):
    """What the chart did not know before the change either."""
    found = re.match(r"(.+?)(?: and (\d+) more)? (?:is a value|are values) that ([\w-]+) (\S+) does not know, nor did (\S+): (?:it has|they have) no effect", reason)
    if not found:
        if not re.match(r"\d+ values? more of", reason):
            yield "no proof is known of this"
        return
    if found[5] not in facts.versions_of(found[3]) or found[5] == found[4]:
        yield f"{found[3]} {found[5]} is nowhere"
    rendered = [r for r in under(facts, place) if r.chart == found[3]]
    old, new = facts.defaults(found[3], place)
    for name in re.findall(r"`([^`]+)`", re.sub(r" \(did you mean `[^`]+`\?\)", "", found[1])):
        if not any(r.committed or reach(r.values[1], name) is not None for r in rendered):
            yield f"nobody sets {name}"
        if reach(new, name) is not None or reach(old, name) is not None:
            yield f"the chart has {name}"


@proof("crd-stored-version")
def crd_stored_version(facts, place, reason):
    if found := re.match(r"(\S+) stores objects as (\S+) instead of (\S+);", reason):
        yield from expect("stored versions", tuple(found.groups()) in facts.stored(), True)
    elif found := re.match(r"(\S+) (?:drops|no longer serves) (\S+?)[,;]", reason):
        yield from expect("dropped", (found[1], found[2]) in facts.unserved(), True)
    else:
        yield "no proof is known of this"


@proof("crd-removal")
def crd_removal(facts, place, reason):
    if left := re.match(r"(\d+) CustomResourceDefinitions? of [\w-]+ \S+ leaves? the chart \((.+?)\); ", reason):
        gone = {k[3] for r in under(facts, place) for k in r.difference.removed if k[1] == "CustomResourceDefinition"}
        names = left[2].split(", ")
        yield from expect("how many", int(left[1]), len(names))
        yield from expect("definitions that stay", set(names) - gone, set())
        return
    found = re.match(r"(\d+) CustomResourceDefinitions? of ([\w-]+) (\S+) .*?every (.+?) in the cluster", reason)
    if not found:
        yield "no proof is known of this"
        return
    gone = {(r.difference.before[k]["spec"]["names"]["kind"], r.difference.before[k]["spec"]["group"])
            for r in under(facts, place) for k in r.difference.removed if k[1] == "CustomResourceDefinition"}
    yield from expect("how many", int(found[1]), len(gone))
    for kind, of_group in re.findall(r"([A-Z]\w+)(?: \(([\w.]+)\))?", found[4]):
        if not any(kind == k and of_group in ("", g) for k, g in gone):
            yield f"{kind} {of_group} stays"


@proof("rbac-growth")
def rbac_growth(facts, place, reason):
    found = re.match(r"(\w+ \S+|whoever is bound to (?:\w+) \S+) gains in (.+?): (.+)", reason)
    if not found:
        yield "no proof is known of this"
        return
    # Whatever is gained stands in a rule that is new or other.
    changed = " ".join(str(c.after) for r in under(facts, place) for k, c in r.difference.beyond() if k[0].startswith("rbac"))
    changed += " ".join(str(r.difference.after[k]) for r in under(facts, place) for k in r.difference.added if k[0].startswith("rbac"))
    whole = " ".join(str(r.difference.after[k]) for r in under(facts, place) for k in r.difference.changes if k[0].startswith("rbac"))
    for gain in re.sub(r" \(among it .+\)|; and \d+ more", "", found[3]).split("; "):
        words = re.findall(r"[\w./*-]+", gain.replace(" named ", " "))
        missing = [w for w in words if w not in changed and w not in whole]
        yield from expect(f"{gain}: words that are in no rule", missing, [])


@proof("webhook-failure-policy")
def webhook_failure_policy(facts, place, reason):
    policies = lambda side: {(k[3], w.get("name")): w.get("failurePolicy") for r in facts.done
                             for k, o in getattr(r.difference, side).items() if k[1].endswith("WebhookConfiguration")
                             for w in o.get("webhooks") or []}
    old, new = policies("before"), policies("after")
    names = [n for pair in new for n in pair if n and n in reason]
    changed = [pair for pair in new if old.get(pair) != new[pair]]
    yield from expect("a webhook whose policy differs", any(set(pair) & set(names) for pair in changed), True)


@proof("immutable-fields")
def immutable_fields(facts, place, reason):
    paths = {shown(k) for r in facts.done for k, fields in r.difference.changes.items() for c in fields
             if set(c.keys()) & {"selector", "matchLabels", "roleRef", "volumeClaimTemplates", "clusterIP", "scope", "serviceName", "podManagementPolicy", "template"}}
    yield from expect("an object", any(p in reason or p.split("/")[-1] in reason for p in paths), True)


@proof("not-rendered")
def not_rendered(facts, place, reason):
    if any(r.place == place and place not in [f"{u.path}:{u.line}" for u, _ in facts.failed] for r in facts.done):
        yield "this renders"


@proof("skew")
def skew(facts, place, reason):
    for version in re.findall(r"edge-[\d.]*\d", reason):
        if version not in (facts.to, *facts.origins) and not any(version in t for t in facts.before.files.values()):
            yield f"{version} is nowhere"


@proof("values-stale-override")
def values_stale_override(facts, place, reason):
    if codes(reason) and codes(reason)[0] not in (facts.before.line(place) or ""):
        yield f"{place} is {facts.before.line(place)!r}"
    for text in codes(reason)[1:]:
        if not any(text.split(".")[-1] in content for content in facts.after.files.values()):
            yield f"{text} is nowhere"


@proof("guidance")
def guidance(facts, place, reason):
    for version in re.findall(r"edge-[\d.]*\d", reason)[:1]:
        if version not in facts.passed():
            yield f"{version} is not on the way"


@proof("required-hop")
def required_hop(facts, place, reason):
    hops = facts.feeds.knowledge["hops"]
    for version in re.findall(r"edge-[\d.]*\d", reason):
        if version not in (facts.to, *facts.origins) and version not in str(hops):
            yield f"{version} is in no hop"


@proof("private-key")
def private_key(facts, place, reason):
    # A chart with its version is proven for every check.
    if NUMBER.search(NAMES.sub("", re.sub(r"linkerd[\w-]* 20\d\d\.\d+\.\d+", "", reason))):
        yield "no proof is known of the figure"


@proof("prune")
def prune(facts, place, reason):
    gone = [shown(k) for r in under(facts, place) for k in r.difference.removed]
    if found := re.match(r"(\d+) objects? vanish(?:es)? from the manifest: ", reason):
        yield from expect("objects", int(found[1]), len(gone))
        named = re.findall(r"[A-Z]\w+ [\w./-]+(?=[,;])", reason[found.end():])
        yield from expect("unknown ones", sorted(set(named) - set(gone)), [])
    elif NUMBER.search(NAMES.sub("", reason)):
        yield "no proof is known of the figure"


for other in ("skipped", "rivals", "mirror-unverified", "minimal-diff", "parses"):
    PROOFS[other] = private_key
