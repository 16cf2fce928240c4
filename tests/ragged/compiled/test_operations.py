"""What statements cost: operations, and the traffic of elements that are stored or read at an index that is data."""

from ragged.compiled.operations import cost, flops
from ragged.ir.parser import parse
from ragged.ir.stmt import Reduce
from ragged.ir.walk import leaves

TEXT = """\
program("sums")

B: call()
L: call()
I: payload(int32[B, L])
T: payload(float32[50, 64])
x: payload(float32[B, L, 64])
y: output(float32[B, 64])

with kernel:
    for b in serial(B):
        for d in serial(64):
            y[b, d] = 0.0
            for l in serial(L):
                y[b, d] += {element}
"""


def sum_of(element):
    (found,) = (
        each for each in leaves(parse(TEXT.format(element=element)).kernel) if isinstance(each, Reduce)
    )
    return found


def test_an_element_at_an_index_that_is_data_costs_as_much_as_a_stored_one():
    direct, looked_up = sum_of("x[b, l, d]"), sum_of("T[int64(I[b, l]), d]")
    assert flops(direct) == flops(looked_up) == cost(direct) == 1
    assert cost(looked_up) == 17
