"""What `verify` refuses. Each file in invalid/ is an illegal program with the note that it must get under its culprit.

Those that no text can say are built here.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from ragged.errors import InternalError
from ragged.ir.build import add, index
from ragged.ir.dtype import DType
from ragged.ir.expr import Buffer, Call, Const, Function, Load, Param, Ref, Role, Source, Var
from ragged.ir.facts import Range
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.ir.pointer_facts import Follows, Uniform
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import Alloc, Barrier, Block, For, Label, Let, Reduce, Stmt, Store
from ragged.ir.verify import CHECKS, verify

INVALID = sorted((Path(__file__).parent / "invalid").glob("*.txt"))
FIX = "\n  fix: this is a fault of ours; please report it with this message"

F32 = DType.FLOAT32
ROWS = Function("rows", (), Source.INPUT)
H = Buffer("h", F32, (index(ROWS),), Role.OUTPUT)
ZERO = Const(0.0, F32)


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_illegal_program_is_refused_with_a_note_under_the_culprit(path):
    shown = path.read_text(encoding="utf-8")
    lines = shown.splitlines(keepends=True)
    (note,) = (line.lstrip(" ^").rstrip("\n") for line in lines if line.lstrip().startswith("^"))
    program = parse("".join(line for line in lines if not line.lstrip().startswith("^")))
    with pytest.raises(InternalError) as refusal:
        verify(program)
    assert str(refusal.value) == f"'p' is not a valid program: {note}\n\n{shown}{FIX}"


def program(body: Stmt, *, functions=(ROWS,), buffers=(H,), facts=()) -> Program:
    return Program("p", tuple(functions), tuple(buffers), tuple(facts), (Stage(StageKind.KERNEL, body),))


def store(value=ZERO, at=None, label=None, buffer=H) -> Store:
    return Store(label or Label("h"), buffer, (index(0) if at is None else at,), value)


def reduction(**changes) -> Reduce:
    (stage,) = parse('program("p")\nh: output(float32[2])\nwith kernel:\n    h[0] += 1.0\n').stages
    return replace(stage.body, buffer=H, **changes)


def recursive() -> Function:
    n = Var("n")
    function = Function("f", (Param(n, index(4)),), Source.EXPRESSION, Ref(n))
    object.__setattr__(function, "body", Call(function, (Ref(n),)))
    return function


def local(name: str) -> Buffer:
    return Buffer(name, F32, (index(1),), Role.LOCAL)


LOOP, ACC, LABEL = Var("i"), local("acc"), Label("h")
LATER = Function("later", (Param(Var("n"), index(ROWS)),), Source.INPUT)
SHARED = Var("n")
ONE = Function("one", (Param(SHARED, index(2)),), Source.INPUT)
TWO = Function("two", (Param(SHARED, index(2)),), Source.INPUT)
OF_LATER = Function("of_later", (Param(Var("n"), Call(LATER, (index(0),))),), Source.INPUT)
OF_VAR = Function("of_var", (Param(Var("n"), Ref(LOOP)),), Source.INPUT)
OF_LOAD = Function("of_load", (Param(Var("n"), index(2)),), Source.EXPRESSION, Load(H, (index(0),)), F32)
ALIAS = Buffer("alias", F32, (index(1),), Role.WORKSPACE, aliases=H)

BUILT = {
    "a function twice": (program(Block(), functions=(ROWS, ROWS)), "'rows' is declared twice"),
    "a buffer twice": (program(Block(), buffers=(H, H)), "'h' is declared twice"),
    "a function before what it uses": (
        program(Block(), functions=(ROWS, OF_LATER, LATER)),
        "'later' is not declared before it is used",
    ),
    "a function of a variable": (
        program(Block(), functions=(ROWS, OF_VAR)),
        "'i' is no parameter of this declaration",
    ),
    "a function that reads": (
        program(Block(), functions=(ROWS, OF_LOAD)),
        "a declaration reads a buffer: h[0]",
    ),
    "a recursive function": (program(Block(), functions=(ROWS, recursive())), "'f' is defined by itself"),
    "a buffer of an undeclared size": (
        program(Block(), functions=()),
        "'rows' is not declared before it is used",
    ),
    "a buffer with a dimension too many": (
        program(Block(), buffers=(replace(H, dims=(None, None)),)),
        "'h' has 1 dimensions and names 2",
    ),
    "an alias of what is not there": (
        program(Block(), buffers=(ALIAS, H)),
        "'h' is not declared before its alias",
    ),
    "a fact of an undeclared function": (
        program(Block(), facts=(Range(LATER, index(0), index(1)),)),
        "a fact is about 'later', which is not declared",
    ),
    "a fact through an undeclared function": (
        program(Block(), functions=(ROWS, ONE), facts=(Follows(ONE, ONE, ONE, LATER),)),
        "a fact is about 'later', which is not declared",
    ),
    "a fact of an undeclared range": (
        program(Block(), functions=(ROWS, ONE), facts=(Uniform.of(ONE, BinaryOp.EQ, index(1), ONE, LATER),)),
        "a fact is about 'later', which is not declared",
    ),
    "a comparison with a foreign variable": (
        program(Block(), functions=(ROWS, ONE), facts=(Uniform.of(ONE, BinaryOp.EQ, Ref(LOOP), ONE, ONE),)),
        "'i' is no parameter of this declaration",
    ),
    "a fact with a foreign variable": (
        program(Block(), functions=(ROWS, ONE), facts=(Range(ONE, Ref(LOOP), index(1)),)),
        "'i' is no parameter of this declaration",
    ),
    "a parameter of two functions": (program(Block(), functions=(ROWS, ONE, TWO)), "'n' is bound twice"),
    "a variable of two loops": (
        program(Block((For(LOOP, index(1), Block()), For(LOOP, index(1), Block())))),
        "'i' is bound twice",
    ),
    "a variable of a parameter and a let": (
        program(Let(SHARED, index(0), Block()), functions=(ROWS, ONE)),
        "'n' is bound twice",
    ),
    "an allocation of what is declared": (
        program(Alloc(H, Block())),
        "'h' is allocated and is not local",
    ),
    "a local twice": (program(Block((Alloc(ACC, Block()), Alloc(ACC, Block())))), "'acc' is allocated twice"),
    "a label twice": (
        program(Block((store(label=LABEL), Barrier(LABEL)))),
        "the label 'h' is on another statement as well",
    ),
    "a variable after its loop": (
        program(Block((For(LOOP, index(1), Block()), store(at=Ref(LOOP))))),
        "'i' is not bound here",
    ),
    "a variable in its own let": (program(Let(LOOP, add(Ref(LOOP), 1), Block())), "'i' is not bound here"),
    "a local before its allocation": (
        program(Block((store(buffer=ACC), Alloc(ACC, Block())))),
        "'acc' is not declared, or out of its scope",
    ),
    "a load of a local out of its scope": (
        program(Block((Alloc(ACC, Block()), store(Load(ACC, (index(0),)))))),
        "'acc' is not declared, or out of its scope",
    ),
    "a start that reads what is out of its scope": (
        program(reduction(init=Load(ACC, (index(0),)))),
        "'acc' is not declared, or out of its scope",
    ),
    "a call of an undeclared function": (
        program(store(at=Call(LATER, (index(0),)))),
        "'later' is not declared",
    ),
    "an index too many": (
        program(replace(store(), indices=(index(0), index(0)))),
        "'h' has 1 dimensions, not 2",
    ),
    "a loop that is not around": (
        program(reduction(axes=(LOOP,))),
        "it reduces over 'i', which is no loop around it",
    ),
    "a let of another dtype": (
        program(Let(Var("y", F32), index(0), Block())),
        "'y' must be float32: 0 is int64",
    ),
    "a loop over an int32": (
        program(For(Var("y", DType.INT32), index(1), Block())),
        "a loop's variable must be int64: y is int32",
    ),
    "a number that is a bool": (program(store(Const(True, F32))), "this is no float32: 1.0"),
    "a bool that is a number": (
        program(Let(Var("b", DType.BOOL), Const(1, DType.BOOL), Block())),
        "this is no bool: True",
    ),
}


@pytest.mark.parametrize("name", BUILT)
def test_an_illegal_program_that_no_text_says_is_refused(name):
    illegal, note = BUILT[name]
    with pytest.raises(InternalError) as refusal:
        verify(illegal)
    message = str(refusal.value)
    assert message.startswith(f"'p' is not a valid program: {note}\n\nprogram(\"p\")\n")
    assert f"^ {note}\n" in message


def test_every_check_refuses_something():
    programs = [parse(_without_notes(path)) for path in INVALID] + [illegal for illegal, _ in BUILT.values()]
    refusing = {check for check in CHECKS for illegal in programs if _refuses(check, illegal)}
    assert refusing == set(CHECKS)


def _without_notes(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.lstrip().startswith("^"))


def _refuses(check, illegal: Program) -> bool:
    try:
        check(illegal)
    except InternalError:
        return True
    return False
