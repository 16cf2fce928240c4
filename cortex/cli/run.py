"""`cortex run`: a library model over a file of trees."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from cortex.cli.library import MODEL, SIZE, build, sizes_in, with_defaults
from cortex.cli.report import INPUT_FILE, OUTPUT_FILE, json_option, print_json, print_table
from cortex.cli.trees import read_params, read_trees, read_vocab
from cortex.compiler import Output, compile
from cortex.linearize import Linearized


@click.command()
@click.argument("name", metavar="MODEL", type=MODEL)
@click.option("--trees", "trees_path", type=INPUT_FILE, required=True, help="Bracketed trees.")
@click.option("--params", "params_path", type=INPUT_FILE, help="An .npz file of the model's parameters.")
@click.option("--vocab", "vocab_path", type=INPUT_FILE, help="The embedding's words in order, one a line.")
@click.option("--out", "out_path", type=OUTPUT_FILE, help="Write the roots' outputs to this .npz file.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of drawn parameters.")
@click.option("--hidden", type=SIZE, help="Width of a node's state.  [default: the parameters', or 64]")
@click.option("--embed", type=SIZE, help="Width of an embedding.  [default: the parameters', or hidden's]")
@json_option
def run(
    name: str,
    trees_path: Path,
    params_path: Path | None,
    vocab_path: Path | None,
    out_path: Path | None,
    seed: int,
    hidden: int | None,
    embed: int | None,
    as_json: bool,
) -> None:
    """Compile a library model and run it over the trees of a file.

    Parameters are drawn unless they are given. Words are numbered as they first come in the trees unless --vocab
    says otherwise; a word that it lacks takes the row of <unk>, if it has that, and is an error if not.
    """
    if params_path and not vocab_path:
        raise click.UsageError("--params needs --vocab, which says what word each row of the embedding is of")
    params = read_params(params_path) if params_path else None
    trees, vocab = read_trees(trees_path, read_vocab(vocab_path) if vocab_path else None)
    asked = {key: value for key, value in {"hidden": hidden, "embed": embed}.items() if value is not None}
    sizes = with_defaults(name, sizes_in(name, params or {}) | asked, hidden=64, vocab=len(vocab))
    model = build(name, sizes)
    fn = compile(model, model.init_params(seed) if params is None else params)
    linearized = fn.linearize(trees)
    out = fn(linearized)
    if out_path:
        _write(out_path, out)
    if as_json:
        print_json({"model": name, **_summary(linearized, out), "out": str(out_path) if out_path else None})
    else:
        _print(name, linearized, out)


@dataclass(frozen=True, slots=True)
class _Roots:
    """An output at the roots, of which there is at least one: a file without trees is refused."""

    shape: tuple[int, ...]
    smallest: float
    largest: float
    mean: float

    @staticmethod
    def of(array: npt.NDArray[Any]) -> _Roots:
        return _Roots(array.shape, float(array.min()), float(array.max()), float(array.mean()))


def _write(path: Path, out: Output) -> None:
    """Write each output's roots, an array under its name, to exactly this path."""
    arrays: dict[str, Any] = {name: out[name] for name in out}
    with path.open("wb") as file:
        np.savez(file, **arrays)


def _summary(linearized: Linearized, out: Output) -> dict[str, object]:
    return {
        "trees": linearized.num_structures,
        "nodes": linearized.num_nodes,
        "batches": linearized.num_batches,
        "roots": {name: dataclasses.asdict(_Roots.of(out[name])) for name in out},
    }


def _print(name: str, linearized: Linearized, out: Output) -> None:
    click.echo(
        f"{name}: {linearized.num_structures:,} trees, {linearized.num_nodes:,} nodes "
        f"in {linearized.num_batches:,} batches of equal height"
    )
    rows = []
    for output in out:
        roots = _Roots.of(out[output])
        shape = " x ".join(f"{extent:,}" for extent in roots.shape)
        numbers = (roots.smallest, roots.largest, roots.mean)
        rows.append([output, shape, *(f"{number:.6g}" for number in numbers)])
    print_table(("roots", "shape", "smallest", "largest", "mean"), rows, text=("roots", "shape"))
