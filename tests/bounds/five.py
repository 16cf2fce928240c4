"""The five models of the CORTEX paper under the default schedule: a batch for each, and what is proven of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import cortex
from cortex import Node, models
from cortex.compiler.pipeline import passes_for
from cortex.linearize import Linearized, linearize
from cortex.ra.model import Model
from cortex.ra.schedule import default_schedule
from ragged.ir.fact import Fact
from ragged.ir.program import Program
from ragged.ir.stmt import Check, Stmt
from ragged.ir.walk import leaves
from ragged.passes.list_checks import condition_text
from ragged.passes.pipeline import Step, run_passes
from ragged.prove import recording

H, E, V = 4, 4, 10
MODELS = {
    "tree_fc": models.tree_fc(H, V),
    "tree_gru": models.tree_gru(H, E, V),
    "tree_lstm": models.tree_lstm(H, E, V),
    "mv_rnn": models.mv_rnn(H, V),
    "dag_rnn": models.dag_rnn(H, E),
}
TREES: list[Any] = [(((1, 2), (3, 4)), ((5, 6), 7)), (1, (2, 3)), 4]


def batch(name: str) -> list[Any]:
    """Return structures for a model: three trees, or a graph in which a node has two parents and another tree."""
    if name != "dag_rnn":
        return TREES
    x = [0.5] * E
    shared = Node([Node([], x=x), Node([], x=x)], x=x)
    return [Node([Node([shared], x=x), Node([shared, Node([], x=x)], x=x)], x=x), Node([Node([], x=x)], x=x)]


@dataclass(frozen=True)
class Compiled:
    """A model's function, its program after each pass, and the facts that proofs used on the way, by name."""

    model: Model
    function: cortex.RecursiveFunction
    steps: tuple[Step, ...]
    used: dict[str, Fact]

    @property
    def program(self) -> Program:
        return self.steps[-1].program

    @property
    def checked(self) -> Program:
        """The program with all of its checks, before they are looked at."""
        return next(step.program for step in self.steps if step.name == "insert_checks")


@cache
def compiled(name: str) -> Compiled:
    model = MODELS[name]
    with recording() as facts:
        steps = run_passes(default_schedule(model).lower(), passes_for(threads=2))
    function = cortex.compile(model, model.init_params(seed=0), threads=2)
    return Compiled(model, function, steps, {fact.name: fact for fact in facts})


@cache
def linearized(name: str) -> Linearized:
    return linearize(MODELS[name].plan(), batch(name))


def checks_in(stmt: Stmt) -> list[str]:
    """Return the checks in a statement, each as its label and its condition."""
    found = (leaf for leaf in leaves(stmt) if isinstance(leaf, Check))
    return list(dict.fromkeys(f"{check.label.name}: {condition_text(check.condition)}" for check in found))
