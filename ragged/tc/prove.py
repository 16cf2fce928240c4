"""What the prover says of accesses: which are in bounds for all sizes and all data, and which need a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from ragged.ir.build import within
from ragged.ir.expr import Binary, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.walk import reads_memory, variables
from ragged.prove import Proof, Prover
from ragged.tc.accesses import DimensionAccess, accesses_of
from ragged.tc.checked import CheckedFunction, CheckedStatement, IndexRange


class Outcome(Enum):
    """How an access is kept in bounds."""

    PROVEN = "proven"
    SIZES = "checked once a call"
    DATA = "checked for each element"


@dataclass(frozen=True, slots=True)
class AccessCheck:
    """An access of a statement, and how it is kept in bounds."""

    statement: CheckedStatement
    access: DimensionAccess
    outcome: Outcome


def check_accesses(function: CheckedFunction) -> list[AccessCheck]:
    """Return the outcome for each access; the ranges of the function's indices are known."""
    found: dict[tuple[CheckedStatement, Expr, object], AccessCheck] = {}
    for statement in function.statements:
        for access in accesses_of(function, statement):
            key = statement, access.goal, access.version
            if key not in found:
                found[key] = AccessCheck(statement, access, _outcome(function, statement, access))
    return list(found.values())


def _outcome(function: CheckedFunction, statement: CheckedStatement, access: DimensionAccess) -> Outcome:
    if _is_plain(statement, access) or holds(function, access.goal, statement.ranges):
        return Outcome.PROVEN
    indices = statement.all_indices
    varies = not (access.domain is None or access.domain.is_fixed(indices)) or any(
        not statement.ranges[var].is_fixed(indices) for var in variables(access.index) & set(indices)
    )
    reads = reads_memory(access.goal)
    return Outcome.DATA if reads or varies or access.condition is not None else Outcome.SIZES


def _is_plain(statement: CheckedStatement, access: DimensionAccess) -> bool:
    """Return whether an access is at an index that ranges over the whole domain."""
    index = access.index
    return isinstance(index, Ref) and statement.ranges.get(index.var) == access.domain


def holds(function: CheckedFunction, goal: Expr, ranges: dict[Var, IndexRange]) -> bool:
    """Return whether a goal is proven for all sizes, and for all values of indices in their ranges."""
    conditions = [within(Ref(var), own.lower, own.upper) for var, own in ranges.items()]
    conditions += [Binary(BinaryOp.GE, Ref(size), Const(0)) for size in function.sizes.values()]
    return isinstance(_prover().prove(goal, conditions=conditions), Proof)


def covers(function: CheckedFunction, outer: Sequence[IndexRange], inner: Sequence[IndexRange]) -> bool:
    """Return whether ranges are proven to include others, dimension by dimension."""
    return all(
        holds(function, Binary(BinaryOp.LE, one.lower, other.lower), {})
        and holds(function, Binary(BinaryOp.LE, other.upper, one.upper), {})
        for one, other in zip(outer, inner, strict=True)
        if one != other
    )


@lru_cache(maxsize=1)
def _prover() -> Prover:
    return Prover(Program("tc", (), (), (), ()))
