from cortex import ra

N, K, H = ra.N, ra.K, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
f = ra.compute((N, K, H), lambda n, k, i: ra.sigmoid(h_ph[k, i]))
h = ra.compute((N, H), lambda n, i: f[n, 0, i])
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'f[n, 0, i]': '0' is no child of the node
  at read_of_children_without_a_child.py:7
  because: 'f' has a value for each child of a node (ra.K)
  fix: reduce over the children, ra.sum_children(n, lambda k: f[n, k, i]), or compute over ra.K
"""
