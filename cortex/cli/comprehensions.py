"""`cortex tc`: a text of Tensor Comprehensions, checked, shown and run."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from cortex.cli.failure import Failure
from cortex.cli.report import INPUT_FILE, json_option, print_json
from cortex.linearize.utf8 import read_utf8
from ragged import tc
from ragged.tc import TcFunction, TcLibrary
from ragged.tuning.result import point_text

_REPEATS = 20


@click.command(name="tc")
@click.argument("file", type=INPUT_FILE)
@click.argument("function", required=False)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="NAME=NUMBER",
    help="A size or an integer scalar; with all of them the function is run on random numbers.",
)
@click.option(
    "--show", "stage", metavar="STAGE", help="A stage to print: tc, ranges, checks, loops, tir, asm."
)
@click.option("--threads", type=click.IntRange(min=1), help="Workers.  [as many as there are cores]")
@click.option(
    "--tune",
    "seconds",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Look for faster options, for so long.",
)
@json_option
def command(
    file: Path,
    function: str | None,
    sizes: tuple[str, ...],
    stage: str | None,
    threads: int | None,
    seconds: float | None,
    as_json: bool,
) -> None:
    """Check a text of Tensor Comprehensions, print the ranges of its indices, run and tune it.

    FUNCTION is one of the text's functions; without it all are checked. What tuning finds is kept in the cache.
    """
    lib = tc.define(read_utf8(file, file.name), name=file.name)
    if not lib.functions:
        raise Failure(f"{file} defines no function")
    chosen = _chosen(lib, function)
    numbers = dict(map(_number, sizes))
    known = {name for each in chosen for name in each.sizes}
    for name in numbers:
        if name not in known:
            raise Failure(
                f"--size {name}: no size is called so; there are {', '.join(sorted(known)) or 'none'}"
            )
    document = {each.name: _report(each, stage, numbers, threads, seconds, as_json) for each in chosen}
    if as_json:
        print_json(document)


def _chosen(lib: TcLibrary, function: str | None) -> list[TcFunction]:
    return [lib[name] for name in ([function] if function is not None else lib.functions)]


def _number(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not re.fullmatch("-?[0-9]{1,18}", value):
        raise Failure(f"--size {text}: it is no NAME=NUMBER")
    return name, int(value)


def _report(
    function: TcFunction,
    stage: str | None,
    sizes: dict[str, int],
    threads: int | None,
    seconds: float | None,
    as_json: bool,
) -> dict[str, Any]:
    """Print what is asked for of one function, and return it."""
    found: dict[str, Any] = {
        "ranges": function.show("ranges"),
        "checks": function.show("checks").splitlines()[0],
    }
    if stage is not None:
        found["text"] = function.show(stage)
    unknown = [name for name in function.sizes if name not in sizes]
    if seconds is not None and function.varies:
        raise Failure(f"--tune: the extents of {function.name} vary with an index")
    if seconds is not None and unknown:
        raise Failure(f"--tune {function.name}: --size gives no {', '.join(unknown)}")
    if (sizes or seconds is not None) and not unknown and not function.varies:
        found |= _run(function.compile(threads=threads), sizes, seconds)
    if as_json:
        return found
    click.echo(f"{function!r}".removeprefix("<TcFunction ").removesuffix(">"))
    click.echo(found.get("text", "\n".join(f"  {line}" for line in found["ranges"].splitlines())))
    click.echo(f"  {found['checks']}")
    if sizes and function.varies:
        click.echo("  not run: extents vary with an index")
    elif sizes and unknown:
        click.echo(f"  not run: {', '.join(unknown)} not given with --size")
    for name, domain in found.get("outputs", {}).items():
        click.echo(f"  {name}: {', '.join(f'{low}:{low + extent}' for low, extent in domain) or 'a number'}")
    if "milliseconds" in found:
        click.echo(f"  {found['milliseconds']:.3f} ms a call, the median of {_REPEATS}")
    if "tuned" in found:
        tuned = found["tuned"]
        click.echo(
            f"  {tuned['points']} points timed; the best is {tuned['gain']:.2f} times as fast: {tuned['best']}"
        )
    return found


def _run(function: TcFunction, sizes: dict[str, int], seconds: float | None) -> dict[str, Any]:
    """Return the domains of the outputs, and the time of a call on random numbers; indices are read from zeros.

    With `seconds` the function is tuned for them before.
    """
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {name: sizes[name] for name in function.sizes if name in function.scalars}
    shapes = function.shapes(sizes)
    outputs = function.infer(**given, **shapes)
    needed = sum(map(math.prod, shapes.values()))
    needed += sum(math.prod(extent for _, extent in domain) for domain in outputs.values())
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 4 * needed > memory:
        raise Failure(
            f"--size: the arrays of {function.name} have {needed:,} elements, for which {memory:,} bytes are too few"
        )
    for name, (dtype, _) in function.parameters.items():
        given[name] = _numbers(rng, np.dtype(dtype), shapes[name])
    out = {name: np.ones([extent for _, extent in outputs[name]], np.float32) for name in function.read_first}
    tuned: dict[str, Any] = {}
    if seconds is not None:
        found = function.tune(seconds=seconds, **given, out=out or None)
        best = point_text(found.best)
        tuned = {"tuned": {"points": len(found.timed), "gain": found.gain, "best": best}}
    times = []
    for _ in range(_REPEATS + 1):
        begin = perf_counter()
        function(**given, out=out or None)
        times.append(perf_counter() - begin)
    return {"outputs": outputs, "milliseconds": 1e3 * median(times[1:]), **tuned}


def _numbers(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return np.zeros(shape, dtype)
