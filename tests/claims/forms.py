"""The forms of the lines of a body, and how each is proven."""

import json
import re

from body import codes, expect, form
from objects import CRD, KEYS, Change, identity, shown
from statements import prove, prove_hint
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
        if part == "only version strings change":
            topics |= {"CRD", "RBAC", "webhook", "port"}
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
    if " or older" in m[2]:
        yield from expect("releases and milestone", (m[5], m[8]), (None, None))
    elif facts.since:
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
def hint(facts, m, state):
    yield from prove_hint(facts, m[1])


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
        if said := re.match(rf"{re.escape(chart)} ([\d.]+): ", m[2]):
            failed = [error.split(": ")[0] for use, error in facts.failed if use.chart == chart and f"{use.path}:{use.line}" == place]
            yield from expect("the version that failed", said[1], failed[0] if failed else said[1])
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
