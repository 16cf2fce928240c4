"""Saved functions: the same bits in a process without the compiler, and nothing that is damaged is run."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import platform
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import msgspec
import numpy as np
import pytest
import safetensors.numpy
import torch

import cortex
from cortex import models, ra
from cortex.compiler.function import RecursiveFunction
from cortex.linearize import Linearizer
from ragged.compiled import generate
from ragged.runtime import processor
from ragged.runtime.bundle import read_bundle, write_bundle
from ragged.runtime.cores import usable_cores
from tests.support.damaged import check_damaged, refusal

FORM = RecursiveFunction.form
VOCAB = cortex.Vocab(["the", "film", "<unk>", "bore"], unk="<unk>")
TREES = ["(3 (2 the) (4 film))", "(1 (2 (0 a) (1 bore)) (2 the))", "(2 film)"]
MODELS = {
    "tree_sum": models.tree_sum(hidden=8, vocab=4),
    "tree_fc": models.tree_fc(hidden=24, vocab=4),
    "tree_lstm": models.tree_lstm(hidden=16, embed=8, vocab=4),
    "mv_rnn": models.mv_rnn(hidden=6, vocab=4),
}


@pytest.fixture(scope="module", params=MODELS)
def function(request):
    model = MODELS[request.param]
    return cortex.compile(model, model.init_params(seed=0), vocab=VOCAB, threads=2)


@pytest.fixture(scope="module")
def small():
    model = MODELS["tree_sum"]
    return cortex.compile(model, model.init_params(seed=0), vocab=VOCAB, threads=2)


@pytest.fixture
def saved(small, tmp_path):
    path = tmp_path / "m.cortex"
    small.save(path)
    return path


def bits(fn, data=TREES) -> list[bytes]:
    out = fn(data)
    return [rows.tobytes() for name in out for rows in (out[name], *out.nodes(name))]


def test_what_is_loaded_is_what_was_saved(function, tmp_path):
    path = tmp_path / "m.cortex"
    function.save(path)
    loaded = cortex.load(path)
    assert bits(loaded) == bits(function)
    assert loaded.plan == function.plan and repr(loaded) == repr(function)
    for stage in ("ra", "schedule", "ilir", "loops", "checks"):
        assert loaded.show(stage) == function.show(stage)
    assert loaded.profile(TREES, repeats=2).nodes == function.linearize(TREES).num_nodes
    loaded.save(tmp_path / "again.cortex")
    assert (tmp_path / "again.cortex").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["tree_sum", "tree_fc"])
def test_the_code_of_a_loaded_function_is_told(name, tmp_path):
    """It is made anew from the loops, and is the very code that was saved."""
    fn = cortex.compile(MODELS[name], MODELS[name].init_params(), threads=2)
    fn.save(tmp_path / "m.cortex")
    loaded = cortex.load(tmp_path / "m.cortex")
    assert "def model_kernel(" in loaded.show("tir")
    assert loaded.show("asm").startswith("model_kernel_compute_:\n")


def test_other_parameters_of_a_loaded_function(small, saved):
    other = MODELS["tree_sum"].init_params(seed=7)
    loaded = cortex.load(saved)
    want = bits(small.with_params(other))
    assert bits(loaded.with_params(other)) == want
    tensors = {name: torch.nn.Parameter(torch.from_numpy(array)) for name, array in other.items()}
    assert bits(loaded.with_params(tensors)) == want
    assert bits(loaded) == bits(small)
    with pytest.raises(cortex.ModelError) as wrong:
        loaded.with_params({"embed": other["emb"]})
    assert str(wrong.value).splitlines()[2:] == [
        "  because: 'emb' (4, 8) is missing; 'embed' is no parameter of the model",
        "  fix: the model has emb (4, 8); see model.init_params()",
    ]
    with pytest.raises(cortex.ModelError, match="parameter 'emb' is of dtype float64, not float32"):
        loaded.with_params({"emb": other["emb"].astype(np.float64)})


def test_options_travel(tmp_path):
    class Tree:
        def __init__(self, word, *kids):
            self.word, self.kids = word, kids

    model = MODELS["tree_sum"]
    fn = cortex.compile(model, model.init_params(), keep="roots", children="kids", threads=1)
    fn.save(tmp_path / "m.cortex")
    loaded = cortex.load(str(tmp_path / "m.cortex"))
    tree = Tree(-1, Tree(1), Tree(2))
    assert loaded(tree)["h"].tobytes() == fn(tree)["h"].tobytes()
    with pytest.raises(KeyError, match="keep='roots'"):
        loaded(tree).nodes("h")
    with pytest.raises(cortex.DataError, match="vocab"):
        loaded("(1 (2 a) (3 b))")


@pytest.mark.parametrize("unk", ["<unk>", "film", None])
def test_a_vocabulary_travels(small, tmp_path, unk):
    vocab = cortex.Vocab(["the", "film", "bore"], unk=unk)
    parts = replace(small._parts, vocab=vocab, linearizer=Linearizer(small.plan, vocab=vocab))
    RecursiveFunction(parts, small._params).save(tmp_path / "m.cortex")
    loaded = cortex.load(tmp_path / "m.cortex").vocab
    assert dict(loaded.rows) == dict(vocab.rows) and loaded.unknown == vocab.unknown


def test_threads(small, tmp_path):
    small.save(tmp_path / "two.cortex")
    assert cortex.load(tmp_path / "two.cortex")._parts.workers == 2
    five = cortex.load(tmp_path / "two.cortex", threads=5)
    assert five._parts.workers == 5 and bits(five) == bits(small)
    RecursiveFunction(replace(small._parts, threads=None), small._params).save(tmp_path / "any.cortex")
    assert cortex.load(tmp_path / "any.cortex")._parts.workers == usable_cores()
    with pytest.raises(cortex.UserError, match="threads=0 is not a number of workers"):
        cortex.load(tmp_path / "two.cortex", threads=0)
    for many in (2**31, 2**63, 10**30):
        with pytest.raises(cortex.UserError, match=f"threads={many} is not a number of workers"):
            cortex.load(tmp_path / "two.cortex", threads=many)


def test_a_chain_and_an_empty_batch(saved, small):
    chain = 1
    for word in range(3000):
        chain = (chain, word % 4)
    loaded = cortex.load(saved)
    for data in ([], [chain, 2]):
        assert bits(loaded, data) == bits(small, data)


def test_many_threads_load_and_call(saved, small):
    want = bits(small)
    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(lambda _: bits(cortex.load(saved)) == want, range(24)))


SCRIPT = """
import json, sys
from pathlib import Path
import cortex
fn = cortex.load(sys.argv[1])
h = fn(sys.argv[2:])["h"]
again = fn.with_params({"emb": 2 * h[:1].repeat(4, axis=0)})
maps = Path("/proc/self/maps").read_text()
print(json.dumps({
    "bits": h.tobytes().hex(),
    "finite": bool(abs(again((1, 2))["h"]).max() < 2),
    "modules": sorted({"tvm", "tvm_ffi", "z3", "torch", "ragged.passes", "ragged.codegen.build"} & set(sys.modules)),
    "libraries": [name for name in ("libtvm_compiler", "libtvm_runtime", "libz3", "libtorch") if name in maps],
}))
"""


def test_a_fresh_process_needs_neither_compiler_nor_torch(saved, small):
    command = [sys.executable, "-c", SCRIPT, str(saved), *TREES]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in running:
        out, _ = process.communicate(timeout=120)
        assert json.loads(out) == {
            "bits": small(TREES)["h"].tobytes().hex(),
            "finite": True,
            "modules": [],
            "libraries": [],
        }


def test_importing_cortex_imports_no_compiler():
    script = """
import sys, cortex
late = {"tvm", "tvm_ffi", "z3", "torch", "networkx", "conllu", "ragged.passes", "rich", "click"}
print(sorted(late & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"


def test_parameters_are_safetensors_and_the_manifest_is_json(saved, small):
    with zipfile.ZipFile(saved) as archive:
        names = ["manifest.json", "code.so", "parameters.safetensors", "vocabulary.json"]
        assert archive.namelist() == names
        arrays = safetensors.numpy.load(archive.read("parameters.safetensors"))
        manifest = json.loads(archive.read("manifest.json"))
    assert {name: array.shape for name, array in arrays.items()} == {"emb": (4, 8)}
    assert manifest["content"]["kernel"]["executable"]["target"] in repr(small)
    assert str(saved.parent.parent) not in json.dumps(manifest), "no folder of whoever compiled it"


def test_a_file_is_replaced_as_a_whole(small, saved, monkeypatch):
    before = saved.read_bytes()
    small.with_params(MODELS["tree_sum"].init_params(seed=3)).save(saved)
    assert saved.read_bytes() != before
    whole = saved.read_bytes()

    def failing(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("os.replace", failing)
    with pytest.raises(OSError, match="No space left"):
        small.save(saved)
    assert saved.read_bytes() == whole and list(saved.parent.iterdir()) == [saved]


def refused(path, kind: type[cortex.UserError] = cortex.DataError) -> str:
    return refusal(cortex.load, path, kind)


def test_wherever_a_file_is_damaged_its_code_does_not_run(saved, nothing_runs):
    check_damaged(cortex.load, saved, FORM, cut=4001, flip=1499)


def test_what_is_no_artifact(tmp_path, nothing_runs):
    path = tmp_path / "m.cortex"
    with pytest.raises(FileNotFoundError):
        cortex.load(path)
    path.write_bytes(pickle.dumps({"h": 1}))
    assert refused(path).splitlines()[1:] == [
        "  because: it is no archive that can be read: File is not a zip file",
        "  fix: make the file again",
    ]
    with path.open("wb") as file:
        np.savez(file, h=np.zeros(3))
    assert "it holds 'h.npy', which is no part of such a file" in refused(path)


def changed(path, members=None, **changes):
    """Write the artifact anew with another manifest or members, its hashes in order."""
    saved, found = read_bundle(FORM, path.read_bytes())
    path.write_bytes(write_bundle(FORM, replace(saved, **changes), found | (members or {})))


def changed_executable(path, **changes):
    saved, _ = read_bundle(FORM, path.read_bytes())
    kernel = saved.kernel
    changed(path, kernel=replace(kernel, executable=replace(kernel.executable, **changes)))


def test_another_processor(saved, nothing_runs):
    changed_executable(saved, features=("avx99",), target="llvm -mcpu=later")
    assert refused(saved, cortex.UserError).splitlines()[:2] == [
        "the code was compiled for another processor: 'llvm -mcpu=later'",
        "  because: this one lacks avx99",
    ]


def test_code_that_is_not_what_the_manifest_describes(saved, nothing_runs):
    changed(saved, {"code.so": b"no code"})
    assert "not a 64-bit little-endian ELF file" in refused(saved)


def test_a_function_that_the_code_does_not_have(saved, small, nothing_runs):
    interface = small._parts.kernel.kernel.executable.interface
    stages = tuple(replace(stage, function="absent") for stage in interface.stages)
    changed_executable(saved, interface=replace(interface, stages=stages))
    assert "compiled code has no function 'absent'" in refused(saved)


def test_declarations_that_are_none(saved, small):
    interface = small._parts.kernel.kernel.executable.interface
    changed_executable(saved, interface=replace(interface, declarations="import os"))
    assert "compiled code is not what its description says" in refused(saved)


def mutants(value):
    """Yield `value`, read from JSON, with one part of it exchanged, left out or doubled, for each part of it."""
    for other in (None, 7, -1, 2**31, 10**30, 0.5, True, "x", [], {}, [value]):
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


def test_manifests_of_something_else(saved):
    """Whatever is said in the wrong place: an error of ours, or all the same to what is loaded."""
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
            cortex.load(saved)
        except cortex.UserError as refusal:
            refusals += 1
            assert str(refusal).startswith(("load: ", "the code was compiled for another", "threads="))
    assert refusals > 1000


def test_code_of_another_model(saved, nothing_runs):
    signature = read_bundle(FORM, saved.read_bytes())[0].signature
    for other in (replace(signature, outputs=("h", "c")), replace(signature, parameters={})):
        changed(saved, signature=other)
        assert refused(saved).splitlines()[1] == "  because: it reads emb and gives h"


@pytest.mark.parametrize(
    ("member", "data", "why"),
    [
        ("parameters.safetensors", b"\x80\x04N.", "parameters.safetensors cannot be read"),
        (
            "parameters.safetensors",
            (2**62).to_bytes(8, "little") + b"{}",
            "parameters.safetensors cannot be read",
        ),
        ("parameters.safetensors", safetensors.numpy.save({}), "the parameters do not fit the model"),
        ("vocabulary.json", b'{"words": 5}', "vocabulary.json cannot be read"),
        ("vocabulary.json", b'{"other": ' + b"[" * 100_000, "vocabulary.json cannot be read"),
        ("vocabulary.json", b'{"words": ["a", "a"], "unknown": null}', "the word 'a' comes twice"),
    ],
)
def test_members_of_something_else(saved, member, data, why):
    changed(saved, {member: data})
    assert why in refused(saved)


def test_nothing_to_save_without_a_linker(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "link", lambda objects: None)
    model = MODELS["tree_sum"]
    fn = cortex.compile(model, model.init_params())
    with pytest.raises(cortex.UserError) as caught:
        fn.save(tmp_path / "m.cortex")
    assert str(caught.value) == (
        "save: the function has no code that can be saved\n"
        "  because: it was compiled where no linker was found, straight into the process\n"
        "  fix: install binutils or a C compiler (`ld` or `cc` on the PATH), and compile it again"
    )
    assert list(tmp_path.iterdir()) == []


def test_code_of_another_compiler_is_not_told(saved, monkeypatch):
    loaded = cortex.load(saved)
    monkeypatch.setattr(generate, "link", lambda objects: b"other code")
    with pytest.raises(cortex.UserError) as caught:
        loaded.show("asm")
    assert str(caught.value) == (
        "show: 'asm' of this function cannot be told\n"
        "  because: the compiler or the linker here makes other code of its loops than the one that made it\n"
        "  fix: show it where it was compiled, or compile it here"
    )
    assert loaded.show("loops").startswith('program("model")')


def test_pickles_are_refused(small):
    for dump in (pickle.dumps, lambda fn: __import__("copy").deepcopy(fn)):
        with pytest.raises(cortex.UserError) as caught:
            dump(small)
        assert str(caught.value) == (
            "a compiled function cannot be pickled or copied\n"
            "  because: it is machine code, and a pickle may run any code when it is read\n"
            "  fix: fn.save(path), and cortex.load(path) in the other process"
        )


def test_the_oracle_agrees_with_a_loaded_function(saved):
    model = MODELS["tree_sum"]
    want = ra.evaluate(model, model.init_params(seed=0), TREES[0], vocab=VOCAB)["h"]
    assert np.abs(cortex.load(saved)(TREES[0]).nodes("h")[0] - want).max() < 1e-6


def test_streams_and_bytes(small, saved):
    stream = io.BytesIO()
    small.save(stream)
    want = small(TREES)["h"]
    for origin in (stream.getvalue(), io.BytesIO(stream.getvalue())):
        np.testing.assert_array_equal(cortex.load(origin)(TREES)["h"], want)
    with pytest.raises(cortex.DataError, match="load: the bytes: "):
        cortex.load(b"no artifact")
    with pytest.raises(cortex.DataError, match=r"because: it is empty\n  fix: stream\.seek\(0\)"):
        cortex.load(stream)


def test_what_is_no_stream(small, saved):
    np.testing.assert_array_equal(cortex.load(bytearray(saved.read_bytes()))(TREES)["h"], small(TREES)["h"])
    for call, what in ((lambda: small.save(3), "save"), (lambda: cortex.load(3), "load")):
        with pytest.raises(cortex.UserError, match=f"{what}: 3 is neither a path nor a stream"):
            call()
    with pytest.raises(cortex.UserError, match="takes no bytes"):
        small.save(io.StringIO())
    with pytest.raises(cortex.UserError, match="is no list of functions"):
        small.save(io.BytesIO(), alternatives=small)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a baseline of x86")
def test_a_baseline_stands_in_the_manifest(tmp_path):
    model = MODELS["tree_sum"]
    fn = cortex.compile(model, model.init_params(seed=0), target="llvm -mcpu=x86-64-v3", threads=1)
    path = tmp_path / "baseline.cortex"
    fn.save(path)
    with zipfile.ZipFile(path) as file:
        manifest = json.loads(file.read("manifest.json"))
    executable = manifest["content"]["kernel"]["executable"]
    assert executable["target"] == "llvm -mcpu=x86-64-v3"
    assert (cortex.load(path)((1, 2))["h"] == fn((1, 2))["h"]).all()


@pytest.fixture(scope="module")
def baseline():
    """Return tree_sum without AVX, and for this processor."""
    model = MODELS["tree_sum"]
    params, targets = model.init_params(seed=0), ("llvm -mcpu=x86-64-v2", "cpu")
    return [cortex.compile(model, params, target=each, vocab=VOCAB, threads=1) for each in targets]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="two baselines of x86")
def test_several_targets_in_one_file(baseline, tmp_path, monkeypatch):
    low, high = baseline
    for number, (first, others) in enumerate(((low, [high]), (high, [low]))):
        path = tmp_path / f"{number}.cortex"
        first.save(path, alternatives=others)
        assert path.stat().st_size < sum(file_bytes(each) for each in baseline)
        assert repr(cortex.load(path)) == repr(high) and bits(cortex.load(path)) == bits(high)
        with monkeypatch.context() as patch:
            patch.setattr(processor, "missing", lambda features: sorted(set(features) & {"avx", "avx2"}))
            assert repr(cortex.load(path)) == repr(low) and bits(cortex.load(path)) == bits(low)
            patch.setattr(processor, "missing", list)
            with pytest.raises(
                cortex.UserError, match="compiled for another processor: 'llvm -mcpu=x86-64-v2'"
            ):
                cortex.load(path)


def file_bytes(function):
    """Return the bytes of the file of one function."""
    stream = io.BytesIO()
    function.save(stream)
    return len(stream.getvalue())


def test_an_alternative_is_the_same_function(small, tmp_path):
    model = MODELS["tree_sum"]
    other = small.with_params(model.init_params(seed=9))
    stranger = cortex.compile(
        models.tree_sum(hidden=3, vocab=4), {"emb": np.zeros((4, 3), np.float32)}, vocab=VOCAB
    )
    wordless = RecursiveFunction(replace(small._parts, vocab=None), small._params)
    rounding = replace(small._parts, signature=replace(small._parts.signature, precision="bf16"))
    options = {"keep": "roots", "children": "kids", "payloads": {"word": "token"}}
    for each, because in (
        (RecursiveFunction(rounding, small._params), "it was compiled with another precision="),
        *(
            (
                cortex.compile(model, model.init_params(seed=0), vocab=VOCAB, **{name: value}),
                f"it was compiled with another {name}=",
            )
            for name, value in options.items()
        ),
        (other, "its parameters have other values"),
        (stranger, "it is another one"),
        (wordless, "it has another vocabulary, or is of another text"),
    ):
        with pytest.raises(cortex.UserError) as wrong:
            small.save(tmp_path / "m.cortex", alternatives=[small, each])
        assert str(wrong.value).splitlines()[:2] == [
            "save: alternative 1 is not this function for another processor",
            f"  because: {because}",
        ]
    assert not (tmp_path / "m.cortex").exists()


def test_a_vocabulary_that_is_no_text_is_refused(saved):
    content, members = read_bundle(FORM, saved.read_bytes())
    damaged = write_bundle(
        FORM, content, members | {"vocabulary.json": b'{"words": ["\xff"], "unknown": null}'}
    )
    with pytest.raises(cortex.DataError, match=r"vocabulary\.json cannot be read"):
        cortex.load(damaged)


def test_damaged_alternatives_are_refused(small, saved):
    small.save(saved, alternatives=[small])
    content, members = read_bundle(FORM, saved.read_bytes())
    for wrong, what in (
        (b"\xc1", "cannot be read"),
        (msgspec.msgpack.encode([]), "code for 0 targets, not 1"),
    ):
        damaged = write_bundle(FORM, content, members | {"alternatives.msgpack": wrong})
        with pytest.raises(cortex.DataError, match=what):
            cortex.load(damaged)
    assert bits(cortex.load(saved)) == bits(small)


@pytest.mark.parametrize(("module", "package"), [("z3", "z3-solver"), ("tvm", "apache-tvm")])
def test_compiling_without_the_compiler_says_what_to_install(module, package):
    script = f"""
import sys
sys.modules["{module}"] = None
import cortex
model = cortex.models.tree_sum(hidden=8, vocab=9)
try:
    cortex.compile(model, model.init_params(seed=0), cache=False)
except cortex.UserError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout.splitlines()
    assert said[0] == f"compile: the package '{module}' is not installed"
    assert said[-1] == f"  fix: pip install {package}, or all that cortex-compiler needs"
