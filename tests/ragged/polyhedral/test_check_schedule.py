"""The check of whole schedules by isl: of the default schedule, of wrong ones, and of what it cannot tell."""

from pathlib import Path

import pytest

from ragged import tc
from ragged.auto.default_schedule import DefaultSchedule
from ragged.ir.index import index_of
from ragged.ir.parser import parse
from ragged.machine import this_machine
from ragged.polyhedral.context import PolyhedralLimitError
from ragged.schedule.loop_schedule import LoopSchedule, recorded_schedules
from ragged.tc.compiled import lower_analysed
from ragged.transform import fuse_siblings, reorder, split
from ragged.transform.loops import fuse_siblings as own_module
from ragged.transform.loops import reorder as reorder_module
from tests.support.dependences.whole_schedules import violated_dependences

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "tc"
SMALL = {"H": 9, "W": 11, "KH": 3, "KW": 3, "G": 2, "D": 2}
FUNCTIONS = {}
for path in sorted(FOLDER.glob("*.tc")):
    lib = tc.define(path.read_text(encoding="utf-8"), name=path.name)
    FUNCTIONS.update({name: lib[name] for name in lib.functions})


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_the_default_schedule_keeps_all_dependences(name):
    function = FUNCTIONS[name]
    sizes = {each: SMALL.get(each, 5 + 13 * place) for place, each in enumerate(function.sizes)}
    program = lower_analysed(function._analysed, sizes, (), {}).schedule().lower()
    with recorded_schedules() as schedules:
        DefaultSchedule(this_machine())(program)
    assert violated_dependences(program, schedules[-1]) == []


PAIR = """\
program("pair")

x: workspace(float32[20])
y: output(float32[20])

with kernel:
    for i in {kind}(20):
        x[i]: first = 1.0
    for j in {kind}(20):
        y[j]: second = x[{read}]
"""


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_a_wrong_fusion_is_caught(kind, monkeypatch):
    monkeypatch.setattr(own_module, "find_conflict", lambda *args, **more: None)
    program = parse(PAIR.format(kind=kind, read="19 - j"))
    with recorded_schedules():
        schedule = LoopSchedule(program)
    i, j = index_of(program).loops
    assert violated_dependences(program, schedule) == []
    schedule.apply(fuse_siblings, i, j)
    schedule.apply(split, i, 4)
    wrong = violated_dependences(program, schedule)
    assert wrong.pop(0).startswith("not in order: 'first' and 'second' where ")
    loops = ("i_o", "i_i") if kind == "parallel" else ()
    assert wrong == [f"the iterations of the parallel loop '{each}' depend on each other" for each in loops]


def test_a_wrong_order_of_loops_is_caught(monkeypatch):
    monkeypatch.setattr(reorder_module, "find_conflict", lambda *args, **more: None)
    program = parse(
        'program("p")\n\nx: output(float32[9, 9])\n\nwith kernel:\n    for i in serial(8):\n'
        "        for j in serial(8):\n            x[i + 1, j] = x[i, j + 1]\n"
    )
    with recorded_schedules():
        schedule = LoopSchedule(program)
    i, j = index_of(program).loops
    schedule.apply(reorder, (j, i))
    assert len(violated_dependences(program, schedule)) == 1


def test_what_accesses_do_not_say_is_refused():
    program = parse(
        'program("p")\n\nx: output(float32[1])\n\nwith kernel:\n    for i in serial(8):\n        x[0] = 1.0\n'
    )
    with recorded_schedules():
        schedule = LoopSchedule(program)
    schedule.apply(split, index_of(program).loops[0], 4)
    with pytest.raises(PolyhedralLimitError, match="which iteration is which"):
        violated_dependences(program, schedule)
