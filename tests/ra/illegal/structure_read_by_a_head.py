from cortex import ra

N, S, H = ra.N, ra.S, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
m = ra.compute((S, H), lambda s, i: ra.max_nodes(s, lambda n: h[n, i]))
y = ra.compute((N, H), lambda n, i: m[n, i])
ra.recursion_op(h_ph, h, roots={"y": y}, after={"m": m})

MESSAGE = """\
ModelError: 'm[n, i]': 'y' reads what is computed of the whole structure
  at structure_read_by_a_head.py:8
  because: that is known when the recursion has ended, and heads are computed before it
  fix: make what reads it a compute over structures or part of one: after={"y": ...}
"""
