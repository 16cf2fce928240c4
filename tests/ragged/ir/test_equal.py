"""Equality up to names: what is equal under other names, and every change that is seen."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from ragged.ir.build import index
from ragged.ir.dtype import DType
from ragged.ir.equal import difference
from ragged.ir.expr import Buffer, Const, Dim, Ref, Role, Var
from ragged.ir.parser import parse
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import Rewriter
from ragged.ir.stmt import Block, For, If, Label, Let, Stmt, Store
from tests.ragged.ir.strategies import programs

TEXT = (Path(__file__).parent / "golden" / "all_constructs.txt").read_text(encoding="utf-8")
F32 = DType.FLOAT32


def kernel(body: Stmt, *buffers: Buffer) -> Program:
    return Program("p", (), buffers, (), (Stage(StageKind.KERNEL, body),))


@given(programs())
def test_a_program_equals_itself_rebuilt(program: Program):
    assert difference(program, program) is None
    assert difference(program, Rewriter().program(program).program) is None


ONE = """
program("one")

rows: input()
first: input(r < rows) = facts(0 <= first(r) < rows)
h: output(float32[rows, 4], dims=(N, K))

with kernel:
    for r in parallel(rows, N):
        at = first(r)
        acc = local(float32[4])
        for k in serial(4, K):
            acc[k]: acc.init = 1.0
            h[at, k] += acc[k]
"""

OTHER = """
program("other")

n: input()
f: input(n_1 < n) = facts(0 <= f(n_1) < n)
out: output(float32[n, 4], dims=(k, N))

with kernel:
    for k in parallel(n, k):
        x = f(k)
        acc_1 = local(float32[4])
        for y in serial(4, N):
            acc_1[y] = 1.0
            out[x, y]: step.sum = reduce(sum, acc_1[y], over=(), init=0.0)
"""


def test_names_do_not_matter():
    assert difference(parse(ONE.replace("+= acc[k]", "= reduce(sum, acc[k], over=())")), parse(OTHER)) is None


CHANGES = {
    "rows > 0 and": ("rows >= 0 and", "stages[2].body[0].condition.lhs.op"),
    "{0} rows": ("{0} columns", "stages[2].body[0].message"),
    "storage=float32": ("storage=float64", "functions[2].storage"),
    "storage=int64": ("storage=int32", "functions[3].storage"),
    "place: payload": ("place: input", "functions[6].source"),
    "monotone(strict=True)": ("monotone()", "facts[7][0].strict"),
    "injective(), ": ("", "facts[6][0]"),
    ", via=child_begin": ("", "facts[9][0].via"),
    "<= rank": ("<= rank", None),
    "order=(1, 0)": ("order=(0, 1)", "buffers[0].order[0]"),
    "align=32": ("align=16", "buffers[0].align"),
    "dims=(K, None)": ("dims=(None, K)", "buffers[0].dims[0]"),
    "offset(rows), 8], dims=(N, K)": ("offset(rows), 8], dims=(N, N)", "buffers[3].dims[1]"),
    "packed: bound": ("packed: workspace", "buffers[1].role"),
    ", aliases=h": ("", "buffers[7].aliases"),
    "scope=register": ("scope=shared", "buffer.scope"),
    "unrolled(8)": ("serial(8)", "stages[0].body.body.kind"),
    "serial(8, K)": ("serial(8)", "stages[0].body.dim"),
    "with prelude:\n    pass\n\n": ("", "stages[1].kind"),
    "float64(w[i, j])": ("float64(w[j, i])", "value.operand.indices[0].var"),
    "const(1, int32) + count": ("const(2, int32) + count", "value.lhs"),
    "reduce(max, x": ("reduce(min, x", "combiner"),
    "else nan)": ("else inf)", "init.if_false"),
    "over=(), init": ("init", "axes"),
    "* -1e-07": ("* 1e-07", "value.rhs.rhs"),
    "fma(w[k, 0], w[0, k]": ("fma(w[k, 0], w[k, 0]", "value.lhs.b.indices[0]"),
    "barrier(block)": ("barrier(team)", "scope"),
    "elif not small(r) == flags[r]:\n                pass\n            else": ("else", "body[1].orelse"),
    "low[0] = total[()]": ("pass", "stages[2].body[1]"),
}


@pytest.mark.parametrize("old", CHANGES)
def test_a_change_is_seen_where_it_is(old):
    new, place = CHANGES[old]
    assert TEXT.count(old) == 1 or place is None
    found = difference(parse(TEXT), parse(TEXT.replace(old, new)))
    assert (found is None) == (place is None)
    assert place is None or place in found.partition(":")[0], found


def test_a_difference_says_both_sides():
    assert difference(parse(TEXT), parse(TEXT.replace("low[0]", "low[1]"))).endswith(
        ".indices[0]: '0' against '1'"
    )


def test_symbols_correspond_one_to_one():
    a, b = (Buffer(name, F32, (), Role.OUTPUT) for name in "ab")
    zero = Const(0.0, F32)

    def stores(first: Buffer, second: Buffer) -> Program:
        return kernel(Block((Store(Label("s"), first, (), zero), Store(Label("t"), second, (), zero))), a, b)

    assert difference(stores(a, b), stores(b, a)) == "stages[0].body[0].buffer: 'a' against 'b'"
    assert difference(stores(a, b), stores(a, a)) == "stages[0].body[1].buffer: 'b' against 'a'"
    assert difference(stores(a, a), stores(a, b)) == "stages[0].body[1].buffer: 'a' against 'b'"


def test_a_dim_that_two_loops_share_is_not_two_dims():
    def loops(first: Dim, second: Dim) -> Program:
        return kernel(Block(tuple(For(Var("i"), index(1), Block(), dim=dim) for dim in (first, second))))

    one, two = Dim("N"), Dim("N")
    assert difference(loops(one, one), loops(one, two)) == "stages[0].body[1].dim: 'N' against 'N'"
    assert difference(loops(one, two), loops(two, one)) is None


def test_constants_are_compared_as_they_print():
    def value(number: float, dtype: DType = F32) -> Program:
        return kernel(Let(Var("y", dtype), Const(number, dtype), Block()))

    assert difference(value(float("nan")), value(float("nan"))) is None
    assert difference(value(1), value(1.0)) is None
    assert difference(value(0.0), value(-0.0)) is not None
    assert difference(value(0.0), value(0.0, DType.FLOAT64)) is not None


def test_how_blocks_nest_does_not_matter_but_scopes_do():
    x = Var("x")
    check, empty = If(Const(True, DType.BOOL), Block()), Block()
    assert difference(kernel(check), kernel(Block((empty, Block((check,)))))) is None
    assert difference(kernel(check), kernel(Block((check, check)))) is not None
    assert difference(kernel(replace(check, orelse=empty)), kernel(check)) is not None
    ends = Block((Let(x, index(1), check), check))
    lasts = Let(x, index(1), Block((check, check)))
    assert difference(kernel(ends), kernel(lasts)) is not None


def test_a_variables_dtype_matters():
    a, b = Var("x"), Var("x", F32)
    assert difference(kernel(For(a, Ref(a), Block())), kernel(For(b, Ref(b), Block()))) == (
        "stages[0].body.var.dtype: <DType.INT64: 'int64'> against <DType.FLOAT32: 'float32'>"
    )
