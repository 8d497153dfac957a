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
CHECKS = ("Settle before merging", "Check before merging")
RELEASES = ("Releases on the way", "Release on the way")


def count(text):
    return int(text or 0)


# === the head ===

@form(r"\*\*(Blocked|Attention): (\d+) things? (?:must be settled before this is merged(?:, (\d+) more to read)?|to check before merging)\.\*\*(?: Otherwise: (.+)\.)?", "head")
def weighed(facts, m, state):
    state["settle"], state["read"] = (count(m[2]), count(m[3])) if m[1] == "Blocked" else (0, count(m[2]))
    yield from claim(facts, m[4], state)


@form(r"\*\*(Routine|Not rendered): (.+)\.\*\*(?: No check found anything to settle\.)?", "head")
def routine(facts, m, state):
    state["settle"] = state["read"] = 0
    if m[1] == "Not rendered" or m[2] != "no check found anything to settle":
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
    parts = text.split("; ")
    said = set()
    for part in parts:
        words = set(re.findall(r"CRD|RBAC|webhook|port", part))
        if part.endswith(" changes") and part.startswith("no "):
            said |= words
            yield from expect(part, sorted(words & there), [])
        elif part.endswith(" changes"):
            said |= words
            yield from expect(part, sorted(words), sorted(there))
        elif found := re.fullmatch(r"(nothing|\d+ objects?) (?:is|are) removed", part):
            removed = sum(len(d.removed) for _, d in facts.rows())
            yield from expect("removed", 0 if found[1] == "nothing" else int(found[1].split()[0]), removed)
        elif found := re.fullmatch(r"this holds for what was rendered, (\d+) parts? (?:was|were) not", part):
            state["unseen"] = int(found[1])
        else:
            yield f"no proof is known of: {part}"
    yield from expect("topics that are spoken of", sorted(said), ["CRD", "RBAC", "port", "webhook"])


@form(r"(\d+) pins? moves? to `([^`]+)`(?:, published on ([\d-]+))?\.(?: That is (\d+) known releases on from `([^`]+)`\.)?(?: Both belong to milestone `([^`]+)`\.)?", "head")
def pins(facts, m, state):
    state["pins"] = count(m[1])
    yield from expect("release", m[2], facts.to)
    if m[3] and facts.feeds.read:
        yield from expect("date", m[3], facts.feeds.dates.get(facts.to))
    if facts.since:
        passed = facts.feeds.between(facts.since, facts.to)
        yield from expect("releases", count(m[4]) or 1, max(1, len(passed)))
        if m[5]:
            yield from expect("oldest release", m[5], facts.since)
        same = facts.feeds.milestone(facts.since) == facts.feeds.milestone(facts.to)
        yield from expect("milestone", m[6], facts.feeds.milestone(facts.to) if same else None)


@form(r"This is a step on the way to `([^`]+)`, which cannot be reached at once: (.+)", "head")
def hop(facts, m, state):
    hops = [h for h in facts.feeds.knowledge["hops"] if edge(facts.since) < edge(h["below"]) and edge(m[1]) >= edge(h["reaching"])]
    yield from expect("a hop through this release", any(facts.to in h["via"] for h in hops), True)
    yield from expect("its reason is known", any(squash(h["note"]) in squash(m[2]) or h["why"] in m[2] for h in hops), True)


def squash(text):
    return re.sub(r"[\s`]+", " ", str(text)).strip()


@form(r"\| what \| now \| after \| where \|", "head")
def head_of_rows(facts, m, state):
    return ()


@form(r"\| (`.+?`) \| (`.+?`) \| (computed again|\*\*`.+?`\*\*) \| (.+) \|", "head")
def row(facts, m, state):
    places, old = codes(m[4]), codes(m[2])[0]
    more = re.search(r" and (\d+) more$", m[4])
    state["moved"] = state.get("moved", 0) + len(places) + (int(more[1]) if more else 0)
    state.setdefault("places", set()).update(places)
    state["cut"] = state.get("cut") or bool(more)
    for place in places:
        path = place.rsplit(":", 1)[0]
        line = facts.before.line(place) or ""
        if old not in line:
            yield f"{place} has no {old} before: {line.strip()!r}"
        if m[3] != "computed again" and path not in facts.made:
            new, now = codes(m[3])[0], facts.after.line(place) or ""
            if line.replace(old, new) != now:
                yield f"{place} is {now.strip()!r} afterwards"
        if m[3] != "computed again" and path in facts.made:
            new, now = codes(m[3])[0], facts.after.files.get(path, "")
            if new not in now:
                yield f"{path} has no {new} afterwards"


@form(r"(\d+) more rows are left out here\.", "head")
def cut_rows(facts, m, state):
    state["cut"] = True
    return ()


# === what was found ===

@form(r"- \*\*([\w-]+)\*\*(?: at `([^`]+)`)?: (.+)", *CHECKS, KNOWING, DEFAULTS, ORDER)
def statement(facts, m, state):
    state["statements"] = state.get("statements", 0) + 1
    yield from prove(facts, m[1], m[2], m[3])


@form(r"  - (.+)", *CHECKS, KNOWING, DEFAULTS, ORDER)
def mend(facts, m, state):
    yield from prove_mend(facts, m[1])


@form(r"summary: (Worth knowing|Defaults and values): (\d+)", KNOWING, DEFAULTS)
def summary_of_statements(facts, m, state):
    state.setdefault("told", {})[m[1]] = int(m[2])
    return ()


# === what changes in the cluster ===

@form(r"\| chart \| objects \| changed \| added \| removed \| beyond version strings \|", CLUSTER)
def head_of_charts(facts, m, state):
    return ()


@form(r"\| `([^`]+)`(?: in (\d+) places)? \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (.+) \|", CLUSTER)
def chart(facts, m, state):
    at = state["row"] = state.get("row", -1) + 1
    rows = facts.rows()
    if at >= len(rows):
        yield "no such chart changes"
        return
    alike, d = rows[at]
    said = (m[1], count(m[2]) or 1, *(int(m[n]) for n in range(3, 7)))
    true = (alike[0].chart, len(alike), len(d.after), len(d.changes), len(d.added), len(d.removed))
    yield from expect("chart, places, objects, changed, added, removed", said, true)
    beyond = sum(1 for _ in d.beyond())
    orders = sum(len(o) for o in d.reordered.values())
    fields = re.search(r"(\d+) fields?", m[7])
    lists = re.search(r"(\d+) lists? in another order", m[7])
    yield from expect("fields beyond the version", int(fields[1]) if fields else 0, beyond)
    yield from expect("lists in another order", int(lists[1]) if lists else 0, orders)
    kinds = {topic: n for topic, (n, _) in d.topics().items() if n}
    image = sum(1 for k, c in d.beyond() if c.keys()[-1:] == ["image"] and c.keys()[:1] == ["spec"] and k[0] != CRD)
    kinds |= {"image": image} if image else {}
    for n, word in re.findall(r"(\d+) (image|RBAC|CRD|webhook|resource|port)\b", m[7]):
        yield from expect(f"{word} fields", int(n), kinds.get(word, 0))


@form(r"- \*\*(CRD|RBAC|webhook|port|resource)\*\*: (?:(\d+) fields? in )?(.+)", CLUSTER)
def callout(facts, m, state):
    state.setdefault("callouts", set()).add(m[1])
    fields, objects = facts.topics().get(m[1], [0, set()])
    yield from expect("fields", count(m[2]), fields)
    yield from listed(codes(m[3]), objects, m[3])


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


@form(r"Pods that start anew, since their template changes:|Not rendered, so not compared:", CLUSTER)
def introduction(facts, m, state):
    return ()


@form(r"No Deployment, DaemonSet or StatefulSet of these charts has another pod template\.", CLUSTER)
def no_restart(facts, m, state):
    yield from expect("restarts", {}, facts.restarts())


@form(r"- `([^`]+)` at `([^`]+)`: (.+)", CLUSTER)
def not_rendered(facts, m, state):
    state["missing"] = state.get("missing", 0) + 1
    tried = [f"{use.path}:{use.line}" for use, _ in facts.failed if use.chart == m[1]]
    path = m[2].rsplit(":", 1)[0]
    if not any(place.startswith(path + ":") for place in tried) and path not in facts.before.files:
        yield "this renders"
    if any(r.place == m[2] and r.chart == m[1] for r in facts.done) and m[2] not in tried:
        yield "this renders"


@form(r"- `([^`]+)`: (`.+)", CLUSTER)
def restarts(facts, m, state):
    state.setdefault("restarts", set()).add(m[1])
    true = facts.restarts().get(m[1], {})
    more = re.search(r" and (\d+) more$", m[2])
    said = {}
    for name, words in re.findall(r"`([^`]+)`(?: \(([^)]*)\))?", m[2]):
        said[name] = words
    yield from listed(list(said), set(true), m[2])
    for name, words in said.items():
        if name in true and words not in true[name]:
            yield f"{name}: the body says {words!r}, found is {sorted(true[name])!r}"


@form(r"summary: Field by field: (\d+) objects?, (\d+) fields? \((\d+) only the version\)(.*)", FIELDS)
def sums(facts, m, state):
    rows = [d for _, d in facts.rows()]
    objects = sum(len(d.changes) + len(d.added) + len(d.removed) for d in rows)
    fields = sum(d.fields() for d in rows)
    beyond = sum(1 for d in rows for _ in d.beyond())
    yield from expect("objects, fields, only the version", tuple(map(int, m.groups()[:3])), (objects, fields, fields - beyond))


@form(r"\*\*([\w-]+)\*\* `([^`]+)` → `([^`]+)`(?:: (nothing but the version|nothing differs)| at (.+))", FIELDS)
def fields_of(facts, m, state):
    at = state["part"] = state.get("part", -1) + 1
    alike, d = facts.rows()[at]
    state["difference"], state["listed"] = d, 0
    yield from expect("chart", (m[1], m[2], m[3]), (alike[0].chart, *d.versions))
    nothing = not any(True for _ in d.beyond()) and not d.added and not d.removed and not any(d.reordered.values())
    yield from expect("whether it is nothing but the version", bool(m[4]), nothing)
    if m[4]:
        yield from expect("nothing", m[4], "nothing but the version" if d.fields() else "nothing differs")
    if m[5]:
        yield from listed(codes(m[5]), [r.place for r in alike], m[5])


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


@form(r"  - (`.+?`): (?:added (`.+)|removed (`.+)|(`.+) → (`.+))", FIELDS)
def field(facts, m, state):
    d, key = state["difference"], state["object"]
    path = codes(m[1])[0]
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
            quoted = part if re.fullmatch(r"[\w-]+", part) else f'"{part}"'
            text += quoted if not text or text.endswith(" | ") else "." + quoted
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


@form(r"(?:  )?- (\d+) more (?:fields|objects), left out here; `uplinker plan --format json` has them", FIELDS)
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
    elif found := re.search(r"^(?:all (\d+)|the (one|only one|\d+)|one|1) .*(?:retained|kept).*?([\d-]{10})", m[1]):
        yield from expect("certificates", count(found[1]) or 1, len(kept))
        yield from expect("the first to expire", found[3], min(c.until for c in kept))
    else:
        yield from expect(m[1], "none is in this repository", m[1])
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


@form(r"Milestones that begin on the way: (.+)\.", UPSTREAM)
def milestones(facts, m, state):
    true = [f"{x['name']} (with {x['first']})" for x in facts.feeds.crossed(facts.since, facts.to)]
    state["milestones"] = True
    yield from expect("milestones", codes(m[1]), true)


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
    if text == "every installation is concerned":
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
        for value in values[:1]:
            yield from expect("set", found[2] is None, value is not None)
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


@form(r"- Linkerd says of `([^`]+)`: (recommended|not recommended|with a condition)(.*)", UPSTREAM)
def advice(facts, m, state):
    notes = (facts.feeds.notes.get(m[1]) or "").lower()
    if m[1] not in facts.passed():
        yield "this release is not on the way"
    if "recommend" not in notes and "caution" not in notes and "status" not in notes:
        yield "its notes say nothing"


@form(r"Linkerd has published no advice on (?:this release|these (\d+) releases), for or against\.", UPSTREAM)
def no_advice(facts, m, state):
    yield from expect("releases", count(m[1]) or 1, len(facts.passed()))
    yield from expect("releases whose notes were not read", [], [v for v in facts.passed() if facts.feeds.notes.get(v) is None])
    said = [v for v in facts.passed() if re.search(r"recommended|status:", facts.feeds.notes.get(v) or "", re.I)]
    yield from expect("advised", [], said)


@form(r"summary: Releases? on the way: (\d+)(?:, with (\d+) features?, fix(?:es)? (?:and|or) other changes?)?(?:; (\d+) dependency bumps?)?(?:; (\d+) of upkeep)?", *RELEASES)
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
    yield from expect("dependencies, upkeep", (count(m[4]), count(m[5])), (len(changes["dependency"]), len(changes["upkeep"])))
    yield from expect("notes", not m[6], facts.feeds.notes.get(m[1]) is not None)


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
    waits, wave = next((u for u in own if u in facts.moving), own[0]).step
    said = None if m[5] is None else [] if m[5] == "nothing" else codes(m[5])
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


@form(r"Running proxies stay as they are until their pods start anew(?:, and (\d+) proxy pins? (?:is|are) not moved here)?\.(?: Those of `([^`]+)` are of milestone `([^`]+)`(.+))?", ORDER)
def skew(facts, m, state):
    pins = facts.proxies()
    yield from expect("proxy pins", count(m[1]), len(pins))
    if m[2]:
        oldest = min([*pins, *facts.origins], key=edge)
        yield from expect("the oldest", (m[2], m[3]), (oldest, facts.feeds.milestone(oldest)))
        names = [x["name"] for x in sorted(facts.feeds.knowledge["milestones"], key=lambda x: edge(x["first"]))]
        ours, theirs = names.index(facts.feeds.milestone(facts.to)), names.index(m[3])
        true = {0: " like the control plane, and stay supported through the next milestone.",
                1: f", one behind the control plane's `{names[ours]}`: that is supported, and ends with the milestone after `{names[ours]}`."}
        yield from expect("skew", m[4], true.get(ours - theirs, f", {ours - theirs} behind the control plane's `{names[ours]}`: Linkerd supports one."))


@form(r"To go back, revert the merge of this pull request, and decline the one that follows for `([^`]+)`\.(?: (No CRD stores its objects in another version, as far as it was rendered\.|Whether a CRD .+ were not rendered\.))?", ORDER)
def back(facts, m, state):
    state["back"] = True
    yield from expect("release", m[1], facts.to)
    yield from expect("stored versions that move", [], facts.stored())
    crds = any(r.chart == "linkerd-crds" for r in facts.done)
    if m[2]:
        yield from expect("CRDs were rendered", m[2].startswith("No CRD"), crds)


@form(r"\*\*Going back is not safe everywhere:\*\*", ORDER)
def no_way_back(facts, m, state):
    state["one-way"] = 0
    return ()


@form(r"- (?!\[)(.+)", ORDER)
def one_way(facts, m, state):
    state["one-way"] = state.get("one-way", 0) + 1
    if found := re.match(r"(\S+) stores objects as (\S+) instead of (\S+); a release without \2 cannot read them", m[1]):
        yield from expect("stored versions", tuple(found.groups()) in facts.stored(), True)
    elif found := re.match(r"(\S+) (?:drops|no longer serves) (\S+?)[,;]", m[1]):
        yield from expect("dropped", (found[1], found[2]) in facts.unserved(), True)
    else:
        texts = [squash(n["text"]) for n in facts.feeds.notices(facts.since, facts.to) if n["kind"] == "one-way"]
        yield from expect("a notice", any(squash(m[1]).startswith(t) for t in texts), True)


# === the end ===

@form(r"- ([a-z-]+): (.+)", STAYS)
def stays(facts, m, state):
    for place, text in re.findall(r"`([^`]+:\d+)` \(`([^`]*)`\)", m[2]):
        line = facts.before.line(place) or ""
        if text not in line and not text.startswith("sha256"):
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


@form(r"- \[[ x]\] .+|To decline .+|Ticking .+|Nothing of what this changes could be rendered, so no objects are compared here\.")
def answers(facts, m, state):
    return ()
