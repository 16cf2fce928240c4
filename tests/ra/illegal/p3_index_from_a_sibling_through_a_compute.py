from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
z = ra.compute((N,), lambda n: ra.where(h_ph[n.left, 0] > 0, 0, 1))
leaf = ra.compute((N, H), lambda n, i: x[n, i])
rec = ra.compute((N, H), lambda n, i: h_ph[n.right, z[n]])
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'h_ph[n.right, z[n]]': a recursive call depends on a sibling's result (P.3)
  at p3_index_from_a_sibling_through_a_compute.py:8
  because: the calls at a node's children must be free to run in any order
  fix: index a result with indices, numbers and payloads only; choose between values with ra.where
"""
