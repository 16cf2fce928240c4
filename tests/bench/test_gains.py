"""The benchmark of single optimizations as its command runs it, small; and answers that differ are not timed."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.gains import measure
from bench.operators.variants import Variant, linear_variants, stencil_variants, trmm_variants

ROOT = Path(__file__).resolve().parents[2]
QUICK = ("--quick", "--batch", "3", "--rounds", "2", "--threads", "1")


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "bench.gains", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("gains") / "gains.json"
    done = command(*QUICK, "--sets", "cola", "--json", path)
    assert done.returncode == 0, done.stderr
    return done, json.loads(path.read_text(encoding="utf-8"))


def test_every_operator_has_its_variants(run):
    rows = run[1]["rows"]
    found = {}
    for row in rows:
        found.setdefault(row["operator"], []).append(row)
    shapes = {"linear": 1, "softmax": 1, "stencils": 1, "attention": 2, "vgemm": 3, "trmm": 1}
    assert {name: len({row["shape"] for row in own}) for name, own in found.items()} == shapes
    by_shape = {}
    for row in rows:
        by_shape.setdefault((row["operator"], row["shape"]), []).append(row)
    for own in by_shape.values():
        assert len({row["variant"] for row in own}) == len(own) >= 2
        assert own[0]["gain"] == 1.0
        for row in own:
            assert 0 < row["ms"]["low"] <= row["ms"]["median"] <= row["ms"]["high"]
            assert row["gain"] == pytest.approx(own[0]["ms"]["median"] / row["ms"]["median"])


def test_the_json_has_what_the_documents_say(run):
    result = run[1]
    assert result["schema"] == 1
    assert result["settings"] == {"threads": 1, "batch": 3, "rounds": 2, "seed": 0}
    assert {"processor", "system", "cores", "load"} == set(result["machine"])
    assert {"python", "numpy"} <= set(result["versions"])


def test_the_table_names_every_variant(run):
    done, result = run
    for row in result["rows"]:
        assert row["variant"] in done.stdout
    assert " x" in done.stdout


def test_padding_computes_the_same_rows():
    """Rows beyond a sequence are computed where there is padding, and are not among those that are compared."""
    lengths = np.array([3, 40, 1], np.int32)
    variants = linear_variants(lengths, 16, np.random.default_rng(0))
    answers = {variant.name: variant.rows(variant.call(1)()) for variant in variants}
    assert len(answers) == len(variants)
    for rows in answers.values():
        assert [row.shape for row in rows] == [(n, 16) for n in lengths]


def test_stencils_are_computed_where_they_are_read():
    """The rows of a chain of means are those of NumPy, in whatever loop the producers stand."""
    lengths = np.array([3, 70, 1], np.int32)
    variants = stencil_variants(lengths, 8, np.random.default_rng(0))
    for variant in variants:
        for given, found in zip(variant.inputs["A"], variant.rows(variant.call(1)()), strict=True):
            rows = np.asarray(given, np.float64)
            for _ in range(3):
                rows = (rows[:-2] + rows[1:-1] + rows[2:]) / 3
            np.testing.assert_allclose(found, rows, rtol=0, atol=1e-6)
    loops = [variant.build().lower() for variant in variants]
    assert len({str(program) for program in loops}) == len(variants)


def test_a_variant_that_is_wrong_is_not_timed():
    first, second, _ = trmm_variants(8, np.random.default_rng(0))
    other = {**second.inputs, "B": second.inputs["B"] + 1}
    with pytest.raises(SystemExit, match=r"trmm, wrong: off by \d"):
        measure("trmm", "8", [first, Variant("wrong", second.build, other)], 1, 1)


def test_sets_that_are_not_known():
    done = command("--sets", "novels")
    assert done.returncode == 2
    assert "no length set is called 'novels': cola, mnli, " in done.stderr
