"""Saved ragged functions: the same bits in a process without the compiler, and nothing that is damaged is run."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import ragged
from ragged.api.signature import Fixed, Sized, Varying
from ragged.compiled import generate
from ragged.errors import DataError, ModelError, UserError
from ragged.runtime.bundle import read_bundle, write_bundle
from ragged.runtime.cores import usable_cores
from tests.ragged.api.functions import SCHEDULES, bits, params_of, rows, scaled
from tests.support.damaged import check_damaged, refusal

FORM = ragged.RaggedFunction.form


@pytest.fixture(scope="module", params=SCHEDULES)
def function(request):
    name = request.param
    return name, ragged.compile(SCHEDULES[name](), params_of(name), threads=2)


@pytest.fixture(scope="module")
def attention():
    return ragged.compile(SCHEDULES["attention"](), params_of("attention"), threads=2)


@pytest.fixture
def saved(attention, tmp_path):
    path = tmp_path / "f.ragged"
    attention.save(path)
    return path


def test_what_is_loaded_is_what_was_saved(function, tmp_path):
    name, fn = function
    path = tmp_path / "f.ragged"
    fn.save(path)
    loaded = ragged.load(path)
    for lengths in ((3, 0, 5, 1), (), (0,), (33, 2)):
        assert bits(loaded(A=rows(lengths))) == bits(fn(A=rows(lengths)))
    assert loaded.signature == fn.signature and repr(loaded) == repr(fn)
    for stage in ("ragged", "schedule", "tree", "loops", "prelude", "tir", "asm"):
        assert loaded.show(stage) == fn.show(stage), stage
    assert loaded.profile(repeats=2, A=rows()).flops == fn.profile(repeats=2, A=rows()).flops
    loaded.save(tmp_path / "again.ragged")
    assert (tmp_path / "again.ragged").read_bytes() == path.read_bytes()
    other = params_of(name, seed=7)
    assert bits(loaded.with_params(other)(A=rows())) == bits(fn.with_params(other)(A=rows()))


def test_threads(attention, saved, tmp_path):
    assert ragged.load(saved)._parts.workers == 2
    five = ragged.load(str(saved), threads=5)
    assert five._parts.workers == 5 and bits(five(A=rows())) == bits(attention(A=rows()))
    anywhere = ragged.RaggedFunction(replace(attention._parts, threads=None), attention._params)
    anywhere.save(tmp_path / "any.ragged")
    assert ragged.load(tmp_path / "any.ragged")._parts.workers == usable_cores()
    with pytest.raises(UserError, match="threads=0 is not a number of workers"):
        ragged.load(saved, threads=0)


SCRIPT = """
import json, sys
from pathlib import Path
import numpy as np
import ragged
f = ragged.load(sys.argv[1])
values = np.arange(9 * 16, dtype=np.float32).reshape(9, 16) / 64
x = ragged.array(values, lengths=np.array([3, 0, 5, 1], np.int32))
found = f(A=x)
maps = Path("/proc/self/maps").read_text()
compiler = {"tvm", "tvm_ffi", "z3", "torch", "ragged.schedule", "ragged.transform", "ragged.passes", "ragged.layout",
            "ragged.auto", "ragged.codegen.build"}
print(json.dumps({
    "bits": [each.values.tobytes().hex() for each in found.values()],
    "modules": sorted(compiler & set(sys.modules)),
    "libraries": [name for name in ("libtvm_compiler", "libtvm_runtime", "libz3", "libtorch") if name in maps],
}))
"""


def test_a_fresh_process_needs_neither_compiler_nor_torch(attention, saved):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(saved)], capture_output=True, text=True, check=True, timeout=120
    )
    values = np.arange(9 * 16, dtype=np.float32).reshape(9, 16) / 64
    want = attention(A=ragged.array(values, lengths=np.array([3, 0, 5, 1], np.int32)))
    assert json.loads(done.stdout) == {
        "bits": [each.hex() for each in bits(want)],
        "modules": [],
        "libraries": [],
    }


def test_parameters_are_safetensors_and_the_manifest_is_json(saved):
    with zipfile.ZipFile(saved) as archive:
        assert archive.namelist() == ["manifest.json", "code.so", "parameters.safetensors"]
        arrays = safetensors.numpy.load(archive.read("parameters.safetensors"))
        manifest = json.loads(archive.read("manifest.json"))
    assert {name: array.shape for name, array in arrays.items()} == {"W": (16, 16)}
    assert str(Path(__file__).parent) not in json.dumps(manifest), "no folder of whoever compiled it"


def refused(path, kind: type[UserError] = DataError) -> str:
    return refusal(ragged.load, path, kind)


def test_wherever_a_file_is_damaged_its_code_does_not_run(saved, nothing_runs):
    check_damaged(ragged.load, saved, FORM, cut=7001, flip=2999)


def changed(path, members=None, **changes):
    """Write the artifact anew with another manifest or members, its hashes in order."""
    saved, found = read_bundle(FORM, path.read_bytes())
    path.write_bytes(write_bundle(FORM, replace(saved, **changes), found | (members or {})))


def with_executable(path, **changes):
    kernel = read_bundle(FORM, path.read_bytes())[0].kernel
    changed(path, kernel=replace(kernel, executable=replace(kernel.executable, **changes)))


def test_another_processor(saved, nothing_runs):
    with_executable(saved, features=("avx99",), target="llvm -mcpu=later")
    assert "the code was compiled for another processor: 'llvm -mcpu=later'" in refused(saved, UserError)


def test_code_that_is_not_what_the_manifest_describes(saved, nothing_runs):
    whole = saved.read_bytes()
    changed(saved, {"code.so": b"no code"})
    assert "not a 64-bit little-endian ELF file" in refused(saved)
    saved.write_bytes(whole)
    (prelude, *others) = read_bundle(FORM, whole)[0].kernel.executable.preludes
    stages = tuple(replace(stage, function="absent") for stage in prelude.stages)
    with_executable(saved, preludes=(replace(prelude, stages=stages), *others))
    assert "compiled code has no function 'absent'" in refused(saved)
    saved.write_bytes(whole)
    with_executable(saved, preludes=())
    assert "because: it has no prelude" in refused(saved)


def signature(path):
    return read_bundle(FORM, path.read_bytes())[0].signature


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: replace(d, outputs=d.outputs[:1]), "it reads W and gives O, P"),
        (lambda d: replace(d, parameters={}), "it reads W and gives O, P"),
        (lambda d: replace(d, inputs=()), "the code reads 'A', which is no argument"),
        (lambda d: replace(d, lengths=()), "'A' has lengths 'n', which nothing gives"),
        (lambda d: replace(d, sizes=()), "'A' extends 'B', which is no size"),
        (lambda d: with_input(d, padding=(1, 0, 1)), "'A' is padded to multiples of (1, 0, 1)"),
        (lambda d: with_input(d, dims=("b",)), "'A' has other numbers of dimensions"),
        (
            lambda d: with_rules(d, Fixed(3), Varying((1,), "n", True), Fixed(2)),
            "'A' varies over dimensions (1,)",
        ),
        (
            lambda d: with_rules(d, Sized("B"), Varying((-1,), "n", True), Fixed(2)),
            "'A' varies over dimensions (-1,)",
        ),
        (
            lambda d: with_rules(d, Sized("B"), Varying((0,), "n", False), Fixed(2)),
            "has lengths 'n', which nothing",
        ),
        (lambda d: with_rules(d, Sized("B"), Varying((0,), "n", True), Fixed(-2)), "'A' extends -2"),
    ],
)
def test_descriptions_of_something_else(saved, nothing_runs, change, why):
    changed(saved, signature=change(signature(saved)))
    assert why in refused(saved)


def with_input(signature, **changes):
    return replace(signature, inputs=(replace(signature.inputs[0], **changes),))


def with_rules(signature, *rules):
    return with_input(signature, extents=rules)


def test_parameters_of_something_else(saved):
    changed(saved, {"parameters.safetensors": b"\x80\x04N."})
    assert "parameters.safetensors cannot be read" in refused(saved)
    changed(saved, {"parameters.safetensors": safetensors.numpy.save({})})
    assert "because: 'W' (16, 16) is missing" in refused(saved)


def mutants(value):
    """Yield `value`, read from JSON, with one part of it exchanged, left out or doubled, for each part of it."""
    for other in (None, 7, -1, 2**31, 10**30, "x", [], {}):
        if type(other) is not type(value) or other != value:
            yield other
    match value:
        case dict():
            for key, inner in value.items():
                rest = {other: part for other, part in value.items() if other != key}
                yield rest
                yield from (rest | {key: mutant} for mutant in mutants(inner))
        case list():
            for at, inner in enumerate(value):
                yield value[:at] + value[at + 1 :]
                yield [*value[:at], inner, inner, *value[at + 1 :]]
                yield from ([*value[:at], mutant, *value[at + 1 :]] for mutant in mutants(inner))


def test_manifests_of_something_else(tmp_path):
    """Whatever is said in the wrong place: an error of ours, when it is loaded or when it is called."""
    saved = tmp_path / "f.ragged"
    ragged.compile(scaled(), threads=1).save(saved)
    with zipfile.ZipFile(saved) as archive:
        whole = json.loads(archive.read("manifest.json"))
        members = {name: archive.read(name) for name in archive.namelist()[1:]}
    refusals = 0
    for mutant in mutants(whole):
        manifest = json.dumps(mutant).encode()
        with zipfile.ZipFile(saved, "w") as archive:
            archive.comment = hashlib.sha256(manifest).hexdigest().encode()
            for name, data in {"manifest.json": manifest, **members}.items():
                archive.writestr(name, data)
        try:
            ragged.load(saved)
        except UserError:
            refusals += 1
    assert refusals > 300


def test_a_function_of_a_model_is_none(saved, tmp_path):
    other = tmp_path / "m.cortex"
    found = json.loads(zipfile.ZipFile(saved).read("manifest.json"))
    assert found["form"] == "ragged function"
    other.write_bytes(saved.read_bytes().replace(b'"ragged function"', b'"rugged function"'))
    assert "this is no ragged function, or it is damaged" in refused(other)
    with pytest.raises(FileNotFoundError):
        ragged.load(tmp_path / "nowhere")


def test_nothing_to_save_without_a_linker(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "link", lambda objects: None)
    fn = ragged.compile(scaled())
    np.testing.assert_array_equal(fn(A=rows()).values, 2 * rows().values)
    with pytest.raises(UserError, match="save: the function has no code that can be saved"):
        fn.save(tmp_path / "f.ragged")


def test_a_parameter_that_does_not_fit_is_refused_as_at_first(saved):
    with pytest.raises(ModelError, match=r"'W' has shape \(3,\), not \(16, 16\)"):
        ragged.load(saved).with_params({"W": np.zeros(3, np.float32)})
