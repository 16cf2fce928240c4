"""Dense nests are fused where isl finds that dependent iterations are equal, and are left as written elsewhere."""

from pathlib import Path

import numpy as np
import pytest

from ragged import tc
from ragged.auto import fuse_nests as own_module
from ragged.auto.fuse_nests import are_shared, fuse_nests
from ragged.auto.options import ScheduleOptions
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.polyhedral.context import PolyhedralLimitError
from ragged.schedule.loop_schedule import LoopSchedule, recorded_schedules
from ragged.tc.compiled import lower_analysed
from tests.support.dependences.whole_schedules import violated_dependences

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "tc"
HEAD = """\
program("nests")

N: call()
K: call()
x: payload(float32[N, K])
t: workspace(float32[N, K])
y: output(float32[N, K])

with kernel:
"""
NORMALIZE = (
    HEAD.replace("t: workspace(float32[N, K])", "mean: workspace(float32[N])")
    + """\
    for n in parallel(N):
        mean[n] = 0.0
        for k in serial(K):
            mean[n] += x[n, k]
{between}        for k in parallel(K):
            y[{n}, k] = x[{n}, k] - mean[{n}]
"""
)
PAIR = HEAD + "".join(
    f"""\
    for {{{outer}}} in parallel({{{outer}_of}}):
        for {{{inner}}} in parallel({{{inner}_of}}):
            {statement}
"""
    for outer, inner, statement in (("a", "b", "t[n, k] = x[n, k] + 1.0"), ("c", "d", "y[n, k] = {value}"))
)


def pair(second, value):
    """Two nests: the loops of the second one are `second`, and `value` is what it stores."""
    names = dict(zip("abcd", ("n", "k", *second), strict=True))
    extents = {f"{key}_of": name.upper() for key, name in names.items()}
    return parse(PAIR.format(value=value, **names, **extents))


def fused(program):
    schedule = LoopSchedule(program)
    fuse_nests(schedule, 2)
    return schedule, schedule.record("fuse_nests", "")


def test_rows_are_normalized_where_they_are_summed_up():
    schedule, record = fused(
        parse(NORMALIZE.format(n="n_1", between="    for n_1 in parallel(N, n):\n").replace(", n):", "):"))
    )
    assert to_text(schedule.program) == to_text(parse(NORMALIZE.format(n="n", between="")))
    assert len(record.applied) == 1
    assert not record.refused


@pytest.mark.parametrize("second", ["nk", "kn"])
def test_loops_are_aligned_by_their_names(second):
    first = pair(second, "t[n, k] * 2.0")
    with recorded_schedules():
        schedule, record = fused(first)
    assert [each.split("(")[1].split(",")[0] for each in record.applied] == ["reorder"] * (second == "kn") + [
        "fuse_siblings"
    ] * 2
    assert str(schedule.program).count("for ") == 2
    assert violated_dependences(first, schedule) == []


@pytest.mark.parametrize(
    ("value", "loops"), [("t[N - 1 - n, k]", 4), ("t[n, K - 1 - k]", 3), ("t[n, 0]", 3), ("t[0, k]", 4)]
)
def test_only_loops_with_equal_dependent_iterations_are_fused(value, loops):
    first = pair("nk", value)
    with recorded_schedules():
        schedule, record = fused(first)
    assert str(schedule.program).count("for ") == loops
    if loops == 4:
        assert record.refused[0].reason.endswith("because: iterations depend on others of 'n'")
    assert violated_dependences(first, schedule) == []


def test_what_is_read_is_not_written_too_early():
    program = parse(to_text(pair("nk", "1.0")).replace("t[n, k] = x[n, k]", "t[n, k] = y[N - 1 - n, k]"))
    assert "depend on others" in fused(program)[1].refused[0].reason


def test_beyond_the_limit_of_isl_nests_stay_as_they_are_written(monkeypatch):
    def give_up(*args):
        raise PolyhedralLimitError("too many operations")

    monkeypatch.setattr(own_module, "coincident", give_up)
    program = pair("nk", "t[n, k]")
    schedule, record = fused(program)
    assert schedule.program is program
    assert (
        record.refused[0].reason
        == "as written because: isl does not say what depends on what: too many operations"
    )


def examples():
    for path in sorted(EXAMPLES.glob("*.tc")):
        lib = tc.define(path.read_text(encoding="utf-8"), name=path.name)
        for name in lib.functions:
            yield name, lib[name]


STEPS = {"moments": 3, "layer_norm": 4, "group_norm": 8, "softmax": 3, "wavenet_block": 3, "two_lookups": 1}


@pytest.mark.parametrize(
    ("name", "function"), list(examples()), ids=lambda each: each if isinstance(each, str) else ""
)
def test_examples_of_tensor_comprehensions(name, function):
    program = lower_analysed(function._analysed, {}, (), {}).schedule().lower()
    _, record = fused(program)
    assert len(record.applied) == STEPS.get(name, 0)
    for refusal in record.refused:
        assert (
            "would lose its register tiles" in refusal.reason or "workers would not share" in refusal.reason
        )


def test_functions_of_elements_keep_their_vectors():
    text = """
    def rows(float(N,C,T) x, float(C) w) -> (y) {
      s(n,t) +=! w(c) - x(n,c,2 * t)
      y(n,t)  = FUNCTION(s(n,t))
    }
    """
    for function, loops in (("tanh", 4), ("fabs", 3)):
        lib = tc.define(text.replace("FUNCTION", function))
        schedule, _ = fused(lower_analysed(lib.rows._analysed, {}, (), {}).schedule().lower())
        assert str(schedule.program).count("for ") == loops


def test_panels_of_a_batch_are_read_right_after_they_are_packed():
    lib = tc.define("""
    def products(float(B,M,K) x, float(B,N,K) y, float(B,M) z) -> (p, s) {
      p(b,m,n) +=! x(b,m,k) * y(b,n,k)
      s(b) +=! z(b,m)
    }
    """)
    program = lower_analysed(lib.products._analysed, {"B": 8}, (), {}).schedule().lower()
    schedule, record = fused(program)
    assert schedule.program is program
    assert [each.reason for each in record.refused] == [
        "as written because: the product 'p' would not read panels right after they are packed"
    ]


def test_a_function_of_a_row_is_computed_where_the_row_is_reduced():
    """Its vector, over rows, is less than to read all rows again; the reductions have vectors of their own."""
    lib = tc.define("""
    def rows(float(N,K) x) -> (y) {
      s(n) +=! x(n,k) * x(n,k)
      r(n) = rsqrt(s(n))
      y(n,k) = x(n,k) * r(n)
    }
    """)
    schedule, _ = fused(lower_analysed(lib.rows._analysed, {}, (), {}).schedule().lower())
    assert str(schedule.program).count("for n in ") == 1


def test_results_have_the_same_bits():
    random = np.random.default_rng(0)
    for name, function in examples():
        if name not in ("layer_norm", "softmax", "moments", "two_lookups"):
            continue
        shapes = function.shapes({each: 5 + 3 * place for place, each in enumerate(function.sizes)})
        arrays = {
            key: np.zeros(shape, np.int32) if key in ("I1", "I2") else random.random(shape, np.float32)
            for key, shape in shapes.items()
        }
        found = [
            function.compile(threads=2, options=ScheduleOptions(fuse_nests=on))(**arrays)
            for on in (True, False)
        ]
        one, other = (each if isinstance(each, dict) else {"": each} for each in found)
        for key, value in one.items():
            np.testing.assert_array_equal(value, other[key])


def test_workers_that_idle():
    assert [n for n in range(1, 25) if not are_shared(n, 2)] == [1, 3, 5, 7, 9]
    assert [n for n in range(1, 20) if are_shared(n, 4)] == [4, 8, 11, 12, 15, 16, 19]
