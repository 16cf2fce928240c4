from cortex import ra

N, S, H = ra.N, ra.S, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
m = ra.compute((S, N), lambda s, n: 0.0)

MESSAGE = """\
ModelError: compute: ra.N is no extent
  at shape_of_structures_and_nodes.py:7
  because: ra.N comes first, and once
"""
