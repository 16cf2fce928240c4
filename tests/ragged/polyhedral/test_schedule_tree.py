"""Schedule trees: their text, and that isl reads from it the order in which the program runs."""

import re

import islpy

from ragged.ir.parser import parse
from ragged.polyhedral.schedule_tree import schedule_tree
from tests.support.dependences.accesses import accesses_of

BLUR = """\
program("blur")

N: call()
x: payload(float32[N + 2])
t: workspace(float32[N + 1])
y: output(float32[N])

with kernel:
    for i in parallel(N + 1):
        t[i] = x[i] + x[i + 1]
    for o in serial(N // 4):
        for l in vectorized(4):
            y[o * 4 + l] = t[o * 4 + l] + t[o * 4 + l + 1]
    if N % 4 > 0:
        for r in serial(N % 4):
            y[N // 4 * 4 + r]: y.t = 0.0
            for k in unrolled(2):
                y[N // 4 * 4 + r] += t[N // 4 * 4 + r + k]
"""

TEAM = """\
program("team")

N: call()
workers: call()
x: payload(float32[N, 8])
top: output(float32[N])

with kernel:
    for w in team(workers):
        first = w * N // workers
        for s in serial((w + 1) * N // workers - first):
            n = first + s
            top[n] = -inf
            for or_ in serial(8):
                top[n] = reduce(max, x[n, or_])
        barrier(team)
        top[0]: last = 1.0
"""


def test_text(golden):
    golden("tree.txt", schedule_tree(parse(BLUR)) + "\n\n" + schedule_tree(parse(TEAM)) + "\n")


def test_isl_reads_the_tree_of_a_team():
    tree = islpy.Schedule.read_from_str(islpy.DEFAULT_CONTEXT, schedule_tree(parse(TEAM)))
    expected = "{ [i0, 0, i2, 1, i4]; [i0, 0, i2, 0, 0]; [i0, 1, 0, 0, 0] }"
    assert (
        str(tree.get_map().range()) == expected
    )  # workers, parts of a worker, rows, parts of a row, columns


def test_the_tree_has_the_order_of_the_program():
    program = parse(BLUR)
    text = schedule_tree(program)
    accesses = accesses_of(program)
    labels = re.findall(r"(\w+)\[[^]]*\] : ", text)
    names = dict(zip((each.name for each in accesses.statements), labels, strict=True))
    assert len(accesses.parameters) == 1  # N
    dates = re.sub(r"\bS\d+\b", lambda found: names[found[0]], accesses.dates).replace("[p0]", "[N]")
    tree = islpy.Schedule.read_from_str(islpy.DEFAULT_CONTEXT, text)
    domain, order = tree.get_domain(), tree.get_map()
    expected = islpy.UnionMap.read_from_str(islpy.DEFAULT_CONTEXT, dates).intersect_domain(domain)
    order = order.intersect_domain(domain)
    assert not domain.is_empty()
    assert order.lex_lt_union_map(order).is_equal(expected.lex_lt_union_map(expected))
