"""Values of sizes, from the shapes of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ragged.arith.index_intervals import value_of
from ragged.data.read import is_array
from ragged.ir.expr import Const, Expr, Ref, Var
from ragged.tc.checked import CheckedFunction, TensorVersion
from ragged.tc.errors import refuse_call
from ragged.tc.size_text import size_text
from ragged.tc.types import canonical


def sizes_of(
    function: CheckedFunction, shapes: Mapping[str, Sequence[int]], scalars: Mapping[str, object]
) -> dict[Var, int]:
    """Return the values of sizes and integer scalars, from the shapes of arrays.

    Raises:
        TcError: a rank is another than declared, two extents of one size differ, or a scalar has no such value.
    """
    sizes = scalars_of(function, scalars)
    first = {var: f"'{name}'" for name, var in function.scalars.items()}
    derived: list[tuple[str, int, int, Expr]] = []
    for name, version in function.parameters.items():
        derived += _solve(function, version, shapes[name], sizes, first)
    for what, position, extent, declared in derived:
        wanted = value_of(declared, sizes)
        if extent != max(wanted, 0):  # as results have it
            raise refuse_call(
                function,
                f"is given {what} with {extent} in dimension {position}",
                because=f"it is declared as {size_text(declared)}, which is {wanted}",
            )
    return sizes


def scalars_of(function: CheckedFunction, given: Mapping[str, object]) -> dict[Var, int]:
    """Return the values of integer scalars; raises `TcError` for what is no integer of their types."""
    found: dict[Var, int] = {}
    for name, var in function.scalars.items():
        value = given[name]
        if not isinstance(value, int | np.integer) and not (is_array(value) and _is_integer(value)):
            raise refuse_call(function, f"is given '{name}' = {value!r}, and it is an integer")
        found[var] = int(value)  # type: ignore[call-overload]
        check_scalar(function, name, found[var])
    return found


def check_rank(function: CheckedFunction, version: TensorVersion, shape: Sequence[int]) -> None:
    """Refuse an array with another number of dimensions than a parameter has."""
    if len(shape) != version.rank:
        raise refuse_call(
            function,
            f"is given '{version.name}' with {len(shape)} dimensions, and it has {version.rank}",
        )


def check_scalar(function: CheckedFunction, name: str, value: int) -> None:
    """Refuse a value of an integer scalar that its type cannot hold."""
    (type_,) = (each.type for each in function.definition.parameters if each.name == name)
    assert type_ is not None, "parameters have types"
    limits = np.iinfo(canonical(type_))
    if not limits.min <= value <= limits.max:
        raise refuse_call(function, f"is given '{name}' = {value}, and it is of type {canonical(type_)}")


def _is_integer(value: Any) -> bool:
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iu"


def _solve(
    function: CheckedFunction,
    version: TensorVersion,
    shape: Sequence[int],
    sizes: dict[Var, int],
    first: dict[Var, str],
) -> Iterator[tuple[str, int, int, Expr]]:
    """Note the sizes that are extents of an array; yield those extents that are expressions, with their places."""
    what = f"'{version.name}'"
    check_rank(function, version, shape)
    for position, (own, extent) in enumerate(zip(version.domain or (), shape, strict=True)):
        match own.upper:
            case Const(value=value):
                if extent != value:
                    raise refuse_call(
                        function, f"is given {what} with {extent} in dimension {position}, not {value}"
                    )
            case Ref(var=var):
                known = sizes.setdefault(var, int(extent))
                if known != extent:
                    raise refuse_call(
                        function,
                        f"is given {what} with {extent} in dimension {position}",
                        because=f"{first[var]} has {var.name} = {known}",
                    )
                first.setdefault(var, what)
            case declared:
                yield what, position, extent, declared
