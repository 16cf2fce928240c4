"""`cortex demo`: two models over parse trees, every root checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from cortex import models, ra
from cortex.cli import verdict
from cortex.cli.measure import Report, measure
from cortex.cli.report import json_option, print_json, print_text
from cortex.cli.trees import read_trees, trees_option


@click.command()
@trees_option
@click.option(
    "--hidden",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="Hidden size of tree_lstm; mv_rnn, which has a matrix per node, takes a quarter of it.",
)
@click.option("--count", type=click.IntRange(min=1), help="Take the first COUNT trees of the file.")
@json_option
def demo(path: Path, hidden: int, count: int | None, as_json: bool) -> None:
    """Compile tree_lstm and mv_rnn, run them over parse trees, and check every root.

    The check is a slow evaluation in float64 that shares no code with the compiler. The exit status is 1 if the
    result at any root, or at any node below one, is off.
    """
    trees, vocab = read_trees(path)
    text = listing()
    if not as_json:
        click.echo(f"The running example of the CORTEX paper, as the loops that it becomes:\n\n{text}")
    reports = _measure(trees[:count], len(vocab), hidden)
    if as_json:
        print_json({"example": text, "trees": str(path), **verdict.as_json(reports)})
    else:
        click.echo(f"Over the trees of {path}:\n")
        verdict.print_table_of(reports)
        click.echo()
        print_text(verdict.sentence(reports))
    if not all(report.right for report in reports):
        raise click.exceptions.Exit(1)


def _measure(trees: Sequence[object], words: int, hidden: int) -> list[Report]:
    """Measure both models; raise what the first refuses the trees with if neither takes them."""
    quarter = max(1, hidden // 4)
    lstm = models.tree_lstm(hidden=hidden, embed=hidden, vocab=words)
    mv_rnn = models.mv_rnn(hidden=quarter, vocab=words)
    reports = [measure("tree_lstm", lstm, hidden, trees), measure("mv_rnn", mv_rnn, quarter, trees)]
    refused = [report.refused for report in reports if report.refused is not None]
    if len(refused) == len(reports):
        raise refused[0]
    return reports


def listing() -> str:
    """Return the ILIR of the paper's running example (Figure 1, Listing 1), as in its Listing 2.

    It is batched by height, with loops of their own for leaves and for inner nodes.
    """
    model = models.tree_sum(hidden=256, vocab=10_000)
    s = ra.Schedule(model)
    s.dynamic_batch()
    s.specialize_if_else(model.outputs["h"][1])
    return str(s.lower())
