"""NameError: name '_in_scope' is not defined"""

from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
seen = []
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: seen.append(k) or h_ph[k, i]))
h = ra.compute((N, H), lambda n, i: hs[n, i] + h_ph[seen[0], i])
ra.recursion_op(h_ph, h)
