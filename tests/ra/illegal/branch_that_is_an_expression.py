from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), x[n, i], hs))

MESSAGE = """\
ModelError: if_then_else: 'x[n, i]' is not a compute
  at branch_that_is_an_expression.py:7
  because: each branch is a tensor of its own, computed at the nodes that take it
  fix: give the branch a name: ra.compute(shape, lambda n, i: ...)
"""
