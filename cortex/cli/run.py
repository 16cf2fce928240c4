"""`cortex run`: a library model, or a saved function, over a file of trees."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from cortex.cli.library import SIZE, build, sizes_in, vocabulary_for, with_defaults
from cortex.cli.report import INPUT_FILE, OUTPUT_FILE, counted, json_option, print_json, print_table
from cortex.cli.saved import load_with_trees, model_or_file
from cortex.cli.trees import read_params, read_trees, read_vocab
from cortex.compiler import Output, RecursiveFunction, compile
from cortex.linearize import Linearized, Node


@click.command()
@click.argument("model", metavar="MODEL", callback=model_or_file)
@click.option("--trees", "trees_path", type=INPUT_FILE, required=True, help="Bracketed trees.")
@click.option("--params", "params_path", type=INPUT_FILE, help="An .npz file of the model's parameters.")
@click.option("--vocab", "vocab_path", type=INPUT_FILE, help="The embedding's words in order, one a line.")
@click.option("--out", "out_path", type=OUTPUT_FILE, help="Write the roots' outputs to this .npz file.")
@click.option("--save", "save_path", type=OUTPUT_FILE, help="Write the compiled function to this file.")
@click.option("--seed", type=click.IntRange(min=0), help="Of drawn parameters.  [default: 0]")
@click.option("--hidden", type=SIZE, help="Width of a node's state.  [default: the parameters', or 64]")
@click.option("--embed", type=SIZE, help="Width of an embedding.  [default: the parameters', or hidden's]")
@json_option
def run(
    model: str | Path,
    trees_path: Path,
    params_path: Path | None,
    vocab_path: Path | None,
    out_path: Path | None,
    save_path: Path | None,
    seed: int | None,
    hidden: int | None,
    embed: int | None,
    as_json: bool,
) -> None:
    """Compile a model and run it over the trees of a file.

    Parameters are drawn unless they are given. Words are numbered as they first come in the trees unless --vocab
    says otherwise; a word that it lacks takes the row of <unk>, if it has that, and is an error if not.

    MODEL may be a file that --save, or fn.save, has written: it has its parameters and words itself.
    """
    if isinstance(model, Path):
        if any(given is not None for given in (params_path, vocab_path, seed, hidden, embed)):
            raise click.UsageError("a saved function has its parameters, words and sizes itself")
        fn, trees = load_with_trees(model, trees_path)
    else:
        asked = {key: value for key, value in {"hidden": hidden, "embed": embed}.items() if value is not None}
        fn, trees = _compiled(model, trees_path, params_path, vocab_path, seed or 0, asked)
    linearized = fn.linearize(trees)
    out = fn(linearized)
    if out_path:
        _write(out_path, out)
    if save_path:
        fn.save(save_path)
    if as_json:
        written = {"out": str(out_path) if out_path else None, "save": str(save_path) if save_path else None}
        print_json({"model": str(model), **_summary(linearized, out), **written})
    else:
        _print(str(model), linearized, out)


def _compiled(
    name: str,
    trees_path: Path,
    params_path: Path | None,
    vocab_path: Path | None,
    seed: int,
    asked: dict[str, int],
) -> tuple[RecursiveFunction, list[Node]]:
    """Return a model, compiled, and the trees with their words numbered."""
    if params_path and not vocab_path:
        raise click.UsageError("--params needs --vocab, which says what word each row of the embedding is of")
    params = read_params(params_path) if params_path else None
    trees, vocab = read_trees(trees_path, read_vocab(vocab_path) if vocab_path else None)
    sizes = with_defaults(name, sizes_in(name, params or {}) | asked, hidden=64, vocab=len(vocab))
    model = build(name, sizes)
    words = vocabulary_for(name, model, vocab)
    return compile(model, model.init_params(seed) if params is None else params, vocab=words), trees


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
        "levels": linearized.num_batches,
        "roots": {name: dataclasses.asdict(_Roots.of(out[name])) for name in out},
    }


def _print(name: str, linearized: Linearized, out: Output) -> None:
    click.echo(
        f"{name}: {counted(linearized.num_structures, 'tree')}, {counted(linearized.num_nodes, 'node')} "
        f"in {counted(linearized.num_batches, 'level')}"
    )
    rows = []
    for output in out:
        roots = _Roots.of(out[output])
        shape = " x ".join(f"{extent:,}" for extent in roots.shape)
        numbers = (roots.smallest, roots.largest, roots.mean)
        rows.append([output, shape, *(f"{number:.6g}" for number in numbers)])
    print_table(("roots", "shape", "smallest", "largest", "mean"), rows, text=("roots", "shape"))
