"""NameError: name '_in_scope' is not defined"""

from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
rec = ra.compute((N, H), lambda n, i: h_ph[n.left, i])
h = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), rec, hs))
ra.recursion_op(h_ph, h)
