from cortex import ra

N, K, H = ra.N, ra.K, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
f = ra.compute((N, K, H), lambda n, k, i: ra.sigmoid(h_ph[k, i]))
leaf = ra.compute((N, H), lambda n, i: x[n, i])
rec = ra.compute((N, H), lambda n, i: f[n, n.left, i])
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'f[n, n.left, i]': 'n.left' is no child of the node
  at read_of_children_at_a_position.py:8
  because: 'f' has a value for each child of a node (ra.K)
  fix: reduce over the children, ra.sum_children(n, lambda k: f[n, k, i]), or compute over ra.K
"""
