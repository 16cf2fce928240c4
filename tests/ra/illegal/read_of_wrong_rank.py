from cortex import ra

N, H = ra.N, 4
x = ra.node_input("x", (H,))
h_ph = ra.placeholder((N, H))
h = ra.compute((N, H), lambda n, i: x[n] + ra.sum_children(n, lambda k: h_ph[k, i]))
ra.recursion_op(h_ph, h)

MESSAGE = """\
ModelError: 'x[n]' has 1 index, 'x' 2 dimensions
  at read_of_wrong_rank.py:6
  because: its shape is (ra.N, 4)
"""
