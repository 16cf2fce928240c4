"""NameError: name '_in_scope' is not defined"""

from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
seen = []
z = ra.compute((N, H), lambda n, i: seen.append(n) or x[n, i])
h = ra.compute((N, H), lambda m, i: hs[m, i] + z[seen[0], i])
ra.recursion_op(h_ph, h)
