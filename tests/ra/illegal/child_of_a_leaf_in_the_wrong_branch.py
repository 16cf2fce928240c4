from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
rec = ra.compute((N, H), lambda n, i: h_ph[n.left, i])
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), rec, hs))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'h_ph[n.left, i]' is read at leaves too, which have no 'n.left'
  at child_of_a_leaf_in_the_wrong_branch.py:7
  because: 'rec' is computed at leaves
  fix: read it in the inner branch of ra.if_then_else on ra.isleaf(n), or declare ra.placeholder(shape, default=0.0)
"""
