from cortex import ra

N, S, H = ra.N, ra.S, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
zero = ra.compute((N, H), lambda n, i: 0.0)
b = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), zero, h))
m = ra.compute((S, H), lambda s, i: ra.max_nodes(s, lambda n: b[n, i]))
ra.recursion_op(h_ph, h, after={"m": m})

MESSAGE = """\
ModelError: 'b' is a branch, and computed after the recursion
  at after_that_reads_a_branch.py:8
  because: it is no output of the recursion, and the loops after that have no cases of nodes
  fix: make 'b' an output of the recursion, or choose between values with ra.where
"""
