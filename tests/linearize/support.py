"""Plans and comparisons that the linearizer's tests share."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from cortex.ilir.plan import Payload, Plan, Presence, StructureKind
from cortex.linearize import Linearized, linearize
from ragged.errors import DataError
from ragged.ir.dtype import DType
from tests.linearize import reference


def word(required: Presence = Presence.LEAVES, rows: int = 10) -> Payload:
    """Make the payload `word` of a table of so many rows."""
    return Payload("word", DType.INT32, (), required, -1, (0, rows))


def vector(required: Presence = Presence.NOWHERE, length: int = 3) -> Payload:
    """Make the payload `x` of so many floats."""
    return Payload("x", DType.FLOAT32, (length,), required, 0.0, None)


BINARY = Plan(StructureKind.TREE, 2, 2, (word(),), (0, 1))
TREE = Plan(StructureKind.TREE, 1, None, (word(Presence.NOWHERE),), ())
DAG = Plan(StructureKind.DAG, 1, None, (word(Presence.NOWHERE),), ())
SEQUENCE = Plan(StructureKind.SEQUENCE, 1, 1, (word(Presence.NOWHERE),), (0,))
BARE = Plan(StructureKind.TREE, 0, None, (), ())


def carrying(*payloads: Payload, kind: StructureKind = StructureKind.TREE) -> Plan:
    """Make a plan for any arity, of nodes that carry these."""
    return Plan(kind, 1, None, payloads, ())


def assert_same(native: Linearized, expected: Linearized) -> None:
    """Compare every field: values, dtypes, shapes, order of keys, and that the arrays are contiguous."""
    for field in dataclasses.fields(Linearized):
        given, wanted = getattr(native, field.name), getattr(expected, field.name)
        if isinstance(wanted, dict):
            assert list(given) == list(wanted), field.name
            for name in wanted:
                mine, theirs = given[name], wanted[name]
                if isinstance(theirs, int):
                    assert type(mine) is type(theirs) is int and mine == theirs, name
                else:
                    assert_same_array(mine, theirs, f"{field.name}[{name!r}]")
        elif isinstance(wanted, np.ndarray):
            assert_same_array(given, wanted, field.name)
        elif field.name == "row_keys":
            pairs = list(zip(native.keys, expected.keys, strict=True))
            assert all(a is b or (type(a) is type(b) and a == b) for a, b in pairs), pairs
        else:
            assert given == wanted, field.name


def assert_same_array(given: np.ndarray, wanted: np.ndarray, name: str) -> None:
    assert given.dtype == wanted.dtype, name
    assert given.flags.c_contiguous and given.flags.writeable, name
    np.testing.assert_array_equal(given, wanted, err_msg=name, strict=True)


def outcome(run: Any, plan: Plan, data: object, **options: Any) -> Linearized | str:
    """Return what a linearizer makes of data: its result, or the text of its refusal."""
    try:
        return run(plan, data, **options)
    except DataError as error:
        return str(error)


def check_against_reference(plan: Plan, data: object, **options: Any) -> Linearized | str:
    """Run both on the same data, see to it that they agree, and return what they agree on."""
    native = outcome(linearize, plan, data, **options)
    expected = outcome(reference.linearize, plan, data, **options)
    if isinstance(native, str) or isinstance(expected, str):
        assert native == expected
    else:
        assert_same(native, expected)
    return native
