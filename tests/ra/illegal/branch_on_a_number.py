from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
leaf = ra.compute((N, H), lambda n, i: x[n, i])
hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]))
h = ra.if_then_else((N, H), lambda n, i: (ra.num_children(n), leaf, hs))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'num_children(n)' decides 'h', and is a number
  at branch_on_a_number.py:8
  fix: compare it: ra.num_children(n) == 2
"""
