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
    rest = re.sub(r"\d+ workloads? restarts?|no workload is known to restart by the change itself|\d+ pins? works? only when pods start anew|of \d+ pins? it is not known|[; ]", "", text)
    if rest:
        yield f"no proof is known of: {rest}"


@form(r"- `([^`]+)` at `([^`]+):(\d+)`(?:, (?:(\d+) replicas?(: nothing else serves meanwhile)?|replicas not said here)(?:, (\w+))?)?", RESTART)
def workload(facts, m, state):
    state.setdefault("workloads", set()).add((m[2], m[1]))
    true = effects(facts).get((m[2], m[1]))
    if true is None:
        yield "this object does not change"
        return
    restarts = "replica" in m[0]
    yield from expect("restarts", restarts, true[0] == "restarts")
    if restarts:
        yield from expect("replicas, strategy", (int(m[4]) if m[4] else None, m[6]), (true[1], true[2]))
        yield from expect("alone", bool(m[5]), true[1] == 1)
    line = facts.after.line(f"{m[2]}:{m[3]}") or ""
    if facts.to not in line:
        yield f"{m[2]}:{m[3]} is {line.strip()!r}"


@form(r"These restart when the change is applied, since the annotation or image is a part of their pod template:|These restart nothing; pods get the new proxy when they next start, such as after `kubectl rollout restart`:", RESTART)
def introduction(facts, m, state):
    return ()


@form(r"What these do cannot be told from their file, such as a patch or a chart's values: (.+)\.", RESTART)
def unknown(facts, m, state):
    for place in re.findall(r"`([^`]+:\d+)`", m[1]):
        if facts.to not in (facts.after.line(place) or ""):
            yield f"{place} is {facts.after.line(place)!r}"
