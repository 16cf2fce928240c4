from cortex import ra

N, H = ra.N, 4
h_ph = ra.placeholder((N, H))
ra.compute((N, H), lambda n, i: h_ph[n + 1, i])

MESSAGE = """\
ModelError: 'n + 1': a node is a handle and not a number (P.2)
  at p2_node_in_arithmetic.py:5
  because: what is computed at a node may be read at that node and at its children only
  fix: read at n, n.left, n.right or n.child(j), or over all children with ra.sum_children
"""
