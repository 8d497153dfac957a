"""The forms of the other lines: certificates, what is upstream, what happens next, and the end of a body."""

import re

from body import codes, expect, form
from forms import CERTIFICATES, CLUSTER, HOW, ORDER, RELEASES, STAYS, UPSTREAM, count, listed, squash
from objects import identity, shown
from render import issuer_is_outside
from statements import prove
from trees import at
from upstream import edge


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
    bounds = {str(facts.helm.inside(r.chart, v, "Chart.yaml").get("kubeVersion", "")).lstrip(">= ").split("-")[0]
              for r in facts.done for v in r.versions}
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

def appliers(facts, path):
    """The Kustomizations of Flux's that apply a file, by their names."""
    found = set()
    for text in facts.after.files.values():
        for document in text.split("---"):
            folder = re.search(r"path: *\./([^\s,}]+)", document)
            if "kustomize.toolkit.fluxcd.io" in document and folder and path.startswith(folder[1] + "/"):
                found.add(re.search(r"name: *([\w-]+)", document)[1])
    return sorted(found)


@form(r"Several objects apply these, and may put one before the other:", ORDER)
def apart(facts, m, state):
    state["apart"] = set()


@form(r"(\d+\.|-) `([^`]+)`(?: as `([^`]+)`)?(?:, sync wave (-?\d+))?(?:, waits for (`.+?)|, (with no `dependsOn` of its own)|, with no order of its own)?(?:, applied by (`.+?))?(?: \((\d+) places\))?", ORDER)
def step(facts, m, state):
    steps = state.setdefault("steps", [])
    is_apart = m[1] == "-"
    yield from expect("apart", "apart" in state, is_apart)
    name = m[3] or m[2]
    own = [u for u in facts.uses_after + facts.uses_before if u.chart == m[2] and u.step and u.step_name == name]
    if not own:
        yield f"nothing deploys {m[2]} as {name}"
        return
    yield from expect("places", count(m[8]) or 1, len({(u.path, u.line) for u in own if u in (facts.moving or own)}) or 1)
    use = next((u for u in own if u in facts.moving), own[0])
    waits, wave = use.step
    by = appliers(facts, use.path)
    if is_apart:
        yield from expect("applied by", codes(m[7]) if m[7] else [], by)
    else:
        yield from expect("number", int(m[1][:-1]), len(steps) + 1)
        yield from expect("applied by", state.setdefault("by", by), by)
    said = [] if m[6] else None if m[5] is None else codes(m[5])
    if m[1] != "1." or waits:
        yield from expect("waits for", said, waits)
    yield from expect("wave", int(m[4]) if m[4] else None, wave)
    for earlier, _, earlier_waits, earlier_wave in [] if is_apart else steps:
        if name in [w.split("/")[-1] for w in earlier_waits or []]:
            yield f"{earlier} waits for it and stands before it"
        if (earlier_wave or 0) > (wave or 0):
            yield f"{earlier} has a later wave and stands before it"
    steps.append((name, m[2], waits, wave))


@form(r"No order of these was read \(`dependsOn`, sync waves\): CRDs should come first, then the control plane, then extensions\.|The order lacks something: see what to check above\.|(\d+) more are left out here\.", ORDER)
def no_order(facts, m, state):
    if m[0].startswith("No order"):
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


@form(r"To go back, run `uplinker rollback` or revert the merge(: no CRD that was rendered stores its objects in a version that the release before does not know\.|\. Whether a CRD stores its objects in another version is not known: the CRDs were not rendered\.|\. linkerd-crds does not move\.) `([^`]+)` is then not proposed again\.", ORDER)
def back(facts, m, state):
    state["back"] = True
    yield from expect("release", m[2], facts.to)
    yield from expect("what going back does not undo", [], facts.one_way())
    crds = any(r.chart == "linkerd-crds" for r in facts.done)
    yield from expect("CRDs were rendered", m[1].startswith(": no CRD"), crds)
    if m[1].endswith("does not move."):
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
