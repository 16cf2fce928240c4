"""Writes the pages of docs/reference that are made from docstrings: python -m tools.reference_pages.

Docstrings have paragraphs, blocks of code after `::`, and the sections `Args:`, `Attributes:`, `Raises:`.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import cortex
import ragged
from cortex import models, ra
from ragged import ops, tc
from tools import primitives_page

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
PACKAGES = {
    "cortex": (cortex, "Models over trees and DAGs"),
    "recursive_api": (ra, "The Recursive API"),
    "models": (models, "Library models"),
    "ragged": (ragged, "Ragged tensors and dynamic shapes"),
    "operators": (ops, "Ready-made operators"),
    "tensor_comprehensions": (tc, "Tensor Comprehensions"),
}
"""The package and the title of each page."""
RETURNED = {
    *("DecoderCache", "Dim", "FunctionChain", "LengthFn", "Linearized", "Model", "Output", "Policy"),
    *("RaggedFunction", "RecursiveFunction", "TcFunction", "TcLibrary", "Tail", "Tensor", "Tuning"),
}
"""Classes with constructors that are not for users: functions return their objects, or they are enumerations."""
PRODUCTS = ("cortex", "ragged")
_SECTION = re.compile(r"(Args|Attributes|Raises):")


def markdown(docstring: str) -> str:
    """Return a docstring as Markdown: sections as lists, blocks of code fenced."""
    parts: list[str] = []
    for paragraph in inspect.cleandoc(docstring).split("\n\n"):
        title, _, items = paragraph.partition("\n")
        if _SECTION.fullmatch(title):
            listed = [" ".join(each.split()) for each in re.split(r"\n    (?=\S)", "\n" + items)[1:]]
            parts.append("\n".join([f"{title}\n", *(f"- {_named(each)}" for each in listed)]))
        elif paragraph.startswith("    ") and parts and parts[-1].startswith("```"):
            parts[-1] = f"{parts[-1].removesuffix('```')}\n{dedent(paragraph).rstrip()}\n```"
        elif paragraph.startswith("    "):
            parts.append(f"```\n{dedent(paragraph).rstrip()}\n```")
        elif paragraph.startswith(">>> "):
            parts.append(f"```\n{paragraph.rstrip()}\n```")
        else:
            parts.append(re.sub("::$", ":", paragraph.rstrip()))
    return "\n\n".join(parts)


def _named(item: str) -> str:
    name, colon, text = item.partition(": ")
    return f"`{name}`: {text}" if colon and re.fullmatch(r"[\w*., ]+", name) else item


def signature(name: str, function: Any) -> str:
    """Return the parameters of a function or a class as they are written."""
    if dataclasses.is_dataclass(function) and isinstance(function, type):
        shown = [
            f"{each.name}: {each.type}" + ("" if _is_required(each) else f" = {_default(each)}")
            for each in dataclasses.fields(function)
            if each.init and not each.name.startswith("_")
        ]
        return _wrapped(name, shown, "")
    if isinstance(function, type):
        function = inspect.getattr_static(function, "__init__")
    tree = _definition(function)
    if tree is None:
        return f"{name}{inspect.signature(function)}"
    arguments, returns = tree.args, f" -> {ast.unparse(tree.returns)}" if tree.returns else ""
    for group in (arguments.posonlyargs, arguments.args):
        group[:] = [each for each in group if each.arg not in ("self", "cls")]
    return _wrapped(name, _split(ast.unparse(arguments)), returns if tree.name != "__init__" else "")


def _definition(function: Any) -> ast.FunctionDef | None:
    """Return the definition of a function in its source; None if it has none of its own."""
    code = inspect.unwrap(getattr(function, "__func__", function))
    if not inspect.isfunction(code) or "<locals>" in code.__qualname__:
        return None
    tree = ast.parse(dedent(inspect.getsource(code))).body[0]
    return tree if isinstance(tree, ast.FunctionDef) else None


def _is_required(each: dataclasses.Field[Any]) -> bool:
    return each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING


def _default(each: dataclasses.Field[Any]) -> str:
    return "..." if each.default is dataclasses.MISSING else repr(each.default)


def _split(arguments: str) -> list[str]:
    """Return the arguments between commas that stand in no brackets."""
    found, depth = [""], 0
    for character in arguments:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [re.sub(r"^(\w+: [^=]*[^=\s])=", r"\1 = ", each.strip()) for each in found if each.strip()]


def _wrapped(name: str, arguments: list[str], returns: str) -> str:
    line = f"{name}({', '.join(arguments)}){returns}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{name}(", *(f"    {each}," for each in arguments), f"){returns}"])


def members(owner: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class, and of the classes of this project that it extends."""
    seen: set[str] = set()
    for each in owner.__mro__:
        if each.__module__.split(".")[0] not in PRODUCTS:
            continue
        for name, value in vars(each).items():
            value = getattr(owner, name) if isinstance(value, classmethod | staticmethod) else value
            documented = isinstance(value, property) or (callable(value) and not isinstance(value, type))
            if documented and value.__doc__ and name not in seen and (name[0] != "_" or name == "__call__"):
                seen.add(name)
                yield name, value


def entry(name: str, value: Any) -> str:
    """Return the section of a public name."""
    parts = [f"## `{name}`"]
    is_error = isinstance(value, type) and issubclass(value, Exception)
    is_made = isinstance(value, type) and not is_error and name not in RETURNED
    if inspect.isfunction(value) or inspect.ismethod(value) or is_made:
        parts.append(f"```\n{signature(name, value)}\n```")
    parts.append(markdown(inspect.getdoc(value) or ""))
    if isinstance(value, type) and not is_error:
        for member, function in members(value):
            own = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
            if isinstance(function, property):
                parts += [f"### `{name}.{member}`", markdown(function.__doc__ or "")]
            else:
                shown = (
                    own if member == "__call__" else f"{name if inspect.ismethod(function) else own}.{member}"
                )
                parts.append(f"### `{name}.{member}`\n\n```\n{signature(shown, function)}\n```")
                parts.append(markdown(function.__doc__ or ""))
    return "\n\n".join(parts)


def page(title: str, module: ModuleType) -> str:
    """Return the page of a package: what `__all__` names, in its order."""
    names = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
    head = (
        f"# {title}: `{module.__name__}`\n\n"
        f"{markdown(module.__doc__ or '')}\n\n"
        "This page is made from docstrings by `python -m tools.reference_pages`."
    )
    return "\n\n".join([head, *(entry(name, getattr(module, name)) for name in names)]) + "\n"


def pages() -> dict[Path, str]:
    """Return the text of each page that is made from docstrings."""
    found = {FOLDER / f"{name}.md": page(title, package) for name, (package, title) in PACKAGES.items()}
    return {**found, primitives_page.PAGE: primitives_page.page()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {path}\n")
