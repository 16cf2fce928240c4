from cortex import ra

N, S, H = ra.N, ra.S, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
m = ra.compute((S, H), lambda s, i: ra.max_nodes(s, lambda n: h[n, i]))
y = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: m[k, i]))
t = ra.compute((S, H), lambda s, i: ra.max_nodes(s, lambda n: y[n, i]))
ra.recursion_op(h_ph, h, after={"t": t})

MESSAGE = """\
ModelError: 'm[k, i]': 'k' is neither the structure nor the node of the compute
  at structure_at_a_child.py:8
  because: 'm' has a value for each structure (ra.S)
  fix: read it at the n, or the s, of the compute
"""
