"""What rewritings of a recursion make of a model's latency: unrolling and refactoring (CORTEX, figures 10b and 10c)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import cortex
from bench.results import Gained
from bench.timing import timed_in_turns
from bench.trees import Tree, flatten, number_words, unflatten
from cortex import RecursionOptions, models, ra


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A model of the library, made from (hidden, embed, vocab), and options that rewrite its recursion, by name."""

    build: Callable[[int, int, int], ra.Model]
    options: Mapping[str, RecursionOptions]


_PLAIN = {"as it is": RecursionOptions()}
_UNROLLED = {"unrolled by 1": RecursionOptions(unroll=1)}
_GATES_MOVED = {"Uh_r and Uh_z of the parent": RecursionOptions(refactor=("Uh_r", "Uh_z"))}

REWRITINGS: dict[str, Rewriting] = {
    "tree_rnn": Rewriting(models.tree_rnn, _PLAIN | _UNROLLED),
    "tree_lstm": Rewriting(models.tree_lstm, _PLAIN | _UNROLLED),
    "tree_gru": Rewriting(models.tree_gru, _PLAIN | _GATES_MOVED),
    "simple_tree_gru": Rewriting(models.simple_tree_gru, _PLAIN | _GATES_MOVED),
}


def measure_rewriting(
    name: str, hidden: int, treebank: Sequence[Tree], *, threads: int, rounds: int, seed: int
) -> list[Gained]:
    """Compile a model under each of its options, compare the answers, and time the kernels in turns.

    `treebank` is one batch. A node's words are numbered anew, and embeddings are as wide as states.
    """
    trees = [unflatten(flatten(tree)) for tree in treebank]
    model = REWRITINGS[name].build(hidden, hidden, number_words(trees))
    params = model.init_params(seed=seed)
    functions = {
        variant: cortex.compile(model, params, threads=threads, keep="roots", options=options)
        for variant, options in REWRITINGS[name].options.items()
    }
    return timed_in_turns(name, hidden, functions, trees, ("h",), rounds)
