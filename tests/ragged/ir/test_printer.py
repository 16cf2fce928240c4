"""The text of programs: what reads back as itself, and how names, scopes and parentheses come out."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.errors import ModelError
from ragged.ir.build import index
from ragged.ir.dtype import DType
from ragged.ir.equal import difference
from ragged.ir.expr import (
    Binary,
    Buffer,
    Call,
    Const,
    Dim,
    Expr,
    Function,
    Ref,
    Role,
    Select,
    Source,
    Unary,
    Var,
)
from ragged.ir.interpret import interpret
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.parser import parse
from ragged.ir.printer import annotated, expr_text, stmt_text, to_text
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import substitute
from ragged.ir.stmt import Alloc, Block, For, If, Label, Let, Stmt, Store
from ragged.ir.verify import verify
from tests.ragged.ir.strategies import Case, cases

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))
F32 = DType.FLOAT32


def program(body: Stmt, *buffers: Buffer, functions: tuple[Function, ...] = ()) -> Program:
    return Program("p", functions, buffers, (), (Stage(StageKind.KERNEL, body),))


def kernel_text(p: Program) -> str:
    return to_text(p).partition("with kernel:\n")[2]


# --- printing and parsing back


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_canonical_text_prints_as_it_was(path, golden):
    parsed = parse(path.read_text(encoding="utf-8"))
    verify(parsed)
    golden(path.name, to_text(parsed))
    assert difference(parsed, parse(to_text(parsed))) is None


@given(cases())
def test_drawn_programs_are_valid_and_print_and_parse_back(case: Case):
    verify(case.program)
    text = to_text(case.program)
    again = parse(text)
    verify(again)
    assert difference(case.program, again) is None
    assert to_text(again) == text


def test_a_program_that_is_nested_too_deeply_is_refused():
    """Found by `make fuzz-readers`: the parser reads deeper expressions than the printer prints."""
    value: Expr = Const(True, DType.BOOL)
    for _ in range(1000):
        value = Unary(UnaryOp.NOT, value)
    h = Buffer("h", DType.BOOL, (), Role.OUTPUT)
    with pytest.raises(ModelError) as refusal:
        to_text(program(Store(Label("h"), h, (), value), h))
    assert str(refusal.value) == (
        "'p' cannot be printed: something is nested too deeply\n  fix: a name for a part of the expression"
    )


@given(cases())
def test_drawn_programs_run_and_parsed_ones_do_the_same(case: Case):
    expected = interpret(case.program, case.sizes, case.arrays, seed=1)
    again = interpret(parse(to_text(case.program)), case.sizes, case.arrays, seed=2)
    assert expected.keys() == again.keys()
    for name, array in expected.items():
        assert array.tobytes() == again[name].tobytes(), name


VARS = {"i": Var("i"), "j": Var("j"), "b": Var("b", DType.BOOL), "y": Var("y", F32)}
PARSED = {
    DType.INT64: st.sampled_from((Ref(VARS["i"]), Ref(VARS["j"]), Const(0), Const(-3))),
    DType.BOOL: st.sampled_from((Ref(VARS["b"]), Const(True, DType.BOOL))),
    F32: st.sampled_from((Ref(VARS["y"]), Const(-0.0, F32), Const(float("-inf"), F32), Const(1e-7, F32))),
}


def expressions(dtype: DType) -> st.SearchStrategy[Expr]:
    """Expressions over all operators that have a place in Python's grammar."""

    def deeper(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        operators = {
            DType.INT64: (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.MOD, BinaryOp.MIN),
            DType.BOOL: (BinaryOp.AND, BinaryOp.OR, BinaryOp.EQ, BinaryOp.NE),
            F32: (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.DIV),
        }[dtype]
        unary = UnaryOp.NOT if dtype is DType.BOOL else UnaryOp.NEG
        conditions = inner if dtype is DType.BOOL else PARSED[DType.BOOL]
        return st.one_of(
            st.builds(Binary, st.sampled_from(operators), inner, inner),
            st.builds(Unary, st.just(unary), inner),
            st.builds(Select, conditions, inner, inner),
        )

    return st.recursive(PARSED[dtype], deeper, max_leaves=12)


@given(st.sampled_from(list(PARSED)).flatmap(expressions))
def test_expressions_parse_back_and_no_parentheses_can_go(expr: Expr):
    text = expr_text(expr)
    assert read(text) == read(f"({text})")
    assert repr(read(text)) == repr(expr)
    for start in (k for k, c in enumerate(text) if c == "(" and (k == 0 or not text[k - 1].isalpha())):
        bare = (
            text[:start]
            + " "
            + text[start + 1 : closing(text, start)]
            + " "
            + text[closing(text, start) + 1 :]
        )
        assert repr(read_or_none(bare)) != repr(expr), f"{text} could be {bare}"


def closing(text: str, start: int) -> int:
    depth = 0
    for k in range(start, len(text)):
        depth += (text[k] == "(") - (text[k] == ")")
        if depth == 0:
            return k
    raise AssertionError("unbalanced")


def read(text: str) -> Expr:
    """Parse an expression over VARS; its variables are those."""
    kernel = f"    i = 0\n    j = 0\n    b = True\n    y = 0.0\n    value = {text.strip()}\n"
    let = parse(f'program("p")\nwith kernel:\n{kernel}').kernel
    values = {}
    while let.var.name != "value":
        values[let.var] = Ref(VARS[let.var.name])
        let = let.body
    return substitute(let.value, values)


def read_or_none(text: str) -> Expr | None:
    try:
        return read(text)
    except ModelError:
        return None


# --- names


def test_names_that_clash_or_are_none_are_made_names():
    loops = [Var(name) for name in ("n", "n", "1st", "x.y", "in", "", "exp", "ﬁ")]
    body: Stmt = Block()
    for var in reversed(loops):
        body = For(var, index(1), body)
    text = kernel_text(program(body))
    names = [line.split()[1] for line in text.splitlines() if "for" in line]
    assert names == ["n", "n_1", "_1st", "x_y", "in_", "_", "exp_1", "fi"]
    assert difference(program(body), parse(to_text(program(body)))) is None


def test_a_name_is_free_again_after_its_scope():
    body = Block((For(Var("n"), index(1), Block()), For(Var("n"), index(2), Block())))
    assert kernel_text(program(body)).count("for n in") == 2


def test_dims_labels_and_values_share_no_names():
    h = Buffer("n", F32, (index(2),), Role.OUTPUT, dims=(Dim("n"),))
    n = Var("n")
    body = For(n, index(2), Store(Label("n"), h, (Ref(n),), Const(0.0, F32)), dim=Dim("n"))
    assert to_text(program(body, h)) == (
        'program("p")\n\nn: output(float32[2], dims=(n,))\n\n'
        "with kernel:\n    for n_1 in serial(2, n_1):\n        n[n_1] = 0.0\n"
    )


# --- scopes


def test_a_let_that_ends_before_its_suite_is_a_scope_of_its_own():
    x, y = Var("x"), Var("x")
    h = Buffer("h", DType.INT64, (), Role.OUTPUT)
    ends = Block((Let(x, index(1), store(h, x)), store(h, 2)))
    lasts = Let(y, index(1), Block((store(h, y), store(h, 2))))
    assert kernel_text(program(ends, h)) == (
        "    with scope:\n        x = 1\n        h[()] = x\n    h[()] = 2\n"
    )
    assert kernel_text(program(lasts, h)) == "    x = 1\n    h[()] = x\n    h[()] = 2\n"
    assert difference(program(ends, h), program(lasts, h)) is not None
    for body in (ends, lasts):
        assert difference(program(body, h), parse(to_text(program(body, h)))) is None


def store(buffer: Buffer, value: int | Var) -> Store:
    return Store(Label(buffer.name), buffer, (), index(value))


def test_empty_bodies_are_pass_or_nothing():
    acc = Buffer("acc", F32, (), Role.LOCAL)
    body = If(Const(True, DType.BOOL), Alloc(acc, Block()), Block())
    assert kernel_text(program(body)) == (
        "    if True:\n        acc = local(float32[()])\n    else:\n        pass\n"
    )
    assert difference(program(body), parse(to_text(program(body)))) is None


def test_parts_of_programs_print_alone():
    n = Var("n")
    loop = For(n, index(2), Let(Var("n"), Ref(n), Block()))
    assert stmt_text(loop) == "for n in serial(2):\n    n_1 = n"
    assert (
        expr_text(Binary(BinaryOp.SUB, Ref(n), Binary(BinaryOp.ADD, Ref(Var("n")), Const(-1))))
        == "n - (n_1 + -1)"
    )


def test_a_note_stands_under_a_statement_a_label_or_a_declaration():
    rows = Function("rows", (), Source.INPUT)
    h = Buffer("h", DType.INT64, (), Role.OUTPUT)
    first, second = store(h, 1), store(h, 1)
    p = program(Block((first, second)), h, functions=(rows,))
    shown = (
        'program("p")\n\nrows: input()\nh: output(int64[()])\n\nwith kernel:\n    h[()] = 1\n    h[()] = 1\n'
    )
    assert annotated(p, second, "here") == f"{shown}    ^^^^^^^^^ here\n"
    assert annotated(p, second.label, "here") == f"{shown}    ^^^^^^^^^ here\n"
    assert annotated(p, rows, "here") == shown.replace("()\nh", "()\n^^^^^^^^^^^^^ here\nh", 1)
    assert annotated(p, None, "nowhere") == f"{shown}^ nowhere\n"


def test_a_size_without_arguments_is_a_name():
    assert expr_text(Call(Function("rows", (), Source.CALL))) == "rows"
