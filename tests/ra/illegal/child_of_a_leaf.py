from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + h_ph[n.left, i])
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'h_ph[n.left, i]' is read at leaves too, which have no 'n.left'
  at child_of_a_leaf.py:6
  because: 'h' is computed at leaves
  fix: ra.if_then_else(shape, lambda n, i: (ra.isleaf(n), leaf, inner)), with the read in `inner`
"""
