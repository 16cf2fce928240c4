"""The key of a model's kernel in the cache says all that the kernel depends on, and nothing else."""

from __future__ import annotations

import pytest

from cortex import models, ra
from cortex.compiler.compile import recipe_of
from cortex.compiler.pipeline import passes_for
from cortex.ilir.structure import BATCH, CHILD, NODE
from cortex.ra.schedule import default_schedule
from ragged.compiled.key import key_of, locations
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.stmt import For
from ragged.ir.walk import statements
from ragged.passes.pipeline import run_passes

MODELS = {
    "tree_sum": models.tree_sum(hidden=16, vocab=50),
    "tree_fc": models.tree_fc(hidden=24, vocab=50),
    "tree_lstm": models.tree_lstm(hidden=16, embed=8, vocab=50),
    "mv_rnn": models.mv_rnn(hidden=6, vocab=50),
}


@pytest.fixture(params=MODELS)
def program(request) -> Program:
    return default_schedule(MODELS[request.param]).lower()


def key(program: Program, threads: int = 2) -> str:
    return key_of(recipe_of(program, "cpu", threads))


def reparsed(program: Program) -> Program:
    """Return the program that the text is of, with the dims that passes know by identity."""
    again = parse(to_text(program))
    known = {dim.name: dim for dim in (NODE, CHILD, BATCH)}
    symbols = zip((*again.functions, *again.buffers), (*program.functions, *program.buffers), strict=True)
    for symbol, own in symbols:
        object.__setattr__(symbol, "name", own.name)
    for buffer in again.buffers:
        object.__setattr__(buffer, "dims", tuple(dim and known.get(dim.name, dim) for dim in buffer.dims))
    for stage in again.stages:
        for stmt in statements(stage.body):
            if isinstance(stmt, For) and stmt.dim is not None:
                object.__setattr__(stmt, "dim", known.get(stmt.dim.name, stmt.dim))
    return again


@pytest.mark.parametrize("threads", [1, 2])
def test_what_the_key_holds_of_a_program_determines_the_code(program, threads):
    texts = [
        to_text(run_passes(each, passes_for(threads))[-1].program) for each in (program, reparsed(program))
    ]
    assert texts[0] == texts[1]


def test_the_key_of_equal_programs(program):
    model = next(
        model for model in MODELS.values() if to_text(default_schedule(model).lower()) == to_text(program)
    )
    assert key(program) == key(default_schedule(model).lower())


def listing(line: int = 1, name: str = "h"):
    """Return a model that differs in nothing but the line that it stands in."""
    text = "\n" * line + (
        "t = ra.input_tensor('t', (9, 4)); word = ra.node_input('word', dtype='int32')\n"
        "h_ph = ra.placeholder((ra.N, 4))\n"
        "leaf = ra.compute((ra.N, 4), lambda n, i: t[word[n], i])\n"
        "inner = ra.compute((ra.N, 4), lambda n, i: ra.tanh(h_ph[n.left, i] + h_ph[n.right, i]))\n"
        "h = ra.if_then_else((ra.N, 4), lambda n, i: (ra.isleaf(n), leaf, inner))\n"
        f"model = ra.recursion_op({{{name!r}: (h_ph, h)}}, structure=ra.Tree(max_children=2))\n"
    )
    names = {"ra": ra, "__name__": "elsewhere"}
    exec(compile(text, f"elsewhere{line}.py", "exec"), names)
    return default_schedule(names["model"]).lower()


def test_where_a_model_stands_makes_no_difference():
    here, there = listing(1), listing(20)
    assert set(locations([here])) != set(locations([there]))
    assert key(here) == key(there)
    assert len(locations([here])) == len(locations([there]))


def test_the_name_of_an_output_makes_one():
    assert key(listing()) != key(listing(name="state"))


def test_dims_that_passes_know():
    program = listing()
    known, unknown = reparsed(program), parse(to_text(program))
    assert to_text(known) == to_text(unknown)
    assert key(known) != key(unknown)
