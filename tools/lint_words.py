"""Check for what ruff does not know: words everywhere, class names and file lengths in the product code.

    python tools/lint_words.py

Three rules, each with the file and line of what breaks it:

- A loop, a buffer or an access is no person: no `who`, `whose`, `nobody`, `himself`, `he`, `his` in names, comments,
  docstrings, messages and documents; in tests, benchmarks, tools and examples as well.
- A class name has one definition, so that a search for it finds what it is. Private names count as well.
- A file has at most 300 lines.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_LINES = 300
PERSONS = re.compile(r"\b(who|whose|whom|nobody|himself|herself|he|his)\b", re.IGNORECASE)
PRODUCT = ("ragged", "cortex")
OTHERS = ("tests", "bench", "docs", "tools", "examples", "README.md", "CHANGELOG.md", "CONTRIBUTING.md")
EXEMPT = {"tools/lint_words.py", "tests/tools/test_lint_words.py", "tools/make_sample_treebank.py"}
"""This rule, its tests, and a list of English words."""
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


def sources_in(folders: Iterable[str]) -> dict[Path, str]:
    """Return the text of each source file and document in these folders that git tracks, by its path from the root."""
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    named = [Path(name) for name in listed if name not in EXEMPT]
    paths = [path for path in named if path.suffix in {".py", ".pyi", ".h", ".cpp", ".md"}]
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in paths if (ROOT / path).exists()}


def main() -> int:
    """Print what breaks a rule; return 1 if anything does."""
    product = sources_in(PRODUCT)
    found = [line for rule in (words_of_persons, repeated_classes, long_files) for line in rule(product)]
    found += words_of_persons(sources_in(OTHERS))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
