"""distribute_over_team with parts of the data: the text, the same bits for any team, where they meet, and refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ragged.errors import ScheduleError
from ragged.ir.check_facts import violation
from ragged.ir.equal import difference
from ragged.ir.interpret import Race, interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.schedule.distribute_over_team import distribute_over_team
from ragged.schedule.rebase_storage import rebase_storage
from ragged.schedule.rooms import Room
from ragged.schedule.schedule import Schedule
from ragged.schedule.sharing import fitting_apart
from tests.ragged.schedule.support import body, check_team, check_team_compiled, refused
from tests.ragged.schedule.test_rooms import OTHER_COLUMN, batch
from tests.ragged.schedule.test_rooms import program as rooms_program

FOREST = """\
program("forest")

num_nodes: structure()
num_inner: structure() = facts(0 <= num_inner < num_nodes + 1)
num_edges: structure()
num_batches: structure() = facts(1 <= num_batches < num_nodes + 2)
widest: structure()
most: structure()
begin: structure(b < num_batches) = facts(tiling(length, num_inner, num_nodes))
length: structure(b < num_batches) = facts(0 <= length(b) < (num_nodes + 1 if b == 0 else widest + 1))
under: structure(n < num_nodes + 1) = facts(0 <= under(n) < num_edges + 1, prefix_sum(children))
child: structure(e < num_edges) = facts(0 <= child(e) < num_nodes, follows(begin, length, via=under))
children: expression(n < num_nodes, under(n + 1) - under(n))
edges: expression(b < num_batches, under(begin(b) + length(b)) - under(begin(b))) = facts(0 <= edges(b) < most + 1)
num_parts: structure() = facts(1 <= num_parts < num_nodes + 2)
cut: structure(b < num_batches, p < num_parts + 1) = facts(parted(part, begin, length))
part: structure(n < num_nodes) = facts({within})
x: payload(float32[num_nodes, 4])
u: workspace(float32[num_edges, 4])
s: workspace(float32[num_nodes, 4])
h: output(float32[num_nodes, 4])

with kernel:
    for n in parallel(length(0)):
        for i in serial(4):
            h[begin(0) + n, i] = x[begin(0) + n, i]
    for step in serial(num_batches - 1):
        b = step + 1
        for c in parallel(4):
            for e in parallel(under(begin(b) + length(b)) - under(begin(b))):
                edge = under(begin(b)) + e
                u[edge, c] = tanh(h[child(edge), 3 - c])
        for m in parallel(length(b)):
            node = begin(b) + m
            for i1 in serial(4):
                s[node, i1] = x[node, i1]
                for k in serial(children(node)):
                    s[node, i1] += h[child(under(node) + k), i1]
        for c1 in parallel(4):
            for n1 in parallel(length(b)):
                node1 = begin(b) + n1
                h[node1, c1] = s[node1, {column}] * 0.5
                for k1 in serial(children(node1)):
                    h[node1, c1] += u[under(node1) + k1, c1]
"""
WITHIN = "within(child, via=under)"
WIDE = 2


def program(within=WITHIN, column="3 - c1"):
    return parse(FOREST.format(within=within, column=column))


def rooms(schedule, *, whole=False):
    """Return the rooms of `u`, one for each part, or also of `s`, which workers have copies of otherwise."""
    step = schedule.loop("step")
    of = {
        "u": ("under(begin(step + 1))", "edges(step + 1)", "most"),
        "s": ("begin(step + 1)", "length(step + 1)", "widest"),
    }
    return tuple(
        Room(schedule.buffer(name), 0, step, *(schedule.index(each, step) for each in of[name]))
        for name in (("u", "s") if whole else ("u",))
    )


def shared_out(old, wide=None, own=(), *, whole=False):
    schedule = Schedule(old)
    loops = tuple(schedule.loop(name) for name in own)
    schedule.apply(distribute_over_team, wide, loops, (), rooms(schedule, whole=whole))
    made = schedule.program
    verify(made)
    assert difference(made, parse(to_text(made))) is None
    return schedule


def forest(trees, parts, seed=0):
    """Return sizes and arrays of a forest: `trees` says of each how many nodes it has, and in which part it is."""
    random = np.random.default_rng(seed)
    nodes = []  # (height, part, children)
    for count, part in trees:
        free = []
        for left in range(count, 0, -1):
            width = min(len(free), int(random.integers(0, 4)) if left > 1 else len(free))
            below, free = free[len(free) - width :], free[: len(free) - width]
            height = max((nodes[child][0] + 1 for child in below), default=0)
            nodes.append((height, part, below))
            free.append(len(nodes) - 1)
    order = sorted(range(len(nodes)), key=lambda n: (-nodes[n][0], nodes[n][1]))
    place = {node: at for at, node in enumerate(order)}
    heights = [nodes[node][0] for node in order]
    length = np.bincount(heights, minlength=1)
    begin = len(nodes) - np.cumsum(length)
    lists = [[place[child] for child in nodes[node][2]] for node in order]
    under = np.concatenate([[0], np.cumsum([len(each) for each in lists])])
    part = np.array([nodes[node][1] for node in order])
    cut = [
        [b + np.count_nonzero(part[b : b + n] < p) for p in range(parts + 1)]
        for b, n in zip(begin, length, strict=True)
    ]
    edges = [under[b + n] - under[b] for b, n in zip(begin, length, strict=True)]
    sizes = {
        "num_nodes": len(nodes),
        "num_inner": int(begin[0]),
        "num_edges": int(under[-1]),
        "num_batches": len(length),
        "widest": max(length[1:], default=0),
        "most": max(edges, default=0),
        "num_parts": parts,
    }
    arrays = {"begin": begin, "length": length, "under": under, "cut": cut, "part": part}
    arrays |= {"child": [child for each in lists for child in each]}
    arrays = {name: np.array(array, np.int32) for name, array in arrays.items()}
    return {name: int(size) for name, size in sizes.items()}, arrays | {
        "x": random.standard_normal((len(nodes), 4)).astype(np.float32)
    }


DATA = {
    1: [forest([(1, 0)], 1), forest([(9, 0), (5, 0)], 1, 1)],
    2: [forest([(1, 0), (1, 1)], 2), forest([(12, 0), (7, 1), (9, 1)], 2, 2), forest([(17, 1)], 2, 3)],
    3: [forest([(20, 0), (9, 2), (14, 1), (6, 2)], 3, 4)],
}


def test_what_is_drawn_is_as_the_facts_say():
    for sizes, arrays in (each for data in DATA.values() for each in data):
        for fact in program().facts:
            assert violation(fact, sizes, arrays) is None


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("whole", [False, True])
def test_the_same_bits_for_any_team(workers, whole):
    """Where there are as many parts as workers, and where there are not."""
    old = program()
    for wide, own in ((WIDE, ()), (WIDE, ("m",))):
        if whole and own:
            continue  # a copy for each worker is not one for each part
        new = shared_out(old, wide, own, whole=whole).program
        for data in DATA.values():
            for each in data:
                check_team(old, new, each, "h", workers=workers, seeds=range(3))
            check_team_compiled(old, new, data, "h", workers=workers)


def test_text(golden):
    old = program()
    made = shared_out(old, WIDE, ("m",))
    golden("apart.txt", f"{body(old)}\n# after\n\n{body(made.program)}")
    assert "u: workspace(float32[num_parts, most, 4])" in str(made.program)
    assert "s: workspace(float32[workers, num_nodes, 4])" in str(made.program)


def test_those_who_have_parts_meet_nowhere():
    """Not even before the loop over batches: leaves are in parts too."""
    made = to_text(shared_out(program(), WIDE, ("m",)).program)
    lines = made.splitlines()
    barriers = [at for at, line in enumerate(lines) if line.strip() == "barrier(team)"]
    assert barriers and all("not num_parts == workers" in lines[at - 1] for at in barriers)


@pytest.mark.parametrize("piece", ["if not num_parts == workers:", "w if num_parts == workers else 0"])
def test_each_condition_is_needed(piece):
    """Without the barrier for others, and without a room for each part, the interpreter finds the race."""
    text = to_text(shared_out(program(), WIDE, ("m",)).program)
    changed = text.replace(piece, "if num_parts == workers + 9:" if piece.startswith("if") else "0")
    assert changed != text
    data = forest([(20, 0), (20, 1), (20, 1), (9, 0)], 1 if piece.startswith("if") else 2, 5)
    if data[0]["num_parts"] == 1:
        data[1]["part"][:] = 0
        data[1]["cut"] = np.stack(
            [data[1]["begin"], data[1]["begin"] + data[1]["length"]], axis=1, dtype=np.int32
        )
    with pytest.raises(Race):
        for seed in range(10):
            interpret(parse(changed), *data, workers=2, seed=seed)


def test_what_it_relies_on_is_checked():
    text = to_text(shared_out(program(), WIDE, ("m",)).checked())
    prelude = text[text.index("with prelude") :]
    assert "part({0}) = {1}, and it is in part {2} of {3}" in prelude
    assert "is of part {2}, and {3} of part {4}" in prelude


def refusal(old, wide=WIDE, own=(), apart=()):
    return refused(distribute_over_team, old, wide, own, (), apart).replace(
        "distribute_over_team: cannot share the kernel out to workers\n", ""
    )


def test_who_may_need_others_parts_is_refused():
    """Without the fact that children are in the part of their parents."""
    schedule = Schedule(program("0 <= part(n) < num_parts"))
    own = (schedule.loop("m"),)
    text = refusal(schedule.program, WIDE, own, rooms(schedule))
    assert text == (
        "  because: loop 'c' is not proven to need nothing of other parts: who has one would wait for others each time"
    )


def test_temporaries_of_all_parts_are_refused():
    """Parts are in other rounds at the same time, so that what has room for one round would be two parts'."""
    schedule = Schedule(program())
    schedule.apply(rebase_storage, *rooms(schedule)[0])
    with pytest.raises(ScheduleError, match="is not proven to need nothing of other parts"):
        schedule.apply(distribute_over_team, WIDE, (), (), ())


def test_columns_alone_are_in_no_parts():
    schedule = Schedule(program())
    text = refusal(schedule.program, None, (), rooms(schedule))
    assert "loop 'c' uses what each part has for itself, and is in no parts" in text


def test_data_without_parts_is_refused():
    text = FOREST.format(within=WITHIN, column="3 - c1")
    lines = [line for line in text.splitlines() if not line.startswith(("num_parts", "cut:", "part:"))]
    assert refusal(parse("\n".join(lines) + "\n")) == (
        "  because: no parallel loop is over what has parts\n"
        "  fix: leave `apart` out, or state what is in which part by a fact, `Parted`"
    )


def test_which_rooms_fit():
    schedule = Schedule(program())
    every = rooms(schedule, whole=True)
    assert fitting_apart(schedule.program, every, (), crossed=True) == every
    assert fitting_apart(schedule.program, every, (), crossed=False) == ()
    without = parse(
        str(schedule.program).replace("parted(part, begin, length)", "0 <= cut(b, p) < num_nodes + 1")
    )
    assert fitting_apart(without, (), (), crossed=True) is None


def test_rows_of_another_part_are_refused():
    """A worker who makes rows for himself needs those alone that are of his part."""
    text = FOREST.format(within=WITHIN, column="3 - c1")
    schedule = Schedule(parse(text.replace("s[node1, 3 - c1]", "s[begin(b) + length(b) - 1 - n1, c1]")))
    text = refusal(schedule.program, WIDE, (schedule.loop("m"),), rooms(schedule))
    assert "  because: of two parts, 's' and 'h' may touch one element of 's'\n" in text


def test_iterations_of_unknown_parts_are_refused():
    """Nothing is known of a batch's edges where offsets end before it."""
    text = FOREST.format(within=WITHIN, column="3 - c1")
    text = text.replace("under: structure(n < num_nodes + 1)", "under: structure(n < num_inner + 1)")
    text = text.replace("serial(num_batches - 1)", "serial(num_batches)").replace(
        "b = step + 1", "b = step + 0"
    )
    assert refusal(parse(text)) == (
        "  because: iterations of loop 'e' are not proven to be of the part that has them"
    )


def test_rooms_of_rows_that_are_in_no_parts():
    """Where there are parts, rows of other loops are shared out as else: few rows by columns, in one room."""
    names = {
        "total": "all",
        "first": "earliest",
        "batches": "rounds",
        "widest": "wide",
        "begin": "from_",
        "length": "rows",
        "s": "q",
    }
    other = str(rooms_program(OTHER_COLUMN))
    for name, new in {**names, "x": "given"}.items():
        other = re.sub(rf"\b{name}\b", new, other)
    declared, kernel = other.removeprefix('program("rounds")\n').split("with kernel:\n")
    text = FOREST.format(within=WITHIN, column="3 - c1")
    text = text.replace("x: payload", f"{declared.strip()}\nx: payload").replace(
        "with kernel:\n", f"with kernel:\n{kernel}"
    )
    schedule = Schedule(parse(text))
    step = schedule.loop("step", 0)
    given = ("from_(step + 1)", "rows(step + 1)", "wide")
    room = Room(schedule.buffer("t"), 0, step, *(schedule.index(each, step) for each in given))
    of_parts = tuple(
        Room(
            schedule.buffer("u"),
            0,
            schedule.loop("step", 1),
            *(schedule.index(each, schedule.loop("step", 1)) for each in said),
        )
        for said in [("under(begin(step + 1))", "edges(step + 1)", "most")]
    )
    schedule.apply(distribute_over_team, WIDE, (schedule.loop("m"),), (room,), of_parts)
    for lengths in [(3,), (5, 1, 4, 2, 7, 3, 6)]:
        sizes, arrays = batch(lengths)
        more = {names[name]: size for name, size in sizes.items()}
        arrays = {{**names, "x": "given"}[name]: array for name, array in arrays.items()}
        for own_sizes, own_arrays in DATA[2]:
            data = ({**more, **own_sizes}, {**arrays, **own_arrays})
            for output in ("h", "y"):
                check_team(parse(text), schedule.program, data, output, workers=2, seeds=range(4))
