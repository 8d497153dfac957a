"""Chooses some of many repositories, those first that take little time: each has two shapes together that none before it has."""
import itertools
import os
import re
import shutil


class Choice:
    """What was made, with the shapes of each."""

    def __init__(self):
        self.made = {}

    def add(self, root, seen):
        files = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(root, "before")) for name in names]
        pairs = set(itertools.combinations_with_replacement(sorted(seen), 2))
        # Helm looks at each chart, and once more with each values file.
        looks = sum(1 for path in files if re.search(r"Chart\.yaml$|values-[\w-]+\.yaml$|/(argocd|clusters)/|helmfile", path))
        self.made[root] = (pairs, 2000 * looks + sum(map(os.path.getsize, files)))

    def copy(self, count, folder):
        """Copies so many to a folder, each named after a shape that it adds."""
        known = set()
        for number in range(1, count + 1):
            # A shape that is new counts more than two that meet.
            gain = lambda root: sum(20 if a == b else 1 for a, b in self.made[root][0] - known) / self.made[root][1]
            root = max(sorted(self.made), key=gain, default=None)
            if root is None or not gain(root):
                break
            new = self.made.pop(root)[0] - known
            known |= new
            shape = next((a for a, b in sorted(new) if a == b), "-".join(min(new)))
            target = os.path.join(folder, f"{number:03}-" + re.sub(r"[^a-z0-9]+", "-", shape.lower()))
            shutil.copytree(os.path.join(root, "before"), os.path.join(target, "before"))
            shutil.copy(os.path.join(root, "expected.json"), target)
