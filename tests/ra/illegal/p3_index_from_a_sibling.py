from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
leaf = ra.compute((N, H), lambda n, i: x[n, i])
rec = ra.compute((N, H), lambda n, i: h_ph[n.right, ra.where(h_ph[n.left, 0] > 0, 0, i)])
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'h_ph[n.right, where(h_ph[n.left, 0] > 0.0, 0, i)]': a recursive call depends on a sibling's result (P.3)
  at p3_index_from_a_sibling.py:7
  because: the calls at a node's children must be free to run in any order
  fix: index a result with indices, numbers and payloads only; choose between values with ra.where
"""
