from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
mass = ra.node_input("mass")
leaf = ra.compute((N, H), lambda n, i: x[n, i])
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
h = ra.if_then_else((N, H), lambda n, i: (mass[n] > 0.5, leaf, hs))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'mass[n] > 0.5' decides 'h': control flow may depend on the structure alone (P.1)
  at p1_branch_on_a_payload.py:9
  because: 'mass[n]' is no property of how the node is connected, and no integer that it carries
  fix: decide by ra.isleaf(n), ra.num_children(n) or an integer payload; choose between values with ra.where
"""
