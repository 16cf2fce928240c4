"""What the prover proves is true, and the goals that lowering needs are proven."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from ragged.ir.build import add, index, sub, within
from ragged.ir.dtype import DType
from ragged.ir.expr import (
    Binary,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    Function,
    Load,
    Param,
    Ref,
    Role,
    Select,
    Source,
    Unary,
    Var,
)
from ragged.ir.fact import Fact
from ragged.ir.facts import Injective, Monotone, Owner, PrefixSum, Range, Tiling
from ragged.ir.interpret import Fault
from ragged.ir.interpret.evaluate import Evaluator
from ragged.ir.interpret.memory import Frame
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.pointer_facts import Descends, Follows, Layered, Uniform
from ragged.ir.program import Program
from ragged.prove import Proof, Prover, Unproven
from ragged.prove.axioms import instances
from ragged.prove.terms import Translator
from tests.support.check_facts import violation


def size(name: str) -> Function:
    return Function(name, (), Source.INPUT)


def table(name: str, extent: Expr) -> Function:
    return Function(name, (Param(Var("a"), extent),), Source.INPUT)


def own(function: Function) -> Ref:
    return Ref(function.params[0].var)


def op(operator: BinaryOp, lhs: int | Expr | Var, rhs: int | Expr | Var) -> Binary:
    return Binary(operator, index(lhs), index(rhs))


ZERO = Const(0)

# --- a batch of structures, numbered as recursion numbers them ----------------------------------------------

NODES, INNER, EDGES, BATCHES = size("num_nodes"), size("num_inner"), size("num_edges"), size("num_batches")
BEGIN, LENGTH = table("batch_begin", Call(BATCHES)), table("batch_length", Call(BATCHES))
LEFT, WORD = table("left", Call(INNER)), table("word", Call(NODES))
CHILD_BEGIN, CHILD = table("child_begin", add(Call(NODES), 1)), table("child", Call(EDGES))
_N = Var("n")
NUM_CHILDREN = Function(
    "num_children",
    (Param(_N, Call(NODES)),),
    Source.EXPRESSION,
    sub(Call(CHILD_BEGIN, (add(Ref(_N), 1),)), Call(CHILD_BEGIN, (Ref(_N),))),
)
TILING = Tiling(BEGIN, LENGTH, Call(INNER), Call(NODES))
LEFT_RANGE = Range(LEFT, add(own(LEFT), 1), Call(NODES))
WORD_RANGE = Range(WORD, Const(-1), Const(50))
EDGE_RANGE, CHILD_RANGE = Range(CHILD_BEGIN, ZERO, add(Call(EDGES), 1)), Range(CHILD, ZERO, Call(NODES))
OFFSETS = PrefixSum(CHILD_BEGIN, NUM_CHILDREN)
LEFT_LATER, CHILD_LATER = Follows(LEFT, BEGIN, LENGTH), Follows(CHILD, BEGIN, LENGTH, CHILD_BEGIN)
FUNCTIONS = (NODES, INNER, EDGES, BATCHES, BEGIN, LENGTH, LEFT, WORD, CHILD_BEGIN, CHILD, NUM_CHILDREN)
FACTS: tuple[Fact, ...] = (
    Range(INNER, ZERO, add(Call(NODES), 1)),
    TILING,
    LEFT_RANGE,
    WORD_RANGE,
    EDGE_RANGE,
    CHILD_RANGE,
    OFFSETS,
    LEFT_LATER,
    CHILD_LATER,
)
PROVER = Prover(Program("structures", FUNCTIONS, (), FACTS, ()))

# A kernel's loops: over the batches of inner nodes, and over the nodes of one.
STEP, B, ROW, NODE, K = Var("step"), Var("b"), Var("i"), Var("node"), Var("k")
LOOPS = ((STEP, sub(Call(BATCHES), 1)), (ROW, Call(LENGTH, (Ref(B),))))
LETS = ((B, add(Ref(STEP), 1)), (NODE, add(Call(BEGIN, (Ref(B),)), Ref(ROW))))
AT_NODE = {"loops": LOOPS, "lets": LETS}
AT_CHILD = {"loops": (*LOOPS, (K, Call(NUM_CHILDREN, (Ref(NODE),)))), "lets": LETS}
EDGE = add(Call(CHILD_BEGIN, (Ref(NODE),)), Ref(K))
EDGES_OF_BATCH = sub(
    Call(CHILD_BEGIN, (add(Call(BEGIN, (Ref(B),)), Call(LENGTH, (Ref(B),))),)),
    Call(CHILD_BEGIN, (Call(BEGIN, (Ref(B),)),)),
)
DONE = add(Call(BEGIN, (Ref(B),)), Call(LENGTH, (Ref(B),)))


@dataclass(frozen=True)
class World:
    """Data that satisfies the facts."""

    sizes: dict[str, int]
    arrays: dict[str, np.ndarray]

    def evaluator(self, functions: tuple[Function, ...]) -> Evaluator:
        sizes = {f: self.sizes[f.name] for f in functions if f.is_size}
        return Evaluator(sizes, {f: self.arrays[f.name] for f in functions if f.is_array})


def structures(rng: np.random.Generator) -> World:
    """A random batch: the children of a node are any nodes of earlier batches, as in a DAG."""
    lengths = [int(n) for n in rng.integers(1, 4, size=rng.integers(1, 4))] if rng.random() > 0.1 else [0]
    begin = np.cumsum(lengths[::-1])[::-1] - lengths
    nodes, inner = sum(lengths), int(begin[0])
    children = []
    for n in range(inner):
        batch = next(b for b in range(len(lengths)) if begin[b] <= n < begin[b] + lengths[b])
        low = begin[batch] + lengths[batch]
        children.append(rng.integers(low, nodes, size=rng.integers(1, 4)))
    counts = [len(c) for c in children] + [0] * (nodes - inner)
    edges = np.concatenate([*children, np.zeros(0)])
    sizes = {"num_nodes": nodes, "num_inner": inner, "num_edges": len(edges), "num_batches": len(lengths)}
    arrays = {
        "batch_begin": begin,
        "batch_length": lengths,
        "left": [c[0] for c in children],
        "word": rng.integers(-1, 50, size=nodes),
        "child_begin": np.cumsum([0, *counts]),
        "child": edges,
        "rank": rng.permutation(nodes),
    }
    return World(sizes, {name: np.array(a, np.int32) for name, a in arrays.items()})


WORLDS = [structures(np.random.default_rng(seed)) for seed in range(40)]


def test_the_data_satisfies_the_facts():
    for world in WORLDS:
        for fact in RICH.program.facts:
            assert violation(fact, world.sizes, world.arrays) is None


# --- goals that lowering needs ------------------------------------------------------------------------------

PROVEN = {
    "a node of a later batch is an inner one": (within(Ref(NODE), ZERO, Call(INNER)), AT_NODE, {TILING}),
    "left is a node": (within(Call(LEFT, (Ref(NODE),)), ZERO, Call(NODES)), AT_NODE, {TILING, LEFT_RANGE}),
    "left is done": (
        op(BinaryOp.GE, Call(LEFT, (Ref(NODE),)), DONE),
        AT_NODE,
        {TILING, LEFT_LATER},
    ),
    "a word that is there is in the table": (
        within(Call(WORD, (Ref(NODE),)), ZERO, Const(50)),
        {**AT_NODE, "conditions": [op(BinaryOp.LE, ZERO, Call(WORD, (Ref(NODE),)))]},
        {TILING, WORD_RANGE},
    ),
    "an edge of a node": (within(EDGE, ZERO, Call(EDGES)), AT_CHILD, {TILING, EDGE_RANGE}),
    "a child is a node": (
        within(Call(CHILD, (EDGE,)), ZERO, Call(NODES)),
        AT_CHILD,
        {TILING, EDGE_RANGE, CHILD_RANGE},
    ),
    "a child is done": (
        op(BinaryOp.GE, Call(CHILD, (EDGE,)), DONE),
        AT_CHILD,
        {TILING, EDGE_RANGE, CHILD_LATER},
    ),
    "a child of a batch's edge is done": (
        op(
            BinaryOp.GE,
            Call(CHILD, (add(Call(CHILD_BEGIN, (Call(BEGIN, (Ref(B),)),)), Ref(K)),)),
            DONE,
        ),
        {"loops": (LOOPS[0], (K, EDGES_OF_BATCH)), "lets": LETS[:1]},
        {TILING, EDGE_RANGE, CHILD_LATER},
    ),
    "no count of children is negative": (
        op(BinaryOp.GE, Call(NUM_CHILDREN, (Ref(NODE),)), 0),
        AT_NODE,
        {TILING, OFFSETS},
    ),
    "a leaf is a node": (
        within(add(Call(INNER), Ref(ROW)), ZERO, Call(NODES)),
        {"loops": [(ROW, Call(LENGTH, (ZERO,)))]},
        {TILING},
    ),
    "there is a first batch": (
        op(BinaryOp.LT, Call(BEGIN, (ZERO,)), add(Call(NODES), 1)),
        {},
        {TILING},
    ),
    "the last batch begins at 0": (
        op(BinaryOp.EQ, Call(BEGIN, (sub(Call(BATCHES), 1),)), 0),
        {},
        {TILING},
    ),
    "a tile stays in its dimension": (
        within(add(op(BinaryOp.MUL, B, 8), Ref(ROW)), ZERO, Call(NODES)),
        {"loops": [(B, op(BinaryOp.FLOORDIV, Call(NODES), 8)), (ROW, Const(8))]},
        set(),
    ),
}


@pytest.mark.parametrize("name", PROVEN)
def test_a_goal_that_lowering_needs(name: str):
    goal, place, facts = PROVEN[name]
    assert PROVER.prove(goal, **place) == Proof(frozenset(facts))


def test_two_nodes_of_different_batches_differ():
    c, j = Var("c"), Var("j")
    loops = [
        (B, Call(BATCHES)),
        (ROW, Call(LENGTH, (Ref(B),))),
        (c, Call(BATCHES)),
        (j, Call(LENGTH, (Ref(c),))),
    ]
    goal = op(BinaryOp.NE, add(Call(BEGIN, (Ref(B),)), Ref(ROW)), add(Call(BEGIN, (Ref(c),)), Ref(j)))
    assert PROVER.prove(goal, loops=loops, conditions=[op(BinaryOp.NE, B, c)]) == Proof(frozenset({TILING}))
    assert isinstance(PROVER.prove(goal, loops=loops), Unproven)


def test_edges_of_different_nodes_differ():
    m, j = Var("m"), Var("j")
    loops = [
        (_N, Call(NODES)),
        (K, Call(NUM_CHILDREN, (Ref(_N),))),
        (m, Call(NODES)),
        (j, Call(NUM_CHILDREN, (Ref(m),))),
    ]
    goal = op(
        BinaryOp.NE, add(Call(CHILD_BEGIN, (Ref(_N),)), Ref(K)), add(Call(CHILD_BEGIN, (Ref(m),)), Ref(j))
    )
    different = [op(BinaryOp.NE, _N, m)]
    assert PROVER.prove(goal, loops=loops, conditions=different) == Proof(frozenset({OFFSETS}))


UNPROVEN = {
    "a word may be missing": (
        within(Call(WORD, (Ref(NODE),)), ZERO, Const(50)),
        AT_NODE,
        r"^step = \d, i = (\d), b = (\d), node = (\d), num_batches = \d, .*batch_begin\(\2\) = \d, word\(\3\) = -1$",
    ),
    "left may be a leaf": (within(Call(LEFT, (Ref(NODE),)), ZERO, Call(INNER)), AT_NODE, None),
    "left of a node of any batch": (
        within(Call(LEFT, (Ref(NODE),)), ZERO, Call(NODES)),
        {"loops": ((B, Call(BATCHES)), LOOPS[1]), "lets": LETS[1:]},
        None,
    ),
    "a child may be below its parent's batch": (
        op(BinaryOp.GT, Call(CHILD, (EDGE,)), DONE),
        AT_CHILD,
        None,
    ),
    "a tile may overlap the end": (
        within(add(op(BinaryOp.MUL, B, 8), Ref(ROW)), ZERO, Call(NODES)),
        {"loops": [(B, op(BinaryOp.FLOORDIV, add(Call(NODES), 7), 8)), (ROW, Const(8))]},
        None,
    ),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_what_is_not_so_stays_unproven_with_a_counterexample(name: str):
    goal, place, example = UNPROVEN[name]
    result = PROVER.prove(goal, **place)
    assert isinstance(result, Unproven)
    assert result.reason == "counterexample"
    assert result.example
    if example is not None:
        assert re.match(example, result.example), result.example


def cubes() -> tuple[Expr, list[Expr]]:
    cube = [op(BinaryOp.MUL, op(BinaryOp.MUL, v, v), v) for v in (B, ROW, K)]
    return op(BinaryOp.NE, cube[0], add(cube[1], cube[2])), [op(BinaryOp.GT, v, 0) for v in (B, ROW, K)]


def test_a_question_that_is_too_hard_ends():
    goal, conditions = cubes()
    prover = Prover(PROVER.program, effort=20_000, answers=None)
    answers = [prover.prove(goal, conditions=conditions) for _ in range(3)]
    assert answers == [Unproven("resource limit")] * 3


def test_an_answer_does_not_depend_on_earlier_questions():
    goal, place, _ = UNPROVEN["left may be a leaf"]
    prover = Prover(PROVER.program, answers=None)
    alone = prover.prove(goal, **place)
    for other, where, _facts in PROVEN.values():
        prover.prove(other, **where)
    assert prover.prove(goal, **place) == alone


# --- what stands in buffers ---------------------------------------------------------------------------------


def loaded(role: Role, dtype: DType = DType.INT64) -> Load:
    return Load(Buffer("x", dtype, (Const(4),), role), (Ref(ROW),))


def test_a_buffer_that_nobody_writes_holds_one_value():
    x = loaded(Role.PAYLOAD)
    assert PROVER.prove(op(BinaryOp.LT, x, 5), conditions=[op(BinaryOp.LT, x, 4)]) == Proof(frozenset())
    elsewhere = Load(x.buffer, (Ref(K),))
    assert isinstance(PROVER.prove(op(BinaryOp.EQ, x, elsewhere)), Unproven)


@pytest.mark.parametrize("role", [Role.WORKSPACE, Role.LOCAL, Role.OUTPUT, Role.BOUND])
def test_a_buffer_that_may_be_written_between_two_reads_does_not(role: Role):
    x = loaded(role)
    assert isinstance(PROVER.prove(op(BinaryOp.LT, x, 5), conditions=[op(BinaryOp.LT, x, 4)]), Unproven)


def test_floats_are_anything():
    x = loaded(Role.PAYLOAD, DType.FLOAT32)
    positive = Binary(BinaryOp.GT, x, Const(0.0, DType.FLOAT32))
    assert PROVER.prove(positive, conditions=[positive]) == Proof(frozenset())
    assert isinstance(PROVER.prove(Binary(BinaryOp.EQ, x, x)), Unproven)  # NaN
    assert isinstance(PROVER.prove(op(BinaryOp.GE, Cast(DType.INT64, x), 0)), Unproven)


def test_a_cast_drops_bits():
    narrow = Cast(DType.INT64, Cast(DType.INT32, Ref(ROW)))
    assert isinstance(PROVER.prove(op(BinaryOp.EQ, narrow, ROW)), Unproven)
    assert PROVER.prove(op(BinaryOp.EQ, narrow, ROW), loops=[(ROW, Const(2**31))]) == Proof(frozenset())


@pytest.mark.parametrize(
    ("types", "first", "last"),
    [
        (["uint8"], 0, 255),
        (["int8"], -128, 127),
        (["uint8", "int8"], -128, 127),
        (["int8", "uint8"], 0, 255),
        (["int8", "uint16"], 0, 2**16 - 1),
        (["uint8", "int16"], 0, 255),
        (["uint32"], 0, 2**32 - 1),
    ],
)
def test_a_cast_has_the_limits_of_its_type(types, first, last):
    """And is no other number where its operand is within them: what is proven holds for each `v + begin`."""
    for begin in (-2, -1, 0):
        v, extent = Var("v"), 4
        numbers = np.arange(begin, begin + extent)
        narrow: Expr = add(Ref(v), begin)
        for name in types:
            narrow, numbers = Cast(DType(name), narrow), numbers.astype(name)
        narrow = Cast(DType.INT64, narrow)

        def proven(goal: Expr, extent=extent, v=v) -> bool:
            return isinstance(PROVER.prove(goal, loops=[(v, Const(extent))]), Proof)

        assert proven(op(BinaryOp.GE, narrow, first)) and proven(op(BinaryOp.LE, narrow, last))
        for limit in (first, 0, extent, last):
            assert not proven(op(BinaryOp.LT, narrow, limit)) or (numbers.astype(np.int64) < limit).all()
        assert proven(op(BinaryOp.EQ, narrow, add(Ref(v), begin))) == (begin == 0 or types == ["int8"])


# --- soundness ----------------------------------------------------------------------------------------------

integers = st.integers(-3, 6)
_OF_FLOATS = (BinaryOp.DIV, BinaryOp.PAIR, BinaryOp.DOT)
_OPERATORS = [o for o in BinaryOp if o not in _OF_FLOATS and not o.is_logical]


@st.composite
def comparisons(draw: st.DrawFn, values: st.SearchStrategy[Expr]) -> Expr:
    return Binary(draw(st.sampled_from([o for o in BinaryOp if o.is_comparison])), draw(values), draw(values))


def compounds(values: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    arithmetic = st.sampled_from([o for o in _OPERATORS if not o.is_comparison])
    logical = st.builds(
        Binary, st.sampled_from([BinaryOp.AND, BinaryOp.OR]), comparisons(values), comparisons(values)
    )
    tests = comparisons(values) | logical | st.builds(Unary, st.just(UnaryOp.NOT), comparisons(values))
    return (
        st.builds(Binary, arithmetic, values, values)
        | st.builds(Unary, st.sampled_from([UnaryOp.NEG, UnaryOp.ABS]), values)
        | st.builds(Select, tests, values, values)
        | st.builds(Cast, st.just(DType.INT64), tests)
    )


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.builds(Const, integers), compounds, max_leaves=8))
def test_a_term_has_the_value_that_the_interpreter_gives(expr: Expr):
    try:
        value = Evaluator().compile(expr)(Frame({}, {}))
    except Fault:
        return
    translator = Translator()
    assert z3.simplify(translator.term(expr)).as_long() == value


COUNT = size("count")
F, G = table("f", Call(COUNT)), table("g", Call(COUNT))
P, V = table("p", add(Call(COUNT), 1)), table("v", add(Call(COUNT), 1))
LOW, TOP = size("low"), size("top")
KINDS: dict[str, Fact] = {
    "range": Range(F, sub(own(F), 1), Call(G, (own(F),))),
    "range of sizes": Range(F, ZERO, Call(COUNT)),
    "monotone": Monotone(F),
    "strictly monotone": Monotone(F, strict=True),
    "injective": Injective(F),
    "prefix sum": PrefixSum(P, F),
    "owner": Owner(F, P),
    "tiling": Tiling(F, G, Call(LOW), Call(TOP)),
    "follows": Follows(P, F, G),
    "follows via": Follows(P, F, G, V),
    "follows or points nowhere": Follows(P, F, G, optional=True),
    "uniform": Uniform.of(P, BinaryOp.LE, Call(LOW), F, G),
    "uniform by the place": Uniform.of(P, BinaryOp.NE, own(P), F, G),
    "layered": Layered(F, P, G, V, 2),
    "descends": Descends(F, V, P, 2),
    "descends via": Descends(F, V, P, 2, G),
    "descends or points nowhere": Descends(F, V, P, 2, optional=True),
}


def near(fact: Fact, rng: np.random.Generator) -> World:
    """Data that satisfies `fact`, or all but."""
    count = int(rng.integers(0, 4))
    g = rng.integers(0, 3, size=count)
    p, v = rng.integers(0, 5, size=count + 1), np.sort(rng.integers(0, count + 2, size=count + 1))
    match fact:
        case Monotone():
            f = np.sort(rng.integers(-1, 4, size=count))
        case Tiling() | Follows() | Uniform():
            f = np.cumsum(g[::-1])[::-1] - g
        case _:
            f = rng.integers(0, 3, size=count)
    if isinstance(fact, Owner):
        p = np.sort(p)
        f = np.array([max(int(np.searchsorted(p, k, "right")) - 1, 0) for k in range(count)], p.dtype)
    if isinstance(fact, Layered):
        f, p = rng.permutation(count), np.sort(rng.integers(0, count + 1, size=count + 1))
        g = np.argsort(f)
        steps = np.clip(np.searchsorted(p, np.arange(count), "right") - 1, 0, None)
        v[f] = 2 * steps + rng.integers(1, 3, size=count)
    if isinstance(fact, Descends):
        p, v = count - np.arange(count + 1), rng.integers(0, 2, size=count + 1)
        f = np.array([rng.integers(n + 1, count + 1) for n in range(count)], p.dtype)
        if fact.via is not None:
            g = np.minimum(np.arange(count), 1)
    if isinstance(fact, PrefixSum):
        p = np.cumsum([0, *f])
    low, top = (int(f[0]), int(f[0] + g[0])) if count else (0, 0)
    if rng.random() < 0.5:
        spoiled = [array for array in (f, g, p) if len(array)][rng.integers(0, 3 if count else 1)]
        spoiled[rng.integers(0, len(spoiled))] += rng.choice([-2, -1, 1, 2])
    arrays = {"f": f, "g": g, "p": p, "v": v}
    return World({"count": count, "low": low, "top": top}, {n: a.astype(np.int32) for n, a in arrays.items()})


def consistent(fact: Fact, world: World) -> bool:
    """True if all instances of `fact`, at every argument in and around its domain, agree with the data."""
    to = Translator()
    data = []
    for function in (F, G, P, V):
        values = world.arrays[function.name]
        for a in range(-1, len(values) + 2):
            value = to.call(function, to.int(a))
            if 0 <= a < len(values):
                data.append(value == int(values[a]))
    for a in range(-1, len(world.arrays["f"]) + 2):
        to.call(V, to.call(F, to.int(a)))  # what asks for the edges of a range of nodes
    for function in (COUNT, LOW, TOP):
        data.append(to.call(function) == world.sizes[function.name])
    solver = z3.SimpleSolver(ctx=to.context)
    solver.add(*instances(fact, tuple(to.calls.values()), to), *data)
    return solver.check() == z3.sat


@pytest.mark.parametrize("kind", KINDS)
def test_the_instances_of_a_fact_say_what_the_fact_says(kind: str):
    fact, seen = KINDS[kind], set()
    for seed in range(40):
        world = near(fact, np.random.default_rng(seed))
        holds = violation(fact, world.sizes, world.arrays) is None
        assert consistent(fact, world) == holds, world
        seen.add(holds)
    assert seen == {False, True}


# The kernel's row under another name: the solver has to find that two calls are one.
SAME_B, SAME_NODE = add(Ref(STEP), 1), add(Call(BEGIN, (Ref(B),)), Ref(ROW))
RANK = table("rank", Call(NODES))
RICH = Prover(
    Program(
        "rich",
        (*FUNCTIONS, RANK),
        (),
        (*FACTS, Injective(RANK), Monotone(CHILD_BEGIN), Range(RANK, ZERO, Call(NODES))),
        (),
    )
)

atoms = st.sampled_from(
    [
        Ref(NODE),
        Ref(ROW),
        Ref(B),
        Const(1),
        Call(NODES),
        Call(INNER),
        Call(EDGES),
        Call(BATCHES),
        Call(BEGIN, (Ref(B),)),
        Call(BEGIN, (ZERO,)),
        Call(BEGIN, (Ref(STEP),)),
        Call(BEGIN, (SAME_B,)),
        Call(LENGTH, (SAME_B,)),
        Call(LEFT, (SAME_NODE,)),
        Call(CHILD_BEGIN, (SAME_NODE,)),
        Call(RANK, (Ref(NODE),)),
        Call(RANK, (SAME_NODE,)),
        Call(LENGTH, (Ref(B),)),
        Call(LEFT, (Ref(NODE),)),
        Call(WORD, (Ref(NODE),)),
        Call(WORD, (Call(LEFT, (Ref(NODE),)),)),
        Call(NUM_CHILDREN, (Ref(NODE),)),
        Call(NUM_CHILDREN, (Call(LEFT, (Ref(NODE),)),)),
        Call(CHILD_BEGIN, (Ref(NODE),)),
        Call(CHILD_BEGIN, (add(Ref(NODE), 1),)),
        Call(CHILD, (Call(CHILD_BEGIN, (Ref(NODE),)),)),
        DONE,
    ]
)
linear = st.builds(Binary, st.sampled_from([BinaryOp.ADD, BinaryOp.SUB]), atoms, atoms) | atoms


def points(world: World):
    """Every place where the kernel's inner loop comes to."""
    for step in range(world.sizes["num_batches"] - 1):
        for i in range(int(world.arrays["batch_length"][step + 1])):
            node = int(world.arrays["batch_begin"][step + 1]) + i
            yield {STEP: step, B: step + 1, ROW: i, NODE: node}


@settings(max_examples=60, deadline=None)
@given(comparisons(linear))
def test_what_is_proven_is_true_of_data_that_satisfies_the_facts(goal: Expr):
    if isinstance(RICH.prove(goal, **AT_NODE), Unproven):
        return
    for world in WORLDS:
        evaluator = world.evaluator(RICH.program.functions)
        for scope in points(world):
            with suppress(Fault):  # a call outside its domain has no value
                assert evaluator.compile(goal)(Frame(dict(scope), {})), (world, scope)
