from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
W = ra.input_tensor("W", (H, H))
h = ra.compute((N, H), lambda n, i: W[x[n, 0], i] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'W[x[n, 0], i]': 'x[n, 0]' is no integer
  at read_with_a_float_as_index.py:7
  because: it is of float32
  fix: index with integers: node_input(..., dtype="int32")
"""
