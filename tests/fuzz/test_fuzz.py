"""The search for schedules that compute something else: it finds planted ones, goes on, and says what it did."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import replace

import pytest

from cortex import ra
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import Rewriter
from ragged.ir.stmt import Barrier, Block, Store
from ragged.transform.mapping.distribute_over_blocks import distribute_over_blocks
from tests.fuzz import search as searching
from tests.fuzz.chunk import Chunk, Result, run_chunk
from tests.fuzz.finished import Finished
from tests.fuzz.report import PRIMITIVES, RULES, failure_text, verdict
from tests.fuzz.search import chunks, search
from tests.support import random_schedules
from tests.support.random_loop_steps import Asked
from tests.support.random_runs import shortest
from tests.support.tally import Tally


def one_more(program):
    """A primitive that is wrong: the first value that is stored in a kernel is one more than it was."""

    class Rewriting(Rewriter):
        done = False

        def stmt(self, stmt):
            if isinstance(stmt, Store) and stmt.value.dtype.is_float and not self.done:
                self.done = True
                return replace(stmt, value=Binary(BinaryOp.ADD, stmt.value, Const(1.0, stmt.value.dtype)))
            return super().stmt(stmt)

    return Rewriting().program(program)


def change_what_it_is_given(program):
    """A primitive that refuses, and has changed the program."""
    object.__setattr__(program, "name", "another")
    raise ScheduleError("refused", because="of nothing")


def say_nothing(program):
    """A primitive that refuses without a reason."""
    raise ScheduleError("refused")


def crash(program):
    """A primitive that neither refuses nor returns."""
    return program.nothing


def leave_out_barriers(program):
    """A primitive that lets blocks run on where they have to wait for each other."""

    class Rewriting(Rewriter):
        def stmt(self, stmt):
            return Block() if isinstance(stmt, Barrier) else super().stmt(stmt)

    shared_out = distribute_over_blocks(program, 3)
    return replace(shared_out, program=Rewriting().program(shared_out.program).program)


PLANTED = {
    leave_out_barriers: "Race",
    one_more: "steps that suffice:\ns.apply(one_more)",
    change_what_it_is_given: "changed the program that it was given",
    say_nothing: "a refusal that says nothing",
    crash: "in crash of [], {}, after",
}


@pytest.mark.parametrize("wrong", PLANTED, ids=lambda wrong: wrong.__name__)
def test_planted_faults_are_found(wrong, monkeypatch):
    few = {wrong: lambda places, attempt: Asked(())}
    monkeypatch.setattr(random_schedules, "STEPS", few)
    monkeypatch.setitem(random_schedules.NAMES, wrong.__name__, wrong)
    result = run_chunk(Chunk(0, 0, 20), shrink=False, compiled=0)
    assert result.failure is not None
    assert PLANTED[wrong] in result.failure
    assert "python -m tests.fuzz --seed 0 --chunk 0 --size 20" in failure_text(result)
    assert "reproduce_failure" in result.failure


def test_every_primitive_of_recursion_is_drawn():
    """Those of loops: tests/ragged/transform/test_every_primitive.py."""
    of_recursion = {
        f"ra.{name}"
        for name, method in inspect.getmembers(ra.Schedule, inspect.isfunction)
        if not name.startswith("_") and inspect.signature(method).return_annotation == "None"
    }
    assert len(of_recursion) >= 6
    assert of_recursion == {name for name in PRIMITIVES if name.startswith("ra.")}


def test_the_steps_that_suffice():
    assert shortest(list("abcdefg"), lambda steps: {"b", "f"} <= set(steps)) == ["b", "f"]


# --- the search ---------------------------------------------------------------------------------------------------


def result(chunk, *, failure=None):
    tally = Tally()
    for name in (*PRIMITIVES, *RULES):
        tally.accept(name)
    for name in PRIMITIVES:
        tally.refuse(name, ScheduleError("refused", because="'x' is n(3)"))
    return Result(chunk, chunk.size, tally, failure)


def test_chunks_hold_all_examples():
    assert [chunk.size for chunk in chunks(0, 250)] == [100, 100, 50]
    assert len({chunk.number for chunk in chunks(0, 250)}) == 3


def test_a_search_goes_on_with_what_is_not_finished(tmp_path):
    path = tmp_path / "state.jsonl"
    one, other = chunks(3, 200)
    with Finished(path, anew=False) as finished:
        finished.add(result(one))
        finished.add(result(other, failure="wrong"))
        with pytest.raises(BlockingIOError):
            Finished(path, anew=False)
    with path.open("a") as file:
        file.write('{"seed": 3, "num')  # a process that died while it wrote
    with Finished(path, anew=False) as finished:
        assert one in finished and other not in finished
        assert finished.results[one].as_json() == result(one).as_json()
        finished.add(result(other))
    with Finished(path, anew=False) as finished:
        assert one in finished and other in finished
    with Finished(path, anew=True) as finished:
        assert one not in finished


def test_a_process_that_dies_is_a_failure(monkeypatch):
    died = [sys.executable, "-c", "import os; os.abort()"]
    monkeypatch.setattr(searching, "command", lambda chunk, shrink: died)
    (found,) = search(chunks(0, 5), jobs=2, seconds=60, shrink=False)
    assert found.failure is not None and "ended with -6" in found.failure


def test_nothing_is_begun_when_time_is_up():
    assert list(search(chunks(0, 300), jobs=1, seconds=0, shrink=False)) == []


def test_a_primitive_that_is_never_accepted_or_never_refused_fails_a_search():
    whole = result(Chunk(0, 0, 100))
    assert verdict([whole]) == []
    assert verdict([result(Chunk(0, 1, 100), failure="wrong")]) == ["chunk 1 failed"]
    del whole.tally.accepted["fuse_siblings"], whole.tally.refused["ra.unroll"]
    del whole.tally.accepted["auto.fuse_nests"]
    assert verdict([whole]) == [
        "fuse_siblings was never accepted",
        "ra.unroll was never refused",
        "auto.fuse_nests was never accepted",
    ]


def test_reasons_are_counted_without_names_and_numbers():
    tally = Tally()
    tally.refuse("split", ScheduleError("split: cannot split 'i' into blocks of -3"))
    tally.refuse("split", ScheduleError("split: cannot split 'j' into blocks of 0"))
    tally.refuse("split", ScheduleError("split: no", because="it runs n(b) times"))
    assert tally.refusals("split") == 3
    assert tally.most_frequent_reason("split") == "cannot split '...' into blocks of #"


def test_the_command(tmp_path):
    command = [
        sys.executable,
        "-m",
        "tests.fuzz",
        "--examples",
        "3",
        "--state",
        str(tmp_path / "state.jsonl"),
    ]
    done = subprocess.run(command, cwd=searching.ROOT, capture_output=True, text=True, check=False)
    words = [line.split() for line in done.stdout.splitlines()]
    rows = {row[0]: row[1:3] for row in words if len(row) > 2 and row[1].isdigit()}
    assert set(rows) == {*PRIMITIVES, *RULES}, done.stdout + done.stderr
    wrong = [name for name in PRIMITIVES if "0" in rows[name]]
    assert all(f"{name} was never" in done.stdout for name in wrong)
    assert wrong and done.stdout.endswith("examples, seed 0: failed\n") and done.returncode == 1
