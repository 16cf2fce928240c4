"""Tables over what nodes carry, compiled: the same bits, within a number of bytes, made when parameters are bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cortex
from cortex import Node, models
from cortex.compiler.pipeline import passes_for
from cortex.ra.schedule import default_schedule
from ragged.errors import UserError
from ragged.ir.printer import to_text
from ragged.machine import Grid
from ragged.passes.pipeline import run_passes
from tests.compiler.test_bits import bits
from tests.ra.test_tabulate import Cell

HIDDEN, EMBED, VOCAB = 24, 40, 53
MODEL = models.tree_rnn(HIDDEN, EMBED, VOCAB)
ROW = (VOCAB + 1) * 4
"""The bytes of a column of a table: a float for each word, and for none."""


def trees(seed: int = 3) -> list[Node]:
    """Return trees in which most leaves carry a word, and some inner nodes."""
    rng = np.random.default_rng(seed)

    def tree(leaves: int) -> Node:
        cut = int(rng.integers(1, leaves)) if leaves > 1 else 0
        children = [tree(cut), tree(leaves - cut)] if cut else []
        carries = rng.random() < (0.2 if children else 0.9)
        return Node(children, word=int(rng.integers(VOCAB)) if carries else None)

    return [tree(int(leaves)) for leaves in rng.integers(1, 20, 9)]


@pytest.fixture(scope="module")
def pair() -> tuple[cortex.RecursiveFunction, cortex.RecursiveFunction, dict[str, Any]]:
    """The model compiled without a table and with one, and its parameters."""
    params = MODEL.init_params(seed=1)
    plain, tabled = (cortex.compile(MODEL, params, threads=2, table_bytes=most) for most in (0, 1 << 20))
    return plain, tabled, params


def test_results_have_the_same_bits(pair):
    plain, tabled, _ = pair
    kernel = tabled.show("loops").partition("with kernel:")[2]
    assert "_by_word[word(node) + 1" in kernel and "emb[" not in kernel and "emb[" in plain.show("loops")
    for batch in (trees(), trees()[:1], [Node((), word=None)], []):
        assert bits(tabled(batch)) == bits(plain(batch))


def test_other_parameters_have_tables_of_their_own(pair):
    plain, tabled, params = pair
    other = {name: array * 0.5 for name, array in params.items()}
    assert bits(tabled.with_params(other)(trees())) == bits(plain.with_params(other)(trees()))
    assert bits(tabled.with_params(other)(trees())) != bits(tabled(trees()))
    # Products with what is absent are computed here, and so a weight need not be finite.
    wrong = {**params, "W": np.full_like(params["W"], np.inf)}
    with pytest.raises(cortex.ModelError, match="is not finite"):
        plain.with_params(wrong)
    assert np.isnan(tabled.with_params(wrong)(Node((), word=None))["h"]).all()


def test_a_saved_function_makes_its_tables_again(pair, tmp_path):
    _, tabled, params = pair
    tabled.save(tmp_path / "tabled.cortex")
    loaded = cortex.load(tmp_path / "tabled.cortex")
    size = sum(array.nbytes for array in params.values())
    assert (tmp_path / "tabled.cortex").stat().st_size < size + 400_000, "tables are not stored"
    assert bits(loaded(trees())) == bits(tabled(trees()))
    assert loaded.profile(trees(), repeats=1).table_bytes == tabled.profile(trees(), repeats=1).table_bytes


def test_what_tables_take_is_reported(pair):
    plain, tabled, _ = pair
    profile = tabled.profile(trees(), repeats=2)
    assert profile.table_bytes == HIDDEN * ROW and profile.bind_us > 0
    assert f", {profile.table_bytes:,} bytes of tables\n" in str(profile)
    without = plain.profile(trees(), repeats=2)
    assert without.table_bytes == 0 and "tables" not in str(without)


def test_a_schedule_says_what_could_be_in_tables():
    model = models.tree_lstm(HIDDEN, EMBED, VOCAB)
    offer = default_schedule(model).offer
    most = 4 * HIDDEN * ROW
    assert offer == (
        f"# not in tables: Wx_o, Wx_i, Wx_u, Wx_f; with table_bytes={most:_} they would be, made when parameters are "
        "bound"
    )
    some = default_schedule(model, most - 1)
    assert [line for line in some.log().splitlines() if "tabulate" in line] == [
        "s.tabulate(Wx_o)",
        "s.tabulate(Wx_i)",
        "s.tabulate(Wx_u)",
    ]
    assert some.offer is not None and some.offer.startswith(
        f"# not in tables: Wx_f; with table_bytes={most:_} "
    )
    every = default_schedule(model, most)
    assert every.offer is None and len(every.tables) == 4 and "hoist_inputs" not in every.log()
    narrow = models.tree_lstm(HIDDEN, 31, VOCAB)
    assert default_schedule(narrow).offer is None, "to compute a short sum takes no longer than to fetch it"
    assert "tabulate" not in default_schedule(narrow, most).log()


def test_the_offer_is_shown(pair):
    plain, tabled, _ = pair
    assert plain.show("schedule").count("# not in tables: ") == 1
    assert "# not in tables" not in tabled.show("schedule")


def test_a_table_that_is_asked_for_in_a_schedule():
    """Sums of what is finished from other sums: tables of both, tiled, and rows that no tile has."""
    cell = Cell()
    of = cell.of_finished()
    model = cell.model(of)
    schedule = default_schedule(model)
    schedule.tabulate(of)
    assert schedule.tables == ("finished_by_word", "of_by_word")
    params = model.init_params(seed=0)
    fn, plain = (cortex.compile(each, params, threads=1) for each in (schedule, model))
    batch = [((1, 2), (3, (4, 0))), 1, Node((Node(()),))]
    assert bits(fn(batch)) == bits(plain(batch))
    with pytest.raises(UserError) as caught:
        cortex.compile(schedule, params, table_bytes=100)
    assert (caught.value.what, caught.value.because, caught.value.fix) == (
        "compile: table_bytes=100 with a schedule",
        "a schedule says itself what is in tables",
        "s.tabulate(tensor), or give compile the model",
    )


@pytest.mark.parametrize("most", [-1, 1.5, "64 MiB", True])
def test_what_is_no_number_of_bytes(most):
    with pytest.raises(UserError, match="is no number of bytes"):
        cortex.compile(MODEL, {}, table_bytes=most)


def test_a_grids_tables_are_tiled_for_the_processor_that_makes_them():
    program = default_schedule(MODEL, 1 << 20).lower()
    steps = run_passes(program, passes_for(1, Grid(5, 8, 10_000)))
    bind = to_text(steps[-1].program).partition("with bind:")[2].partition("with kernel")[0]
    assert "W_packed_first" in bind and "vectorized" in bind
