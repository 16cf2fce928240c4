"""The layers of pyproject.toml: import-linter checks what the list names, this that it names everything."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("ragged", "cortex")


def contracts() -> dict[str, dict]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def listed_modules() -> set[str]:
    lines = contracts()["layers"]["layers"]
    return {module.strip(" ()") for line in lines for module in line.replace(":", "|").split("|")}


def existing_modules() -> set[str]:
    """Every module and package directly under ragged/ and cortex/."""
    folders = [path.parent for package in PACKAGES for path in (ROOT / package).glob("*/__init__.py")]
    files = [path.with_suffix("") for package in PACKAGES for path in (ROOT / package).glob("*.py")]
    return {f"{path.parent.name}.{path.name}" for path in folders + files if path.name != "__init__"}


def test_every_module_has_its_layer():
    assert existing_modules() - listed_modules() == set()


def test_every_layer_but_codegen_is_forbidden_to_import_tvm():
    closed = set(contracts()["tvm"]["source_modules"])
    outside = {module for module in listed_modules() if not module.startswith("cortex.")}
    assert closed == outside - {"ragged.codegen"} | {"cortex"}


def test_every_layer_but_polyhedral_is_forbidden_to_import_isl():
    closed = set(contracts()["islpy"]["source_modules"])
    outside = {module for module in listed_modules() if not module.startswith("cortex.")}
    assert closed == outside - {"ragged.polyhedral"} | {"cortex"}


def test_the_modules_of_ragged_compiled_that_import_the_compiler():
    runs = set(contracts()["runtime"]["source_modules"])
    files = {path.stem for path in (ROOT / "ragged" / "compiled").glob("*.py")} - {"__init__"}
    assert {f"ragged.compiled.{name}" for name in files} - runs == {
        "ragged.compiled.ceilings",
        "ragged.compiled.function",  # `show` imports the compiler for machine code
        "ragged.compiled.generate",
        "ragged.compiled.target_machine",
        "ragged.compiled.work",
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_tests_import_the_sources_of_this_tree(package):
    spec = importlib.util.find_spec(package)
    assert spec is not None and Path(spec.origin) == ROOT / package / "__init__.py"
