from cortex import ra

N, H = ra.N, 4
h_ph = ra.placeholder((N, H))
W = ra.input_tensor("W", (H, H))
x = ra.node_input("x", (H,))
h = ra.compute((N, H), lambda n, i: W @ x[n])
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'W' @ 'x[n]': arithmetic on a whole tensor
  at whole_tensors_multiplied.py:7
  because: a model says what one element of each tensor is
  fix: read elements, a[n, i] + b[n, i]; a matrix times a vector is ra.sum(extent, lambda j: W[i, j] * x[n, j])
"""
