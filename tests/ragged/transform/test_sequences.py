"""Sequences of primitives: one by hand, as the default schedule goes about it, and many at random."""

import random
from collections import Counter

from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.ir.parser import parse
from ragged.ir.program import Program
from ragged.ir.rewrite import labels_of, loops_of
from ragged.ir.stmt import Block, For, Leaf, Let
from ragged.ir.walk import statements
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fission import fission
from ragged.transform.loops.fuse import fuse
from ragged.transform.loops.fuse_siblings import fuse_siblings
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.specialize import specialize
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll
from ragged.transform.loops.unroll_fully import unroll_fully
from ragged.transform.mapping.parallel import parallel
from ragged.transform.mapping.vectorize import vectorize
from tests.ragged.transform.programs import MATVEC, TREE, WAVES, matvec, matvec_data, tree_data, waves_data
from tests.ragged.transform.support import accepted, body, check_same, check_same_compiled

NAMES = {
    each.__name__: each
    for each in (
        split,
        reorder,
        fuse,
        fission,
        fuse_siblings,
        vectorize,
        unroll,
        parallel,
        specialize,
        unroll_fully,
    )
}


def scheduled() -> tuple[Program, LoopSchedule]:
    """Return a batch of products, and its schedule: register tiles of 4 nodes by 16 columns, tails of 1, 2 and 3."""
    program = parse(matvec(hidden=32, out=48))
    s = LoopSchedule(program)
    batch = s.loop("n")
    _, inner, tail = s.apply(split, batch, 4, Tail.PEEL).loops[batch]
    tails = s.apply(specialize, tail, (1, 2, 3)).loops[tail]
    for nodes in (inner, *tails):
        products, activations = directly_in(s.program, nodes)
        s.apply(fission, nodes, products)
        init = directly_in(s.program, products)[0]
        cut = s.apply(fission, products, init).loops[products]
        nodes_of = s.apply(fission, nodes, cut[0]).loops[nodes]
        (reduction,) = directly_in(s.program, cut[1])
        outer, lanes = s.apply(split, cut[1], 16).loops[cut[1]]
        s.apply(reorder, (outer, reduction, nodes_of[1], lanes))
        s.apply(vectorize, lanes)
        s.apply(unroll, nodes_of[1])
        s.apply(vectorize, s.apply(split, activations, 16).loops[activations][1])
    return program, s


def directly_in(program: Program, loop: Var) -> list:
    """Return what stands directly in a loop: the variables of loops and the labels of statements."""
    stmts = (s for stage in program.stages for s in statements(stage.body))
    body = next(s.body for s in stmts if isinstance(s, For) and s.var is loop)
    while isinstance(body, Let):
        body = body.body
    parts = body.body if isinstance(body, Block) else (body,)
    return [
        part.var if isinstance(part, For) else part.label for part in parts if isinstance(part, For | Leaf)
    ]


def test_the_schedule_of_a_batch_of_products(golden):
    program, s = scheduled()
    golden("matvec_scheduled.txt", f"{body(s.program)}\n{s.log()}\n")
    data = [matvec_data(count, seed=count, hidden=32, out=48) for count in (0, 1, 2, 3, 4, 7)]
    check_same(program, s.program, data)
    check_same_compiled(program, s.program, data, "y")


def test_the_log_taken_again_gives_the_same_program():
    program, s = scheduled()
    again = LoopSchedule(program)
    exec(s.log(), {**NAMES, "Tail": Tail, "s": again})
    assert str(again.program) == str(s.program)
    assert again.log() == s.log()


def nested(program: Program) -> list[tuple]:
    """Return pairs of loops, the one directly in the other where there are such."""
    return [
        (stmt.var, inner.var)
        for stage in program.stages
        for stmt in statements(stage.body)
        if isinstance(stmt, For)
        for inner in list(statements(stmt.body))[:3]
        if isinstance(inner, For)
    ]


def adjacent(program: Program) -> list[tuple]:
    return [
        (a.var, b.var)
        for stage in program.stages
        for stmt in statements(stage.body)
        if isinstance(stmt, Block)
        for a, b in zip(stmt.body, stmt.body[1:], strict=False)
        if isinstance(a, For) and isinstance(b, For)
    ]


def step(program: Program, name: str, choose: random.Random):
    """Return the arguments of one primitive, at random: mostly where it is likely to be accepted."""
    loops = loops_of(program)
    one, other = choose.choice(loops), choose.choice(loops)
    pairs = adjacent(program) if name == "fuse_siblings" else nested(program)
    pair = choose.choice(pairs) if pairs and choose.random() < 0.8 else (one, other)
    match name:
        case "split":
            return one, choose.randrange(6), choose.choice(list(Tail))
        case "reorder":
            return (pair[::-1],)
        case "fuse" | "fuse_siblings":
            return pair
        case "fission":
            cuts = [(var, place) for var in loops for place in directly_in(program, var)[:-1]]
            anywhere = (one, choose.choice([*labels_of(program), *loops]))
            return choose.choice(cuts) if cuts and choose.random() < 0.8 else anywhere
        case "specialize":
            return one, tuple(choose.sample(range(4), choose.randrange(1, 4)))
        case _:
            return (one,)


EXAMPLES = [
    (parse(MATVEC), [matvec_data(count, seed=count) for count in (0, 3, 6)]),
    (parse(TREE), [tree_data(depth=2, seed=0)]),
    (parse(TREE.replace("parallel", "serial")), [tree_data(depth=2, seed=1)]),
    (parse(WAVES), [waves_data(rows, seed=rows) for rows in (0, 1, 6)]),
]


OUTPUTS = ("y", "h", "h", "x")


def test_random_sequences_keep_every_bit():
    counts: dict[bool, Counter] = {True: Counter(), False: Counter()}
    for seed in range(80):
        choose = random.Random(seed)
        program, data = EXAMPLES[seed % len(EXAMPLES)]
        new = program
        for _ in range(9):
            name = choose.choice(list(NAMES))
            if len(loops_of(new)) > 16 or not loops_of(new):
                break
            arguments, before = step(new, name, choose), str(new)
            try:
                new = accepted(NAMES[name], new, *arguments).program
                counts[True][name] += 1
            except ScheduleError:
                assert str(new) == before
                counts[False][name] += 1
        check_same(program, new, data)
        if seed < 2 * len(EXAMPLES):
            check_same_compiled(program, new, data, OUTPUTS[seed % len(EXAMPLES)])
    assert set(counts[True]) == set(counts[False]) == set(NAMES), counts
