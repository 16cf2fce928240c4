"""The predicted bytes of variants are those of the machine code, within a tenth."""

import pytest

from ragged.auto import default_schedule
from ragged.auto.columns import outermost
from ragged.auto.cost import Product
from ragged.auto.cover import Cover, Variant
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.microkernel import Candidate, MicroKernel, Remainder
from ragged.auto.row_variants import RowPlan
from ragged.codegen.build import generate_together
from ragged.codegen.elf import symbol_bytes
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.processors import PROCESSORS
from tests.ragged.auto.test_row_variants import dense

EXACT, BALANCE, OVERLAP = Remainder.EXACT, Remainder.BALANCE, Remainder.OVERLAP


@pytest.mark.parametrize(
    ("name", "vectors", "variants"),
    [
        ("znver4", 4, [(None, 6, BALANCE)]),
        ("znver4", 3, [(None, 8, EXACT)]),
        ("znver4", 3, [(8, 1, EXACT), (None, 8, OVERLAP)]),
        ("znver4", 3, [(2, 1, EXACT), (4, 2, OVERLAP), (8, 4, OVERLAP), (None, 8, OVERLAP)]),
        ("haswell", 2, [(None, 6, BALANCE)]),
        ("haswell", 2, [(None, 4, EXACT)]),
    ],
)
def test_predicted_bytes_are_those_of_the_code(monkeypatch, name, vectors, variants):
    machine = PROCESSORS[name]
    columns = 8 * vectors * machine.lanes(4)
    program = dense(columns=columns, depth=256)
    (loop,) = outermost(program)
    found = tuple(
        Variant(below, Candidate(MicroKernel(rows, vectors), tail)) for below, rows, tail in variants
    )
    plan = RowPlan(loop.var, loop.extent, (Product(columns, 256),), vectors, Cover(found, 0, 1.0), ())
    monkeypatch.setattr(default_schedule, "plan_rows", lambda *_: (plan,))
    scheduled = fuse_multiply_add(DefaultSchedule(machine)(program).program).program
    (generated,) = generate_together((scheduled,), f"llvm -mcpu={name} -mtriple=x86_64-linux-gnu")
    actual = symbol_bytes(generated.object_code())["dense_kernel_compute_"]
    predicted = sum(each.code_bytes(machine) for each in found)
    assert predicted == pytest.approx(actual, rel=0.12)
