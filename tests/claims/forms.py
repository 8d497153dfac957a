"""The forms of the lines of a body, and how each is proven."""

import json
import re

from body import codes, expect, form
from objects import CRD, KEYS, Change, identity, shown
from render import issuer_is_outside
from statements import prove, prove_mend
from trees import at
from upstream import edge
import people

CLUSTER, FIELDS, CERTIFICATES = "What changes in the cluster", "Field by field", "Certificates"
HOW, STAYS, UPSTREAM = "How this was rendered", "What stays as it is", "What changed upstream"
ORDER, WORKLOADS, KNOWING, DEFAULTS = "Order and way back", "Which workloads restart", "Worth knowing", "Defaults and values"
WHERE = "Where"
CHECKS = ("Settle before merging", "Check before merging")
RELEASES = ("releases", "release")


def count(text):
    return int(text or 0)


# === the head ===

@form(r"\*\*(Blocked|Attention): (\d+) things? to (?:settle|check) before merging \((.+?)\)(?:, (\d+) more to check \((.+?)\))?\.\*\* In all: (.+)\.", "head")
def weighed(facts, m, state):
    blocked = m[1] == "Blocked"
    state["settle"], state["read"] = (count(m[2]), count(m[4])) if blocked else (0, count(m[2]))
    state["named"] = m[3].split(", ") + (m[5].split(", ") if m[5] else [])
    state["weight"] = "blocked" if blocked else "attention"
    yield from claim(facts, m[6], state)


@form(r"\*\*(Routine|Not rendered): (.+)\.\*\*(?: No check found anything to settle\.)?", "head")
def routine(facts, m, state):
    state["settle"] = state["read"] = 0
    state["weight"] = "routine" if m[1] == "Routine" else "attention"
    yield from expect("whether charts were rendered", m[1] == "Routine", bool(facts.done) or facts.stage == "data-plane")
    yield from claim(facts, m[2], state)


def claim(facts, text, state):
    if facts.stage == "data-plane":
        yield from people.claim(facts, text)
        return
    state["claimed"] = True
    if text == "no chart was rendered, so what changes in the cluster is not known":
        yield from expect("charts that were rendered", 0, len(facts.done))
        return
    there = {t for t in ("CRD", "RBAC", "webhook", "port") if t in facts.topics()}
    rows = [d for _, d in facts.rows()]
    total = lambda of: sum(map(of, rows))
    beyond = total(lambda d: sum(1 for _ in d.beyond()))
    added, removed = total(lambda d: len(d.added)), total(lambda d: len(d.removed))
    moved = total(lambda d: sum(map(len, d.reordered.values())))
    restarts = sum(facts.restart_times().values())
    due = {"fields": beyond, "added": added, "removed": removed, "restarts": restarts}
    said, topics = dict.fromkeys(due, 0), set()
    for part in text.split("; "):
        words = set(re.findall(r"CRD|RBAC|webhook|port", part))
        figure = int(re.match(r"\d*", part)[0] or 0)
        if found := re.fullmatch(r"nothing but version strings changes in (\d+) objects? of (\d+) charts?", part):
            topics |= {"CRD", "RBAC", "webhook", "port"}
            yield from expect("objects, charts", tuple(map(int, found.groups())), (total(lambda d: len(d.changes)), len(rows)))
            yield from expect("other changes", 0, beyond + added + removed + moved)
        elif part.endswith(" changes") and part.startswith("no "):
            topics |= words
            yield from expect(part, sorted(words & there), [])
        elif re.fullmatch(r"(?:(?:CRD|RBAC|webhook|port)(?:, | and )?)+ changes", part):
            topics |= words
            yield from expect(part, sorted(words), sorted(there))
        elif re.fullmatch(r"\d+ fields? changes? beyond version strings", part):
            said["fields"] = figure
        elif re.fullmatch(r"(?:nothing|\d+ objects?) (?:is|are) removed", part):
            said["removed"] = figure
        elif re.fullmatch(r"\d+ objects? (?:is|are) added", part):
            said["added"] = figure
        elif re.fullmatch(r"nothing restarts|\d+ workloads? restarts?", part):
            said["restarts"] = figure
        elif found := re.fullmatch(r"(\d+) parts? (?:was|were) not rendered, and this says nothing of (?:it|them)", part):
            state["unseen"] = int(found[1])
        else:
            yield f"no proof is known of: {part}"
    yield from expect("figures", said, due)
    yield from expect("topics that are spoken of", sorted(topics), ["CRD", "RBAC", "port", "webhook"])


@form(r"(\d+) pins? moves? from (.+?) to `([^`]+)`(?:, (up to )?(\d+) releases later)?(?:, published on ([\d-]+))?\.(?: (Both|All) are of milestone `([^`]+)`\.)?", "head")
def pins(facts, m, state):
    state["pins"] = count(m[1])
    more = re.search(r" and (\d+) more$", m[2])
    yield from expect("releases that are left", len(codes(m[2])) + (int(more[1]) if more else 0), len(facts.origins))
    yield from expect("releases that are left", sorted(set(codes(m[2])) - set(facts.origins)), [])
    yield from expect("release", m[3], facts.to)
    yield from expect("date", m[6], facts.feeds.dates.get(facts.to) if facts.feeds.read else m[6])
    if facts.since:
        passed = facts.feeds.between(facts.since, facts.to)
        yield from expect("releases", count(m[5]) or 1, max(1, len(passed)))
        if m[5]:
            yield from expect("up to", bool(m[4]), len(facts.origins) > 1)
        same = facts.feeds.milestone(facts.since) == facts.feeds.milestone(facts.to)
        yield from expect("milestone", m[8], facts.feeds.milestone(facts.to) if same else None)
        yield from expect("both or all", m[7], None if not same else "All" if len(facts.origins) > 1 else "Both")


@form(r"This is a step on the way to `([^`]+)`, which cannot be reached at once: (.+)|This is a step on the way to `([^`]+)`\.", "head")
def hop(facts, m, state):
    hops = [h for h in facts.feeds.knowledge["hops"] if edge(facts.since) < edge(h["below"]) and edge(m[1] or m[3]) >= edge(h["reaching"])]
    yield from expect("a hop through this release", any(facts.to in h["via"] for h in hops), True)
    if m[2]:
        yield from expect("its reason is known", any(squash(h["note"]) in squash(m[2]) or h["why"] in m[2] for h in hops), True)


def squash(text):
    return re.sub(r"[\s`]+", " ", str(text)).strip()


@form(r"\| what \| now \| after \|", "head")
def head_of_rows(facts, m, state):
    return ()


@form(r"\| (.+?) \| (`.+?`) \| (computed again|\*\*`.+?`\*\*) \|", "head")
def row(facts, m, state):
    new = None if m[3] == "computed again" else codes(m[3])[0]
    state.setdefault("rows", []).append((m[1], codes(m[2])[0], new))
    if facts.stage == "data-plane":
        yield from expect("releases", (codes(m[2])[0] in facts.origins, new), (True, facts.to))


@form(r"summary: Where: (\d+) lines?", WHERE)
def summary_of_places(facts, m, state):
    yield from expect("lines", int(m[1]), state["pins"])


@form(r"- (.+?): (`.+)", WHERE)
def places(facts, m, state):
    nth = state["nth"] = state.get("nth", -1) + 1
    what, old, new = state["rows"][nth]
    yield from expect("what", m[1], what)
    found = codes(m[2])
    more = re.search(r" and (\d+) more$", m[2])
    state["moved"] = state.get("moved", 0) + len(found) + (int(more[1]) if more else 0)
    state.setdefault("places", set()).update(found)
    state["cut"] = state.get("cut") or bool(more)
    for place in found:
        path = place.rsplit(":", 1)[0]
        line = facts.before.line(place) or ""
        bare = old.removesuffix("…")
        if bare not in line and "20" + bare.removeprefix("edge-") not in line:
            yield f"{place} has no {old} before: {line.strip()!r}"
        if new and path in facts.made:
            text = facts.after.files.get(path, "")
            if new not in text and "20" + new.removeprefix("edge-") not in text:
                yield f"{path} has no {new} afterwards"
        elif new and line.replace(old, new) != facts.after.line(place):
            yield f"{place} is {(facts.after.line(place) or '').strip()!r} afterwards"
        elif not new and line == facts.after.line(place):
            yield f"{place} does not change"


@form(r"(\d+) more rows are left out here\.", "head")
def cut_rows(facts, m, state):
    state["cut"] = True
    return ()


# === what was found ===

@form(r"- \*\*([\w-]+)\*\*(?: at `([^`]+)`)?: (.+)", *CHECKS, KNOWING, DEFAULTS, ORDER)
def statement(facts, m, state):
    counts = state.setdefault("statements", {})
    counts[state["place"]] = counts.get(state["place"], 0) + 1
    state.setdefault("checks", set()).add(m[1])
    yield from prove(facts, m[1], m[2], m[3])


@form(r"  - (.+)", *CHECKS, KNOWING, DEFAULTS, ORDER)
def mend(facts, m, state):
    yield from prove_mend(facts, m[1])


@form(r"summary: (Worth knowing|Defaults and values): (\d+)", KNOWING, DEFAULTS)
def summary_of_statements(facts, m, state):
    state.setdefault("told", {})[m[1]] = int(m[2])
    return ()


# === what changes in the cluster ===

@form(r"\| chart \| objects \| differ \|", CLUSTER)
def head_of_charts(facts, m, state):
    return ()


@form(r"\| `([^`]+)`(?: in (\d+) places| at `([^`]+)`)? \| (\d+) \| (none|(?:(\d+) changed: (?:only version strings|(.+?) beyond version strings))?(?:(?:; )?(\d+) added)?(?:(?:; )?(\d+) removed)?) \|", CLUSTER)
def chart(facts, m, state):
    at = state["row"] = state.get("row", -1) + 1
    rows = facts.rows()
    if at >= len(rows):
        yield "no such chart changes"
        return
    alike, d = rows[at]
    said = (m[1], count(m[2]) or 1, *(count(m[n]) for n in (4, 6, 8, 9)))
    true = (alike[0].chart, len(alike), len(d.after), len(d.changes), len(d.added), len(d.removed))
    yield from expect("chart, places, objects, changed, added, removed", said, true)
    if m[3]:
        yield from expect("place", m[3], alike[0].place)
    text = m[7] or ""
    beyond = sum(1 for _ in d.beyond())
    orders = sum(len(o) for o in d.reordered.values())
    fields = re.search(r"(\d+) fields?", text)
    lists = re.search(r"(\d+) lists? in another order", text)
    yield from expect("fields beyond the version", int(fields[1]) if fields else 0, beyond)
    yield from expect("lists in another order", int(lists[1]) if lists else 0, orders)
    kinds = {topic: n for topic, (n, _) in d.topics().items() if n}
    image = sum(1 for k, c in d.beyond() if c.keys()[-1:] == ["image"] and c.keys()[:1] == ["spec"] and k[0] != CRD)
    kinds |= {"image": image} if image else {}
    named = {word: int(n) for n, word in re.findall(r"(\d+) (image|RBAC|CRD|webhook|resource|port)\b", text)}
    yield from expect("fields by topic", named, kinds)


@form(r"- \*\*(CRD|RBAC|webhook|port|resource)\*\*: (?:(\d+) fields? in )?(.+)", CLUSTER)
def callout(facts, m, state):
    state.setdefault("callouts", set()).add(m[1])
    fields, objects = facts.topics().get(m[1], [0, set()])
    yield from expect("fields", count(m[2]), fields)
    signs = {"(added)": "+", "(removed)": "-"}
    said = [signs.get(sign, "") + name for name, sign in re.findall(r"`([^`]+)`(?: (\((?:added|removed)\)))?", m[3])]
    yield from listed(said, objects, m[3])


def listed(said, true, text):
    more = re.search(r" and (\d+) more$", text)
    if more:
        yield from expect("objects", len(said) + int(more[1]), len(true))
        yield from expect("unknown objects", sorted(set(said) - set(true)), [])
    else:
        yield from expect("objects", sorted(said), sorted(true))


@form(r"- \*\*image\*\* `([^`]+)`: (.+) → (.+)", CLUSTER)
def image(facts, m, state):
    state.setdefault("images", set()).add(m[1])
    old, new = facts.images().get(m[1], (None, None))
    side = lambda text: set() if text in ("new", "gone") else set(codes(text))
    yield from expect("tags", (side(m[2]), side(m[3])), (old, new))


@form(r"- (\d+) images? goe?s? along with the release: (.+)", CLUSTER)
def along(facts, m, state):
    said = codes(m[2])
    state.setdefault("images", set()).update(said)
    more = re.search(r" and (\d+) more$", m[2])
    yield from expect("images", int(m[1]), len(set(said)) + (int(more[1]) if more else 0))
    for name in said:
        old, new = facts.images().get(name, (None, None))
        if old is None:
            yield f"{name} does not change"
        elif not facts.goes_along(name):
            yield f"{name} does not only go along: {old} → {new}"


@form(r"These restart, since their pod template changes:|Not rendered, so not compared:", CLUSTER)
def introduction(facts, m, state):
    return ()


@form(r"No Deployment, DaemonSet or StatefulSet of (?:this chart|these charts) restarts\.", CLUSTER)
def no_restart(facts, m, state):
    yield from expect("restarts", {}, facts.restarts())


@form(r"- ((?:`[^`]+` at `[^`]+`(?:, )?)+): (.+)", CLUSTER)
def not_rendered(facts, m, state):
    for chart, place in re.findall(r"`([^`]+)` at `([^`]+)`", m[1]):
        state["missing"] = state.get("missing", 0) + 1
        tried = [f"{use.path}:{use.line}" for use, _ in facts.failed if use.chart == chart]
        made = place in facts.manifests
        if place not in tried and not made:
            yield f"{place} renders"
        known = [error for use, error in facts.failed if use.chart == chart] + [place, *facts.versions_of(chart)]
        known += [url for entry in facts.feeds.index.get(chart, []) for url in entry["urls"] if str(entry["version"]) in m[2]]
        figures = re.findall(r"\d(?:[\w.:]*\w)?", m[2])
        yield from expect("unknown figures", [f for f in figures if not any(f in text for text in known)] if not made else [], [])


@form(r"- `([^`]+)`: (`.+)", CLUSTER)
def restarts(facts, m, state):
    state.setdefault("restarts", set()).add(m[1])
    true = facts.restarts().get(m[1], {})
    said = {}
    for name, words, times in re.findall(r"`([^`]+)`(?: \(([^)]*)\))?(?: in (\d+) places)?", m[2]):
        said.setdefault(name, []).append(words)
        if name in true and words not in true[name]:
            yield f"{name}: the body says {words!r}, found is {sorted(true[name])!r}"
        yield from expect(f"places of {name}", int(times or 1), facts.restart_times().get((m[1], name, words), 0))
    yield from listed(list(said), set(true), m[2])


@form(r"Field by field: (\d+) fields? of (\d+) objects? differ, each only by the version\.", CLUSTER)
def sums_of_version(facts, m, state):
    state["part"] = len(facts.rows()) - 1
    rows = [d for _, d in facts.rows()]
    yield from expect("fields, objects", (int(m[1]), int(m[2])), (sum(d.fields() for d in rows), sum(len(d.changes) for d in rows)))
    yield from expect("other changes", 0, sum(1 for d in rows for _ in d.beyond()) + sum(len(d.added) + len(d.removed) for d in rows))


@form(r"summary: Field by field: (\d+) objects?, (\d+) fields? \((\d+) only the version\)(.*)", FIELDS)
def sums(facts, m, state):
    rows = [d for _, d in facts.rows()]
    objects = sum(len(d.changes) + len(d.added) + len(d.removed) for d in rows)
    fields = sum(d.fields() for d in rows)
    beyond = sum(1 for d in rows for _ in d.beyond())
    yield from expect("objects, fields, only the version", tuple(map(int, m.groups()[:3])), (objects, fields, fields - beyond))


@form(r"\*\*([\w-]+)\*\* `([^`]+)` → `([^`]+)` at (.+)", FIELDS)
def fields_of(facts, m, state):
    rows = facts.rows()
    while (at := state.setdefault("part", -1) + 1) < len(rows) - 1 and rows[at][1].is_version_only():
        state["part"] = at
    at = state["part"] = state["part"] + 1
    alike, d = rows[at]
    state["difference"] = d
    yield from expect("chart", (m[1], m[2], m[3]), (alike[0].chart, *d.versions))
    yield from expect("whether it is only the version", False, d.is_version_only())
    yield from listed(codes(m[4]), [r.place for r in alike], m[4])


@form(r"- (added|removed): (.+)", FIELDS)
def sides(facts, m, state):
    d = state["difference"]
    yield from listed(codes(m[2]), [shown(k) for k in (d.added if m[1] == "added" else d.removed)], m[2])


@form(r"- `([^`]+)`(?:, and (\d+) fields? only with the version)?", FIELDS)
def changed(facts, m, state):
    d = state["difference"]
    key = next((k for k in d.changes if shown(k) == m[1]), None)
    state["object"] = key
    if key is None:
        yield "this object does not change"
        return
    yield from expect("fields only with the version", count(m[2]), sum(map(d.version_only, d.changes[key])))


@form(r"  - (`.+?`|\S.*?): (?:added ([`\"{\[].*|\S+)|removed ([`\"{\[].*|\S+)|(.+) → (.+))", FIELDS)
def field(facts, m, state):
    d, key = state["difference"], state["object"]
    path = (codes(m[1]) or [m[1]])[0]
    beyond = [c for c in d.changes.get(key, []) if not d.version_only(c)]
    same = [c for c in beyond if spelled(c, key[1]) == path]
    if not same:
        yield f"no such field of {shown(key)} changes; these do: {sorted(spelled(c, key[1]) for c in beyond)[:12]}"
        return
    old, new = m[3] or m[4], m[2] or m[5]
    for said, what, gone in ((old, lambda c: c.before, "added"), (new, lambda c: c.after, "removed")):
        if said is None:
            yield from expect(gone, [True], sorted({getattr(c, gone) for c in same}))
        elif not any(is_shown(codes(said)[0] if codes(said) else said, what(c)) for c in same):
            yield f"the value is {[what(c) for c in same]!r:.300}"


def spelled(change, kind):
    """Writes a path as the body does."""
    text, name = "", ""
    for part in change.path:
        if part == "|":
            text += " | "
        elif isinstance(part, str):
            plain = re.fullmatch(r"[\w-]+", part)
            dot = "" if not text or text.endswith(" | ") else "."
            text += dot + part if plain else f'["{part}"]'
            name = part
        elif isinstance(part, int):
            text += f"[{part}]"
        elif len(part) == 1 and name not in KEYS:
            text += f"[{part[0]}]"
        elif name == "ports":
            fields = ("port", "protocol") if kind == "Service" else ("containerPort", "protocol")
            text += "[" + ",".join(f"{k}={v}" for k, v in zip(fields, part)) + "]"
        else:
            text += "[" + ",".join(f"{k}={v}" for k, v in zip(KEYS.get(name, ("name",)), part)) + "]"
    return text


def is_shown(text, value):
    if "…" in text or "masked" in text or "hidden" in text or "bytes" in text:
        return True
    whole = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), sort_keys=True)
    loose = lambda t: re.sub(r"\s+", "", t)
    try:
        return json.loads(text) == value
    except ValueError:
        return loose(text) == loose(whole) or loose(text) == loose(str(value))


@form(r"  - (`.+?`): its items are in another order", FIELDS)
def reordered(facts, m, state):
    d, key = state["difference"], state["object"]
    true = [spelled(Change(p, None, None), key[1]) for p in d.reordered.get(key, [])]
    if codes(m[1])[0] not in true:
        yield f"lists in another order: {true}"


@form(r"(?:(?:  )?- )?(\d+) more (?:fields|objects|charts|lists in another order), left out here\.?", FIELDS)
def cut_fields(facts, m, state):
    return ()


# === certificates ===

@form(r"summary: Certificates: (.+?)(?:; (\d+) made by Helm in the cluster)?", CERTIFICATES)
def certificates(facts, m, state):
    kept = facts.certificates()
    made = facts.generated()
    state["made"] = made
    yield from expect("made by Helm", count(m[2]), made)
    if found := re.search(r"(\d+) places? with another one", m[1]):
        state["replaced"] = int(found[1])
    elif found := re.fullmatch(r"(\d+) compared, (?:retained, expires|all retained, the first expires) on ([\d-]+)", m[1]):
        yield from expect("certificates", int(found[1]), len(kept))
        yield from expect("the first to expire", found[2], min((c.until for c in kept), default=None))
        yield from expect("all stay", True, all(c.stays for c in kept))
    else:
        yield from expect("words", m[1], "none to compare")
        yield from expect("certificates", 0, len(kept))


@form(r"- retained: (.+) until ([\d-]+) \(`(\w+)`\), in `([^`]+)`", CERTIFICATES)
def retained(facts, m, state):
    same = [c for c in facts.certificates() if c.fingerprint.startswith(m[3])]
    if not same:
        yield f"no such certificate; there are {[c.fingerprint[:16] for c in facts.certificates()]}"
        return
    yield from expect("subject, until", (m[1], m[2]), (same[0].subject, same[0].until))
    if m[4] not in same[0].places:
        yield f"it is in {sorted(same[0].places)}"
    if not same[0].stays:
        yield "it does not stay"


@form(r"- (\d+) more are retained\.", CERTIFICATES)
def more_retained(facts, m, state):
    return ()


@form(r"- (\d+) Secrets? gets? a certificate that Helm makes anew in the cluster at each upgrade; those are not compared\.", CERTIFICATES)
def made_anew(facts, m, state):
    yield from expect("Secrets", int(m[1]), facts.generated())


@form(r"- (\d+) values? with (?:a certificate comes|certificates come) from outside this repository; what is there was not seen\.", CERTIFICATES)
def outside(facts, m, state):
    true = sum(len(issuer_is_outside(r.use, r.values[1])) for r in facts.done if not r.committed)
    yield from expect("values", int(m[1]), true)


@form(r"Not among the charts above, so their effect is not shown: (.+)\.", CLUSTER)
def uncovered(facts, m, state):
    state["uncovered"] = len(codes(m[1]))
    for place in codes(m[1]):
        if place not in state["places"]:
            yield f"{place} does not move"


# === how this was rendered ===

@form(r"summary: How this was rendered(?:: Helm (\S+?))?(?:, (\d+) values? with a stand-in)?", HOW)
def helm(facts, m, state):
    state["stand-ins"] = count(m[2])
    if m[1]:
        yield from expect("Helm", m[1], facts.helm_version())


@form(r"- from outside the repository, rendered with a stand-in: `([^`]+)`", HOW)
def stand_in(facts, m, state):
    state["stand-ins"] = state.get("stand-ins", 0) - 1
    path = m[1].split(" ")[0]
    if any(at(u.values(), path) for u in facts.uses_after if u.chart == "linkerd-control-plane") and all(
            at(u.values(), path) for u in facts.uses_after if u.chart == "linkerd-control-plane"):
        yield f"every deployment has {path}"


@form(r"- `([^`]+)` as (committed|the cluster renders it) at (.+)", HOW)
def how(facts, m, state):
    true = [r.place for r in facts.done if r.chart == m[1] and r.committed == (m[2] == "committed")]
    yield from expect("unknown places", [p for p in codes(m[3]) if p not in true], [])


@form(r"- (\d+) chart packages? (?:has|have) the digest that the index names", HOW)
def packages(facts, m, state):
    yield from prove(facts, "chart-digest", None, m[0].removeprefix("- "))


@form(r"- For Kubernetes ([\d.]+), the oldest that the charts accept; `kubernetes` of the target may name another\.", HOW)
def kubernetes(facts, m, state):
    bounds = {str(e.get("kubeVersion", "")).lstrip(">= ").split("-")[0] for r in facts.done for v in r.versions
              for e in facts.feeds.index.get(r.chart, []) if str(e["version"]) == v}
    yield from expect("an oldest that is accepted", m[1] in bounds, True)


@form(r"- (?:Helm was not needed for what is compared\.|As (\S+) has it\.|For the Helm release `([^`]+)`\.|kustomize changes the output afterwards \(`\w+`\), which is not done here\.|Rendered with the values of (?:.+)\.)", HOW)
def note(facts, m, state):
    if m[1] and m[1] not in facts.after.files:
        yield "there is no such file"
    if m[2] and not any(u.name == m[2] for u in facts.uses_after):
        yield "there is no such release"


# === upstream ===

@form(r"Release notes, dates and advice on GitHub were not read \(.+\)\.", UPSTREAM)
def unread(facts, m, state):
    yield from expect("whether they were read", False, facts.feeds.read)


@form(r"(?:No notes are known of these releases\.|(\d+) of (\d+) releases have no notes that were read\.)", UPSTREAM)
def without(facts, m, state):
    passed = facts.passed()
    none = sum(not facts.feeds.notes.get(v) for v in passed)
    yield from expect("without notes", (count(m[1]), count(m[2])) if m[1] else (len(passed),) * 2, (none, len(passed)))


@form(r"Milestones? that begins? on the way: (.+)\.", UPSTREAM)
def milestones(facts, m, state):
    true = [f"{x['name']} with {x['first']}" for x in facts.feeds.crossed(facts.since, facts.to)]
    state["milestones"] = True
    yield from expect("milestones", m[1].split(", "), true)


@form(r"- \*\*(breaking|one-way|requirement|default)\*\* \(`([^`]+)`\): (.+) \((.+?)\)", UPSTREAM)
def notice(facts, m, state):
    state["notices"] = state.get("notices", 0) + 1
    known = [n for n in facts.feeds.notices(facts.since, facts.to) if n["release"] == m[2] and n["kind"] == m[1]]
    known = [n for n in known if squash(m[3]).startswith(squash(n["text"]))]
    if not known:
        yield "no such notice between these releases"
        return
    rest = squash(m[3])[len(squash(known[0]["text"])):].strip()
    yield from expect("source", re.sub(r"[<>]", "", m[4]), known[0]["source"])
    if here := re.fullmatch(r"Here: (.+)\.", rest):
        yield from evidence(facts, here[1], known[0])
    elif known[0].get("condition"):
        yield from expect("condition", rest, f"It matters {known[0]['condition']}; whether that is so here cannot be told.")


def evidence(facts, text, known):
    if text == "this concerns every installation":
        yield from expect("a condition", known.get("condition"), None)
    elif found := re.fullmatch(r"([\w-]+) at (\S+)", text):
        path = found[2].rsplit(":", 1)[0]
        if path not in facts.before.files or found[1] not in facts.before.files[path]:
            yield f"{found[2]} has no {found[1]}"
    elif found := re.fullmatch(r"(\w+) in (.+?)(?: and (\d+) more)?", text):
        groups = [k.rsplit("/", 1)[0] for k in known["touches"]["kinds"] if k.endswith("/" + found[1])]
        there = {path for one, path, _ in facts.before.objects()
                 if one["kind"] == found[1] and str(one["apiVersion"]).split("/")[0] in groups}
        named = set(found[2].split(", "))
        yield from expect("files", (len(named) + count(found[3]), sorted(named - there)), (len(there), []))
    elif found := re.fullmatch(r"([\w.]+) is (not )?set at (\S+)", text):
        values = [at(r.values[1], found[1]) for r in facts.done if r.place == found[3] and not r.committed]
        yield from expect("set", {found[2] is None}, {value is not None for value in values[:1]})
    elif found := re.fullmatch(r"([\w-]+) makes (\S+)", text):
        names = {k[3] for r in facts.done if r.chart == found[1] for k in r.difference.before}
        yield from expect("made", found[2] in names, True)
    else:
        yield f"no proof is known of: {text}"


@form(r"(\d+) known changes? of these releases concerns? nothing that this repository has\.", UPSTREAM)
def untouched(facts, m, state):
    state["untouched"] = int(m[1])
    return ()


@form(r"Marked as breaking in the release notes:", UPSTREAM)
def breaking_ones(facts, m, state):
    return ()


@form(r"- `(edge-[\d.]+)`: (.+?)(?: \(linkerd2#(\d+)\))?", UPSTREAM)
def breaking(facts, m, state):
    state["breaking"] = state.get("breaking", 0) + 1
    yield from entry(facts, m[1], m[2], m[3], "breaking")


@form(r"- (.+?)(?: \(linkerd2#(\d+)\))?", *RELEASES)
def item(facts, m, state):
    state["items"] = state.get("items", 0) + 1
    yield from entry(facts, state["release"], m[1], m[2], "other")


def entry(facts, version, text, pull, sort):
    known = facts.changes()[version][sort]
    words = lambda scope, title: squash(f"{scope}: {title}" if scope else title).replace("\\", "")
    if (squash(text), pull) not in [(words(s, t), p) for s, t, p in known]:
        yield f"{version} has {known}"


@form(r"- Linkerd (recommends|advises against|adds a caution to) `([^`]+)`(.*)", UPSTREAM)
def advice(facts, m, state):
    state.setdefault("advised", []).append(m[2])
    words = {"recommends": "recommended", "advises against": "not-recommended", "adds a caution to": "caution"}
    known = [g for g in facts.feeds.knowledge["guidance"] if g["release"] == m[2]]
    notes = (facts.feeds.notes.get(m[2]) or "").lower()
    if m[2] not in facts.passed():
        yield "this release is not on the way"
    if known and "recommend" not in notes:
        yield from expect("verdict", words[m[1]], known[0]["verdict"])
        for address in re.findall(r"<([^>]+)>", m[3]):
            yield from expect("source", address, known[0]["source"])
    elif not re.search(r"recommend|caution|status", notes):
        yield "its notes say nothing"


@form(r"Linkerd has published no advice on (?:this release|these (\d+) releases), for or against\.", UPSTREAM)
def no_advice(facts, m, state):
    yield from expect("releases", count(m[1]) or 1, len(facts.passed()))
    yield from expect("releases whose notes were not read", [], [v for v in facts.passed() if facts.feeds.notes.get(v) is None])
    said = [v for v in facts.passed() if re.search(r"recommended|status:", facts.feeds.notes.get(v) or "", re.I)]
    yield from expect("advised", [], said)


@form(r"summary: (\d+) releases?: (?:(\d+) features?, fix(?:es)? (?:and|or) other changes?|no other change)(?:, (\d+) dependency bumps?)?(?:, (\d+) of upkeep)?", *RELEASES)
def releases(facts, m, state):
    passed, changes = facts.passed(), facts.changes()
    total = lambda sort: sum(len(c[sort]) for c in changes.values())
    yield from expect("releases, others, dependencies, upkeep", tuple(count(m[n]) for n in range(1, 5)),
                      (len(passed), total("other"), total("dependency"), total("upkeep")))
    state["on the way"] = iter(passed)


@form(r"\*\*\[(edge-[\d.]+)\]\(https://github\.com/linkerd/linkerd2/releases/tag/(edge-[\d.]+)\)\*\*(?:, (\d{4}-\d\d-\d\d))?(?:, (\d+) dependency bumps?)?(?:, (\d+) of upkeep)?(, no notes read)?", *RELEASES)
def release(facts, m, state):
    state["release"] = m[1]
    changes = facts.changes().get(m[1], {"dependency": [], "upkeep": []})
    yield from expect("release", (m[1], m[2]), (next(state["on the way"], None),) * 2)
    yield from expect("date", m[3], facts.feeds.dates.get(m[1]))
    if len(facts.passed()) > 1:
        yield from expect("dependencies, upkeep", (count(m[4]), count(m[5])), (len(changes["dependency"]), len(changes["upkeep"])))
        yield from expect("notes", not m[6], facts.feeds.notes.get(m[1]) is not None)


@form(r"Releases?: (.+?)(?: and (\d+) more)?\.", UPSTREAM)
def bare_releases(facts, m, state):
    said = re.findall(r"\[(edge-[\d.]+)\]\(https://github\.com/linkerd/linkerd2/releases/tag/(edge-[\d.]+)\)(?: \(([\d-]+)\))?", m[1])
    yield from expect("releases", len(said) + count(m[2]), len(facts.passed()))
    for name, tag, day in said:
        yield from expect("tag, date", (tag, day or None), (name, facts.feeds.dates.get(name)))
    yield from expect("other changes", 0, sum(len(c[k]) for c in facts.changes().values() for k in ("other", "dependency", "upkeep")))


# === what happens next ===

@form(r"(\d+)\. `([^`]+)`(?: as `([^`]+)`)?(?:, sync wave (-?\d+))?(?:, waits for (nothing|`.+?)|, with no order of its own)?(?: \((\d+) places\))?", ORDER)
def step(facts, m, state):
    steps = state.setdefault("steps", [])
    yield from expect("number", int(m[1]), len(steps) + 1)
    name = m[3] or m[2]
    own = [u for u in facts.uses_after + facts.uses_before if u.chart == m[2] and u.step and u.step_name == name]
    if not own:
        yield f"nothing deploys {m[2]} as {name}"
        return
    yield from expect("places", count(m[6]) or 1, len({(u.path, u.line) for u in own if u in (facts.moving or own)}) or 1)
    waits, wave = next((u for u in own if u in facts.moving), own[0]).step
    said = None if m[5] is None else [] if m[5] == "nothing" else codes(m[5])
    if m[1] != "1" or waits:
        yield from expect("waits for", said, waits)
    yield from expect("wave", int(m[4]) if m[4] else None, wave)
    for earlier, _, earlier_waits, earlier_wave in steps:
        if name in [w.split("/")[-1] for w in earlier_waits or []]:
            yield f"{earlier} waits for it and stands before it"
        if (earlier_wave or 0) > (wave or 0):
            yield f"{earlier} has a later wave and stands before it"
    steps.append((name, m[2], waits, wave))


@form(r"The repository says nothing of the order in which these are applied; CRDs come first, then the control plane, then extensions\.|The order lacks something: see what to check above\.|(\d+) more are left out here\.", ORDER)
def no_order(facts, m, state):
    if m[0].startswith("The repository"):
        moving = {r.chart for r in facts.done}
        yield from expect("orders", [], [u.step_name for u in facts.uses_after if u.step and u.chart in moving and any(u.step)])


@form(r"With `OnDelete` these keep their pods until somebody deletes them: (.+)\.", CLUSTER)
def on_delete(facts, m, state):
    true = {shown(identity(w)) for r in facts.done for w in r.difference.restarts() if at(w, "spec.updateStrategy.type") == "OnDelete"}
    yield from listed(codes(m[1]), true, m[1])


@form(r"Proxies of `([^`]+)` keep running until their pods restart(?:; (\d+) proxy pins? (?:is|are) not moved here)?\.(?: They are of milestone `([^`]+)`(.+)| How long .+)", ORDER)
def skew(facts, m, state):
    pins = facts.proxies()
    yield from expect("proxy pins", count(m[2]), sum(edge(p) < edge(facts.to) for p in pins))
    planes = facts.control_planes()
    oldest = min([*pins, *(old for old, _ in planes)], key=edge)
    yield from expect("the oldest", m[1], oldest)
    if m[3]:
        yield from expect("milestone", m[3], facts.feeds.milestone(oldest))
        names = [x["name"] for x in sorted(facts.feeds.knowledge["milestones"], key=lambda x: edge(x["first"]))]
        newest = max((new for _, new in planes), key=edge)
        ours, theirs = names.index(facts.feeds.milestone(newest)), names.index(m[3])
        true = {0: " like the control plane, and supported through the next milestone.",
                1: f", one behind the control plane's `{names[ours]}`: supported until the milestone after `{names[ours]}` begins."}
        yield from expect("skew", m[4], true.get(ours - theirs, f", {ours - theirs} behind the control plane's `{names[ours]}`: Linkerd supports one."))


@form(r"To go back, revert the merge and decline what is then proposed for `([^`]+)`(: no CRD that was rendered stores its objects in a version that the release before does not know\.|\. Whether a CRD stores its objects in another version is not known: the CRDs were not rendered\.|\. linkerd-crds does not move\.)", ORDER)
def back(facts, m, state):
    state["back"] = True
    yield from expect("release", m[1], facts.to)
    yield from expect("what going back does not undo", [], facts.one_way())
    crds = any(r.chart == "linkerd-crds" for r in facts.done)
    yield from expect("CRDs were rendered", m[2].startswith(": no CRD"), crds)
    if m[2].endswith("does not move."):
        yield from expect("CRDs that move", [], [u.chart for u in facts.moving if u.chart == "linkerd-crds"])


@form(r"\*\*Going back does not undo everything:\*\*", ORDER)
def no_way_back(facts, m, state):
    state["one-way"] = 0
    return ()


@form(r"- (?!\[)(.+)", ORDER)
def one_way(facts, m, state):
    state["one-way"] = state.get("one-way", 0) + 1
    if found := re.fullmatch(r"`([^`]+)` (is removed: objects that are deleted with it do not come back|stores objects as (\S+), which the release before does not know)", m[1]):
        yield from expect("this", (found[1], found[3]) in facts.one_way(), True)
    else:
        texts = [squash(n["text"]) for n in facts.feeds.notices(facts.since, facts.to) if n["kind"] == "one-way"]
        yield from expect("a notice", any(squash(m[1]).startswith(t) for t in texts), True)


# === the end ===

@form(r"- ([^`:]+): (`.+)", STAYS)
def stays(facts, m, state):
    for place, text in re.findall(r"`([^`]+:\d+)` \(`([^`]*)`\)", m[2]):
        line = facts.before.line(place) or ""
        if text not in (line if line.strip().startswith("#") else line.split(" #")[0]) and not text.startswith("sha256"):
            yield f"{place} has no {text}: {line.strip()!r}"
        path = place.rsplit(":", 1)[0]
        if path not in facts.made and facts.after.line(place) != line:
            yield f"{place} changes"


@form(r"summary: What stays as it is", STAYS)
def summary_of_stays(facts, m, state):
    return ()


@form(r"Everything is at its default: this repository has no `uplinker\.yaml`\.|Configured in `([^`]+)`\.")
def configured(facts, m, state):
    there = [p for p in facts.before.files if p.rsplit("/", 1)[-1] in ("uplinker.yaml", "uplinker.yml")]
    if m[1]:
        yield from expect("configuration", m[1] in facts.before.files, True)
    else:
        yield from expect("configuration", [], [p for p in there if p in ("uplinker.yaml", ".github/uplinker.yaml")])


@form(r"- \[[ x]\] Skip `([^`]+)` for `([^`]+)` \(([\w-]+)\) <!-- uplinker:skip (\S+) -->")
def skip(facts, m, state):
    yield from expect("release, target, stage", m.groups(), (facts.to, facts.pull["head"].split("/")[-2], facts.stage, facts.to))


@form(r"To decline `([^`]+)`, tick the first box or close this pull request: .+")
def decline(facts, m, state):
    yield from expect("release", m[1], facts.to)


@form(r"\*\*Left out to fit here:\*\* (?:(\d+) entr(?:y|ies) of the lists above, each list says how many)?(?:, and )?(?:the ends of (\d+) long texts?)?\. `uplinker plan --to (\S+) --format markdown` prints all of it, and in GitHub Actions the summary of the run has it, up to 1 MiB\.")
def left_out(facts, m, state):
    state["cut"] = bool(m[1])
    yield from expect("release", m[3], facts.to)
    more = re.findall(r"(\d+) more\b(?! to check)", facts.body)
    if m[1]:
        yield from expect("entries", int(m[1]), sum(map(int, more)))
    ends = re.findall(r"\S…(?= →|`|$|\"| \()", re.sub(r"`sha256:\w+…`", "", facts.body), re.M)
    yield from expect("texts", count(m[2]), len(ends))


@form(r"- \[[ x]\] (?!Skip).+|Ticking .+|Nothing of what this changes could be rendered, so no objects are compared here\.")
def answers(facts, m, state):
    return ()
