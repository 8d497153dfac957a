"""What scripts that make trees at random have in common: the files of a tree, YAML in many styles, and many trees at once."""
import concurrent.futures
import json
import os
import random
import shutil
import sys


class Files:
    """The files of one tree, made at random."""

    def __init__(self, rng, root):
        self.rng, self.root = rng, root

    def write(self, path, content):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)

    def dump(self, value):
        """Writes a value as YAML in block or flow style, with quotes at random: JSON is YAML."""
        rng = self.rng

        def scalar(value):
            if isinstance(value, str):
                safe = value and value[0].isalnum() and all(c.isalnum() or c in "-./" for c in value) and value.isascii()
                odd = value.lower() in ("true", "yes", "no", "null", "y", "n", "on", "off") or value.replace(".", "").isdigit()
                if safe and not odd and rng.random() < 0.7:
                    return value
                if "'" not in value and "\n" not in value and rng.random() < 0.4:
                    return f"'{value}'"
            return json.dumps(value, ensure_ascii=False)

        def block(value, indent):
            pad = "  " * indent
            if isinstance(value, dict) and value:
                if rng.random() < 0.1:
                    return " " + json.dumps(value, ensure_ascii=False) + "\n"
                return "\n" + "".join(f"{pad}{scalar(k) if not k.isalnum() else json.dumps(k) if k in 'yn' else k}:{block(v, indent + 1)}" for k, v in value.items())
            if isinstance(value, list) and value:
                out = "\n"
                for item in value:
                    inner = block(item, indent + 1)
                    out += f"{pad}-{inner}" if not inner.startswith("\n") else f"{pad}- {inner[1:].lstrip()}"
                return out
            return " " + scalar(value) + "\n"

        return block(value, 0).lstrip("\n").lstrip(" ") if isinstance(value, (dict, list)) else scalar(value)


def each(one, folder, count=1000, seed=1):
    """Has `one(folder of a tree, its random numbers)` make many trees; yields what it returns. The same seed makes the same trees."""
    def job(n):
        root = os.path.join(folder, f"tree-{n:04}")
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root)
        return one(root, random.Random(seed * 1_000_000 + n))

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        yield from pool.map(job, range(count))


def asked(words):
    """Reads FOLDER [COUNT [SEED]]."""
    if not words:
        sys.exit(sys.modules["__main__"].__doc__)
    return words[0], *map(int, words[1:3])
