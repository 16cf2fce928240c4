from cortex import ra

N, H = ra.N, 4
h_ph = ra.placeholder((N, H))
x = ra.node_input("x", (H,))
h = ra.compute((N, H), lambda n, i: ra.tanh(x))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'x' stands where a number or an expression is needed
  at whole_tensor_as_a_value.py:6
  because: it is a NodeInput
  fix: read a tensor at indices, as in h[n, i]
"""
