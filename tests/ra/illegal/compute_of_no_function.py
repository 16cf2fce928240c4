from cortex import ra

N, H = ra.N, 4
h_ph = ra.placeholder((N, H))
x = ra.node_input("x", (H,))
h = ra.compute((N, H), x)
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: compute: 'x' is no function
  at compute_of_no_function.py:6
  because: the model calls it, with the indices that there are
  fix: lambda n, i: ...
"""
