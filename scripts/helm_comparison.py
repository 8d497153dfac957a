"""What uplinker makes of one repository, beside what Helm renders of it before and after."""
import functools
import json
import os
import subprocess

import helm_oracle as oracle

# The release that everything goes to.
TO = "edge-26.8.3"


class Differs(Exception):
    """What uplinker makes of a repository is not what Helm renders."""


class Comparison:
    """One repository before uplinker, and what Helm says of it."""

    def __init__(self, asked, root):
        self.asked, self.root = asked, root
        self.tree = oracle.Texts(os.path.join(root, "before"))
        self.before = oracle.build(asked.helm, self.tree.files)
        self.read, self.numbered = oracle.readers(asked.helm, self.tree)
        fits = lambda name: self.with_old(name, ()) == self.before[name]
        self.faithful = all(fits(name) for name in self.before)

    @functools.cached_property
    def off(self):
        """The releases that Helm reads once all is switched on: these move too."""
        return oracle.readers(self.asked.helm, self.tree.switched_on())[0]

    def fails(self):
        """What Helm does not render."""
        return [name for name, text in self.before.items() if isinstance(text, oracle.HelmFails)]

    def with_old(self, name, moved):
        """What Helm prints once those of `moved` have the new release."""
        text = self.numbered[name]
        if isinstance(text, oracle.HelmFails):
            return None
        for number, (_, found) in enumerate(self.tree.tokens):
            text = text.replace(str(oracle.FIRST + number), TO.rpartition(".")[2] if number in moved else found.group(3))
        return text

    def is_read(self, number):
        """Asks of one release alone, where many at once may change what is compared with each other."""
        return number in self.read if self.faithful else self.is_printed(self.tree, number)

    def is_read_once_on(self, number):
        """The same with all switched on."""
        return number in self.off or self.is_printed(self.tree.switched_on(), number)

    def is_printed(self, tree, number):
        printed = oracle.build(self.asked.helm, tree.with_numbers([number])).values()
        return any(number in oracle.numbers(text) for text in printed if isinstance(text, str))

    def uplinker(self, *words):
        words = [self.asked.uplinker, *words, "--helm", self.asked.helm, "--cache-dir", os.path.join(self.root, "cache")]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", "HOME": self.root})
        if done.returncode not in (0, 3):
            raise Differs(f"{' '.join(words)} ends with {done.returncode}: {done.stderr}")
        return done.stdout

    def pins(self):
        """The releases that move, and what uplinker says of each that it names."""
        said = json.loads(self.uplinker("pins", os.path.join(self.root, "clone"), "--to", TO, "--format", "json"))
        moved, fates = set(), {}
        for number in range(len(self.tree.tokens)):
            path, line, column, _ = self.tree.place(number)
            near = [p for p in said["pins"] if p["path"] == path and p["line"] == line and self.is_at(p, path, column)]
            for pin in sorted(near, key=lambda p: (p["moves"], -abs(column - p["column"]))):
                fates[number] = f"{pin['kind']} {'moves' if pin['moves'] else pin['reason']}"
            if any(pin["moves"] for pin in near):
                moved.add(number)
        return moved, fates, said["skipped"]

    def is_at(self, pin, path, column):
        """Whether a pin is at a column of its line: it may be a part of the scalar that begins where it is said to."""
        line = self.tree.files[path].split("\n")[pin["line"] - 1]
        begin = line.find(pin["value"], pin["column"] - 1)
        return -2 <= column - (pin["column"] if begin < 0 else begin + 1) <= len(pin["value"])

    def compare(self):
        moved, fates, skipped = self.pins()
        wrong, expected = [], []
        for number in range(len(self.tree.tokens)):
            moves, is_read = number in moved, number in self.read
            if moves != is_read:
                is_read = self.is_read(number) or self.is_read_once_on(number)
            path, line, column, text = self.tree.place(number)
            if not is_read and (self.tree.is_written_for_proxies(number) or self.tree.is_written_for_linkerd(number)):
                # The value of the key is a pin in whatever file it stands.
                continue
            expected.append([f"{path}:{line}:{column}", text, is_read])
            if moves != is_read:
                wrong.append(f"{path}:{line}:{column} {text}: Helm {'reads' if is_read else 'does not read'} it; uplinker: {fates.get(number, 'nothing')}")
        if self.asked.choose:
            with open(os.path.join(self.root, "expected.json"), "w", encoding="utf-8") as file:
                file.write("[\n" + ",\n".join(f"  {json.dumps(line)}" for line in expected) + "\n]\n")
        if skipped:
            wrong.append(f"not read: {[(s['path'], s.get('detail')) for s in skipped]}")
        if wrong:
            raise Differs("\n  ".join(wrong))
        if moved:
            self.move(moved)

    def git(self, *words):
        clean = {"PATH": "/usr/bin:/bin", "HOME": self.root, "GIT_CONFIG_NOSYSTEM": "1"}
        words = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main", *words]
        return subprocess.run(words, capture_output=True, text=True, check=True, cwd=self.root, env=clean).stdout.strip()

    def run(self):
        """Runs uplinker, and merges the first that it proposes; returns whether it proposed anything."""
        self.uplinker("run", "--repo", os.path.join(self.root, "bare.git"), "--forge", f"directory:{self.root}/pulls", "--to", TO, *self.asked.feeds)
        branches = self.git("--git-dir=bare.git", "for-each-ref", "--format=%(refname)", "refs/heads/uplinker").splitlines()
        branches = [b for b in branches if self.git("--git-dir=bare.git", "rev-list", f"main..{b}")]
        # The platform goes before the data plane, which then stands on what main has.
        for branch in branches[-1:]:
            self.git("-C", "clone", "pull", "--no-edit", "--no-rebase", "../bare.git", branch)
            self.git("-C", "clone", "push", "../bare.git", "main")
        return bool(branches)

    def move(self, moved):
        for _ in range(3):
            if not self.run():
                break
        else:
            raise Differs("it still proposes something once both were merged")
        after = oracle.Texts(os.path.join(self.root, "clone")).files
        for name, text in oracle.build(self.asked.helm, after).items():
            wanted = self.with_old(name, moved) if self.faithful else None
            if isinstance(text, oracle.HelmFails) != isinstance(self.before[name], oracle.HelmFails):
                raise Differs(f"{name}: Helm fails after the move: {text}")
            if wanted is not None and text != wanted:
                lines = [f"{a!r} instead of {b!r}" for a, b in zip(text.splitlines(), wanted.splitlines()) if a != b]
                raise Differs(f"{name}: after the move Helm prints {lines[:5]}")
