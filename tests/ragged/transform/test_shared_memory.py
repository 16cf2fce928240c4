"""Primitives that change a buffer refuse one with another name in the program, and one of another program."""

import pytest

from ragged.ir.expr import Const
from ragged.ir.parser import parse
from ragged.transform.code.compute_at import compute_at
from ragged.transform.code.inline import inline
from ragged.transform.storage.cache_read import cache_read
from ragged.transform.storage.expand_storage import expand_storage
from ragged.transform.storage.keep_on_chip import keep_on_chip
from ragged.transform.storage.pack import pack
from ragged.transform.storage.read_in_place import read_in_place
from ragged.transform.storage.rebase_storage import rebase_storage
from ragged.transform.storage.recycle_storage import recycle_storage
from ragged.transform.storage.row_map import RowRange
from ragged.transform.storage.set_order import set_order
from tests.ragged.transform.data_support import declared, local
from tests.ragged.transform.support import loop, refused

TEXT = """\
program("names")

t: workspace(float32[4, 8])
other: workspace(float32[4, 8], aliases=t)
y: output(float32[4, 8])

with kernel:
    for m in serial(4):
        for i in serial(8):
            t[m, i] = 1.0
    for n in serial(4):
        for j in serial(8):
            y[n, j] = t[n, j]
"""
SHARED = parse(TEXT)
ALONE = parse(TEXT.replace(", aliases=t", ""))
ROWS = RowRange(Const(0), Const(4), Const(0))
ARGUMENTS = {
    compute_at: lambda program: (loop(program, "n"),),
    inline: lambda program: (),
    cache_read: lambda program: (loop(program, "j"),),
    keep_on_chip: lambda program: (),
    pack: lambda program: ("packed", [(1, 4)], (0, 1, 2)),
    read_in_place: lambda program: ("begin", "size"),
    rebase_storage: lambda program: (0, loop(program, "n"), Const(0), Const(4), Const(4)),
    recycle_storage: lambda program: (0, loop(program, "n"), ROWS, None, None),
    set_order: lambda program: ((1, 0),),
}


@pytest.mark.parametrize("primitive", ARGUMENTS, ids=lambda each: each.__name__)
@pytest.mark.parametrize(("name", "other"), [("t", "other"), ("other", "t")])
def test_a_buffer_with_another_name_is_refused(primitive, name, other):
    said = refused(primitive, SHARED, declared(SHARED, name), *ARGUMENTS[primitive](SHARED))
    assert said.startswith(f"{primitive.__name__}: '{name}' shares its memory with '{other}'\n")


@pytest.mark.parametrize("primitive", ARGUMENTS, ids=lambda each: each.__name__)
def test_a_buffer_of_another_program_is_refused(primitive):
    said = refused(primitive, ALONE, declared(SHARED, "y"), *ARGUMENTS[primitive](ALONE))
    assert said.startswith(f"{primitive.__name__}: the program has no buffer 'y'\n")


def test_an_allocation_with_another_name_is_refused():
    line = "            y[n, j] = t[n, j]\n"
    program = parse(
        TEXT.replace(
            line,
            "            u = local(float32[1])\n            v = local(float32[1], aliases=u)\n"
            "            u[0] = t[n, j]\n            y[n, j] = v[0]\n",
        )
    )
    assert "shares its memory with 'v'" in refused(
        expand_storage, program, local(program, "u"), loop(program, "j")
    )
