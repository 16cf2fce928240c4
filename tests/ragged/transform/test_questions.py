"""What schedules ask of the prover: few questions, and the same answers as if each were asked anew."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragged.prove.prover as proving
from ragged.analysis import dependence
from ragged.analysis.dependence import find_conflict
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.sites import regions, regions_of, sites
from ragged.ir.stmt import For
from ragged.prove import Prover, prover_of
from ragged.prove.proven_goals import ProvenGoals
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.legality import labelled
from ragged.transform.loops.fission import fission
from ragged.transform.loops.split import Tail, split
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from ragged.transform.mapping.vectorize import vectorize
from tests.ragged.ir.strategies import programs


def gates(count: int) -> str:
    """Return a batch of nodes of a cell with `count` gates, each a sum of products and what reads it."""
    lines = ['program("gates")', "", "count: input()", "v: payload(float32[count, 8])"]
    lines += [f"U{g}: parameter(float32[8, 8])" for g in range(count)]
    lines += ["y: output(float32[count, 8])"]
    lines += [f"t{g}: workspace(float32[count, 8])" for g in range(count)]
    lines += ["", "with kernel:", "    for n in parallel(count, N):"]
    for g in range(count):
        read = "v[n, j]" if g == 0 else f"t{g - 1}[n, j]"
        lines += [f"        for i{g} in serial(8):", f"            t{g}[n, i{g}]: t{g}.init = 0.0"]
        lines += [
            "            for j in serial(8):",
            f"                t{g}[n, i{g}] += U{g}[i{g}, j] * {read}",
        ]
    lines += ["        for i in serial(8):", f"            y[n, i] = tanh(t{count - 1}[n, i])", ""]
    return "\n".join(lines)


@contextmanager
def asked(monkeypatch):
    """Collect the questions that are not answered yet."""
    found = []
    follows = proving.follows

    def counted(question):
        found.append(question)
        return follows(question)

    with monkeypatch.context() as patch:
        patch.setattr(proving, "follows", counted)
        yield found


def test_questions_of_a_team_do_not_grow_with_the_cell(monkeypatch):
    counts = []
    for count in (2, 8, 32):
        program = parse(gates(count))
        with asked(monkeypatch) as questions:
            distribute_over_team(program)
        counts.append(len(questions))
    assert counts[0] == counts[1] == counts[2] <= 8


def test_steps_on_gates_that_are_alike_ask_nothing_new(monkeypatch):
    schedule = LoopSchedule(parse(gates(8).replace("parallel", "serial")))

    def tile(gate: int) -> int:
        with asked(monkeypatch) as questions:
            var = schedule.loop(f"i{gate}")
            schedule.apply(split, var, 4, Tail.PEEL)
            (cut,) = [s for s in schedule.forwarding.labels if s.name == f"t{gate}.init"]
            inner = schedule.loop(f"i{gate}_i")
            schedule.apply(fission, inner, cut)
            schedule.apply(vectorize, inner)
        return len(questions)

    first, *others = [tile(gate) for gate in range(8)]
    assert first > 0 and sum(others) <= 1, (first, others)  # the first gate reads a payload


@contextmanager
def compared(monkeypatch):
    """Ask each question of a prover that remembers nothing too, in a context of its own."""
    prove = Prover.prove
    count = [0]

    def both(self, goal, proven_goals=None, **place):
        answer = prove(self, goal, proven_goals=proven_goals, **place)
        anew = prove(Prover(self.program, self.effort, answers=None), goal, **place)
        assert type(answer) is type(anew), goal
        count[0] += 1
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(Prover, "prove", both)
        yield count


@given(programs(), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_steps_on_random_programs_have_the_answers_of_one_who_forgets(program, random):
    with pytest.MonkeyPatch.context() as patch, compared(patch):
        schedule = LoopSchedule(program, trusted=True)
        for _ in range(4):
            loops = list(schedule.forwarding.loops)
            if not loops:
                return
            var = random.choice(loops)
            primitive, *args = random.choice([(split, 2, Tail.PEEL), (split, 3), (vectorize,)])
            before = to_text(schedule.program)
            try:
                schedule.apply(primitive, var, *args)
            except ScheduleError:
                assert to_text(schedule.program) == before


@given(programs())
def test_regions_of_statements_in_a_row_are_those_of_each_alone(program):
    found = list(sites(program))
    assert list(map(str, regions_of(found))) == [str(regions(site)) for site in found]
    assert list(map(str, regions_of(found[::-1]))) == [str(regions(site)) for site in found[::-1]]


def every_pair(program, statements, common, relation):
    """Return the first conflict as it is defined: each statement is compared with each."""
    touching, proven = dependence._touching(statements), set()
    for one in touching:
        for other in touching:
            prover = prover_of(program)
            found = dependence._between(prover, one, other, common, relation, False, proven, ProvenGoals())
            if found is not None:
                return found
    return None


@given(programs(), st.data())
@settings(max_examples=60)
def test_looking_up_partners_leaves_out_no_conflict(program, data):
    loops = [site for site in sites(program) if isinstance(site.stmt, For)]
    if not loops:
        return
    site = data.draw(st.sampled_from(loops))
    var, inside = site.stmt.var, labelled(site)

    def apart(first, second):
        return (Binary(BinaryOp.LT, first[var], second[var]),)

    depth = len(site.loops)
    found = find_conflict(program, inside, inside, depth, apart)
    assert found == every_pair(program, inside, depth, apart)
