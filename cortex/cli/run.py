"""`cortex run`: a library model over a file of trees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

from cortex.cli.library import MODEL, SIZE, build, refuse_unknown, sizes_in, with_defaults
from cortex.cli.report import INPUT_FILE, OUTPUT_FILE, json_option, print_json, print_table
from cortex.cli.trees import read_params, read_trees, read_vocab
from cortex.compiler import Output, compile


@click.command()
@click.argument("name", metavar="MODEL", type=MODEL)
@click.option("--trees", "path", type=INPUT_FILE, required=True, help="Bracketed trees.")
@click.option("--params", "params_path", type=INPUT_FILE, help="An .npz file of the model's parameters.")
@click.option("--vocab", "vocab_path", type=INPUT_FILE, help="The embedding's words in order, one a line.")
@click.option("--out", "out_path", type=OUTPUT_FILE, help="Write the roots' outputs to this .npz file.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of drawn parameters.")
@click.option("--hidden", type=SIZE, help="Width of a node's state.  [of the parameters, or 64]")
@click.option("--embed", type=SIZE, help="Width of a word's embedding.  [of the parameters, or hidden's]")
@json_option
def run(
    name: str,
    path: Path,
    params_path: Path | None,
    vocab_path: Path | None,
    out_path: Path | None,
    seed: int,
    hidden: int | None,
    embed: int | None,
    as_json: bool,
) -> None:
    """Compile a library model and run it over the trees of a file.

    Parameters are drawn unless they are given; words are numbered as they come in the trees unless --vocab says
    otherwise. A word that the vocabulary lacks takes the row of <unk>, if it has one.
    """
    if params_path and not vocab_path:
        raise click.UsageError("--params needs --vocab: it says which word each row of the embedding is of")
    refuse_unknown(name, {"embed": embed})
    given = read_params(params_path) if params_path else None
    trees, vocab = read_trees(path, read_vocab(vocab_path) if vocab_path else None)
    known = sizes_in(name, given or {})
    options = {key: value for key, value in (("hidden", hidden), ("embed", embed)) if value is not None}
    model = build(name, with_defaults(known | options, hidden=64, vocab=len(vocab)))
    fn = compile(model, given or model.init_params(seed))
    linearized = fn.linearize(trees)
    out = fn(linearized)
    if out_path:
        _write(out_path, out)
    summary = {
        "model": name,
        "trees": linearized.num_structures,
        "nodes": linearized.num_nodes,
        "batches": linearized.num_batches,
        "outputs": {output: _described(out, output) for output in out},
        "out": str(out_path) if out_path else None,
    }
    if as_json:
        print_json(summary)
        return
    click.echo(
        "{model}: {trees:,} trees, {nodes:,} nodes in {batches:,} batches of equal height".format(**summary)
    )
    print_table(("roots", "shape", "smallest", "largest", "mean"), _rows(out), text=("roots", "shape"))
    if out_path:
        click.echo(f"The roots' outputs are in {out_path}.")


def _write(path: Path, out: Output) -> None:
    """Write each output's roots, an array under its name, to exactly this path."""
    with path.open("wb") as file:
        np.savez(file, **{name: out[name] for name in out})


def _described(out: Output, name: str) -> dict[str, object]:
    roots = out[name]
    measures = {"smallest": roots.min, "largest": roots.max, "mean": roots.mean} if roots.size else {}
    return {"shape": list(roots.shape), **{word: float(measure()) for word, measure in measures.items()}}


def _rows(out: Output) -> Iterator[list[str]]:
    for name in out:
        described = _described(out, name)
        numbers = (described.get(word) for word in ("smallest", "largest", "mean"))
        shape = " x ".join(f"{extent:,}" for extent in out[name].shape)
        yield [name, shape, *("" if number is None else f"{number:.6g}" for number in numbers)]
