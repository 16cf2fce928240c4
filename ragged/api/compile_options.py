"""Options of `ragged.compile` that decide which code is generated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ragged.api.dims import SizeRange
from ragged.api.schedule import RaggedSchedule
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.shapes import Shape, ShapesLike, read_shapes
from ragged.errors import ModelError, UserError

Precision: TypeAlias = Literal["float32", "bf16"]
"""The type that the factors of products with parameters are rounded to."""

_MOST_SHAPES = 4096
"""The most shapes that stand for the declared ranges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """Options of the passes, besides the program, target and threads of a function; their text is part of cache keys.

    `shapes` are those that calls are expected to bring, `code_bytes` the most bytes of code for variants of the kernel.
    Without `default_schedule` what the user left open stays as it is written, and one worker runs it.
    """

    schedule: ScheduleOptions = DEFAULT
    shapes: tuple[Shape, ...] = ()
    code_bytes: int | None = None
    precision: Precision = "float32"
    default_schedule: bool = True


NOTHING_SET = CompileOptions()
"""The default options."""


def read_options(
    schedule: RaggedSchedule,
    *,
    options: ScheduleOptions,
    shapes: ShapesLike,
    code_bytes: int | None,
    precision: Precision,
    default_schedule: bool,
) -> CompileOptions:
    """Return the options of `ragged.compile`, checked; raises `UserError` for values that are none."""
    if precision not in get_args(Precision):
        raise UserError(
            f"compile: precision={precision!r} is neither 'float32' nor 'bf16'",
            because="it says what is multiplied; what is summed up, and all else, is float32",
            fix="precision='bf16' multiplies bfloat16 numbers",
        )
    if not isinstance(options, ScheduleOptions):
        raise UserError(
            f"compile: options={options!r} are no ScheduleOptions",
            fix="options=ragged.ScheduleOptions(reduction_unroll=2)",
        )
    if code_bytes is not None and (type(code_bytes) is not int or code_bytes < 1):
        raise UserError(f"compile: code_bytes={code_bytes!r} is no number of bytes", fix="a number from 1 up")
    if not default_schedule and options != DEFAULT:
        raise UserError("compile: options without the default schedule", because="they are its own")
    return CompileOptions(
        schedule=options,
        shapes=_expected(schedule, shapes),
        code_bytes=code_bytes,
        precision=precision,
        default_schedule=default_schedule,
    )


def _expected(schedule: RaggedSchedule, given: ShapesLike) -> tuple[Shape, ...]:
    """Return the shapes that are given, with the declared ranges of sizes that are not given by name."""
    ranges = size_ranges(schedule)
    if given is not None and not isinstance(given, Mapping):
        if not isinstance(given, Iterable):
            raise UserError(
                f"compile: shapes={given!r} are no shapes",
                fix="shapes={'T': range(1, 129)}, or shapes=[{'T': 5}, {'T': 77}]",
            )
        shapes = read_shapes(given)
        _check_names(schedule, (name for shape in shapes for name, _ in shape.sizes))
        return shapes
    named = dict(given or {})
    _check_names(schedule, named)
    left = [each for name, each in ranges.items() if name not in named]
    declared = {each.name: _values(each, int(_MOST_SHAPES ** (1 / len(left)))) for each in left}
    return read_shapes({**declared, **named})


def size_ranges(schedule: RaggedSchedule) -> dict[str, SizeRange]:
    """Return the declared range of each size that has one; `ModelError` if a size is declared with two."""
    found: dict[str, SizeRange] = {}
    for tensor in schedule.tensors:
        for value in tensor.expressions:
            for source in value.sources.values():
                if isinstance(source, SizeRange) and found.setdefault(source.name, source) != source:
                    raise ModelError(
                        f"size '{source.name}' has the range {source} and the range {found[source.name]}",
                        at=tensor.at,
                        fix="declare it once, and use that in all tensors",
                    )
    return found


def _values(own: SizeRange, most: int) -> tuple[int, ...]:
    """Return the values of a range to plan for: all, or `most` that are about as many in each octave."""
    if own.high - own.low < most:
        return tuple(range(own.low, own.high + 1))
    ratio = (own.high + 1) / (own.low + 1)
    return tuple(sorted({round((own.low + 1) * ratio ** (step / (most - 1))) - 1 for step in range(most)}))


def _check_names(schedule: RaggedSchedule, names: Iterable[str]) -> None:
    sizes = schedule.lowered.signature.sizes  # without the texts of the operators
    for name in names:
        if name not in sizes:
            raise UserError(
                f"compile: shapes name '{name}', which is no size of '{schedule.name}'",
                fix=f"one of {', '.join(sizes)}" if sizes else "leave shapes out: no size changes",
            )
