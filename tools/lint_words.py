"""Check the product code for what ruff does not know: words, class names and file lengths.

    python tools/lint_words.py

Three rules, each with the file and line of what breaks it:

- A loop, a buffer or an access is no person: no `who`, `whose`, `nobody`, `himself`, `he`, `his` in names, comments,
  docstrings and messages.
- A class name has one definition, so that a search for it finds what it is. Private names count as well.
- A file has at most 300 lines.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_LINES = 300
PERSONS = re.compile(r"\b(who|whose|whom|nobody|himself|herself|he|his)\b", re.IGNORECASE)
CLASS = re.compile(r"^\s*class (\w+)", re.MULTILINE)


def words_of_persons(sources: Mapping[Path, str]) -> Iterator[str]:
    """Yield each line that speaks of a thing as of a person."""
    for path, text in sources.items():
        for number, line in enumerate(text.splitlines(), 1):
            for match in PERSONS.finditer(line):
                yield f"{path}:{number}: '{match.group()}': name the loop, worker, buffer or caller that is meant"


def repeated_classes(sources: Mapping[Path, str]) -> Iterator[str]:
    """Yield each class name of Python modules that more than one module defines."""
    modules: defaultdict[str, set[Path]] = defaultdict(set)
    for path, text in sources.items():
        if path.suffix == ".py":
            for name in CLASS.findall(text):
                modules[name].add(path)
    for name, paths in sorted(modules.items()):
        if len(paths) > 1:
            yield f"{min(paths)}: class {name} is defined in {', '.join(map(str, sorted(paths)))}: one name each"


def long_files(sources: Mapping[Path, str]) -> Iterator[str]:
    """Yield each file that is longer than `MAX_LINES`."""
    for path, text in sources.items():
        if (lines := text.count("\n")) > MAX_LINES:
            yield f"{path}: {lines} lines, over {MAX_LINES}: does it do one thing?"


def product_sources() -> dict[Path, str]:
    """Return the text of each source file of the two packages that git tracks, by its path from the root."""
    listed = subprocess.run(
        ["git", "ls-files", "ragged", "cortex"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    paths = [Path(name) for name in listed if Path(name).suffix in {".py", ".pyi", ".h", ".cpp"}]
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in paths if (ROOT / path).exists()}


def main() -> int:
    """Print what breaks a rule; return 1 if anything does."""
    sources = product_sources()
    found = [line for rule in (words_of_persons, repeated_classes, long_files) for line in rule(sources)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
