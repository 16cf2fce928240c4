"""The search space: options of the default schedule with the values to try, as points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeAlias, TypeVar

from ragged.auto.options import REMAINDERS, ScheduleOptions
from ragged.errors import UserError
from ragged.machine import Machine

O = TypeVar("O", bound=ScheduleOptions)  # noqa: E741
Grid: TypeAlias = Mapping[str, Sequence[object]]
"""Values to try, by the name of an option."""
Point: TypeAlias = tuple[int, ...]
"""For each dimension of a space the position of a value."""

LOOPS: Grid = {
    "reduction_unroll": (1, 2, 4),
    "scalar_reduction_unroll": (1,),
    "tile": ((4, 4), (6, 4), (8, 2), (12, 2), (4, 6)),
    "slice_vectors": (2, 4),
    "row_vectors": (4,),
    "rows_per_tile": (1, 8),
    "share_columns": (False,),
    "replicate_rows": (False,),
    "fuse_nests": (False,),
    "per_node_matrices": (False,),
    "min_rows_per_worker": (4, 64),
}
"""Values of options of loops, besides the defaults, for a search of one option after another."""


@dataclass(frozen=True, slots=True)
class Space(Generic[O]):
    """Points of options: those of `base`, with each named option set to one of its values; the first is that of `base`.

    Raises:
        UserError: a name is no option, or values are no list or not legal.
    """

    base: O
    values: Mapping[str, tuple[object, ...]]

    @classmethod
    def of(cls, grid: Grid, base: O) -> Space[O]:
        """Return the space of a grid's values and those of `base`."""
        check_grid(grid, base)
        return cls(
            base,
            {name: tuple(dict.fromkeys((getattr(base, name), *values))) for name, values in grid.items()},
        )

    @property
    def extents(self) -> tuple[int, ...]:
        """How many values each dimension has."""
        return tuple(map(len, self.values.values()))

    def options(self, point: Point) -> O:
        """Return the options of a point."""
        pairs = zip(self.values.items(), point, strict=True)
        return _replaced(self.base, {name: values[place] for (name, values), place in pairs})

    def point(self, options: O) -> Point | None:
        """Return the point of options; None if they are outside of the space."""
        if _replaced(options, {name: getattr(self.base, name) for name in self.values}) != self.base:
            return None
        places = []
        for name, values in self.values.items():
            if (value := getattr(options, name)) not in values:
                return None
            places.append(values.index(value))
        return tuple(places)


def default_space(machine: Machine) -> Grid:
    """Return the values that `ragged.tune` tries without `space=`.

    Register tiles are of one to eight vectors. Their accumulators, operands and one broadcast fit in the machine's
    registers, and they have at least half of the rows that fit: with fewer rows operands are read more often.
    """
    tiles = []
    for vectors in range(1, 9):
        most = (machine.vector_registers - vectors - 1) // vectors
        tiles += [(rows, vectors) for rows in range(max(2, (most + 1) // 2), most + 1)]
    return {
        "tile": tuple(tiles),
        "remainder": REMAINDERS,
        "reduction_unroll": (1, 2, 4, 8),
        "slice_vectors": (2, 4, 8),
        "row_vectors": (4, 8),
        "share_columns": (True, False),
        "min_rows_per_worker": (4, 16, 64),
    }


def check_grid(grid: Grid, base: ScheduleOptions) -> None:
    """Raise `UserError` for what is no mapping, a name that `base` has not, or values that are no legal list."""
    known = [each.name for each in fields(base)]
    if not isinstance(grid, Mapping):
        raise UserError(f"tune: space={grid!r} names no options", fix="{option: [values to try]}, or None")
    for name, values in grid.items():
        if name not in known:
            raise UserError(f"tune: there is no option {name!r}", fix=f"one of {', '.join(known)}")
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise UserError(f"tune: the values of {name} are {values!r}", fix="a list of values to try")
        for value in values:
            _replaced(base, {name: value})


def _replaced(base: O, changes: dict[str, Any]) -> O:
    return replace(base, **changes)
