"""The largest range of an index, and what has none."""

import pytest

from ragged.ir.build import add, sub
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Const, Load, Ref, Role, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.polyhedral.context import MAX_OPERATIONS, PolyhedralLimitError
from ragged.polyhedral.largest_range import BoundedIndex, largest_range

N, M, i, j = (Var(name) for name in "NMij")
ZERO = Const(0)


def below(index, size, condition=None):
    return BoundedIndex(index, ZERO, Ref(size), condition)


def found(bounded, known=None):
    own = largest_range(i, bounded, known or {}, (N, M))
    return None if own is None else tuple(map(expr_text, own))


def test_all_bounds_intersect():
    assert found([below(Ref(i), N), below(add(Ref(i), 1), M)]) == ("0", "min(M - 1, N)")


def test_the_other_indices_are_universal():
    assert found([below(add(Ref(i), j), N)], {j: (ZERO, Ref(M))}) == ("0", "N - M + 1")
    assert found([below(sub(Ref(i), j), N)], {j: (ZERO, Ref(M))}) == ("M - 1", "N")


def test_a_condition_that_does_not_hold_bounds_nothing():
    later = sub(Ref(i), 3)
    condition = Binary(BinaryOp.GE, later, ZERO)
    assert found([below(Ref(i), N), below(later, N, condition)]) == ("0", "N")
    assert found([below(later, N, condition)]) is None


def test_products_of_sizes_are_parameters():
    both = Binary(BinaryOp.MUL, Ref(N), Ref(M))
    assert found([BoundedIndex(add(Ref(i), 2), ZERO, both)]) == ("-2", "N * M - 2")


def test_gaps_are_no_range():
    rest = Binary(BinaryOp.MOD, Ref(i), Const(2))
    assert found([BoundedIndex(rest, ZERO, Const(1)), below(Ref(i), N)]) is None


@pytest.mark.parametrize(
    "index",
    [
        Binary(BinaryOp.MUL, Ref(i), Ref(N)),
        Load(Buffer("at", DType.INT64, (Ref(N),), Role.PAYLOAD), (Ref(i),)),
    ],
)
def test_what_isl_cannot_express(index):
    with pytest.raises(PolyhedralLimitError):
        found([below(index, M)])


def test_work_is_bounded():
    import ragged.polyhedral.context as context

    found([below(Ref(i), N)])  # makes this thread's context
    context._local.context.set_max_operations(10)
    try:
        with pytest.raises(PolyhedralLimitError):
            found([below(add(Ref(i), j), N)], {j: (ZERO, Ref(M))})
    finally:
        context._local.context.reset_operations()
        context._local.context.set_max_operations(MAX_OPERATIONS)
    assert found([below(Ref(i), N)]) == ("0", "N")
