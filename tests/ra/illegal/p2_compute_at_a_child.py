from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
z = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i]))
h = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i] * z[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'z[k, i]': 'z' is read at a child
  at p2_compute_at_a_child.py:7
  because: a compute may be read at its own node; a parent sees the results of its children
  fix: make 'z' an output, and read its placeholder at the child
"""
