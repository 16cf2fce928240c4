from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
W = ra.input_tensor("W", (H,))
h = ra.compute((N, H), lambda n, i: W[i + 1] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'W[i + 1]': 'i + 1' may leave dimension 0 of 'W'
  at index_beyond_its_dimension.py:7
  because: the dimension has 4 elements
  example: i + 1 = 4
  fix: make the extents agree, or guard the read with ra.where
"""
