"""The data plane's pull request: which workloads restart, read from their manifests."""

import re

from body import expect, form
from trees import at

RESTART = "Which workloads restart"
REPLACED = ("Deployment", "DaemonSet", "StatefulSet", "Rollout", "DeploymentConfig", "CloneSet")


def effects(facts):
    """Says of each object that the change touches in its annotations when its pods get the new proxy."""
    found = {}
    def objects(tree):
        for one, path, line in tree.objects():
            meta = one.get("metadata") or {}
            yield (path, one["kind"], meta.get("namespace"), meta.get("name")), one
    before = dict(objects(facts.before))
    for key, one in objects(facts.after):
        old = before.get(key)
        if old is None or old == one:
            continue
        kind = key[1]
        template = at(old, "spec.template") != at(one, "spec.template")
        strategy = at(one, "spec.strategy.type") or at(one, "spec.updateStrategy.type")
        if template and kind in REPLACED and strategy != "OnDelete":
            effect = "restarts"
        elif kind in ("Namespace", "Pod", "CronJob", "ReplicaSet") or template and kind in REPLACED:
            effect = "next-start"
        else:
            effect = "unknown"
        name = f"{kind} {key[2]}/{key[3]}" if key[2] else f"{kind} {key[3]}"
        found[(key[0], name)] = (effect, at(one, "spec.replicas"), strategy)
    return found


def claim(facts, text):
    found = [e for e, _, _ in effects(facts).values()]
    now, later = re.search(r"(\d+) workloads? restarts?", text), re.search(r"(\d+) pins? works? only when pods start anew", text)
    if now or "no workload is known to restart" not in text:
        yield from expect("workloads that restart", int(now[1]) if now else None, found.count("restarts"))
    else:
        yield from expect("workloads that restart", 0, found.count("restarts"))
    yield from expect("later", int(later[1]) if later else 0, found.count("next-start"))
    alone = re.search(r"(\d+) of them serves? nothing meanwhile", text)
    gaps = sum(gap(t, name.startswith("DaemonSet ")) for (_, name), t in effects(facts).items() if t[0] == "restarts")
    yield from expect("that serve nothing meanwhile", int(alone[1]) if alone else 0, gaps)
    rest = re.sub(r"\d+ of them serves? nothing meanwhile|\d+ workloads? restarts?|no workload is known to restart by the change itself|\d+ pins? works? only when pods start anew|of \d+ pins? it is not known|[; ]", "", text)
    if rest:
        yield f"no proof is known of: {rest}"


@form(r"- `([^`]+)`: (?:on every node|replicas not said here|(\d+) replicas?)(?:, (\w+))?(, \*\*serves nothing meanwhile\*\*)? \(`([^`]+):(\d+)`\)", RESTART)
def restart(facts, m, state):
    true = effects(facts).get((m[5], m[1]))
    if true is None:
        yield "this object does not change"
        return
    yield from expect("effect", "restarts", true[0])
    node = m[1].startswith("DaemonSet ")
    yield from expect("on every node", "on every node" in m[0], node)
    yield from expect("replicas, strategy", (int(m[2]) if m[2] else None, m[3]), (None if node else true[1], true[2]))
    yield from expect("serves nothing meanwhile", bool(m[4]), gap(true, node))
    yield from pinned(facts, m[5], m[6])


def gap(true, node):
    """One pod that is gone before the next is there."""
    _, replicas, strategy = true
    return not node and strategy == "Recreate" and replicas != 0


@form(r"- `([^`]+)`(?:: (\w+))? \(`([^`]+):(\d+)`\)", RESTART)
def later(facts, m, state):
    true = effects(facts).get((m[3], m[1]))
    if true is None:
        yield "this object does not change"
        return
    yield from expect("restarts", False, true[0] == "restarts")
    yield from pinned(facts, m[3], m[4])


@form(r"- `([^`]+):(\d+)`", RESTART)
def bare(facts, m, state):
    yield from pinned(facts, m[1], m[2])


def pinned(facts, path, line):
    text = facts.after.line(f"{path}:{line}") or ""
    if facts.to not in text:
        yield f"{path}:{line} is {text.strip()!r}"


@form(r"These restart when the change is applied, since the pin is a part of their pod template:|These restart nothing; pods get the new proxy when they next start:|What these do cannot be told from their file:", RESTART)
def introduction(facts, m, state):
    return ()


@form(r"To go back, run `uplinker rollback` or revert the merge; `([^`]+)` is then not proposed again, and (the workload restarts|the same workloads restart) again\.", RESTART)
def back(facts, m, state):
    now = [e for e, _, _ in effects(facts).values()].count("restarts")
    yield from expect("release, workloads", (m[1], m[2].startswith("the workload ")), (facts.to, now == 1))
