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
  fix: read it in the inner branch of ra.if_then_else on ra.isleaf(n), or declare ra.placeholder(shape, default=0.0)
"""
