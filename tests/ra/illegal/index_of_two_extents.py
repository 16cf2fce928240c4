from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
W = ra.input_tensor("W", (H, 3))
h = ra.compute(
    (N, H), lambda n, i: ra.sum(H, lambda j: W[i, j] * x[n, j]) + ra.sum_children(n, lambda k: h_ph[k, i])
)
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'W[i, j]': 'j' may leave dimension 1 of 'W'
  at index_of_two_extents.py:8
  because: the dimension has 3 elements
  example: j = 3
  fix: make the extents agree, or guard the read with ra.where
"""
