"""NameError: name '_in_scope' is not defined"""

from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + h_ph[n.left, i])
ra.recursion_op(h_ph, h)
