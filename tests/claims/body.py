"""The text of a pull request, line by line: every line is one of the forms below, and each form has its proof.

A line of no known form is a failure, so that no figure stands in a body unproven.
"""

import html
import re

CODE = re.compile(r"(`+) ?(.+?) ?\1(?!`)")
FORMS = []


def form(pattern, *sections):
    """Names the lines that a proof is of, and in which sections they may stand."""
    def register(proof):
        FORMS.append((re.compile(pattern + r"\Z"), sections, proof))
        return proof
    return register


def codes(text):
    return [match[2] for match in CODE.finditer(text)]


def plain(text):
    """Takes what makes Markdown harmless back."""
    return html.unescape(text).replace("\u200b", "")


def number(text):
    return int(text.split()[0]) if text else 0


def lines(body):
    """Yields section, fold and line of what a reader sees."""
    section, fold = "head", None
    for line in body.split("\n"):
        line = line.rstrip()
        heading = re.match(r"#{3,4} (.+)", line)
        summary = re.match(r"<details(?: open)?><summary>(.*)</summary>", line)
        if not line or line == "---" or re.match(r"\|[-|]+\|$", line):
            continue
        if heading:
            section, fold = heading[1], None
        elif line == "</details>":
            fold = None
        elif summary:
            fold = re.match(r"(?:\d+ )?([A-Za-z ]+)", summary[1])[1].strip()
            yield section, fold, "summary: " + plain(summary[1])
        elif re.fullmatch(r"<!--.*-->", line):
            continue
        else:
            yield section, fold, plain(line)


def check(body, facts):
    """Proves every line; returns what is wrong."""
    wrong = []
    state = {}
    for section, fold, line in lines(body):
        place = fold or section
        known = [(p, proof) for p, sections, proof in FORMS if not sections or place in sections]
        found = next(((m, proof) for p, proof in known if (m := p.match(line))), None)
        if not found:
            wrong.append(f"[{place}] no proof is known of: {line}")
            continue
        match, proof = found
        try:
            faults = list(proof(facts, match, state) or [])
        except (LookupError, TypeError, ValueError, AttributeError, StopIteration) as error:
            faults = [f"the proof itself fails: {error!r}"]
        wrong += [f"[{place}] {line[:300]}\n    {fault}" for fault in faults]
    wrong += [f"[whole] {fault}" for fault in facts.whole(state)]
    return wrong


def expect(what, said, true):
    """Yields a fault where two differ."""
    if said != true:
        yield f"{what}: the body says {said!r}, found is {true!r}"
