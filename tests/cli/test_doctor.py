"""`cortex doctor`: it finds what is there, and says what to do about what is not."""

import importlib.metadata
import sys
from importlib.machinery import ModuleSpec

import pytest

from cortex import models
from cortex.cli import doctor_checks, machine
from cortex.compiler import compile
from ragged.codegen.cuda import nvcc
from ragged.compiled import kernel_cache
from tests.cli.conftest import parsed


def test_a_machine_that_runs_these_tests_is_well(cortex, cortex_json):
    document = cortex_json("doctor")
    assert document["ok"] is True
    found = {finding["name"]: finding for finding in document["findings"]}
    for name in ("python", "native linearizer", "code generation", "processor"):
        assert found[name]["ok"] and found[name]["found"]
    assert {"nvcc", "torch"} <= set(found)
    assert all(finding["todo"] for finding in document["findings"] if not finding["ok"])
    result = cortex("doctor")
    assert result.exit_code == 0
    assert result.stdout.rstrip().endswith("Everything that cortex needs is here.")


def test_a_compiler_that_does_not_work_is_status_1(cortex, monkeypatch):
    monkeypatch.setitem(sys.modules, "ragged.codegen.build", None)
    result = cortex("doctor", "--json")
    assert result.exit_code == 1
    document = parsed(result)
    assert document["ok"] is False and document["verdict"] == "Missing: code generation."
    (finding,) = (each for each in document["findings"] if each["name"] == "code generation")
    assert finding["found"].startswith("ModuleNotFoundError: ") and "apache-tvm" in finding["todo"]
    result = cortex("doctor")
    assert result.exit_code == 1
    assert "MISSING" in result.stdout and "Missing: code generation." in result.stdout


def test_code_that_computes_something_else_is_found(monkeypatch):
    monkeypatch.setattr(doctor_checks, "_TINY", doctor_checks._TINY.replace("2.0", "3.0"))
    finding = doctor_checks.compiler()
    assert not finding.ok and finding.found == "is wrong: [0.0, 3.0, 6.0, 9.0, 12.0]"


def test_an_extension_that_is_not_built_is_found(monkeypatch):
    monkeypatch.setitem(sys.modules, "cortex.linearize", None)
    finding = doctor_checks.extension()
    assert not finding.ok and finding.required and "pip install -e ." in finding.todo


@pytest.fixture
def installed(monkeypatch):
    """`installed(numpy="1.26.4")` says which versions of which packages there are, and nothing else is."""

    def say(**versions):
        def version(name):
            if name.replace("-", "_") in versions:
                return versions[name.replace("-", "_")]
            raise importlib.metadata.PackageNotFoundError(name)

        needs = ["apache-tvm<0.28,>=0.27", "numpy<3,>=2", "torch<3,>=2.6; extra == 'torch'"]
        monkeypatch.setattr(importlib.metadata, "version", version)
        monkeypatch.setattr(importlib.metadata, "requires", lambda name: needs if version(name) else [])

    return say


def test_packages_are_found_in_the_versions_that_cortex_takes(installed):
    installed(cortex_compiler="0.1.0", apache_tvm="0.28.0", numpy="2.4.6")
    findings = {finding.name: finding for finding in doctor_checks.packages()}
    assert list(findings) == ["cortex-compiler", "apache-tvm", "numpy"]
    assert findings["cortex-compiler"].ok and findings["numpy"].ok
    assert not findings["apache-tvm"].ok and findings["apache-tvm"].required
    assert findings["apache-tvm"].found == "0.28.0, not <0.28,>=0.27"
    assert findings["apache-tvm"].todo == "pip install 'apache-tvm<0.28,>=0.27'"


def test_a_package_that_is_not_installed_is_found(installed):
    installed(cortex_compiler="0.1.0", apache_tvm="0.27.0.post1")
    missing = [finding for finding in doctor_checks.packages() if not finding.ok]
    assert [(finding.name, finding.found) for finding in missing] == [("numpy", "not installed")]


def test_sources_that_are_not_installed_are_no_fault(installed):
    installed()
    (finding,) = doctor_checks.packages()
    assert not finding.ok and not finding.required


@pytest.mark.parametrize(
    ("version", "bounds", "inside"),
    [
        ("0.27.0.post1", ">=0.27,<0.28", True),
        ("0.27", ">=0.27.0", True),
        ("0.28", ">=0.27,<0.28", False),
        ("2.10", ">=2.9", True),
        ("1.26.4", "<3,>=2", False),
        ("3.0.0rc1", "<3,>=2", False),
        ("5", "", True),
    ],
)
def test_versions_are_compared_as_numbers(version, bounds, inside):
    assert doctor_checks.within(version, bounds) is inside


CPUINFO = "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu sse2 {flags}\n\nprocessor\t: 1\nmodel name\t: Other\n"


@pytest.mark.parametrize(("flags", "bits"), [("avx avx2 avx512f", 512), ("avx avx2", 256), ("", 128)])
def test_the_widest_vectors_are_found(monkeypatch, tmp_path, flags, bits):
    path = tmp_path / "cpuinfo"
    path.write_text(CPUINFO.format(flags=flags), encoding="utf-8")
    monkeypatch.setattr(machine, "_CPUINFO", path)
    finding = machine.processor()
    assert finding.found.startswith(f"Some CPU, vectors of {bits} bits, ")
    assert bool(finding.todo) == (bits == 128)


def test_a_processor_that_says_nothing_is_no_fault(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "none")
    finding = machine.processor()
    assert finding.ok and "vectors unknown" in finding.found


def test_what_only_some_uses_need_may_be_missing(installed, monkeypatch, tmp_path):
    installed()
    monkeypatch.setattr(nvcc, "installed", lambda: ())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    findings = machine.extras()
    assert [(finding.name, finding.ok, finding.required) for finding in findings] == [
        ("nvcc", False, False),
        ("torch", False, False),
    ]
    assert all(finding.todo for finding in findings)


@pytest.mark.parametrize("where", ["CUDA_HOME", "packages"])
def test_nvcc_is_found_where_it_is_not_on_the_path(where, monkeypatch, tmp_path):
    folder = tmp_path / ("bin" if where == "CUDA_HOME" else "nvidia/cu13/bin")
    folder.mkdir(parents=True)
    found = folder / "nvcc"
    found.write_text("#!/bin/sh\n")
    found.chmod(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    package = ModuleSpec("nvidia", None, is_package=True)
    package.submodule_search_locations = [str(tmp_path / "nvidia")]
    monkeypatch.setattr(nvcc, "find_spec", lambda name: package)
    assert machine.extras()[0].found == str(found)


def test_the_linker(monkeypatch, tmp_path):
    finding = doctor_checks.linker()
    assert finding.ok and not finding.required and finding.found.startswith("/")
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = doctor_checks.linker()
    assert not finding.ok and finding.found == "none on the PATH" and "binutils" in finding.todo


def test_the_cache(monkeypatch, cache_dir):
    monkeypatch.setattr(kernel_cache, "changed_since_import", lambda packages: False)
    assert doctor_checks.cache().found == f"{cache_dir}, which does not exist yet"
    model = models.tree_sum(hidden=4, vocab=3)
    for threads in (1, 2):
        compile(model, model.init_params(), threads=threads)
    finding = doctor_checks.cache()
    assert finding.ok and not finding.required and finding.found.startswith(f"{cache_dir}, 2 kernels, 0.")
    cache_dir.chmod(0o777)
    finding = doctor_checks.cache()
    assert (
        not finding.ok and "is not this user's alone" in finding.found and "CORTEX_CACHE_DIR" in finding.todo
    )
    monkeypatch.setenv("CORTEX_CACHE_DIR", "")
    finding = doctor_checks.cache()
    assert not finding.ok and finding.found == "switched off"


def test_a_cache_that_cannot_be_made(monkeypatch):
    monkeypatch.setenv("CORTEX_CACHE_DIR", "/proc/nope")
    finding = doctor_checks.cache()
    assert not finding.ok and not finding.required
    assert finding.found.startswith("/proc/nope cannot be made: ") and "CORTEX_CACHE_DIR" in finding.todo


def test_a_cache_below_a_file(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CORTEX_CACHE_DIR", str(tmp_path / "file" / "cache"))
    finding = doctor_checks.cache()
    assert not finding.ok and finding.found.startswith(f"{tmp_path}/file/cache: NotADirectoryError")
    assert finding.todo == "a folder that can be made: CORTEX_CACHE_DIR"


def test_a_newer_python_is_said_to_read_objects_slower(monkeypatch):
    assert machine.python().todo == "" or sys.version_info[:2] > (3, 11)
    monkeypatch.setattr(machine, "_QUICKEST", (3, 10))
    finding = machine.python()
    assert finding.ok and "read slower" in finding.todo
