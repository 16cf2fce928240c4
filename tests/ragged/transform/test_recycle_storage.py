"""recycle_storage: rows that are kept where earlier ones were."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.ir.expr import Binary, Call, Const, Ref
from ragged.ir.interpret import Race, interpret
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from ragged.transform.storage.recycle_storage import recycle_storage
from ragged.transform.storage.row_map import Pointer, RowMap, RowRange
from tests.ragged.transform.support import accepted, body, check_same_compiled, check_team, loop, refused

TREES = """\
program("trees")

num_nodes: input()
num_inner: input()
num_edges: input()
num_batches: input()
num_roots: input()
storage_rows: input()
batch_begin: input(b < num_batches) = facts(tiling(batch_length, num_inner, num_nodes))
batch_length: input(b < num_batches) = facts(0 <= batch_length(b) < num_nodes + 1)
left: input(n < num_inner) = facts(0 <= left(n) < num_nodes, follows(batch_begin, batch_length))
child_begin: input(n < num_nodes + 1) = facts(0 <= child_begin(n) < num_edges + 1, prefix_sum(num_children))
child: input(e < num_edges) = facts(0 <= child(e) < num_nodes, follows(batch_begin, batch_length, via=child_begin))
num_children: expression(n < num_nodes, child_begin(n + 1) - child_begin(n))
roots: input(r < num_roots) = facts(0 <= roots(r) < num_nodes)
storage_begin: input(b < num_batches) = facts(0 <= storage_begin(b) < storage_rows - batch_length(b) + 1)
storage_row: input(n < num_nodes) = facts(0 <= storage_row(n) < storage_rows)
x: payload(float32[num_nodes, 3])
h: workspace(float32[num_nodes, 3])
y: output(float32[num_roots, 3])

with kernel:
    for n1 in parallel(batch_length(0)):
        node = batch_begin(0) + n1
        for i in serial(3):
            h[node, i] = x[node, i]
    for step in serial(num_batches - 1):
        b = step + 1
        for n2 in parallel(batch_length(b)):
            node = batch_begin(b) + n2
            for i in serial(3):
                h[node, i] = tanh(x[node, i] + h[left(node), i])
            for k in serial(num_children(node)):
                k_node = child(child_begin(node) + k)
                for i in serial(3):
                    h[node, i]: h.more = h[batch_begin(b) + n2, i] * 0.5 + h[k_node, i]
    for r in parallel(num_roots):
        root = roots(r)
        for i in serial(3):
            y[r, i] = h[root, i]
"""


def data(*lengths, seed=0):
    """Return trees of so many nodes a batch, leaves first: each inner node has one to three nodes of batches before."""
    rng = np.random.default_rng(seed)
    total, batches = sum(lengths), len(lengths)
    begin = total - np.cumsum(lengths)
    batch = np.repeat(np.arange(batches)[::-1], lengths[::-1])
    children = [
        rng.integers(begin[b - 1], begin[b - 1] + lengths[b - 1], 1).tolist()
        + rng.integers(begin[b - 1], total, rng.integers(0, 3)).tolist()
        for b in batch[: begin[0]]
    ]
    last = batch + 1
    for node, below in enumerate(children):
        last[below] = np.maximum(last[below], batch[node])
    roots = sorted({*range(total)} - {child for below in children for child in below})
    last[roots] = batches
    held, firsts = [], []
    for b, (first, count) in enumerate(zip(begin, lengths, strict=True)):
        place = 0
        while any(until >= b for until in held[place : place + count]):
            place += 1
        held.extend([-1] * (place + count - len(held)))
        held[place : place + count] = last[first : first + count]
        firsts.append(place)
    arrays = {
        "batch_begin": begin,
        "batch_length": lengths,
        "left": [below[0] for below in children],
        "child_begin": np.cumsum([0, *map(len, children), *[0] * lengths[0]]),
        "child": [child for below in children for child in below],
        "roots": roots,
        "storage_begin": firsts,
        "storage_row": [firsts[b] + n - begin[b] for n, b in enumerate(batch)],
    }
    sizes = {
        "num_nodes": total,
        "num_inner": int(begin[0]),
        "num_edges": len(arrays["child"]),
        "num_batches": batches,
        "num_roots": len(roots),
        "storage_rows": len(held),
    }
    vectors = {"x": rng.standard_normal((total, 3)).astype(np.float32)}
    return sizes, {name: np.array(each, np.int32) for name, each in arrays.items()} | vectors


DATA = [data(3), data(4, 2), data(9, 5, 3, 2, 1, 1, seed=1), data(20, 4, 4, 4, 4, 4, 4, seed=2)]


def function(old, name):
    return next(each for each in old.functions if each.name == name)


def rows(old, batch):
    names = ("batch_begin", "batch_length", "storage_begin")
    return RowRange(*(Call(function(old, name), (batch,)) for name in names))


def kept(old, pointers=("left", "child")):
    led = {
        "left": Pointer(function(old, "left")),
        "child": Pointer(*(function(old, n) for n in ("child", "child_begin"))),
    }
    rows_there = Call(function(old, "storage_rows"))
    return RowMap(
        function(old, "storage_row"),
        rows_there,
        tuple(led[name] for name in pointers),
        (function(old, "roots"),),
    )


def asked(old, name="h", *, around="step", start=True, **changed):
    """Return the arguments."""
    round_loop = loop(old, around)
    batch = Binary(BinaryOp.ADD, Ref(round_loop), Const(1))
    buffer = next(each for each in old.buffers if each.name == name)
    return (
        buffer,
        0,
        round_loop,
        rows(old, batch),
        rows(old, Const(0)) if start else None,
        kept(old, **changed),
    )


def test_text(golden):
    old = parse(TREES)
    new = accepted(recycle_storage, old, *asked(old)).program
    assert "h: workspace(float32[storage_rows, 3])\n" in str(new)
    golden("recycle_storage.txt", f"{body(old)}\nrecycle_storage(h, 0, step, ...)\n\n{body(new)}")


def test_results():
    old = parse(TREES)
    new = accepted(recycle_storage, old, *asked(old)).program
    for sizes, arrays in DATA:
        np.testing.assert_array_equal(*(interpret(each, sizes, arrays)["y"] for each in (old, new)))
    check_same_compiled(old, new, DATA, "y")
    assert all(sizes["storage_rows"] < sizes["num_nodes"] for sizes, _ in DATA[2:])


def shared_out():
    old = parse(TREES)
    return old, distribute_over_team(old).program


def test_a_team():
    old, team = shared_out()
    new = accepted(recycle_storage, team, *asked(team)).program
    assert str(new).count("barrier(team)") == str(team).count("barrier(team)")
    for each in DATA:
        check_team(old, new, each, "y", workers=2, seeds=range(3))


def test_a_team_has_to_meet():
    """Without the barrier of a round it is refused; and whoever takes that out afterwards has a race."""
    _, team = shared_out()
    lines = str(team).splitlines(keepends=True)
    (meeting,) = [
        k for k, line in enumerate(lines) if line.strip() == "barrier(team)" and "b = step" in lines[k - 1]
    ]
    unmet = parse("".join(lines[:meeting] + lines[meeting + 1 :]))
    assert refused(recycle_storage, unmet, *asked(unmet)) == (
        WHAT.format("h", "step")
        + "  because: the workers do not meet between what one reads in a round and what others write in the next\n"
        "  fix: leave it where it is"
    )
    some = parse(
        "".join([*lines[:meeting], "            if b < 9:\n", f"    {lines[meeting]}", *lines[meeting + 1 :]])
    )
    assert "do not meet" in refused(recycle_storage, some, *asked(some))
    text = str(recycle_storage(team, *asked(team)).program)
    with pytest.raises(Race):
        for seed in range(20):
            interpret(parse(text.replace("            barrier(team)\n", "")), *DATA[3], workers=2, seed=seed)


def test_it_is_replayed():
    old = parse(TREES)
    schedule = LoopSchedule(old)
    schedule.apply(recycle_storage, *asked(old))
    again = LoopSchedule(old)
    exec(
        schedule.log(),
        {"s": again, "recycle_storage": lambda program, *args: recycle_storage(program, *named(args))},
    )
    assert str(again.program) == str(schedule.program)
    assert "check(0 <= storage_row(n)" in str(schedule.checked()) and "storage_begin(b)" in str(
        schedule.checked()
    )


def named(args):
    """Return arguments as they are typed: a log says tuples."""
    buffer, dimension, round_loop, own, start, (row, extent, pointers, last) = args
    led = tuple(Pointer(*each) for each in pointers)
    return buffer, dimension, round_loop, RowRange(*own), RowRange(*start), RowMap(row, extent, led, last)


WHAT = "recycle_storage: cannot keep rows of '{}' where rows of earlier rounds of '{}' were\n"


def refusal(text, **changed):
    old = parse(text)
    return refused(recycle_storage, old, *asked(old, **changed))


def test_refusals():
    old = parse(TREES)
    assert refusal(TREES, name="y") == (
        WHAT.format("y", "step") + "  because: it has the role 'output' and 2 dimensions\n"
        "  fix: name a workspace, and one of its dimensions from 0"
    )
    buffer, _, *others = asked(old)
    assert "  because: it has the role 'workspace' and 2 dimensions\n" in refused(
        recycle_storage, old, buffer, 2, *others
    )
    assert refusal(TREES, around="n1") == (
        WHAT.format("h", "n1")
        + "  because: loop 'n1' is parallel: there are not rounds one after another, once\n"
        "  fix: name a serial loop in none, or in a team's"
    )
    twice = TREES.replace("    for step", "    for again in serial(2):\n     for step")
    assert "loop 'again' is serial: there are" in refusal(twice)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("h[left(node), i])", "h[left(node - 1), i])", "h[left(node - 1), i]"),
        ("h[left(node), i])", "h[node + 1, i])", "h[node + 1, i]"),
        ("child(child_begin(node) + k)", "child(child_begin(node) + k + 1)", "h[k_node, i]"),
        ("= x[node, i]\n", "= x[node, i] + h[node - 1, i]\n", "h[node - 1, i]"),
        ("y[r, i] = h[root, i]", "y[r, i] = h[r, i]", "h[r, i]"),
        (
            "with kernel:\n",
            "with prelude:\n    h[batch_begin(0), 0] = 1.0\n\nwith kernel:\n",
            "h[batch_begin(0), 0]",
        ),
    ],
)
def test_what_is_no_row_of_the_round_s(old, new, said):
    assert old in TREES
    assert refusal(TREES.replace(old, new)) == (
        WHAT.format("h", "step")
        + f"  because: {said} is not proven to be of the round's rows, or where a pointer of one leads\n"
        "  fix: leave it where it is: not all workspaces can be kept so"
    )


def test_what_is_not_said():
    assert "h[left(node), i] is not proven" in refusal(TREES, pointers=("child",))
    assert "h[k_node, i] is not proven" in refusal(TREES, pointers=("left",))
    assert "h[node, i] is not proven" in refusal(TREES, start=False)


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        (
            " = facts(0 <= storage_begin(b) < storage_rows - batch_length(b) + 1)",
            "the rows from storage_begin(step + 1) on",
        ),
        (" = facts(0 <= storage_row(n) < storage_rows)", "what 'storage_row' says"),
    ],
)
def test_rows_that_may_not_be_there(fact, said):
    assert fact in TREES
    refused_so = refusal(TREES.replace(fact, ""))
    assert f"  because: {said} may be beyond the storage_rows that are there\n" in refused_so


def test_what_is_led_to_before_the_rounds():
    text = TREES.replace("h[node, i] = x[node, i]\n", "h[node, i] = x[node, i] + h[left(node), i]\n")
    assert "h[left(node), i] is not proven" in refusal(text)


FEW = """\
program("few")

storage_begin: input(b < 5) = facts(0 <= storage_begin(b) < 1)
storage_row: input(n < 4) = facts(0 <= storage_row(n) < 4)
roots: input(r < 2) = facts(0 <= roots(r) < 4)
h: workspace(float32[4, 3])
y: output(float32[2, 3])

with kernel:
    for step in serial(5):
        for n in parallel(4):
            for i in serial(3):
                h[n, i] = 1.0
    for r in parallel(2):
        for i in serial(3):
            y[r, i] = h[roots(r), i]
"""


@pytest.mark.parametrize("let", ["", "    k = 2\n"])
def test_a_row_that_no_let_of_the_round_names(let):
    """A loop's variable, or a let around all rounds, is no name for a place of one round."""
    text = FEW.replace("with kernel:\n", f"with kernel:\n{let}")
    old = parse(text.replace("h[n, i]", "h[k, i]") if let else text)
    batch = Ref(loop(old, "step"))
    own = RowRange(Const(0), Const(4), Call(function(old, "storage_begin"), (batch,)))
    told = RowMap(function(old, "storage_row"), Const(4), (), (function(old, "roots"),))
    new = accepted(recycle_storage, old, old.buffers[0], 0, loop(old, "step"), own, None, told).program
    assert f"h[storage_begin(step) + {'2' if let else 'n'}, i] = 1.0" in str(new)


def test_rows_of_a_dimension_in_the_middle():
    old = parse(TREES.replace("h[", "h[1, ").replace("h: workspace(float32[", "h: workspace(float32[2, "))
    buffer, _, *rest = asked(old)
    new = accepted(recycle_storage, old, buffer, 1, *rest).program
    assert "h: workspace(float32[2, storage_rows, 3])\n" in str(new)
    for sizes, arrays in DATA:
        np.testing.assert_array_equal(*(interpret(each, sizes, arrays)["y"] for each in (old, new)))


def test_rows_before_the_rounds_that_may_not_be_there():
    old = parse(TREES)
    buffer, dimension, rounds, own, start, told = asked(old)
    after = RowRange(start.begin, start.length, Binary(BinaryOp.ADD, start.first, Const(1)))
    said = refused(recycle_storage, old, buffer, dimension, rounds, own, after, told)
    assert "  because: the rows from storage_begin(0) + 1 on may be beyond the storage_rows" in said


def test_a_meeting_between_two_reads_of_a_round_is_too_early():
    """Rows that a worker reads after it may be overwritten by one that has gone on to the next round."""
    second = (
        "        for n3 in parallel(batch_length(b)):\n            node = batch_begin(b) + n3\n"
        "            for k in serial"
    )
    text = TREES.replace("            for k in serial", second).replace(
        "batch_begin(b) + n2, i]", "batch_begin(b) + n3, i]"
    )
    team = distribute_over_team(parse(text)).program
    lines = str(team).splitlines(keepends=True)
    rounds = next(k for k, line in enumerate(lines) if "for step" in line)
    meetings = [k for k, line in enumerate(lines) if line == "            barrier(team)\n" and k > rounds]
    (reads,) = [k for k, line in enumerate(lines) if "k_node" in line and "h[" in line]
    starts = max(
        k for k, line in enumerate(lines[:reads]) if line.startswith("            ") and line[12] != " "
    )
    early = [line for k, line in enumerate(lines[:starts]) if k not in meetings]
    early += ["            barrier(team)\n", *lines[starts:]]
    program = parse("".join(early))
    assert "do not meet" in refused(recycle_storage, program, *asked(program))
    late = parse("".join([*lines[: reads + 1], "            barrier(team)\n", *lines[reads + 1 :]]))
    accepted(recycle_storage, late, *asked(late))
