"""Releases, notes and milestones, read from the feeds' files by themselves."""

import json
import re

import yaml

from trees import Loader


def edge(version):
    """`edge-26.8.3` as numbers."""
    return tuple(int(n) for n in re.fullmatch(r"edge-(\d+)\.(\d+)\.(\d+)", version).groups())


TITLE = re.compile(r"^(?P<kind>[\w-]+)(?:\((?P<scope>[^)]*)\))?(?P<breaking>!)?: (?P<text>.+)$")
# What is no type of a conventional commit is told as what the change is about.
TYPES = {"build", "chore", "ci", "doc", "docs", "feat", "fix", "perf", "refactor", "revert", "style", "test", "tests"}
ENTRY = re.compile(r"^[*+-] (?P<title>.*?)(?: by @(?P<author>\S+))?(?: in \S*?(?:/pull/|#)(?P<pull>\d+)/?| \(#(?P<number>\d+)\))?\s*$")


class Feeds:
    """What the feeds say."""

    def __init__(self, index, releases, knowledge):
        with open(index) as file:
            self.index = yaml.load(file, Loader)["entries"]
        self.notes, self.dates = {}, {}
        self.read = releases is not None
        if releases:
            with open(releases) as file:
                for release in json.load(file):
                    self.notes[release["tag_name"]] = release.get("body")
                    self.dates[release["tag_name"]] = release["published_at"][:10]
        with open(knowledge) as file:
            self.knowledge = yaml.load(file, Loader)
        self.all = set(self.notes)
        for entries in self.index.values():
            for entry in entries:
                found = re.fullmatch(r"20(\d+\.\d+\.\d+)", str(entry["version"]))
                self.all |= {f"edge-{found[1]}"} if found else set()

    def between(self, old, new):
        """The releases after the one, up to the other, oldest first."""
        return sorted((v for v in self.all if edge(old) < edge(v) <= edge(new)), key=edge)

    def milestone(self, version):
        known = [m for m in self.knowledge["milestones"] if edge(m["first"]) <= edge(version)]
        return max(known, key=lambda m: edge(m["first"]))["name"] if known else None

    def crossed(self, old, new):
        return [m for m in self.knowledge["milestones"] if edge(old) < edge(m["first"]) <= edge(new)]

    def notices(self, old, new):
        return [n for n in self.knowledge["notices"] if edge(old) < edge(n["release"]) <= edge(new)]

    def since(self, table, version):
        """The row of a table that is valid for a release."""
        rows = [r for r in self.knowledge[table] if edge(r["since"]) <= edge(version)]
        return max(rows, key=lambda r: edge(r["since"])) if rows else None

    def changes(self, old, new):
        """Files the entries of all notes: `{release: {breaking, other, dependency, upkeep: [(scope, text, pull)]}}`."""
        seen, found = set(), {}
        for version in self.between(old, new):
            sorts = found[version] = {"breaking": [], "other": [], "dependency": [], "upkeep": []}
            skip = False
            for line in re.sub(r"<!--.*?-->", "", self.notes.get(version) or "", flags=re.S).splitlines():
                if line.startswith("#"):
                    skip = re.match(r"#+ *(new contributors|caution|overall status)", line.lower())
                entry = ENTRY.match(line.strip())
                if skip or not entry or entry["title"].startswith(("**Full Changelog", "@")):
                    continue
                pull = entry["pull"] or entry["number"]
                title = entry["title"].strip("* ")
                conventional = TITLE.match(title)
                text = conventional["text"] if conventional else title
                key = pull or text.lower()
                if key not in seen:
                    seen.add(key)
                    sorts[sort(title, conventional, entry["author"] or "")].append(
                        (about(conventional), text, pull))
        return found


def about(conventional):
    if not conventional or conventional["kind"].lower() in TYPES:
        return conventional and conventional["scope"]
    return conventional["kind"] + (f"({conventional['scope']})" if conventional["scope"] else "")


def sort(title, conventional, author):
    kind, scope = (conventional["kind"], conventional["scope"] or "") if conventional else ("", "")
    if conventional and conventional["breaking"] or "breaking change" in title.lower():
        return "breaking"
    if kind == "proxy" or scope.startswith("proxy"):
        return "other"
    if author.startswith(("dependabot", "renovate")) or scope.startswith("deps") or " bump " in f" {title.lower()}":
        return "dependency"
    upkeep = kind in ("test", "tests", "ci", "docs", "style", "build", "chore", "refactor")
    return "upkeep" if upkeep else "other"
