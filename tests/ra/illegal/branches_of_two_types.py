from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
leaf = ra.compute((N, H), lambda n, i: i)
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, hs))
z = ra.compute((N, H), lambda n, i: h[n, i] + hs[n, i])
ra.recursion_op(h_ph, z)

MESSAGE = """\
ModelError: 'h' has branches of two types
  at branches_of_two_types.py:8
  because: 'leaf' is of int64, 'hs' of float32
"""
