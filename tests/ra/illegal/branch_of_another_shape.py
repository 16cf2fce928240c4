from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
leaf = ra.compute((N, 2), lambda n, i: x[n, i])
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, hs))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'h' has shape (ra.N, 4), its branch 'leaf' (ra.N, 2)
  at branch_of_another_shape.py:8
  fix: give all three one shape
"""
